//! A link to the shared server under a prefix of its own, and what it was asked for.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use foreman_core::secret::Secret;
use foreman_redis::{Config, RedisLink, RedisObserver, RedisUse};
use foreman_runtime::{Stop, Tasks};
use tokio::time::{Instant, sleep};

/// Far more than anything here needs; a wait that reaches it has failed.
const LONG: Duration = Duration::from_secs(30);

/// The server that the runner of the suites has started.
pub fn shared() -> String {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var("FOREMAN_TEST_REDIS").expect(
        "FOREMAN_TEST_REDIS is not set: run `make test SUITE=redis`, or `scripts/with-services --redis cargo test -p foreman-redis`",
    )
}

/// Of the shared server, with keys that no other test has.
pub fn config() -> Config {
    at(&shared())
}

/// A machine that runs many tests at once may be slow; tests that ask how long an answer may take say so.
pub fn at(url: &str) -> Config {
    let prefix = format!("test-{:016x}:", rand::random::<u64>());
    Config { url: Secret::new(url), prefix, call_timeout: Duration::from_secs(2), ..Config::at("redis://nowhere") }
}

/// What was asked for, in the order in which it was.
#[derive(Default)]
pub struct Told(Mutex<Vec<(RedisUse, bool)>>);

impl Told {
    pub fn answered(&self, what: RedisUse) -> usize {
        self.count(what, true)
    }

    pub fn fell_back(&self, what: RedisUse) -> usize {
        self.count(what, false)
    }

    fn count(&self, what: RedisUse, is_answered: bool) -> usize {
        self.0.lock().unwrap().iter().filter(|told| **told == (what, is_answered)).count()
    }
}

impl RedisObserver for Told {
    fn answered(&self, what: RedisUse, _took: Duration) {
        self.0.lock().unwrap().push((what, true));
    }

    fn fell_back(&self, what: RedisUse) {
        self.0.lock().unwrap().push((what, false));
    }
}

/// A link that is kept while it lives.
pub struct Kept {
    pub link: RedisLink,
    pub told: Arc<Told>,
    stop: Stop,
}

impl Kept {
    /// Connects, or tries to.
    pub fn start(config: &Config) -> Self {
        let told = Arc::new(Told::default());
        let (keeper, link) = RedisLink::new(config, told.clone()).unwrap();
        let stop = Stop::new();
        drop(Tasks::new().spawn("keeper", keeper.run(stop.shutdown())));
        Self { link, told, stop }
    }

    pub async fn up(config: &Config) -> Self {
        let kept = Self::start(config);
        kept.is_up().await;
        kept
    }

    pub async fn is_up(&self) {
        until("the link is up", async || self.link.status().is_up).await;
    }

    pub async fn is_away(&self) {
        until("the link is away", async || !self.link.status().is_up).await;
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.stop.abort();
    }
}

/// Asks until the answer is yes.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < LONG, "waited in vain until {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// A connection of the test's own, to look and to meddle.
pub async fn connection(url: &str) -> redis::aio::MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}
