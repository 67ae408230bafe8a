//! Ending jobs at once, wherever they are.
//!
//! A job may be on its way from one place to the next while it is looked for: claimed, returned, swept. So `ready`, `claims`
//! and `outcomes` are asked each in a statement of its own, which sees what was committed before it, and again until every
//! job is found. A held one is closed in its claim and its outcome written under the claim's lock; what its worker reports
//! later finds no bit set and is refused.

use std::collections::HashMap;

use foreman_core::ports::{CancelAnswer, Step, Topic};
use foreman_core::{JobId, State, TenantId};

use super::{distinct, nowhere, owned, uuids};
use crate::error::Fault;
use crate::places::{self, LOOKS};
use crate::rows::Cells;
use crate::write::Transaction;

pub(crate) const CANCEL_READY: &str = include_str!("../sql/leave/cancel_ready.sql");
pub(crate) const CANCEL_HELD: &str = concat!(include_str!("../sql/leave/cancel_held.sql"), include_str!("../sql/leave/close.sql"));

pub(super) async fn cancel(
    tx: &Transaction,
    tenant: &TenantId,
    ids: &[JobId],
) -> Result<Vec<Option<CancelAnswer>>, Fault> {
    let mut found: HashMap<JobId, CancelAnswer> = HashMap::new();
    let mut sought = distinct(ids);
    for look in 0.. {
        // Asked each time: a job may also be removed while it is looked for.
        sought = owned(tx, tenant, &sought).await?;
        if sought.is_empty() {
            break;
        }
        if look == LOOKS {
            return Err(nowhere(&sought));
        }
        from_ready(tx, &sought, &mut found).await?;
        sought.retain(|id| !found.contains_key(id));
        if !sought.is_empty() {
            from_claims(tx, &sought, &mut found).await?;
            sought.retain(|id| !found.contains_key(id));
        }
        if !sought.is_empty() {
            from_outcomes(tx, &sought, &mut found).await?;
            sought.retain(|id| !found.contains_key(id));
        }
    }
    Ok(in_order(ids, found))
}

async fn from_ready(tx: &Transaction, ids: &[JobId], found: &mut HashMap<JobId, CancelAnswer>) -> Result<(), Fault> {
    for row in &tx.rows(CANCEL_READY, &[&uuids(ids)]).await? {
        let cells = Cells::of_job(row, "ready", 0)?;
        let (attempt, sequence) = (cells.count(3, "attempt")?, cells.moves(4)?);
        let step = Step { state: State::Cancelled, attempt, sequence, took: None };
        tx.note(cells.id, &cells.tenant(1)?, &cells.queue(2)?, step);
        found.insert(cells.id, CancelAnswer::WasWaiting);
    }
    Ok(())
}

async fn from_claims(tx: &Transaction, ids: &[JobId], found: &mut HashMap<JobId, CancelAnswer>) -> Result<(), Fault> {
    let rows = tx.rows(CANCEL_HELD, &[&uuids(ids)]).await?;
    for closed in places::book(tx, &rows).await? {
        found.insert(closed.job, CancelAnswer::WasHeld(closed.session));
        tx.ring(Topic::Cancelled);
    }
    Ok(())
}

async fn from_outcomes(tx: &Transaction, ids: &[JobId], found: &mut HashMap<JobId, CancelAnswer>) -> Result<(), Fault> {
    for row in &tx.rows_by_id(places::FINAL, &[&uuids(ids)]).await? {
        let cells = Cells::of_job(row, "outcomes", 0)?;
        found.insert(cells.id, CancelAnswer::AlreadyFinal(cells.final_state(1)?));
    }
    Ok(())
}

/// A job named twice was ended by its first mention.
fn in_order(ids: &[JobId], mut found: HashMap<JobId, CancelAnswer>) -> Vec<Option<CancelAnswer>> {
    ids.iter()
        .map(|id| {
            let answer = found.get(id).copied();
            if matches!(answer, Some(CancelAnswer::WasWaiting | CancelAnswer::WasHeld(_))) {
                found.insert(*id, CancelAnswer::AlreadyFinal(State::Cancelled));
            }
            answer
        })
        .collect()
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CANCEL_HELD, CANCEL_READY];
