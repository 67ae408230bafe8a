//! What a session holds right now.

use foreman_core::ports::HeldView;
use foreman_core::{SessionId, Timestamp};
use rusqlite::Connection;

use crate::error::Fault;
use crate::rows::Cells;

/// From its claims to what is open in them.
const HELD_BY: &str = "SELECT held.job, held.tenant, held.queue, held.kind, held.attempt, claims.claimed_at
     FROM claims CROSS JOIN held ON held.claim = claims.number
     WHERE claims.session = ?1 ORDER BY claims.claimed_at, held.job LIMIT ?2";

pub(super) fn held_by(sql: &Connection, session: SessionId, limit: usize) -> Result<Vec<HeldView>, Fault> {
    let mut statement = sql.prepare_cached(HELD_BY)?;
    let mut rows = statement.query((session.0, i64::try_from(limit).unwrap_or(i64::MAX)))?;
    let mut views = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::of_job(row, "held", 0)?;
        let started_at: Timestamp = cells.time(5, "claimed_at")?;
        views.push(HeldView {
            job: cells.id,
            tenant: cells.tenant(1)?,
            queue: cells.queue(2)?,
            kind: cells.get(3, "kind")?,
            attempt: cells.get(4, "attempt")?,
            started_at,
        });
    }
    Ok(views)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{bare, plan};

    #[test]
    fn it_goes_from_the_session_to_its_claims_to_what_is_open_in_them() {
        let plan = plan(&bare(), HELD_BY);
        assert!(plan.iter().all(|step| !step.starts_with("SCAN")), "{plan:?}");
        assert!(plan.iter().any(|step| step.contains("held_in_claim (claim=?)")), "{plan:?}");
    }
}
