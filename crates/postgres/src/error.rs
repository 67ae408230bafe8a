//! What Postgres says, in the words of the port: split by what the caller would do.

use foreman_core::ports::StoreError;
use tokio_postgres::error::{DbError, SqlState};

use crate::connection::READ_ONLY;

/// Why a store could not be opened. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the database was migrated by a newer foreman: its schema version {found} needs binaries that know version \
         {serves}, and this one knows up to {known}; upgrade this binary"
    )]
    Newer { found: i64, serves: i64, known: i64 },
    #[error("the schema of the database is version {found}, this binary needs {needed}: run `foreman migrate` first")]
    Older { found: i64, needed: i64 },
    #[error(
        "the database was migrated with a different migration {version}: it belongs to another build of foreman; \
         use that build"
    )]
    Changed { version: i64 },
    #[error(
        "schema {schema:?} of the database contains tables of another application: choose another schema or database"
    )]
    NotOurs { schema: String },
    #[error("invalid database settings: {reason}")]
    Address { reason: String },
    #[error("the server is Postgres {found}; foreman needs 14 or newer")]
    TooOld { found: String },
    #[error(
        "the database uses the encoding {found}, but Foreman needs UTF8: create it with CREATE DATABASE … ENCODING \
         'UTF8' TEMPLATE template0"
    )]
    Encoding { found: String },
    #[error("could not prepare the database")]
    Store(#[from] StoreError),
}

impl From<Fault> for OpenError {
    fn from(fault: Fault) -> Self {
        OpenError::Store(fault.into())
    }
}

/// What can go wrong inside an operation, before it has a name in the port.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Sql(#[from] tokio_postgres::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The connection leads to a database that can only be read.
    #[error("{READ_ONLY}")]
    ReadOnly,
}

/// What to do about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The transaction was rolled back because of its neighbours: the whole of it may be done again, after a moment.
    Again,
    /// The connection is of no use any more; whatever was not committed on it never happened.
    Reconnect,
    /// It can only be read, and so it wrote nothing, whatever was sent. Another may lead to a database that can be written.
    Elsewhere,
    GiveUp,
}

impl Fault {
    /// A row that does not fit names its table, column and id.
    pub fn misfit(table: &str, column: &str, id: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        Fault::Store(StoreError::Damaged(format!("table {table}, column {column}, row {id}: {why}")))
    }

    /// A row with this key is there already.
    pub fn is_taken(&self) -> bool {
        matches!(self, Fault::Sql(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION))
    }

    /// A statement that does all or nothing was not allowed to: it says so by dividing by zero.
    pub fn is_refused(&self) -> bool {
        matches!(self, Fault::Sql(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO))
    }

    pub fn remedy(&self) -> Remedy {
        let error = match self {
            Fault::Sql(error) => error,
            Fault::ReadOnly => return Remedy::Elsewhere,
            Fault::Store(_) => return Remedy::GiveUp,
        };
        match error.as_db_error() {
            None if error.is_closed() || is_io(error) => Remedy::Reconnect,
            None => Remedy::GiveUp,
            Some(said) => remedy_of(said.code(), said.constraint()),
        }
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

fn remedy_of(code: &SqlState, constraint: Option<&str>) -> Remedy {
    match code.code() {
        // Serialization failure, deadlock.
        "40001" | "40P01" => Remedy::Again,
        // The same claim call twice at once: the other one has it, and the next look finds it.
        "23505" if constraint == Some("claims_token") => Remedy::Again,
        // A plan from before a migration; a prepared statement that a pooler left on another connection.
        "0A000" | "26000" => Remedy::Reconnect,
        // The server is going down, or told this connection to go.
        "57P01" | "57P02" | "57P05" | "25P03" | "25P04" => Remedy::Reconnect,
        "25006" => Remedy::Elsewhere,
        _ => Remedy::GiveUp,
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::ReadOnly => StoreError::Unavailable(READ_ONLY.into()),
            Fault::Sql(error) => match error.as_db_error() {
                Some(said) => from_database(said),
                None if is_misfit(&error) => StoreError::Damaged(chain(&error)),
                None => StoreError::Unavailable(chain(&error)),
            },
        }
    }
}

/// A value that came back and was not what the code expects.
fn is_misfit(error: &tokio_postgres::Error) -> bool {
    let text = error.to_string();
    text.starts_with("error deserializing column") || text.starts_with("error serializing parameter")
}

pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}

/// Why an address was not understood. Its text may hold a password and is never repeated.
pub(crate) fn without_secrets(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn from_database(said: &DbError) -> StoreError {
    let text = format!("{} ({})", said.message(), said.code().code());
    from_code(said.code().code(), text)
}

fn from_code(code: &str, text: String) -> StoreError {
    match (code, code.get(..2).unwrap_or_default()) {
        // The disk.
        ("53100", _) => StoreError::Full(text),
        ("XX001" | "XX002", _) => StoreError::Damaged(text),
        // The state of the transaction: read only on a standby or a primary that is about to become one, ended by the server for
        // taking too long, or spoilt by what came before.
        (_, "25") => StoreError::Unavailable(text),
        // The server failed inside, and may not the next time.
        ("XX000", _) => StoreError::Internal(text),
        // A table that is not there: not migrated, or to another schema.
        ("42P01" | "42703" | "42883", _) => {
            StoreError::Broken(format!("{text}; is the schema up to date? run `foreman migrate`"))
        }
        // Connections, resources, operators, the system, prerequisites such as locks, and neighbours who would not give way.
        (_, "08" | "53" | "57" | "58" | "55" | "40" | "28" | "3D") => StoreError::Unavailable(text),
        // A unique key was hit, or the statement is not what this code was written for: the protocol says it never is.
        _ => StoreError::Broken(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_postgres_says_what_the_caller_can_do() {
        let named = |code: &str| from_code(code, "text".into());
        assert!(matches!(named("53100"), StoreError::Full(_)));
        for away in ["57014", "57P01", "57P03", "55P03", "53300", "08006", "25006", "25P02", "25P03", "40001", "28P01"]
        {
            assert!(matches!(named(away), StoreError::Unavailable(_)), "{away}");
        }
        assert!(matches!(named("XX000"), StoreError::Internal(_)), "it may depend on what was sent");
        assert!(matches!(named("XX001"), StoreError::Damaged(_)));
        assert!(matches!(named("23505"), StoreError::Broken(_)));
        let StoreError::Broken(text) = named("42P01") else { panic!("a missing table is a bug to hear about") };
        assert!(text.contains("foreman migrate"));
    }

    #[test]
    fn what_neighbours_caused_is_done_again_and_a_broken_rule_is_not() {
        let remedy = |code: &str, constraint| remedy_of(&SqlState::from_code(code), constraint);
        assert_eq!(remedy("40001", None), Remedy::Again);
        assert_eq!(remedy("40P01", None), Remedy::Again);
        assert_eq!(remedy("23505", Some("claims_token")), Remedy::Again);
        assert_eq!(remedy("23505", Some("attempts_once")), Remedy::GiveUp);
        assert_eq!(remedy("57P01", None), Remedy::Reconnect);
        assert_eq!(remedy("25006", None), Remedy::Elsewhere);
        assert_eq!(Fault::ReadOnly.remedy(), Remedy::Elsewhere);
        assert_eq!(remedy("57014", None), Remedy::GiveUp, "a statement that took too long takes too long again");
    }
}
