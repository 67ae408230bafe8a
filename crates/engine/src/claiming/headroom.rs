//! How many more jobs of each tenant may be taken.
//!
//! Counted from the claims that are held, before a claim, and never by a counter: one that counts up and down is wrong for
//! ever after the first crash between the two. Far from every limit it is enough to look once a second, because a session
//! holds no more jobs than it has slots; near one ([`NEAR`] times the own slots) it is looked at before each claim.
//!
//! A limit that all slots of the fleet together cannot reach is not counted at all: how many slots there are is asked once a
//! second, so workers that start may exceed it for as long.
//!
//! Two sessions that look at the same moment see the same headroom, and both may fill it: a limit is exceeded by what
//! several claims take in one round trip to the store, and by nothing more, because the next look counts it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::ports::{Claim, Headroom, JobQuery, StoreError};
use tokio::time::Instant;

use crate::outage::bounded;
use crate::tenants::{RunningLimits, Tenants};

/// A tenant with less headroom than so many times a session's slots is near its limit.
const NEAR: usize = 10;
/// How long it is believed that nobody is.
const FAR_FOR: Duration = Duration::from_secs(1);

pub(crate) struct HeadroomLookup {
    tenants: Option<Arc<Tenants>>,
    near: u64,
    /// Slots of this session; `None`: `near` has those of all.
    own: Option<u64>,
    /// How many slots there are in all, and when they were counted.
    fleet: Option<(u64, Instant)>,
    call_timeout: Duration,
    /// When it was last seen that nobody is near a limit.
    far_since: Option<Instant>,
}

impl HeadroomLookup {
    pub(crate) fn unlimited() -> Self {
        Self::new(None, 0, Duration::ZERO)
    }

    /// Without `tenants` nobody is limited.
    pub(crate) fn new(tenants: Option<Arc<Tenants>>, slots: usize, call_timeout: Duration) -> Self {
        let near = u64::try_from(slots.saturating_mul(NEAR)).unwrap_or(u64::MAX);
        let own = u64::try_from(slots).ok();
        Self { tenants, near, own, fleet: None, call_timeout, far_since: None }
    }

    /// The same for all workers together: with more headroom than all their slots a tenant cannot reach its limit.
    pub(crate) fn of_fleet(tenants: Option<Arc<Tenants>>, call_timeout: Duration) -> Self {
        Self { tenants, near: 0, own: None, fleet: None, call_timeout, far_since: None }
    }

    /// So many slots there are in all.
    pub(crate) fn set_slots(&mut self, slots: usize) {
        let near = u64::try_from(slots).unwrap_or(u64::MAX);
        if near > self.near {
            self.far_since = None;
        }
        self.near = near;
    }

    /// Those who are near their limit.
    pub(crate) async fn look(&mut self, store: &dyn JobQuery) -> Result<Vec<Headroom>, StoreError> {
        let Some(tenants) = &self.tenants else { return Ok(Vec::new()) };
        if self.far_since.is_some_and(|since| since.elapsed() < FAR_FOR) {
            return Ok(Vec::new());
        }
        self.count(tenants.running_limits().await?, store).await
    }

    /// Looks again a little before it has to be done: while nobody waits for it.
    pub(crate) async fn renew(&mut self, store: &dyn JobQuery) -> Result<(), StoreError> {
        let Some(tenants) = &self.tenants else { return Ok(()) };
        let limits = tenants.renew_running_limits().await?;
        if self.far_since.is_some_and(|since| since.elapsed() >= FAR_FOR * 9 / 10) {
            self.count(limits, store).await?;
        }
        Ok(())
    }

    async fn count(&mut self, limits: RunningLimits, store: &dyn JobQuery) -> Result<Vec<Headroom>, StoreError> {
        let looked_at = Instant::now();
        let slots = if limits.are_unlimited() { 0 } else { self.slots(store).await? };
        let running = if limits.are_out_of_reach(slots) {
            Vec::new()
        } else {
            bounded(self.call_timeout, store.running()).await?
        };
        let rooms: Vec<Headroom> = limits
            .rooms(&running, self.near, slots)
            .into_iter()
            .map(|(tenant, room)| Headroom { tenant, jobs: u32::try_from(room).unwrap_or(u32::MAX) })
            .collect();
        self.far_since = rooms.is_empty().then_some(looked_at);
        Ok(rooms)
    }
}

impl HeadroomLookup {
    /// How many slots there are in all, as far as is known.
    async fn slots(&mut self, store: &dyn JobQuery) -> Result<u64, StoreError> {
        let Some(own) = self.own else { return Ok(u64::MAX) };
        if let Some((slots, _)) = self.fleet.filter(|(_, at)| at.elapsed() < FAR_FOR) {
            return Ok(slots);
        }
        let asked_at = Instant::now();
        // This session's are among them, and count whatever it registered with.
        let slots = bounded(self.call_timeout, store.fleet_slots()).await?.max(own);
        self.fleet = Some((slots, asked_at));
        Ok(slots)
    }
}

/// The smaller headroom of each tenant in both lists.
pub(super) fn narrowed(rooms: &[Headroom], others: &[Headroom]) -> Vec<Headroom> {
    let mut narrowed: HashMap<&TenantId, u32> = HashMap::new();
    for room in rooms.iter().chain(others) {
        narrowed.entry(&room.tenant).and_modify(|jobs| *jobs = room.jobs.min(*jobs)).or_insert(room.jobs);
    }
    narrowed.into_iter().map(|(tenant, jobs)| Headroom { tenant: tenant.clone(), jobs }).collect()
}

/// A tenant was given all the headroom it had: there may be more of its jobs, which were passed over.
pub fn is_used_up(rooms: &[Headroom], claim: Option<&Claim>) -> bool {
    let taken = |room: &Headroom| {
        claim.map_or(0, |claim| claim.jobs.iter().filter(|held| held.job.tenant == room.tenant).count())
    };
    rooms.iter().any(|room| taken(room) >= room.jobs as usize)
}
