//! The signals that mean "stop".

use tokio::signal::unix::{Signal, SignalKind, signal};

pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// From a terminal that closes. Not listened to under `nohup`, which asked for that to be ignored.
    hang_up: Option<Signal>,
}

impl Signals {
    pub fn listen() -> std::io::Result<Self> {
        let hang_up = SignalKind::hangup();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: if is_ignored(hang_up) { None } else { Some(signal(hang_up)?) },
        })
    }

    /// The name of the next one. Safe to drop and call again.
    pub async fn next(&mut self) -> &'static str {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => None,
            }
        };
        tokio::select! {
            Some(()) = self.terminate.recv() => "SIGTERM",
            Some(()) = self.interrupt.recv() => "SIGINT",
            Some(()) = hang_up => "SIGHUP",
            // They never end while the runtime lives.
            else => std::future::pending().await,
        }
    }
}

/// Ctrl-C, for a command that goes on until somebody has seen enough.
pub async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // It cannot be listened to: then it does what it does to every program.
        std::future::pending::<()>().await;
    }
}

/// Whether we were started with this signal ignored, as far as the system tells.
fn is_ignored(kind: SignalKind) -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| mask_has(&status, kind.as_raw_value()))
}

fn mask_has(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_seen_in_the_mask() {
        let status = "Name:\tforeman\nSigIgn:\t0000000000001001\n";
        assert!(mask_has(status, 1) && mask_has(status, 13));
        assert!(!mask_has(status, 15) && !mask_has("", 1));
    }
}
