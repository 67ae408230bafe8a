//! The workers: the living first, then the newest.

use foreman_core::SessionId;
use foreman_core::ports::{SessionState, SessionView};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::value::Time;
use crate::write::Transaction;

pub(crate) const SESSIONS: &str = "SELECT id, worker, pid, version, state, slots, queues, started_at, renewed_at,
           (SELECT coalesce(sum(bit_count(claims.open)), 0)::bigint FROM claims WHERE claims.session = sessions.id),
           tasks
    FROM sessions ORDER BY state IN ('live', 'draining') DESC, started_at DESC, id DESC";

pub(super) async fn sessions(tx: &Transaction) -> Result<Vec<SessionView>, Fault> {
    tx.rows(SESSIONS, &[]).await?.iter().map(view).collect()
}

fn view(row: &Row) -> Result<SessionView, Fault> {
    let id = SessionId(row.try_get(0)?);
    let state: &str = row.try_get(4)?;
    Ok(SessionView {
        id,
        worker: row.try_get(1)?,
        pid: small(row, 2, "pid", id)?,
        version: row.try_get(3)?,
        state: SessionState::from_stored(state)
            .ok_or_else(|| Fault::misfit("sessions", "state", id, format!("{state:?} is no state of a session")))?,
        slots: small(row, 5, "slots", id)?,
        queues: row.try_get(6)?,
        tasks: row.try_get(10)?,
        started_at: row.try_get::<_, Time>(7)?.0,
        renewed_at: row.try_get::<_, Time>(8)?.0,
        running: u64::try_from(row.try_get::<_, i64>(9)?).unwrap_or_default(),
    })
}

fn small(row: &Row, place: usize, column: &str, id: SessionId) -> Result<u32, Fault> {
    let number: i64 = row.try_get(place)?;
    u32::try_from(number).map_err(|error| Fault::misfit("sessions", column, id, error))
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[SESSIONS];
