//! Who waits for a job to end, and how they are woken.
//!
//! A waiter registers *before* it looks: what ended before is seen by that look, what ends after it is read in the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_core::{JobId, TenantId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The handle by which requests wait.
#[derive(Clone)]
pub struct Waits {
    shared: Arc<WaitsCore>,
}

struct WaitsCore {
    max: usize,
    max_per_tenant: usize,
    waiting: Mutex<WaitingCalls>,
    /// Rung when somebody begins to wait.
    someone: Arc<Notify>,
    released: CancellationToken,
}

#[derive(Default)]
struct WaitingCalls {
    count: usize,
    by_tenant: HashMap<TenantId, usize>,
    by_job: HashMap<JobId, Vec<Arc<Notify>>>,
}

/// As many wait as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    #[error("the tenant has {0} requests waiting for jobs on this server, which is the limit")]
    OfTenant(usize),
    #[error("this server has reached its limit of requests that wait for jobs")]
    OfProcess,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The job may have ended: look again.
    Look,
    /// The server drains: answer with what is known.
    Released,
}

impl Waits {
    pub(super) fn new(max: usize, max_per_tenant: usize, someone: Arc<Notify>, released: CancellationToken) -> Self {
        Self { shared: Arc::new(WaitsCore { max, max_per_tenant, waiting: Mutex::default(), someone, released }) }
    }

    /// Begins to wait for a job. Register first, then look: what happens from now on wakes the waiter.
    pub fn register(&self, tenant: &TenantId, job: JobId) -> Result<Waiter, TooMany> {
        let notify = Arc::new(Notify::new());
        {
            let mut waiting = self.lock();
            if waiting.count >= self.shared.max {
                return Err(TooMany::OfProcess);
            }
            let own = waiting.by_tenant.get(tenant).copied().unwrap_or_default();
            if own >= self.shared.max_per_tenant {
                return Err(TooMany::OfTenant(own));
            }
            waiting.by_tenant.insert(tenant.clone(), own + 1);
            waiting.count += 1;
            waiting.by_job.entry(job).or_default().push(Arc::clone(&notify));
        }
        self.shared.someone.notify_one();
        Ok(Waiter { tenant: tenant.clone(), job, notify, waits: self.clone() })
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.lock().count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    pub(super) fn wake(&self, job: JobId) {
        for notify in self.lock().by_job.get(&job).into_iter().flatten() {
            notify.notify_one();
        }
    }

    pub(super) fn wake_all(&self) {
        for notify in self.lock().by_job.values().flatten() {
            notify.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingCalls> {
        // Nothing in here can panic half way through a change.
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits; gone when dropped.
pub struct Waiter {
    tenant: TenantId,
    job: JobId,
    // Keeps one wake-up, so that one which comes during a look is not lost.
    notify: Arc<Notify>,
    waits: Waits,
}

impl Waiter {
    pub async fn woken(&self) -> Woken {
        tokio::select! {
            biased;
            () = self.waits.shared.released.cancelled() => Woken::Released,
            () = self.notify.notified() => Woken::Look,
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = self.waits.lock();
        waiting.count -= 1;
        if let Some(own) = waiting.by_tenant.get_mut(&self.tenant) {
            *own -= 1;
            if *own == 0 {
                waiting.by_tenant.remove(&self.tenant);
            }
        }
        if let Some(waiters) = waiting.by_job.get_mut(&self.job) {
            waiters.retain(|notify| !Arc::ptr_eq(notify, &self.notify));
            if waiters.is_empty() {
                waiting.by_job.remove(&self.job);
            }
        }
    }
}
