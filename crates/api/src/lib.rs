//! HTTP in.
//!
//! Routes, the JSON they take and give, the problems they answer, long polls, and the OpenAPI document made from the same
//! handlers. Everything is reached through ports of `core`: this crate has never heard of the engine or of a database. A request
//! meets, in this order: `access` (by the list in `access/table.rs`), `doorkeeper`, its handler, and `audit`.
//!
//! Any number of API processes may run beside each other: none of them keeps anything but waiting requests
//! and what it learnt of keys in the last seconds. One that dies
//! takes its open connections along; what was answered with a 2xx stays true.

pub mod access;
mod answers;
pub mod app;
mod audit;
mod body;
mod buffers;
mod bulk;
pub mod caller;
mod commands;
pub mod dashboard;
mod dev;
mod docs;
pub mod door;
mod doorkeeper;
mod failures;
mod health;
mod hints;
mod home;
mod jobs;
mod json;
mod keys;
mod listing;
pub mod meter;
mod output;
mod overview;
mod paging;
mod params;
mod passes;
pub mod problem;
mod queues;
mod quotas;
mod request_id;
mod routes;
mod schedules;
pub mod serve;
mod session;
mod shares;
mod statistics;
pub mod stream;
mod submit;
pub mod tail;
mod tenants;
mod trail;
mod wait;
mod webhooks;
mod workers;

pub use access::{Gate, Hosts};
pub use app::{App, Commands, Parts};
pub use body::Bodies;
pub use caller::{Caller, Standing};
pub use dashboard::Dashboard;
pub use door::Door;
pub use doorkeeper::Patience;
pub use health::{Readiness, Vitals, probes};
pub use keys::Keys;
pub use meter::Meter;
pub use routes::{openapi, router};
pub use serve::{BindError, Server};
pub use stream::{Cursors, Hub};
pub use tail::{Tail, Waits};
