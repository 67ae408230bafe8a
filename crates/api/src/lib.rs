//! HTTP in.
//!
//! Routes, the JSON they take and give, the problems they answer, long polls, and the OpenAPI document made from the same
//! handlers. Everything is reached through ports of `core`: this crate has never heard of the engine or of a database.
//!
//! Any number of API processes may run beside each other: none of them keeps anything but waiting requests. One that dies
//! takes its open connections along; what was answered with a 2xx stays true.

mod access;
pub mod app;
mod body;
mod bulk;
mod dev;
mod docs;
pub mod health;
mod home;
mod jobs;
mod json;
mod listing;
mod output;
mod params;
pub mod problem;
mod queues;
mod request_id;
mod routes;
pub mod serve;
mod submit;
pub mod tail;
mod wait;
mod workers;

pub use app::{App, Commands, Hosts, Parts};
pub use body::Bodies;
pub use health::Readiness;
pub use routes::{openapi, router};
pub use serve::{BindError, Server};
pub use tail::{Tail, Waits};
