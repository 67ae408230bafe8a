//! The process group of a command: everything it started and that did not leave on purpose.
//!
//! Signals to children are sent here and nowhere else.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::time::Instant;

const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The leaders of all groups that live, for a process that leaves without dropping anything.
static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<i32>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every command of this process, and starts no argument about it. For the moment before a process leaves on the
/// spot: whoever runs its jobs again must not find the first try still at work.
pub fn kill_all() {
    for leader in live().iter() {
        // It may have ended by itself in this moment.
        let _ = killpg(Pid::from_raw(*leader), Signal::SIGKILL);
    }
}

/// Killed as a whole when this is dropped.
pub(super) struct ProcessGroup {
    /// `None` once nothing of it is ours to signal.
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// The child was started as the leader of a group of its own, and was not waited for yet.
    pub(super) fn led_by(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        live().extend(leader.map(Pid::as_raw));
        Self { leader }
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader
            && let Err(error) = killpg(leader, signal)
            && error != Errno::ESRCH
        {
            tracing::warn!(
                process.group = leader.as_raw(),
                "could not send {signal} to process group {leader}: {error}"
            );
        }
    }

    /// Waits until nothing is left of the group, at most until `deadline`.
    ///
    /// Its number belongs to it while any member lives. After that the system could give it to a stranger, but numbers
    /// are given out in turn, and going once around takes far longer than the pause between two looks.
    pub(super) async fn gone_by(&self, deadline: Instant) {
        while self.exists() && Instant::now() < deadline {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn exists(&self) -> bool {
        self.leader.is_some_and(|leader| killpg(leader, None) != Err(Errno::ESRCH))
    }

    /// Kills what the leader left behind. Called right after the leader was seen to end: see [`ProcessGroup::gone_by`] for why
    /// the number is still its own.
    pub(super) fn finish(&mut self) {
        self.signal(Signal::SIGKILL);
        if let Some(leader) = self.leader.take() {
            live().remove(&leader.as_raw());
        }
    }
}

/// The attempt was dropped while the command ran: its leader is not reaped yet, so the number is its own. The child's
/// handle, dropped after this, has the runtime reap it.
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.finish();
    }
}
