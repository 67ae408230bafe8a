//! The door in: accepts jobs durably, many callers in one write.
//!
//! Submissions that arrive while the store is writing are gathered and written together; each caller is answered after
//! its own commit. Several submitters may run against one store: they share nothing.
//!
//! What was accepted stays accepted when its caller goes away. An unknown commit is resolved by sending the *same* jobs
//! again: their ids were made before the first sending. When the process dies half way, a caller without an answer does
//! not know, and sends its jobs again under their idempotency keys.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::NewJob;
use foreman_core::ports::{JobStore, StoreError, Submit, SubmitError, Submitted};
use foreman_runtime::{Backoff, Shutdown};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::coalesce::{BatchLimits, Coalescer, CoalescerRefusal, Handle, Sink, Unanswered};
use crate::outage::bounded;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a batch waits for company while another is being written. A lone submission never waits.
    pub window: Duration,
    /// Jobs written at once.
    pub max_jobs: usize,
    /// Jobs that may wait to be written; beyond it submissions are refused at once.
    pub max_waiting: usize,
    /// Store calls under way at once.
    pub in_flight: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
    /// For how long a write of unknown outcome is sent again before its callers are told.
    pub resend_for: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            window: Duration::from_millis(1),
            max_jobs: 1_000,
            max_waiting: 10_000,
            in_flight: 2,
            call_timeout: Duration::from_secs(5),
            resend_for: Duration::from_secs(2),
        }
    }
}

/// Some submissions were given up at the deadline; their callers have been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the submitter had to stop: {unwritten} jobs were not written and {unknown} may have been")]
pub struct Error {
    pub unwritten: usize,
    pub unknown: usize,
}

/// The loop.
pub struct Submitter {
    coalescer: Coalescer<JobWriter>,
}

/// The callers' end: cheap to clone.
#[derive(Clone)]
pub struct SubmitHandle {
    handle: Handle<JobWriter>,
}

impl Submitter {
    pub fn new(store: Arc<dyn JobStore>, config: Config) -> (Self, SubmitHandle) {
        let limits = BatchLimits { batch: config.max_jobs, waiting: config.max_waiting, in_flight: config.in_flight };
        let (coalescer, handle) = Coalescer::new(JobWriter { store, config }, limits);
        (Self { coalescer }, SubmitHandle { handle })
    }

    /// Runs until [`SubmitHandle::close`], and then until all that was accepted is written and answered. Draining alone
    /// does not close intake: who stops the process knows when the last request has been read. Aborting leaves at once.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        let left = self.coalescer.run(shutdown.aborting()).await;
        if left.unwritten + left.unknown == 0 {
            info!("submitter stopped: all accepted jobs are written");
            return Ok(());
        }
        Err(Error { unwritten: left.unwritten, unknown: left.unknown })
    }
}

impl SubmitHandle {
    /// Refuses every submission from now on; what was accepted before is written and answered.
    pub fn close(&self) {
        self.handle.close();
    }

    /// Jobs accepted into the buffer and not yet answered for.
    pub fn pending(&self) -> usize {
        self.handle.pending()
    }
}

#[async_trait]
impl Submit for SubmitHandle {
    async fn submit(&self, jobs: Vec<NewJob>) -> Result<Vec<Submitted>, SubmitError> {
        self.handle.call(jobs).await.map_err(|error| match error {
            Unanswered::Refused(CoalescerRefusal::Closed) => SubmitError::Closed,
            Unanswered::Refused(CoalescerRefusal::Full) => SubmitError::Overloaded,
            Unanswered::Failed(error) => SubmitError::Store(error),
            Unanswered::Unknown => {
                SubmitError::Store(StoreError::Unavailable("the server stopped before the store answered".into()))
            }
        })
    }
}

struct JobWriter {
    store: Arc<dyn JobStore>,
    config: Config,
}

impl Sink for JobWriter {
    type Item = NewJob;
    type Answer = Submitted;
    type Error = StoreError;

    async fn write(&self, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(500));
        let first_sent = Instant::now();
        loop {
            match bounded(self.config.call_timeout, self.store.submit(jobs)).await {
                // Whether it was written is unknown: only the same ids sent again can tell.
                Err(error @ (StoreError::Unavailable(_) | StoreError::Internal(_))) => {
                    let wait = backoff.next();
                    if first_sent.elapsed() + wait > self.config.resend_for {
                        warn!(jobs.count = jobs.len(), "could not write {} submitted jobs: {error}", jobs.len());
                        return Err(error);
                    }
                    sleep(wait).await;
                }
                answer => return answer,
            }
        }
    }

    async fn linger(&self) {
        sleep(self.config.window).await;
    }

    fn blames_an_item(&self, error: &StoreError) -> bool {
        matches!(error, StoreError::Broken(_) | StoreError::Damaged(_))
    }

    fn miscounted(&self) -> StoreError {
        StoreError::Broken("the store did not answer for every submitted job".into())
    }
}
