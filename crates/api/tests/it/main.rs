//! The API over real sockets: what a client sees, and what a bad one gets.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod audit;
mod batch;
mod bulk;
mod clerk;
mod faulty;
mod harness;
mod http;
mod invalid;
mod jobs;
mod keys;
mod listing;
mod locks;
mod matrix;
mod pages;
mod probes;
mod problems;
mod queues;
mod quotas;
mod registry;
mod schedules;
mod stopping;
mod submit;
mod tenants;
mod transport;
mod wait;
mod webhooks;
