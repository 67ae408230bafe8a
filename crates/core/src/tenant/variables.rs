//! Which variables a tenant's jobs may give their programs, where the tenant may run listed programs only.
//!
//! Many programs run others, load code or read files as a variable tells them to (`TAR_OPTIONS`,
//! `DOTNET_STARTUP_HOOKS`), and nobody knows all of these names. So the names are listed that may be given, not those
//! that may not. A tenant that may run everything may give everything.

use super::programs::{is_loaded, may_run, may_run_everything};
use super::{Programs, Variables};
use crate::target::Program;

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
        may_run(&self.programs, program)
    }

    pub fn allow_variable(&self, name: &str) -> bool {
        may_run_everything(&self.programs) || may_set(&self.variables, name)
    }
}

/// A name is allowed when it is listed as it is. A beginning, or `*`, does not allow those that loaders, shells and
/// interpreters are known to be misled by.
fn may_set(list: &Variables, name: &str) -> bool {
    list.lists(name) || (!is_loaded(name) && list.covers(name))
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
}
