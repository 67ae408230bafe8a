//! A tenant's dead jobs by their errors, so that ten thousand equal failures are one line.
//!
//! The groups are found by skipping from one to the next through `outcomes_by_error`, and of each no more is counted than is
//! enough: what it costs depends on how many groups there are, not on how many jobs died. What died before errors were grouped is
//! one group more, found by the same index.

use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Counted, DeadGroup};
use foreman_core::{Report, TenantId};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::{Cells, number};
use crate::value::{bound, one_more};
use crate::write::Transaction;

/// So many groups are looked at: more would not be read, and which are the largest is then told of these.
const MOST: usize = 2_000;

pub(crate) const DEAD_GROUPS: &str = include_str!("../sql/dead_groups.sql");
pub(crate) const UNGROUPED: &str = include_str!("../sql/dead_ungrouped.sql");

pub(super) async fn dead_groups(
    tx: &Transaction,
    tenant: &TenantId,
    limit: usize,
    enough: u64,
) -> Result<Vec<DeadGroup>, Fault> {
    let (tenant, enough_rows) = (tenant.as_str(), one_more(enough));
    let answers = tx
        .all(&[
            (DEAD_GROUPS, &[&tenant, &enough_rows, &bound(limit), &bound(MOST)]),
            (UNGROUPED, &[&tenant, &enough_rows]),
        ])
        .await?;
    let mut groups: Vec<DeadGroup> =
        answers.iter().flatten().map(|row| group(row, enough)).collect::<Result<_, _>>()?;
    groups.sort_by_key(|group| std::cmp::Reverse((group.counted.count, group.last_at)));
    groups.truncate(limit);
    Ok(groups)
}

fn group(row: &Row, enough: u64) -> Result<DeadGroup, Fault> {
    let cells = Cells::of_job(row, "outcomes", 4)?;
    let group: Option<&str> = cells.get(0, "error_group")?;
    let group = group.map(str::parse::<ErrorGroup>).transpose();
    // What cannot be read is no reason to show none of the others.
    let report: Option<Report> = serde_json::from_str(cells.get(7, "report")?).ok();
    Ok(DeadGroup {
        group: group.map_err(|error| Fault::misfit("outcomes", "error_group", cells.id, error))?,
        counted: Counted::up_to(number(row, 1)?, enough),
        first_at: cells.time(2, "finished_at")?,
        last_at: cells.time(3, "finished_at")?,
        sample: cells.id,
        error: report.and_then(|report| report.error),
        queue: cells.queue(5)?,
        kind: cells.get(6, "kind")?,
    })
}
