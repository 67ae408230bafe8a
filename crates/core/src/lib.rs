//! What a job is.
//!
//! The words of the glossary as types, the rules that need no clock and no disk as plain functions, and the ports: what
//! the rest of Foreman asks of a store, of a submitter, of a wake-up. Nothing here knows a database, a socket or a
//! signal. [`memory`] keeps every port's promises in plain data structures; the suites that hold it and every adapter to the
//! same promises are the crate `foreman-conformance`.

pub mod audit;
pub mod document;
pub mod duration;
pub mod egress;
pub mod error_group;
pub mod fair;
pub mod id;
pub mod job;
pub mod key;
pub mod lane;
pub mod limits;
pub mod memory;
mod object;
pub mod outcome;
pub mod outline;
pub mod ports;
pub mod redact;
pub mod retry;
pub mod runs;
pub mod schedule;
pub mod sealed;
pub mod secret;
pub mod secret_map;
pub mod signing;
pub mod spec;
pub mod state;
pub mod statistics;
pub mod target;
pub mod tenant;
pub mod time;
pub mod webhook;

pub use id::{ClaimToken, EditId, EntryId, Fence, JobId, ScheduleId, SessionId, TenantId, WebhookId};
pub use job::{Idempotency, Job, NewJob, Start, Work};
pub use lane::Lane;
pub use outcome::{Report, Verdict};
pub use state::State;
pub use target::Target;
pub use time::{Clock, Timestamp};
