//! One batch on its way to the broker, and the store's note that it arrived.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{AnnounceStore, AnnouncedBatch, Publisher};
use foreman_runtime::Backoff;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::outage::bounded;

/// So often the store is told; after that the reconciler finds the batch.
const TELLINGS: u32 = 5;

pub(super) struct Sending {
    pub store: Arc<dyn AnnounceStore>,
    pub publisher: Arc<dyn Publisher>,
    pub call_timeout: Duration,
    pub publish_timeout: Duration,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(super) struct SentBatch {
    pub accepted: usize,
    pub failed: usize,
    /// Why the first message that failed did.
    pub trouble: Option<String>,
}

impl Sending {
    pub async fn run(self, batch: AnnouncedBatch) -> SentBatch {
        let AnnouncedBatch { number, jobs, .. } = batch;
        let (mut failed, mut trouble) = (Vec::new(), None);
        if let Ok(answers) = timeout(self.publish_timeout, self.publisher.publish(&jobs)).await {
            for (place, answer) in answers.into_iter().enumerate() {
                if let Err(error) = answer {
                    failed.push(place);
                    trouble.get_or_insert(error.0);
                }
            }
        } else {
            failed.extend(0..jobs.len());
            trouble = Some("it did not answer in time".into());
        }
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        while backoff.failures() < TELLINGS {
            match bounded(self.call_timeout, self.store.acknowledge(number, &failed)).await {
                Ok(()) => break,
                Err(error) if error.is_transient() => sleep(backoff.next()).await,
                Err(error) => {
                    debug!("batch {} is left to the reconciler: {error}", number.0);
                    break;
                }
            }
        }
        SentBatch { accepted: jobs.len() - failed.len(), failed: failed.len(), trouble }
    }
}
