//! What a key is good for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Scope {
    /// Look at jobs, their attempts and output, and at queues.
    #[serde(rename = "jobs:read")]
    JobsRead,
    /// Submit, cancel, re-drive and remove jobs; pause and resume queues.
    #[serde(rename = "jobs:write")]
    JobsWrite,
    #[serde(rename = "schedules:read")]
    SchedulesRead,
    #[serde(rename = "schedules:write")]
    SchedulesWrite,
    /// Stream events live.
    #[serde(rename = "stream:read")]
    StreamRead,
    /// Pull jobs and report how they went.
    #[serde(rename = "workers")]
    Workers,
    /// Submit jobs that run a command, if the tenant and the worker allow it too.
    #[serde(rename = "exec:command")]
    ExecCommand,
    /// Everything, and tenants and keys: for who runs this server.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    pub const ALL: [Scope; 8] = [
        Scope::JobsRead,
        Scope::JobsWrite,
        Scope::SchedulesRead,
        Scope::SchedulesWrite,
        Scope::StreamRead,
        Scope::Workers,
        Scope::ExecCommand,
        Scope::Admin,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::JobsRead => "jobs:read",
            Scope::JobsWrite => "jobs:write",
            Scope::SchedulesRead => "schedules:read",
            Scope::SchedulesWrite => "schedules:write",
            Scope::StreamRead => "stream:read",
            Scope::Workers => "workers",
            Scope::ExecCommand => "exec:command",
            Scope::Admin => "admin",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// What comes before the colon: `jobs:*` means all of them.
    fn family(self) -> Option<&'static str> {
        self.as_str().split_once(':').map(|(family, _)| family)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAScope {
    #[error("there is no scope {text:?}; the scopes are {}, and jobs:* or schedules:* for read and write", Scopes::ALL)]
    Unknown { text: String },
    #[error("a key needs at least one scope: {}", Scopes::ALL)]
    Empty,
}

impl FromStr for Scope {
    type Err = NotAScope;

    fn from_str(text: &str) -> Result<Self, NotAScope> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| NotAScope::Unknown { text: text.into() })
    }
}

/// At least one scope. Text is a list with commas, JSON an array.
///
/// A wildcard is written out when it is read: a scope that a later version adds is not given to keys that exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scopes(u16);

impl Scopes {
    /// Every scope there is, `admin` among them.
    pub const ALL: Scopes = {
        let (mut bits, mut next) = (0, 0);
        while next < Scope::ALL.len() {
            bits |= Scope::ALL[next].bit();
            next += 1;
        }
        Scopes(bits)
    };

    pub fn only(scope: Scope) -> Self {
        Self(scope.bit())
    }

    #[must_use]
    pub fn and(self, scope: Scope) -> Self {
        Self(self.0 | scope.bit())
    }

    /// As they were given, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }

    /// Whether they are good for this; `admin` is good for everything.
    pub fn allow(self, scope: Scope) -> bool {
        self.0 & (scope.bit() | Scope::Admin.bit()) != 0
    }

    /// Whether their holder may give these to another key: nobody gives what they have not.
    pub fn cover(self, others: Scopes) -> bool {
        others.iter().all(|scope| self.allow(scope))
    }

    /// Each a scope or a wildcard.
    pub fn parse<'a>(parts: impl IntoIterator<Item = &'a str>) -> Result<Self, NotAScope> {
        let mut bits = 0;
        for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            bits |= one_or_a_family(part)?;
        }
        if bits == 0 { Err(NotAScope::Empty) } else { Ok(Self(bits)) }
    }
}

fn one_or_a_family(part: &str) -> Result<u16, NotAScope> {
    let Some(family) = part.strip_suffix(":*") else { return part.parse().map(Scope::bit) };
    let members = Scope::ALL.into_iter().filter(|scope| scope.family() == Some(family));
    match members.fold(0, |bits, scope| bits | scope.bit()) {
        0 => Err(NotAScope::Unknown { text: part.into() }),
        bits => Ok(bits),
    }
}

impl FromStr for Scopes {
    type Err = NotAScope;

    fn from_str(text: &str) -> Result<Self, NotAScope> {
        Self::parse(text.split(','))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().map(Scope::as_str).collect::<Vec<_>>().join(","))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parts = Vec::<String>::deserialize(deserializer)?;
        Self::parse(parts.iter().map(String::as_str)).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Scopes {
        text.parse().expect(text)
    }

    #[test]
    fn every_scope_survives_its_text_and_its_json() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
            assert_eq!(serde_json::to_string(&scope).expect("plain"), format!("\"{scope}\""));
            let one = Scopes::only(scope);
            assert_eq!(scopes(&one.to_string()), one);
            let json = serde_json::to_string(&one).expect("plain");
            assert_eq!(json, format!("[\"{scope}\"]"));
            assert_eq!(serde_json::from_str::<Scopes>(&json).expect("scopes"), one);
        }
        assert_eq!(Scopes::ALL.iter().count(), Scope::ALL.len());
    }

    #[test]
    fn a_wildcard_means_its_family_and_no_more() {
        assert_eq!(scopes("jobs:*").to_string(), "jobs:read,jobs:write");
        assert_eq!(scopes("schedules:*").to_string(), "schedules:read,schedules:write");
        assert_eq!(scopes("stream:*, jobs:read,jobs:read").to_string(), "jobs:read,stream:read");
        for wrong in ["*", "*:*", ":*", "workers:*", "admin:*", "job:*", "jobs:", "jobs", "jobs:**", "Jobs:read"] {
            assert!(matches!(wrong.parse::<Scopes>(), Err(NotAScope::Unknown { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_key_has_at_least_one_scope() {
        for empty in ["", " ", ",", " , "] {
            assert_eq!(empty.parse::<Scopes>(), Err(NotAScope::Empty), "{empty:?}");
        }
        assert!(serde_json::from_str::<Scopes>("[]").is_err());
        let said = "job:read".parse::<Scopes>().expect_err("no scope").to_string();
        assert!(said.contains("job:read") && Scope::ALL.iter().all(|scope| said.contains(scope.as_str())), "{said}");
    }

    #[test]
    fn each_scope_allows_itself_alone_and_admin_all() {
        for given in Scope::ALL {
            for asked in Scope::ALL {
                let expected = given == asked || given == Scope::Admin;
                assert_eq!(Scopes::only(given).allow(asked), expected, "{given} for {asked}");
            }
        }
    }

    #[test]
    fn nobody_gives_what_they_have_not() {
        assert!(scopes("jobs:*").cover(scopes("jobs:read")));
        assert!(!scopes("jobs:read").cover(scopes("jobs:*")));
        assert!(scopes("admin").cover(Scopes::ALL));
        let all_but_admin = Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).map(Scope::as_str);
        let all_but_admin = Scopes::parse(all_but_admin).expect("scopes");
        assert!(!all_but_admin.cover(scopes("admin")) && !all_but_admin.allow(Scope::Admin));
    }
}
