//! A store in a database of its own, with its clock in the test's hands.
//!
//! Databases are copied from one that was migrated once, and used again by later tests after they were emptied: to make one
//! takes longer than most tests.

use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::{AnnounceSubject, Reigns, Subject, TenancySubject};
use foreman_core::memory::{LocalWakeups, ManualClock};
use foreman_core::ports::{AnnounceStore, Leader, Store, Tenancy, Wakeups};
use foreman_core::{Clock, Timestamp};
use foreman_postgres::leases::PgLeases;
use foreman_postgres::{Config, PostgresStore, migrate};
use foreman_runtime::Tasks;
use foreman_runtime::leadership::Lease;
use tokio_postgres::{Client, NoTls};

/// The server to test on: a superuser's address, such as `postgres://postgres@127.0.0.1:5432/postgres`.
pub fn server() -> String {
    setting("FOREMAN_TEST_POSTGRES").expect(
        "FOREMAN_TEST_POSTGRES is not set: run make test, or scripts/with-services cargo test -p foreman-postgres",
    )
}

pub fn setting(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the test's own setting, not the program's")]
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The address of a database on the server.
pub fn url_of(database: &str) -> String {
    let server = server();
    let (address, query) = server.split_once('?').map_or((server.as_str(), ""), |(address, query)| (address, query));
    let (host, _) = address.rsplit_once('/').expect("the address names a database");
    if query.is_empty() { format!("{host}/{database}") } else { format!("{host}/{database}?{query}") }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    drop(Tasks::new().spawn("a test's connection", connection));
    client
}

/// A database of the test's own; handed on to the next test when it is dropped.
pub struct Database {
    pub name: String,
    is_spoilt: bool,
}

static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Database {
    /// Migrated and empty.
    pub async fn ready() -> Self {
        let used = FREE.lock().unwrap().pop();
        if let Some(name) = used {
            let database = Self { name, is_spoilt: false };
            database.empty().await;
            return database;
        }
        let template = template().await;
        let name = fresh_name();
        let admin = connect(&server()).await;
        create(&admin, &name, &format!("TEMPLATE {template}")).await;
        Self { name, is_spoilt: false }
    }

    /// Without anything in it. Not handed on.
    pub async fn blank() -> Self {
        Self::blank_with("").await
    }

    pub async fn blank_with(how: &str) -> Self {
        let name = fresh_name();
        create(&connect(&server()).await, &name, how).await;
        Self { name, is_spoilt: false }
    }

    pub fn url(&self) -> String {
        url_of(&self.name)
    }

    pub async fn client(&self) -> Client {
        let client = connect(&self.url()).await;
        client.batch_execute("SET search_path = foreman").await.unwrap();
        client
    }

    async fn empty(&self) {
        let client = self.client().await;
        client
            .batch_execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid();
                 TRUNCATE jobs, job_tags, ready, claims, outcomes, attempts, idempotency, sessions, queues, lanes, shares,
                          line_fronts, line_shares, changes, leases, schedules, ticks, tenants, api_keys, webhooks,
                          deliveries, audit_trail, statistics, passes, upkeep, depths, announcements,
                          parked_messages
                          RESTART IDENTITY;
                 DELETE FROM followers WHERE name <> 'bookkeeper';
                 UPDATE followers SET position = 0, holds_log = false;
                 INSERT INTO tenants (id, settings, weight, version, created_at, edited_at)
                 VALUES ('default', '{}', 1, 1, now(), now());
                 UPDATE log_end SET position = 0;
                 ALTER SEQUENCE claim_numbers RESTART;
                 ALTER SEQUENCE announcement_numbers RESTART;
                 ALTER SEQUENCE change_positions RESTART",
            )
            .await
            .unwrap();
    }

    /// A test that has changed the schema keeps its database to itself.
    pub fn spoil(mut self) -> Self {
        self.is_spoilt = true;
        self
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.is_spoilt && !std::thread::panicking() {
            FREE.lock().unwrap().push(self.name.clone());
        }
    }
}

fn fresh_name() -> String {
    format!("foreman_{}", uuid::Uuid::now_v7().simple())
}

async fn create(admin: &Client, name: &str, how: &str) {
    // A template is copied only while nobody is connected to it, and connections take a moment to go.
    for _ in 0..100 {
        match admin.batch_execute(&format!("CREATE DATABASE {name} {how}")).await {
            Ok(()) => return,
            Err(error) if error.code() == Some(&tokio_postgres::error::SqlState::OBJECT_IN_USE) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("no database could be made: {error:?}"),
        }
    }
    panic!("the template stayed in use");
}

async fn template() -> String {
    static NAME: LazyLock<tokio::sync::Mutex<Option<String>>> = LazyLock::new(|| tokio::sync::Mutex::new(None));
    let mut made = NAME.lock().await;
    if let Some(name) = &*made {
        return name.clone();
    }
    let database = Database::blank().await.spoil();
    migrate::up(&Config::at(database.url())).await.unwrap();
    let name = database.name.clone();
    *made = Some(name.clone());
    name
}

/// A store, its clock and its bells.
pub struct Team {
    pub store: PostgresStore,
    pub clock: Arc<ManualClock>,
    pub wakeups: Arc<LocalWakeups>,
    pub database: Database,
}

impl Team {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::on(Database::ready().await, change).await
    }

    /// On a database that a test has prepared.
    pub async fn on(database: Database, change: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(ManualClock::new());
        let wakeups = Arc::new(LocalWakeups::new());
        let mut config = Config::at(database.url());
        config.clock = Some(clock.clone());
        change(&mut config);
        let store = PostgresStore::open(config, wakeups.clone()).await.unwrap();
        Self { store, clock, wakeups, database }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.store.close();
    }
}

#[async_trait]
impl Subject for Team {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn wakeups(&self) -> Arc<dyn Wakeups> {
        self.wakeups.clone()
    }

    async fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn histories(&self) -> u64 {
        20
    }

    fn races(&self) -> u64 {
        if is_torture() { 10_000 } else { 1_000 }
    }
}

#[async_trait]
impl TenancySubject for Team {
    fn tenancy(&self) -> Arc<dyn Tenancy> {
        Arc::new(self.store.clone())
    }

    async fn reigns(&self) -> Option<Reigns> {
        const OFFICE: &str = "scheduler";
        let mut config = Config::at(self.database.url());
        config.clock = Some(self.clock.clone());
        let leases = PgLeases::new(&config).unwrap();
        let ttl = Duration::from_hours(1);
        let first = leases.acquire(OFFICE, "a", ttl).await.unwrap().unwrap();
        leases.resign(OFFICE, first).await.unwrap();
        let second = leases.acquire(OFFICE, "b", ttl).await.unwrap().unwrap();
        let leader = |term: u64| Leader { office: OFFICE.into(), term };
        Some(Reigns { over: leader(first.0), current: leader(second.0) })
    }
}

impl AnnounceSubject for Team {
    fn announcing(&self) -> Arc<dyn AnnounceStore> {
        Arc::new(self.store.clone())
    }
}

/// A fresh one for each promise.
pub async fn team() -> Team {
    Team::new().await
}

/// Whether the long versions are asked for.
pub fn is_torture() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| setting("FOREMAN_TORTURE").is_some())
}
