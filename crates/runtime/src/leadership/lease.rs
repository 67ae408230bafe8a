//! What a leader holds: a name that one holder has for a time, kept where all contenders can see it.

use std::error::Error as StdError;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

/// One reign of a leader. Every grant has a higher one than all before it, so a write that carries an old one can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub u64);

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Keeps leases, by name. Time is the keeper's: a lease runs out `ttl` after it was granted or renewed *there*.
#[async_trait]
pub trait Lease: Send + Sync {
    /// Grants the lease under a new term if nobody has it, or if it has run out, or if `holder` itself has it: that one then
    /// lost the answer that told it so. `None`: it is another's.
    async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Term>, Unavailable>;

    /// Until when at most the lease is another's that was last refused, as far as the keeper said.
    fn taken_until(&self) -> Option<Instant> {
        None
    }

    /// Keeps it for another `ttl`. `false`: that term is over. A lease that ran out and that nobody took since may be renewed.
    async fn renew(&self, name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable>;

    /// Ends that term now, so that another need not wait. A term that is over already stays so.
    async fn resign(&self, name: &str, term: Term) -> Result<(), Unavailable>;
}

/// No answer, or none that can be used. It is asked again.
#[derive(Debug, thiserror::Error)]
#[error("the lease cannot be reached")]
pub struct Unavailable(#[source] Box<dyn StdError + Send + Sync>);

impl Unavailable {
    pub fn new(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(cause.into())
    }

    pub(super) fn timed_out() -> Self {
        Self::new("no answer in time")
    }

    /// What lies behind it, down to the first cause, for a log.
    pub(super) fn chain(&self) -> String {
        let mut said = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            said.push_str(": ");
            said.push_str(&error.to_string());
            cause = error.source();
        }
        said
    }
}

/// The lease of a store that only one process can open: whoever asks has it. Terms begin anew with the process.
#[derive(Debug, Default)]
pub struct AlwaysLeader {
    terms: AtomicU64,
}

#[async_trait]
impl Lease for AlwaysLeader {
    async fn acquire(&self, _name: &str, _holder: &str, _ttl: Duration) -> Result<Option<Term>, Unavailable> {
        Ok(Some(Term(self.terms.fetch_add(1, Ordering::Relaxed) + 1)))
    }

    async fn renew(&self, _name: &str, _term: Term, _ttl: Duration) -> Result<bool, Unavailable> {
        Ok(true)
    }

    async fn resign(&self, _name: &str, _term: Term) -> Result<(), Unavailable> {
        Ok(())
    }
}
