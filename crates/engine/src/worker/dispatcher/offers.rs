//! What the feed has offered to this session and no claim has settled yet.
//!
//! An offer is out of the feed until it is settled or put back, and this keeps that promise however the dispatcher ends: what
//! it still has goes back when it is dropped, to the next session of this worker, or, from a process that leaves, to
//! other workers.
//!
//! A job whose tenant has no room here right now is kept for a moment, for room comes with every attempt that ends. One that waited
//! for [`KEEP`] is named in a claim all the same: the store refuses it, and has it announced again to whoever has room.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use foreman_core::lane::{LanePlan, Pick};
use foreman_core::ports::{Arrival, Feed, Headroom, Offer};
use foreman_core::{JobId, Lane, TenantId};
use futures_util::FutureExt;
use tokio::time::Instant;

/// So long a job is kept whose tenant has no room.
pub(super) const KEEP: Duration = Duration::from_secs(5);
/// So many are kept; with more the claim decides at once.
const MOST_KEPT: usize = 256;

pub(super) struct Offers {
    feed: Arc<dyn Feed>,
    /// By the claim under way.
    named: Vec<Arrival>,
    kept: VecDeque<(Instant, Arrival)>,
}

/// What to claim.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FeedPick {
    ByOrder,
    Ids(Vec<JobId>),
    Nothing,
}

impl Offers {
    pub fn new(feed: Arc<dyn Feed>) -> Self {
        Self { feed, named: Vec::new(), kept: VecDeque::new() }
    }

    /// Takes what the next claim is to name: lanes in the order of the plan, and no more of a tenant than it has room for.
    pub fn gather(&mut self, plan: &LanePlan, limit: usize, rooms: &[Headroom], now: Instant) -> FeedPick {
        let mut rooms: HashMap<TenantId, u32> = rooms.iter().map(|room| (room.tenant.clone(), room.jobs)).collect();
        for pick in &plan.0 {
            let full = limit.min(self.named.len() + pick.up_to);
            self.take_kept(pick.lane, full, &mut rooms, now);
            while self.named.len() < full {
                let wanted = full - self.named.len();
                let lane = LanePlan(vec![Pick { lane: pick.lane, up_to: wanted }]);
                match self.feed.offer(&lane, wanted) {
                    Offer::ByOrder => return FeedPick::ByOrder,
                    Offer::Nothing => break,
                    Offer::Ids(arrivals) if arrivals.is_empty() => break,
                    Offer::Ids(arrivals) => arrivals.into_iter().for_each(|one| self.take(one, &mut rooms, now)),
                }
            }
        }
        if self.named.is_empty() {
            return FeedPick::Nothing;
        }
        FeedPick::Ids(self.named.iter().map(|arrival| arrival.job).collect())
    }

    fn take_kept(&mut self, lane: Lane, full: usize, rooms: &mut HashMap<TenantId, u32>, now: Instant) {
        let mut rest = VecDeque::with_capacity(self.kept.len());
        for (since, arrival) in std::mem::take(&mut self.kept) {
            let is_wanted = arrival.lane == lane && self.named.len() < full;
            if is_wanted && (now.duration_since(since) >= KEEP || has_room(rooms, &arrival.tenant)) {
                self.named.push(arrival);
            } else {
                rest.push_back((since, arrival));
            }
        }
        self.kept = rest;
    }

    fn take(&mut self, arrival: Arrival, rooms: &mut HashMap<TenantId, u32>, now: Instant) {
        if has_room(rooms, &arrival.tenant) || self.kept.len() >= MOST_KEPT {
            self.named.push(arrival);
        } else {
            self.kept.push_back((now, arrival));
        }
    }

    /// The claim is durable, or has refused what it did not take.
    pub fn settle(&mut self) {
        if !self.named.is_empty() {
            self.feed.settled(std::mem::take(&mut self.named));
        }
    }

    /// Whether the claim took them is not known, or it took nothing because the session is gone.
    pub fn put_back(&mut self) {
        if !self.named.is_empty() {
            self.feed.put_back(std::mem::take(&mut self.named));
        }
    }

    /// Whether the feed has something to offer, or offered something that is kept.
    pub fn has_arrivals(&self) -> bool {
        !self.kept.is_empty() || self.feed.arrived().now_or_never().is_some()
    }

    /// When to look again for room for those that are kept.
    pub fn kept_until(&self, now: Instant) -> Option<Instant> {
        const LOOK: Duration = Duration::from_millis(50);
        let (first, _) = self.kept.front()?;
        Some((*first + KEEP).min(now + LOOK))
    }

    pub fn feed(&self) -> Arc<dyn Feed> {
        Arc::clone(&self.feed)
    }
}

impl Drop for Offers {
    fn drop(&mut self) {
        self.put_back();
        if !self.kept.is_empty() {
            self.feed.put_back(self.kept.drain(..).map(|(_, arrival)| arrival).collect());
        }
    }
}

/// Takes one place of those that are left.
fn has_room(rooms: &mut HashMap<TenantId, u32>, tenant: &TenantId) -> bool {
    match rooms.get_mut(tenant) {
        None => true,
        Some(0) => false,
        Some(left) => {
            *left -= 1;
            true
        }
    }
}
