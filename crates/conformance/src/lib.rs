//! The promises of the ports, as tests every store must pass.
//!
//! Each promise is a plain async function that takes a fresh [`Subject`] and panics when the promise is broken; a file
//! holds one idea. [`conformance_suite!`](crate::conformance_suite) stamps all of them onto a store, so each reports by
//! name for each backend, and a full look at the store follows each: whatever happened, every job is in exactly one
//! place. No promise depends on the wall clock: time passes when the test says so.
//!
//! That the promises can fail is proven too: `tests/it/rules.rs` takes one rule of the reference store away at a time
//! and expects the promise written for it to break.

pub mod announce;
pub mod announce_again;
mod announcing;
pub mod attempts;
pub mod audit;
pub mod callbacks;
pub mod cancel;
pub mod changes;
pub mod chaos;
pub mod claim;
pub mod counts;
pub mod couriers;
pub mod crashes;
pub mod deliveries_posted;
pub mod expiry;
pub mod failure_groups;
pub mod fairness;
pub mod fairness_weights;
pub mod followers;
pub mod given;
pub mod held_by;
pub mod idempotency;
pub mod keys;
pub mod labels;
mod ledger;
pub mod listing;
pub mod log_start;
pub mod machine;
pub mod notes;
pub mod order;
pub mod outstanding;
pub mod overdue;
pub mod parked;
pub mod passes;
pub mod posting;
pub mod promote;
pub mod prune;
pub mod queues;
pub mod redrive;
pub mod refusals;
pub mod remove;
pub mod rooms;
pub mod rules;
pub mod same;
pub mod schedule_due;
pub mod schedule_edits;
pub mod schedule_fire;
pub mod schedule_overlap;
pub mod schedule_races;
pub mod schedule_ticks;
pub mod schedules;
pub mod sequences;
pub mod sessions;
pub mod settle;
pub mod states;
pub mod statistics;
pub mod submit;
mod suite;
mod tenancy;
pub mod tenants;
pub mod tenants_disabled;
pub mod tenants_kept;
pub mod terms;
pub mod timetable;
pub mod trail;
pub mod transport;
pub mod wakeups;
pub mod webhooks_health;
pub mod webhooks_kept;
pub mod workers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use foreman_core::ports::{AnnounceStore, Leader, Store, Tenancy, Wakeups};
use foreman_core::time::Timestamp;

/// A fresh, empty store, and its clock in the test's hands.
#[async_trait]
pub trait Subject: Send + Sync {
    fn store(&self) -> Arc<dyn Store>;

    /// What the store rings after its commits.
    fn wakeups(&self) -> Arc<dyn Wakeups>;

    /// What time it is on the store's clock.
    async fn now(&self) -> Timestamp;

    /// Lets time pass on the store's clock.
    async fn advance(&self, by: Duration);

    /// How many random histories [`chaos`] plays in all. A store that writes to a disk asks for fewer.
    fn histories(&self) -> u64 {
        200
    }

    /// How many races [`schedule_races`] runs. More when there is time.
    fn races(&self) -> u64 {
        1_000
    }
}

/// A store that keeps tenants, their keys and webhooks, and the audit log too.
#[async_trait]
pub trait TenancySubject: Subject {
    fn tenancy(&self) -> Arc<dyn Tenancy>;

    /// Two leaders one after the other; none where the store has no terms.
    async fn reigns(&self) -> Option<Reigns> {
        None
    }
}

/// A store that stands beside a broker too.
pub trait AnnounceSubject: TenancySubject {
    fn announcing(&self) -> Arc<dyn AnnounceStore>;
}

/// A leader whose term is over, and the one that leads since.
#[derive(Clone, Debug)]
pub struct Reigns {
    pub over: Leader,
    pub current: Leader,
}
