//! What a worker is at right now, the longest held first.

use foreman_core::SessionId;
use foreman_core::ports::HeldView;

use crate::error::Fault;
use crate::rows::Cells;
use crate::value::bound;
use crate::write::Transaction;

pub(crate) const HELD_BY: &str =
    "SELECT job, tenant, queue, kind, attempt, claimed_at FROM held WHERE session = $1::uuid
    ORDER BY claimed_at, job LIMIT $2::bigint";

pub(super) async fn held_by(tx: &Transaction, session: SessionId, limit: usize) -> Result<Vec<HeldView>, Fault> {
    let rows = tx.rows(HELD_BY, &[&session.0, &bound(limit)]).await?;
    rows.iter()
        .map(|row| {
            let cells = Cells::of_job(row, "claims", 0)?;
            Ok(HeldView {
                job: cells.id,
                tenant: cells.tenant(1)?,
                queue: cells.queue(2)?,
                kind: cells.get(3, "kind")?,
                attempt: cells.count(4, "attempt")?,
                started_at: cells.time(5, "claimed_at")?,
            })
        })
        .collect()
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[HELD_BY];
