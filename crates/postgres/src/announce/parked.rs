//! Messages of a broker that could not be read.

use foreman_core::ports::{PARKED_BYTES, ParkedMessage, ParkedView};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::value::{Time, bound};
use crate::write::Transaction;

pub(crate) const PARK: &str = include_str!("../sql/announce/park.sql");
pub(crate) const LIST: &str = "SELECT number, parked_at, topic, partition, place, key, bytes, size, reason
    FROM parked_messages WHERE number < $1::bigint ORDER BY number DESC LIMIT $2::bigint";
/// The old ones, and those beyond the newest `$3`.
pub(crate) const CUT_PARKED: &str = "DELETE FROM parked_messages WHERE number = ANY (ARRAY(
        SELECT number FROM parked_messages
        WHERE parked_at <= foreman_now() - $2::interval
           OR number <= (SELECT newest.number FROM parked_messages AS newest
                         ORDER BY newest.number DESC OFFSET $3::bigint LIMIT 1)
        ORDER BY number LIMIT $1::bigint
    )) RETURNING number";

pub(super) async fn park(tx: &Transaction, messages: &[ParkedMessage]) -> Result<(), Fault> {
    if messages.is_empty() {
        return Ok(());
    }
    let cut = |bytes: &'_ [u8]| bytes.len().min(PARKED_BYTES);
    let topics: Vec<&str> = messages.iter().map(|one| one.topic.as_str()).collect();
    let partitions: Vec<i32> = messages.iter().map(|one| one.partition).collect();
    let places: Vec<i64> = messages.iter().map(|one| one.offset).collect();
    let keys: Vec<Option<&[u8]>> = messages.iter().map(|one| one.key.as_deref().map(|key| &key[..cut(key)])).collect();
    let bytes: Vec<&[u8]> = messages.iter().map(|one| &one.bytes[..cut(&one.bytes)]).collect();
    let sizes: Vec<i64> = messages.iter().map(|one| i64::try_from(one.size).unwrap_or(i64::MAX)).collect();
    // Postgres keeps no NUL in a text.
    let reasons: Vec<String> = messages
        .iter()
        .map(|one| one.reason[..one.reason.floor_char_boundary(PARKED_BYTES)].replace('\0', "\u{fffd}"))
        .collect();
    tx.rows(PARK, &[&topics, &partitions, &places, &keys, &bytes, &sizes, &reasons]).await?;
    Ok(())
}

pub(super) async fn list(tx: &Transaction, before: Option<i64>, limit: usize) -> Result<Vec<ParkedView>, Fault> {
    let rows = tx.rows(LIST, &[&before.unwrap_or(i64::MAX), &bound(limit)]).await?;
    rows.iter().map(view).collect()
}

fn view(row: &Row) -> Result<ParkedView, Fault> {
    Ok(ParkedView {
        number: row.try_get("number")?,
        parked_at: row.try_get::<_, Time>("parked_at")?.0,
        message: ParkedMessage {
            topic: row.try_get("topic")?,
            partition: row.try_get("partition")?,
            offset: row.try_get("place")?,
            key: row.try_get("key")?,
            bytes: row.try_get("bytes")?,
            size: row.try_get::<_, i64>("size")?.unsigned_abs(),
            reason: row.try_get("reason")?,
        },
    })
}
