//! How long a tenant's single job waits while another tenant's burst is in the same lane.
//!
//! A worker in this process, with jobs of a few milliseconds, over a store that is opened here: what is measured is whose turn
//! it is, not how fast a request is. First on an idle store, then in the middle of the burst. Beside the time there is the
//! number of claims from the submission to the one that took the job.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::outcome::Report;
use foreman_core::ports::{Store, Submitted, Wakeups};
use foreman_core::retry::Backoff;
use foreman_core::target::{Body, Route, TaskTarget};
use foreman_core::{Fence, JobId, Lane, NewJob, Start, Target, TenantId, Work};
use foreman_engine::target::{Runner, Targets, Try, TryEnding};
use foreman_engine::worker::{self, Worker};
use foreman_runtime::{Stop, Tasks};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::jobs::BATCH;
use crate::report::{Figure, Unit, millis};

const TASK: &str = "bench.fairness";
/// Of the worker.
const SLOTS: usize = 4;
const WORK: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_mins(1);
const IDLE: &str = "fairness: a single job, from submission to start, idle, p50";

/// When single jobs were started, and under which claim.
struct Clerk {
    started: watch::Sender<HashMap<JobId, (Instant, Fence)>>,
}

#[async_trait]
impl Runner for Clerk {
    fn routes(&self) -> Vec<Route> {
        vec![Route::task(TASK)]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        if attempt.job.tenant.as_str() == "single" {
            let now = Instant::now();
            self.started.send_modify(|started| {
                started.insert(attempt.job.id, (now, attempt.fence));
            });
        }
        sleep(WORK).await;
        TryEnding::completed(Report::default())
    }
}

/// `latest` tells the number of the latest claim.
pub async fn measure(
    store: Arc<dyn Store>,
    wakeups: Arc<dyn Wakeups>,
    burst: usize,
    picks: usize,
    latest: impl AsyncFn() -> Result<i64>,
) -> Result<Vec<Figure>> {
    let clerk = Arc::new(Clerk { started: watch::Sender::default() });
    let (tasks, stop, mut started) = (Tasks::new(), Stop::new(), clerk.started.subscribe());
    let config = worker::Config { slots: SLOTS, ..worker::Config::default() };
    let worker = Worker::new(Arc::clone(&store), wakeups, Targets::default().with(clerk), tasks.clone(), config);
    let running = tasks.spawn("worker", worker.run(stop.shutdown()));
    let idle = single_jobs(&*store, &mut started, picks, &latest).await?;
    for _ in 0..burst / BATCH {
        let jobs: Vec<NewJob> = (0..BATCH).map(|_| job("burst")).collect();
        submit(&*store, &jobs).await?;
    }
    let busy = single_jobs(&*store, &mut started, picks, &latest).await?;
    stop.drain();
    running.await??;
    Ok(vec![
        millis(IDLE, idle.p50, None),
        millis("the same while a burst of another tenant waits, p50", busy.p50, Some(IDLE)),
        millis("the same while a burst of another tenant waits, worst", busy.worst, Some(IDLE)),
        Figure::new("claims until it was taken, worst", busy.claims as f64, Unit::Claims, None),
    ])
}

/// In milliseconds, and claims.
struct Waited {
    p50: f64,
    worst: f64,
    claims: i64,
}

async fn single_jobs(
    store: &dyn Store,
    started: &mut watch::Receiver<HashMap<JobId, (Instant, Fence)>>,
    picks: usize,
    latest: &impl AsyncFn() -> Result<i64>,
) -> Result<Waited> {
    let (mut took, mut claims) = (Vec::with_capacity(picks), 0);
    for pick in 0..picks {
        // So that it comes at any point of the worker's round.
        sleep(Duration::from_millis(10 + pick as u64 * 37 % 10)).await;
        let single = job("single");
        let sent = Instant::now();
        submit(store, std::slice::from_ref(&single)).await?;
        let submitted = latest().await?;
        let seen = timeout(PATIENCE, started.wait_for(|started| started.contains_key(&single.id))).await;
        let (at, fence) = *seen.context("a single job was not started")??.get(&single.id).context("it was started")?;
        took.push(at.duration_since(sent).as_secs_f64() * 1_000.0);
        claims = claims.max(fence.0 - submitted);
    }
    took.sort_by(f64::total_cmp);
    Ok(Waited { p50: took[took.len() / 2], worst: took[took.len() - 1], claims })
}

async fn submit(store: &dyn Store, jobs: &[NewJob]) -> Result<()> {
    let answers = store.submit(jobs).await?;
    ensure!(answers.iter().all(Submitted::is_accepted), "a job was not accepted");
    Ok(())
}

fn job(tenant: &str) -> NewJob {
    let work = Work {
        target: Target::Task(TaskTarget { name: TASK.into(), payload: Body::None }),
        kind: None,
        queue: QueueName::default(),
        lane: Lane::Normal,
        max_attempts: 3,
        backoff: Backoff::TASK,
        timeout: PATIENCE,
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
