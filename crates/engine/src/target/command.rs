//! Runs a command on this machine.
//!
//! **What it gets.** Its arguments as they are (a shell only if the job asked for one), an environment that is empty but for
//! a short list of inherited names, the job's own and `FOREMAN_JOB_ID`, `FOREMAN_ATTEMPT`, `FOREMAN_FENCE` (and for a tick
//! of a schedule `FOREMAN_SCHEDULE` and `FOREMAN_SCHEDULED_FOR`); the job's body on its standard input, which then ends; and
//! a process group of its own.
//!
//! **How it ends.** When the command itself has ended, so has the attempt: whatever it left running in its group is killed.
//! (Work that should outlive it must leave the group, with `setsid`.) When the try is stopped the whole group gets TERM, some
//! seconds of grace, then KILL. If the attempt is dropped instead, the group is killed on the spot, and so is every group
//! when the process leaves in a hurry ([`kill_all`]). If *this* process is killed, nobody is left to do that: the command
//! runs on by itself, and its job is run again elsewhere.
//!
//! **What it prints** is read to the end, however much it is, so that a chatty command never stands still; the first 64 KiB
//! of each stream are kept, and the lines can be watched through [`OutputHub`].
//!
//! Any number of commands run at the same time; they share nothing here.

mod group;
mod output;
mod start;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::Target;
use foreman_core::outcome::{CommandReport, Ended, Report, classify_exit};
use foreman_core::ports::OutputStream;
use foreman_core::target::{CommandTarget, Route};
use nix::sys::signal::Signal;
use tokio::process::Child;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use self::group::Group;
pub use self::group::kill_all;
use self::output::{Captured, write_input};
use super::{Ending, Runner, Try};
use crate::output::OutputHub;

/// What a command inherits of our environment: what it needs to find programs and write text, and no secret.
pub const INHERITED: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER"];

/// A process that left the group may hold our pipes open for as long as it likes; we do not wait that long.
const LAST_WORDS: Duration = Duration::from_millis(250);

#[derive(Clone, Debug)]
pub struct Config {
    /// What every command finds in its environment. The binary fills it with those of [`INHERITED`] that are set.
    pub inherited: Vec<(String, String)>,
    /// Between TERM and KILL.
    pub kill_grace: Duration,
    /// What is kept of each of the two streams.
    pub capture_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { inherited: Vec::new(), kill_grace: Duration::from_secs(5), capture_bytes: 64 * 1024 }
    }
}

pub struct CommandRunner {
    config: Config,
    output: OutputHub,
}

impl CommandRunner {
    pub fn new(config: Config, output: OutputHub) -> Self {
        Self { config, output }
    }

    async fn see_through(&self, mut child: Child, target: &CommandTarget, attempt: &Try) -> Ending {
        let mut group = Group::led_by(&child);
        let feed = self.output.open(attempt.job.id);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut out = Captured::new(self.config.capture_bytes, feed.lines(OutputStream::Stdout));
        let mut err = Captured::new(self.config.capture_bytes, feed.lines(OutputStream::Stderr));
        let end = {
            let talk = async {
                let input = target.input.as_str().as_bytes();
                tokio::join!(write_input(stdin, input), out.read(stdout), err.read(stderr));
            };
            let (mut talk, mut is_silent) = (pin!(talk), false);
            let mut live = Box::pin(live(&mut child, &group, &attempt.stop, self.config.kill_grace));
            let end = loop {
                tokio::select! {
                    biased;
                    end = &mut live => break end,
                    () = &mut talk, if !is_silent => is_silent = true,
                }
            };
            drop(live);
            group.finish();
            if !is_silent {
                // What the group wrote before it died is in the pipes still.
                let _ = timeout(LAST_WORDS, talk).await;
            }
            end
        };
        let ((stdout, stdout_truncated), (stderr, stderr_truncated)) = (out.into_text(), err.into_text());
        let report = CommandReport { stdout, stderr, stdout_truncated, stderr_truncated, ..CommandReport::default() };
        judge(end, target, report)
    }
}

#[async_trait]
impl Runner for CommandRunner {
    fn routes(&self) -> Vec<Route> {
        vec![Route::command()]
    }

    async fn run(&self, attempt: &Try) -> Ending {
        let Target::Command(target) = &attempt.job.work.target else { return Ending::misrouted("command", attempt) };
        match start::spawn(target, attempt, &self.config) {
            Ok(child) => self.see_through(child, target, attempt).await,
            Err(not_started) => not_started.into_ending(&target.exit_codes),
        }
    }
}

struct End {
    status: io::Result<ExitStatus>,
    is_stopped: bool,
}

/// Waits for the command to end, and makes it end when the try is stopped.
async fn live(child: &mut Child, group: &Group, stop: &CancellationToken, grace: Duration) -> End {
    tokio::select! {
        biased;
        status = child.wait() => return End { status, is_stopped: false },
        () = stop.cancelled() => {}
    }
    let deadline = Instant::now() + grace;
    group.signal(Signal::SIGTERM);
    let status = if let Ok(status) = timeout_at(deadline, child.wait()).await {
        // A shell dies of TERM at once, while what it had started is still tidying up: the grace is theirs too.
        group.gone_by(deadline).await;
        status
    } else {
        group.signal(Signal::SIGKILL);
        child.wait().await
    };
    End { status, is_stopped: true }
}

fn judge(end: End, target: &CommandTarget, mut output: CommandReport) -> Ending {
    let (ended, error) = match end.status {
        Ok(status) => {
            (output.exit_code, output.signal) = (status.code(), status.signal());
            (classify_exit(status.code(), &target.exit_codes), describe(status))
        }
        // Somebody else reaped our child; whether it did its work is not to be known any more.
        Err(error) => (Ended::Again { after: None }, format!("lost sight of the command: {error}")),
    };
    let (ended, error) = match ended {
        _ if end.is_stopped => (Ended::Interrupted, Some(format!("stopped: {error}"))),
        Ended::Completed => (ended, None),
        _ => (ended, Some(error)),
    };
    Ending { ended, report: Report { error, output: Some(output), ..Report::default() } }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(number)) => match Signal::try_from(number) {
            Ok(signal) => format!("killed by signal {number} ({signal})"),
            Err(_) => format!("killed by signal {number}"),
        },
        (None, None) => status.to_string(),
    }
}
