//! Ends the process when nothing else does.
//!
//! A thread of its own, for what it watches over is the runtime itself: a handler that blocks a thread, a disk that no
//! longer answers. It sleeps until it is given a deadline.

use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::exit::ServerExit;

/// It only waits.
const STACK: usize = 64 * 1024;

pub struct Watchdog {
    tell: Sender<WatchdogOrder>,
}

enum WatchdogOrder {
    LeaveWithin(Duration),
    Done,
}

impl Watchdog {
    pub fn start() -> io::Result<Self> {
        let (tell, told) = channel();
        thread::Builder::new().name("watchdog".into()).stack_size(STACK).spawn(move || watch(&told))?;
        Ok(Self { tell })
    }

    /// From now on the process has so long to leave by itself. A later call replaces an earlier one.
    pub fn leave_within(&self, time: Duration) {
        // It only ends after `done`.
        let _ = self.tell.send(WatchdogOrder::LeaveWithin(time));
    }

    /// All is in order: the process is leaving.
    pub fn done(&self) {
        let _ = self.tell.send(WatchdogOrder::Done);
    }
}

fn watch(told: &Receiver<WatchdogOrder>) {
    let mut patience: Option<Duration> = None;
    loop {
        let order = match patience {
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => told.recv_timeout(patience),
        };
        match order {
            Ok(WatchdogOrder::LeaveWithin(time)) => patience = Some(time),
            Ok(WatchdogOrder::Done) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => leave_now("the shutdown deadline has passed and a task hangs"),
        }
    }
}

/// Leaves without waiting for anybody. What was accepted is in the store; what was held returns at the next start, so no
/// command of ours may still be at it then.
pub fn leave_now(why: &str) -> ! {
    foreman_engine::target::command::kill_all();
    let _ = writeln!(io::stderr(), "foreman: {why}: exiting now");
    std::process::exit(ServerExit::Wedged as i32)
}
