//! The roles as separate processes on a real Postgres, and everything that can happen to them.
//!
//! Every test has a database of its own; those that stop the server have a server of their own. Each ends the same way:
//! when nothing moves any more, the checker (`stage/checker.rs`) looks at every job that was accepted, every attempt that
//! was recorded and every request that the target saw, and the faults that were injected are counted, so that a test in
//! which nothing happened is not green. `FOREMAN_TORTURE` makes those that repeat themselves repeat themselves more often.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set its stage has nothing to say"
)]

mod crashes;
mod dead_workers;
mod deploys;
mod failover;
mod idle;
mod leaders;
mod outages;
mod poison;
mod pooler;
mod schedules;
mod stage;
mod streams;
mod zombies;
