//! Names of things, each its own type so that one cannot stand in for another.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A fresh id; ids made later in one process sort later.
            pub fn fresh() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::from_str(text).map(Self)
            }
        }
    };
}

uuid_id! {
    /// A job's name for life, made before the job is written, so that an unknown commit can be sent again.
    JobId
}
uuid_id! {
    /// One life of a worker process. A restarted worker is a new session.
    SessionId
}
uuid_id! {
    /// A schedule's name for life; its other name can be used again after it was deleted.
    ScheduleId
}
uuid_id! {
    /// Made for one edit of a schedule or a tenant, so that an edit whose answer was lost can be sent again.
    EditId
}
uuid_id! {
    /// A webhook's name for life.
    WebhookId
}
uuid_id! {
    /// One entry of the audit log; those made later in one process sort later.
    EntryId
}
uuid_id! {
    /// Made by the worker for one claim call. It tells a claim whose answer was lost from one whose answer is on its way.
    ClaimToken
}

/// The number of a claim, strictly increasing and never used again: proof carried by every write of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whose job it is. One is always there, [`TenantId::default`]; an administrator makes the others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TenantId(Arc<str>);

impl TenantId {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a tenant cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a tenant id: {text:?}; use 1 to 63 of a-z, 0-9 and the hyphen, with a letter or digit first and last")]
pub struct NotATenantId {
    pub text: String,
}

/// What a person may call a tenant: safe in a path, in a header, on a command line and as part of a host's name.
impl FromStr for TenantId {
    type Err = NotATenantId;

    fn from_str(text: &str) -> Result<Self, NotATenantId> {
        let fits = (1..=63).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !text.starts_with('-')
            && !text.ends_with('-');
        if fits { Ok(Self::new(text)) } else { Err(NotATenantId { text: text.into() }) }
    }
}

impl Default for TenantId {
    fn default() -> Self {
        Self::new("default")
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_called_what_is_safe_everywhere() {
        for good in ["a", "7", "acme", "acme-2", "a--b", "default", &"n".repeat(63)] {
            assert_eq!(good.parse(), Ok(TenantId::new(good)));
        }
        for bad in ["", "-", "-a", "a-", "Acme", "a_b", "a.b", "a b", "a/b", "ä", "a\n", "--help", &"n".repeat(64)] {
            assert!(bad.parse::<TenantId>().is_err(), "{bad:?}");
        }
        assert_eq!(TenantId::default().as_str().parse(), Ok(TenantId::default()));
    }
}
