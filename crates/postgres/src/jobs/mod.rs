//! The verbs that move jobs, one file each.
//!
//! What needs no transaction (turning work and reports into JSON and back, reserving places in line) is done before and
//! after, so that locks are held no longer than it takes to write.

pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod known_claims;
pub(crate) mod pause;
pub(crate) mod redrive;
pub(crate) mod remove;
pub(crate) mod settle;
pub(crate) mod submit;

pub(crate) use claim::{ExpectedJobs, Floors};
pub(crate) use known_claims::KnownClaims;

use std::collections::HashMap;

use async_trait::async_trait;
use foreman_core::job::{NewJob, QueueName};
use foreman_core::ports::{
    CancelAnswer, ClaimAnswer, ClaimRequest, JobStore, Leader, RedriveAnswer, RemoveAnswer, Settled, Settlement,
    StoreError, Submitted,
};
use foreman_core::{JobId, SessionId, State, TenantId};
use uuid::Uuid;

use crate::error::Fault;
use crate::places;
use crate::rows::NamedCells;
use crate::upkeep::leads;
use crate::write::Transaction;
use crate::{PostgresStore, transact};

#[async_trait]
impl JobStore for PostgresStore {
    async fn submit(&self, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
        submit::submit(self, jobs).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
        claim::claim(self, request).await
    }

    async fn settle(&self, session: SessionId, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let batch = settle::SettlementBatch::new(settlements)?;
        transact!(self, data, Write, |tx| settle::settle(&tx, session, &batch, &self.parts).await)
    }

    async fn cancel(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<CancelAnswer>>, StoreError> {
        transact!(self, data, Write, |tx| cancel::cancel(&tx, tenant, ids).await)
    }

    async fn cancel_as(
        &self,
        leader: &Leader,
        tenant: &TenantId,
        ids: &[JobId],
    ) -> Result<Option<Vec<Option<CancelAnswer>>>, StoreError> {
        transact!(self, data, Write, |tx| match leads(&tx, Some(leader)).await {
            Ok(true) => cancel::cancel(&tx, tenant, ids).await.map(Some),
            Ok(false) => Ok(None),
            Err(fault) => Err(fault),
        })
    }

    async fn redrive(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RedriveAnswer>>, StoreError> {
        redrive::redrive(self, tenant, ids).await
    }

    async fn remove(&self, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<Option<RemoveAnswer>>, StoreError> {
        transact!(self, data, Write, |tx| remove::remove(&tx, tenant, ids).await)
    }

    async fn pause(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        transact!(self, data, Write, |tx| pause::pause(&tx, tenant, queue).await)
    }

    async fn resume(&self, tenant: &TenantId, queue: &QueueName) -> Result<bool, StoreError> {
        transact!(self, data, Write, |tx| pause::resume(&tx, tenant, queue).await)
    }
}

/// Ids, each once, in the order in which they were first named.
fn distinct(ids: &[JobId]) -> Vec<JobId> {
    let mut seen = std::collections::HashSet::new();
    ids.iter().copied().filter(|id| seen.insert(*id)).collect()
}

fn uuids(ids: &[JobId]) -> Vec<Uuid> {
    ids.iter().map(|id| id.0).collect()
}

/// Which of these are this tenant's.
async fn owned(tx: &Transaction, tenant: &TenantId, ids: &[JobId]) -> Result<Vec<JobId>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.rows_by_id(places::OWNED, &[&uuids(ids), &tenant.as_str()]).await?;
    let found: std::collections::HashSet<JobId> =
        rows.iter().map(|row| Ok(JobId(row.try_get("id")?))).collect::<Result<_, Fault>>()?;
    Ok(ids.iter().copied().filter(|id| found.contains(id)).collect())
}

/// The states of jobs that are not final, as far as they are found by one pass.
async fn unfinished(tx: &Transaction, ids: &[JobId]) -> Result<HashMap<JobId, State>, Fault> {
    let ids = uuids(ids);
    let mut states = HashMap::new();
    for row in &tx.rows(places::WAITING, &[&ids]).await? {
        let waiting = NamedCells::of_job(row, "ready")?;
        states.insert(waiting.id, State::of_waiting(waiting.get("is_due")?, waiting.count("attempt")?));
    }
    for row in &tx.rows(places::HELD, &[&ids]).await? {
        states.entry(NamedCells::of_job(row, "claims")?.id).or_insert(State::Running);
    }
    Ok(states)
}

/// A job that is in none of its places, look after look.
fn nowhere(ids: &[JobId]) -> Fault {
    let id = ids.first().map(ToString::to_string).unwrap_or_default();
    StoreError::Damaged(format!("job {id} is in no place")).into()
}

/// For the test that prepares every statement: those of each file below.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    claim::STATEMENTS,
    known_claims::STATEMENTS,
    pause::STATEMENTS,
    redrive::STATEMENTS,
    remove::STATEMENTS,
    settle::STATEMENTS,
    submit::STATEMENTS,
];
