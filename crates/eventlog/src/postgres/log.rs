//! The log: reading a stream, reading everything, and up to where it can be read.
//!
//! Appends run in their callers' transactions and become visible in another order than that of their positions. A reader
//! stops at the *frontier*, behind which nothing can appear any more (docs/decisions/0021; the function is in
//! `sql/0001_up.sql`). Each part is a statement of its own, so it works with READ COMMITTED only, and on the primary.

use std::sync::Arc;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::error::LogError;
use super::sql::Statements;
use super::tables::{ResolvedNames, TableNames, TableNamesError};
use crate::observer::Holder;
use crate::{Cursor, Event, Scope, Stream};

/// The largest page and batch.
pub(crate) const MAX_PAGE: usize = 10_000;

/// One log, by the names of its tables. Holds no connection: every call takes one. Cheap to clone.
#[derive(Clone)]
pub struct EventLog {
    pub(crate) sql: Arc<Statements>,
    pub(crate) names: Arc<ResolvedNames>,
    pub(crate) channel: Option<String>,
}

/// Up to where the log can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Every position at or below this is visible to the next statement, or was rolled back.
    pub position: i64,
    /// The last position that was drawn. Above the frontier: transactions have appended and not ended.
    pub head: i64,
}

/// A part of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    pub events: Vec<Event>,
    /// Continue here, also when there was nothing.
    pub next: Cursor,
    /// There is nothing more to read at the moment.
    pub is_end: bool,
}

impl EventLog {
    pub fn new(tables: &TableNames) -> Result<Self, TableNamesError> {
        let names = tables.resolve()?;
        let sql = Arc::new(Statements::new(&names));
        Ok(Self { sql, names: Arc::new(names), channel: None })
    }

    /// Every append notifies this channel with its commit, so that workers with [`Dispatcher::Notify`](super::Dispatcher) look at
    /// once. Postgres commits transactions that notify one at a time: where many processes append often, use a
    /// [`Notifier`](super::Notifier) after the commit instead.
    #[must_use]
    pub fn notifying(self, channel: impl Into<String>) -> Self {
        Self { channel: Some(channel.into()), ..self }
    }

    /// Events of one stream from a version on, in order. Sees what the caller's transaction has appended itself.
    pub async fn read_stream(
        &self,
        client: &impl GenericClient,
        stream: &Stream,
        from_version: i64,
        limit: usize,
    ) -> Result<Vec<Event>, LogError> {
        let limit = page_limit(limit);
        let of: [(&(dyn ToSql + Sync), Type); 5] = [
            (&stream.tenant, Type::TEXT),
            (&stream.stream_type, Type::TEXT),
            (&stream.id, Type::TEXT),
            (&from_version, Type::INT8),
            (&limit, Type::INT8),
        ];
        let epoch = self.epoch(client).await?;
        let rows = client.query_typed(&self.sql.read_stream, &of).await?;
        rows.iter().map(|row| event(row, epoch)).collect()
    }

    /// The version of a stream; 0 if there is none.
    pub async fn stream_version(&self, client: &impl GenericClient, stream: &Stream) -> Result<i64, LogError> {
        let of: [(&(dyn ToSql + Sync), Type); 3] =
            [(&stream.tenant, Type::TEXT), (&stream.stream_type, Type::TEXT), (&stream.id, Type::TEXT)];
        let row = client.query_typed_opt(&self.sql.stream_version, &of).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(0))
    }

    /// The events after a cursor, none passed over. Two statements, each with a snapshot of its own.
    pub async fn read(
        &self,
        client: &impl GenericClient,
        after: Cursor,
        limit: usize,
        scope: &Scope,
    ) -> Result<Page, LogError> {
        let row = client.query_typed_one(&self.sql.horizon, &[(&after.epoch(), Type::INT4)]).await?;
        let frontier: i64 = row.try_get(0)?;
        let epoch: i32 = row.try_get(2)?;
        let later: Option<i64> = row.try_get(3)?;
        let pruned_to: i64 = row.try_get(4)?;
        let after = later.map_or(after.position(), |starts_after| starts_after.min(after.position()));
        if after < pruned_to && after > 0 {
            return Err(LogError::Pruned { asked: after, pruned_to });
        }
        let events = self.read_between(client, after, frontier, limit, scope, (1, 0), epoch).await?;
        let is_end = events.len() < limit.clamp(1, MAX_PAGE);
        let next = if is_end { frontier.max(after) } else { events.last().map_or(after, Event::position) };
        Ok(Page { events, next: Cursor::new(epoch, next), is_end })
    }

    /// Events after one position up to another, which must not be above the frontier. `shard` is how many and which.
    pub(crate) async fn read_between(
        &self,
        client: &impl GenericClient,
        after: i64,
        to: i64,
        limit: usize,
        scope: &Scope,
        shard: (i32, i32),
        epoch: i32,
    ) -> Result<Vec<Event>, LogError> {
        let limit = page_limit(limit);
        let of: [(&(dyn ToSql + Sync), Type); 8] = [
            (&after, Type::INT8),
            (&to, Type::INT8),
            (&scope.tenant, Type::TEXT),
            (&scope.stream_types, Type::TEXT_ARRAY),
            (&scope.event_types, Type::TEXT_ARRAY),
            (&shard.0, Type::INT4),
            (&shard.1, Type::INT4),
            (&limit, Type::INT8),
        ];
        let rows = client.query_typed(&self.sql.read, &of).await?;
        rows.iter().map(|row| event(row, epoch)).collect()
    }

    /// Up to where the log can be read now.
    pub async fn frontier(&self, client: &impl GenericClient) -> Result<Frontier, LogError> {
        let row = client.query_typed_one(&self.sql.frontier, &[]).await?;
        Ok(Frontier { position: row.try_get(0)?, head: row.try_get(1)? })
    }

    /// A cursor behind everything that can be read now.
    pub async fn end(&self, client: &impl GenericClient) -> Result<Cursor, LogError> {
        let epoch = self.epoch(client).await?;
        Ok(Cursor::new(epoch, self.frontier(client).await?.position))
    }

    /// The transactions that keep readers from going on, the one that holds them back most first.
    pub async fn holders(&self, client: &impl GenericClient) -> Result<Vec<Holder>, LogError> {
        let rows = client.query_typed(&self.sql.holders, &[]).await?;
        rows.iter()
            .map(|row| {
                Ok(Holder {
                    announced: row.try_get(0)?,
                    pid: row.try_get(1)?,
                    application_name: row.try_get(2)?,
                    user: row.try_get(3)?,
                    client_addr: row.try_get(4)?,
                    state: row.try_get(5)?,
                    open_secs: row.try_get(6)?,
                    prepared_gid: row.try_get(7)?,
                    query: row.try_get(8)?,
                })
            })
            .collect()
    }

    pub(crate) async fn epoch(&self, client: &impl GenericClient) -> Result<i32, LogError> {
        Ok(client.query_typed_one(&self.sql.epoch, &[]).await?.try_get(0)?)
    }

    /// Every statement with its name, for a test that has the database check them.
    #[doc(hidden)]
    pub fn statements(&self) -> Vec<(&'static str, &str)> {
        self.sql.all()
    }
}

fn page_limit(limit: usize) -> i64 {
    limit.clamp(1, MAX_PAGE) as i64
}

fn event(row: &Row, epoch: i32) -> Result<Event, LogError> {
    let metadata: Option<String> = row.try_get(12)?;
    Ok(Event {
        cursor: Cursor::new(epoch, row.try_get(0)?),
        stream: Stream { tenant: row.try_get(1)?, stream_type: row.try_get(2)?, id: row.try_get(3)? },
        version: row.try_get(4)?,
        id: row.try_get::<_, Uuid>(5)?,
        event_type: row.try_get(6)?,
        event_version: row.try_get(7)?,
        payload: row.try_get(8)?,
        trace_id: row.try_get(9)?,
        correlation_id: row.try_get(10)?,
        causation_id: row.try_get(11)?,
        // The column holds JSON, so this cannot fail.
        metadata: metadata.and_then(|text| serde_json::from_str(&text).ok()),
        created_at: row.try_get(13)?,
    })
}
