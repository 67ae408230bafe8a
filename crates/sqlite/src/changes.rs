//! The change log: one row per operation that moved jobs or did something else worth telling, written in its transaction.
//!
//! There is one writer, so the order of positions is the order of commits: whoever reads on from a position passes nothing
//! over. Positions have no gaps, and the log is cut from its beginning: what was pruned ends right before the first row that
//! is left.

use async_trait::async_trait;
use foreman_core::ports::{CHANGES_BYTES, ChangeLog, ChangeRow, Changes, Position, StoreError};
use foreman_core::{Timestamp, change_text};
use rusqlite::{Connection, OptionalExtension};

use crate::SqliteStore;
use crate::error::Fault;

/// Appends the row, if anything happened.
pub(crate) fn append(sql: &Connection, now: Timestamp, moved: &change_text::ChangeWriter) -> Result<bool, Fault> {
    let Some((text, notes)) = moved.text() else { return Ok(false) };
    sql.prepare_cached("INSERT INTO changes (at, moved, notes) VALUES (?1, ?2, ?3)")?.execute((
        now.as_micros(),
        text,
        notes,
    ))?;
    Ok(true)
}

/// The end of the log.
pub(crate) fn head(sql: &Connection) -> Result<Position, Fault> {
    // Not the last row: that one may have outlived its retention.
    let mut statement = sql.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'changes'")?;
    let last: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(Position(last.unwrap_or_default()))
}

/// Up to here it may have been pruned.
fn start(sql: &Connection) -> Result<Position, Fault> {
    let mut statement = sql.prepare_cached("SELECT min(position) FROM changes")?;
    let first: Option<i64> = statement.query_row([], |row| row.get(0))?;
    first.map_or_else(|| head(sql), |first| Ok(Position(first - 1)))
}

#[async_trait]
impl ChangeLog for SqliteStore {
    async fn head(&self) -> Result<Position, StoreError> {
        self.read(|read| head(read.sql)).await
    }

    async fn start(&self) -> Result<Position, StoreError> {
        self.read(|read| start(read.sql)).await
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        let (written, is_full) = self.read(move |read| rows_after(read.sql, after, limit)).await?;
        let rows = written.into_iter().map(RawChangeRow::read).collect::<Result<Vec<ChangeRow>, _>>()?;
        let position = rows.last().map_or(after, |row| row.position);
        Ok(Changes { rows, position, is_full })
    }
}

/// A row that is still text: read on the caller's side.
struct RawChangeRow {
    position: Position,
    at: Timestamp,
    moved: String,
    notes: Option<String>,
}

impl RawChangeRow {
    fn read(self) -> Result<ChangeRow, Fault> {
        change_text::read_row(self.position, self.at, &self.moved, self.notes.as_deref())
            .map_err(|error| Fault::misfit("changes", "moved", self.position.0, error))
    }
}

/// And whether that is as much as is read at once.
fn rows_after(sql: &Connection, after: Position, limit: usize) -> Result<(Vec<RawChangeRow>, bool), Fault> {
    let mut statement = sql.prepare_cached(
        "SELECT position, at, moved, notes FROM changes WHERE position > ?1 ORDER BY position LIMIT ?2",
    )?;
    let mut found = statement.query((after.0, i64::try_from(limit).unwrap_or(i64::MAX)))?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = found.next()? {
        let row = RawChangeRow {
            position: Position(row.get(0)?),
            at: Timestamp::from_micros(row.get(1)?),
            moved: row.get(2)?,
            notes: row.get(3)?,
        };
        bytes += row.moved.len() + row.notes.as_ref().map_or(0, String::len);
        rows.push(row);
        if rows.len() >= limit || bytes >= CHANGES_BYTES {
            return Ok((rows, true));
        }
    }
    Ok((rows, false))
}
