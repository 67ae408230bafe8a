//! Questions that change nothing. Each sees one moment, however many statements it takes.

pub(crate) mod counts;
mod ended;
pub(crate) mod failure_groups;
mod filter;
pub(crate) mod get;
pub(crate) mod held_by;
pub(crate) mod labels;
pub(crate) mod list;
pub(crate) mod queues;
pub(crate) mod sessions;
pub(crate) mod states;
pub(crate) mod view;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{
    AttemptPage, Census, Counted, Cursor, FailureGroups, HeldView, JobFilter, JobQuery, JobSummary, JobView, Labels,
    Page, QueueView, SessionView, StateCounts, StoreError, WaitingTask,
};
use foreman_core::{JobId, SessionId, State, TenantId, Timestamp};

use crate::error::Fault;
use crate::write::Transaction;
use crate::{PostgresStore, census, look};

/// A standby answers reads; only a primary can be written.
pub(crate) const PING: &str = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean";

#[async_trait]
impl JobQuery for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        look!(self, Look, |tx| ping(&tx).await)
    }

    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError> {
        look!(self, Read, |tx| get::get(&tx, tenant, id).await)
    }

    async fn ended_at_once(&self, jobs: &[JobId]) -> Result<Vec<JobView>, StoreError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        look!(self, Read, |tx| ended::ended_at_once(&tx, jobs).await)
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId, skip: usize) -> Result<Option<AttemptPage>, StoreError> {
        look!(self, Read, |tx| get::attempts(&tx, tenant, id, skip).await)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobSummary>, StoreError> {
        look!(self, Read, |tx| list::list(&tx, tenant, filter, after.copied(), limit).await)
    }

    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Result<u64, StoreError> {
        look!(self, Read, |tx| list::count(&tx, tenant, filter).await)
    }

    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        look!(self, Look, |tx| counts::waiting(&tx, tenant, enough).await)
    }

    async fn waiting_queues(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        look!(self, Look, |tx| counts::waiting_queues(&tx, tenant, enough).await)
    }

    async fn waiting_in(&self, tenant: &TenantId, queues: &[QueueName]) -> Result<Vec<QueueName>, StoreError> {
        look!(self, Look, |tx| counts::waiting_in(&tx, tenant, queues).await)
    }

    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError> {
        look!(self, Look, |tx| counts::running(&tx).await)
    }

    async fn fleet_slots(&self) -> Result<u64, StoreError> {
        look!(self, Look, |tx| counts::fleet_slots(&tx).await)
    }

    async fn queues(&self, tenant: &TenantId) -> Result<Vec<QueueView>, StoreError> {
        look!(self, Read, |tx| queues::queues(&tx, tenant).await)
    }

    async fn sessions(&self) -> Result<Vec<SessionView>, StoreError> {
        look!(self, Read, |tx| sessions::sessions(&tx).await)
    }

    async fn states(&self, tenant: &TenantId, enough: u64) -> Result<StateCounts, StoreError> {
        look!(self, Read, |tx| states::states(&tx, tenant, enough).await)
    }

    async fn ended_since(
        &self,
        tenant: &TenantId,
        state: State,
        since: Timestamp,
        enough: u64,
    ) -> Result<Counted, StoreError> {
        look!(self, Read, |tx| states::ended_since(&tx, tenant, state, since, enough).await)
    }

    async fn waiting_tasks(
        &self,
        tenant: &TenantId,
        limit: usize,
        enough: u64,
    ) -> Result<Vec<WaitingTask>, StoreError> {
        look!(self, Read, |tx| counts::waiting_tasks(&tx, tenant, limit, enough).await)
    }

    async fn failure_groups(
        &self,
        tenant: &TenantId,
        states: &[State],
        limit: usize,
        enough: u64,
    ) -> Result<FailureGroups, StoreError> {
        look!(self, Read, |tx| failure_groups::failure_groups(&tx, tenant, states, limit, enough).await)
    }

    async fn held_by(&self, session: SessionId, limit: usize) -> Result<Vec<HeldView>, StoreError> {
        look!(self, Look, |tx| held_by::held_by(&tx, session, limit).await)
    }

    async fn labels(&self, jobs: &[JobId]) -> Result<Vec<Labels>, StoreError> {
        look!(self, Look, |tx| labels::labels(&tx, jobs).await)
    }

    async fn census(&self) -> Result<Census, StoreError> {
        look!(self, Census, |tx| census::census(&tx).await)
    }
}

async fn ping(tx: &Transaction) -> Result<(), Fault> {
    let row = tx.row(PING, &[]).await?;
    match row.map(|row| row.try_get::<_, bool>(0)).transpose()? {
        Some(false) => Ok(()),
        _ => Err(Fault::ReadOnly),
    }
}

/// For the test that prepares every statement: those of this file and of each file below it.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    counts::STATEMENTS,
    ended::STATEMENTS,
    failure_groups::STATEMENTS,
    &[PING],
    get::STATEMENTS,
    held_by::STATEMENTS,
    labels::STATEMENTS,
    queues::STATEMENTS,
    sessions::STATEMENTS,
    states::STATEMENTS,
    view::STATEMENTS,
];
