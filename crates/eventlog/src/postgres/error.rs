//! What can go wrong with the log, split by what the caller would do.

use tokio_postgres::error::SqlState;

use super::tables::TableNamesError;
use crate::event::{Expected, Stream};

/// The stream has another version than the append expected. Nothing was written, and the transaction goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stream {stream} is at version {actual}; the append expected {expected}")]
pub struct Conflict {
    pub stream: Stream,
    pub expected: Expected,
    /// 0: there is no such stream.
    pub actual: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Read the stream again, decide again.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// An event with this id is in the log. The transaction is of no use any more: roll it back.
    #[error("an event with the same id is in the log already")]
    DuplicateEvent,
    #[error("an append needs at least one event")]
    NoEvents,
    #[error("{what} must have 1 to {limit} bytes and no NUL character, and has {found}")]
    InvalidText { what: &'static str, limit: usize, found: usize },
    #[error("metadata may not have a NUL character in it")]
    InvalidMetadata,
    #[error("an expected version cannot be negative: {0}")]
    InvalidVersion(i64),
    /// Retention removed what the cursor asks for. Begin at `oldest`, knowing that something is missing.
    #[error("events up to position {pruned_to} were removed, and the cursor is at {asked}")]
    Pruned { asked: i64, pruned_to: i64 },
    /// The snapshot of the caller's transaction is older than the end of what could be read without passing events over.
    #[error("the log can only be read in a transaction with READ COMMITTED")]
    Isolation,
    #[error("the log can only be read on the primary")]
    Standby,
    /// The tables are not there: run the migrations.
    #[error("the tables of the log are missing: run its migrations")]
    NotMigrated(#[source] tokio_postgres::Error),
    #[error(transparent)]
    Names(#[from] TableNamesError),
    #[error("the database failed")]
    Database(#[source] tokio_postgres::Error),
    #[error("no connection to the database")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<tokio_postgres::Error> for LogError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code().map(SqlState::code) {
            Some("EL001") => Self::Isolation,
            Some("EL002") => Self::Standby,
            Some("42P01" | "42883" | "3F000") => Self::NotMigrated(error),
            Some("23505") if is_event_id(&error) => Self::DuplicateEvent,
            _ => Self::Database(error),
        }
    }
}

fn is_event_id(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().and_then(|said| said.constraint()).is_some_and(|name| name.ends_with("_event_id_key"))
}

/// The transaction was ended by its neighbours, the network or an operator, and may succeed when it is done again.
pub(crate) fn is_transient(error: &tokio_postgres::Error) -> bool {
    match error.code().map(SqlState::code) {
        Some(code) => {
            matches!(code, "40001" | "40P01" | "55P03" | "57014" | "25P03" | "25P04")
                || matches!(code.get(..2), Some("08" | "53" | "57"))
        }
        None => {
            error.is_closed()
                || std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
        }
    }
}
