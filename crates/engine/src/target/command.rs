//! Runs a command on this machine.
//!
//! **Whether it may.** Three locks: the worker was started with commands, the key that submitted the job had the scope, and
//! the tenant's list names the program. The first two are others'; the third is asked here at each attempt ([`Permits`]).
//!
//! **What it gets.** Its arguments as they are (a shell only if the job asked for one), an environment that is empty but for
//! a short list of inherited names, the job's own and `FOREMAN_JOB_ID`, `FOREMAN_ATTEMPT`, `FOREMAN_FENCE` (and for a tick
//! of a schedule `FOREMAN_SCHEDULE` and `FOREMAN_SCHEDULED_FOR`); the job's body on its standard input, which then ends; a
//! directory of its own, unless the job names one; and a process group of its own.
//!
//! **What it does not get.** It is started by a [`Launcher`], which takes from it all that it need not have: more of the
//! machine than its [`ProcessLimits`], new privileges, and, where that is set, Foreman's own user. See [`launch`].
//!
//! **How it ends.** When the command itself has ended, so has the attempt: whatever it left running in its group is killed.
//! What left the group on purpose (`setsid`) goes on, unless its tenant has a user of its own: then it ends with the last command of
//! that user ([`Users`]). When the try is stopped the whole group gets TERM, some
//! seconds of grace, then KILL. If the attempt is dropped instead, the group is killed on the spot, and so is every group
//! when the process leaves in a hurry ([`kill_all`]). If *this* process is killed, the kernel kills the command, as its
//! launcher asked it to; what the command had started itself may run on, and the job is run again elsewhere.
//!
//! **What it prints** is read to the end, however much it is, so that a chatty command never stands still; the first 64 KiB
//! of each stream are kept, and the lines can be watched through [`OutputHub`].
//!
//! Any number of commands run at the same time; all they share here is the thread that starts them.

mod group;
pub mod launch;
mod limits;
pub mod orphans;
mod output;
mod permits;
mod plan;
mod scratch;
mod spawner;
mod start;
mod users;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::outcome::{AttemptEnd, CommandReport, Report, classify_exit};
use foreman_core::ports::OutputStream;
use foreman_core::sealed::Keyring;
use foreman_core::target::{CommandTarget, Route};
use foreman_core::{Target, TenantId};
use nix::sys::signal::Signal;
use tokio::process::Child;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use self::group::ProcessGroup;
pub use self::group::kill_all;
pub use self::limits::ProcessLimits;
use self::output::{Captured, write_input};
pub use self::permits::{OpenDefault, Permits, Unlocked};
pub use self::plan::Identity;
use self::start::Started;
use self::users::UserLease;
pub use self::users::{NoUser, Users};
use super::{Runner, Try, TryEnding};
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
    /// Where a command whose job names no directory gets one of its own. `None`: it runs where this process runs.
    pub scratch: Option<PathBuf>,
    /// `None`: commands are started as they are, with all that this process has.
    pub launcher: Option<Launcher>,
    /// Whose commands may share a user.
    pub sharing: Sharing,
    /// Opens the variables of a job.
    pub keyring: Option<Arc<Keyring>>,
}

/// Whose commands run as the same user of the machine, where they can read each other's variables and files, and end each other.
#[derive(Clone)]
pub enum Sharing {
    /// Everybody's.
    AnyTenants,
    /// One tenant's: the first whose command runs here, as long as this process lives. Those of others are tried again elsewhere.
    OneTenant,
    /// Each tenant has a user of its own, instead of the launcher's.
    Nobody(Arc<Users>),
}

impl std::fmt::Debug for Sharing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sharing::AnyTenants => "AnyTenants",
            Sharing::OneTenant => "OneTenant",
            Sharing::Nobody(_) => "Nobody",
        })
    }
}

/// An attempt at a command that this worker does not run is better made by another; until then it waits.
const ELSEWHERE: Duration = Duration::from_secs(30);

/// By whom commands are started, and what it holds them to.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// A program that calls [`launch::run`] with all that comes after `words`.
    pub program: PathBuf,
    pub words: Vec<String>,
    pub limits: ProcessLimits,
    /// Who the commands are. `None`: who this process is. Only root can start them as somebody else.
    pub user: Option<Identity>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            inherited: Vec::new(),
            kill_grace: Duration::from_secs(5),
            capture_bytes: 64 * 1024,
            scratch: None,
            launcher: None,
            sharing: Sharing::AnyTenants,
            keyring: None,
        }
    }
}

pub struct CommandRunner {
    config: Config,
    permits: Arc<dyn Permits>,
    output: OutputHub,
    /// The only tenant whose commands run here, once there was one.
    only: OnceLock<TenantId>,
}

impl CommandRunner {
    pub fn new(config: Config, permits: Arc<dyn Permits>, output: OutputHub) -> Self {
        Self { config, permits, output, only: OnceLock::new() }
    }

    /// The user that the command runs as, where its tenant has one; or how an attempt ends that must not begin.
    async fn seat(&self, tenant: &TenantId) -> Result<Option<UserLease>, TryEnding> {
        match &self.config.sharing {
            Sharing::AnyTenants => Ok(None),
            Sharing::OneTenant => match self.only.get_or_init(|| tenant.clone()) {
                only if only == tenant => Ok(None),
                only => Err(TryEnding {
                    ended: AttemptEnd::Again { after: Some(ELSEWHERE) },
                    ..TryEnding::again(format!(
                        "this worker runs commands of the tenant {only}, and commands of {tenant} would run as the same user: set \
                         commands.users, run one worker per tenant, or allow it with commands.share_user"
                    ))
                }),
            },
            Sharing::Nobody(users) => match users.lease(tenant).await {
                Ok(lease) => Ok(Some(lease)),
                Err(error) => {
                    Err(TryEnding::again(format!("no user is available to run a command of {tenant}: {error}")))
                }
            },
        }
    }

    async fn see_through(
        &self,
        started: Started,
        lease: Option<UserLease>,
        target: &CommandTarget,
        attempt: &Try,
    ) -> TryEnding {
        // Dropped in the opposite order: the group is killed, its leader reaped, what is left of its user ended, and then their directory
        // removed.
        let scratch = started.scratch;
        let lease = lease;
        let mut child = started.spawned.child;
        let mut group = started.spawned.group;
        let mut launch = started.launch;
        let feed = self.output.open(attempt.job.id);
        let lines = |stream| feed.lines(stream).hiding(Arc::clone(&started.known));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut out = Captured::new(self.config.capture_bytes, lines(OutputStream::Stdout));
        let mut err = Captured::new(self.config.capture_bytes, lines(OutputStream::Stderr));
        let end = {
            let talk = async {
                let input = target.input.as_str().as_bytes();
                let listen = async {
                    if let Some(launch) = &mut launch {
                        launch.listen().await;
                    }
                };
                tokio::join!(write_input(stdin, input), out.read(stdout), err.read(stderr), listen);
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
        // First what it left running, then where that ran.
        if let Some(lease) = lease {
            lease.end().await;
        }
        if let Some(scratch) = scratch {
            scratch.remove().await;
        }
        let ((stdout, stdout_truncated), (stderr, stderr_truncated)) = (out.into_text(), err.into_text());
        if !end.is_stopped
            && let Some(launch) = launch
            && let Some(not_started) = launch.refusal(target, &end.how(), &stderr)
        {
            return not_started.into_ending(&target.exit_codes);
        }
        let report = CommandReport { stdout, stderr, stdout_truncated, stderr_truncated, ..CommandReport::default() };
        judge(end, target, report)
    }
}

#[async_trait]
impl Runner for CommandRunner {
    fn routes(&self) -> Vec<Route> {
        vec![Route::command(), Route::sealed_command()]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        let Target::Command(target) = &attempt.job.work.target else { return TryEnding::misrouted("command", attempt) };
        if let Some(refusal) = permits::refusal(&*self.permits, attempt, &target.program).await {
            return refusal;
        }
        let lease = match self.seat(&attempt.job.tenant).await {
            Ok(lease) => lease,
            Err(ending) => return ending,
        };
        let user = lease.as_ref().and_then(UserLease::identity);
        match start::start(target, attempt, &self.config, user).await {
            Ok(started) => {
                let known = Arc::clone(&started.known);
                let mut ending = self.see_through(started, lease, target, attempt).await;
                ending.report.hide(&known);
                ending
            }
            Err(not_started) => not_started.into_ending(&target.exit_codes),
        }
    }
}

struct ProcessEnd {
    status: io::Result<ExitStatus>,
    is_stopped: bool,
}

impl ProcessEnd {
    fn how(&self) -> String {
        self.status.as_ref().map_or_else(|_| "ended with an unknown status".into(), |status| describe(*status))
    }
}

/// Waits for the command to end, and makes it end when the try is stopped.
async fn live(child: &mut Child, group: &ProcessGroup, stop: &CancellationToken, grace: Duration) -> ProcessEnd {
    tokio::select! {
        biased;
        status = child.wait() => return ProcessEnd { status, is_stopped: false },
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
    ProcessEnd { status, is_stopped: true }
}

fn judge(end: ProcessEnd, target: &CommandTarget, mut output: CommandReport) -> TryEnding {
    let (ended, error) = match end.status {
        Ok(status) => {
            (output.exit_code, output.signal) = (status.code(), status.signal());
            (classify_exit(status.code(), &target.exit_codes), describe(status))
        }
        // Somebody else reaped our child; whether it did its work is not to be known any more.
        Err(error) => (AttemptEnd::Again { after: None }, format!("cannot determine how the command ended: {error}")),
    };
    let (ended, error) = match ended {
        _ if end.is_stopped => (AttemptEnd::Interrupted, Some(format!("stopped: {error}"))),
        AttemptEnd::Completed => (ended, None),
        _ => (ended, Some(error)),
    };
    TryEnding { ended, report: Report { error, output: Some(output), ..Report::default() } }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(number)) => match Signal::try_from(number) {
            Ok(Signal::SIGXFSZ) => format!("killed by signal {number} (SIGXFSZ): it exceeded the file size limit"),
            Ok(Signal::SIGXCPU) => {
                format!("killed by signal {number} (SIGXCPU): it exceeded the CPU time limit")
            }
            Ok(signal) => format!("killed by signal {number} ({signal})"),
            Err(_) => format!("killed by signal {number}"),
        },
        (None, None) => status.to_string(),
    }
}
