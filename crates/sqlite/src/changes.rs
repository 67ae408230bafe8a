//! The change log: one row per operation that moved jobs, written in the transaction that moved them.
//!
//! There is one writer, so the order of positions is the order of commits: whoever reads on from a position passes nothing
//! over.

use async_trait::async_trait;
use foreman_core::ports::{ChangeLog, Changes, Position, StoreError};
use foreman_core::{Timestamp, runs};
use rusqlite::{Connection, OptionalExtension};

use crate::SqliteStore;
use crate::error::Fault;

/// Appends the row, if anything moved.
pub(crate) fn append(sql: &Connection, now: Timestamp, moved: &runs::MovedLog) -> Result<bool, Fault> {
    let Some(text) = moved.text() else { return Ok(false) };
    sql.prepare_cached("INSERT INTO changes (at, moved) VALUES (?1, ?2)")?.execute((now.as_micros(), text))?;
    Ok(true)
}

/// The end of the log.
pub(crate) fn head(sql: &Connection) -> Result<Position, Fault> {
    // Not the last row: that one may have outlived its retention.
    let mut statement = sql.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'changes'")?;
    let last: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(Position(last.unwrap_or_default()))
}

#[async_trait]
impl ChangeLog for SqliteStore {
    async fn head(&self) -> Result<Position, StoreError> {
        self.read(|read| head(read.sql)).await
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        let rows = self.read(move |read| rows_after(read.sql, after, limit)).await?;
        let mut changes = Changes { moved: Vec::new(), position: after };
        for (position, at, text) in rows {
            runs::read_row(at, &text, &mut changes.moved)
                .map_err(|error| Fault::misfit("changes", "moved", position.0, error))?;
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
