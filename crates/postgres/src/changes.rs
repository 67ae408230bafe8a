//! The change log: one row per operation that moved jobs, written in the transaction that moved them.
//!
//! Many transactions write at once, and neither their numbers nor the positions they draw become visible in order. The log
//! is read by the pair of both, below the oldest transaction that may still write (`sql/changes.sql`), so that whoever reads on
//! from a position passes nothing over. What was committed a moment ago may therefore not be readable yet: a read that
//! finds only such rows waits a little for it. A row lists its jobs in runs of one tenant, queue and state.

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::job::QueueName;
use foreman_core::ports::{ChangeLog, Changes, Moved, Position, StoreError};
use foreman_core::{JobId, State, TenantId, Timestamp};
use serde::Deserialize;
use tokio::time::Instant;

use crate::error::Fault;
use crate::value::{Time, bound};
use crate::write::Transaction;
use crate::{PostgresStore, look};

pub(crate) const APPEND: &str = "INSERT INTO changes (at, moved) VALUES (foreman_now(), $1::text)";
pub(crate) const READ: &str = include_str!("sql/changes.sql");
pub(crate) const HEAD: &str = include_str!("sql/head.sql");
/// Whether anything is committed after a position, readable or not.
pub(crate) const MORE: &str =
    "SELECT EXISTS (SELECT FROM changes WHERE (tx, position) > ($1::bigint::text::xid8, $2::bigint))";

/// How long a reader waits before it looks again for what can still be overtaken: about one commit.
const MOMENT: Duration = Duration::from_millis(4);

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

    /// The row's text, if anything moved.
    pub fn text(&self) -> Option<String> {
        self.run.as_ref().map(|_| format!("{}]}}]", self.text))
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
impl ChangeLog for PostgresStore {
    async fn head(&self) -> Result<Position, StoreError> {
        let deadline = Instant::now() + self.parts.changes_patience;
        loop {
            let (head, has_more) = look!(self, Look, |tx| look_for_head(&tx).await)?;
            if !has_more || Instant::now() >= deadline {
                return Ok(head);
            }
            tokio::time::sleep(MOMENT).await;
        }
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        let deadline = Instant::now() + self.parts.changes_patience;
        loop {
            let (rows, has_more) = look!(self, Look, |tx| rows_after(&tx, after, limit).await)?;
            if rows.is_empty() && has_more && Instant::now() < deadline {
                tokio::time::sleep(MOMENT).await;
                continue;
            }
            let mut changes = Changes { moved: Vec::new(), position: after };
            for (position, at, text) in rows {
                read_row(position, at, &text, &mut changes.moved)?;
                changes.position = position;
            }
            return Ok(changes);
        }
    }
}

async fn look_for_head(tx: &Transaction) -> Result<(Position, bool), Fault> {
    let head = match tx.row(HEAD, &[]).await? {
        Some(row) => Position { tx: row.try_get(0)?, number: row.try_get(1)? },
        None => Position::default(),
    };
    Ok((head, has_more(tx, head).await?))
}

async fn has_more(tx: &Transaction, after: Position) -> Result<bool, Fault> {
    let row = tx.row(MORE, &[&after.tx, &after.number]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
}

type LogRow = (Position, Timestamp, String);

async fn rows_after(tx: &Transaction, after: Position, limit: usize) -> Result<(Vec<LogRow>, bool), Fault> {
    let rows = tx.rows(READ, &[&after.tx, &after.number, &bound(limit)]).await?;
    let rows: Vec<LogRow> = rows
        .iter()
        .map(|row| {
            let position = Position { tx: row.try_get(0)?, number: row.try_get(1)? };
            Ok((position, row.try_get::<_, Time>(2)?.0, row.try_get(3)?))
        })
        .collect::<Result<_, Fault>>()?;
    let has_more = rows.is_empty() && has_more(tx, after).await?;
    Ok((rows, has_more))
}

fn read_row(position: Position, at: Timestamp, text: &str, moved: &mut Vec<Moved>) -> Result<(), StoreError> {
    let runs: Vec<Run> =
        serde_json::from_str(text).map_err(|error| Fault::misfit("changes", "moved", position.number, error))?;
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
        assert_eq!(log.text(), None);
        for (id, tenant, state, attempt) in moves {
            log.push(id, tenant, &queue, state, attempt);
        }
        let at = Timestamp::from_micros(5);
        let mut read = Vec::new();
        read_row(Position::default(), at, &log.text().expect("something moved"), &mut read).expect("fits");
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
