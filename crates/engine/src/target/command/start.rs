//! Starts a command, or says why it cannot be started.
//!
//! By way of a launcher, which holds it to its limits ([`super::launch`]); or, where there is none, as it is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use foreman_core::outcome::{AttemptEnd, classify_exit};
use foreman_core::redact::KnownSecrets;
use foreman_core::sealed::SealedFor;
use foreman_core::secret_map::CannotOpen;
use foreman_core::target::{CommandTarget, ENV_PLACE, ExitCodes};
use nix::fcntl::OFlag;
use nix::unistd::{getpid, pipe2};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::Command;

use super::plan::{Identity, LaunchPlan, LaunchRefusal, LaunchStep, LauncherAnswer, mark};
use super::scratch::Scratch;
use super::spawner::{self, Spawned};
use super::{Config, Launcher};
use crate::target::{Try, TryEnding};

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
    #[error("cannot decrypt the variables of the command: {0}")]
    Sealed(CannotOpen),
    #[error("cannot create a directory for the command in {parent}: {error}")]
    Scratch { parent: String, error: io::Error },
    #[error("cannot start the command launcher: {0}")]
    Launcher(io::Error),
    #[error("the command launcher cannot {}: {}", .0.step.what(), .0.error())]
    Refused(LaunchRefusal),
    #[error("the command launcher {how} before it started the command: {said}")]
    Lost { how: String, said: String },
}

impl NotStarted {
    /// What a shell would have told by an exit code counts as that exit code, so that a job may say otherwise. A machine
    /// that is short of something right now, or wrongly set up, is worth another try; the rest is not.
    pub(super) fn into_ending(self, codes: &ExitCodes) -> TryEnding {
        let ended = match &self {
            NotStarted::Empty | NotStarted::Directory { .. } => AttemptEnd::Failed,
            NotStarted::Program { error, .. } => match error.kind() {
                io::ErrorKind::NotFound => classify_exit(Some(NOT_FOUND), codes),
                io::ErrorKind::PermissionDenied => classify_exit(Some(NOT_EXECUTABLE), codes),
                _ if is_unrunnable(error) => classify_exit(Some(NOT_EXECUTABLE), codes),
                _ if is_malformed(error) => AttemptEnd::Failed,
                _ => AttemptEnd::Again { after: None },
            },
            NotStarted::Sealed(_)
            | NotStarted::Scratch { .. }
            | NotStarted::Launcher(_)
            | NotStarted::Refused(_)
            | NotStarted::Lost { .. } => AttemptEnd::Again { after: None },
        };
        TryEnding { ended, ..TryEnding::again(self.to_string()) }
    }
}

/// Found and permitted, but nothing this machine can run.
fn is_unrunnable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ENOEXEC as i32)
}

/// No process can be given such arguments or variables.
fn is_malformed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::ArgumentListTooLong)
}

/// A command that was started, or a launcher on its way to it.
pub(super) struct Started {
    pub(super) spawned: Spawned,
    pub(super) launch: Option<Launch>,
    /// Removed after the processes that use it are gone.
    pub(super) scratch: Option<Scratch>,
    /// What it was given in confidence.
    pub(super) known: Arc<KnownSecrets>,
}

/// `user`: instead of the launcher's.
pub(super) async fn start(
    target: &CommandTarget,
    attempt: &Try,
    config: &Config,
    user: Option<Identity>,
) -> Result<Started, NotStarted> {
    let user = user.or_else(|| config.launcher.as_ref().and_then(|launcher| launcher.user));
    let argv = target.program.argv();
    let program = argv.first().ok_or(NotStarted::Empty)?;
    let (environment, known) = environment(target, attempt, config).map_err(NotStarted::Sealed)?;
    let scratch = match (&target.cwd, &config.scratch) {
        (None, Some(parent)) => Some(scratch(parent, user)?),
        _ => None,
    };
    let directory = target.cwd.as_deref().map(Path::new).or_else(|| scratch.as_ref().map(Scratch::path));
    let (spawned, launch) = match &config.launcher {
        Some(launcher) => {
            let (spawned, launch) = launch(launcher, user, &argv, &environment, directory, target).await?;
            (spawned, Some(launch))
        }
        None => (start_as_it_is(&argv, &environment, directory, target).await?, None),
    };
    tracing::trace!(job.id = %attempt.job.id, "started {program}");
    Ok(Started { spawned, launch, scratch, known: Arc::new(known) })
}

/// What is said later counts: Foreman's own names are not for a job to choose.
fn environment(
    target: &CommandTarget,
    attempt: &Try,
    config: &Config,
) -> Result<(BTreeMap<String, String>, KnownSecrets), CannotOpen> {
    let place = SealedFor { tenant: &attempt.job.tenant, name: ENV_PLACE };
    let of_job = target.env.open(config.keyring.as_deref(), place)?;
    let mut all: BTreeMap<String, String> = config.inherited.iter().cloned().collect();
    all.extend(of_job.iter().map(|(name, value)| (name.clone(), value.clone())));
    all.extend([
        ("FOREMAN_JOB_ID".to_owned(), attempt.job.id.to_string()),
        ("FOREMAN_ATTEMPT".to_owned(), attempt.attempt.to_string()),
        ("FOREMAN_FENCE".to_owned(), attempt.fence.to_string()),
    ]);
    if let Some(occasion) = &attempt.job.work.occasion {
        all.insert("FOREMAN_SCHEDULE".into(), occasion.schedule.clone());
        all.insert("FOREMAN_SCHEDULED_FOR".into(), occasion.nominal.to_string());
    }
    Ok((all, KnownSecrets::of(&of_job)))
}

fn scratch(parent: &Path, owner: Option<Identity>) -> Result<Scratch, NotStarted> {
    Scratch::make(parent, owner).map_err(|error| NotStarted::Scratch { parent: parent.display().to_string(), error })
}

async fn start_as_it_is(
    argv: &[String],
    environment: &BTreeMap<String, String>,
    directory: Option<&Path>,
    target: &CommandTarget,
) -> Result<Spawned, NotStarted> {
    let program = &argv[0];
    let mut command = Command::new(program);
    command.args(&argv[1..]).env_clear().envs(environment);
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    wire(&mut command, target);
    spawner::spawn(command, None).await.map_err(|error| explain(error, program, directory))
}

fn wire(command: &mut Command, target: &CommandTarget) {
    command
        .stdin(if target.input.is_none() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
}

/// The system says "no such file" of the directory and of the program alike.
fn explain(error: io::Error, program: &str, directory: Option<&Path>) -> NotStarted {
    if let Some(directory) = directory
        // With the dot, so that a directory that may be seen but not entered is told as well.
        && let Err(error) = directory.join(".").metadata()
    {
        return NotStarted::Directory { directory: directory.display().to_string(), error };
    }
    NotStarted::Program { program: program.into(), error }
}

/// What the launcher of a command says.
pub(super) struct Launch {
    report: pipe::Receiver,
    said: Vec<u8>,
}

/// More than a launcher ever says.
const LONGEST: usize = 64;

async fn launch(
    launcher: &Launcher,
    user: Option<Identity>,
    argv: &[String],
    environment: &BTreeMap<String, String>,
    directory: Option<&Path>,
    target: &CommandTarget,
) -> Result<(Spawned, Launch), NotStarted> {
    let (report, its_end) = report_pipe().map_err(NotStarted::Launcher)?;
    let plan = LaunchPlan {
        parent: getpid().as_raw(),
        report: Some(its_end.as_raw_fd()),
        limits: launcher.limits.each(),
        user,
        directory: directory.map(|path| path.as_os_str().to_owned()),
        argv: argv.iter().map(Into::into).collect(),
    };
    let mut command = Command::new(&launcher.program);
    command
        .args(&launcher.words)
        .args(plan.into_words())
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (mark(OsStr::new(name)), value)));
    wire(&mut command, target);
    let spawned = spawner::spawn(command, Some(its_end)).await.map_err(|error| {
        if is_malformed(&error) {
            NotStarted::Program { program: argv[0].clone(), error }
        } else {
            NotStarted::Launcher(error)
        }
    })?;
    Ok((spawned, Launch { report, said: Vec::new() }))
}

fn report_pipe() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (ours, its) = pipe2(OFlag::O_CLOEXEC)?;
    Ok((pipe::Receiver::from_owned_fd(ours)?, its))
}

impl Launch {
    /// Listens until the launcher is through with it. May be dropped and called again.
    pub(super) async fn listen(&mut self) {
        let mut chunk = [0; LONGEST];
        while let Ok(length @ 1..) = self.report.read(&mut chunk).await {
            self.said.extend_from_slice(&chunk[..length]);
            if self.said.len() > LONGEST {
                return;
            }
        }
    }

    /// Why the command was not started, if it was not. For the case that the launcher did not say: how it ended, and what
    /// it printed.
    pub(super) fn refusal(&self, target: &CommandTarget, how: &str, printed: &str) -> Option<NotStarted> {
        let program = || target.program.argv().first().cloned().unwrap_or_default();
        match LauncherAnswer::read(&self.said) {
            LauncherAnswer::Started => None,
            LauncherAnswer::Nothing => Some(NotStarted::Lost { how: how.into(), said: printed.trim().into() }),
            LauncherAnswer::Refused(refusal) => Some(match refusal.step {
                LaunchStep::Program => NotStarted::Program { program: program(), error: refusal.error() },
                // One that we made is ours to answer for.
                LaunchStep::Directory if let Some(directory) = &target.cwd => {
                    NotStarted::Directory { directory: directory.clone(), error: refusal.error() }
                }
                _ => NotStarted::Refused(refusal),
            }),
        }
    }
}
