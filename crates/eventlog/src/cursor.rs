//! Where a reader is in the log.
//!
//! Opaque to readers outside: keep it and give it back. Inside it is a position and the epoch of the log. An epoch ends when
//! the log is restored from a backup, because positions after the restored end may then be given out a second time. A
//! cursor that is ahead of where a later epoch began goes back to there, so its reader sees some events twice and misses
//! none.

use std::fmt;
use std::str::FromStr;

/// Orders by epoch, then by position: of two cursors of one reader the later one is the greater one, also across a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    epoch: i32,
    position: i64,
}

impl Cursor {
    /// Before the first event.
    pub const START: Self = Self { epoch: 1, position: 0 };

    pub(crate) fn new(epoch: i32, position: i64) -> Self {
        Self { epoch, position }
    }

    /// The number of the event in the log. Rises, with gaps; for people and for comparing.
    pub fn position(self) -> i64 {
        self.position
    }

    pub fn epoch(self) -> i32 {
        self.epoch
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.position)
    }
}

/// The text is not a cursor of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a cursor of an event log")]
pub struct InvalidCursor(String);

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let parsed = text.split_once('-').and_then(|(epoch, position)| {
            let is_plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            (is_plain(epoch) && is_plain(position)).then_some(())?;
            Some(Self { epoch: epoch.parse().ok()?, position: position.parse().ok()? })
        });
        parsed.filter(|cursor| cursor.epoch > 0).ok_or_else(|| InvalidCursor(text.chars().take(64).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_being_written_down() {
        for cursor in [Cursor::START, Cursor::new(3, i64::MAX)] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
    }

    #[test]
    fn what_is_not_a_cursor_is_refused() {
        for text in ["", "7", "-", "1-", "-1", "0-5", "1--5", "1-+5", "1-5-", "a-5", "1-99999999999999999999"] {
            assert!(text.parse::<Cursor>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn after_a_restore_every_cursor_is_greater() {
        assert!(Cursor::new(2, 10) > Cursor::new(1, 4_000));
        assert!(Cursor::new(2, 11) > Cursor::new(2, 10));
    }
}
