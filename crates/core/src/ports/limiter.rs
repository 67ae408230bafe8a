//! Rate limits that several processes may share.
//!
//! Each process can keep its books to itself ([`crate::memory::LocalLimiter`]), and N of them then allow N times the
//! rate; behind a shared limiter the limit holds over all of them. A shared limiter that cannot be reached, or does not
//! answer within moments, decides locally and says so in its own metrics: so a limiter never fails and never waits long.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;

use crate::tenant::{Rate, Take};

#[async_trait]
pub trait Limiter: Send + Sync {
    /// Takes `count` tokens from the bucket of that key, all or none. To take none is to look.
    async fn take(&self, key: LimitKey<'_>, rate: Rate, count: u64) -> Take;

    /// Notes these members in the window under way, all or none; one that is noted already is none too many. When they are
    /// too many: how long until the next window begins. A window begins with the first member that is noted.
    async fn admit(&self, key: LimitKey<'_>, window: Window, members: &[&str]) -> Result<(), Duration>;
}

/// What is limited, and for whom. Keys of two kinds never meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitKey<'a> {
    /// `submit`, `sign-in`, `wrong-key`, `look-up`, `hosts`.
    pub what: &'static str,
    pub whose: Cow<'a, str>,
}

impl<'a> LimitKey<'a> {
    pub fn of(what: &'static str, whose: impl Into<Cow<'a, str>>) -> Self {
        Self { what, whose: whose.into() }
    }
}

/// So many different ones in so long a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub most: u64,
    pub length: Duration,
}
