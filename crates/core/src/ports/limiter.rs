//! Rate limits that several processes may share.
//!
//! Each process can keep its buckets to itself (`memory::LocalLimiter`), and N of them then allow N
//! times the rate; behind a shared limiter the limit holds over all of them. A shared limiter that cannot be reached decides
//! locally and says so, so this never fails and never waits long.

use std::borrow::Cow;

use async_trait::async_trait;

use crate::tenant::{Rate, Take};

#[async_trait]
pub trait Limiter: Send + Sync {
    /// Takes `count` tokens from the bucket of that key, all or none.
    async fn take(&self, key: LimitKey<'_>, rate: Rate, count: u64) -> Take;
}

/// Whose bucket: what is limited, and for whom. Keys of two kinds never meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitKey<'a> {
    /// `submit`, `sign-in`, `wrong-key`, `hosts`.
    pub what: &'static str,
    pub whose: Cow<'a, str>,
}
