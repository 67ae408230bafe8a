//! Processes whose parents are gone: what a command started and left behind.
//!
//! The kernel gives them to the nearest ancestor that asked for them, or to the first process of the machine or container, and a process that
//! has ended stays as a zombie until its parent has looked at it. In a container Foreman *is* the first process, with no init in front of it,
//! for that would have to be started with Foreman's own variables, keys included. So Foreman takes orphans in and buries them.
//!
//! Its own children are others' to wait for (the runtime does, for whoever awaits them). So this looks at who has ended without taking them, and
//! takes only those that were not started here. Starting a process and noting its number happen under one lock: a child that ends at once
//! is known before it is seen here.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_runtime::Shutdown;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::kill;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

/// Those that were started here, until they are gone.
static STARTED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A child of ours has ended and whoever waits for it has not looked yet; it hides those behind it for so long.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Signals that come together are one.
const SELDOM: Duration = Duration::from_mins(1);

pub(super) fn started() -> MutexGuard<'static, BTreeSet<i32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process is given orphans in any case.
pub fn is_first_process() -> bool {
    getpid() == Pid::from_raw(1)
}

/// Takes orphans of this process's own in, and buries them until this process drains: what is left then goes with it. Two of these in one process do each other no harm.
pub async fn bury(shutdown: Shutdown) {
    if let Err(error) = prctl::set_child_subreaper(true) {
        tracing::warn!("could not become the reaper of processes that commands leave behind: {error}");
    }
    let mut ended = match signal(SignalKind::child()) {
        Ok(ended) => ended,
        Err(error) => {
            tracing::warn!("processes that commands leave behind remain zombies: {error}");
            return shutdown.draining().await;
        }
    };
    loop {
        while bury_those_there() == LeftOrphans::Some {
            sleep(LOOK_AGAIN).await;
        }
        tokio::select! {
            () = shutdown.draining() => return,
            // However a signal was lost, they are not for ever.
            _ = timeout(SELDOM, ended.recv()) => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftOrphans {
    Nothing,
    /// One of our own is in front.
    Some,
}

fn bury_those_there() -> LeftOrphans {
    let mut started = started();
    // Gone, and waited for. A number that was given to another process since then stays until that one is gone too.
    started.retain(|pid| kill(Pid::from_raw(*pid), None) != Err(Errno::ESRCH));
    loop {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let pid = match waitid(Id::All, look) {
            Ok(WaitStatus::StillAlive) | Err(_) => return LeftOrphans::Nothing,
            Ok(status) => match status.pid() {
                Some(pid) => pid,
                None => return LeftOrphans::Nothing,
            },
        };
        if started.contains(&pid.as_raw()) {
            return LeftOrphans::Some;
        }
        if waitpid(pid, Some(WaitPidFlag::WNOHANG)).is_err() {
            return LeftOrphans::Nothing;
        }
    }
}
