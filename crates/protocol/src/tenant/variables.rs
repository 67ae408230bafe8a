//! The list of environment variables that a tenant's jobs may set.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Names (`TOKEN`), beginnings of names (`REPORT_*`), or `*`. Empty: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Variables(BTreeSet<String>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a variable name: {text:?}; write a name such as TOKEN, a prefix such as REPORT_*, or `*`")]
pub struct NotAVariable {
    pub text: String,
}

impl Variables {
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, NotAVariable> {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        match names.iter().find(|name| !is_allowable(name)) {
            Some(wrong) => Err(NotAVariable { text: wrong.clone() }),
            None => Ok(Self(names)),
        }
    }

    /// Whether this very name is on the list.
    pub fn lists(&self, variable: &str) -> bool {
        self.0.contains(variable)
    }

    /// Whether a beginning on the list, or `*`, covers it.
    pub fn covers(&self, variable: &str) -> bool {
        self.iter().filter_map(|listed| listed.strip_suffix('*')).any(|beginning| variable.starts_with(beginning))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn is_allowable(text: &str) -> bool {
    let name = text.strip_suffix('*').unwrap_or(text);
    let is_plain = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    !text.is_empty() && text.len() <= 256 && is_plain && !name.starts_with(|first: char| first.is_ascii_digit())
}

impl TryFrom<Vec<String>> for Variables {
    type Error = NotAVariable;

    fn try_from(names: Vec<String>) -> Result<Self, NotAVariable> {
        Self::new(names)
    }
}

/// Separated by commas, as on a command line.
impl FromStr for Variables {
    type Err = NotAVariable;

    fn from_str(text: &str) -> Result<Self, NotAVariable> {
        Self::new(text.split(',').map(str::trim).filter(|name| !name.is_empty()))
    }
}

impl fmt::Display for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_beginnings_can_be_listed() {
        for wrong in ["A B", "A=B", "*A", "A*B", "1A", "**", "A-B", "é"] {
            assert!(wrong.parse::<Variables>().is_err(), "{wrong}");
        }
        assert!(Variables::new([""]).is_err() && Variables::new(["A".repeat(257)]).is_err());
        let some: Variables = "B_*,A,A".parse().expect("names");
        assert_eq!(some.to_string(), "A,B_*");
        let json = serde_json::to_string(&some).expect("plain data");
        assert_eq!(json, r#"["A","B_*"]"#);
        assert_eq!(serde_json::from_str::<Variables>(&json).expect("names"), some);
        assert!(serde_json::from_str::<Variables>(r#"["A B"]"#).is_err());
    }
}
