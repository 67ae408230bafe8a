//! Pages of jobs, and how many there are.
//!
//! A page is found first, by ids alone, and only its own jobs are then read, without their content: a page deep in a long list costs
//! no more than the first.

use foreman_core::ports::{Cursor, JobFilter, JobSummary, Page};
use foreman_core::{JobId, TenantId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::filter::Selection;
use super::view::{self, PLACES, SUMMARY};
use crate::error::Fault;
use crate::readers::ReadSnapshot;

pub(super) fn list(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    filter: &JobFilter,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Page<JobSummary>, Fault> {
    let mut found = found(read, tenant, filter, after, limit)?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = if has_more { found.last().copied() } else { None };
    let items = found.iter().map(|cursor| one(read, cursor.id)).collect::<Result<_, _>>()?;
    Ok(Page { items, next })
}

/// Their places in the list; one more than asked for, which tells whether there is a next page.
pub(super) fn found(
    read: &ReadSnapshot<'_>,
    tenant: &TenantId,
    filter: &JobFilter,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Vec<Cursor>, Fault> {
    let mut selection = Selection::new(tenant, filter, read.now);
    if let Some(cursor) = after {
        selection.after(cursor);
    }
    page(read.sql, &selection, limit)
}

fn page(sql: &Connection, selection: &Selection, limit: usize) -> Result<Vec<Cursor>, Fault> {
    let time = if selection.is_by_time { "outcomes.finished_at" } else { "0" };
    let statement = format!(
        "SELECT {time}, {id} FROM {from} WHERE {conditions} ORDER BY {order} LIMIT ?{limit}",
        limit = selection.values.len() + 1,
        id = selection.id,
        from = selection.from,
        conditions = selection.conditions(),
        order = selection.order(),
    );
    let mut statement = sql.prepare_cached(&statement)?;
    let limit = Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
    let rows = statement.query_map(params_from_iter(selection.values.iter().chain([&limit])), |row| {
        Ok(Cursor { at: Timestamp::from_micros(row.get(0)?), id: JobId(row.get(1)?) })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn one(read: &ReadSnapshot<'_>, id: JobId) -> Result<JobSummary, Fault> {
    let mut statement = read.sql.prepare_cached(&format!("SELECT {SUMMARY} FROM jobs {PLACES} WHERE jobs.id = ?1"))?;
    let mut rows = statement.query([id.0])?;
    match rows.next()? {
        Some(row) => view::summary(read.sql, row, read.now),
        None => Err(Fault::misfit("jobs", "id", id, "is in a place but not among the jobs")),
    }
}

pub(super) fn count(read: &ReadSnapshot<'_>, tenant: &TenantId, filter: &JobFilter) -> Result<u64, Fault> {
    let selection = Selection::new(tenant, filter, read.now);
    let statement = format!("SELECT count(*) FROM {} WHERE {}", selection.from, selection.conditions());
    let mut statement = read.sql.prepare_cached(&statement)?;
    let count: i64 = statement.query_row(params_from_iter(&selection.values), |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}
