//! What handles events, in four shapes.
//!
//! | shape | gets | exactly once |
//! |---|---|---|
//! | [`Consumer`] | the transaction and one event | yes, for what it writes with the transaction |
//! | [`BatchConsumer`] | the transaction and a batch | the same |
//! | [`DetachedConsumer`] | one event, and no transaction | at least once: for network calls |
//! | [`DetachedBatchConsumer`] | a batch, and no transaction | at least once |
//!
//! A handler in a transaction writes with the transaction it is given and never ends it: its writes and the checkpoint commit
//! together or not at all. A worker notices a handler that ended the transaction behind its back, and counts it as a failure.
//! A detached handler holds no connection and no lock while it works. A crash between its work and the
//! checkpoint shows it the same events again; [`Event::cursor`] rises, so the other side keeps the greatest it has seen and
//! ignores the rest.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_postgres::Transaction;

use crate::{Event, Failure, Scope};

/// Handles one event after the other in the transaction of the batch.
#[async_trait]
pub trait Consumer: Send + Sync + 'static {
    /// Stable: the checkpoint has this name. [`Admin::rename`](super::Admin::rename) changes it.
    fn name(&self) -> &str;

    /// Which events it wants. Asked once, when the worker is built.
    fn scope(&self) -> Scope {
        Scope::all()
    }

    async fn handle(&self, tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure>;
}

/// Handles a batch at a time in one transaction.
#[async_trait]
pub trait BatchConsumer: Send + Sync + 'static {
    fn name(&self) -> &str;

    fn scope(&self) -> Scope {
        Scope::all()
    }

    async fn handle(&self, tx: &mut Transaction<'_>, events: &[Event]) -> Result<(), Failure>;
}

/// Handles one event after the other without a transaction. After a failure the events before it are done.
#[async_trait]
pub trait DetachedConsumer: Send + Sync + 'static {
    fn name(&self) -> &str;

    fn scope(&self) -> Scope {
        Scope::all()
    }

    async fn handle(&self, event: &Event) -> Result<(), Failure>;
}

/// Handles a batch at a time without a transaction.
#[async_trait]
pub trait DetachedBatchConsumer: Send + Sync + 'static {
    fn name(&self) -> &str;

    fn scope(&self) -> Scope {
        Scope::all()
    }

    async fn handle(&self, events: &[Event]) -> Result<(), Failure>;
}

/// Is given an event that its consumer cannot handle. When it returns `Ok`, the event is parked with an audit row and the
/// consumer goes on after it, all in `tx`. An error leaves the consumer paused at the event.
#[async_trait]
pub trait PoisonHandler: Send + Sync + 'static {
    async fn park(&self, tx: &mut Transaction<'_>, event: &Event, error: &str) -> Result<(), Failure>;
}

/// How one consumer is run, where that differs from the others.
#[derive(Clone, Default)]
pub struct ConsumerOptions {
    pub(crate) shards: Option<i32>,
    pub(crate) batch_size: Option<usize>,
    pub(crate) poison: Option<Arc<dyn PoisonHandler>>,
}

impl ConsumerOptions {
    pub fn new() -> Self {
        Self::default()
    }

    /// Splits the consumer into this many parts by stream, which run at the same time, on several workers if there are. Order is
    /// kept within a stream. Default 1. [`Admin::reshard`](super::Admin::reshard) changes it later.
    #[must_use]
    pub fn shards(self, shards: u16) -> Self {
        Self { shards: Some(i32::from(shards)), ..self }
    }

    /// Events per batch of this consumer. Default: that of the worker.
    #[must_use]
    pub fn batch_size(self, events: usize) -> Self {
        Self { batch_size: Some(events), ..self }
    }

    /// What to do with an event that fails permanently, instead of pausing.
    #[must_use]
    pub fn poison_handler(self, handler: impl PoisonHandler) -> Self {
        Self { poison: Some(Arc::new(handler)), ..self }
    }
}

pub(crate) enum Handler {
    Each(Arc<dyn Consumer>),
    Batch(Arc<dyn BatchConsumer>),
    Detached(Arc<dyn DetachedConsumer>),
    DetachedBatch(Arc<dyn DetachedBatchConsumer>),
}

/// A consumer of a worker.
pub(crate) struct Registered {
    pub name: String,
    pub scope: Scope,
    pub handler: Handler,
    pub options: ConsumerOptions,
}

impl Registered {
    pub fn shards(&self) -> i32 {
        self.options.shards.unwrap_or(1)
    }

    pub fn is_detached(&self) -> bool {
        matches!(self.handler, Handler::Detached(_) | Handler::DetachedBatch(_))
    }
}
