//! The store by itself: its own verbs, called from this process, with no worker, no HTTP and no process between.
//!
//! This is the floor that Foreman stands on. It has no statement of its own, so it cannot part from the store: what a
//! release changes there changes the floor with it. Several loops run side by side, each with a session; a loop
//! claims, then settles what it claimed in a few calls, as a worker's settlements arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use foreman_core::lane::LanePlan;
use foreman_core::outcome::Report;
use foreman_core::ports::{
    Claim, ClaimAnswer, ClaimRequest, Company, Held, Queues, SessionInfo, Settled, Settlement, Store, Submitted,
    WantedJobs,
};
use foreman_core::target::Route;
use foreman_core::{ClaimToken, SessionId, Verdict};
use foreman_runtime::Tasks;
use tokio::time::{Instant, sleep};

use crate::jobs::{BATCH, JobMaker, SENDERS};

/// Jobs of one claim.
pub const CLAIM: usize = 512;
/// Calls that settle what one claim took.
pub const SETTLEMENTS: usize = 3;
/// Loops side by side: three keep both cores of a small machine busy.
pub const LOOPS: usize = 3;
const PATIENCE: Duration = Duration::from_mins(2);

/// Submits in batches, several on their way at once.
pub async fn fill(store: &Arc<dyn Store>, maker: &JobMaker, jobs: usize) -> Result<Duration> {
    let next = Arc::new(AtomicUsize::new(0));
    let (tasks, start) = (Tasks::new(), Instant::now());
    let mut senders = Vec::new();
    for _ in 0..SENDERS {
        let (store, maker, next) = (Arc::clone(store), maker.clone(), Arc::clone(&next));
        senders.push(tasks.spawn("fill", async move {
            loop {
                let first = next.fetch_add(BATCH, Ordering::Relaxed);
                if first >= jobs {
                    return anyhow::Ok(());
                }
                let answers = store.submit(&maker.batch(first, BATCH.min(jobs - first))).await?;
                ensure!(answers.iter().all(Submitted::is_accepted), "a job was not accepted");
            }
        }));
    }
    for sender in senders {
        sender.await??;
    }
    Ok(start.elapsed())
}

/// Claims and settles until so many are done.
pub async fn drain(store: &Arc<dyn Store>, route: &Route, jobs: usize) -> Result<Duration> {
    let done = Arc::new(AtomicUsize::new(0));
    let (tasks, start) = (Tasks::new(), Instant::now());
    let mut loops = Vec::new();
    for _ in 0..LOOPS {
        let hand = Hand::new(Arc::clone(store), route.clone()).await?;
        let done = Arc::clone(&done);
        loops.push(tasks.spawn("drain", async move {
            while done.load(Ordering::Relaxed) < jobs {
                let settled = hand.claim_and_settle(CLAIM).await?;
                done.fetch_add(settled, Ordering::Relaxed);
                if settled == 0 {
                    // What is left is in the hands of another loop.
                    sleep(Duration::from_millis(1)).await;
                }
                ensure!(start.elapsed() < PATIENCE, "the store by itself did not end in time");
            }
            let took = start.elapsed();
            hand.end().await?;
            anyhow::Ok(took)
        }));
    }
    let mut longest = Duration::ZERO;
    for running in loops {
        longest = longest.max(running.await??);
    }
    let done = done.load(Ordering::Relaxed);
    ensure!(done == jobs, "{done} jobs were settled instead of {jobs}");
    Ok(longest)
}

/// A session that claims and settles.
pub struct Hand {
    store: Arc<dyn Store>,
    session: SessionId,
    route: Route,
}

impl Hand {
    pub async fn new(store: Arc<dyn Store>, route: Route) -> Result<Self> {
        let session = SessionId::fresh();
        let info = SessionInfo {
            id: session,
            worker: "bench".into(),
            pid: std::process::id(),
            version: "0".into(),
            slots: CLAIM as u32,
            queues: Vec::new(),
            tasks: route.as_task().map(str::to_owned).into_iter().collect(),
            consumes: None,
            ttl: Duration::from_hours(1),
        };
        store.register(&info).await?;
        Ok(Self { store, session, route })
    }

    /// Answers how many there were.
    pub async fn claim_and_settle(&self, limit: usize) -> Result<usize> {
        let request = ClaimRequest {
            session: self.session,
            token: ClaimToken::fresh(),
            wanted: WantedJobs::ByOrder { plan: LanePlan::strict(limit), limit },
            queues: Queues::All,
            routes: vec![self.route.clone()],
            company: Company::Others,
            rooms: Vec::new(),
        };
        match self.store.claim(&request).await? {
            ClaimAnswer::Claimed(claim) => self.settle(claim).await,
            ClaimAnswer::Nothing { .. } => Ok(0),
            ClaimAnswer::SessionGone => bail!("the session of the benchmark is gone"),
        }
    }

    async fn settle(&self, claim: Claim) -> Result<usize> {
        let report = Report { duration_ms: Some(0), ..Report::default() };
        let completed = |held: Held| held.settle(Verdict::Completed(report.clone()));
        let all: Vec<Settlement> = claim.jobs.into_iter().map(completed).collect();
        for some in all.chunks(all.len().div_ceil(SETTLEMENTS).max(1)) {
            let answers = self.store.settle(self.session, some).await?;
            ensure!(answers.iter().all(|answer| *answer == Settled::Now), "a settlement was refused");
        }
        Ok(all.len())
    }

    pub async fn end(self) -> Result<()> {
        self.store.end(self.session).await?;
        Ok(())
    }
}
