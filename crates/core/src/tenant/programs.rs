//! Which programs a tenant's jobs may run: the third lock on commands, after the worker's flag and the key's scope.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::target::Program;

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

/// What dynamic loaders, shells and the usual interpreters load or run before or beside the program itself.
const LOADED: [&str; 33] = [
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PS4",
    "ZDOTDIR",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "NODE_OPTIONS",
    "NODE_PATH",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "LESSOPEN",
    "OPENSSL_CONF",
];
const LOADING: [&str; 6] = ["LD_", "DYLD_", "PERL5", "PYTHON", "LUA_INIT_", "GIT_"];

/// Whether a variable of this name is known to make a program run or load something else.
pub(super) fn is_loaded(name: &str) -> bool {
    LOADED.contains(&name) || LOADING.iter().any(|prefix| name.starts_with(prefix))
}

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

    pub fn allow(&self, program: &Program) -> bool {
        let is_named = match program {
            // A name without a path is whatever is found first along PATH; the one such name in a list means the shell.
            Program::Argv(argv) => argv.first().is_some_and(|name| name != SHELL && self.0.contains(name)),
            Program::Shell(_) => self.0.contains(SHELL),
        };
        is_named || self.0.contains(ANY)
    }

    /// A shell or a star: there is nothing that these cannot run.
    pub fn allow_everything(&self) -> bool {
        self.0.contains(ANY) || self.0.contains(SHELL)
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

    fn argv(program: &str) -> Program {
        Program::Argv(vec![program.into(), "--flag".into()])
    }

    #[test]
    fn nothing_is_allowed_until_it_is_named() {
        let none = Programs::default();
        for program in
            [argv("/bin/true"), argv("sh"), argv("*"), argv(""), Program::Argv(vec![]), Program::Shell("true".into())]
        {
            assert!(!none.allow(&program), "{program:?}");
        }
    }

    #[test]
    fn a_program_is_allowed_by_its_very_path() {
        let two = programs("/usr/bin/ffmpeg, /opt/report");
        assert!(two.allow(&argv("/usr/bin/ffmpeg")) && two.allow(&argv("/opt/report")));
        for other in [
            "ffmpeg",
            "/usr/bin/ffmpeg2",
            "/usr/bin/../bin/ffmpeg",
            "/usr//bin/ffmpeg",
            "/usr/bin/ffmpeg ",
            "/OPT/report",
            "/opt",
            "sh",
            "",
        ] {
            assert!(!two.allow(&argv(other)), "{other}");
        }
        assert!(!two.allow(&Program::Shell("/opt/report".into())), "a shell could run anything");
    }

    #[test]
    fn a_shell_is_allowed_by_name_only() {
        let shell = programs("sh");
        assert!(shell.allow(&Program::Shell("ls | wc".into())));
        assert!(!shell.allow(&argv("sh")), "whatever that is along PATH");
        assert!(!shell.allow(&argv("/bin/sh")));
        assert!(!programs("/bin/sh").allow(&Program::Shell("ls".into())));
    }

    #[test]
    fn everything_is_allowed_by_a_star() {
        for program in [argv("true"), argv("/bin/true"), argv("sh"), Program::Shell("true".into())] {
            assert!(Programs::any().allow(&program) && programs("/a,*").allow(&program), "{program:?}");
        }
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
