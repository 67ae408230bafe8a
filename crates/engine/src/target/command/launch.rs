//! What the launcher does: a process between Foreman and a command, which gives up all it can and then becomes the command.
//!
//! Foreman cannot do this to its own child, for between fork and exec nothing is safe; so it starts *itself* again, with a
//! hidden word in front, and the new process, which has one thread and nothing to lose, does it to itself:
//!
//! 1. Files that somebody left open for it are closed, but for the three streams. Files that it makes are its own alone
//!    (umask 077).
//! 2. It becomes the user that runs commands, if there is one, with no group but that user's.
//! 3. Nothing it runs gains privileges: the set-user-id bit of a program counts for nothing.
//! 4. It dies when Foreman dies, however Foreman dies. If that has happened already, it ends.
//! 5. It enters its directory, as that user; the limits are set; the program is started in its place.
//!
//! What goes wrong is said on a pipe that the start of the program closes: the program cannot write to it, so it cannot
//! pretend. A launcher that dies half way has started nothing and says nothing, and Foreman sees both.
//!
//! The fourth point is about one *thread* of Foreman, see [`super::spawner`]. A program can take it back, and it does not
//! pass on to the command's own children.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Pid, Uid, chdir, close, getppid, setgroups, setresgid, setresuid};

pub use super::plan::NotAPlan;
use super::plan::{Identity, LaunchPlan, LaunchRefusal, LaunchStep, READY, unmark};

/// Does what the words say and becomes the program they name. Returns only when it could not.
///
/// For a process with one thread that was started for nothing else: it is of no use for anything else afterwards.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> NotLaunched {
    let mut words = words.into_iter().peekable();
    if words.next_if(|word| word == SWEEP).is_some() {
        return sweep(words.next());
    }
    let plan = match LaunchPlan::read(words) {
        Ok(plan) => plan,
        Err(error) => return NotLaunched::Misused(error),
    };
    let mut report = match ReportChannel::open(&plan) {
        Ok(report) => report,
        Err(error) => return NotLaunched::Unheard(error),
    };
    let refusal = carry_out(plan, environment, &mut report);
    report.refused(refusal);
    NotLaunched::Refused(refusal)
}

const SWEEP: &str = "--sweep";

/// What the launcher is told to end everything of a user, see [`super::users`].
pub(super) fn sweep_words(Identity { uid, gid }: Identity) -> [String; 2] {
    [SWEEP.to_owned(), format!("{uid}:{gid}")]
}

/// Becomes the user and kills all that it may, which is all of that user and nothing else. The call spares whoever makes it.
fn sweep(user: Option<OsString>) -> NotLaunched {
    let Some(user) = user.as_ref().and_then(|user| user.to_str()).and_then(Identity::read) else {
        return NotLaunched::Misused(NotAPlan::Value(SWEEP));
    };
    // As root it would be everything there is.
    if user.uid == 0 {
        return NotLaunched::Misused(NotAPlan::Value(SWEEP));
    }
    if let Err(errno) = become_user(user) {
        return NotLaunched::Refused(LaunchRefusal { step: LaunchStep::User, errno });
    }
    match kill(Pid::from_raw(-1), Signal::SIGKILL) {
        // There was nothing.
        Ok(()) | Err(Errno::ESRCH) => NotLaunched::Swept,
        Err(errno) => NotLaunched::Refused(LaunchRefusal { step: LaunchStep::User, errno }),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NotLaunched {
    #[error("nothing to launch: all processes of the user were killed")]
    Swept,
    #[error(transparent)]
    Misused(NotAPlan),
    #[error("cannot reach the process that started this launcher: {0}")]
    Unheard(io::Error),
    #[error("cannot {}: {}", .0.step.what(), .0.error())]
    Refused(LaunchRefusal),
}

impl NotLaunched {
    /// As a shell would have it, and `env` and `timeout`: it is 125 that they call a failure of their own.
    pub fn exit_code(&self) -> u8 {
        match self {
            NotLaunched::Swept => 0,
            NotLaunched::Misused(_) => 2,
            NotLaunched::Refused(LaunchRefusal { step: LaunchStep::Program, errno: Errno::ENOENT }) => 127,
            NotLaunched::Refused(LaunchRefusal { step: LaunchStep::Program, .. }) => 126,
            NotLaunched::Unheard(_) | NotLaunched::Refused(_) => 125,
        }
    }
}

fn carry_out(
    plan: LaunchPlan,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    report: &mut ReportChannel,
) -> LaunchRefusal {
    match prepare(&plan) {
        Ok(()) => {}
        Err(refusal) => return refusal,
    }
    let mut command = Command::new(&plan.argv[0]);
    command.args(&plan.argv[1..]).env_clear();
    let mut given: usize = plan.argv.iter().map(|word| word.len()).sum();
    for (name, value) in environment {
        if let Some(name) = unmark(&name) {
            given += name.len() + value.len();
            command.env(name, value);
        }
    }
    if plan.limits.iter().any(|limit| limit.is_on_memory()) {
        lay_in_memory(given);
    }
    for limit in &plan.limits {
        if let Err(errno) = limit.set() {
            return LaunchRefusal { step: LaunchStep::Limit, errno };
        }
    }
    report.ready();
    let error = command.exec();
    LaunchRefusal { step: LaunchStep::Program, errno: error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw) }
}

/// On the last step all that the program is given is copied once more, and by then there may be a limit on memory that is
/// below what this process has already: it would be refused a single byte. So we take what that needs and some more, and
/// give it back to the allocator but not to the system: small pieces, with one on top that stays.
fn lay_in_memory(given: usize) {
    const PIECE: usize = 32 << 10;
    let pieces: Vec<Vec<u8>> = (0..given * 2 / PIECE + 8).map(|_| vec![1; PIECE]).collect();
    std::mem::forget(std::hint::black_box(vec![1_u8; PIECE]));
    drop(std::hint::black_box(pieces));
}

fn prepare(plan: &LaunchPlan) -> Result<(), LaunchRefusal> {
    let at = |step| move |errno| LaunchRefusal { step, errno };
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    if let Some(user) = plan.user {
        become_user(user).map_err(at(LaunchStep::User))?;
    }
    prctl::set_no_new_privs().map_err(at(LaunchStep::Privileges))?;
    // After the change of user, which would have undone it.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(at(LaunchStep::Parent))?;
    if getppid() != Pid::from_raw(plan.parent) {
        // It died before we asked to be told.
        return Err(LaunchRefusal { step: LaunchStep::Parent, errno: Errno::ESRCH });
    }
    match &plan.directory {
        Some(directory) => chdir(directory.as_os_str()).map_err(at(LaunchStep::Directory)),
        None => Ok(()),
    }
}

/// For good: the saved ids are changed as well, and with the last of root's ids the kernel takes the capabilities.
fn become_user(user: Identity) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    setgroups(&[gid])?;
    setresgid(gid, gid, gid)?;
    setresuid(uid, uid, uid)
}

/// Where it is said what went wrong.
enum ReportChannel {
    Pipe(File),
    /// A person is trying it out.
    Nowhere,
}

impl ReportChannel {
    /// Opens a way to the pipe that is closed by the start of the program. The way by which it came here would not be, and
    /// is closed now, with whatever else was left open by those before us.
    fn open(plan: &LaunchPlan) -> io::Result<Self> {
        let report = match plan.report {
            Some(number) => ReportChannel::Pipe(File::options().write(true).open(format!("/proc/self/fd/{number}"))?),
            None => ReportChannel::Nowhere,
        };
        let own = match &report {
            ReportChannel::Pipe(pipe) => Some(pipe.as_raw_fd()),
            ReportChannel::Nowhere => None,
        };
        for number in open_files()?.into_iter().filter(|number| *number > 2 && Some(*number) != own) {
            // The one by which they were listed is closed already.
            let _ = close(number);
        }
        Ok(report)
    }

    fn ready(&mut self) {
        self.say(&[READY]);
    }

    fn refused(&mut self, refusal: LaunchRefusal) {
        self.say(&refusal.to_bytes());
    }

    fn say(&mut self, bytes: &[u8]) {
        if let ReportChannel::Pipe(pipe) = self {
            // Nobody listens when Foreman is gone, and then we are about to be.
            let _ = pipe.write_all(bytes);
        }
    }
}

fn open_files() -> io::Result<Vec<RawFd>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    Ok(numbers)
}
