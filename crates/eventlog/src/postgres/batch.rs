//! A batch of one consumer: owned, read, handled and noted in one transaction, or handled apart and noted afterwards.
//!
//! In a transaction: lock the ownership row under our epoch; read the events after the checkpoint; handle; move the
//! checkpoint by compare-and-set; commit. Whatever goes wrong rolls all of it back. Two workers that both believe to own the consumer
//! wait for each other at the ownership row, and the one with the older epoch then finds nothing to own.
//!
//! After a failure in a batch of several events each of them is handled in a batch of its own until they are behind, so
//! those before the bad one are done, and it is known which one it is. Only a failure alone counts.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use foreman_runtime::Backoff;
use futures_util::FutureExt;
use tokio::time::{Instant, timeout};
use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};
use tracing::{debug, error, info, warn};

use super::consumer::{PoisonHandler, Registered};
use super::error::{LogError, is_transient};
use super::handing::{Lent, apply, begin, handle, panicked};
use super::unit::CheckpointWatch;
use super::worker::Inner;
use crate::failure::{FailureKind, chain};
use crate::observer::{BatchReport, PauseReport};
use crate::{Event, Failure};

/// A consumer with a narrow scope looks through this many positions at a time.
const WINDOW: i64 = 50_000;
/// A checkpoint is moved over so many positions without an event of the consumer's at once, and over fewer once per poll interval.
const WORTH_NOTING: i64 = 1_000;
/// How often a detached checkpoint is written again after a serialization failure.
const CHECKPOINT_TRIES: u32 = 3;

/// What a batch has come to.
pub(crate) enum Outcome {
    /// Events were handled, or positions passed.
    Advanced {
        is_full: bool,
    },
    /// Nothing to do.
    Idle,
    /// Look again at once.
    Again,
    Failed {
        pause: Duration,
    },
    /// Paused, or another worker's.
    Stopped,
}

/// Why a batch was not done.
enum Trouble {
    /// The handler failed, at this event if it is known.
    Handler {
        failure: Failure,
        at: Option<usize>,
        events: Vec<Event>,
    },
    /// Not ours any more.
    Lost,
    Paused,
    /// Someone has moved the checkpoint.
    Moved,
    Log(LogError),
}

impl<E: Into<LogError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Trouble::Log(error.into())
    }
}

struct Done {
    events: usize,
    to: i64,
    is_full: bool,
}

pub(crate) struct UnitState {
    inner: Arc<Inner>,
    consumer: Arc<Registered>,
    shard: i32,
    epoch: i64,
    watch: Arc<CheckpointWatch>,
    /// The checkpoint as we know it.
    stored: Option<i64>,
    /// Read up to here; ahead of the checkpoint where there was nothing for us.
    scanned: i64,
    /// One event at a time up to here.
    careful_until: i64,
    noted: Instant,
    backoff: Backoff,
}

impl UnitState {
    pub fn new(
        inner: Arc<Inner>,
        consumer: Arc<Registered>,
        shard: i32,
        epoch: i64,
        watch: Arc<CheckpointWatch>,
    ) -> Self {
        let backoff = Backoff::new(inner.options.poll_interval, inner.options.max_poll_interval);
        let noted = Instant::now();
        Self { inner, consumer, shard, epoch, watch, stored: None, scanned: 0, careful_until: 0, noted, backoff }
    }

    /// Up to `bound`, which is a frontier.
    pub async fn batch(&mut self, bound: i64) -> Outcome {
        let started = Instant::now();
        let from = self.stored;
        let limit = self.inner.options.batch_timeout;
        let tried = if self.consumer.is_detached() {
            self.detached(bound).await
        } else {
            match timeout(limit, self.in_transaction(bound)).await {
                Ok(tried) => tried,
                Err(_) => Err(Trouble::Handler {
                    failure: Failure::retryable(format!("the batch took longer than {limit:.1?} and was rolled back")),
                    at: None,
                    events: Vec::new(),
                }),
            }
        };
        match tried {
            Ok(done) => self.succeeded(done, from, bound, started),
            Err(trouble) => self.failed(trouble, bound, started).await,
        }
    }

    fn succeeded(&mut self, done: Done, from: Option<i64>, bound: i64, started: Instant) -> Outcome {
        self.backoff.reset();
        if done.events > 0 {
            let from = from.unwrap_or(done.to);
            self.report(&BatchReport { from, to: done.to, events: done.events, ..self.blank(bound, started) });
        }
        if self.scanned < self.careful_until || (!done.is_full && self.scanned < bound) {
            return Outcome::Again;
        }
        if done.events > 0 { Outcome::Advanced { is_full: done.is_full } } else { Outcome::Idle }
    }

    async fn in_transaction(&mut self, bound: i64) -> Result<Done, Trouble> {
        let inner = Arc::clone(&self.inner);
        let mut lent = Lent::of(&inner).await?;
        let tx = begin(lent.client(), &inner).await?;
        let own = self.own();
        // One round trip: the second is read for the checkpoint that we know, and again if it is another.
        let sql = &inner.log.sql;
        let (owned, read) = if self.stored.is_some() {
            let (owned, read) = tokio::join!(tx.query_typed_opt(&sql.own, &own), self.read(&tx, bound));
            (owned?, Some(read?))
        } else {
            (tx.query_typed_opt(&sql.own, &own).await?, None)
        };
        let Some(owned) = owned else { return Err(Trouble::Lost) };
        let (stored, mark): (i64, String) = (owned.try_get(0)?, owned.try_get(2)?);
        if owned.try_get(1)? {
            return Err(Trouble::Paused);
        }
        let (events, upper) = match read {
            Some(read) if self.stored == Some(stored) => read,
            _ => {
                self.begin_at(stored);
                self.read(&tx, bound).await?
            }
        };
        let is_full = events.len() >= self.limit();
        let to = if is_full { events.last().map_or(upper, Event::position) } else { upper };
        if events.is_empty() && !self.is_worth_noting(stored, to) {
            tx.rollback().await?;
            lent.give_back();
            self.scanned = to;
            return Ok(Done { events: 0, to, is_full });
        }
        let mut tx = tx;
        if let Err((failure, at)) = handle(&self.consumer.handler, &mut tx, &events).await {
            if tx.rollback().await.is_ok() {
                lent.give_back();
            }
            return Err(Trouble::Handler { failure, at, events });
        }
        if !self.note(&tx, stored, to, &mark).await.map_err(|trouble| match trouble {
            // A statement of the handler has failed and the handler has not said so.
            LogError::Database(error) if !is_transient(&error) => {
                Trouble::Handler { failure: error.into(), at: None, events: events.clone() }
            }
            other => Trouble::Log(other),
        })? {
            return Err(match tx.query_typed_one("SELECT pg_current_xact_id()::text", &[]).await {
                Ok(row) if row.try_get::<_, String>(0)? == mark => Trouble::Moved,
                _ => Trouble::Handler {
                    failure: Failure::permanent("the handler ended the transaction of the batch"),
                    at: None,
                    events,
                },
            });
        }
        tx.commit().await?;
        lent.give_back();
        self.moved_to(to);
        Ok(Done { events: events.len(), to, is_full })
    }

    async fn detached(&mut self, bound: i64) -> Result<Done, Trouble> {
        let inner = Arc::clone(&self.inner);
        let (stored, events, upper) = {
            let probe = async {
                let mut lent = Lent::of(&inner).await?;
                let client = lent.client();
                let owned = client.query_typed_opt(&inner.log.sql.own_detached, &self.own()).await?;
                let Some(owned) = owned else { return Err(Trouble::Lost) };
                let stored: i64 = owned.try_get(0)?;
                if owned.try_get(1)? {
                    return Err(Trouble::Paused);
                }
                if self.stored != Some(stored) {
                    self.begin_at(stored);
                }
                let (events, upper) = self.read(client, bound).await?;
                lent.give_back();
                Ok((stored, events, upper))
            };
            timeout(inner.options.batch_timeout, probe).await.map_err(|_| slow())??
        };
        let is_full = events.len() >= self.limit();
        let to = if is_full { events.last().map_or(upper, Event::position) } else { upper };
        if events.is_empty() && !self.is_worth_noting(stored, to) {
            self.scanned = to;
            return Ok(Done { events: 0, to, is_full });
        }
        let limit = inner.options.batch_timeout.min(inner.options.detached_apply_timeout);
        if let Err((failure, at, done)) = apply(&self.consumer.handler, &events, limit).await {
            // What is done stays done.
            if let Some(last) = done.checked_sub(1).and_then(|last| events.get(last)) {
                self.note_detached(stored, last.position()).await?;
            }
            return Err(Trouble::Handler { failure, at, events });
        }
        self.note_detached(stored, to).await?;
        Ok(Done { events: events.len(), to, is_full })
    }

    /// The next events, and up to where that is all there are.
    async fn read(
        &self,
        client: &impl tokio_postgres::GenericClient,
        bound: i64,
    ) -> Result<(Vec<Event>, i64), LogError> {
        let upper = bound.min(self.scanned.saturating_add(WINDOW)).max(self.scanned);
        if upper == self.scanned {
            return Ok((Vec::new(), upper));
        }
        let (shards, epoch) = (self.consumer.shards(), self.inner.epoch.load(Ordering::Acquire));
        let (log, scope) = (&self.inner.log, &self.consumer.scope);
        let events =
            log.read_between(client, self.scanned, upper, self.limit(), scope, (shards, self.shard), epoch).await?;
        Ok((events, upper))
    }

    fn limit(&self) -> usize {
        let size = self.consumer.options.batch_size.unwrap_or(self.inner.options.batch_size);
        if self.scanned < self.careful_until { 1 } else { size }
    }

    fn is_worth_noting(&self, stored: i64, to: i64) -> bool {
        to >= stored + WORTH_NOTING || (to > stored && self.noted.elapsed() >= self.inner.options.poll_interval)
    }

    fn own(&self) -> [(&(dyn ToSql + Sync), Type); 4] {
        [
            (&self.consumer.name, Type::TEXT),
            (&self.shard, Type::INT4),
            (&self.inner.id, Type::UUID),
            (&self.epoch, Type::INT8),
        ]
    }

    fn begin_at(&mut self, stored: i64) {
        if self.stored.is_some_and(|known| known != stored) {
            info!(consumer = self.consumer.name, shard = self.shard, "the checkpoint was moved to {stored}");
            self.careful_until = 0;
        }
        self.stored = Some(stored);
        self.scanned = stored;
        self.watch.note(stored);
    }

    fn moved_to(&mut self, to: i64) {
        self.stored = Some(to);
        self.scanned = to;
        self.noted = Instant::now();
        self.watch.note(to);
    }

    async fn note(&self, tx: &Transaction<'_>, stored: i64, to: i64, mark: &String) -> Result<bool, LogError> {
        let of: [(&(dyn ToSql + Sync), Type); 5] = [
            (&self.consumer.name, Type::TEXT),
            (&self.shard, Type::INT4),
            (&stored, Type::INT8),
            (&to, Type::INT8),
            (mark, Type::TEXT),
        ];
        Ok(tx.execute_typed(&self.inner.log.sql.checkpoint, &of).await? == 1)
    }

    async fn note_detached(&mut self, stored: i64, to: i64) -> Result<(), Trouble> {
        let of: [(&(dyn ToSql + Sync), Type); 6] = [
            (&self.consumer.name, Type::TEXT),
            (&self.shard, Type::INT4),
            (&stored, Type::INT8),
            (&to, Type::INT8),
            (&self.inner.id, Type::UUID),
            (&self.epoch, Type::INT8),
        ];
        for nth in 1..=CHECKPOINT_TRIES {
            let write = async {
                let mut lent = Lent::of(&self.inner).await?;
                let done = lent.client().execute_typed(&self.inner.log.sql.checkpoint_detached, &of).await?;
                lent.give_back();
                Ok::<_, LogError>(done == 1)
            };
            match timeout(self.inner.options.checkpoint_timeout, write).await {
                Ok(Ok(true)) => {
                    self.moved_to(to);
                    return Ok(());
                }
                // Moved by someone else, or not ours any more: the next look finds out.
                Ok(Ok(false)) => return Err(Trouble::Moved),
                Ok(Err(LogError::Database(error))) if is_transient(&error) && nth < CHECKPOINT_TRIES => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(slow()),
            }
        }
        Err(slow())
    }

    async fn failed(&mut self, trouble: Trouble, bound: i64, started: Instant) -> Outcome {
        match trouble {
            Trouble::Lost => {
                info!(consumer = self.consumer.name, shard = self.shard, "the consumer is another worker's now");
                Outcome::Stopped
            }
            Trouble::Paused => Outcome::Stopped,
            Trouble::Moved => {
                debug!(consumer = self.consumer.name, shard = self.shard, "the checkpoint was moved: reading again");
                self.stored = None;
                Outcome::Again
            }
            Trouble::Log(error) => {
                // Whether the checkpoint was moved by a commit without an answer is not known.
                self.stored = None;
                let text = chain(&error);
                warn!(consumer = self.consumer.name, shard = self.shard, error = text, "the batch could not be done");
                self.report(&BatchReport {
                    error: Some((FailureKind::Retryable, &text)),
                    ..self.blank(bound, started)
                });
                Outcome::Failed { pause: self.backoff.next() }
            }
            Trouble::Handler { failure, at, events } => self.handler_failed(failure, at, events, bound, started).await,
        }
    }

    async fn handler_failed(
        &mut self,
        failure: Failure,
        at: Option<usize>,
        events: Vec<Event>,
        bound: i64,
        started: Instant,
    ) -> Outcome {
        let (kind, text) = (failure.kind(), failure.text());
        self.report(&BatchReport { error: Some((kind, &text)), ..self.blank(bound, started) });
        let event = events.get(at.unwrap_or(0)).cloned();
        let position = event.as_ref().map(Event::position);
        warn!(
            consumer = self.consumer.name,
            shard = self.shard,
            position,
            error = text,
            "the handler failed ({kind:?})"
        );
        if kind != FailureKind::Retryable && events.len() > 1 {
            self.careful_until = events.last().map_or(0, Event::position);
            return Outcome::Again;
        }
        let counted = self.count(event.as_ref(), &text, kind, false).await;
        let (Ok(Some((failures, is_paused))), Some(event)) = (counted, event) else {
            return Outcome::Failed { pause: self.backoff.next() };
        };
        if is_paused {
            self.paused(&event, failures, &text);
            return Outcome::Stopped;
        }
        let is_given_up = match kind {
            FailureKind::Retryable => false,
            FailureKind::Permanent => true,
            FailureKind::Unclassified => failures >= self.max_failures(),
        };
        let Some(poison) = self.consumer.options.poison.clone().filter(|_| is_given_up) else {
            return Outcome::Failed { pause: self.backoff.next() };
        };
        match timeout(self.inner.options.batch_timeout, self.park(poison.as_ref(), &event, &text)).await {
            Ok(Ok(())) => {
                self.inner.options.observer.parked(&self.pause_report(&event, failures, &text));
                Outcome::Again
            }
            Ok(Err(Trouble::Moved | Trouble::Lost)) => {
                self.stored = None;
                Outcome::Again
            }
            Ok(Err(Trouble::Log(_))) => Outcome::Failed { pause: self.backoff.next() },
            said => {
                let why = match said {
                    Ok(Err(Trouble::Handler { failure, .. })) => failure.text(),
                    _ => "it took too long".into(),
                };
                let text = format!("{text}; and the poison handler failed: {why}");
                if let Ok(Some((failures, true))) = self.count(Some(&event), &text, FailureKind::Permanent, true).await
                {
                    self.paused(&event, failures, &text);
                    return Outcome::Stopped;
                }
                Outcome::Failed { pause: self.backoff.next() }
            }
        }
    }

    /// Notes a failure where everyone sees it. Pauses if it was one too many; not if there is a poison handler to ask first.
    async fn count(
        &self,
        event: Option<&Event>,
        text: &str,
        kind: FailureKind,
        must_pause: bool,
    ) -> Result<Option<(i32, bool)>, LogError> {
        let reason = match kind {
            FailureKind::Permanent => format!("an event cannot be handled: {text}"),
            _ => format!("{} failures in a row: {text}", self.max_failures()),
        };
        let is_permanent = kind == FailureKind::Permanent;
        let goes_on = !must_pause && (kind == FailureKind::Retryable || self.consumer.options.poison.is_some());
        let stored = self.stored.unwrap_or_default();
        let of: [(&(dyn ToSql + Sync), Type); 13] = [
            (&self.consumer.name, Type::TEXT),
            (&self.shard, Type::INT4),
            (&stored, Type::INT8),
            (&event.map(Event::position), Type::INT8),
            (&event.map(|event| event.id), Type::UUID),
            (&event.map(|event| event.event_type.as_str()), Type::TEXT),
            (&text, Type::TEXT),
            (&reason, Type::TEXT),
            (&self.max_failures(), Type::INT4),
            (&is_permanent, Type::BOOL),
            (&goes_on, Type::BOOL),
            (&self.inner.id, Type::UUID),
            (&self.epoch, Type::INT8),
        ];
        let rows = self.inner.control.query(&self.inner.log.sql.fail, &of).await?;
        rows.first().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
    }

    fn max_failures(&self) -> i32 {
        i32::try_from(self.inner.options.max_consecutive_failures).unwrap_or(i32::MAX)
    }

    /// Past the event, with a row that says so.
    async fn park(&mut self, poison: &dyn PoisonHandler, event: &Event, text: &str) -> Result<(), Trouble> {
        let inner = Arc::clone(&self.inner);
        let mut lent = Lent::of(&inner).await?;
        let mut tx = begin(lent.client(), &inner).await?;
        let Some(owned) = tx.query_typed_opt(&inner.log.sql.own, &self.own()).await? else { return Err(Trouble::Lost) };
        let (stored, mark): (i64, String) = (owned.try_get(0)?, owned.try_get(2)?);
        let handed = AssertUnwindSafe(poison.park(&mut tx, event, text)).catch_unwind().await;
        handed.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))).map_err(|failure| Trouble::Handler {
            failure,
            at: None,
            events: Vec::new(),
        })?;
        let (name, shard, position) = (&self.consumer.name, self.shard, event.position());
        let sql = &inner.log.sql;
        let of: [(&(dyn ToSql + Sync), Type); 4] =
            [(name, Type::TEXT), (&shard, Type::INT4), (&position, Type::INT8), (&text, Type::TEXT)];
        tx.execute_typed(&sql.park, &of).await?;
        let actor = format!("worker {}", inner.id);
        let of: [(&(dyn ToSql + Sync), Type); 7] = [
            (name, Type::TEXT),
            (&shard, Type::INT4),
            (&"park", Type::TEXT),
            (&actor, Type::TEXT),
            (&text, Type::TEXT),
            (&stored, Type::INT8),
            (&position, Type::INT8),
        ];
        tx.execute_typed(&sql.audit, &of).await?;
        if !self.note(&tx, stored, position, &mark).await? {
            return Err(Trouble::Moved);
        }
        tx.commit().await?;
        lent.give_back();
        warn!(consumer = name, shard, position, "the event was parked");
        self.moved_to(position);
        Ok(())
    }

    fn paused(&self, event: &Event, failures: i32, text: &str) {
        error!(
            consumer = self.consumer.name,
            shard = self.shard,
            position = event.position(),
            event.id = %event.id,
            error = text,
            "the consumer is paused; its siblings go on"
        );
        self.inner.options.observer.paused(&self.pause_report(event, failures, text));
    }

    fn pause_report<'a>(&'a self, event: &'a Event, failures: i32, error: &'a str) -> PauseReport<'a> {
        PauseReport {
            consumer: &self.consumer.name,
            shard: self.shard,
            position: event.position(),
            event_id: event.id,
            event_type: &event.event_type,
            failures,
            error,
        }
    }

    fn report(&self, report: &BatchReport<'_>) {
        self.inner.options.observer.batch(report);
    }

    fn blank(&self, frontier: i64, started: Instant) -> BatchReport<'_> {
        let at = self.stored.unwrap_or_default();
        BatchReport {
            consumer: &self.consumer.name,
            shard: self.shard,
            from: at,
            to: at,
            frontier,
            events: 0,
            took: started.elapsed(),
            is_detached: self.consumer.is_detached(),
            error: None,
        }
    }
}

fn slow() -> Trouble {
    Trouble::Log(LogError::Unavailable("no answer in time".into()))
}
