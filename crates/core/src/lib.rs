//! What a job is.
//!
//! The words of the glossary as types, the rules that need no clock and no disk as plain functions, and the ports: what
//! the rest of Foreman asks of a store, of a submitter, of a wake-up. Nothing here knows a database, a socket or a
//! signal. [`memory`] keeps every port's promises in plain data structures; the suites that hold it and every adapter to the
//! same promises are the crate `foreman-conformance`. What goes over the wire is the crate `foreman-protocol`, found here under
//! its own names.

pub mod audit;
pub mod change_text;
mod clock;
pub mod egress;
pub mod error_group;
pub mod fair;
pub mod job;
pub mod key;
pub mod lane;
pub mod limits;
pub mod memory;
pub mod outcome;
pub mod outline;
pub mod ports;
pub mod redact;
pub mod retry;
pub mod schedule;
pub mod sealed;
pub mod secret;
pub mod secret_map;
mod shown;
pub mod signing;
pub mod spec;
pub mod state;
pub mod statistics;
pub mod storage;
pub mod target;
pub mod tenant;
pub mod webhook;

/// Points in time, and the clock.
pub mod time {
    pub use crate::clock::Clock;
    pub use foreman_protocol::time::{NotATime, Timestamp};
}

pub use foreman_protocol::{document, duration, id};
pub use id::{ClaimToken, EditId, EntryId, Fence, JobId, ScheduleId, SessionId, TenantId, WebhookId};
pub use job::{Idempotency, Job, NewJob, Start, Work};
pub use lane::Lane;
pub use outcome::{Report, Verdict};
pub use state::State;
pub use target::Target;
pub use time::{Clock, Timestamp};
