//! Kafka as a fleet uses it, against real brokers.

mod acl;
mod broker;
mod conformance;
mod garbage;
mod groups;
mod outages;
mod rights;
mod schema;
mod stage;
#[cfg(feature = "kafka-tls")]
mod tls;
mod topics;
