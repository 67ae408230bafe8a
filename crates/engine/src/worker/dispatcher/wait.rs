//! Waits until there may be something to take.

use std::future::pending;
use std::time::Duration;

use foreman_runtime::{Ticker, WakeReason};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::Dispatcher;

/// Between two looks for what a tenant at its limit has waiting: things end all the time.
const HELD_BACK_NAP: Duration = Duration::from_millis(20);

impl Dispatcher {
    pub(super) async fn wait(&mut self, ticker: &mut Ticker) -> WakeReason {
        let capped = self.capped.take();
        loop {
            if let Some(reason) = self.wait_once(capped, ticker).await {
                return reason;
            }
        }
    }

    /// `None`: it rang, and that concerns somebody else.
    async fn wait_once(&mut self, capped: Option<(usize, Option<Instant>)>, ticker: &mut Ticker) -> Option<WakeReason> {
        let passed_over = self.rules.is_waiting_to_be_alone();
        let (pool, settle, shutdown) = (self.pool.clone(), self.context.settle.clone(), self.shutdown.clone());
        let alone = async {
            if !passed_over {
                pending::<()>().await;
            }
            pool.idle().await;
            settle.idle().await;
        };
        let freed = async {
            match capped {
                Some((free, _)) => pool.has_free(free).await,
                None => pending().await,
            }
        };
        let others = sleep_until_some(capped.and_then(|(_, until)| until));
        let (is_held_back, is_fed) = (self.is_held_back(), self.beside.is_some());
        let due = self.beside_due(capped.is_some());
        // While slots are kept for others, a feed that is not empty says so once, and is looked at when that is over.
        let is_heard = is_fed && capped.is_none_or(|(_, until)| until.is_none());
        let feed = self.offers.feed();
        let arrived = async {
            if !is_heard {
                pending::<()>().await;
            }
            feed.arrived().await;
        };
        let (wake, changed) = (&mut self.wake, &mut self.changed);
        let room = async {
            if !is_held_back {
                pending::<()>().await;
            }
            sleep(HELD_BACK_NAP).await;
            rung(changed).await;
        };
        let tick = async {
            if !is_fed {
                return ticker.next(wake, &shutdown).await;
            }
            tokio::select! {
                biased;
                () = shutdown.draining() => WakeReason::Draining,
                () = rung(wake) => WakeReason::Woken,
            }
        };
        Some(tokio::select! {
            biased;
            () = self.session.lost.cancelled() => WakeReason::Draining,
            () = alone => WakeReason::Woken,
            () = room => WakeReason::Woken,
            () = freed => WakeReason::Woken,
            () = others => WakeReason::Woken,
            () = arrived => {
                self.shares.rung();
                if let Some(beside) = &mut self.beside {
                    beside.arrived(Instant::now());
                }
                WakeReason::Woken
            }
            () = sleep_until_some(due) => WakeReason::Due,
            tick = tick => {
                if tick == WakeReason::Woken {
                    self.rung();
                    if self.beside_due(capped.is_some()).is_some_and(|due| due > Instant::now()) {
                        return None;
                    }
                }
                tick
            }
        })
    }

    /// When to look beside the feed, or for room for what it has offered.
    fn beside_due(&self, is_capped: bool) -> Option<Instant> {
        let (due, now) = (self.beside.as_ref()?.due_at(), Instant::now());
        if is_capped {
            // Nothing may be taken, so a look that is due stays due: it must not wake this loop again and again.
            return Some(due.max(now + HELD_BACK_NAP));
        }
        Some(self.offers.kept_until(now).map_or(due, |kept| kept.min(due)))
    }
}

/// Returns at the next ring; never, when nobody can ring any more.
async fn rung(bell: &mut watch::Receiver<u64>) {
    if bell.changed().await.is_err() {
        pending::<()>().await;
    }
}

/// Never, where there is no such moment.
async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
