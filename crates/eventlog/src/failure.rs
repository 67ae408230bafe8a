//! What a handler says when it could not handle an event, split by what the worker then does.
//!
//! | failure | the worker |
//! |---|---|
//! | [`Failure::Retryable`] | rolls back and retries with growing pauses, for as long as it takes |
//! | [`Failure::Permanent`] | rolls back; parks the event if the consumer has a poison handler, otherwise pauses this consumer (or shard) |
//! | [`Failure::Unclassified`] | rolls back and retries with growing pauses; after `max_consecutive_failures` as if permanent |
//!
//! `?` makes an unclassified failure of any error. A database error of which the database itself says that the transaction may
//! be done again (a deadlock, a lost connection) is retryable without being told so. A handler that panics has an unclassified
//! failure; one that takes longer than the batch timeout a retryable one. Siblings go on in every case.

use std::error::Error as StdError;
use std::fmt;

pub(crate) type BoxedError = Box<dyn StdError + Send + Sync>;

/// Not an `Error` itself, so that `?` can make one of any error.
pub enum Failure {
    /// It will work later: the other side is away, or busy.
    Retryable(BoxedError),
    /// It will never work with this event.
    Permanent(BoxedError),
    /// Not known.
    Unclassified(BoxedError),
}

impl Failure {
    pub fn retryable(error: impl Into<BoxedError>) -> Self {
        Self::Retryable(error.into())
    }

    pub fn permanent(error: impl Into<BoxedError>) -> Self {
        Self::Permanent(error.into())
    }

    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Retryable(_) => FailureKind::Retryable,
            Self::Permanent(_) => FailureKind::Permanent,
            Self::Unclassified(error) if is_transient(error.as_ref()) => FailureKind::Retryable,
            Self::Unclassified(_) => FailureKind::Unclassified,
        }
    }

    /// The error with all its causes, at most 2,000 characters.
    pub fn text(&self) -> String {
        let (Self::Retryable(error) | Self::Permanent(error) | Self::Unclassified(error)) = self;
        chain(error.as_ref())
    }
}

/// An error with its causes. What the database says is in the cause.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text.chars().take(2_000).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Retryable,
    Permanent,
    Unclassified,
}

impl<E: Into<BoxedError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Unclassified(error.into())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind(), self.text())
    }
}

/// Whether the database says that the same transaction may succeed when it is done again.
fn is_transient(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        #[cfg(feature = "postgres")]
        if let Some(error) = error.downcast_ref::<tokio_postgres::Error>() {
            return crate::postgres::is_transient(error);
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_anybody_is_unclassified_until_its_handler_says_more() {
        let fails = || -> Result<(), Failure> { Ok(Err(std::io::Error::other("away"))?) };
        assert_eq!(fails().expect_err("it fails").kind(), FailureKind::Unclassified);
        assert_eq!(Failure::permanent("no such product").kind(), FailureKind::Permanent);
        assert_eq!(Failure::retryable("busy").kind(), FailureKind::Retryable);
    }

    #[test]
    fn the_text_has_every_cause_and_an_end() {
        #[derive(Debug, thiserror::Error)]
        #[error("no view")]
        struct Outer(#[source] std::io::Error);
        assert_eq!(Failure::permanent(Outer(std::io::Error::other("disk"))).text(), "no view: disk");
        assert_eq!(Failure::permanent("x".repeat(10_000)).text().len(), 2_000);
    }
}
