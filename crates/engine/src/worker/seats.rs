//! Whose attempts run here: how many slots each tenant has, and how to stop all of one.
//!
//! A seat is taken when an attempt starts and given back when it is dropped, so the count is right however an attempt ends. It
//! lives and dies with the process, like the attempts.
//!
//! A tenant that is disabled loses its seats: its attempts are told to stop and are handed back unspent, and the store gives
//! them to nobody until the tenant is enabled again.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::ports::StoreError;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::session::Session;
use crate::tenants::Tenants;

/// How often it is looked whether somebody's tenant was disabled.
const LOOK: Duration = Duration::from_secs(1);
/// So many tenants that cannot be read are named in the log.
const MOST_UNREADABLE: usize = 1_000;

/// Clones share one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seats(Arc<Mutex<SeatList>>);

#[derive(Debug, Default)]
struct SeatList {
    last: u64,
    tenants: HashMap<TenantId, HashMap<u64, Occupied>>,
}

#[derive(Debug)]
struct Occupied {
    stop: CancellationToken,
    is_expelled: Arc<AtomicBool>,
}

/// A slot that an attempt has.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Seats,
    tenant: TenantId,
    number: u64,
    is_expelled: Arc<AtomicBool>,
}

impl Seats {
    /// `stop` ends the attempt.
    pub fn take(&self, tenant: &TenantId, stop: CancellationToken) -> Seat {
        let is_expelled = Arc::new(AtomicBool::new(false));
        let mut list = self.lock();
        list.last += 1;
        let number = list.last;
        let occupied = Occupied { stop, is_expelled: Arc::clone(&is_expelled) };
        list.tenants.entry(tenant.clone()).or_default().insert(number, occupied);
        drop(list);
        Seat { seats: self.clone(), tenant: tenant.clone(), number, is_expelled }
    }

    /// How many each tenant has that has any.
    pub fn held(&self) -> Vec<(TenantId, usize)> {
        self.lock().tenants.iter().map(|(tenant, seats)| (tenant.clone(), seats.len())).collect()
    }

    /// Stops all attempts of a tenant. Answers how many were not stopped before.
    fn expel(&self, tenant: &TenantId) -> usize {
        let list = self.lock();
        let mut stopped = 0;
        for seat in list.tenants.get(tenant).into_iter().flat_map(HashMap::values) {
            if !seat.is_expelled.swap(true, Ordering::AcqRel) {
                seat.stop.cancel();
                stopped += 1;
            }
        }
        stopped
    }

    /// Stops the attempts of tenants that are disabled, for as long as the session lives: also while the worker drains.
    pub async fn watch(self, tenants: Option<Arc<Tenants>>, session: Arc<Session>) {
        let Some(tenants) = tenants else { return };
        tokio::select! {
            biased;
            () = session.over.cancelled() => {}
            () = session.lost.cancelled() => {}
            never = self.stop_disabled(&tenants) => match never {},
        }
    }

    async fn stop_disabled(&self, tenants: &Tenants) -> Infallible {
        let mut unreadable = HashSet::new();
        loop {
            sleep(LOOK).await;
            for (tenant, _) in self.held() {
                match tenants.settings(&tenant).await {
                    Ok(Some(settings)) if settings.is_disabled => {
                        let stopped = self.expel(&tenant);
                        if stopped > 0 {
                            info!(%tenant, jobs.count = stopped, "tenant {tenant} is disabled: stopping {stopped} attempts");
                        }
                    }
                    Ok(_) => {}
                    // Only this one cannot be read: the others are looked at all the same.
                    Err(StoreError::Damaged(why)) => {
                        if unreadable.len() < MOST_UNREADABLE && unreadable.insert(tenant.clone()) {
                            warn!(%tenant, "cannot tell whether tenant {tenant} is disabled: {why}");
                        }
                    }
                    // Whether anything may go on without the store is for the session to say.
                    Err(error) => {
                        warn!(%tenant, "could not check whether tenant {tenant} is disabled: {error}");
                        break;
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SeatList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// The attempt was stopped because its tenant is disabled.
    pub fn is_expelled(&self) -> bool {
        self.is_expelled.load(Ordering::Acquire)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut list = self.seats.lock();
        if let Some(seats) = list.tenants.get_mut(&self.tenant) {
            seats.remove(&self.number);
            if seats.is_empty() {
                list.tenants.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_counted_until_it_is_dropped() {
        let (seats, one, other) = (Seats::default(), TenantId::new("one"), TenantId::new("other"));
        let first = seats.take(&one, CancellationToken::new());
        let second = seats.take(&one, CancellationToken::new());
        let third = seats.take(&other, CancellationToken::new());
        let mut held = seats.held();
        held.sort();
        assert_eq!(held, [(one.clone(), 2), (other, 1)]);
        drop((first, third));
        assert_eq!(seats.held(), [(one, 1)]);
        drop(second);
        assert_eq!(seats.held(), []);
    }

    #[test]
    fn only_the_tenant_that_is_expelled_is_stopped_and_once() {
        let (seats, one, other) = (Seats::default(), TenantId::new("one"), TenantId::new("other"));
        let stops = [CancellationToken::new(), CancellationToken::new()];
        let (first, second) = (seats.take(&one, stops[0].clone()), seats.take(&other, stops[1].clone()));
        assert_eq!((seats.expel(&one), seats.expel(&one)), (1, 0));
        assert!(first.is_expelled() && stops[0].is_cancelled());
        assert!(!second.is_expelled() && !stops[1].is_cancelled());
    }
}
