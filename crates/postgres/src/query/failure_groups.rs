//! A tenant's jobs that failed or died, by state and error, so that ten thousand equal failures are one line.
//!
//! The groups are found by skipping from one to the next through `failures_of_users`, and of each no more is counted than is
//! enough: what it costs depends on how many groups there are, not on how many jobs failed. What ended before errors were grouped is
//! one group more of each state, found by the same index.
//!
//! The index has the groups of a state in the order of their hashes. Where there are more than are looked at, those of the newest
//! jobs are looked at too, by `ended_of_users`, and it is said that there are others.

use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Counted, FailureGroup, FailureGroups};
use foreman_core::{Report, State, TenantId};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::{Cells, number};
use crate::value::{bound, one_more};
use crate::write::Transaction;

/// So many groups are looked at as they come, and so many of the newest: more would not be read.
const MOST: usize = 2_000;

pub(crate) const FAILURE_GROUPS: &str = include_str!("../sql/failure_groups.sql");
pub(crate) const UNGROUPED: &str = include_str!("../sql/failure_ungrouped.sql");

pub(super) async fn failure_groups(
    tx: &Transaction,
    tenant: &TenantId,
    states: &[State],
    limit: usize,
    enough: u64,
) -> Result<FailureGroups, Fault> {
    let (tenant, enough_rows) = (tenant.as_str(), one_more(enough));
    // One more than is wanted says whether there are more; it also says whether the walk saw all when none is wanted.
    let (most_groups, most) = (bound(limit).saturating_add(1), bound(MOST));
    let (mut groups, mut saw_all) = (Vec::new(), true);
    for state in states {
        let state = state.as_str();
        let answers = tx
            .all(&[
                (FAILURE_GROUPS, &[&tenant, &enough_rows, &most_groups, &most, &state]),
                (UNGROUPED, &[&tenant, &enough_rows, &state]),
            ])
            .await?;
        if let Some(row) = answers.first().and_then(|rows| rows.first()) {
            saw_all &= row.try_get::<_, bool>("saw_all")?;
        }
        for row in answers.iter().flatten() {
            groups.push(group(row, enough)?);
        }
    }
    Ok(FailureGroups::largest(groups, limit, saw_all))
}

fn group(row: &Row, enough: u64) -> Result<FailureGroup, Fault> {
    let cells = Cells::of_job(row, "outcomes", 4)?;
    let group: Option<&str> = cells.get(0, "error_group")?;
    let group = group.map(str::parse::<ErrorGroup>).transpose();
    let state: &str = cells.get(8, "state")?;
    // What cannot be read is no reason to show none of the others.
    let report: Option<Report> = serde_json::from_str(cells.get(7, "report")?).ok();
    Ok(FailureGroup {
        state: state.parse().map_err(|error| Fault::misfit("outcomes", "state", cells.id, error))?,
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

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[FAILURE_GROUPS, UNGROUPED];
