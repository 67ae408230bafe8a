//! Questions that change nothing.

mod counts;
mod ended;
mod failure_groups;
mod filter;
mod get;
mod held_by;
mod labels;
mod list;
mod queues;
mod sessions;
mod states;
mod view;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{
    AttemptPage, Census, Counted, Cursor, FailureGroups, HeldView, JobFilter, JobQuery, JobSummary, JobView, Labels,
    Page, QueueView, SessionView, StateCounts, StoreError, WaitingTask,
};
use foreman_core::{JobId, SessionId, State, TenantId, Timestamp};

use crate::SqliteStore;
use crate::census;

#[async_trait]
impl JobQuery for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        // A row, not an empty transaction: a full disk lets those through.
        self.write(|write| {
            write
                .sql
                .prepare_cached(
                    "INSERT INTO store (name, value) VALUES ('ping', ?1) ON CONFLICT DO UPDATE SET value = excluded.value",
                )?
                .execute([write.now.as_micros()])?;
            Ok(())
        })
        .await?;
        self.read(|read| Ok(read.sql.query_row("SELECT 1 FROM store WHERE name = 'ping'", [], |_| Ok(()))?)).await
    }

    async fn get(&self, tenant: &TenantId, id: JobId) -> Result<Option<JobView>, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| get::get(read, &tenant, id)).await
    }

    async fn ended_at_once(&self, jobs: &[JobId]) -> Result<Vec<JobView>, StoreError> {
        let jobs = jobs.to_vec();
        self.read(move |read| ended::ended_at_once(read, &jobs)).await
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId, skip: usize) -> Result<Option<AttemptPage>, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| get::attempts(read, &tenant, id, skip)).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobSummary>, StoreError> {
        let (tenant, filter, after) = (tenant.clone(), filter.clone(), after.copied());
        self.read(move |read| list::list(read, &tenant, &filter, after, limit)).await
    }

    async fn count(&self, tenant: &TenantId, filter: &JobFilter) -> Result<u64, StoreError> {
        let (tenant, filter) = (tenant.clone(), filter.clone());
        self.read(move |read| list::count(read, &tenant, &filter)).await
    }

    /// A look at everything that waits, of whatever tenant: an index of it would be written at every move of every job.
    async fn waiting(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| counts::waiting(read.sql, &tenant, enough)).await
    }

    /// The same look.
    async fn waiting_queues(&self, tenant: &TenantId, enough: u64) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| counts::waiting_queues(read.sql, &tenant, enough)).await
    }

    async fn waiting_in(&self, tenant: &TenantId, queues: &[QueueName]) -> Result<Vec<QueueName>, StoreError> {
        let (tenant, queues) = (tenant.clone(), queues.iter().cloned().collect());
        self.read(move |read| counts::waiting_in(read.sql, &tenant, &queues)).await
    }

    async fn running(&self) -> Result<Vec<(TenantId, u64)>, StoreError> {
        self.read(|read| counts::running(read.sql)).await
    }

    async fn fleet_slots(&self) -> Result<u64, StoreError> {
        self.read(|read| counts::fleet_slots(read.sql)).await
    }

    async fn queues(&self, tenant: &TenantId) -> Result<Vec<QueueView>, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| queues::queues(read, &tenant)).await
    }

    async fn sessions(&self) -> Result<Vec<SessionView>, StoreError> {
        self.read(sessions::sessions).await
    }

    async fn states(&self, tenant: &TenantId, enough: u64) -> Result<StateCounts, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| states::states(read, &tenant, enough)).await
    }

    async fn ended_since(
        &self,
        tenant: &TenantId,
        state: State,
        since: Timestamp,
        enough: u64,
    ) -> Result<Counted, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| states::ended_since(read.sql, &tenant, state, since, enough)).await
    }

    async fn waiting_tasks(
        &self,
        tenant: &TenantId,
        limit: usize,
        enough: u64,
    ) -> Result<Vec<WaitingTask>, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| counts::waiting_tasks(read, &tenant, limit, enough)).await
    }

    async fn failure_groups(
        &self,
        tenant: &TenantId,
        states: &[State],
        limit: usize,
        enough: u64,
    ) -> Result<FailureGroups, StoreError> {
        let (tenant, states) = (tenant.clone(), states.to_vec());
        self.read(move |read| failure_groups::failure_groups(read.sql, &tenant, &states, limit, enough)).await
    }

    async fn held_by(&self, session: SessionId, limit: usize) -> Result<Vec<HeldView>, StoreError> {
        self.read(move |read| held_by::held_by(read.sql, session, limit)).await
    }

    async fn labels(&self, jobs: &[JobId]) -> Result<Vec<Labels>, StoreError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let jobs = jobs.to_vec();
        self.read(move |read| labels::labels(read.sql, &jobs)).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.read_all(|read| census::census(read.sql)).await
    }
}
