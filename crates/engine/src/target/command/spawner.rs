//! The one thread that starts processes.
//!
//! It lives as long as this process, and that is its point: a command asks the kernel to be killed when its parent is gone,
//! and by its parent the kernel means the *thread* that started it. Threads of a runtime come and go.
//!
//! It is also the only one, so that a pipe can be left open for one child: between the moment that lets it pass and the
//! moment it is closed here, nobody else starts anything.
//!
//! Should it ever panic, the next command starts another; the commands of the first have then been killed.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::group::ProcessGroup;
use super::orphans;

static SPAWNER: Mutex<Option<Sender<SpawnOrder>>> = Mutex::new(None);

struct SpawnOrder {
    command: Command,
    /// Passed on to this child, and closed here.
    legacy: Option<OwnedFd>,
    /// Whoever waits for it does so on this runtime.
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Spawned>>,
}

/// A process that runs. In this order: the group is killed before its leader can be reaped, see [`ProcessGroup`].
pub(super) struct Spawned {
    pub(super) group: ProcessGroup,
    pub(super) child: Child,
}

/// Starts a process, and passes `legacy` on to it under the number it has. If nobody waits for the answer any more, it is
/// killed.
pub(super) async fn spawn(command: Command, legacy: Option<OwnedFd>) -> io::Result<Spawned> {
    let (answer, answered) = oneshot::channel();
    order(SpawnOrder { command, legacy, runtime: Handle::current(), answer })?;
    answered.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes is gone")))
}

fn order(mut order: SpawnOrder) -> io::Result<()> {
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(living) = spawner.as_ref() {
        match living.send(order) {
            Ok(()) => return Ok(()),
            Err(mpsc::SendError(returned)) => order = returned,
        }
    }
    let (orders, taken) = mpsc::channel();
    std::thread::Builder::new().name("commands".into()).spawn(move || serve(taken))?;
    // It cannot have ended: it waits for this.
    let _ = orders.send(order);
    *spawner = Some(orders);
    Ok(())
}

fn serve(orders: Receiver<SpawnOrder>) {
    for SpawnOrder { command, legacy, runtime, answer } in orders {
        let _entered = runtime.enter();
        // An answer that nobody takes is dropped, and what was started with it.
        let _ = answer.send(start(command, legacy));
    }
}

fn start(mut command: Command, legacy: Option<OwnedFd>) -> io::Result<Spawned> {
    if let Some(legacy) = &legacy {
        fcntl(legacy, FcntlArg::F_SETFD(FdFlag::empty()))?;
    }
    let mut started = orphans::started();
    let child = command.spawn()?;
    started.extend(child.id().and_then(|id| i32::try_from(id).ok()));
    drop(started);
    Ok(Spawned { group: ProcessGroup::led_by(&child), child })
}
