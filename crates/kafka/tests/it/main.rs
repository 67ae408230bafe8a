//! Kafka as a fleet uses it, against real brokers.

mod broker;
mod conformance;
mod garbage;
mod groups;
mod outages;
mod schema;
mod stage;
mod topics;
