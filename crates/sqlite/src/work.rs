//! What was asked, read back from its JSON.

use std::sync::Arc;

use foreman_core::{Job, JobId, TenantId, Timestamp};
use rusqlite::Row;

use crate::error::Fault;
use crate::rows::Cells;

/// A job from the columns `id, tenant, created_at, work` of `jobs`, the first four of a row.
pub(crate) fn job(row: &Row<'_>) -> Result<Job, Fault> {
    RawJob::try_from(row)?.read()
}

/// A row of `jobs` whose work is still text: turned into a job outside the writer.
pub(crate) struct RawJob {
    pub id: JobId,
    pub tenant: TenantId,
    pub created_at: Timestamp,
    pub work: String,
}

impl TryFrom<&Row<'_>> for RawJob {
    type Error = Fault;

    fn try_from(row: &Row<'_>) -> Result<Self, Fault> {
        let cells = Cells::of_job(row, "jobs", 0)?;
        Ok(Self {
            id: cells.id,
            tenant: cells.tenant(1)?,
            created_at: cells.time(2, "created_at")?,
            work: cells.get(3, "work")?,
        })
    }
}

impl RawJob {
    /// From the columns `created_at, work`, of a job whose id and tenant are at hand.
    pub fn of(row: &Row<'_>, id: JobId, tenant: TenantId) -> Result<Self, Fault> {
        let cells = Cells { row, table: "jobs", id };
        Ok(Self { id, tenant, created_at: cells.time(0, "created_at")?, work: cells.get(1, "work")? })
    }

    pub fn read(self) -> Result<Job, Fault> {
        let work = serde_json::from_str(&self.work).map_err(|error| Fault::misfit("jobs", "work", self.id, error))?;
        Ok(Job { id: self.id, tenant: self.tenant, work: Arc::new(work), created_at: self.created_at })
    }
}
