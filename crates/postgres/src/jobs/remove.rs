//! Removing final jobs with all that is known of them.
//!
//! The outcome's row is locked first: a re-drive of the same job either has taken it away by then, or waits and finds
//! nothing.

use std::collections::{HashMap, HashSet};

use foreman_core::ports::RemoveAnswer;
use foreman_core::{JobId, TenantId};
use tokio_postgres::Row;

use super::{distinct, nowhere, owned, unfinished, uuids};
use crate::error::Fault;
use crate::places::LOOKS;
use crate::write::Transaction;

pub(crate) const LOCK_FINAL: &str =
    "SELECT job FROM outcomes WHERE job = ANY ($1::uuid[]) AND tenant = $2::text ORDER BY job FOR UPDATE";

/// Everything of final jobs whose outcomes are locked. A key goes only while it still stands for its job: it may have been
/// taken over since.
pub(crate) const FORGET: [&str; 5] = [
    "DELETE FROM outcomes WHERE job = ANY ($1::uuid[])",
    "DELETE FROM attempts WHERE job = ANY ($1::uuid[])",
    "DELETE FROM job_tags WHERE job = ANY ($1::uuid[])",
    "DELETE FROM idempotency WHERE job = ANY ($1::uuid[])",
    "DELETE FROM jobs WHERE id = ANY ($1::uuid[])",
];

pub(super) async fn remove(
    tx: &Transaction,
    tenant: &TenantId,
    ids: &[JobId],
) -> Result<Vec<Option<RemoveAnswer>>, Fault> {
    let mut found: HashMap<JobId, RemoveAnswer> = HashMap::new();
    let mut sought = distinct(ids);
    for look in 0.. {
        sought = owned(tx, tenant, &sought).await?;
        if sought.is_empty() {
            break;
        }
        if look == LOOKS {
            return Err(nowhere(&sought));
        }
        let gone = locked(&tx.rows_by_id(LOCK_FINAL, &[&uuids(&sought), &tenant.as_str()]).await?)?;
        forget(tx, &gone).await?;
        found.extend(gone.into_iter().map(|id| (id, RemoveAnswer::Removed)));
        sought.retain(|id| !found.contains_key(id));
        let states = unfinished(tx, &sought).await?;
        found.extend(states.into_iter().map(|(id, state)| (id, RemoveAnswer::NotFinal(state))));
        sought.retain(|id| !found.contains_key(id));
    }
    Ok(in_order(ids, &found))
}

fn locked(rows: &[Row]) -> Result<Vec<JobId>, Fault> {
    rows.iter().map(|row| Ok(JobId(row.try_get("job")?))).collect()
}

pub(crate) async fn forget(tx: &Transaction, ids: &[JobId]) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let ids = uuids(ids);
    let args: [&dyn crate::value::Arg; 1] = [&ids];
    tx.by_id(&FORGET.map(|sql| (sql, &args[..]))).await?;
    Ok(())
}

/// A job named twice is gone at its second mention.
fn in_order(ids: &[JobId], found: &HashMap<JobId, RemoveAnswer>) -> Vec<Option<RemoveAnswer>> {
    let mut removed = HashSet::new();
    ids.iter()
        .map(|id| match found.get(id).copied() {
            Some(RemoveAnswer::Removed) => removed.insert(*id).then_some(RemoveAnswer::Removed),
            other => other,
        })
        .collect()
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[LOCK_FINAL];
