//! One transaction under way: its connection, what it moved and whom to wake.
//!
//! BEGIN goes out together with the first statement, the change row together with COMMIT: a verb of one statement costs
//! two round trips, however far away the database is, and one where it knows beforehand what it will write. A transaction
//! that is dropped before its end, because its caller gave up or a deadline passed, takes its connection out of the pool:
//! nobody else meets it half way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use foreman_core::change_text::ChangeWriter;
use foreman_core::job::QueueName;
use foreman_core::ports::{Note, Step, StoreError, Topic};
use foreman_core::{JobId, TenantId};
use foreman_runtime::Backoff;
use futures_util::future::{FutureExt, join, join_all};
use tokio_postgres::{Row, Statement};
use tracing::debug;

use crate::connection::{self, TransactionPurpose};
use crate::error::{Fault, Remedy};
use crate::statements;
use crate::value::Arg;
use crate::{StoreParts, changes};

/// How often a transaction is done again before its caller is told.
const TRIES: u32 = 6;

/// How many connections that can only be read one call may meet: each is closed, so this is as many as were in use when the
/// first was met. A database that can only be read is refused when connecting, and told at once.
const STALE: u32 = 32;

/// See [`Transaction::by_id`].
const FOR_THESE: &str = "SET LOCAL plan_cache_mode = force_custom_plan";
const FOR_ANY: &str = "SET LOCAL plan_cache_mode = force_generic_plan";

/// A statement and its parameters.
pub(crate) type Query<'a> = (&'a str, &'a [&'a dyn Arg]);

pub(crate) struct Transaction {
    connection: Option<Object>,
    /// Sent with the first statement.
    begin: String,
    is_begun: AtomicBool,
    /// COMMIT was sent along with the last statements: there is nothing more to do or to undo.
    is_ended: AtomicBool,
    /// Lost now, it may have been committed, and only the caller may send it again.
    was_sent: AtomicBool,
    prepare: bool,
    /// See [`changes::tag`].
    log_tag: i64,
    moved: Mutex<ChangeWriter>,
    rings: Mutex<Rings>,
}

impl Transaction {
    pub async fn new(parts: &StoreParts, pool: &Pool, purpose: TransactionPurpose) -> Result<Self, StoreError> {
        let begin = parts.beginning.text(purpose, parts.clock.as_deref());
        Self::on(pool, begin, parts.prepare, parts.log_tag).await
    }

    /// With the message that begins it, and whether its statements may be prepared.
    pub async fn on(pool: &Pool, begin: String, prepare: bool, log_tag: i64) -> Result<Self, StoreError> {
        let connection = pool.get().await.map_err(|error| connection::unavailable(&error))?;
        Ok(Self {
            connection: Some(connection),
            begin,
            is_begun: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            was_sent: AtomicBool::new(false),
            prepare,
            log_tag,
            moved: Mutex::default(),
            rings: Mutex::default(),
        })
    }

    fn connection(&self) -> &Object {
        self.connection.as_ref().expect("only the end of the transaction takes it out")
    }

    pub async fn rows(&self, sql: &str, args: &[&dyn Arg]) -> Result<Vec<Row>, Fault> {
        let mut answers = self.all(&[(sql, args)]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// See [`Self::by_id`].
    pub async fn rows_by_id(&self, sql: &str, args: &[&dyn Arg]) -> Result<Vec<Row>, Fault> {
        let mut answers = self.by_id(&[(sql, args)]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    pub async fn row(&self, sql: &str, args: &[&dyn Arg]) -> Result<Option<Row>, Fault> {
        Ok(self.rows(sql, args).await?.into_iter().next())
    }

    /// Sends several statements one behind the other, without waiting for each other's answers.
    pub async fn all(&self, steps: &[Query<'_>]) -> Result<Vec<Vec<Row>>, Fault> {
        let prepared = self.prepared(steps).await?;
        let sent = join_all(steps.iter().zip(&prepared).map(|(step, statement)| self.send(step, statement.as_ref())));
        // Polled in this order, so that is the order on the wire.
        let (begun, answers) = join(self.begun(), sent).await;
        begun?;
        Ok(answers.into_iter().collect::<Result<_, _>>()?)
    }

    /// Sends statements that find rows of `jobs` or `outcomes` by their ids (`… = ANY ($1)`), which are planned anew for these ids.
    ///
    /// The plan that a connection keeps is for any id, so it names every partition, and whoever runs it locks them all, with
    /// their indexes: after a year 120 locks for a look at one job. The server's table of locks has room for 64 for each connection.
    /// (Without any id nothing says which partitions are concerned: not to be called so.)
    pub async fn by_id(&self, steps: &[Query<'_>]) -> Result<Vec<Vec<Row>>, Fault> {
        let prepared = self.prepared(steps).await?;
        let sent = join_all(steps.iter().zip(&prepared).map(|(step, statement)| self.send(step, statement.as_ref())));
        let (for_these, for_any) =
            (self.connection().batch_execute(FOR_THESE), self.connection().batch_execute(FOR_ANY));
        // Polled in this order, so that is the order on the wire.
        let (begun, (set, (answers, reset))) = join(self.begun(), join(for_these, join(sent, for_any))).await;
        begun?;
        set?;
        let answers = answers.into_iter().collect::<Result<_, _>>()?;
        reset?;
        Ok(answers)
    }

    /// The last statements of a transaction, with the change row and COMMIT right behind them: one round trip for a write
    /// that knows beforehand what it will say. Where a statement fails, the server takes that COMMIT for a rollback.
    ///
    /// `is_hint`: it may be done twice, so a connection that is lost here is nothing to tell the caller.
    pub async fn last(&self, steps: &[Query<'_>], is_hint: bool) -> Result<Vec<Vec<Row>>, Fault> {
        self.end_with(steps, is_hint, "").await
    }

    /// The same where the last of them looks for rows by their ids ([`Self::by_id`]).
    pub async fn last_by_ids(&self, steps: &[Query<'_>]) -> Result<Vec<Vec<Row>>, Fault> {
        self.end_with(steps, false, FOR_THESE).await
    }

    async fn end_with(&self, steps: &[Query<'_>], is_hint: bool, first: &str) -> Result<Vec<Vec<Row>>, Fault> {
        let log = self.log();
        let log = log.as_ref().map(UnwrittenChange::args);
        let steps = with_log(steps, log.as_ref());
        let prepared = self.prepared(&steps).await?;
        self.is_ended.store(true, Ordering::Relaxed);
        self.was_sent.store(!is_hint, Ordering::Relaxed);
        let sent = join_all(steps.iter().zip(&prepared).map(|(step, statement)| self.send(step, statement.as_ref())));
        // Polled in this order, so that is the order on the wire.
        let set = async { if first.is_empty() { Ok(()) } else { self.connection().batch_execute(first).await } };
        let ended = self.connection().batch_execute("COMMIT");
        let (begun, (set, (answers, ended))) = join(self.begun(), join(set, join(sent, ended))).await;
        begun?;
        set?;
        let answers = answers.into_iter().collect::<Result<_, _>>()?;
        ended?;
        Ok(answers)
    }

    /// Two transactions in one round trip: a hint, for which this one was begun, and then, begun with `begin`, the last
    /// statements of a write, with the change row and COMMIT. What the hint answered, and how the write went.
    ///
    /// The hint is committed and its locks are gone before the write begins. Nobody waits in between, so what the write needs of
    /// the hint it must find on the connection: where a pooler stands between, there is none.
    ///
    /// For a write that finds itself done when it is sent again: a connection that is lost here is nothing to tell the caller.
    pub async fn last_after(
        &self,
        hint: Query<'_>,
        begin: &str,
        steps: &[Query<'_>],
    ) -> Result<(Vec<Row>, Result<Vec<Vec<Row>>, Fault>), Fault> {
        let log = self.log();
        let log = log.as_ref().map(UnwrittenChange::args);
        let steps = with_log(steps, log.as_ref());
        let (first, prepared) = (self.prepared(&[hint]).await?, self.prepared(&steps).await?);
        self.is_ended.store(true, Ordering::Relaxed);
        let hinted = self.send(&hint, first.first().and_then(Option::as_ref));
        let between = format!("COMMIT; {begin}");
        let between = self.connection().batch_execute(&between);
        let sent = join_all(steps.iter().zip(&prepared).map(|(step, statement)| self.send(step, statement.as_ref())));
        let ended = self.connection().batch_execute("COMMIT");
        // Polled in this order, so that is the order on the wire.
        let (begun, (hinted, (between, (answers, ended)))) =
            join(self.begun(), join(hinted, join(between, join(sent, ended)))).await;
        begun?;
        let hinted = hinted?;
        between?;
        let answers: Result<Vec<_>, _> = answers.into_iter().collect();
        let done = answers.and_then(|answers| ended.map(|()| answers));
        Ok((hinted, done.map_err(Fault::from)))
    }

    /// The row of the change log, if there is anything to tell.
    fn log(&self) -> Option<UnwrittenChange> {
        let told = self.moved.lock().unwrap_or_else(std::sync::PoisonError::into_inner).text();
        told.map(|(moved, notes)| UnwrittenChange { moved, notes, log_tag: self.log_tag })
    }

    /// Does it all without waiting for any answer: for hints. Whoever has the connection next comes behind it.
    pub async fn unheard(mut self, step: Query<'_>) -> Result<(), Fault> {
        let prepared = self.prepared(&[step]).await?;
        self.is_begun.store(true, Ordering::Relaxed);
        // Each polled once, they are on their way in this order; what is answered is thrown away.
        let _ = self.connection().batch_execute(&self.begin).now_or_never();
        let _ = self.send(&step, prepared.first().and_then(Option::as_ref)).now_or_never();
        let _ = self.connection().batch_execute("COMMIT").now_or_never();
        self.let_go();
        Ok(())
    }

    async fn begun(&self) -> Result<(), tokio_postgres::Error> {
        if self.is_begun.swap(true, Ordering::Relaxed) {
            Ok(())
        } else {
            self.connection().batch_execute(&self.begin).await
        }
    }

    /// Before anything is sent: to prepare takes a round trip of its own, the first time on each connection.
    async fn prepared(&self, steps: &[Query<'_>]) -> Result<Vec<Option<Statement>>, Fault> {
        let mut prepared = Vec::with_capacity(steps.len());
        for (sql, args) in steps {
            debug_assert!(statements::is_known(sql), "not in the list of statements that a test prepares:\n{sql}");
            prepared.push(if self.prepare {
                let kinds: Vec<_> = args.iter().map(|arg| arg.kind()).collect();
                Some(self.connection().prepare_typed_cached(sql, &kinds).await?)
            } else {
                None
            });
        }
        Ok(prepared)
    }

    async fn send(
        &self,
        (sql, args): &Query<'_>,
        statement: Option<&Statement>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        if let Some(statement) = statement {
            let values: Vec<_> = args.iter().map(|arg| arg.as_sql()).collect();
            self.connection().query(statement, &values).await
        } else {
            let values: Vec<_> = args.iter().map(|arg| (arg.as_sql(), arg.kind())).collect();
            self.connection().query_typed(sql, &values).await
        }
    }

    /// A job moved: part of this operation's one row in the change log.
    pub fn note(&self, job: JobId, tenant: &TenantId, queue: &QueueName, step: Step) {
        self.moved.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(job, tenant, queue, step);
    }

    /// Something else happened: part of the same row.
    pub fn tell(&self, note: Note) {
        self.moved.lock().unwrap_or_else(std::sync::PoisonError::into_inner).note(note);
    }

    pub fn ring(&self, topic: Topic) {
        self.rings.lock().unwrap_or_else(std::sync::PoisonError::into_inner).add(topic);
    }

    /// Nothing of it happened: there is nothing to tell, and nobody to wake.
    pub fn forget(&self) {
        *self.moved.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = ChangeWriter::default();
        *self.rings.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Rings::default();
    }

    /// Writes the change row, in the same transaction as what it tells of, and commits. Whom to wake.
    async fn commit(mut self) -> Result<Rings, Fault> {
        let told = self.moved.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).text();
        let mut rings = *self.rings.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.is_some() {
            rings.add(Topic::Changed);
        }
        if self.is_begun.load(Ordering::Relaxed) && !self.is_ended.load(Ordering::Relaxed) {
            self.append(told, "COMMIT").await?;
        }
        self.let_go();
        Ok(rings)
    }

    /// Writes the change row, if there is one, and ends the transaction in the same breath: between what the row announces and the
    /// commit lies nothing that could take long.
    async fn append(&self, told: Option<(String, Option<String>)>, end: &str) -> Result<(), Fault> {
        let ended = self.connection().batch_execute(end);
        let Some((moved, notes)) = told else { return Ok(ended.await?) };
        let steps: [Query<'_>; 2] = [(changes::ANNOUNCE, &[&self.log_tag]), (changes::APPEND, &[&moved, &notes])];
        let prepared = self.prepared(&steps).await?;
        let written =
            join_all(steps.iter().zip(&prepared).map(|(step, statement)| self.send(step, statement.as_ref())));
        // Polled in this order, so that is the order on the wire.
        let (written, ended) = join(written, ended).await;
        for answer in written {
            answer?;
        }
        Ok(ended?)
    }

    /// Nothing of it happened. The answer is not waited for: whoever has the connection next comes behind it.
    fn roll_back(mut self, fault: &Fault) {
        match fault.remedy() {
            Remedy::Reconnect => {}
            Remedy::Elsewhere => self.connection.take().into_iter().for_each(connection::discard),
            Remedy::Again | Remedy::GiveUp => self.end_unheard("ROLLBACK"),
        }
    }

    fn end_unheard(mut self, end: &'static str) {
        if self.is_begun.load(Ordering::Relaxed) && !self.is_ended.load(Ordering::Relaxed) {
            // Polled once, it is on its way; its answer is thrown away when it comes.
            let _ = self.connection().batch_execute(end).now_or_never();
        }
        self.let_go();
    }

    fn let_go(&mut self) {
        drop(self.connection.take());
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}

/// A row of the change log that is about to be written.
struct UnwrittenChange {
    moved: String,
    notes: Option<String>,
    log_tag: i64,
}

impl UnwrittenChange {
    fn args(&self) -> LogArgs<'_> {
        ([&self.log_tag], [&self.moved, &self.notes])
    }
}

/// Those of [`changes::ANNOUNCE`] and of [`changes::APPEND`].
type LogArgs<'a> = ([&'a dyn Arg; 1], [&'a dyn Arg; 2]);

/// Statements, and the change row behind them: announced, then appended.
fn with_log<'a>(steps: &[Query<'a>], log: Option<&'a LogArgs<'a>>) -> Vec<Query<'a>> {
    let log = log.map(|(tag, row)| -> [Query<'a>; 2] { [(changes::ANNOUNCE, &tag[..]), (changes::APPEND, &row[..])] });
    steps.iter().copied().chain(log.into_iter().flatten()).collect()
}

/// Counts how often a transaction has been tried, and waits in between.
pub(crate) struct Tries {
    failed: u32,
    backoff: Backoff,
}

impl Tries {
    pub fn new() -> Self {
        Self { failed: 0, backoff: Backoff::new(Duration::from_millis(5), Duration::from_millis(200)) }
    }

    /// Ends a transaction by what its operation answered. `None`: it is to be done again, whole.
    pub async fn conclude<T>(
        &mut self,
        transaction: Transaction,
        done: Result<T, Fault>,
    ) -> Result<Option<(T, Rings)>, StoreError> {
        let (fault, was_sent) = match done {
            Ok(answer) => match transaction.commit().await {
                Ok(rings) => return Ok(Some((answer, rings))),
                Err(fault) => (fault, true),
            },
            Err(fault) => {
                let was_sent = transaction.was_sent.load(Ordering::Relaxed);
                transaction.roll_back(&fault);
                (fault, was_sent)
            }
        };
        self.again(fault, was_sent).await.map(|()| None)
    }

    /// The same for a transaction that only looked.
    pub async fn end_look<T>(
        &mut self,
        transaction: Transaction,
        done: Result<T, Fault>,
    ) -> Result<Option<T>, StoreError> {
        match done {
            Ok(answer) => {
                transaction.end_unheard("COMMIT");
                Ok(Some(answer))
            }
            Err(fault) => {
                transaction.roll_back(&fault);
                self.again(fault, false).await.map(|()| None)
            }
        }
    }

    /// Waits until it may be done again, or says why not.
    async fn again(&mut self, fault: Fault, was_sent: bool) -> Result<(), StoreError> {
        self.failed += 1;
        match fault.remedy() {
            Remedy::Again if self.failed < TRIES => {
                debug!(tries = self.failed, "retrying a transaction: {fault}");
                tokio::time::sleep(self.backoff.next()).await;
                Ok(())
            }
            // Not after COMMIT was sent: it may have arrived, and only the caller's own resending resolves that.
            Remedy::Reconnect if !was_sent && self.failed < 3 => {
                debug!(tries = self.failed, "lost a connection before the commit; trying another: {fault}");
                Ok(())
            }
            Remedy::Elsewhere if self.failed < STALE => {
                debug!(tries = self.failed, "a connection is read-only; trying another: {fault}");
                Ok(())
            }
            _ => Err(fault.into()),
        }
    }
}

/// A set of topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rings([bool; Topic::ALL.len()]);

impl Rings {
    pub fn add(&mut self, topic: Topic) {
        for (place, known) in Topic::ALL.iter().enumerate() {
            self.0[place] |= *known == topic;
        }
    }

    pub fn topics(self) -> impl Iterator<Item = Topic> {
        Topic::ALL.into_iter().zip(self.0).filter_map(|(topic, is_rung)| is_rung.then_some(topic))
    }
}
