//! Keeps schedules from filling a queue that nobody empties.
//!
//! A tenant may have so many jobs waiting (`limits.tenant.queued_jobs`), and in so many queues (`limits.tenant.queue_names`). The API
//! refuses a submission beyond that; a tick that comes then is recorded as skipped, with the reason. Releasing a held tick and running a schedule by hand are not looked at here: of the
//! first there is one per schedule, the second is counted by the API.
//!
//! Counting costs as much as there is waiting, so it is done seldom: a tenant whose limit is large fires a hundredth of it, at most
//! [`UNCOUNTED`] ticks, between two counts. By as much its limit may be exceeded, once for every process that fires. How queues are
//! counted, [`QueueNames`] says. Nothing is kept but numbers of this process; one that starts begins with what may be fired uncounted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::{JobQuery, NewTick, StoreError, TickAct};
use foreman_core::tenant::{Batch, Limit, QueueNames};
use tokio::time::Instant;

use crate::firing::ReadyFiring;
use crate::outage::bounded;
use crate::tenants::{QueuedLimits, Tenants};

/// Ticks of one tenant between two counts.
const UNCOUNTED: u64 = 1_000;
/// A tenant that was found full is counted again after this.
const COUNTED_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Counting takes at most one part in so many of the time.
const SMALL_PART: u32 = 20;
/// So many tenants are remembered; beyond it all are forgotten, and each begins anew.
const MOST_TENANTS: usize = 10_000;

pub(crate) struct Backlog {
    tenants: Arc<Tenants>,
    jobs: Arc<dyn JobQuery>,
    call_timeout: Duration,
    known: Mutex<HashMap<TenantId, TenantBacklog>>,
    names: Mutex<HashMap<TenantId, Arc<tokio::sync::Mutex<QueueNames>>>>,
}

/// What is known of one tenant.
#[derive(Clone, Copy, Default)]
struct TenantBacklog {
    /// Fired since the last count.
    fired: u64,
    /// What may be fired before the next count.
    uncounted: u64,
    /// There was no room; until then there is none.
    full_until: Option<Instant>,
}

impl Backlog {
    pub fn new(tenants: Arc<Tenants>, jobs: Arc<dyn JobQuery>, call_timeout: Duration) -> Self {
        Self { tenants, jobs, call_timeout, known: Mutex::default(), names: Mutex::default() }
    }

    /// Refuses the ticks that there is no room for, the latest of a tenant first.
    pub async fn hold_back(&self, ready: &mut [ReadyFiring]) -> Result<(), StoreError> {
        let mut wanted: HashMap<TenantId, u64> = HashMap::new();
        for one in ready.iter() {
            let ticks = one.firing.ticks.iter().filter(|tick| matches!(tick.act, TickAct::Fire(_))).count();
            if ticks > 0 {
                *wanted.entry(one.tenant.clone()).or_default() += ticks as u64;
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let limits = self.tenants.queued_limits().await?;
        let mut rooms = HashMap::new();
        for (tenant, wanted) in wanted {
            if let Limit::AtMost(most) = limits.of(&tenant).jobs {
                let room = self.room(&tenant, wanted, most).await?;
                rooms.insert(tenant, room);
            }
        }
        for one in ready.iter_mut() {
            let Some(room) = rooms.get_mut(&one.tenant) else { continue };
            for tick in one.firing.ticks.iter_mut().filter(|tick| matches!(tick.act, TickAct::Fire(_))) {
                match room.checked_sub(1) {
                    Some(left) => *room = left,
                    None => tick.act = TickAct::Refuse,
                }
            }
        }
        self.hold_back_queues(ready, &limits).await
    }

    /// Refuses the ticks whose queues would be more than may have waiting jobs, the latest of a tenant first.
    async fn hold_back_queues(&self, ready: &mut [ReadyFiring], limits: &QueuedLimits) -> Result<(), StoreError> {
        let mut asked: HashMap<TenantId, Vec<QueueName>> = HashMap::new();
        for one in ready.iter().filter(|one| limits.of(&one.tenant).names != Limit::Unlimited) {
            let queues = one.firing.ticks.iter().filter_map(queue).cloned();
            asked.entry(one.tenant.clone()).or_default().extend(queues);
        }
        let mut refused = HashMap::new();
        for (tenant, queues) in asked {
            let Limit::AtMost(most) = limits.of(&tenant).names else { continue };
            let names = self.names(&tenant);
            let mut names = names.lock().await;
            let now = || Instant::now().into_std();
            let without_room =
                bounded(self.call_timeout, names.admit(&*self.jobs, &tenant, &queues, (most, Batch::Apart), now))
                    .await?;
            if !without_room.is_empty() {
                refused.insert(tenant, without_room);
            }
        }
        for one in ready {
            let Some(refused) = refused.get(&one.tenant) else { continue };
            for tick in &mut one.firing.ticks {
                if queue(tick).is_some_and(|queue| refused.contains(queue)) {
                    tick.act = TickAct::Refuse;
                }
            }
        }
        Ok(())
    }

    fn names(&self, tenant: &TenantId) -> Arc<tokio::sync::Mutex<QueueNames>> {
        let mut all = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_TENANTS && !all.contains_key(tenant) {
            all.clear();
        }
        Arc::clone(all.entry(tenant.clone()).or_default())
    }

    /// How many of these ticks may fire; they then count.
    async fn room(&self, tenant: &TenantId, wanted: u64, most: u64) -> Result<u64, StoreError> {
        let uncounted = (most / 100).min(UNCOUNTED);
        let known = self.lock().get(tenant).copied().unwrap_or(TenantBacklog { uncounted, ..TenantBacklog::default() });
        if known.full_until.is_some_and(|until| Instant::now() < until) {
            return Ok(0);
        }
        let fired = known.fired + wanted;
        if fired <= known.uncounted.min(uncounted) {
            self.keep(tenant, TenantBacklog { fired, ..known });
            return Ok(wanted);
        }
        let began = Instant::now();
        let waiting = bounded(self.call_timeout, self.jobs.waiting(tenant, most.saturating_add(1))).await?;
        let room = most.saturating_sub(waiting);
        let again = COUNTED_AGAIN_AFTER.max(began.elapsed() * SMALL_PART);
        let left = room.saturating_sub(wanted);
        let full_until = (left == 0).then(|| Instant::now() + again);
        self.keep(tenant, TenantBacklog { fired: 0, uncounted: left.min(uncounted), full_until });
        Ok(room.min(wanted))
    }

    fn keep(&self, tenant: &TenantId, known: TenantBacklog) {
        let mut all = self.lock();
        if all.len() >= MOST_TENANTS && !all.contains_key(tenant) {
            all.clear();
        }
        all.insert(tenant.clone(), known);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, TenantBacklog>> {
        // Whole after every line that holds the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the job of a tick that fires will wait.
fn queue(tick: &NewTick) -> Option<&QueueName> {
    match &tick.act {
        TickAct::Fire(job) => Some(&job.work.queue),
        _ => None,
    }
}
