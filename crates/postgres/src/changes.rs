//! The change log: one row per operation that moved jobs or did something else worth telling, written in its transaction.
//!
//! Many transactions write at once, and a row becomes visible some time after its position was drawn. To read on from a position
//! and pass nothing over, a reader must know which positions may still be on their way:
//!
//! 1. A writer announces the last position that was drawn ([`ANNOUNCE`]: an advisory lock, shared, held until its transaction
//!    ends), and only then draws its own and writes its row. What it draws is higher than what it announced.
//! 2. A reader notes the last position drawn ([`DRAWN`]), then the lowest that is announced ([`ANNOUNCED`]), then reads the rows
//!    up to the lower of the two, each in a statement of its own.
//!
//! A row at or below that bound was drawn before the first look. Had its writer still been under way at the second, its
//! announcement, lower than the row, would have been seen. So it had ended, and locks go after the commit can be seen: the
//! third statement sees the row, or nobody ever will. Between announcement and commit lies nothing but the writing of
//! the row: other people's long transactions hold nobody up.
//!
//! The order of positions is the order in which things happened: the row is the last thing a transaction writes, so whatever it
//! has seen of others was in the log before. (The order of transaction ids is not: one that waited for a lock sees what
//! younger ones did meanwhile.)

use std::time::Duration;

use async_trait::async_trait;
use foreman_core::change_text;
use foreman_core::ports::{CHANGES_BYTES, ChangeLog, ChangeRow, Changes, Position, StoreError};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::error::Fault;
use crate::value::{Time, bound};
use crate::write::Transaction;
use crate::{PostgresStore, look};

/// `$1` is ours among the advisory locks of this database, in the upper 16 bits; the rest has room for 281 million million.
pub(crate) const ANNOUNCE: &str = "SELECT pg_advisory_xact_lock_shared($1::bigint | last_value) FROM change_positions";
pub(crate) const APPEND: &str = "INSERT INTO changes (at, moved, notes) VALUES (foreman_now(), $1::text, $2::text)";
pub(crate) const DRAWN: &str =
    "SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS position FROM change_positions";
pub(crate) const ANNOUNCED: &str = include_str!("sql/changes/announced.sql");
pub(crate) const READ: &str = include_str!("sql/changes/read.sql");
pub(crate) const HEAD: &str = "SELECT greatest(
        (SELECT position FROM changes WHERE position <= $1::bigint ORDER BY position DESC LIMIT 1),
        (SELECT position FROM log_end)) AS position";
/// Readable or not: what was read before is behind it, also while somebody has announced something older since.
pub(crate) const LAST: &str = "SELECT greatest(
        (SELECT position FROM changes ORDER BY position DESC LIMIT 1),
        (SELECT position FROM log_end)) AS position";
/// How far it was pruned: nothing behind this was. Noted with every removal (`sql/cut_changes.sql`), by binaries of every version.
pub(crate) const START: &str = "SELECT position FROM log_end";
/// Whether anything is committed after a position, readable or not.
pub(crate) const MORE: &str = "SELECT EXISTS (SELECT FROM changes WHERE position > $1::bigint) AS has_more";

/// Which advisory locks are announcements of the log in this schema.
pub(crate) fn tag(schema: &str) -> i64 {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(schema.as_bytes());
    // 15 bits, so that the sum stays a positive number.
    i64::from(u16::from_be_bytes([digest[0], digest[1]]) >> 1) << 48
}

/// How long a reader waits before it looks again for what can still be overtaken: about one commit.
const MOMENT: Duration = Duration::from_millis(4);

#[async_trait]
impl ChangeLog for PostgresStore {
    async fn head(&self) -> Result<Position, StoreError> {
        let deadline = Instant::now() + self.parts.changes_patience;
        loop {
            let (head, has_more) = look!(self, Look, |tx| look_for_head(&tx, self.parts.log_tag).await)?;
            if !has_more || Instant::now() >= deadline {
                return Ok(head);
            }
            tokio::time::sleep(MOMENT).await;
        }
    }

    async fn last(&self) -> Result<Position, StoreError> {
        look!(self, Look, |tx| one_position(&tx, LAST).await)
    }

    async fn start(&self) -> Result<Position, StoreError> {
        look!(self, Look, |tx| one_position(&tx, START).await)
    }

    async fn changes(&self, after: Position, limit: usize) -> Result<Changes, StoreError> {
        let deadline = Instant::now() + self.parts.changes_patience;
        loop {
            let tag = self.parts.log_tag;
            let (changes, has_more) = look!(self, Look, |tx| rows_after(&tx, tag, after, limit).await)?;
            if changes.rows.is_empty() && has_more && Instant::now() < deadline {
                tokio::time::sleep(MOMENT).await;
                continue;
            }
            return Ok(changes);
        }
    }
}

/// The last position that can no longer be preceded by one that is on its way.
async fn bound_of(tx: &Transaction, tag: i64) -> Result<i64, Fault> {
    let answers = tx.all(&[(DRAWN, &[]), (ANNOUNCED, &[&tag])]).await?;
    let drawn: i64 = answers[0].first().map(|row| row.try_get("position")).transpose()?.unwrap_or_default();
    let announced: Option<i64> = answers[1].first().map(|row| row.try_get("position")).transpose()?.flatten();
    Ok(announced.map_or(drawn, |lowest| lowest.min(drawn)))
}

async fn look_for_head(tx: &Transaction, tag: i64) -> Result<(Position, bool), Fault> {
    let bound = bound_of(tx, tag).await?;
    let row = tx.row(HEAD, &[&bound]).await?;
    let head = Position(row.map(|row| row.try_get("position")).transpose()?.unwrap_or_default());
    Ok((head, has_more(tx, head).await?))
}

async fn has_more(tx: &Transaction, after: Position) -> Result<bool, Fault> {
    let row = tx.row(MORE, &[&after.0]).await?;
    Ok(row.map(|row| row.try_get("has_more")).transpose()?.unwrap_or_default())
}

async fn one_position(tx: &Transaction, sql: &str) -> Result<Position, Fault> {
    let row = tx.row(sql, &[]).await?;
    Ok(Position(row.map(|row| row.try_get("position")).transpose()?.unwrap_or_default()))
}

/// And, where there is nothing, whether something cannot be read yet.
async fn rows_after(tx: &Transaction, tag: i64, after: Position, limit: usize) -> Result<(Changes, bool), Fault> {
    let until = bound_of(tx, tag).await?;
    let found = tx.rows(READ, &[&after.0, &until, &bound(limit), &bound(CHANGES_BYTES)]).await?;
    let bytes = found.last().map(|row| row.try_get::<_, i64>("bytes")).transpose()?.unwrap_or_default();
    let is_full = found.len() >= limit || bytes >= bound(CHANGES_BYTES);
    let rows: Vec<ChangeRow> = found.iter().map(read).collect::<Result<_, _>>()?;
    let position = rows.last().map_or(after, |row| row.position);
    let has_more = rows.is_empty() && has_more(tx, after).await?;
    Ok((Changes { rows, position, is_full }, has_more))
}

fn read(row: &Row) -> Result<ChangeRow, Fault> {
    let (position, at) = (Position(row.try_get("position")?), row.try_get::<_, Time>("at")?.0);
    change_text::read_row(position, at, row.try_get("moved")?, row.try_get("notes")?)
        .map_err(|error| Fault::misfit("changes", "moved or notes", position.0, error))
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[ANNOUNCE, ANNOUNCED, APPEND, DRAWN, HEAD, LAST, MORE, READ, START];
