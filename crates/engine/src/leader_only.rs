//! Work that one of many processes does at a time: the one that leads.
//!
//! Leadership is for the sake of the store alone: who was paused past its term and goes on finds, at the next write, that its
//! term is over, and what it wrote before was safe to write twice.

use std::time::Duration;

use foreman_core::ports::Leader;
use foreman_runtime::{Lead, Shutdown, Term};
use tokio::time::timeout;

/// When the store says that the term is over, and the lease has not heard of it yet.
const DEPOSED_NAP: Duration = Duration::from_secs(1);

/// Under which office a loop works; who needs no election has always won it.
#[derive(Clone, Default)]
pub(crate) struct LeaderOnly(Option<(String, Lead)>);

impl LeaderOnly {
    pub fn by(office: impl Into<String>, lead: Lead) -> Self {
        Self(Some((office.into(), lead)))
    }

    pub fn is_waiting(&self) -> bool {
        self.0.as_ref().is_some_and(|(_, lead)| lead.term().is_none())
    }

    /// Waits until it is this one's turn; `None` when it drains first.
    pub async fn elected(&self, shutdown: &Shutdown) -> Option<Term> {
        let Some((_, lead)) = &self.0 else { return Some(Term(0)) };
        tokio::select! {
            biased;
            () = shutdown.draining() => None,
            term = lead.elected() => Some(term),
        }
    }

    pub fn holds(&self, term: Term) -> bool {
        self.0.as_ref().is_none_or(|(_, lead)| lead.holds(term))
    }

    /// What a write carries.
    pub fn leader(&self, term: Term) -> Option<Leader> {
        self.0.as_ref().map(|(office, _)| Leader { office: office.clone(), term: term.0 })
    }

    /// Somebody else leads, and the store has told us so before the lease did. Until it does, to ask again is a waste.
    pub async fn until_deposed(&self, term: Term, shutdown: &Shutdown) {
        let Some((_, lead)) = &self.0 else { return };
        tokio::select! {
            biased;
            () = shutdown.draining() => {}
            _ = timeout(DEPOSED_NAP, lead.deposed(term)) => {}
        }
    }
}
