//! A tenant's 100,000 jobs do not delay another's single job by more than two claims, with a real worker over both stores.
//!
//! The worker has four slots and all the backlog it can eat. Claims are counted by their numbers, which both stores draw one
//! after the other.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::memory::LocalWakeups;
use foreman_core::outcome::Report;
use foreman_core::ports::{Store, Submitted, Wakeups};
use foreman_core::retry::Backoff;
use foreman_core::target::{Body, Route, TaskTarget};
use foreman_core::{Fence, JobId, Lane, NewJob, Start, Target, TenantId, Timestamp, Work};
use foreman_engine::target::{Runner, Targets, Try, TryEnding};
use foreman_engine::worker::{self, Worker};
use foreman_postgres::PostgresStore;
use foreman_runtime::{Stop, Tasks, clock};
use foreman_sqlite::SqliteStore;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::stage::{Database, LONG};

const BURST: usize = 100_000;
pub const TASK: &str = "work";

/// Work of a few milliseconds, and under which claim it was started.
struct Clerk {
    started: watch::Sender<HashMap<JobId, Fence>>,
}

#[async_trait]
impl Runner for Clerk {
    fn routes(&self) -> Vec<Route> {
        vec![Route::task(TASK)]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        if attempt.job.tenant.as_str().starts_with("single") {
            self.started.send_modify(|started| {
                started.insert(attempt.job.id, attempt.fence);
            });
        }
        sleep(Duration::from_millis(2)).await;
        TryEnding::completed(Report::default())
    }
}

pub fn job(tenant: &str, queue: &str) -> NewJob {
    let work = Work {
        target: Target::Task(TaskTarget { name: TASK.into(), payload: Body::None }),
        kind: None,
        queue: QueueName::from_stored(queue),
        lane: Lane::Normal,
        max_attempts: 3,
        backoff: Backoff::TASK,
        timeout: LONG,
        expires_at: None,
        callback_url: None,
        correlation_id: None,
        tags: Vec::new(),
        idempotency_key: None,
        occasion: None,
    };
    NewJob {
        id: JobId::fresh(),
        tenant: TenantId::new(tenant),
        work: Arc::new(work),
        start: Start::Now,
        idempotency: None,
    }
}

pub async fn submit(store: &dyn Store, jobs: &[NewJob]) {
    let answers = store.submit(jobs).await.unwrap();
    assert!(answers.iter().all(Submitted::is_accepted));
}

/// `latest` tells the number of the latest claim.
async fn single_jobs_are_not_delayed(store: Arc<dyn Store>, wakeups: Arc<dyn Wakeups>, latest: impl AsyncFn() -> i64) {
    // Half of it in one queue, the rest over fifty.
    for batch in 0..BURST / 1_000 {
        let queue = if batch % 2 == 0 { "default".to_owned() } else { format!("part-{}", batch % 100 / 2) };
        let jobs: Vec<NewJob> = (0..1_000).map(|_| job("burst", &queue)).collect();
        submit(&*store, &jobs).await;
    }
    let clerk = Arc::new(Clerk { started: watch::Sender::default() });
    let (tasks, stop, mut started) = (Tasks::new(), Stop::new(), clerk.started.subscribe());
    let config = worker::Config { slots: 4, ..worker::Config::default() };
    let worker = Worker::new(Arc::clone(&store), wakeups, Targets::default().with(clerk), tasks.clone(), config);
    let running = tasks.spawn("worker", worker.run(stop.shutdown()));
    let mut most = 0;
    for turn in 0..30 {
        // In the thick of it, with the worker at any point of its round.
        let before = latest().await;
        while latest().await < before + 5 {
            sleep(Duration::from_millis(1)).await;
        }
        // The same tenant each time, also where it had a job a moment ago.
        let single = job("single", ["default", "part-7", "part-7", "of-its-own"][turn % 4]);
        submit(&*store, std::slice::from_ref(&single)).await;
        let submitted = latest().await;
        let seen = timeout(LONG, started.wait_for(|started| started.contains_key(&single.id))).await.unwrap().unwrap();
        most = most.max(seen[&single.id].0 - submitted);
    }
    stop.drain();
    running.await.unwrap().unwrap();
    assert!(most <= 2, "a single job was started by claim {most} after its submission");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_a_hundred_thousand_delays_no_single_job_on_a_laptop() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreman.db");
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let config = foreman_sqlite::Config { path: path.clone(), ..foreman_sqlite::Config::default() };
    let store =
        SqliteStore::open(config, Arc::new(|| Timestamp::from_micros(clock::now())), Arc::clone(&wakeups)).unwrap();
    single_jobs_are_not_delayed(Arc::new(store.clone()), wakeups, async || latest_of(&path)).await;
    store.close().await;
}

fn latest_of(path: &Path) -> i64 {
    let sql = rusqlite::Connection::open(path).unwrap();
    sql.query_row("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'claims'", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_a_hundred_thousand_delays_no_single_job_on_postgres() {
    let database = Database::migrated().await;
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let config = foreman_postgres::Config::at(&database.url);
    let store = PostgresStore::open(config, Arc::clone(&wakeups)).await.unwrap();
    let sql = database.connect().await;
    let latest =
        async || sql.query_one("SELECT last_value FROM foreman.claim_numbers", &[]).await.unwrap().get::<_, i64>(0);
    single_jobs_are_not_delayed(Arc::new(store.clone()), wakeups, latest).await;
    store.close();
}
