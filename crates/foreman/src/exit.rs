//! What the process says with its exit code. People script against these.

use std::process::ExitCode;

/// Told in `--help`.
pub const HELP: &str = "\
Exit codes:
  0  it was done; `submit --wait`, `jobs wait` and `watch --until-final`: the job completed
  1  refused or failed; `doctor`: something needs attention; `submit --wait`, `jobs wait` and `watch --until-final`: the job
     failed or is dead, or one of them did
  2  a mistake in flags, settings or the job itself
  3  `submit --wait`, `jobs wait` and `watch --until-final`: the job was cancelled
  4  `submit --wait`, `jobs wait` and `watch --until-final`: timed out; the job goes on
  5  the server is away

A server (`dev`, `api`, `worker`, `scheduler`) exits with 0 when everything drained, 1 when it could not start or failed, 2 for a mistake in
flags or settings, 3 when work was handed back at the deadline or after a second signal, and 4 when something was wedged
and the process left without waiting for it. Nothing that was accepted is lost in any of these cases.";

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
    if error.is::<UsageError>() || error.is::<crate::config::Mistakes>() {
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
