//! One life of a worker in the store: registered, renewed, told what it still holds, and ended.
//!
//! The session is valid until `t + ttl − margin`, where `t` is the moment *before* the last heartbeat that was answered
//! was sent, on the monotonic clock. When that passes, the worker fences itself: it stops its work before anyone else
//! may lapse the session and run the work again, whether or not the store can be reached. The answer of a heartbeat
//! cannot be older than its question, so this holds however late an answer comes.
//!
//! Every heartbeat is told what the store has as held, and that is compared both ways: what runs here and is not held there was
//! cancelled; what is held there and not known here ([`super::forgotten`]) is handed back.
//!
//! Heartbeats run in a task of their own, and go on while the worker drains. Two workers never share a session: each
//! life makes a fresh id. When the process dies, the heartbeats stop with it, and the sweeper lapses the session.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreman_core::ports::{Heartbeat, OpenJob, SessionInfo, Store, StoreError};
use foreman_core::{ClaimToken, SessionId};
use foreman_runtime::{Backoff, Shutdown};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::forgotten::{ClaimCalls, Forgotten};
use super::running::{Number, RunningAttempts};
use super::{Config, Error};
use crate::outage::{Outage, bounded};
use crate::settle::SettleHandle;

/// A given-up claim call may still commit later, so it is named with every heartbeat; but not for ever.
const REMEMBER_GIVEN_UP: Duration = Duration::from_mins(10);
const MOST_GIVEN_UP: usize = 1_000;

/// After a heartbeat without an answer the next one comes sooner.
const RETRY_HEARTBEAT: Duration = Duration::from_millis(500);

pub(crate) struct Session {
    pub id: SessionId,
    pub store: Arc<dyn Store>,
    heartbeat: Duration,
    /// How long after the sending of an answered heartbeat the session may be used.
    valid_for: Duration,
    valid_until: Mutex<Instant>,
    given_up: Mutex<VecDeque<(Instant, ClaimToken)>>,
    pub running: RunningAttempts,
    pub claim_calls: ClaimCalls,
    /// Cancelled when the session is no longer valid: its work must stop, for others may have it.
    pub lost: CancellationToken,
    /// Cancelled when the life is over and heartbeats are no longer needed.
    pub over: CancellationToken,
}

impl Session {
    /// Registers a fresh session, as long as it takes; `None` when the worker drains first.
    pub async fn register(
        store: &Arc<dyn Store>,
        config: &Config,
        info: impl Fn() -> SessionInfo,
        shutdown: &Shutdown,
    ) -> Result<Option<Arc<Self>>, Error> {
        let mut outage = Outage::new("worker");
        while !shutdown.is_draining() {
            let info = info();
            // Before the sending: from the commit on, and no later, the store counts the TTL.
            let sent = Instant::now();
            match bounded(config.call_timeout, store.register(&info)).await {
                Ok(()) => {
                    outage.is_over();
                    let (id, name) = (info.id, &config.name);
                    info!(session.id = %id, worker.name = name, "worker {name} registered as session {id}");
                    return Ok(Some(Arc::new(Self::new(info.id, Arc::clone(store), config, sent))));
                }
                // A fresh id each time: a registration that committed after all is a session that holds nothing.
                Err(error) => {
                    let wait = outage.goes_on(error)?;
                    tokio::select! {
                        biased;
                        () = shutdown.draining() => {}
                        () = sleep(wait) => {}
                    }
                }
            }
        }
        Ok(None)
    }

    fn new(id: SessionId, store: Arc<dyn Store>, config: &Config, sent: Instant) -> Self {
        let valid_for = config.session_ttl.saturating_sub(config.fence_margin);
        Self {
            id,
            store,
            heartbeat: config.heartbeat,
            valid_for,
            valid_until: Mutex::new(sent + valid_for),
            given_up: Mutex::default(),
            running: RunningAttempts::default(),
            claim_calls: ClaimCalls::default(),
            lost: CancellationToken::new(),
            over: CancellationToken::new(),
        }
    }

    /// Renews the session until its life is over, or until it is lost.
    pub async fn beat(self: Arc<Self>, settle: SettleHandle) {
        // However this ends, nobody may go on under a session that nobody renews.
        let lost = self.lost.clone().drop_guard();
        let mut outage = Outage::new("heartbeat");
        let mut forgotten = Forgotten::default();
        let mut next = Instant::now() + self.heartbeat;
        loop {
            tokio::select! {
                biased;
                () = self.over.cancelled() => {
                    lost.disarm();
                    return;
                }
                () = self.lost.cancelled() => return,
                () = sleep_until(next.min(self.valid_until())) => {}
            }
            let now = Instant::now();
            if now >= self.valid_until() {
                warn!(session.id = %self.id, "session {} could not be renewed in time: stopping its work", self.id);
                return;
            }
            next = now + self.heartbeat;
            match self.renew(now).await {
                Ok(Some(held)) => {
                    outage.is_over();
                    self.hand_back_forgotten(&held, &mut forgotten, &settle);
                }
                Ok(None) => {
                    warn!(session.id = %self.id, "session {} has lapsed: stopping its work", self.id);
                    return;
                }
                Err(error) => {
                    // Also on an error that no later try may heal: the fence decides, on its own clock.
                    let _ = outage.goes_on(error);
                    next = Instant::now() + RETRY_HEARTBEAT;
                }
            }
        }
    }

    /// One heartbeat, sent at `now`: what is held, or `None` when the session is gone.
    async fn renew(&self, now: Instant) -> Result<Option<Vec<OpenJob>>, StoreError> {
        let given_up = self.given_up(now);
        let known = self.running.known();
        // No longer than the session is valid; and a store that hangs is asked again.
        let limit = self.heartbeat.min(self.valid_until() - now);
        match bounded(limit, self.store.heartbeat(self.id, &given_up)).await? {
            Heartbeat::Gone => Ok(None),
            Heartbeat::Renewed { held } => {
                *lock(&self.valid_until) = now + self.valid_for;
                self.stop_cancelled(&held, known);
                Ok(Some(held))
            }
        }
    }

    fn hand_back_forgotten(&self, held: &[OpenJob], forgotten: &mut Forgotten, settle: &SettleHandle) {
        // In the order in which a job goes through them, so that one that moves on meanwhile is still seen.
        let ended = self.claim_calls.ended();
        let unknown = settle.not_owed(self.running.missing(held));
        for open in forgotten.judge(&unknown, ended, self.claim_calls.begun()) {
            let OpenJob { job, fence } = open;
            warn!(job.id = %job, %fence, "the store says this session holds job {job}, but the worker does not run it: handing it back");
            settle.release(open);
        }
    }

    /// Listens for cancellations, and asks at once what is still held. Heartbeats back it up.
    pub async fn listen(self: Arc<Self>, mut cancelled: watch::Receiver<u64>) {
        loop {
            tokio::select! {
                biased;
                () = self.over.cancelled() => return,
                () = self.lost.cancelled() => return,
                rung = cancelled.changed() => if rung.is_err() { return },
            }
            if self.running.count() == 0 {
                continue;
            }
            let known = self.running.known();
            // When this fails, the next heartbeat asks the same.
            if let Ok(held) = bounded(self.heartbeat, self.store.held(self.id)).await {
                self.stop_cancelled(&held, known);
            }
        }
    }

    fn stop_cancelled(&self, held: &[OpenJob], known: Number) {
        for OpenJob { job, fence } in self.running.compare(held, known) {
            info!(job.id = %job, %fence, "job {job} was cancelled: stopping its attempt");
        }
    }

    /// The worker no longer waits for the answer to this claim call: should it ever commit, it is to be released.
    pub fn give_up(&self, token: ClaimToken) {
        let mut given_up = lock(&self.given_up);
        if given_up.len() == MOST_GIVEN_UP {
            given_up.pop_front();
        }
        given_up.push_back((Instant::now(), token));
    }

    fn given_up(&self, now: Instant) -> Vec<ClaimToken> {
        let mut given_up = lock(&self.given_up);
        given_up.retain(|(since, _)| now.saturating_duration_since(*since) < REMEMBER_GIVEN_UP);
        given_up.iter().map(|(_, token)| *token).collect()
    }

    pub fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    pub fn valid_until(&self) -> Instant {
        *lock(&self.valid_until)
    }

    /// Tells the store that no more will be claimed. Only for those who look: failing costs nothing.
    pub async fn drain(&self, limit: Duration) {
        if let Err(error) = bounded(limit, self.store.drain(self.id)).await {
            warn!(session.id = %self.id, "could not mark session {} as draining: {error}", self.id);
        }
    }

    /// Ends the session: what it still holds is handed back at once. Sent again until it works, at most for `limit`.
    pub async fn end(&self, limit: Duration) -> Result<usize, StoreError> {
        let give_up_at = Instant::now() + limit;
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(500));
        loop {
            let left = give_up_at.saturating_duration_since(Instant::now());
            match bounded(left, self.store.end(self.id)).await {
                Err(error) if error.is_transient() && Instant::now() < give_up_at => {
                    sleep(backoff.next()).await;
                }
                answer => return answer,
            }
        }
    }
}

/// Whole after every line that holds the lock.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
