//! Pages of jobs, and how many there are.
//!
//! A page is found first, by ids alone, and only its own jobs are then read, without their content: a page deep in a long list costs
//! no more than the first.

use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Cursor, JobFilter, JobSummary, Page};
use foreman_core::{JobId, State, TenantId};
use uuid::Uuid;

use super::filter::Selection;
use super::view::{self, SUMMARIES};
use crate::error::Fault;
use crate::value::{Arg, Time, bound};
use crate::write::Transaction;

pub(super) async fn list(
    tx: &Transaction,
    tenant: &TenantId,
    filter: &JobFilter,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Page<JobSummary>, Fault> {
    if matches_nothing(filter) {
        return Ok(Page { items: Vec::new(), next: None });
    }
    let mut selection = Selection::new(tenant, filter);
    if let Some(cursor) = after {
        selection.after(cursor);
    }
    let mut found = page(tx, selection, limit).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = if has_more { found.last().copied() } else { None };
    let ids: Vec<Uuid> = found.iter().map(|cursor| cursor.id.0).collect();
    let anyone: Option<String> = None;
    let rows = if ids.is_empty() { Vec::new() } else { tx.rows_by_id(SUMMARIES, &[&ids, &anyone]).await? };
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        items.push(view::summary(tx, row).await?);
    }
    Ok(Page { items, next })
}

/// One more than asked for, which tells whether there is a next page.
async fn page(tx: &Transaction, mut selection: Selection, limit: usize) -> Result<Vec<Cursor>, Fault> {
    let limit = selection.value(bound(limit).saturating_add(1));
    let text = selection.page(&limit);
    let args: Vec<&dyn Arg> = selection.values.iter().map(AsRef::as_ref).collect();
    let rows = tx.rows(&text, &args).await?;
    rows.iter()
        .map(|row| {
            let at = row.try_get::<_, Option<Time>>(0)?.map(|time| time.0).unwrap_or_default();
            Ok(Cursor { at, id: JobId(row.try_get(1)?) })
        })
        .collect()
}

/// Whether a job is asked for by a label that Postgres could not keep, which none has, or by the error that it ended with although
/// it has not ended.
fn matches_nothing(filter: &JobFilter) -> bool {
    let JobFilter { state, kind, tag, correlation_id, error_group, .. } = filter;
    let has_ended = state.is_none_or(State::is_final);
    error_group.is_some() && !has_ended
        || [kind, tag, correlation_id].into_iter().flatten().any(|label| label.contains('\0'))
}

pub(super) async fn count(tx: &Transaction, tenant: &TenantId, filter: &JobFilter) -> Result<u64, Fault> {
    if matches_nothing(filter) {
        return Ok(0);
    }
    let selection = Selection::new(tenant, filter);
    let args: Vec<&dyn Arg> = selection.values.iter().map(AsRef::as_ref).collect();
    let row = tx.row(&selection.count(), &args).await?;
    let count: i64 = row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Every shape of list there is, for the test that prepares all statements.
pub(crate) fn shapes() -> Vec<String> {
    let mut texts = Vec::new();
    let every = |state: Option<State>| JobFilter {
        state,
        queue: Some(foreman_core::job::QueueName::default()),
        kind: Some(String::new()),
        tag: Some(String::new()),
        correlation_id: Some(String::new()),
        error_group: state.is_none_or(State::is_final).then(|| ErrorGroup::of("")),
        created_after: Some(foreman_core::Timestamp::default()),
        created_before: Some(foreman_core::Timestamp::default()),
    };
    for state in State::ALL.into_iter().map(Some).chain([None]) {
        let plain = JobFilter { error_group: None, ..every(state) };
        let of_group = JobFilter { state, error_group: every(state).error_group, ..JobFilter::default() };
        let internal = foreman_core::job::QueueName::from_stored(foreman_core::webhook::QUEUE);
        let internal = JobFilter { state, queue: Some(internal), ..JobFilter::default() };
        for filter in [every(state), plain, of_group, internal, JobFilter { state, ..JobFilter::default() }] {
            let mut selection = Selection::new(&TenantId::default(), &filter);
            texts.push(selection.count());
            selection.after(Cursor { at: foreman_core::Timestamp::default(), id: JobId(Uuid::nil()) });
            let limit = selection.value(1);
            texts.push(selection.page(&limit));
        }
    }
    texts
}
