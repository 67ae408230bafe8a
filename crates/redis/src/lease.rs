//! Who tries to lead: a hint in Redis that keeps contenders from asking the database.
//!
//! The lease itself, and its term, lie in the database; every write of a leader carries that term. Redis only says who asks
//! for it: one contender has the hint, the others wait until it runs out. So nothing that happens to Redis makes two leaders,
//! and two that both have the hint, after a flush or a failover, are told apart by the database as if there were no Redis.
//!
//! While Redis does not answer every contender asks the database. A hint that is nobody's any more, or that belongs to
//! another installation, keeps nobody from leading for long: a contender that was kept from asking for two TTLs asks anyway.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foreman_runtime::leadership::{Lease, Term, Unavailable};
use tokio::time::Instant;

use crate::link::{Away, RedisLink, RedisUse};
use crate::script::Lua;

static HINT: LazyLock<Lua> = LazyLock::new(|| Lua::new(include_str!("lua/hint.lua")));
static DROP_HINT: LazyLock<Lua> = LazyLock::new(|| Lua::new(include_str!("lua/drop_hint.lua")));

/// After so many TTLs a contender asks the database, whatever the hint says.
const PATIENCE: u32 = 2;

/// A lease of the database, asked for by those who have the hint.
pub struct HintedLease {
    link: RedisLink,
    truth: Arc<dyn Lease>,
    /// By the name of the lease.
    contests: Mutex<HashMap<String, Contest>>,
}

/// How this process contends for one lease.
#[derive(Clone, Debug, Default)]
struct Contest {
    holder: String,
    /// Since when the hint keeps it from asking.
    kept_since: Option<Instant>,
    taken_until: Option<Instant>,
}

/// Who may ask the database.
enum Hint {
    Ours,
    /// For so long.
    Anothers(Duration),
    Unknown,
}

impl HintedLease {
    pub fn new(link: RedisLink, truth: Arc<dyn Lease>) -> Self {
        Self { link, truth, contests: Mutex::default() }
    }

    async fn hint(&self, name: &str, holder: &str, ttl: Duration) -> Hint {
        let args = [holder.to_owned(), millis(ttl)];
        match self.link.run::<u64>(RedisUse::Leadership, &HINT, &self.key(name), &args).await {
            Ok(0) => Hint::Ours,
            Ok(left) => Hint::Anothers(Duration::from_millis(left).min(ttl)),
            Err(Away) => Hint::Unknown,
        }
    }

    /// Whoever leads has the hint, whoever took it meanwhile.
    async fn keep_hint(&self, name: &str, holder: &str, ttl: Duration) {
        let mut set = redis::cmd("SET");
        set.arg(self.key(name)).arg(holder).arg("PX").arg(millis(ttl));
        let _: Result<String, Away> = self.link.ask(RedisUse::Leadership, &set).await;
    }

    async fn drop_hint(&self, name: &str) {
        let holder = self.contests().get(name).map(|contest| contest.holder.clone()).unwrap_or_default();
        let _: Result<u64, Away> = self.link.run(RedisUse::Leadership, &DROP_HINT, &self.key(name), &[holder]).await;
    }

    fn key(&self, name: &str) -> String {
        self.link.key(&format!("leader:{name}"))
    }

    fn contests(&self) -> MutexGuard<'_, HashMap<String, Contest>> {
        // Nothing in here can panic half way through a change.
        self.contests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the hint is another's; whether that has been so for too long.
    fn is_kept_too_long(&self, name: &str, holder: &str, left: Duration, ttl: Duration) -> bool {
        let now = Instant::now();
        let mut contests = self.contests();
        let contest = contests.entry(name.to_owned()).or_default();
        holder.clone_into(&mut contest.holder);
        contest.taken_until = Some(now + left);
        now.duration_since(*contest.kept_since.get_or_insert(now)) >= ttl * PATIENCE
    }

    /// The database is asked: what the hint said counts no more.
    fn note_asked(&self, name: &str, holder: &str) {
        let contest = Contest { holder: holder.to_owned(), ..Contest::default() };
        self.contests().insert(name.to_owned(), contest);
    }
}

#[async_trait]
impl Lease for HintedLease {
    async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Term>, Unavailable> {
        let hint = self.hint(name, holder, ttl).await;
        if let Hint::Anothers(left) = hint
            && !self.is_kept_too_long(name, holder, left, ttl)
        {
            return Ok(None);
        }
        self.note_asked(name, holder);
        let granted = self.truth.acquire(name, holder, ttl).await?;
        match (granted, hint) {
            (Some(_), Hint::Anothers(_) | Hint::Unknown) => self.keep_hint(name, holder, ttl).await,
            // Another leads, and lost its hint: it takes it again when it renews, and must find it free.
            (None, Hint::Ours) => self.drop_hint(name).await,
            _ => {}
        }
        Ok(granted)
    }

    fn taken_until(&self) -> Option<Instant> {
        let kept = self.contests().values().filter_map(|contest| contest.taken_until).max();
        kept.or_else(|| self.truth.taken_until())
    }

    async fn renew(&self, name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable> {
        let renewed = self.truth.renew(name, term, ttl).await?;
        if renewed {
            let holder = self.contests().get(name).map(|contest| contest.holder.clone());
            if let Some(holder) = holder {
                self.keep_hint(name, &holder, ttl).await;
            }
        } else {
            self.drop_hint(name).await;
        }
        Ok(renewed)
    }

    async fn resign(&self, name: &str, term: Term) -> Result<(), Unavailable> {
        // The hint first: whoever hears of the resignation must find it free.
        self.drop_hint(name).await;
        self.truth.resign(name, term).await
    }
}

fn millis(ttl: Duration) -> String {
    ttl.as_millis().max(1).to_string()
}
