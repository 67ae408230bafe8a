//! The API over real sockets: what a client sees, and what a bad one gets.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod audit;
mod batch;
mod bulk;
mod clerk;
mod dashboard;
mod faulty;
mod feed;
mod harness;
mod http;
mod invalid;
mod jobs;
mod keys;
mod listing;
mod locks;
mod matrix;
mod overview;
mod pages;
mod places;
mod probes;
mod problems;
mod queues;
mod quotas;
mod registry;
mod schedules;
mod sessions;
mod statistics;
mod stopping;
mod stored_commands;
mod stream;
mod stream_filters;
mod stream_joins;
mod submit;
mod tenants;
mod tickets;
mod transport;
mod wait;
mod webhooks;
