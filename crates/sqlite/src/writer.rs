//! The one writer: a thread that owns the only connection that writes, and commits for many callers at once.
//!
//! Operations come over a bounded channel. The writer opens one transaction, runs what waits in line, each operation in a
//! savepoint of its own so that one that fails is undone alone, commits once, and only then rings the wake-ups and answers
//! every caller. While it waits for the disk the next group gathers: the slower the disk, the larger the groups.
//!
//! A commit that fails fails for everyone in it, and nothing of it was written, except after an error of the disk itself,
//! when nobody can know. A caller waits for a bounded time; past it the outcome is unknown to it, though the operation
//! still takes its course. A panic in an operation undoes that operation and is answered as a broken protocol.
//!
//! The thread holds the lock of the store and lets go of it last. When the process dies, SQLite undoes the open
//! transaction at the next start, and nobody had been told of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use foreman_core::Clock;
use foreman_core::ports::{StoreError, Wakeups};
use foreman_runtime::tasks::panic_message;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use tracing::{error, warn};

use crate::config::Config;
use crate::error::Fault;
use crate::lock::Lock;
use crate::write::{Rings, Write};

/// At most so many operations share a commit,
const GROUP: usize = 512;
/// and no more join once the first has waited so long for its commit.
const GROUP_WAIT: Duration = Duration::from_millis(20);
/// The size is looked at once in so many commits.
const WAL_LOOK: u32 = 64;
/// So long, at most, the writer waits for readers to leave the log.
const CUT_WAIT: Duration = Duration::from_millis(250);

/// The callers' end.
pub(crate) struct Writer {
    queue: mpsc::Sender<WriterMessage>,
    thread: Mutex<Option<JoinHandle<()>>>,
    timeout: Duration,
}

enum WriterMessage {
    Run(Box<dyn QueuedOperation>),
    Close,
}

impl Writer {
    pub fn start(
        connection: Connection,
        lock: Lock,
        config: &Config,
        clock: Arc<dyn Clock>,
        wakeups: Arc<dyn Wakeups>,
    ) -> std::io::Result<Self> {
        let (sender, queue) = mpsc::channel(config.queue.max(1));
        let wal = Wal {
            path: PathBuf::from(format!("{}-wal", config.path.display())),
            limit: config.wal_bytes,
            tolerated: config.wal_bytes,
            busy_timeout: config.busy_timeout,
        };
        let thread = Thread { connection, wal, clock, wakeups, queue, commits: 0, _lock: lock };
        let thread = std::thread::Builder::new().name("sqlite writer".into()).spawn(move || thread.run())?;
        Ok(Self { queue: sender, thread: Mutex::new(Some(thread)), timeout: config.call_timeout })
    }

    /// Runs `operation` in a transaction and answers once it is on the disk.
    pub async fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Write<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.timeout;
        let place = match timeout_at(deadline, self.queue.reserve()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_)) => return Err(StoreError::Closed),
            Err(_) => return Err(StoreError::Unavailable("too many writes are waiting; nothing was written".into())),
        };
        let (reply, answer) = oneshot::channel();
        place.send(WriterMessage::Run(Box::new(PendingCall { operation: Some(operation), result: None, reply })));
        match timeout_at(deadline, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(StoreError::Closed),
            Err(_) => Err(StoreError::Unavailable("the disk did not answer in time; the outcome is unknown".into())),
        }
    }

    /// Lets what waits in line be written, then ends the thread. A second call finds it ended.
    pub async fn close(&self) {
        // An error means that it has ended already.
        let _ = self.queue.send(WriterMessage::Close).await;
        self.queue.closed().await;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let joined = tokio::task::spawn_blocking(move || thread.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                error!("the writer thread panicked");
            }
        }
    }
}

/// A call and its caller, whatever the answer's type.
trait QueuedOperation: Send {
    fn run(&mut self, write: &Write<'_>) -> Result<(), Fault>;
    /// Hands the caller its result, or the error that befell the whole group.
    fn answer(self: Box<Self>, group: Result<(), StoreError>);
}

struct PendingCall<F, T> {
    operation: Option<F>,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> QueuedOperation for PendingCall<F, T>
where
    F: FnOnce(&Write<'_>) -> Result<T, Fault> + Send,
    T: Send,
{
    fn run(&mut self, write: &Write<'_>) -> Result<(), Fault> {
        let operation = self.operation.take().expect("an operation is run once");
        self.result = Some(operation(write)?);
        Ok(())
    }

    fn answer(self: Box<Self>, group: Result<(), StoreError>) {
        let PendingCall { result, reply, .. } = *self;
        let result = group.and_then(|()| {
            result.ok_or_else(|| StoreError::Broken("an operation was committed that never ran".into()))
        });
        // The caller may have stopped waiting.
        let _ = reply.send(result);
    }
}

struct Thread {
    connection: Connection,
    wal: Wal,
    clock: Arc<dyn Clock>,
    wakeups: Arc<dyn Wakeups>,
    queue: mpsc::Receiver<WriterMessage>,
    commits: u32,
    // The last field: given back after the connection is closed.
    _lock: Lock,
}

impl Thread {
    fn run(mut self) {
        while let Some(WriterMessage::Run(first)) = self.queue.blocking_recv() {
            if self.group(first) {
                break;
            }
        }
        self.finish();
    }

    /// Runs and commits one group, starting with `first`; true when it is time to close.
    fn group(&mut self, first: Box<dyn QueuedOperation>) -> bool {
        let started = Instant::now();
        let mut group = CommitGroup::default();
        let mut next = Some(first);
        let mut is_closing = false;
        while let Some(operation) = next.take() {
            self.run_one(operation, &mut group);
            if group.ran.len() >= GROUP || started.elapsed() >= GROUP_WAIT {
                break;
            }
            match self.queue.try_recv() {
                Ok(WriterMessage::Run(operation)) => next = Some(operation),
                Ok(WriterMessage::Close) => is_closing = true,
                Err(_) => {}
            }
        }
        self.commit(group);
        is_closing
    }

    fn run_one(&self, mut operation: Box<dyn QueuedOperation>, group: &mut CommitGroup) {
        // The first needs no savepoint: to undo it is to undo the transaction.
        let is_first = group.ran.is_empty();
        let started = if is_first { self.begin() } else { self.execute("SAVEPOINT operation") };
        let ran = started.and_then(|()| {
            let write = Write::new(&self.connection, self.clock.now());
            caught(|| operation.run(&write))?;
            write.finish()
        });
        match ran {
            Ok(rings) => {
                if is_first || self.execute("RELEASE operation").is_ok() {
                    group.rings.join(rings);
                    group.ran.push(operation);
                } else {
                    self.undo_all(group, &StoreError::Broken("a savepoint was lost".into()));
                    operation.answer(Err(StoreError::Broken("a savepoint was lost".into())));
                }
            }
            Err(fault) => {
                let error = StoreError::from(fault);
                self.undo_one(is_first, group, &error);
                operation.answer(Err(error));
            }
        }
    }

    fn begin(&self) -> Result<(), Fault> {
        if !self.connection.is_autocommit() {
            // An operation before this one could not be undone alone and left its transaction open.
            self.execute("ROLLBACK")?;
        }
        self.execute("BEGIN IMMEDIATE")
    }

    /// Undoes the operation that failed, and it alone unless SQLite has already undone the whole transaction.
    fn undo_one(&self, is_first: bool, group: &mut CommitGroup, error: &StoreError) {
        let transaction_is_gone = self.connection.is_autocommit();
        if is_first {
            if !transaction_is_gone {
                self.roll_back();
            }
        } else if transaction_is_gone || self.execute("ROLLBACK TO operation; RELEASE operation").is_err() {
            self.undo_all(group, error);
        }
    }

    fn undo_all(&self, group: &mut CommitGroup, error: &StoreError) {
        if !self.connection.is_autocommit() {
            self.roll_back();
        }
        group.rings = Rings::default();
        for operation in group.ran.drain(..) {
            operation.answer(Err(error.clone()));
        }
    }

    fn commit(&mut self, mut group: CommitGroup) {
        if group.ran.is_empty() {
            if !self.connection.is_autocommit() {
                self.roll_back();
            }
            return;
        }
        if let Err(fault) = self.execute("COMMIT") {
            let error = StoreError::from(fault);
            warn!("a commit of {} operations failed: {error}", group.ran.len());
            self.undo_all(&mut group, &error);
            return;
        }
        // Rung before the answers: whoever was answered may rely on it.
        for topic in group.rings.topics() {
            self.wakeups.ring(topic);
        }
        for operation in group.ran {
            operation.answer(Ok(()));
        }
        self.keep_wal_short();
    }

    fn keep_wal_short(&mut self) {
        self.commits = self.commits.wrapping_add(1);
        if self.commits.is_multiple_of(WAL_LOOK) {
            self.wal.keep_short(&self.connection);
        }
    }

    fn finish(mut self) {
        // Whoever comes now is told that the store is closed; who came before is still written.
        self.queue.close();
        while let Ok(message) = self.queue.try_recv() {
            if let WriterMessage::Run(operation) = message {
                self.group(operation);
            }
        }
        let clean =
            self.execute("INSERT INTO store (name, value) VALUES ('clean', 1) ON CONFLICT DO UPDATE SET value = 1");
        if let Err(fault) = clean {
            warn!("could not mark the database as cleanly closed: {fault}");
        }
        if let Err(why) = cut_back(&self.connection) {
            warn!("could not checkpoint the write-ahead log on close: {why}");
        }
        self.connection.flush_prepared_statement_cache();
        let Thread { connection, _lock, .. } = self;
        if let Err((_, error)) = connection.close() {
            warn!("could not close the database file: {error}");
        }
    }

    fn roll_back(&self) {
        if let Err(fault) = self.execute("ROLLBACK") {
            error!("could not roll back a transaction: {fault}");
        }
    }

    fn execute(&self, sql: &str) -> Result<(), Fault> {
        if sql.contains(';') {
            return Ok(self.connection.execute_batch(sql)?);
        }
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

/// The write-ahead log beside the file.
struct Wal {
    path: PathBuf,
    limit: u64,
    /// Beyond this it is cut back; raised while readers stand in the way, so that the writer does not wait for them at
    /// every look.
    tolerated: u64,
    busy_timeout: Duration,
}

impl Wal {
    /// SQLite starts the log over only when no reader stands in it. Where readers never pause this waits for them, for a
    /// moment, while new ones already read past the log.
    fn keep_short(&mut self, connection: &Connection) {
        let length = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        if length <= self.tolerated {
            return;
        }
        let restore = self.busy_timeout;
        let cut =
            connection.busy_timeout(CUT_WAIT).map_err(|error| error.to_string()).and_then(|()| cut_back(connection));
        if let Err(error) = connection.busy_timeout(restore) {
            warn!("could not reset the busy timeout: {error}");
        }
        self.tolerated = match cut {
            Ok(()) => self.limit,
            Err(why) => {
                warn!("the write-ahead log has grown to {length} bytes and could not be truncated: {why}");
                length * 2
            }
        };
    }
}

/// Folds the whole log into the file and cuts it to nothing.
fn cut_back(connection: &Connection) -> Result<(), String> {
    match connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)) {
        Ok(0) => Ok(()),
        Ok::<i64, _>(_) => Err("a reader is using it".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// What has run and waits for the commit.
#[derive(Default)]
struct CommitGroup {
    ran: Vec<Box<dyn QueuedOperation>>,
    rings: Rings,
}

fn caught(operation: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
    catch_unwind(AssertUnwindSafe(operation)).unwrap_or_else(|panic| {
        let message = panic_message(panic.as_ref());
        error!("a store operation panicked: {message}");
        Err(Fault::Store(StoreError::Broken(format!("an operation panicked: {message}"))))
    })
}

#[cfg(test)]
mod tests {
    use foreman_core::Timestamp;
    use foreman_core::memory::LocalWakeups;
    use foreman_core::ports::Topic;

    use super::*;

    struct Bench {
        writer: Arc<Writer>,
        wakeups: Arc<LocalWakeups>,
        path: PathBuf,
        _directory: tempfile::TempDir,
    }

    fn bench(timeout: Duration) -> Bench {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("foreman.db");
        let config = Config { queue: 64, call_timeout: timeout, ..Config::at(&path) };
        let connection = crate::connection::writing(&config).expect("opens");
        connection
            .execute_batch(
                "CREATE TABLE marks (name TEXT PRIMARY KEY) STRICT;
                 CREATE TABLE store (name TEXT PRIMARY KEY, value INTEGER) STRICT;",
            )
            .expect("creates");
        let lock = Lock::take(&path).expect("locks");
        let wakeups = Arc::new(LocalWakeups::new());
        let clock: Arc<dyn Clock> = Arc::new(|| Timestamp::from_micros(7));
        let writer = Writer::start(connection, lock, &config, clock, wakeups.clone()).expect("starts");
        Bench { writer: Arc::new(writer), wakeups, path, _directory: directory }
    }

    fn mark(write: &Write<'_>, name: &str) -> Result<(), Fault> {
        write.sql.execute("INSERT INTO marks (name) VALUES (?1)", [name])?;
        Ok(())
    }

    fn marks(path: &std::path::Path) -> Vec<String> {
        let reader = crate::connection::reading(path, Duration::from_secs(1)).expect("opens");
        let mut statement = reader.prepare("SELECT name FROM marks ORDER BY name").expect("prepares");
        let names = statement.query_map([], |row| row.get(0)).expect("reads");
        names.collect::<Result<_, _>>().expect("reads")
    }

    /// Keeps the writer busy until told, so that what is sent meanwhile shares one group.
    async fn hold_up(bench: &Bench) -> std::sync::mpsc::Sender<()> {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (reply, _answer) = oneshot::channel();
        let operation = Some(move |_: &Write<'_>| {
            // An error means that the test let go by ending.
            let _ = wait.recv();
            Ok(())
        });
        let call = WriterMessage::Run(Box::new(PendingCall { operation, result: None, reply }));
        assert!(bench.writer.queue.try_send(call).is_ok(), "the queue has room");
        while bench.writer.queue.capacity() < bench.writer.queue.max_capacity() {
            tokio::task::yield_now().await;
        }
        go
    }

    #[tokio::test]
    async fn one_operation_that_fails_takes_no_other_along() {
        let bench = bench(Duration::from_secs(20));
        let go = hold_up(&bench).await;
        let writer = &bench.writer;
        let good = |name: &'static str| writer.write(move |write| mark(write, name));
        let fails = writer.write(|write| {
            mark(write, "half done")?;
            Err::<(), _>(Fault::Store(StoreError::Damaged("no".into())))
        });
        let doubles = writer.write(|write| {
            mark(write, "twice")?;
            mark(write, "twice")
        });
        let panics = writer.write(|write| {
            mark(write, "before the panic")?;
            assert_ne!(write.now.as_micros(), 7, "by design");
            Ok(())
        });
        let release = async {
            // All are in line behind the one that is held up.
            while bench.writer.queue.capacity() > 64 - 5 {
                tokio::task::yield_now().await;
            }
            drop(go);
        };
        let (first, fails, doubles, panics, last, ()) =
            tokio::join!(good("first"), fails, doubles, panics, good("last"), release);
        assert!(first.is_ok() && last.is_ok());
        assert!(matches!(fails, Err(StoreError::Damaged(_))));
        assert!(matches!(doubles, Err(StoreError::Broken(_))), "a unique key that is hit is a bug to hear about");
        assert!(matches!(panics, Err(StoreError::Broken(_))));
        assert_eq!(marks(&bench.path), ["first", "last"]);
        bench.writer.close().await;
    }

    #[tokio::test]
    async fn nobody_is_told_before_the_commit_and_everybody_is_rung_after_it() {
        let bench = bench(Duration::from_secs(20));
        let bell = bench.wakeups.listen(Topic::Ready);
        let rung = bench.writer.write(|write| {
            mark(write, "kept")?;
            write.ring(Topic::Ready);
            Ok(())
        });
        rung.await.expect("commits");
        assert_eq!(marks(&bench.path), ["kept"], "another connection sees it: it is committed");
        assert!(bell.has_changed().expect("lives"), "rung before the answer");

        let silent = bench.writer.write(|write| {
            write.ring(Topic::Waiting);
            Err::<(), _>(Fault::Store(StoreError::Damaged("no".into())))
        });
        silent.await.expect_err("fails");
        bench.writer.close().await;
        assert_eq!(*bench.wakeups.listen(Topic::Waiting).borrow(), 0, "what was undone rings nobody");
    }

    #[tokio::test]
    async fn a_caller_waits_for_a_bounded_time_and_its_write_still_takes_its_course() {
        let bench = bench(Duration::from_millis(100));
        let go = hold_up(&bench).await;
        let late = bench.writer.write(|write| mark(write, "late")).await;
        assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
        drop(go);
        bench.writer.close().await;
        assert_eq!(marks(&bench.path), ["late"]);
    }

    #[tokio::test]
    async fn a_queue_that_stays_full_refuses_without_writing() {
        let bench = bench(Duration::from_millis(100));
        let go = hold_up(&bench).await;
        let mut waiting = Vec::new();
        while let Ok(place) = bench.writer.queue.try_reserve() {
            waiting.push(place);
        }
        let refused = bench.writer.write(|write| mark(write, "refused")).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        drop(waiting);
        drop(go);
        bench.writer.close().await;
        assert!(marks(&bench.path).is_empty());
    }

    #[tokio::test]
    async fn closing_writes_what_waits_and_leaves_no_thread() {
        let bench = bench(Duration::from_secs(20));
        let go = hold_up(&bench).await;
        let writer = Arc::clone(&bench.writer);
        let waiting = writer.write(|write| mark(write, "in line"));
        let close = async {
            while bench.writer.queue.capacity() > 64 - 1 {
                tokio::task::yield_now().await;
            }
            drop(go);
            bench.writer.close().await;
        };
        let (waiting, ()) = tokio::join!(waiting, close);
        waiting.expect("was in line before the close");
        assert_eq!(marks(&bench.path), ["in line"]);
        assert!(bench.writer.thread.lock().expect("not poisoned").is_none(), "it was joined");
        assert!(matches!(bench.writer.write(|_| Ok(())).await, Err(StoreError::Closed)));
        Lock::take(&bench.path).map(drop).expect("the lock was given back");
        bench.writer.close().await;
    }
}
