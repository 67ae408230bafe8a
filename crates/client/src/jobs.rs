//! What can be done with jobs, one or many.

use foreman_protocol::State;
use foreman_protocol::document::{
    BulkAnswer, BulkRequest, FailureGroupsDocument, FilterDocument, JobDocument, ListDocument,
};
use foreman_protocol::output::OutputChunk;
use foreman_protocol::spec::JobSpec;
use reqwest::Method;
use serde::Serialize;

use crate::{BULK_TIMEOUT, CALL_TIMEOUT, Client, Error, Pages};

#[derive(Serialize)]
struct ListQuery<'a> {
    #[serde(flatten)]
    filter: &'a FilterDocument,
    limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
}

#[derive(Serialize)]
struct GroupsQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
}

impl Client {
    /// Submits one job. After `Ok` it is durable. After [`Error::Away`] it may have been accepted: send it again with
    /// the same `idempotency_key`, and there will be one.
    pub async fn submit(&self, job: &JobSpec) -> Result<JobDocument, Error> {
        self.post_json(&["jobs"], job, CALL_TIMEOUT).await
    }

    /// One job with its attempts.
    pub async fn get(&self, id: &str) -> Result<JobDocument, Error> {
        self.get_json(&["jobs", id], &(), CALL_TIMEOUT).await
    }

    /// One page, newest first; `after` is `next` of the page before.
    pub async fn list(
        &self,
        filter: &FilterDocument,
        limit: usize,
        after: Option<&str>,
    ) -> Result<ListDocument<JobDocument>, Error> {
        self.get_json(&["jobs"], &ListQuery { filter, limit, cursor: after }, CALL_TIMEOUT).await
    }

    /// Every job that matches, page by page.
    pub fn pages(&self, filter: FilterDocument) -> Pages<'_> {
        Pages::new(self, filter)
    }

    /// Failed and dead jobs, those that ended with the same error together; of one of the two states where one is given. `group` of
    /// one is for [`FilterDocument::error_group`].
    pub async fn failure_groups(&self, state: Option<State>) -> Result<FailureGroupsDocument, Error> {
        self.get_json(&["errors", "groups"], &GroupsQuery { state }, CALL_TIMEOUT).await
    }

    /// Ends a job at once, waiting or running.
    pub async fn cancel(&self, id: &str) -> Result<JobDocument, Error> {
        self.post(&["jobs", id, "cancel"]).await
    }

    /// Runs a final job again under the same id, its attempts counted anew.
    pub async fn retry(&self, id: &str) -> Result<JobDocument, Error> {
        self.post(&["jobs", id, "retry"]).await
    }

    /// Removes a final job with all that is known of it.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        self.call_blind(Method::DELETE, &["jobs", id]).await
    }

    pub async fn bulk_retry(&self, filter: FilterDocument, dry_run: bool) -> Result<BulkAnswer, Error> {
        self.bulk("retry", filter, dry_run).await
    }

    pub async fn bulk_cancel(&self, filter: FilterDocument, dry_run: bool) -> Result<BulkAnswer, Error> {
        self.bulk("cancel", filter, dry_run).await
    }

    pub async fn bulk_delete(&self, filter: FilterDocument, dry_run: bool) -> Result<BulkAnswer, Error> {
        self.bulk("delete", filter, dry_run).await
    }

    async fn bulk(&self, verb: &str, filter: FilterDocument, dry_run: bool) -> Result<BulkAnswer, Error> {
        self.post_json(&["jobs", verb], &BulkRequest { filter, dry_run }, BULK_TIMEOUT).await
    }

    /// What the running command of a job has printed from line `after` on. A job that does not run answers with what is
    /// known of its last attempt, or not at all.
    pub async fn output(&self, id: &str, after: u64) -> Result<OutputChunk, Error> {
        self.get_json(&["jobs", id, "output"], &[("after", after)], CALL_TIMEOUT).await
    }
}
