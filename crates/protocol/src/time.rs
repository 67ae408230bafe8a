//! Points in time, cut to microseconds at birth.
//!
//! Every store keeps microseconds. A value that carried more would not equal itself after a round trip, and a
//! comparison on it would silently never match.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since 1970, UTC. Text is RFC 3339 with `Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// 9999-12-30T22:00:00Z, the last moment that can be written as text.
const LAST: i64 = 253_402_207_200_000_000;

#[derive(Debug, thiserror::Error)]
#[error("not an RFC 3339 time: {text:?}; write it like 2026-11-15T09:00:00Z")]
pub struct NotATime {
    pub text: String,
}

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(micros(by)))
    }

    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(micros(by)))
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.6}"),
            Err(_) => write!(f, "{} µs", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        text.parse::<jiff::Timestamp>()
            .ok()
            .or_else(|| end_of_time(text))
            .map(|time| Self(time.as_microsecond().min(LAST)))
            .ok_or_else(|| NotATime { text: text.into() })
    }
}

/// The last hours of the year 9999, which many write for "never", lie beyond what jiff counts: its last moment stands for them.
fn end_of_time(text: &str) -> Option<jiff::Timestamp> {
    let pieces = jiff::fmt::temporal::Pieces::parse(text).ok()?;
    let is_whole = pieces.time().is_some() && pieces.offset().is_some();
    (is_whole && pieces.date().year() == 9999).then_some(jiff::Timestamp::MAX)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_cut_to_microseconds_and_survives_text() {
        let time: Timestamp = "2026-11-15T09:00:00.123456789Z".parse().expect("valid");
        assert_eq!(time.as_micros() % 1_000_000, 123_456);
        assert_eq!(time.to_string(), "2026-11-15T09:00:00.123456Z");
        assert_eq!(time.to_string().parse::<Timestamp>().expect("round trip"), time);
    }

    #[test]
    fn an_offset_is_read_and_normalised_to_utc() {
        let berlin: Timestamp = "2026-11-15T10:00:00+01:00".parse().expect("valid");
        assert_eq!(berlin, "2026-11-15T09:00:00Z".parse().expect("valid"));
    }

    #[test]
    fn the_last_day_of_the_year_9999_is_a_time() {
        for text in ["9999-12-30T22:00:00.5Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.9999999-05:00"] {
            let never: Timestamp = text.parse().expect(text);
            assert_eq!(never.to_string(), "9999-12-30T22:00:00.000000Z");
            assert_eq!(never.to_string().parse::<Timestamp>().expect("round trip"), never);
        }
        for text in ["9999-12-31", "9999-12-31T23:59:59", "9999-13-01T00:00:00Z", "10000-01-01T00:00:00Z"] {
            text.parse::<Timestamp>().expect_err(text);
        }
    }

    #[test]
    fn what_is_not_a_time_says_what_one_looks_like() {
        let error = "tomorrow".parse::<Timestamp>().expect_err("not a time");
        assert!(error.to_string().contains("RFC 3339"));
    }
}
