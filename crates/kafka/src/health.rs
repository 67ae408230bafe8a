//! How it is with Kafka, as seen from this process: for `/readyz`, metrics and `foreman doctor`.
//!
//! Clients report here what they notice, from their own threads; anyone may look at any time, and looking asks no broker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::error::Error;
use crate::topics::TopicKind;

/// What the clients of a process report, and what others read.
#[derive(Debug)]
pub struct Health {
    reported: Mutex<Reported>,
    /// Rings when a client lost the brokers, so that topics are looked at soon.
    lost: watch::Sender<u64>,
    pub(crate) rebalances: AtomicU64,
    pub(crate) parked: AtomicU64,
    pub(crate) undecodable: AtomicU64,
    pub(crate) published: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) renewed: AtomicU64,
}

#[derive(Debug, Default)]
struct Reported {
    /// `None` until the first look.
    topics: Option<Result<(), Error>>,
    lost: Option<String>,
    fetches: [FetchState; TopicKind::ALL.len()],
}

/// How it is with the consumer of one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchState {
    /// Partitions that this process has.
    pub assigned: usize,
    /// Of these, those that it takes nothing from right now because it has enough.
    pub paused: usize,
    /// Messages that wait in this process to be offered.
    pub waiting: usize,
    /// Messages in this process's partitions that are not settled yet, wherever they are. `None`: unknown.
    pub lag: Option<u64>,
}

/// How it is with Kafka at one moment.
#[derive(Clone, Debug)]
pub struct BrokerState {
    /// A broker answered when it was last asked, and no client has lost all of them since.
    pub is_connected: bool,
    /// `Ok`: the topics are there and as they should be. The error says what is wrong and how to fix it.
    pub topics: Result<(), Error>,
    /// Topic by topic, in the order of [`TopicKind::ALL`].
    pub fetches: [FetchState; TopicKind::ALL.len()],
    /// How often partitions were assigned or revoked since the start.
    pub rebalances: u64,
    /// Messages that could not be read, and that were parked.
    pub undecodable: u64,
    pub parked: u64,
    /// Messages that were acknowledged, and that were not.
    pub published: u64,
    pub refused: u64,
    /// How often the publisher was made anew after an error that it could not recover from.
    pub renewed: u64,
}

impl BrokerState {
    /// Whether work can flow; if not, why.
    pub fn problem(&self) -> Option<String> {
        self.topics.as_ref().err().map(ToString::to_string)
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            reported: Mutex::default(),
            lost: watch::Sender::new(0),
            rebalances: AtomicU64::new(0),
            parked: AtomicU64::new(0),
            undecodable: AtomicU64::new(0),
            published: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            renewed: AtomicU64::new(0),
        }
    }
}

impl Health {
    pub fn state(&self) -> BrokerState {
        let reported = self.lock();
        let topics = match (&reported.topics, &reported.lost) {
            (Some(Err(error)), _) => Err(error.clone()),
            (_, Some(why)) => Err(Error::Unreachable(why.clone())),
            (Some(Ok(())), None) => Ok(()),
            (None, None) => Err(Error::Unreachable("not asked yet".into())),
        };
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        BrokerState {
            is_connected: !matches!(topics, Err(Error::Unreachable(_) | Error::Client(_))),
            topics,
            fetches: reported.fetches.clone(),
            rebalances: read(&self.rebalances),
            undecodable: read(&self.undecodable),
            parked: read(&self.parked),
            published: read(&self.published),
            refused: read(&self.refused),
            renewed: read(&self.renewed),
        }
    }

    /// A client has lost all brokers. Cleared by the next look that finds one.
    pub(crate) fn lost(&self, why: &str) {
        let is_news = {
            let mut reported = self.lock();
            let is_news = reported.lost.is_none() && !matches!(reported.topics, Some(Err(Error::Unreachable(_))));
            reported.lost = Some(why.to_owned());
            is_news
        };
        if is_news {
            warn!("lost Kafka: {why}");
        }
        self.lost.send_modify(|times| *times += 1);
    }

    /// Rings when a client has lost all brokers.
    pub(crate) fn losses(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    /// What a look at the topics found.
    pub(crate) fn looked(&self, found: Result<(), Error>) {
        let (was, is) = {
            let mut reported = self.lock();
            let said = |reported: &Reported| match (&reported.topics, &reported.lost) {
                (Some(Ok(())), None) => Some(Ok(())),
                (Some(Err(error)), _) => Some(Err(error.to_string())),
                (_, Some(why)) => Some(Err(why.clone())),
                (None, None) => None,
            };
            let was = said(&reported);
            // Somebody answered, whatever was said.
            if !matches!(found, Err(Error::Unreachable(_))) {
                reported.lost = None;
            }
            reported.topics = Some(found);
            (was, said(&reported))
        };
        if was == is {
            return;
        }
        match self.lock().topics {
            Some(Ok(())) => info!("Kafka answers, and its topics are as they should be"),
            Some(Err(Error::Unreachable(ref why))) => warn!("Kafka is away: {why}"),
            Some(Err(ref wrong)) => error!("Kafka cannot be used: {wrong}"),
            None => {}
        }
    }

    pub(crate) fn fetch(&self, kind: TopicKind, change: impl FnOnce(&mut FetchState)) {
        change(&mut self.lock().fetches[kind.place()]);
    }

    fn lock(&self) -> MutexGuard<'_, Reported> {
        // Every line that holds the lock leaves it whole.
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_ready_before_somebody_looked() {
        let health = Health::default();
        assert!(!health.state().is_connected && health.state().problem().is_some());
        health.looked(Ok(()));
        assert!(health.state().is_connected && health.state().problem().is_none());
    }

    #[test]
    fn a_client_that_loses_the_brokers_is_believed_until_somebody_finds_them() {
        let health = Health::default();
        health.looked(Ok(()));
        let mut losses = health.losses();
        health.lost("no broker can be reached");
        assert!(!health.state().is_connected);
        assert!(losses.has_changed().expect("it lives") && *losses.borrow_and_update() == 1);
        health.looked(Err(Error::Unreachable("still nothing".into())));
        assert!(!health.state().is_connected);
        health.looked(Err(Error::Topics("the topic is gone".into())));
        assert!(health.state().is_connected, "somebody said that it is gone");
        assert_eq!(health.state().problem().as_deref(), Some("the topic is gone"));
        health.looked(Ok(()));
        assert!(health.state().is_connected && health.state().problem().is_none());
    }
}
