//! Starts a command, or says why it cannot be started.

use std::io;
use std::path::Path;
use std::process::Stdio;

use foreman_core::outcome::{Ended, classify_exit};
use foreman_core::target::{CommandTarget, ExitCodes};
use tokio::process::{Child, Command};

use super::Config;
use crate::target::{Ending, Try};

/// What a shell answers when there is no such program, and when it may not be run.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

#[derive(Debug, thiserror::Error)]
pub(super) enum NotStarted {
    #[error("the command is empty")]
    Empty,
    #[error("cannot enter {directory}: {error}")]
    Directory { directory: String, error: io::Error },
    #[error("cannot run {program}: {error}")]
    Program { program: String, error: io::Error },
}

impl NotStarted {
    /// What a shell would have told by an exit code counts as that exit code, so that a job may say otherwise. A machine
    /// that is short of something right now is worth another try; the rest is not.
    pub(super) fn into_ending(self, codes: &ExitCodes) -> Ending {
        let ended = match &self {
            NotStarted::Empty | NotStarted::Directory { .. } => Ended::Failed,
            NotStarted::Program { error, .. } => match error.kind() {
                io::ErrorKind::NotFound => classify_exit(Some(NOT_FOUND), codes),
                io::ErrorKind::PermissionDenied => classify_exit(Some(NOT_EXECUTABLE), codes),
                _ if is_unrunnable(error) => classify_exit(Some(NOT_EXECUTABLE), codes),
                io::ErrorKind::InvalidInput | io::ErrorKind::ArgumentListTooLong => Ended::Failed,
                _ => Ended::Again { after: None },
            },
        };
        Ending { ended, ..Ending::again(self.to_string()) }
    }
}

/// Found and permitted, but nothing this machine can run.
fn is_unrunnable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ENOEXEC as i32)
}

pub(super) fn spawn(target: &CommandTarget, attempt: &Try, config: &Config) -> Result<Child, NotStarted> {
    let argv = target.program.argv();
    let (program, arguments) = argv.split_first().ok_or(NotStarted::Empty)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(config.inherited.iter().map(|(name, value)| (name, value)))
        .envs(&target.env)
        .env("FOREMAN_JOB_ID", attempt.job.id.to_string())
        .env("FOREMAN_ATTEMPT", attempt.attempt.to_string())
        .env("FOREMAN_FENCE", attempt.fence.to_string())
        .stdin(if target.input.is_none() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(occasion) = &attempt.job.work.occasion {
        command.env("FOREMAN_SCHEDULE", &occasion.schedule).env("FOREMAN_SCHEDULED_FOR", occasion.nominal.to_string());
    }
    if let Some(directory) = &target.cwd {
        command.current_dir(directory);
    }
    command.spawn().map_err(|error| explain(error, program, target.cwd.as_deref()))
}

/// The system says "no such file" of the directory and of the program alike.
fn explain(error: io::Error, program: &str, directory: Option<&str>) -> NotStarted {
    if let Some(directory) = directory
        // With the dot, so that a directory that may be seen but not entered is told as well.
        && let Err(error) = Path::new(directory).join(".").metadata()
    {
        return NotStarted::Directory { directory: directory.into(), error };
    }
    NotStarted::Program { program: program.into(), error }
}
