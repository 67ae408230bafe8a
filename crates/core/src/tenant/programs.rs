//! Which programs a tenant's jobs may run: the third lock on commands, after the worker's flag and the key's scope.

use super::Programs;
use crate::target::Program;

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

/// Whether a tenant with this list may run the program.
pub fn may_run(list: &Programs, program: &Program) -> bool {
    let is_named = match program {
        Program::Argv(argv) => argv.first().is_some_and(|name| list.lists(name)),
        Program::Shell(_) => list.lists_shell(),
    };
    is_named || list.lists_all()
}

/// A shell or a star: there is nothing that these cannot run.
pub(super) fn may_run_everything(list: &Programs) -> bool {
    list.lists_all() || list.lists_shell()
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
            assert!(!may_run(&none, &program), "{program:?}");
        }
    }

    #[test]
    fn a_program_is_allowed_by_its_very_path() {
        let two = programs("/usr/bin/ffmpeg, /opt/report");
        assert!(may_run(&two, &argv("/usr/bin/ffmpeg")) && may_run(&two, &argv("/opt/report")));
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
            assert!(!may_run(&two, &argv(other)), "{other}");
        }
        assert!(!may_run(&two, &Program::Shell("/opt/report".into())), "a shell could run anything");
    }

    #[test]
    fn a_shell_is_allowed_by_name_only() {
        let shell = programs("sh");
        assert!(may_run(&shell, &Program::Shell("ls | wc".into())));
        assert!(!may_run(&shell, &argv("sh")), "whatever that is along PATH");
        assert!(!may_run(&shell, &argv("/bin/sh")));
        assert!(!may_run(&programs("/bin/sh"), &Program::Shell("ls".into())));
    }

    #[test]
    fn everything_is_allowed_by_a_star() {
        for program in [argv("true"), argv("/bin/true"), argv("sh"), Program::Shell("true".into())] {
            assert!(may_run(&Programs::any(), &program) && may_run(&programs("/a,*"), &program), "{program:?}");
        }
    }
}
