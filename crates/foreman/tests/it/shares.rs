//! One tenant's work that does not end leaves slots for another's, with real workers over both stores.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::memory::LocalWakeups;
use foreman_core::outcome::{AttemptEnd, Report};
use foreman_core::ports::{CreateTenantAnswer, NewTenant, Store, TenantStore, Wakeups};
use foreman_core::target::Route;
use foreman_core::tenant::TenantSettings;
use foreman_core::{EditId, Lane, NewJob, TenantId, Timestamp};
use foreman_engine::target::{Runner, Targets, Try, TryEnding};
use foreman_engine::worker::{self, Worker};
use foreman_engine::{Tenants, tenants};
use foreman_postgres::PostgresStore;
use foreman_runtime::{Stop, Tasks, clock};
use foreman_sqlite::SqliteStore;
use tokio::time::{sleep, timeout};

use crate::fairness::{TASK, job, submit};
use crate::stage::{Database, LONG};

/// Work that ends only when it is told to, and whose it is.
#[derive(Default)]
struct Endless {
    running: Mutex<HashMap<TenantId, usize>>,
}

impl Endless {
    fn running(&self, tenant: &str) -> usize {
        self.running.lock().unwrap().get(&TenantId::new(tenant)).copied().unwrap_or_default()
    }
}

#[async_trait]
impl Runner for Endless {
    fn routes(&self) -> Vec<Route> {
        vec![Route::task(TASK)]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        let _playing = Playing::new(self, &attempt.job.tenant);
        attempt.stop.cancelled().await;
        TryEnding { ended: AttemptEnd::Interrupted, report: Report::default() }
    }
}

/// An attempt, counted until it ends, however it does.
struct Playing<'a> {
    endless: &'a Endless,
    tenant: TenantId,
}

impl<'a> Playing<'a> {
    fn new(endless: &'a Endless, tenant: &TenantId) -> Self {
        *endless.running.lock().unwrap().entry(tenant.clone()).or_default() += 1;
        Self { endless, tenant: tenant.clone() }
    }
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        *self.endless.running.lock().unwrap().entry(self.tenant.clone()).or_default() -= 1;
    }
}

fn of(tenant: &str, lane: Lane) -> NewJob {
    let mut job = job(tenant, "default");
    Arc::make_mut(&mut job.work).lane = lane;
    job
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Forty endless jobs for each worker of 32 slots; then one of another tenant, and one more of a third.
async fn another_tenant_starts<S: Store + TenantStore + 'static>(
    store: Arc<S>,
    wakeups: Arc<dyn Wakeups>,
    workers: usize,
) {
    for name in ["alpha", "beta", "gamma"] {
        let new = NewTenant { edit: EditId::fresh(), id: TenantId::new(name), settings: TenantSettings::default() };
        assert!(matches!(store.create_tenant(&new).await.unwrap(), CreateTenantAnswer::Created(_)));
    }
    let (tasks, stop, endless) = (Tasks::new(), Stop::new(), Arc::new(Endless::default()));
    let all: Vec<NewJob> = (0..40 * workers).map(|_| of("alpha", Lane::High)).collect();
    submit(&*store, &all).await;
    let mut running = Vec::new();
    for n in 0..workers {
        let config = worker::Config { slots: 32, name: format!("w{n}"), ..worker::Config::default() };
        let known = Arc::new(Tenants::new(Arc::clone(&store) as _, tenants::Config::default()));
        let targets = Targets::default().with(Arc::clone(&endless) as _);
        let worker = Worker::new(Arc::clone(&store) as _, Arc::clone(&wakeups), targets, tasks.clone(), config);
        running.push(tasks.spawn("worker", worker.limited_by(known).run(stop.shutdown())));
    }
    until("the first has all it may have", || endless.running("alpha") == 28 * workers).await;
    // They look at all they have found, and find no more.
    sleep(Duration::from_secs(2)).await;
    assert_eq!(endless.running("alpha"), 28 * workers);
    for (tenant, lane) in [("beta", Lane::High), ("gamma", Lane::Low)] {
        submit(&*store, &[of(tenant, lane)]).await;
        until("another tenant's job runs", || endless.running(tenant) == 1).await;
    }
    assert_eq!(endless.running("alpha"), 28 * workers);
    stop.abort();
    for worker in running {
        worker.await.unwrap().unwrap();
    }
    assert_eq!(["alpha", "beta", "gamma"].map(|tenant| endless.running(tenant)), [0; 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_jobs_of_one_tenant_leave_room_for_another_on_a_laptop() {
    let directory = tempfile::tempdir().unwrap();
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let config =
        foreman_sqlite::Config { path: directory.path().join("foreman.db"), ..foreman_sqlite::Config::default() };
    let store =
        SqliteStore::open(config, Arc::new(|| Timestamp::from_micros(clock::now())), Arc::clone(&wakeups)).unwrap();
    another_tenant_starts(Arc::new(store.clone()), wakeups, 1).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_jobs_of_one_tenant_leave_room_for_another_with_two_workers_on_postgres() {
    let database = Database::migrated().await;
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let store = PostgresStore::open(foreman_postgres::Config::at(&database.url), Arc::clone(&wakeups)).await.unwrap();
    another_tenant_starts(Arc::new(store.clone()), wakeups, 2).await;
    store.close();
}
