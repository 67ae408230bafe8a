//! Handing events to a handler, whatever shape it has and whatever it does: panics and delays become failures.
//!
//! And the connection that it is handed: one that was not given back in good order is closed, because a transaction may be open
//! on it. The server then rolls that back.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_postgres::{IsolationLevel, Transaction};

use super::consumer::Handler;
use super::error::LogError;
use super::worker::Inner;
use crate::{Event, Failure};

/// Every wait of the transaction has an end at the server too, for a worker that is frozen with it open.
pub(super) async fn begin<'a>(
    client: &'a mut tokio_postgres::Client,
    inner: &Inner,
) -> Result<Transaction<'a>, LogError> {
    let millis = (inner.options.batch_timeout + Duration::from_secs(5)).as_millis();
    let limits =
        format!("SET LOCAL statement_timeout = {millis}; SET LOCAL idle_in_transaction_session_timeout = {millis}");
    let tx = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).read_only(false).start().await?;
    tx.batch_execute(&limits).await?;
    Ok(tx)
}

/// Handles events in a transaction. The failure, and the event where it is known.
pub(super) async fn handle(
    handler: &Handler,
    tx: &mut Transaction<'_>,
    events: &[Event],
) -> Result<(), (Failure, Option<usize>)> {
    match handler {
        Handler::Each(consumer) => {
            for (nth, event) in events.iter().enumerate() {
                let handled = AssertUnwindSafe(consumer.handle(tx, event)).catch_unwind().await;
                handled
                    .unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
                    .map_err(|failure| (failure, Some(nth)))?;
            }
            Ok(())
        }
        Handler::Batch(consumer) if !events.is_empty() => {
            let handled = AssertUnwindSafe(consumer.handle(tx, events)).catch_unwind().await;
            handled.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))).map_err(|failure| (failure, None))
        }
        Handler::Batch(_) | Handler::Detached(_) | Handler::DetachedBatch(_) => Ok(()),
    }
}

/// Handles events without a transaction, inside the limit. The failure, the event where it is known, and how many are done.
pub(super) async fn apply(
    handler: &Handler,
    events: &[Event],
    limit: Duration,
) -> Result<(), (Failure, Option<usize>, usize)> {
    let deadline = Instant::now() + limit;
    let late = || Failure::retryable(format!("the batch took longer than {limit:.1?}"));
    match handler {
        Handler::Detached(consumer) => {
            for (nth, event) in events.iter().enumerate() {
                let handled = AssertUnwindSafe(consumer.handle(event)).catch_unwind();
                match tokio::time::timeout_at(deadline, handled).await {
                    Ok(Ok(Ok(()))) => {}
                    Ok(Ok(Err(failure))) => return Err((failure, Some(nth), nth)),
                    Ok(Err(panic)) => return Err((panicked(panic.as_ref()), Some(nth), nth)),
                    Err(_) => return Err((late(), Some(nth), nth)),
                }
            }
            Ok(())
        }
        Handler::DetachedBatch(consumer) if !events.is_empty() => {
            let handled = AssertUnwindSafe(consumer.handle(events)).catch_unwind();
            match tokio::time::timeout_at(deadline, handled).await {
                Ok(Ok(handled)) => handled.map_err(|failure| (failure, None, 0)),
                Ok(Err(panic)) => Err((panicked(panic.as_ref()), None, 0)),
                Err(_) => Err((late(), None, 0)),
            }
        }
        Handler::DetachedBatch(_) | Handler::Each(_) | Handler::Batch(_) => Ok(()),
    }
}

pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into());
    Failure::from(format!("the handler panicked: {said}"))
}

/// A connection of the pool. One that was not given back is closed, because a transaction may be open on it.
pub(super) struct Lent {
    object: Option<Object>,
    is_clean: bool,
}

impl Lent {
    pub async fn of(inner: &Inner) -> Result<Self, LogError> {
        let object = inner.pool.get().await.map_err(|error| LogError::Unavailable(Box::new(error)))?;
        Ok(Self { object: Some(object), is_clean: false })
    }

    pub fn client(&mut self) -> &mut tokio_postgres::Client {
        self.object.as_mut().expect("it is taken only when this is dropped")
    }

    pub fn give_back(mut self) {
        self.is_clean = true;
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(object) = self.object.take()
            && !self.is_clean
        {
            drop(Object::take(object));
        }
    }
}
