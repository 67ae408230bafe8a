//! Sessions: registered, renewed, drained, ended, lapsed.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::Store;
use super::places::{Places, SessionRow};
use super::rules::Rule;
use crate::id::{ClaimToken, Fence, SessionId};
use crate::ports::{Heartbeat, Note, OpenJob, Pulse, SessionInfo, SessionState, SessionStore, StoreError};
use crate::time::Timestamp;

#[async_trait]
impl SessionStore for Store {
    async fn register(&self, session: &SessionInfo) -> Result<(), StoreError> {
        self.write(|places, now| places.register(session, now));
        Ok(())
    }

    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Result<Heartbeat, StoreError> {
        Ok(self.write(|places, now| places.heartbeat(session, given_up, now)))
    }

    async fn held(&self, session: SessionId) -> Result<Vec<OpenJob>, StoreError> {
        Ok(self.read(|places, _| places.open_jobs(session)))
    }

    async fn drain(&self, session: SessionId) -> Result<bool, StoreError> {
        Ok(self.write(|places, _| places.drain(session)))
    }

    async fn end(&self, session: SessionId) -> Result<usize, StoreError> {
        Ok(self.write(|places, now| places.end(session, now)))
    }

    async fn pulses(&self) -> Result<Vec<Pulse>, StoreError> {
        Ok(self.read(Places::pulses))
    }

    async fn lapse(&self, pulse: Pulse) -> Result<Option<usize>, StoreError> {
        Ok(self.write(|places, now| places.lapse(pulse, now)))
    }
}

impl Places {
    pub fn register(&mut self, info: &SessionInfo, now: Timestamp) {
        if self.sessions.contains_key(&info.id) {
            return;
        }
        let row = SessionRow {
            info: info.clone(),
            state: SessionState::Live,
            beats: 0,
            started_at: now,
            renewed_at: now,
            named: BTreeSet::new(),
        };
        self.sessions.insert(info.id, row);
        self.tell_of(info.id);
    }

    /// Whoever watches learns in which state a session is now.
    fn tell_of(&mut self, session: SessionId) {
        if let Some(row) = self.sessions.get(&session) {
            let (worker, state) = (row.info.worker.clone(), row.state);
            self.tell(Note::Worker { session, worker, state });
        }
    }

    pub fn heartbeat(&mut self, session: SessionId, given_up: &[ClaimToken], now: Timestamp) -> Heartbeat {
        let Some(row) = self.sessions.get_mut(&session).filter(|row| row.state.is_alive()) else {
            return Heartbeat::Gone;
        };
        row.beats += 1;
        row.renewed_at = now;
        let named_before = row.named.clone();
        row.named.extend(given_up);
        for fence in self.claims_of(session) {
            let token = self.claims[&fence].token;
            let is_given_up = if self.rules.has(Rule::Tokens) {
                let again = self.rules.has(Rule::GivenUpEachTime) || !named_before.contains(&token);
                given_up.contains(&token) && again
            } else {
                !given_up.is_empty()
            };
            if is_given_up {
                self.release(fence, now);
            }
        }
        Heartbeat::Renewed { held: self.open_jobs(session) }
    }

    pub fn open_jobs(&self, session: SessionId) -> Vec<OpenJob> {
        self.claims_of(session)
            .into_iter()
            .flat_map(|fence| self.open(fence).into_iter().map(move |job| OpenJob { fence, job }))
            .collect()
    }

    pub fn claims_of(&self, session: SessionId) -> Vec<Fence> {
        self.claims.iter().filter(|(_, claim)| claim.session == session).map(|(fence, _)| *fence).collect()
    }

    pub fn drain(&mut self, session: SessionId) -> bool {
        match self.sessions.get_mut(&session) {
            Some(row) if row.state.is_alive() => {
                let was = std::mem::replace(&mut row.state, SessionState::Draining);
                if was != SessionState::Draining {
                    self.tell_of(session);
                }
                true
            }
            _ => false,
        }
    }

    pub fn end(&mut self, session: SessionId, now: Timestamp) -> usize {
        match self.sessions.get_mut(&session) {
            Some(row) if row.state.is_alive() => row.state = SessionState::Ended,
            _ => return 0,
        }
        self.tell_of(session);
        self.claims_of(session).into_iter().map(|fence| self.release(fence, now)).sum()
    }

    pub fn pulses(&self, now: Timestamp) -> Vec<Pulse> {
        self.sessions
            .values()
            .filter(|row| row.state.is_alive())
            .map(|row| Pulse {
                session: row.info.id,
                beats: row.beats,
                is_overdue: is_overdue(row, now),
                ttl: row.info.ttl,
            })
            .collect()
    }

    pub fn lapse(&mut self, pulse: Pulse, now: Timestamp) -> Option<usize> {
        let looks_again = self.rules.has(Rule::SweepLooksAgain);
        let row = self.sessions.get_mut(&pulse.session).filter(|row| row.state.is_alive())?;
        if looks_again && (row.beats != pulse.beats || !is_overdue(row, now)) {
            return None;
        }
        row.state = SessionState::Dead;
        self.tell_of(pulse.session);
        Some(self.claims_of(pulse.session).into_iter().map(|fence| self.lapse_claim(fence, now)).sum())
    }
}

fn is_overdue(row: &SessionRow, now: Timestamp) -> bool {
    now >= row.renewed_at.plus(row.info.ttl)
}
