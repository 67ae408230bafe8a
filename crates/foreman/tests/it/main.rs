//! The real binary, over the real wire, with real signals.
//!
//! Every test has a directory, a data file or a database, and a port of its own. `FOREMAN_TORTURE` makes those that repeat themselves
//! repeat themselves more often.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set its stage has nothing to say"
)]

mod admin_key;
mod canary;
mod checks;
mod commands;
mod crashes;
mod demo;
mod direct;
mod doctors;
mod egress;
mod exit_codes;
mod fairness;
mod faults;
mod memory;
mod own_key;
mod pages;
mod readme;
mod roles;
mod schedules;
mod secret_key;
mod shares;
mod stage;
mod starting;
mod stopping;
mod tenants;
mod typing;
mod watching;
mod webhooks;
