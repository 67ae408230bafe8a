//! A tenant's dead jobs by their errors, so that ten thousand equal failures are one line.
//!
//! The groups are found by skipping from one to the next through `outcomes_by_error`, and of each no more is counted than is
//! enough: what it costs depends on how many groups there are, not on how many jobs died. What died before errors were grouped is
//! one group more, found by the same index.
//!
//! The index has the groups in the order of their hashes. Where there are more than are looked at, those of the newest dead are
//! looked at too, by `outcomes_by_state`, and it is said that there are others.

use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Counted, DeadGroup, DeadGroups};
use foreman_core::{Report, State, TenantId};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::{Cells, number};
use crate::value::{bound, one_more};
use crate::write::Transaction;

/// So many groups are looked at as they come, and so many of the newest: more would not be read.
const MOST: usize = 2_000;

pub(crate) const DEAD_GROUPS: &str = include_str!("../sql/dead_groups.sql");
pub(crate) const UNGROUPED: &str = include_str!("../sql/dead_ungrouped.sql");

pub(super) async fn dead_groups(
    tx: &Transaction,
    tenant: &TenantId,
    limit: usize,
    enough: u64,
) -> Result<DeadGroups, Fault> {
    let (tenant, enough_rows) = (tenant.as_str(), one_more(enough));
    // One more than is wanted says whether there are more; it also says whether the walk saw all when none is wanted.
    let groups = bound(limit).saturating_add(1);
    let answers = tx
        .all(&[
            (DEAD_GROUPS, &[&tenant, &enough_rows, &groups, &bound(MOST), &State::Dead.as_str()]),
            (UNGROUPED, &[&tenant, &enough_rows]),
        ])
        .await?;
    let saw_all =
        answers.first().and_then(|rows| rows.first()).map_or(Ok(true), |row| row.try_get::<_, bool>("saw_all"))?;
    let groups: Vec<DeadGroup> = answers.iter().flatten().map(|row| group(row, enough)).collect::<Result<_, _>>()?;
    Ok(DeadGroups::largest(groups, limit, saw_all))
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
