//! A worker's side of Kafka: what has arrived for this process, offered to its dispatcher.
//!
//! Each topic has a consumer with a thread of its own ([`crate::fetch`]) that fills the one [`Inbox`]; the dispatcher takes out of it
//! lane by lane. Any number of workers share the messages, each of which one of them has. A worker that dies leaves what it has not
//! settled: Kafka delivers that again to the others, and a claim refuses what it had claimed.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{Arrival, Feed, Offer};
use foreman_runtime::{Stop, Tasks};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tracing::warn;

use crate::config::Config;
use crate::error::Error;
use crate::fetch::{Fetch, FetchHandle};
use crate::health::Health;
use crate::inbox::Inbox;
use crate::parking::{self, Parking};
use crate::topics::TopicKind;

/// What the threads, the dispatcher and the parking have in common.
pub(crate) struct Arrivals {
    inbox: Mutex<Inbox>,
    /// Whether there is something to offer.
    ready: watch::Sender<bool>,
    /// Rings when a message arrived that cannot be read.
    unreadable: watch::Sender<()>,
    pub health: Arc<Health>,
}

impl Arrivals {
    fn new(capacity: usize, health: Arc<Health>) -> Self {
        let (ready, unreadable) = (watch::Sender::new(false), watch::Sender::new(()));
        Self { inbox: Mutex::new(Inbox::new(capacity)), ready, unreadable, health }
    }

    /// For what changes nothing about whether there is something to offer.
    pub fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // A panic under the lock can only come from a broken rule of the inbox, and its counts are what its tests are about.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the inbox, and wakes who waits for something to offer.
    pub fn change<T>(&self, change: impl FnOnce(&mut Inbox) -> T) -> T {
        let mut inbox = self.inbox();
        let result = change(&mut inbox);
        let has_ready = inbox.has_ready();
        // Under the lock, so that what is said last is true.
        self.ready.send_if_modified(|was| std::mem::replace(was, has_ready) != has_ready);
        result
    }

    pub fn unreadable(&self) -> watch::Receiver<()> {
        self.unreadable.subscribe()
    }

    pub fn ring_unreadable(&self) {
        self.unreadable.send_replace(());
    }
}

/// The feed of one worker.
pub struct KafkaFeed {
    arrivals: Arc<Arrivals>,
    stop: Stop,
    /// Dropped, it ends the fetches.
    fetches: Mutex<Vec<FetchHandle>>,
    /// Ends when all of them have.
    ended: tokio::sync::Mutex<mpsc::Receiver<Infallible>>,
}

impl KafkaFeed {
    pub(crate) fn start(
        config: &Arc<Config>,
        health: &Arc<Health>,
        parking: Arc<dyn Parking>,
        tasks: &Tasks,
    ) -> Result<Self, Error> {
        let arrivals = Arc::new(Arrivals::new(config.lane_capacity, Arc::clone(health)));
        let (alive, ended) = mpsc::channel(1);
        let mut fetches = Vec::new();
        for kind in TopicKind::ALL {
            fetches.push(Fetch::new(Arc::clone(config), kind, Arc::clone(&arrivals)).start(alive.clone())?);
        }
        let stop = Stop::new();
        drop(tasks.spawn("kafka parking", parking::run(Arc::clone(&arrivals), parking, stop.shutdown())));
        Ok(Self { arrivals, stop, fetches: Mutex::new(fetches), ended: tokio::sync::Mutex::new(ended) })
    }

    /// [Leaves](Feed::leave) the groups and waits until what is settled is committed. Past the time it returns all the same; the
    /// group then waits for its session timeout.
    pub async fn close(&self, within: Duration) {
        self.leave();
        let mut ended = self.ended.lock().await;
        if timeout(within, ended.recv()).await.is_err() {
            warn!(
                "could not leave the consumer groups within {within:?}: Kafka gives our partitions to others when it misses us"
            );
        }
    }
}

impl Drop for KafkaFeed {
    fn drop(&mut self) {
        self.leave();
    }
}

#[async_trait]
impl Feed for KafkaFeed {
    fn offer(&self, plan: &LanePlan, limit: usize) -> Offer {
        self.arrivals.change(|inbox| inbox.offer(plan, limit))
    }

    async fn arrived(&self) {
        let mut ready = self.arrivals.ready.subscribe();
        ready.wait_for(|has_ready| *has_ready).await.expect("the sender is ours");
    }

    fn settled(&self, arrivals: Vec<Arrival>) {
        self.arrivals.change(|inbox| inbox.settled(arrivals));
    }

    fn put_back(&self, arrivals: Vec<Arrival>) {
        self.arrivals.change(|inbox| inbox.put_back(arrivals));
    }

    fn leave(&self) {
        self.stop.drain();
        self.fetches.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
