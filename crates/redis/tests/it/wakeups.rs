//! Rings that reach the other processes, through Redis and, where Redis is away, in another way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{Topic, Wakeups};
use foreman_redis::{Config, RedisUse, RedisWakeups};
use foreman_runtime::{Stop, Tasks};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::given::{self, Kept, until};
use crate::proxy::{Pass, Proxy};
use crate::server::RedisServer;

/// Generous: a bell that is rung at all is rung soon.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process: what it rings, what it hears, and what it would ring through the database.
struct Process {
    kept: Kept,
    wakeups: RedisWakeups,
    local: Arc<LocalWakeups>,
    instead: watch::Receiver<u64>,
    stop: Stop,
}

impl Process {
    async fn on(config: &Config) -> Self {
        let database = Arc::new(LocalWakeups::new());
        let instead = database.listen(Topic::Ready);
        Self::starting(config, Arc::default(), database, instead).listening().await
    }

    /// Another of those that share a database.
    async fn sharing(config: &Config, database: &Arc<Database>) -> Self {
        let local = Arc::new(LocalWakeups::new());
        database.0.lock().unwrap().push(local.clone());
        let instead = local.listen(Topic::Ready);
        Self::starting(config, local, database.clone(), instead).listening().await
    }

    async fn listening(self) -> Self {
        let process = self;
        process.kept.is_up().await;
        // It listens once it has heard of everything at once.
        let mut bell = process.local.listen(Topic::Scheduled);
        timeout(PATIENCE, bell.wait_for(|rings| *rings > 0)).await.unwrap().unwrap();
        process
    }

    fn starting(
        config: &Config,
        local: Arc<LocalWakeups>,
        database: Arc<dyn Wakeups>,
        instead: watch::Receiver<u64>,
    ) -> Self {
        let kept = Kept::start(config);
        let (carrier, wakeups) = RedisWakeups::new(kept.link.clone(), local.clone(), database);
        let stop = Stop::new();
        drop(Tasks::new().spawn("carrier", carrier.run(stop.shutdown())));
        Self { kept, wakeups, local, instead, stop }
    }

    fn listen(&self, topic: Topic) -> watch::Receiver<u64> {
        let mut bell = self.wakeups.listen(topic);
        bell.mark_unchanged();
        bell
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.drain();
    }
}

async fn heard(bell: &mut watch::Receiver<u64>) {
    timeout(PATIENCE, bell.changed()).await.expect("no bell").unwrap();
}

#[tokio::test]
async fn a_ring_is_heard_by_every_process_and_by_its_own_at_once() {
    let config = given::config();
    let (here, there, third) = (Process::on(&config).await, Process::on(&config).await, Process::on(&config).await);
    for topic in Topic::ALL {
        let (mut own, mut bells) = (here.listen(topic), [there.listen(topic), third.listen(topic)]);
        let before = *own.borrow();
        here.wakeups.ring(topic);
        assert!(own.has_changed().unwrap(), "before anything was sent");
        for bell in &mut bells {
            heard(bell).await;
        }
        // What was sent has come back by now, and is not heard twice.
        assert_eq!(*own.borrow_and_update(), before + 1, "{topic:?}");
    }
    assert_eq!(*here.instead.borrow(), 0, "the database was left alone");
    let elsewhere = Process::on(&given::config()).await;
    let bell = elsewhere.listen(Topic::Ready);
    let mut there = there.listen(Topic::Ready);
    here.wakeups.ring(Topic::Ready);
    heard(&mut there).await;
    assert!(!bell.has_changed().unwrap(), "another installation hears nothing");
}

#[tokio::test]
async fn a_thousand_rings_are_a_few_messages() {
    let config = given::config();
    let (here, there) = (Process::on(&config).await, Process::on(&config).await);
    let mut bell = there.listen(Topic::Changed);
    let before = *bell.borrow();
    for _ in 0..1_000 {
        here.wakeups.ring(Topic::Changed);
        here.wakeups.ring(Topic::Ready);
        tokio::task::yield_now().await;
    }
    heard(&mut bell).await;
    until("the last is sent", async || here.kept.told.answered(RedisUse::Wakeups) > 0).await;
    let heard = *bell.borrow() - before;
    assert!(heard < 100, "{heard} messages for a thousand rings");
}

#[tokio::test]
async fn without_redis_rings_go_the_other_way_at_once_and_come_back() {
    let mut server = RedisServer::start(&[]).await;
    let config = given::at(&server.url());
    let (mut here, there) = (Process::on(&config).await, Process::on(&config).await);
    server.kill();
    here.wakeups.ring(Topic::Ready);
    timeout(PATIENCE, here.instead.wait_for(|rings| *rings > 0)).await.expect("the database carries it").unwrap();
    here.kept.is_away().await;
    here.wakeups.ring(Topic::Ready);
    timeout(PATIENCE, here.instead.wait_for(|rings| *rings > 1)).await.expect("and the next one").unwrap();
    // Whoever was away hears every bell when it is back.
    let work = Topic::ALL.into_iter().filter(|topic| topic.is_about_work());
    let mut bells: Vec<_> = work.map(|topic| there.listen(topic)).collect();
    server.start_again().await;
    for bell in &mut bells {
        heard(bell).await;
    }
    here.kept.is_up().await;
    until("rings go through Redis again", async || {
        let mut bell = there.listen(Topic::Cancelled);
        here.wakeups.ring(Topic::Cancelled);
        timeout(Duration::from_millis(200), bell.changed()).await.is_ok()
    })
    .await;
}

/// What NOTIFY does for processes that share a database: rings of one are heard by all others.
#[derive(Default)]
struct Database(Mutex<Vec<Arc<LocalWakeups>>>);

impl Wakeups for Database {
    fn ring(&self, topic: Topic) {
        self.0.lock().unwrap().iter().for_each(|local| local.ring(topic));
    }

    fn listen(&self, _: Topic) -> watch::Receiver<u64> {
        unreachable!("processes listen to what is their own")
    }
}

#[tokio::test]
async fn a_process_that_alone_has_lost_redis_hears_the_others_through_the_database() {
    let server = RedisServer::start(&[]).await;
    let proxy = Proxy::before(server.address()).await;
    let database = Arc::new(Database::default());
    let config = given::at(&server.url());
    let mut behind = given::at(&format!("redis://{}", proxy.address));
    behind.prefix.clone_from(&config.prefix);
    let here = Process::sharing(&config, &database).await;
    let there = Process::sharing(&behind, &database).await;
    let mut bell = there.listen(Topic::Ready);
    proxy.pass(Pass::Never);
    there.kept.is_away().await;
    // It has noticed, has said so, and has looked at everything once.
    heard(&mut bell).await;
    for _ in 0..3 {
        bell.mark_unchanged();
        here.wakeups.ring(Topic::Ready);
        heard(&mut bell).await;
    }
    assert_eq!(here.kept.told.fell_back(RedisUse::Wakeups), 0, "Redis was there for it: {:?}", here.kept.link.status());
}

#[tokio::test]
async fn a_listener_whose_connection_hangs_gets_a_new_one() {
    let server = RedisServer::start(&[]).await;
    let proxy = Proxy::before(server.address()).await;
    let config = given::at(&server.url());
    let here = Process::on(&config).await;
    let mut behind = given::at(&format!("redis://{}", proxy.address));
    behind.prefix.clone_from(&config.prefix);
    let there = Process::on(&behind).await;
    proxy.pass(Pass::Never);
    there.kept.is_away().await;
    let mut bell = there.listen(Topic::Ready);
    here.wakeups.ring(Topic::Ready);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    // Nothing that was taken by the old connection is given out any more.
    proxy.pass(Pass::AtOnce);
    heard(&mut bell).await;
    there.kept.is_up().await;
}

#[tokio::test]
async fn messages_of_strangers_make_nobody_stumble() {
    let config = given::config();
    let there = Process::on(&config).await;
    let mut redis = given::connection(&given::shared()).await;
    let mut bell = there.listen(Topic::Ready);
    let channel = format!("{}wakeups", config.prefix);
    let long = "ready ".repeat(100_000);
    for message in ["", " ", "x", "- sesame", "\u{0}\u{1}", long.as_str()] {
        let _: i64 = redis::cmd("PUBLISH").arg(&channel).arg(message).query_async(&mut redis).await.unwrap();
    }
    let _: i64 = redis::cmd("PUBLISH").arg(&channel).arg(&[0xff_u8, 0xfe][..]).query_async(&mut redis).await.unwrap();
    heard(&mut bell).await;
    let rings = *bell.borrow_and_update();
    assert!(rings < 100, "{rings} rings of one message");
    let _: i64 = redis::cmd("PUBLISH").arg(&channel).arg("other later ready").query_async(&mut redis).await.unwrap();
    heard(&mut bell).await;
}

/// A ring comes back through Redis to whoever listens on the same link.
pub async fn rings(kept: &Kept) {
    let nobody: Arc<LocalWakeups> = Arc::default();
    let (here, there) = (Arc::new(LocalWakeups::new()), Arc::new(LocalWakeups::new()));
    let (first, ringing) = RedisWakeups::new(kept.link.clone(), here, nobody.clone());
    let (second, listening) = RedisWakeups::new(kept.link.clone(), there, nobody);
    let stop = Stop::new();
    drop(Tasks::new().spawn("first", first.run(stop.shutdown())));
    drop(Tasks::new().spawn("second", second.run(stop.shutdown())));
    let mut bell = listening.listen(Topic::Ready);
    timeout(PATIENCE, bell.wait_for(|rings| *rings > 0)).await.expect("it listens").unwrap();
    bell.mark_unchanged();
    ringing.ring(Topic::Ready);
    heard(&mut bell).await;
    assert_eq!(kept.told.fell_back(RedisUse::Wakeups), 0, "{:?}", kept.link.status());
    stop.drain();
}
