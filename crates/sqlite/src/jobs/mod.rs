//! The verbs that move jobs, one file each.
//!
//! What needs no transaction (turning work and reports into JSON and back) is done by the caller, before and after, so that
//! the one writer does only what must be in order.

mod cancel;
mod claim;
mod claimed;
mod pause;
pub(crate) mod redrive;
mod remove;
pub(crate) mod settle;
pub(crate) mod submit;

pub(crate) use claim::Rotation;
pub(crate) use claimed::ClaimedRows;
pub(crate) use remove::forget;

use async_trait::async_trait;
use foreman_core::job::{NewJob, QueueName};
use foreman_core::ports::{
    CancelAnswer, ClaimAnswer, ClaimRequest, JobStore, RedriveAnswer, RemoveAnswer, Settled, Settlement, StoreError,
    Submitted,
};
use foreman_core::{JobId, SessionId, State, TenantId};
use rusqlite::OptionalExtension;

use crate::SqliteStore;
use crate::error::Fault;
use crate::places::JobPlace;
use crate::write::Write;

#[async_trait]
impl JobStore for SqliteStore {
    async fn submit(&self, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
        let jobs = submit::prepare(jobs)?;
        self.write(move |write| submit::submit(write, &jobs)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
        let taken = claim::claim_by_looks(self, request).await?;
        claim::answer(self, taken).await
    }

    async fn settle(&self, session: SessionId, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let settlements = settle::prepare(settlements, &self.parts.claimed)?;
        self.write(move |write| settle::settle(write, session, settlements)).await
    }

    async fn cancel(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<CancelAnswer>>, StoreError> {
        let (tenant, ids) = (tenant.clone(), ids.to_vec());
        self.write(move |write| ids.iter().map(|id| cancel::cancel(write, &tenant, *id)).collect()).await
    }

    async fn redrive(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RedriveAnswer>>, StoreError> {
        let (tenant, ids) = (tenant.clone(), ids.to_vec());
        self.write(move |write| redrive::redrive(write, &tenant, &ids)).await
    }

    async fn remove(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RemoveAnswer>>, StoreError> {
        let (tenant, ids) = (tenant.clone(), ids.to_vec());
        self.write(move |write| ids.iter().map(|id| remove::remove(write, &tenant, *id)).collect()).await
    }

    async fn pause(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        let (tenant, queue) = (tenant.clone(), queue.clone());
        self.write(move |write| pause::pause(write, &tenant, &queue)).await
    }

    async fn resume(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        let (tenant, queue) = (tenant.clone(), queue.clone());
        let resumed = self.write(move |write| pause::resume(write, &tenant, &queue)).await;
        // Also when it failed: the outcome may be unknown.
        self.parts.rotation.resumed();
        resumed
    }
}

/// Whether the job is there and this tenant's.
fn is_owned(write: &Write<'_>, tenant: &TenantId, id: JobId) -> Result<bool, Fault> {
    let owner: Option<String> =
        write.prepared("SELECT tenant FROM jobs WHERE id = ?1")?.query_row([id.0], |row| row.get(0)).optional()?;
    Ok(owner.is_some_and(|owner| owner == tenant.as_str()))
}

/// The state of a job in that place, as it is shown.
fn state_in(write: &Write<'_>, place: &JobPlace) -> State {
    match place {
        JobPlace::Ready(waiting) => {
            let job_row = &waiting.job_row;
            State::of_waiting(job_row.run_at <= write.now, job_row.counters.attempt)
        }
        JobPlace::Held(_) => State::Running,
        JobPlace::Final(state) => *state,
    }
}
