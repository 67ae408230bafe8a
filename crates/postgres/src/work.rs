//! What was asked, read back from its JSON.

use std::sync::Arc;

use foreman_core::{Job, JobId, TenantId, Timestamp};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::Cells;

/// A job from the columns `id, tenant, created_at, work` of `jobs`, the first four of a row.
pub(crate) fn job(row: &Row) -> Result<Job, Fault> {
    let cells = Cells::of_job(row, "jobs", 0)?;
    let (tenant, created_at, work) = (cells.tenant(1)?, cells.time(2, "created_at")?, cells.get(3, "work")?);
    read(cells.id, tenant, created_at, work)
}

pub(crate) fn read(id: JobId, tenant: TenantId, created_at: Timestamp, work: &str) -> Result<Job, Fault> {
    let work = serde_json::from_str(work).map_err(|error| Fault::misfit("jobs", "work", id, error))?;
    Ok(Job { id, tenant, work: Arc::new(work), created_at })
}
