//! Durations as people write them: `250ms`, `90s`, `5m`, `1h30m`.
//!
//! The one form used in JSON, in the configuration file, in the environment and on the command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration that is text outside of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub Duration);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a duration: {text:?}; write it like 250ms, 90s, 5m, 1h30m or 2d")]
pub struct NotADuration {
    pub text: String,
}

/// Largest first: how a duration is written.
const UNITS: [(&str, u128); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `1h30m` and the like. A unit is required, each at most once, from large to small.
pub fn parse(text: &str) -> Result<Duration, NotADuration> {
    let refuse = || NotADuration { text: text.into() };
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut millis: u128 = 0;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
        let amount: u64 = rest[..digits].parse().map_err(|_| refuse())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = UNITS.iter().position(|(name, _)| *name == &rest[..letters]).ok_or_else(refuse)?;
        if unit < next_unit {
            return Err(refuse());
        }
        millis += u128::from(amount) * UNITS[unit].1;
        next_unit = unit + 1;
        rest = &rest[letters..];
    }
    if next_unit == 0 {
        return Err(refuse());
    }
    u64::try_from(millis).map(Duration::from_millis).map_err(|_| refuse())
}

/// Writes what [`parse`] reads; what is finer than a millisecond is cut.
pub fn format(duration: Duration) -> String {
    let mut millis = duration.as_millis();
    if millis == 0 {
        return "0s".into();
    }
    let mut text = String::new();
    for (name, size) in UNITS {
        let amount = millis / size;
        if amount > 0 {
            text.push_str(&format!("{amount}{name}"));
            millis %= size;
        }
    }
    text
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format(self.0))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Span {
    type Err = NotADuration;

    fn from_str(text: &str) -> Result<Self, NotADuration> {
        parse(text).map(Span)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_forms_are_read() {
        for (text, millis) in [
            ("250ms", 250),
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("0s", 0),
            ("0", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_could_be_misread_is_refused() {
        for text in ["", "5", "m", "5 m", "1.5h", "-1s", "5x", "30m1h", "1h1h", "99999999999999999999s", "1µs"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn writing_and_reading_agree() {
        for millis in [0, 1, 999, 1_000, 61_001, 86_400_000, 90_061_001] {
            let duration = Duration::from_millis(millis);
            assert_eq!(parse(&format(duration)), Ok(duration));
        }
    }
}
