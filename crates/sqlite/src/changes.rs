//! The change log: one row per operation that moved jobs, written in the transaction that moved them.
//!
//! There is one writer, so the order of positions is the order of commits: whoever reads on from a position passes nothing
//! over. A row lists its jobs in runs of one tenant, queue and state, which costs about 40 bytes a job instead of 170.

use std::fmt::Write as _;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{ChangeLog, Changes, Moved, Position, StoreError};
use foreman_core::{JobId, State, TenantId, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

use crate::SqliteStore;
use crate::error::Fault;

/// What an operation has moved so far, already as text.
#[derive(Default)]
pub(crate) struct MovedLog {
    text: String,
    run: Option<(TenantId, QueueName, State)>,
}

impl MovedLog {
    pub fn push(&mut self, job: JobId, tenant: &TenantId, queue: &QueueName, state: State, attempt: u32) {
        let is_same_run = self.run.as_ref().is_some_and(|run| run.2 == state && run.1 == *queue && run.0 == *tenant);
        let mut id = [0; uuid::fmt::Simple::LENGTH];
        let id: &str = job.0.simple().encode_lower(&mut id);
        if is_same_run {
            self.text.push(',');
        } else {
            self.text.push_str(if self.run.is_some() { "]}," } else { "[" });
            let tenant_json = serde_json::Value::from(tenant.as_str());
            let queue_json = serde_json::Value::from(queue.as_str());
            write!(self.text, r#"{{"tenant":{tenant_json},"queue":{queue_json},"state":"{state}","jobs":["#)
                .expect("writing to a string cannot fail");
            self.run = Some((tenant.clone(), queue.clone(), state));
        }
        write!(self.text, r#"["{id}",{attempt}]"#).expect("writing to a string cannot fail");
    }

    /// Appends the row, if anything moved.
    pub fn write(&self, sql: &Connection, now: Timestamp) -> Result<bool, Fault> {
        if self.run.is_none() {
            return Ok(false);
        }
        let text = format!("{}]}}]", self.text);
        sql.prepare_cached("INSERT INTO changes (at, moved) VALUES (?1, ?2)")?.execute((now.as_micros(), text))?;
        Ok(true)
    }
}

#[derive(Deserialize)]
struct Run {
    tenant: TenantId,
    queue: QueueName,
    state: State,
    jobs: Vec<(JobId, u32)>,
}

#[async_trait]
impl ChangeLog for SqliteStore {
    async fn head(&self) -> Result<Position, StoreError> {
        self.read(|read| {
            // Not the last row: that one may have outlived its retention.
            let last: Option<i64> = read
                .sql
                .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'changes'")?
                .query_row([], |row| row.get(0))
                .optional()?;
            Ok(Position(last.unwrap_or_default()))
        })
        .await
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        let rows = self.read(move |read| rows_after(read.sql, after, limit)).await?;
        let mut changes = Changes { moved: Vec::new(), position: after };
        for (position, at, text) in rows {
            read_row(position, at, &text, &mut changes.moved)?;
            changes.position = position;
        }
        Ok(changes)
    }
}

fn rows_after(sql: &Connection, after: Position, limit: usize) -> Result<Vec<(Position, Timestamp, String)>, Fault> {
    let mut statement =
        sql.prepare_cached("SELECT position, at, moved FROM changes WHERE position > ?1 ORDER BY position LIMIT ?2")?;
    let rows = statement.query_map((after.0, i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
        Ok((Position(row.get(0)?), Timestamp::from_micros(row.get(1)?), row.get(2)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read_row(position: Position, at: Timestamp, text: &str, moved: &mut Vec<Moved>) -> Result<(), StoreError> {
    let runs: Vec<Run> =
        serde_json::from_str(text).map_err(|error| Fault::misfit("changes", "moved", position.0, error))?;
    for Run { tenant, queue, state, jobs } in runs {
        moved.extend(jobs.into_iter().map(|(id, attempt)| Moved {
            id,
            tenant: tenant.clone(),
            state,
            queue: queue.clone(),
            attempt,
            at,
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_runs_is_read_back_job_by_job() {
        let (a, b) = (TenantId::new("a"), TenantId::new("b\"\\"));
        let queue = QueueName::default();
        let moves = [
            (JobId::fresh(), &a, State::Pending, 0),
            (JobId::fresh(), &a, State::Pending, 4),
            (JobId::fresh(), &b, State::Pending, 0),
            (JobId::fresh(), &b, State::Dead, 7),
        ];
        let mut log = MovedLog::default();
        for (id, tenant, state, attempt) in moves {
            log.push(id, tenant, &queue, state, attempt);
        }
        let sql = Connection::open_in_memory().expect("opens");
        sql.execute_batch("CREATE TABLE changes (position INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, moved TEXT)")
            .expect("creates");
        let at = Timestamp::from_micros(5);
        assert!(log.write(&sql, at).expect("writes"));
        let rows = rows_after(&sql, Position(0), 10).expect("reads");
        let mut read = Vec::new();
        read_row(rows[0].0, rows[0].1, &rows[0].2, &mut read).expect("fits");
        let expected: Vec<Moved> = moves
            .into_iter()
            .map(|(id, tenant, state, attempt)| Moved {
                id,
                tenant: tenant.clone(),
                state,
                queue: queue.clone(),
                attempt,
                at,
            })
            .collect();
        assert_eq!(read, expected);
    }
}
