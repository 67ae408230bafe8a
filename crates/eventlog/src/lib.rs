//! An event log and its consumers: exactly once, in order, none skipped, on Postgres alone.
//!
//! A service appends events to streams in its own transactions. Consumers read the whole log in one order and write what
//! they derive from it in the same transaction as their checkpoint. Workers on any number of machines share the consumers
//! among them. Begin with the [README](https://docs.rs/foreman-eventlog), which builds a projection in ten minutes.
//!
//! | module | for |
//! |---|---|
//! | [`event`], [`cursor`], [`scope`] | what is in the log, and how to say which part of it |
//! | [`failure`], [`observer`] | what a handler says when it cannot, and what a worker tells you |
//! | [`postgres`] | the log, its schema, its workers and their administration on Postgres |
//!
//! # Streams and tenants
//! A stream has a type and an id (`order`, `42`), and may belong to a tenant: [`Stream::of_tenant`](event::Stream::of_tenant). The tenant is
//! a part of the stream's identity, so two tenants may both have an order 42, and readers and consumers may ask for one
//! tenant only. Without tenants leave it out: it is then empty, and costs nothing.

pub mod cursor;
pub mod event;
pub mod failure;
pub mod observer;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod scope;

pub use cursor::Cursor;
pub use event::{Event, Expected, NewEvent, Stream};
pub use failure::Failure;
pub use foreman_runtime::{Shutdown, Stop};
pub use observer::Observer;
pub use scope::Scope;
