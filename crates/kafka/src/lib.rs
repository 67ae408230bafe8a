//! The transport of a fleet: announcements of due jobs through Kafka.
//!
//! A relay's [`KafkaPublisher`] sends `foreman.v1` messages to four topics; a worker's [`KafkaFeed`] takes them out and offers them to its
//! dispatcher, which claims the jobs by id. A message names a job and never carries its work, so Kafka may lose, double, delay or
//! reorder what it likes: the store decides, and what is lost is announced again.
//!
//! ```text
//!  relay ── KafkaPublisher ──▶ foreman.jobs.high    ──▶ Fetch ─┐
//!                              foreman.jobs.normal  ──▶ Fetch ─┤ Inbox ── KafkaFeed ──▶ dispatcher
//!                              foreman.jobs.low     ──▶ Fetch ─┤   └────── Parking ───▶ what cannot be read
//!                              foreman.jobs.retry   ──▶ Fetch ─┘
//!  TopicKeeper: creates and checks the topics                     Health: how it is, for anyone who asks
//! ```
//!
//! Nothing here knows a store, and Kafka may be away at any time: calls answer with errors within their timeout, and go on when it is
//! back. The protocol on the wire is librdkafka's, compiled in.

mod client;
mod config;
mod error;
mod feed;
mod fetch;
mod health;
mod inbox;
mod kafka;
mod keeper;
mod lag;
pub mod message;
mod parking;
mod publisher;
mod right;
mod security;
mod topics;

pub use config::{Compression, Config, GroupProtocol};
pub use error::Error;
pub use feed::KafkaFeed;
pub use health::{BrokerState, FetchState, Health};
pub use kafka::Kafka;
pub use keeper::TopicKeeper;
pub use lag::GroupLag;
pub use parking::{ParkInStore, Parking};
pub use publisher::KafkaPublisher;
pub use right::Right;
pub use security::{SaslLogin, SaslMechanism, Security, TlsFiles};
pub use topics::{TopicKind, Topics};
