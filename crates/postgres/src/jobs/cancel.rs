//! Ending jobs at once, wherever they are.
//!
//! A job may be on its way from one place to the next while it is looked for: claimed, returned, swept. So `ready`, `claims`
//! and `outcomes` are asked each in a statement of its own, which sees what was committed before it, and again until every
//! job is found. A held one is closed in its claim and its outcome written under the claim's lock; what its worker reports
//! later finds no bit set and is refused.

use std::collections::HashMap;

use foreman_core::ports::{CancelAnswer, Topic};
use foreman_core::{JobId, State, TenantId};

use super::{distinct, nowhere, owned, uuids};
use crate::error::Fault;
use crate::places::{self, CANCEL_HELD, CANCEL_READY, LOOKS};
use crate::rows::NamedCells;
use crate::write::Transaction;

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
    for ended in places::finish(tx, CANCEL_READY, &[&uuids(ids)]).await? {
        found.insert(ended, CancelAnswer::WasWaiting);
    }
    Ok(())
}

async fn from_claims(tx: &Transaction, ids: &[JobId], found: &mut HashMap<JobId, CancelAnswer>) -> Result<(), Fault> {
    for closed in places::leave(tx, CANCEL_HELD, &[&uuids(ids)]).await? {
        found.insert(closed.job, CancelAnswer::WasHeld(closed.session));
        tx.ring(Topic::Cancelled);
    }
    Ok(())
}

async fn from_outcomes(tx: &Transaction, ids: &[JobId], found: &mut HashMap<JobId, CancelAnswer>) -> Result<(), Fault> {
    for row in &tx.rows_by_id(places::FINAL, &[&uuids(ids)]).await? {
        let outcome = NamedCells::of_job(row, "outcomes")?;
        let state = outcome.final_state()?.ok_or_else(|| outcome.misfit("state", "it has none"))?;
        found.insert(outcome.id, CancelAnswer::AlreadyFinal(state));
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
