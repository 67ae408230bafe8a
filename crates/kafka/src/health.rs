//! How it is with Kafka, as seen from this process: for `/readyz`, metrics and `foreman doctor`.
//!
//! Clients report here what they notice, from their own threads; anyone may look at any time, and looking asks no broker.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::error::Error;
use crate::right::Right;
use crate::topics::TopicKind;

/// What the clients of a process report, and what others read.
#[derive(Debug)]
pub struct Health {
    reported: Mutex<Reported>,
    /// Whether any right is missing, to be read at every message.
    is_denied: AtomicBool,
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
    /// What a client said since, that has lost the brokers or is refused by them.
    lost: Option<Error>,
    denied: BTreeSet<Right>,
    fetches: [FetchState; TopicKind::ALL.len()],
}

impl Reported {
    /// `None`: nobody knows yet.
    fn verdict(&self) -> Option<Result<(), Error>> {
        match (&self.topics, &self.lost) {
            // To be refused is why no topic can be looked at, and says more.
            (_, Some(refused @ Error::Refused(_))) => Some(Err(refused.clone())),
            (Some(Err(error)), _) => Some(Err(error.clone())),
            (_, Some(lost)) => Some(Err(lost.clone())),
            (Some(Ok(())), None) => Some(Ok(())),
            (None, None) => None,
        }
    }
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
    /// What the brokers do not let this client do, as far as it has tried.
    pub denied: Vec<Right>,
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
        let wrong = self.topics.as_ref().err().map(ToString::to_string);
        wrong.or_else(|| self.denial())
    }

    /// The rights that are missing, for an operator to grant.
    pub fn denial(&self) -> Option<String> {
        let rights: Vec<String> = self.denied.iter().map(ToString::to_string).collect();
        (!rights.is_empty()).then(|| format!("the brokers deny this client {}", rights.join(", ")))
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            reported: Mutex::default(),
            is_denied: AtomicBool::new(false),
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
        let not_asked = || Err(Error::Unreachable("not asked yet".into()));
        let topics = reported.verdict().unwrap_or_else(not_asked);
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        BrokerState {
            is_connected: !matches!(topics, Err(Error::Unreachable(_) | Error::Refused(_) | Error::Client(_))),
            topics,
            denied: reported.denied.iter().cloned().collect(),
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
        self.note(|reported| {
            // The reason comes first, and then that no broker is left.
            if !matches!(reported.lost, Some(Error::Refused(_))) {
                reported.lost = Some(Error::Unreachable(why.to_owned()));
            }
        });
        self.lost.send_modify(|times| *times += 1);
    }

    /// The brokers do not accept who this client says it is, or it does not accept them. Cleared like a loss.
    pub(crate) fn refused(&self, why: String) {
        self.note(|reported| reported.lost = Some(Error::Refused(why)));
        self.lost.send_modify(|times| *times += 1);
    }

    /// What the brokers would not do for this client. Cleared when they do it. Whether that is news.
    pub(crate) fn denied(&self, right: Right) -> bool {
        let said = right.to_string();
        let is_news = {
            let mut reported = self.lock();
            let is_news = reported.denied.insert(right);
            self.is_denied.store(true, Ordering::Relaxed);
            is_news
        };
        if is_news {
            warn!("the brokers deny this client {said}; trying again until it is granted");
        }
        is_news
    }

    /// Whether any right is known to be missing.
    pub(crate) fn is_denied(&self) -> bool {
        self.is_denied.load(Ordering::Relaxed)
    }

    /// The brokers did it.
    pub(crate) fn granted(&self, rights: &[Right]) {
        if !self.is_denied() {
            return;
        }
        let mut reported = self.lock();
        for right in rights {
            if reported.denied.remove(right) {
                info!("the brokers grant this client {right} again");
            }
        }
        self.is_denied.store(!reported.denied.is_empty(), Ordering::Relaxed);
    }

    /// Rings when a client has lost all brokers.
    pub(crate) fn losses(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    /// What a look at the topics found.
    pub(crate) fn looked(&self, found: Result<(), Error>) {
        self.note(|reported| {
            // Somebody answered, whatever was said.
            if !matches!(found, Err(Error::Unreachable(_))) {
                reported.lost = None;
            }
            reported.topics = Some(found);
        });
    }

    /// Changes what is known, and logs what is new. Each try to reach a broker has words of its own, and is no news.
    fn note(&self, change: impl FnOnce(&mut Reported)) {
        let (was, is) = {
            let mut reported = self.lock();
            let was = reported.verdict();
            change(&mut reported);
            (was, reported.verdict())
        };
        match (was, is) {
            (_, None) | (Some(Ok(())), Some(Ok(()))) => {}
            (Some(Err(Error::Unreachable(_))), Some(Err(Error::Unreachable(_))))
            | (Some(Err(Error::Refused(_))), Some(Err(Error::Refused(_)))) => {}
            (Some(Err(was)), Some(Err(is))) if was.to_string() == is.to_string() => {}
            (_, Some(Ok(()))) => info!("Kafka answers, and its topics are as they should be"),
            (_, Some(Err(Error::Unreachable(why)))) => warn!("Kafka is away: {why}"),
            (_, Some(Err(wrong))) => error!("Kafka cannot be used: {wrong}"),
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
    #[test]
    fn a_client_that_is_refused_says_so_until_a_broker_accepts_it() {
        let health = Health::default();
        health.refused("the password is wrong".into());
        health.lost("no broker can be reached");
        health.looked(Err(Error::Unreachable("nobody answers".into())));
        let state = health.state();
        assert_eq!((state.is_connected, state.problem().as_deref()), (false, Some("the password is wrong")));
        health.looked(Ok(()));
        assert_eq!(health.state().problem(), None);
    }

    #[test]
    fn a_missing_right_is_news_once_and_a_problem_until_it_is_granted() {
        let health = Health::default();
        health.looked(Ok(()));
        let (read, write) = (Right::ReadGroup("g".into()), Right::Write("t".into()));
        assert_eq!([&read, &read, &write, &read].map(|right| health.denied(right.clone())), [true, false, true, false]);
        let problem = health.state().problem().expect("a problem");
        assert!(problem.contains("READ on group g") && problem.contains("WRITE on topic t"), "{problem}");
        assert!(health.state().is_connected, "somebody said so");
        health.granted(&[Right::Read("t".into()), write]);
        assert_eq!(health.state().denied, std::slice::from_ref(&read));
        health.granted(std::slice::from_ref(&read));
        assert_eq!((health.state().problem(), health.denied(read)), (None, true));
    }
}
