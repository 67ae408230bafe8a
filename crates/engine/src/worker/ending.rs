//! The end of a session: its last outcomes are recorded, and what it still holds goes back at once.
//!
//! A worker that stops in good order has a few seconds for that ([`WorkerEnding::at_once`]). A worker that lost its session (it
//! could not renew it in time, or was told that it is gone) has stopped its *work*, because others may have the jobs by now.
//! It may still record: the store takes an outcome only while the job is open in that very claim, and refuses it
//! otherwise. So the old session is wound down beside the new one ([`OldSessions`]): its outcomes are sent until the store has
//! answered for each, then it is ended, and what it still holds is handed back, refunded and without a crash. The sweeper must watch a
//! session for a full TTL after an outage before it may lapse it, so the worker comes first.
//!
//! While the store is away this waits, however long that is. What the store itself refuses is given up in time for the session
//! to be ended. Only work that could not be stopped (it blocks its thread) is left to lapse. At most [`MOST_OLD_SESSIONS`]
//! are wound down at once; beyond that the oldest has a last try and is left to lapse. A process that dies meanwhile
//! leaves a session that nobody renews, as always.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Settlement, StoreError};
use foreman_core::{SessionId, Verdict};
use foreman_runtime::{Backoff, Shutdown, Stop, Task, Tasks};
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use super::Config;
use super::session::Session;
use crate::outage::bounded;
use crate::pool::Drained;
use crate::settle::{SettleHandle, Settlements};

const MOST_OLD_SESSIONS: usize = 4;

/// How often to look whether what is left can still be recorded.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) struct WorkerEnding {
    session: Arc<Session>,
    config: Arc<Config>,
    pub settle: SettleHandle,
    /// Stops the settler: draining flushes it, aborting drops what is left.
    settling: Stop,
    /// `None` once it has ended.
    settler: Option<Task<Settlements>>,
    unrecorded: usize,
}

impl WorkerEnding {
    pub fn new(
        session: Arc<Session>,
        config: Arc<Config>,
        settle: SettleHandle,
        settling: Stop,
        settler: Task<Settlements>,
    ) -> Self {
        Self { session, config, settle, settling, settler: Some(settler), unrecorded: 0 }
    }

    /// Within the grace. `drained` is what became of the work; the answer counts what was not recorded as handed back, or as
    /// abandoned when the session could not be ended either.
    pub async fn at_once(mut self, drained: Drained) -> Drained {
        self.settling.drain();
        if timeout(self.config.flush_grace, self.settled()).await.is_err() {
            self.settling.abort();
            self.settled().await;
        }
        let ended = self.session.end(self.config.flush_grace).await;
        self.account(drained, ended)
    }

    /// As long as it takes, or until `leaving`; then within the grace.
    async fn patiently(mut self, drained: Drained, leaving: impl Future<Output = ()>) -> Drained {
        self.settling.drain();
        let ended = tokio::select! {
            biased;
            ended = self.wind_down() => Some(ended),
            () = leaving => None,
        };
        match ended {
            Some(ended) => self.account(drained, ended),
            None => self.at_once(drained).await,
        }
    }

    /// Safe to drop at any await: each step can be taken again.
    async fn wind_down(&mut self) -> Result<usize, StoreError> {
        self.flush().await;
        self.only_what_blocks().await;
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        let mut refused_since = None;
        loop {
            let error = match bounded(self.config.call_timeout, self.session.store.end(self.session.id)).await {
                Err(error) => error,
                ended => return ended,
            };
            if error.is_transient() {
                refused_since = None;
            } else {
                // The store answers, so the sweeper comes to it.
                let since = *refused_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= self.config.session_ttl || matches!(error, StoreError::Closed) {
                    return Err(error);
                }
            }
            sleep(backoff.next()).await;
        }
    }

    /// Waits until the settler has ended.
    async fn settled(&mut self) {
        let Some(settler) = &mut self.settler else { return };
        // A settler that failed is logged where it was caught; what it left is handed back with the session.
        self.unrecorded = settler.await.map_or(0, |counts| counts.unrecorded as usize);
        self.settler = None;
    }

    /// Waits until every outcome is recorded, except for what the store goes on refusing: handed back with the session, the job
    /// runs again; left until the session lapses, it would count a crash as well. What it refused before it was away says nothing: the
    /// patience begins with the first refusal after that.
    async fn flush(&mut self) {
        let patience = self.config.session_ttl / 3;
        let begun = Instant::now();
        self.settle.send_refused_now();
        while timeout(LOOK_EVERY, self.settled()).await.is_err() {
            let is_refusing = self.settle.refusing_since(begun).is_some_and(|since| since.elapsed() >= patience);
            if self.settle.pending() == 0 && is_refusing {
                self.settling.abort();
            }
        }
    }

    /// While work runs on that blocks its thread, hands back everything else that the session holds. Returns when no such work
    /// is left, or when it has lapsed.
    async fn only_what_blocks(&self) {
        let Session { id, store, running, .. } = &*self.session;
        let limit = self.config.call_timeout;
        while running.count() > 0 {
            // Nothing more may be claimed, not even by a call that is still on its way.
            let held = match bounded(limit, store.drain(*id)).await {
                Ok(true) => bounded(limit, store.held(*id)).await,
                Ok(false) => return,
                Err(error) => Err(error),
            };
            if let Ok(held) = held {
                let others = running.missing(&held);
                if others.len() == held.len() {
                    return;
                }
                let handed_back: Vec<_> = others
                    .iter()
                    .map(|open| Settlement { fence: open.fence, job: open.job, verdict: Verdict::Released })
                    .collect();
                if !handed_back.is_empty()
                    && let Err(error) = bounded(limit, store.settle(*id, &handed_back)).await
                {
                    warn!(session.id = %id, "could not hand back {} jobs yet: {error}", handed_back.len());
                }
            }
            sleep(self.config.heartbeat).await;
        }
    }

    fn account(&self, mut drained: Drained, ended: Result<usize, StoreError>) -> Drained {
        drained.finished = drained.finished.saturating_sub(self.unrecorded);
        match ended {
            Ok(returned) => drained.handed_back += returned,
            Err(error) => {
                drained.abandoned += self.unrecorded;
                let id = self.session.id;
                warn!(session.id = %id, "could not end session {id}: {error}; it will lapse");
            }
        }
        drained
    }
}

/// Sessions of this worker that are no longer valid, each being wound down by a task of its own.
pub(crate) struct OldSessions {
    tasks: Tasks,
    shutdown: Shutdown,
    drain_grace: Duration,
    winding_down: VecDeque<Old>,
}

struct Old {
    id: SessionId,
    /// Draining: a last try, within the grace.
    leave: Stop,
    /// What became of its work; `None` when it was over before the worker was told to stop.
    task: Task<Option<Drained>>,
}

impl OldSessions {
    pub fn new(tasks: Tasks, shutdown: Shutdown, config: &Config) -> Self {
        Self { tasks, shutdown, drain_grace: config.drain_grace, winding_down: VecDeque::new() }
    }

    /// `drained` is what became of its work.
    pub fn wind_down(&mut self, ending: WorkerEnding, drained: Drained) {
        self.winding_down.retain(|old| !old.task.is_finished());
        while self.winding_down.len() >= MOST_OLD_SESSIONS
            && let Some(oldest) = self.winding_down.pop_front()
        {
            warn!(session.id = %oldest.id, "too many old sessions are waiting to end: session {} may lapse", oldest.id);
            oldest.leave.drain();
        }
        let (id, leave) = (ending.session.id, Stop::new());
        let (told, shutdown, drain_grace) = (leave.shutdown(), self.shutdown.clone(), self.drain_grace);
        let worker = self.shutdown.clone();
        // As long as the worker itself has to stop its work, and no longer.
        let leaving = async move {
            let deadline = async {
                shutdown.draining().await;
                tokio::select! {
                    biased;
                    () = shutdown.aborting() => {}
                    () = sleep(drain_grace) => {}
                }
            };
            tokio::select! {
                biased;
                () = told.draining() => {}
                () = deadline => {}
            }
        };
        let task = self.tasks.spawn("old session", async move {
            let settle = ending.settle.clone();
            let ended = ending.patiently(drained, leaving).await;
            let Settlements { now, before, fenced, .. } = settle.counts();
            info!(
                session.id = %id,
                "old session {id} ended: {} outcomes recorded in total, {fenced} rejected, {} jobs handed back",
                now + before,
                ended.handed_back
            );
            worker.is_draining().then_some(ended)
        });
        self.winding_down.push_back(Old { id, leave, task });
    }

    /// The worker is about to leave: each has a last try. Answers what became of the work of those that were not over by then.
    pub async fn leave(self) -> Drained {
        self.winding_down.iter().for_each(|old| old.leave.drain());
        let mut sum = Drained::default();
        for old in self.winding_down {
            // One that failed is logged where it was caught, and its session lapses.
            let drained = old.task.await.ok().flatten().unwrap_or_default();
            sum.finished += drained.finished;
            sum.handed_back += drained.handed_back;
            sum.abandoned += drained.abandoned;
        }
        sum
    }
}
