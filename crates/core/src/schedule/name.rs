//! What a schedule is called.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::id::ScheduleId;

/// Letters, digits, `.`, `_`, `-`, up to 128, and not the shape of an id: a schedule is addressed by either.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ScheduleName(Arc<str>);

impl ScheduleName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads back what a store kept, without judging it again.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a schedule name: {text:?}; use 1 to 128 letters, digits, dots, underscores and hyphens; not `preview`, and \
     not a UUID"
)]
pub struct NotAScheduleName {
    pub text: String,
}

impl FromStr for ScheduleName {
    type Err = NotAScheduleName;

    fn from_str(text: &str) -> Result<Self, NotAScheduleName> {
        let fits = (1..=128).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            // These mean something else in a path.
            && !matches!(text, "." | ".." | "preview")
            && text.parse::<ScheduleId>().is_err();
        if fits { Ok(Self(text.into())) } else { Err(NotAScheduleName { text: text.into() }) }
    }
}

impl fmt::Display for ScheduleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ScheduleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a schedule is addressed: by its name, or by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleKey {
    Name(ScheduleName),
    Id(ScheduleId),
}

impl FromStr for ScheduleKey {
    type Err = NotAScheduleName;

    fn from_str(text: &str) -> Result<Self, NotAScheduleName> {
        match text.parse() {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) => text.parse().map(Self::Name),
        }
    }
}

impl fmt::Display for ScheduleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Id(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_is_safe_in_a_path_and_is_never_taken_for_an_id() {
        for good in ["daily", "reports.daily-9", "A_1", &"n".repeat(128)] {
            assert!(good.parse::<ScheduleName>().is_ok(), "{good}");
        }
        let id = ScheduleId::fresh().to_string();
        for bad in ["", "a b", "a/b", "ä", ".", "..", "preview", &"n".repeat(129), &id, &id.replace('-', "")] {
            assert!(bad.parse::<ScheduleName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_is_an_id_or_else_a_name() {
        let id = ScheduleId::fresh();
        assert_eq!(id.to_string().parse(), Ok(ScheduleKey::Id(id)));
        assert_eq!("daily".parse(), Ok(ScheduleKey::Name(ScheduleName::from_stored("daily"))));
        assert!("a/b".parse::<ScheduleKey>().is_err());
    }
}
