//! What is said about tenants, remembered for a few seconds.
//!
//! Runners ask at every attempt (is this push signed, may that program run), the dispatcher before every claim (who is near
//! its limit). One of these per process answers them all: what an administrator changes takes effect within [`Config::believed`]
//! everywhere, and a thousand attempts a second are one question to the store. Who asks while the question is under way waits
//! for the same answer. Nothing outlives the process.
//!
//! When the store does not answer, nobody is told anything: to guess that a tenant signs nothing, or may run everything, would
//! be to open a lock because the key is lost.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::TenantId;
use foreman_core::ports::{StoreError, TenantStore};
use foreman_core::tenant::{Limit, Permitted, TenantLimits, TenantSettings};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tracing::warn;

use crate::outage::bounded;
use crate::target::command::Permits;

/// Tenants listed in one question.
const PAGE: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What was said about a tenant is believed for so long.
    pub believed: Duration,
    /// So many tenants are remembered; beyond it all are forgotten, which costs a question each.
    pub most: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
    /// Of every tenant, but for what is said about it.
    pub limits: TenantLimits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            believed: Duration::from_secs(3),
            most: 10_000,
            call_timeout: Duration::from_secs(5),
            limits: TenantLimits::default(),
        }
    }
}

/// One cell for each question: whoever comes while it is asked waits for its answer, and one that failed is asked again.
struct SharedAnswer<T> {
    at: Instant,
    answer: Arc<OnceCell<T>>,
}

type Settings = Option<Arc<TenantSettings>>;

pub struct Tenants {
    store: Arc<dyn TenantStore>,
    config: Config,
    settings: Mutex<HashMap<TenantId, SharedAnswer<Settings>>>,
    running: Mutex<Option<SharedAnswer<RunningLimits>>>,
    queued: Mutex<Option<SharedAnswer<QueuedLimits>>>,
    /// Tenants that this version cannot read; the log has named them.
    unreadable: Mutex<HashSet<TenantId>>,
}

/// How many jobs of each tenant may run.
#[derive(Clone, Debug)]
pub struct RunningLimits {
    default: Limit,
    /// Those of whom something else was said.
    others: Arc<HashMap<TenantId, Limit>>,
    /// All there are: needed only where the limit of everybody is so low that one claim may pass it.
    all: Arc<Vec<TenantId>>,
    /// Those of another weight than 1.
    weights: Arc<HashMap<TenantId, u32>>,
    /// How many are not disabled.
    enabled: usize,
}

/// How much of each tenant may wait.
#[derive(Clone, Debug)]
pub struct QueuedLimits {
    default: QueuedLimit,
    /// Those of whom something else was said.
    others: Arc<HashMap<TenantId, QueuedLimit>>,
}

/// How much of one tenant may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedLimit {
    pub jobs: Limit,
    /// The queues in which they may wait.
    pub names: Limit,
}

impl QueuedLimits {
    pub fn of(&self, tenant: &TenantId) -> QueuedLimit {
        self.others.get(tenant).copied().unwrap_or(self.default)
    }
}

impl From<&TenantLimits> for QueuedLimit {
    fn from(limits: &TenantLimits) -> Self {
        Self { jobs: limits.queued_jobs, names: limits.queue_names }
    }
}

impl Tenants {
    pub fn new(store: Arc<dyn TenantStore>, config: Config) -> Self {
        Self {
            store,
            config,
            settings: Mutex::default(),
            running: Mutex::default(),
            queued: Mutex::default(),
            unreadable: Mutex::default(),
        }
    }

    /// What an administrator said about it; `None` when there is no such tenant.
    pub async fn settings(&self, tenant: &TenantId) -> Result<Settings, StoreError> {
        let cell = self.asked(tenant);
        let ask = || async {
            let found = bounded(self.config.call_timeout, self.store.tenant(tenant)).await?;
            Ok(found.map(|tenant| Arc::new(tenant.settings)))
        };
        cell.get_or_try_init(ask).await.cloned()
    }

    /// Where the answer about a tenant is, or will be.
    fn asked(&self, tenant: &TenantId) -> Arc<OnceCell<Settings>> {
        let mut kept = lock(&self.settings);
        if let Some(asked) = kept.get(tenant).filter(|asked| asked.at.elapsed() < self.config.believed) {
            return Arc::clone(&asked.answer);
        }
        if kept.len() >= self.config.most {
            kept.clear();
        }
        let asked = SharedAnswer::now();
        let answer = Arc::clone(&asked.answer);
        kept.insert(tenant.clone(), asked);
        answer
    }

    /// How many jobs of each tenant may run at a time.
    pub async fn running_limits(&self) -> Result<RunningLimits, StoreError> {
        self.running_limits_since(self.config.believed).await
    }

    /// The same, asked for again a little before it has to be: while nobody waits for it.
    pub async fn renew_running_limits(&self) -> Result<RunningLimits, StoreError> {
        self.running_limits_since(self.config.believed * 9 / 10).await
    }

    async fn running_limits_since(&self, believed: Duration) -> Result<RunningLimits, StoreError> {
        let cell = {
            let mut kept = lock(&self.running);
            let asked = kept.take().filter(|asked| asked.at.elapsed() < believed);
            Arc::clone(&kept.insert(asked.unwrap_or_else(SharedAnswer::now)).answer)
        };
        cell.get_or_try_init(|| self.read_running_limits()).await.cloned()
    }

    /// How many jobs of each tenant may wait, and in how many queues. All at once: at midnight ten thousand tenants have a tick.
    pub async fn queued_limits(&self) -> Result<QueuedLimits, StoreError> {
        let cell = {
            let mut kept = lock(&self.queued);
            let asked = kept.take().filter(|asked| asked.at.elapsed() < self.config.believed);
            Arc::clone(&kept.insert(asked.unwrap_or_else(SharedAnswer::now)).answer)
        };
        cell.get_or_try_init(|| self.read_queued_limits()).await.cloned()
    }

    async fn read_queued_limits(&self) -> Result<QueuedLimits, StoreError> {
        let default = QueuedLimit::from(&self.config.limits);
        let mut others = HashMap::new();
        self.each(|tenant, settings| {
            let limit = QueuedLimit::from(&self.config.limits.with(&settings.limits));
            if limit != default {
                others.insert(tenant, limit);
            }
        })
        .await?;
        Ok(QueuedLimits { default, others: Arc::new(others) })
    }

    async fn read_running_limits(&self) -> Result<RunningLimits, StoreError> {
        let default = self.config.limits.running_jobs;
        let (mut others, mut all) = (HashMap::new(), Vec::new());
        let (mut weights, mut enabled) = (HashMap::new(), 0);
        self.each(|tenant, settings| {
            let limit = self.config.limits.with(&settings.limits).running_jobs;
            if limit != default {
                others.insert(tenant.clone(), limit);
            }
            let weight = settings.weight.get();
            if weight != 1 {
                weights.insert(tenant.clone(), weight);
            }
            enabled += usize::from(!settings.is_disabled);
            all.push(tenant);
        })
        .await?;
        let (others, all, weights) = (Arc::new(others), Arc::new(all), Arc::new(weights));
        Ok(RunningLimits { default, others, all, weights, enabled })
    }

    /// Goes through all tenants, page by page. One that this version cannot read, as in the middle of an upgrade, has the default
    /// settings: to stop here would stop the work of all the others.
    async fn each(&self, mut see: impl FnMut(TenantId, &TenantSettings)) -> Result<(), StoreError> {
        let (mut last, mut unreadable) = (None, HashSet::new());
        loop {
            let page = bounded(self.config.call_timeout, self.store.tenants(last.as_ref(), PAGE)).await?;
            let was_full = page.readable.len() >= PAGE;
            for tenant in page.readable {
                last = Some(tenant.id.clone());
                see(tenant.id, &tenant.settings);
            }
            for tenant in page.unreadable {
                see(tenant.clone(), &TenantSettings::default());
                unreadable.insert(tenant);
            }
            if !was_full {
                self.say_unreadable(unreadable);
                return Ok(());
            }
        }
    }

    /// Each is named once in the log, until it can be read again.
    fn say_unreadable(&self, found: HashSet<TenantId>) {
        let mut said = lock(&self.unreadable);
        for tenant in found.difference(&said) {
            warn!(%tenant, "this version cannot read the settings of tenant {tenant}: the default limits apply to it");
        }
        *said = found;
    }
}

impl RunningLimits {
    /// There is more than one tenant that could want to run something.
    pub fn is_shared(&self) -> bool {
        self.enabled > 1
    }

    pub fn weight(&self, tenant: &TenantId) -> u32 {
        self.weights.get(tenant).copied().unwrap_or(1)
    }

    /// Nobody is limited: there is nothing to count.
    pub fn are_unlimited(&self) -> bool {
        self.default == Limit::Unlimited && self.others.values().all(|limit| *limit == Limit::Unlimited)
    }

    /// Every tenant may run as many as there are slots: there is nothing to count either.
    pub fn are_out_of_reach(&self, slots: u64) -> bool {
        self.others.values().chain([&self.default]).all(|limit| limit.room(0) >= slots)
    }

    /// How many more of each tenant may run when so many do: everyone with less room than `enough`, whose limit is below `slots`,
    /// which are all that there are.
    pub fn rooms(&self, running: &[(TenantId, u64)], enough: u64, slots: u64) -> Vec<(TenantId, u64)> {
        let counts: HashMap<&TenantId, u64> = running.iter().map(|(tenant, count)| (tenant, *count)).collect();
        let limit_of = |tenant: &TenantId| self.others.get(tenant).copied().unwrap_or(self.default);
        let room = |tenant: &TenantId| limit_of(tenant).room(counts.get(tenant).copied().unwrap_or(0));
        let is_reachable = |limit: Limit| limit.room(0) < slots;
        let idle: &mut dyn Iterator<Item = &TenantId> = if self.default.room(0) < enough && is_reachable(self.default) {
            &mut self.all.iter()
        } else {
            &mut self.others.keys()
        };
        let idle = idle.filter(|tenant| !counts.contains_key(tenant));
        let all = running.iter().map(|(tenant, _)| tenant).chain(idle).map(|tenant| (tenant, room(tenant)));
        let near = all.filter(|(tenant, room)| *room < enough && is_reachable(limit_of(tenant)));
        near.map(|(tenant, room)| (tenant.clone(), room)).collect()
    }
}

/// A tenant that is not there may run nothing.
#[async_trait]
impl Permits for Tenants {
    async fn permitted(&self, tenant: &TenantId) -> Result<Permitted, StoreError> {
        Ok(self.settings(tenant).await?.map(|settings| settings.permitted()).unwrap_or_default())
    }
}

impl<T> SharedAnswer<T> {
    /// The answer is as old as the question.
    fn now() -> Self {
        Self { at: Instant::now(), answer: Arc::new(OnceCell::new()) }
    }
}

/// Whole after every line that holds the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(default: Limit, others: &[(&str, Limit)]) -> RunningLimits {
        let named = others.iter().map(|(name, limit)| (TenantId::new(*name), *limit)).collect();
        let all = ["busy", "idle"].map(TenantId::new).into_iter();
        let all = all.chain(others.iter().map(|(name, _)| TenantId::new(*name))).collect();
        let (others, all, weights) = (Arc::new(named), Arc::new(all), Arc::default());
        RunningLimits { default, others, all, weights, enabled: 2 }
    }

    fn rooms(limits: &RunningLimits, running: &[(&str, u64)], enough: u64) -> Vec<(String, u64)> {
        let running: Vec<_> = running.iter().map(|(name, count)| (TenantId::new(*name), *count)).collect();
        let mut rooms: Vec<_> = limits
            .rooms(&running, enough, u64::MAX)
            .into_iter()
            .map(|(tenant, room)| (tenant.to_string(), room))
            .collect();
        rooms.sort();
        rooms
    }

    #[test]
    fn only_who_is_near_its_limit_is_named() {
        let limits = limits(Limit::AtMost(100), &[("small", Limit::AtMost(3)), ("free", Limit::Unlimited)]);
        assert_eq!(rooms(&limits, &[], 10), [("small".into(), 3)], "though nothing of it runs");
        assert_eq!(rooms(&limits, &[("busy", 90), ("small", 5), ("free", 5_000)], 10), [("small".into(), 0)]);
        let near = rooms(&limits, &[("busy", 91), ("small", 2)], 10);
        assert_eq!(near, [("busy".into(), 9), ("small".into(), 1)]);
        assert!(!limits.are_unlimited());
    }

    #[test]
    fn where_everybody_has_little_room_everybody_is_named() {
        let limits = limits(Limit::AtMost(2), &[("free", Limit::Unlimited)]);
        assert_eq!(rooms(&limits, &[("busy", 1)], 10), [("busy".into(), 1), ("idle".into(), 2)]);
    }

    #[test]
    fn a_limit_that_all_slots_together_cannot_reach_is_not_counted() {
        let limits = limits(Limit::AtMost(100), &[("small", Limit::AtMost(3)), ("free", Limit::Unlimited)]);
        assert!(limits.are_out_of_reach(3) && !limits.are_out_of_reach(4));
        let running = [("busy", 95), ("small", 1)].map(|(name, count)| (TenantId::new(name), count));
        let named = |slots| limits.rooms(&running, 10, slots).len();
        assert_eq!((named(3), named(4), named(100), named(101)), (0, 1, 1, 2));
    }

    #[test]
    fn without_limits_there_is_nothing_to_count() {
        assert!(limits(Limit::Unlimited, &[("free", Limit::Unlimited)]).are_unlimited());
        assert!(!limits(Limit::Unlimited, &[("small", Limit::AtMost(1))]).are_unlimited());
        assert!(!limits(Limit::AtMost(1), &[]).are_unlimited());
    }
}
