//! The list of programs that a tenant's jobs may run.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Programs by their absolute path, compared letter by letter; `sh` for lines given to a shell; `*` for all there is.
/// Empty: none. Whoever may use `sh`, `*`, or any program that runs others may run everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Programs(BTreeSet<String>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a program: {text:?}; write its absolute path without `.`, `..` or `//`, or `sh`, or `*`")]
pub struct NotAProgram {
    pub text: String,
}

const ANY: &str = "*";
const SHELL: &str = "sh";

impl Programs {
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, NotAProgram> {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        match names.iter().find(|name| !is_allowable(name)) {
            Some(wrong) => Err(NotAProgram { text: wrong.clone() }),
            None => Ok(Self(names)),
        }
    }

    pub fn any() -> Self {
        Self(BTreeSet::from([ANY.to_owned()]))
    }

    /// Whether this very program is on the list. `sh` is none: without a path it is whatever is found first along PATH.
    pub fn lists(&self, program: &str) -> bool {
        program != SHELL && self.0.contains(program)
    }

    /// Whether a shell is on the list: there is nothing that it cannot run.
    pub fn lists_shell(&self) -> bool {
        self.0.contains(SHELL)
    }

    /// Whether everything is on the list.
    pub fn lists_all(&self) -> bool {
        self.0.contains(ANY)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn is_allowable(name: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let is_path = || name.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_plain));
    matches!(name, ANY | SHELL) || (name.len() <= 4_096 && !name.contains(['\0', ',']) && is_path())
}

impl TryFrom<Vec<String>> for Programs {
    type Error = NotAProgram;

    fn try_from(names: Vec<String>) -> Result<Self, NotAProgram> {
        Self::new(names)
    }
}

/// Separated by commas, as on a command line.
impl FromStr for Programs {
    type Err = NotAProgram;

    fn from_str(text: &str) -> Result<Self, NotAProgram> {
        Self::new(text.split(',').map(str::trim).filter(|name| !name.is_empty()))
    }
}

impl fmt::Display for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(text: &str) -> Programs {
        text.parse().expect(text)
    }

    #[test]
    fn only_what_means_one_file_can_be_named() {
        for wrong in
            ["true", "./true", "/", "/bin/", "//bin/true", "/bin/../bin/true", "/bin/./true", "/bin/*x,**", "bash"]
        {
            assert!(wrong.parse::<Programs>().is_err(), "{wrong}");
        }
        assert!(Programs::new(["/a\0b"]).is_err() && Programs::new([""]).is_err());
        let some = programs("/b,/a,/a");
        assert_eq!((some.to_string(), some.is_empty()), ("/a,/b".into(), false));
        let json = serde_json::to_string(&some).expect("plain data");
        assert_eq!(json, r#"["/a","/b"]"#);
        assert_eq!(serde_json::from_str::<Programs>(&json).expect("programs"), some);
        assert!(serde_json::from_str::<Programs>(r#"["true"]"#).is_err());
    }
}
