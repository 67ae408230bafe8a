//! The log on Postgres, its workers and their administration.
//!
//! [`EventLog`] appends and reads, [`Migrations`] makes the tables, [`Worker`] runs consumers, [`Admin`] looks at them and
//! changes what they do, [`Retention`] removes old events, [`Notifier`] wakes workers.

mod admin;
mod append;
mod assign;
mod batch;
mod consumer;
mod control;
mod error;
mod handing;
mod leader;
mod lease;
mod log;
mod membership;
mod migrations;
mod notify;
mod options;
mod retention;
mod sql;
mod tables;
mod unit;
mod worker;

pub use admin::{Admin, AdminError, CheckpointStatus, ConsumerStatus, StuckEvent, WorkerStatus};
pub use assign::{Assign, RoundRobin, Sticky, Unit};
pub use consumer::{BatchConsumer, Consumer, ConsumerOptions, DetachedBatchConsumer, DetachedConsumer, PoisonHandler};
pub use error::{Conflict, LogError};
pub use log::{EventLog, Frontier, Page};
pub use migrations::{MigrationError, Migrations, Restored};
pub use notify::Notifier;
pub use options::Dispatcher;
pub use retention::{Pruned, Retention, RetentionHold};
pub use tables::{TableNames, TableNamesError};
pub use worker::{BuildError, Worker, WorkerBuilder, WorkerError};

pub(crate) use error::is_transient;
