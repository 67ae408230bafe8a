//! Which variables a tenant's jobs may give their programs, where the tenant may run listed programs only.
//!
//! Many programs run others, load code or read files as a variable tells them to (`TAR_OPTIONS`,
//! `DOTNET_STARTUP_HOOKS`), and nobody knows all of these names. So the names are listed that may be given, not those
//! that may not. A tenant that may run everything may give everything.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::programs::{Programs, is_loaded};
use crate::target::Program;

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

    /// A name is allowed when it is listed as it is. A beginning, or `*`, does not allow those that loaders, shells and
    /// interpreters are known to be misled by.
    pub fn allow(&self, name: &str) -> bool {
        let begins = |listed: &String| listed.strip_suffix('*').is_some_and(|beginning| name.starts_with(beginning));
        self.0.contains(name) || (!is_loaded(name) && self.0.iter().any(begins))
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

/// What a tenant's jobs may run, and what they may give it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permitted {
    pub programs: Programs,
    pub variables: Variables,
}

impl Permitted {
    pub fn everything() -> Self {
        Self { programs: Programs::any(), variables: Variables::default() }
    }

    pub fn allow(&self, program: &Program) -> bool {
        self.programs.allow(program)
    }

    pub fn allow_variable(&self, name: &str) -> bool {
        self.programs.allow_everything() || self.variables.allow(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(programs: &str, variables: &str) -> Permitted {
        Permitted { programs: programs.parse().expect(programs), variables: variables.parse().expect(variables) }
    }

    /// What was let through when the list was of names that may not be given.
    const MISLEADING: [&str; 12] = [
        "TAR_OPTIONS",
        "CDPATH",
        "DOTNET_STARTUP_HOOKS",
        "ERL_AFLAGS",
        "R_PROFILE_USER",
        "HOME",
        "https_proxy",
        "LD_PRELOAD",
        "BASH_ENV",
        "PATH",
        "GIT_SSH",
        "PYTHONPATH",
    ];

    #[test]
    fn a_listed_program_is_given_no_variable_until_it_is_listed() {
        let list = permitted("/usr/bin/report", "");
        for name in MISLEADING.into_iter().chain(["TOKEN", "LANG", ""]) {
            assert!(!list.allow_variable(name), "{name}");
        }
        let list = permitted("/usr/bin/report", "TOKEN, REPORT_*");
        for name in ["TOKEN", "REPORT_DAY", "REPORT_"] {
            assert!(list.allow_variable(name), "{name}");
        }
        for name in MISLEADING.into_iter().chain(["TOKEN2", "token", "REPORT", "X_REPORT_"]) {
            assert!(!list.allow_variable(name), "{name}");
        }
    }

    #[test]
    fn who_may_run_everything_may_give_everything() {
        for programs in ["*", "sh", "/usr/bin/report,sh"] {
            for name in MISLEADING {
                assert!(permitted(programs, "").allow_variable(name), "{programs} {name}");
            }
        }
    }

    #[test]
    fn a_known_way_to_mislead_a_program_must_be_listed_by_its_whole_name() {
        for pattern in ["*", "LD_*", "P*,G*,B*"] {
            for name in ["LD_PRELOAD", "PATH", "GIT_SSH", "BASH_ENV"] {
                assert!(!permitted("/bin/report", pattern).allow_variable(name), "{pattern} {name}");
            }
        }
        assert!(permitted("/bin/report", "*").allow_variable("TOKEN"));
        assert!(permitted("/bin/report", "PATH").allow_variable("PATH"), "an operator knows what it is for");
    }

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
