//! Exit codes. People script against them.

use std::process::ExitCode;

/// Printed by `--help`. No line is longer than 100 columns, where clap would wrap it again.
pub const HELP: &str = "\
Exit codes:
  0  success
  1  the request was rejected or failed; `doctor`: something needs attention
  2  invalid flags, settings or job
  5  the server is unreachable

Exit codes of `submit --wait`, `jobs wait` and `watch --until-final`:
  0  the job completed
  1  the job failed or is dead, or one of several did
  3  the job was cancelled
  4  timed out; the job continues

Exit codes of a server (`dev`, `api`, `worker`, `scheduler`):
  0  all work finished before the deadline
  1  the server could not start, or failed
  2  invalid flags or settings
  3  unfinished work was handed back, at the deadline or after a second signal
  4  a task hung, and the process exited without waiting for it
No accepted job is lost in any of these cases.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Cancelled = 3,
    TimedOut = 4,
    Away = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// How a server ended. Shares its numbers with [`Exit`] where they mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerExit {
    Drained = 0,
    HandedBack = 3,
    Wedged = 4,
}

impl From<ServerExit> for ExitCode {
    fn from(exit: ServerExit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The user asked for something that cannot be: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// The same, on its way to `main`.
pub fn usage(text: impl Into<String>) -> anyhow::Error {
    UsageError(text.into()).into()
}

/// The exit code of a command that ended with an error.
pub fn of_error(error: &anyhow::Error) -> Exit {
    if error.is::<UsageError>() || error.is::<crate::config::SettingMistakes>() {
        return Exit::Usage;
    }
    match error.downcast_ref::<foreman_client::Error>() {
        Some(foreman_client::Error::Away { .. } | foreman_client::Error::BadAnswer { .. }) => Exit::Away,
        Some(foreman_client::Error::Setup(_)) => Exit::Usage,
        // Stopping or overloaded: as good as away.
        Some(foreman_client::Error::Problem(problem)) if problem.status == 503 => Exit::Away,
        _ => Exit::Failed,
    }
}

/// The same for a submission, where 1 would be read as "the job failed": a job that was refused is a mistake in it, and a
/// server that cannot take it is away.
pub fn of_submission(error: &anyhow::Error) -> Exit {
    match error.downcast_ref::<foreman_client::Error>().and_then(foreman_client::Error::status) {
        Some(400..=499) => Exit::Usage,
        Some(500..=599) => Exit::Away,
        _ => of_error(error),
    }
}
