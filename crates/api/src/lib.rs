//! HTTP in, events out.
//!
//! Routes, the JSON they take and give, the problems they answer, long polls, the event stream, and the OpenAPI document
//! made from the same handlers. Everything is reached through ports of `core`: this crate has never heard of the engine or
//! of a database.
//!
//! A request meets the rooms in this order: `serve` (the connection), `gate` (who may call what, by the list in
//! `gate/access_list.rs`), `request` (its body and parameters), and the handler in the room of its resource (`jobs`,
//! `schedules`, …). `problem` is what it gets when something goes wrong.
//!
//! Any number of API processes may run beside each other: each keeps only its open requests and streams, what it read of
//! keys and tenants in the last seconds, and its counts for rate limits. One that dies takes its open connections along;
//! what was answered with a 2xx stays true.

pub mod app;
mod dev;
mod edit;
mod fresh_cache;
pub mod gate;
mod jobs;
mod openapi;
mod overview;
mod pages;
mod parked;
pub mod problem;
mod queues;
mod request;
mod routes;
mod schedules;
pub mod serve;
pub mod stream;
pub mod tail;
mod tenants;
mod webhooks;
mod workers;

pub use app::{App, AppParts, CommandPolicy};
pub use gate::Gate;
pub use gate::authenticate::Patience;
pub use gate::caller::{Caller, TenantProfile};
pub use gate::host::HostPolicy;
pub use gate::keys::KeyPolicy;
pub use openapi::openapi;
pub use pages::dashboard::Dashboard;
pub use request::body::Bodies;
pub use routes::router;
pub use serve::health::{Readiness, Vitals, probes};
pub use serve::late_router::LateRouter;
pub use serve::meter::Meter;
pub use serve::{BindError, Server};
pub use stream::{Cursors, Hub};
pub use tail::{Tail, Waits};
