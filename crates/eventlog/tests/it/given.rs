//! A log in a database of the test's own, and consumers that write down what they saw.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, Pool};
use foreman_eventlog::postgres::{
    Admin, CheckpointStatus, Consumer, EventLog, Migrations, TableNames, Worker, WorkerBuilder,
};
use foreman_eventlog::{Event, Expected, Failure, NewEvent, Scope, Shutdown, Stream};
use foreman_runtime::{Task, Tasks};
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls, Transaction};

pub fn setting(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the test's own setting, not the program's")]
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

pub fn is_torture() -> bool {
    setting("FOREMAN_TORTURE").is_some()
}

/// How long a test waits for what must come.
fn patience() -> Duration {
    Duration::from_mins(if is_torture() { 60 } else { 1 })
}

fn server(name: &str) -> String {
    setting(name).unwrap_or_else(|| {
        panic!("{name} is not set: run make test, or scripts/with-services cargo test -p foreman-eventlog")
    })
}

fn url_of(server: &str, database: &str) -> String {
    let (address, query) = server.split_once('?').map_or((server, ""), |(address, query)| (address, query));
    let (host, _) = address.rsplit_once('/').expect("the address names a database");
    if query.is_empty() { format!("{host}/{database}") } else { format!("{host}/{database}?{query}") }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    drop(Tasks::new().spawn("a test's connection", connection));
    client
}

pub struct Given {
    pub url: String,
    pub pooled_url: String,
    pub pool: Pool,
    pub log: EventLog,
    pub tables: TableNames,
}

impl Given {
    pub async fn new() -> Self {
        let given = Self::blank().await;
        Migrations::new(given.tables.clone()).up(&mut given.client().await).await.unwrap();
        given.client().await.batch_execute("CREATE TABLE seen (consumer text, stream text, version bigint, position bigint, nth bigint GENERATED ALWAYS AS IDENTITY)").await.unwrap();
        given
    }

    /// Without tables.
    pub async fn blank() -> Self {
        let name = format!("eventlog_{}", uuid::Uuid::now_v7().simple());
        let direct = server("FOREMAN_TEST_POSTGRES");
        connect(&direct).await.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let url = url_of(&direct, &name);
        let pooled_url = url_of(&server("FOREMAN_TEST_PGBOUNCER"), &name);
        let tables = TableNames::default();
        Self { pool: pool(&url, 16), url, pooled_url, log: EventLog::new(&tables).unwrap(), tables }
    }

    pub async fn client(&self) -> Client {
        connect(&self.url).await
    }

    pub async fn append(&self, stream: &Stream, count: usize) {
        let events: Vec<NewEvent> = (0..count).map(|nth| NewEvent::new("happened", nth.to_string())).collect();
        self.log.append(&self.client().await, stream, Expected::Any, &events).await.unwrap();
    }

    /// Fast enough for a test.
    pub fn worker(&self) -> WorkerBuilder {
        quick(Worker::builder(self.pool.clone())).log(self.log.clone())
    }

    pub async fn number(&self, sql: &str) -> i64 {
        self.client().await.query_typed_one(sql, &[]).await.unwrap().get(0)
    }

    /// Waits for a number to be reached; it must come.
    pub async fn until(&self, sql: &str, at_least: i64) {
        let client = self.client().await;
        let deadline = Instant::now() + patience();
        loop {
            let found: Option<i64> = client.query_typed_one(sql, &[]).await.unwrap().get(0);
            if found.is_some_and(|found| found >= at_least) {
                return;
            }
            assert!(Instant::now() < deadline, "{sql}: {found:?}, waiting for {at_least}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub async fn seen_by(&self, consumer: &str, at_least: i64) {
        self.until(&format!("SELECT count(*) FROM seen WHERE consumer = '{consumer}'"), at_least).await;
    }

    /// Every event of the log once, and in the order of its stream.
    pub async fn assert_seen_exactly_once(&self, consumer: &str) {
        let client = self.client().await;
        let wrong: i64 = client
            .query_typed_one(
                &format!(
                    "SELECT count(*) FROM events AS e FULL JOIN
                     (SELECT position, count(*) AS times FROM seen WHERE consumer = '{consumer}' GROUP BY 1) AS s
                     ON s.position = e.global_position WHERE s.times IS DISTINCT FROM 1 OR e.global_position IS NULL"
                ),
                &[],
            )
            .await
            .unwrap()
            .get(0);
        assert_eq!(wrong, 0, "{consumer}: events missed, or handled twice");
        let disordered: i64 = client
            .query_typed_one(
                &format!(
                    "SELECT count(*) FROM (SELECT version, lag(version, 1, 0::bigint) OVER (PARTITION BY stream ORDER BY nth) AS before
                     FROM seen WHERE consumer = '{consumer}') AS s WHERE version <> before + 1"
                ),
                &[],
            )
            .await
            .unwrap()
            .get(0);
        assert_eq!(disordered, 0, "{consumer}: events of a stream out of order");
    }

    pub async fn checkpoint(&self, consumer: &str) -> CheckpointStatus {
        let found = self.admin().consumer(&self.client().await, consumer).await.unwrap();
        found.expect("the consumer is known").shards.remove(0)
    }

    pub fn admin(&self) -> Admin {
        Admin::new(self.log.clone(), "a test")
    }

    /// What a check came to, once it holds.
    pub async fn until_checkpoint(
        &self,
        consumer: &str,
        holds: impl Fn(&CheckpointStatus) -> bool,
    ) -> CheckpointStatus {
        let deadline = Instant::now() + patience();
        loop {
            // Not known before its worker has registered.
            let found = self.admin().consumer(&self.client().await, consumer).await.unwrap();
            let found = found.map(|mut consumer| consumer.shards.remove(0));
            if let Some(found) = found.clone().filter(|found| holds(found)) {
                return found;
            }
            assert!(Instant::now() < deadline, "{found:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

pub fn pool(url: &str, connections: usize) -> Pool {
    Pool::builder(Manager::new(url.parse().unwrap(), NoTls)).max_size(connections).build().unwrap()
}

pub fn quick(builder: WorkerBuilder) -> WorkerBuilder {
    let millis = Duration::from_millis;
    builder
        .batch_pause(Duration::ZERO)
        .poll_interval(millis(50))
        .max_poll_interval(millis(400))
        .dispatcher_interval(millis(20))
        .heartbeat_interval(millis(200))
        .heartbeat_timeout(Duration::from_secs(2))
        .rebalance_interval(millis(500))
        .assignment_sync(millis(100))
}

/// A worker that runs until it is dropped or stopped.
pub struct Running {
    pub worker: Arc<Worker>,
    task: Option<Task<Result<(), foreman_eventlog::postgres::WorkerError>>>,
}

impl Running {
    pub fn start(builder: WorkerBuilder) -> Self {
        let worker = Arc::new(builder.build().unwrap());
        let runs = Arc::clone(&worker);
        let task = Tasks::new().spawn("a test's worker", async move { runs.run(Shutdown::never()).await });
        Self { worker, task: Some(task) }
    }

    pub async fn stop(mut self) {
        self.worker.stop();
        self.task.take().expect("it is stopped once").await.unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.worker.stop();
    }
}

/// How a handler fails at an event.
pub type Fails = fn(&Event) -> Failure;

/// Writes down each event in the transaction it is given.
pub struct Recorder {
    pub name: String,
    pub scope: Scope,
    /// Fails at events of this type while it is set.
    pub fails: Option<(&'static str, Fails)>,
    pub is_failing: Arc<AtomicBool>,
    pub takes: Duration,
}

impl Recorder {
    pub fn new(name: &str) -> Self {
        let is_failing = Arc::new(AtomicBool::new(true));
        Self { name: name.into(), scope: Scope::all(), fails: None, is_failing, takes: Duration::ZERO }
    }

    pub fn failing(self, event_type: &'static str, how: Fails) -> Self {
        Self { fails: Some((event_type, how)), ..self }
    }

    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    pub fn taking(self, takes: Duration) -> Self {
        Self { takes, ..self }
    }
}

#[async_trait]
impl Consumer for Recorder {
    fn name(&self) -> &str {
        &self.name
    }

    fn scope(&self) -> Scope {
        self.scope.clone()
    }

    async fn handle(&self, tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure> {
        record(tx, &self.name, event).await?;
        if !self.takes.is_zero() {
            sleep(self.takes).await;
        }
        match self.fails {
            Some((kind, how)) if event.event_type == kind && self.is_failing.load(Ordering::Acquire) => Err(how(event)),
            _ => Ok(()),
        }
    }
}

pub async fn record(tx: &Transaction<'_>, consumer: &str, event: &Event) -> Result<(), tokio_postgres::Error> {
    use tokio_postgres::types::Type;
    tx.execute_typed(
        "INSERT INTO seen VALUES ($1, $2, $3, $4)",
        &[
            (&consumer, Type::TEXT),
            (&event.stream.to_string(), Type::TEXT),
            (&event.version, Type::INT8),
            (&event.position(), Type::INT8),
        ],
    )
    .await
    .map(drop)
}
