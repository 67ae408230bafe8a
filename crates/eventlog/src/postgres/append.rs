//! Appending events to a stream, in the caller's transaction.
//!
//! One statement. The stream's row is locked until the transaction ends, so appends to one stream wait for each other, and
//! readers of the whole log stop before the transaction's first position until it ends. Keep it short.

use tokio_postgres::GenericClient;
use tokio_postgres::types::{ToSql, Type};

use super::error::{Conflict, LogError};
use super::log::EventLog;
use crate::event::{Appended, Expected, NewEvent, Stream};

/// The bytes of a stream's type, id and tenant, and of an event's type: they are in index entries, which have an end.
const TEXT_LIMIT: usize = 500;

impl EventLog {
    /// Appends to one stream. On a plain connection it is a transaction of its own; in a transaction it becomes visible with it.
    /// After a conflict the transaction goes on, and nothing was written.
    pub async fn append(
        &self,
        client: &impl GenericClient,
        stream: &Stream,
        expected: Expected,
        events: &[NewEvent],
    ) -> Result<Appended, LogError> {
        check(stream, expected, events)?;
        let column = |of: fn(&NewEvent) -> Option<&str>| events.iter().map(of).collect::<Vec<_>>();
        let ids: Vec<_> = events.iter().map(|event| event.id).collect();
        let types: Vec<_> = events.iter().map(|event| event.event_type.as_str()).collect();
        let versions: Vec<_> = events.iter().map(|event| event.event_version).collect();
        let payloads: Vec<_> = events.iter().map(|event| event.payload.as_slice()).collect();
        let metadata: Vec<_> = events.iter().map(|event| event.metadata.as_ref().map(ToString::to_string)).collect();
        let values: [(&(dyn ToSql + Sync), Type); 13] = [
            (&stream.tenant, Type::TEXT),
            (&stream.stream_type, Type::TEXT),
            (&stream.id, Type::TEXT),
            (&expected.as_number(), Type::INT8),
            (&ids, Type::UUID_ARRAY),
            (&types, Type::TEXT_ARRAY),
            (&versions, Type::INT4_ARRAY),
            (&payloads, Type::BYTEA_ARRAY),
            (&column(|event| event.trace_id.as_deref()), Type::TEXT_ARRAY),
            (&column(|event| event.correlation_id.as_deref()), Type::TEXT_ARRAY),
            (&column(|event| event.causation_id.as_deref()), Type::TEXT_ARRAY),
            (&metadata, Type::TEXT_ARRAY),
            (&self.channel, Type::TEXT),
        ];
        let row = client.query_typed_one(&self.sql.append, &values).await?;
        if let Some(actual) = row.try_get(0)? {
            return Err(Conflict { stream: stream.clone(), expected, actual }.into());
        }
        Ok(Appended { first_version: row.try_get(1)?, positions: row.try_get(2)? })
    }
}

fn check(stream: &Stream, expected: Expected, events: &[NewEvent]) -> Result<(), LogError> {
    if events.is_empty() {
        return Err(LogError::NoEvents);
    }
    if let Expected::Exact(version @ ..0) = expected {
        return Err(LogError::InvalidVersion(version));
    }
    let fits = |what, text: &str, least| {
        let is_fine = (least..=TEXT_LIMIT).contains(&text.len()) && !text.contains('\0');
        if is_fine { Ok(()) } else { Err(LogError::InvalidText { what, limit: TEXT_LIMIT, found: text.len() }) }
    };
    fits("a stream type", &stream.stream_type, 1)?;
    fits("a stream id", &stream.id, 1)?;
    fits("a tenant", &stream.tenant, 0)?;
    for event in events {
        fits("an event type", &event.event_type, 1)?;
        for id in [&event.trace_id, &event.correlation_id, &event.causation_id].into_iter().flatten() {
            fits("a trace, correlation or causation id", id, 0)?;
        }
        // The one character of JSON that jsonb has no place for.
        if event.metadata.as_ref().is_some_and(|metadata| metadata.to_string().contains("\\u0000")) {
            return Err(LogError::InvalidMetadata);
        }
    }
    Ok(())
}
