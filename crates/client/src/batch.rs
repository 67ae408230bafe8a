//! Many jobs in one call.

use foreman_protocol::document::{BatchRequest, JobDocument, ProblemDocument};
use foreman_protocol::spec::JobSpec;
use serde::{Deserialize, Serialize};

use crate::{CALL_TIMEOUT, Client, Error};

/// What became of one job of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BatchItem {
    /// Told apart by what a problem has and a job has not: its `type`. So this one goes first.
    Problem(Box<ProblemDocument>),
    Job(Box<JobDocument>),
}

impl BatchItem {
    pub fn job(&self) -> Option<&JobDocument> {
        match self {
            BatchItem::Job(job) => Some(job),
            BatchItem::Problem(_) => None,
        }
    }
}

#[derive(Deserialize)]
struct BatchAnswer {
    results: Vec<BatchItem>,
}

impl Client {
    /// Submits up to a thousand jobs; answers in the same order. One that is refused does not hold up the others.
    pub async fn submit_batch(&self, jobs: Vec<JobSpec>) -> Result<Vec<BatchItem>, Error> {
        let answer: BatchAnswer = self.post_json(&["jobs", "batch"], &BatchRequest { jobs }, CALL_TIMEOUT).await?;
        Ok(answer.results)
    }
}
