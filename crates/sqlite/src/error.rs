//! What SQLite says, in the words of the port: split by what the caller would do.

use std::path::PathBuf;

use foreman_core::ports::StoreError;
use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Why a store could not be opened. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "{path} is in use by another foreman{}: stop that one first, or start this one with another --data-dir",
        holder(*pid)
    )]
    Locked { path: PathBuf, pid: Option<u32> },
    #[error(
        "{path} was written by a newer foreman: its schema version {found} needs binaries that know version \
         {serves}, and this one knows up to {known}; upgrade this binary, or restore a backup made before the upgrade"
    )]
    Newer { path: PathBuf, found: i64, serves: i64, known: i64 },
    #[error(
        "{path} was migrated with a different migration {version}: it belongs to another build of foreman; \
         use that build"
    )]
    Changed { path: PathBuf, version: i64 },
    #[error("{path} is not a Foreman database ({reason}): point --data-dir to another directory")]
    NotOurs { path: PathBuf, reason: String },
    #[error(
        "{path} is damaged ({reason}): keep a copy of it with its -wal file, then restore a backup, or move it away \
         to start empty"
    )]
    Damaged { path: PathBuf, reason: String },
    #[error("{path} cannot be opened: {reason}")]
    Io { path: PathBuf, reason: String },
    #[error("could not prepare {path}")]
    Store {
        path: PathBuf,
        #[source]
        source: StoreError,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl OpenError {
    pub(crate) fn from_fault(path: impl Into<PathBuf>, fault: Fault) -> Self {
        let path = path.into();
        if let Fault::Sql(rusqlite::Error::SqliteFailure(failure, _)) = &fault {
            match failure.code {
                ErrorCode::NotADatabase => {
                    return OpenError::NotOurs { path, reason: "it is not a SQLite file".into() };
                }
                ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly => {
                    return OpenError::Io { path, reason: fault.to_string() };
                }
                _ => {}
            }
        }
        match fault.into() {
            StoreError::Damaged(reason) => OpenError::Damaged { path, reason },
            source => OpenError::Store { path, source },
        }
    }
}

/// What can go wrong inside an operation, before it has a name in the port.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Fault {
    /// A row that does not fit names its table, column and id.
    pub fn misfit(table: &str, column: &str, id: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        Fault::Store(StoreError::Damaged(format!("table {table}, column {column}, row {id}: {why}")))
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::Sql(error) => from_sqlite(&error),
        }
    }
}

fn from_sqlite(error: &rusqlite::Error) -> StoreError {
    use rusqlite::Error as E;
    let text = error.to_string();
    match error {
        E::SqliteFailure(failure, _) => from_code(*failure, text),
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..)
        | E::QueryReturnedNoRows => StoreError::Damaged(text),
        _ => StoreError::Broken(text),
    }
}

fn from_code(failure: ffi::Error, text: String) -> StoreError {
    match failure.code {
        ErrorCode::DiskFull => StoreError::Full(text),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged(text),
        // A unique key was hit: the protocol says it never is.
        ErrorCode::ConstraintViolation => StoreError::Broken(text),
        ErrorCode::SystemIoFailure => match failure.extended_code {
            // The shared-memory index of the WAL could not grow.
            ffi::SQLITE_IOERR_SHMSIZE => StoreError::Full(text),
            ffi::SQLITE_IOERR_CORRUPTFS | ffi::SQLITE_IOERR_SHORT_READ => StoreError::Damaged(text),
            _ => StoreError::Unavailable(text),
        },
        ErrorCode::OperationInterrupted => StoreError::Unavailable("the read took too long and was given up".into()),
        // SQLITE_ERROR: the statement or the schema is not what this code was written for.
        ErrorCode::Unknown | ErrorCode::ApiMisuse | ErrorCode::ParameterOutOfRange | ErrorCode::TypeMismatch => {
            StoreError::Broken(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(code: i32) -> StoreError {
        Fault::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).into()
    }

    #[test]
    fn each_failure_of_sqlite_says_what_the_caller_can_do() {
        assert!(matches!(named(ffi::SQLITE_FULL), StoreError::Full(_)));
        assert!(matches!(named(ffi::SQLITE_IOERR_SHMSIZE), StoreError::Full(_)));
        assert!(matches!(named(ffi::SQLITE_CORRUPT), StoreError::Damaged(_)));
        assert!(matches!(named(ffi::SQLITE_NOTADB), StoreError::Damaged(_)));
        assert!(matches!(named(ffi::SQLITE_BUSY), StoreError::Unavailable(_)));
        assert!(matches!(named(ffi::SQLITE_IOERR_FSYNC), StoreError::Unavailable(_)));
        assert!(matches!(named(ffi::SQLITE_INTERRUPT), StoreError::Unavailable(_)));
        assert!(matches!(named(ffi::SQLITE_CONSTRAINT_UNIQUE), StoreError::Broken(_)));
        assert!(matches!(named(ffi::SQLITE_CONSTRAINT_PRIMARYKEY), StoreError::Broken(_)));
    }
}
