//! What people call jobs: their kinds and tags, without reading what was asked of them.

use foreman_core::JobId;
use foreman_core::ports::Labels;
use foreman_core::webhook::RESERVED_TAGS;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;
use crate::write::Transaction;

/// In the order asked for. Tags that only stores know begin with `$2`.
pub(crate) const LABELS: &str = "SELECT jobs.id, jobs.kind, ARRAY(
        SELECT job_tags.tag FROM job_tags WHERE job_tags.job = jobs.id AND NOT starts_with(job_tags.tag, $2::text)
        ORDER BY job_tags.tag COLLATE \"C\")
    FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, rank)
    JOIN jobs ON jobs.id = asked.id AND jobs.id = ANY ($1)
    ORDER BY asked.rank";

pub(super) async fn labels(tx: &Transaction, jobs: &[JobId]) -> Result<Vec<Labels>, Fault> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.0).collect();
    let rows = tx.rows_by_id(LABELS, &[&ids, &RESERVED_TAGS]).await?;
    rows.iter()
        .map(|row| {
            let cells = Cells::of_job(row, "jobs", 0)?;
            Ok(Labels { job: cells.id, kind: cells.get(1, "kind")?, tags: cells.get(2, "tags")? })
        })
        .collect()
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[LABELS];
