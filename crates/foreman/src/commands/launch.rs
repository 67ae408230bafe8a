//! `foreman launch-command`: started by Foreman itself, in front of each command that a job runs. Not for people.
//!
//! What it does is told in [`launch`]. It comes before everything else that the binary does, in `main`: no command line is
//! parsed, no log is opened and no thread is started on the way to a program.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use foreman_engine::target::command::launch::{self, NotAPlan, NotLaunched};
use foreman_engine::target::command::{Identity, Launcher, ProcessLimits};

const WORD: &str = "launch-command";

const ABOUT: &str = "\
Foreman uses `foreman launch-command` internally to start the commands of jobs: it drops privileges, sets limits and then
executes the command. Do not run it yourself; use `foreman submit --command …`.";

/// This binary. By the kernel's own link to it: a deploy may have put another version at its path meanwhile, which might
/// understand other words, or have taken it away.
pub fn launcher(limits: ProcessLimits, user: Option<Identity>) -> Launcher {
    Launcher { program: PathBuf::from("/proc/self/exe"), words: vec![WORD.into()], limits, user }
}

/// Becomes a command if this process was started for that. Returns if it was not, or if that failed.
pub fn if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let failed = launch::run(words, environment());
    // To a person, or to the output of the attempt. Nobody may be there.
    let _ = match &failed {
        NotLaunched::Swept => Ok(()),
        NotLaunched::Misused(NotAPlan::Empty) => writeln!(io::stderr(), "{ABOUT}"),
        NotLaunched::Misused(error) => writeln!(io::stderr(), "foreman {WORD}: {error}\n\n{ABOUT}"),
        _ => writeln!(io::stderr(), "foreman {WORD}: {failed}"),
    };
    Some(ExitCode::from(failed.exit_code()))
}

#[expect(clippy::disallowed_methods, reason = "passed on to the command as it is, and no setting of ours")]
fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}
