//! The workers: the living first, then the newest.

use foreman_core::ports::{SessionState, SessionView};
use foreman_core::{SessionId, Timestamp};
use rusqlite::Row;

use crate::error::Fault;
use crate::readers::ReadSnapshot;

pub(super) fn sessions(read: &ReadSnapshot<'_>) -> Result<Vec<SessionView>, Fault> {
    let mut statement = read.sql.prepare_cached(
        "SELECT id, worker, pid, version, state, slots, queues, started_at, renewed_at,
                (SELECT count(*) FROM claims CROSS JOIN held ON held.claim = claims.number
                 WHERE claims.session = sessions.id), tasks
         FROM sessions ORDER BY state IN ('live', 'draining') DESC, started_at DESC, id DESC",
    )?;
    let mut rows = statement.query([])?;
    let mut views = Vec::new();
    while let Some(row) = rows.next()? {
        views.push(view(row)?);
    }
    Ok(views)
}

fn view(row: &Row<'_>) -> Result<SessionView, Fault> {
    let id = SessionId(row.get(0)?);
    let state: String = row.get(4)?;
    let queues: String = row.get(6)?;
    let tasks: Option<String> = row.get(10)?;
    let tasks = tasks.map(|tasks| serde_json::from_str(&tasks)).transpose();
    Ok(SessionView {
        id,
        worker: row.get(1)?,
        pid: row.get(2)?,
        version: row.get(3)?,
        state: SessionState::from_stored(&state)
            .ok_or_else(|| Fault::misfit("sessions", "state", id, format!("{state:?} is no state of a session")))?,
        slots: row.get(5)?,
        queues: serde_json::from_str(&queues).map_err(|error| Fault::misfit("sessions", "queues", id, error))?,
        tasks: tasks.map_err(|error| Fault::misfit("sessions", "tasks", id, error))?,
        started_at: Timestamp::from_micros(row.get(7)?),
        renewed_at: Timestamp::from_micros(row.get(8)?),
        running: u64::try_from(row.get::<_, i64>(9)?).unwrap_or_default(),
    })
}
