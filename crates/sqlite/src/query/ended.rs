//! Jobs that have ended with the only attempt that is kept of them, many at a time: what the courier tells of.

use foreman_core::ports::JobView;
use foreman_core::{JobId, TenantId};
use rusqlite::OptionalExtension;

use super::get::get;
use crate::error::Fault;
use crate::readers::ReadSnapshot;

/// Many of them are read at the same time.
const SMALL: i64 = 8 * 1024;

/// In one visit to the reader, but for those of which much would have to be read.
pub(super) fn ended_at_once(read: &ReadSnapshot<'_>, jobs: &[JobId]) -> Result<Vec<JobView>, Fault> {
    let mut statement = read.sql.prepare_cached(
        "SELECT jobs.tenant FROM jobs JOIN outcomes ON outcomes.job = jobs.id
         WHERE jobs.id = ?1 AND octet_length(jobs.work) + octet_length(outcomes.report) <= ?2
           AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.job = jobs.id)",
    )?;
    let mut views = Vec::new();
    for id in jobs {
        let tenant: Option<String> = statement.query_row((id.0, SMALL), |row| row.get(0)).optional()?;
        if let Some(tenant) = tenant {
            views.extend(get(read, &TenantId::new(tenant), *id)?);
        }
    }
    Ok(views)
}
