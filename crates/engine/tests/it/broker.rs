//! A broker in memory, with faults on request: what relays send to and workers are fed by.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{AnnounceStore, Announcement, Arrival, Feed, Offer, PublishError, Publisher};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane};
use foreman_engine::relay::{self, Reconciler, Relay, RelayReadings};
use foreman_engine::target::Targets;
use foreman_engine::worker::{self, BrokerFeed, Worker};
use foreman_runtime::{Stop, Task};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::scene::{Running, Scene};

#[derive(Default)]
pub struct Broker {
    state: Mutex<State>,
    arrived: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    lanes: BTreeMap<Lane, VecDeque<Arrival>>,
    /// Offered, and neither settled nor put back.
    out: BTreeMap<i64, Arrival>,
    last: i64,
    is_away: bool,
    /// What is sent is accepted, and never arrives.
    is_leaking: bool,
    takes: Duration,
    batches: usize,
    most_at_once: usize,
    sending: usize,
    sent: Vec<JobId>,
    settled: Vec<JobId>,
    /// Workers that want nothing more.
    left: usize,
}

impl Broker {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn set_away(&self, is_away: bool) {
        self.state().is_away = is_away;
    }

    pub fn set_leaking(&self, is_leaking: bool) {
        self.state().is_leaking = is_leaking;
    }

    pub fn set_slow(&self, takes: Duration) {
        self.state().takes = takes;
    }

    /// Everything that was not taken out is gone.
    pub fn wipe(&self) {
        self.state().lanes.clear();
    }

    /// In the order in which they came, those that were lost included.
    pub fn sent(&self) -> Vec<JobId> {
        self.state().sent.clone()
    }

    pub fn settled(&self) -> Vec<JobId> {
        self.state().settled.clone()
    }

    /// Messages that lie here.
    pub fn waiting(&self) -> usize {
        self.state().lanes.values().map(VecDeque::len).sum()
    }

    pub fn out(&self) -> usize {
        self.state().out.len()
    }

    pub fn left(&self) -> usize {
        self.state().left
    }

    pub fn batches(&self) -> usize {
        self.state().batches
    }

    pub fn most_at_once(&self) -> usize {
        self.state().most_at_once
    }

    /// Puts a message there that no relay has sent.
    pub fn send(&self, announcement: &Announcement) {
        let mut state = self.state();
        state.last += 1;
        let place = (0, state.last);
        let Announcement { job, attempt, lane, tenant, .. } = announcement.clone();
        state.lanes.entry(lane).or_default().push_back(Arrival { job, attempt, lane, tenant, place });
        drop(state);
        self.arrived.send_modify(|count| *count += 1);
    }
}

#[async_trait]
impl Publisher for Broker {
    async fn publish(&self, messages: &[Announcement]) -> Vec<Result<(), PublishError>> {
        let (takes, is_leaking) = {
            let mut state = self.state();
            state.batches += 1;
            state.sending += 1;
            state.most_at_once = state.most_at_once.max(state.sending);
            (state.takes, state.is_leaking)
        };
        sleep(takes).await;
        let is_away = {
            let mut state = self.state();
            state.sending -= 1;
            state.is_away
        };
        messages
            .iter()
            .map(|message| {
                if is_away {
                    return Err(PublishError("it is away".into()));
                }
                self.state().sent.push(message.job);
                if !is_leaking {
                    self.send(message);
                }
                Ok(())
            })
            .collect()
    }
}

#[async_trait]
impl Feed for Broker {
    fn offer(&self, plan: &LanePlan, limit: usize) -> Offer {
        let mut state = self.state();
        let mut offered = Vec::new();
        for pick in &plan.0 {
            let lane = state.lanes.entry(pick.lane).or_default();
            let count = pick.up_to.min(limit - offered.len()).min(lane.len());
            offered.extend(lane.drain(..count));
        }
        if offered.is_empty() {
            return Offer::Nothing;
        }
        for arrival in &offered {
            assert!(state.out.insert(arrival.place.1, arrival.clone()).is_none(), "offered twice at once");
        }
        Offer::Ids(offered)
    }

    async fn arrived(&self) {
        let mut bell = self.arrived.subscribe();
        while self.waiting() == 0 {
            bell.changed().await.unwrap();
        }
    }

    fn settled(&self, arrivals: Vec<Arrival>) {
        let mut state = self.state();
        for arrival in arrivals {
            assert!(state.out.remove(&arrival.place.1).is_some(), "it was not offered");
            state.settled.push(arrival.job);
        }
    }

    fn put_back(&self, arrivals: Vec<Arrival>) {
        let mut state = self.state();
        for arrival in arrivals.into_iter().rev() {
            assert!(state.out.remove(&arrival.place.1).is_some(), "it was not offered");
            state.lanes.entry(arrival.lane).or_default().push_front(arrival);
        }
        drop(state);
        self.arrived.send_modify(|count| *count += 1);
    }

    fn leave(&self) {
        self.state().left += 1;
    }
}

/// Relays and workers around a broker.
pub struct Fleet {
    pub scene: Scene,
    pub broker: Arc<Broker>,
}

impl Fleet {
    pub fn new() -> Self {
        Self { scene: Scene::new(), broker: Broker::new() }
    }

    pub fn announced(&self) -> Arc<dyn AnnounceStore> {
        Arc::new(self.scene.store.clone())
    }

    /// A relay and a reconciler.
    pub fn relay(&self) -> RelayReadings {
        self.relay_with(relay::Config::default()).0
    }

    pub fn relay_with(&self, config: relay::Config) -> (RelayReadings, Task<Result<(), relay::Error>>) {
        let Scene { store, wakeups, tasks, stop, .. } = &self.scene;
        let relay = Relay::new(
            self.announced(),
            Arc::new(store.clone()),
            Arc::clone(&self.broker) as _,
            wakeups.as_ref(),
            tasks.clone(),
            config.clone(),
        );
        let readings = relay.readings();
        let reconciler = Reconciler::new(self.announced(), self.scene.clock(), config, readings.clone());
        drop(tasks.spawn("reconciler", reconciler.run(stop.shutdown())));
        (readings, tasks.spawn("relay", relay.run(stop.shutdown())))
    }

    pub fn worker(&self, slots: usize) -> Running {
        let targets = Targets::default().with(Arc::clone(&self.scene.player) as _);
        self.worker_of(worker::Config { slots, ..worker::Config::default() }, targets, |worker| worker)
    }

    pub fn worker_of(
        &self,
        config: worker::Config,
        targets: Targets,
        change: impl FnOnce(Worker) -> Worker,
    ) -> Running {
        let Scene { tasks, stop, .. } = &self.scene;
        let worker = Worker::new(self.scene.store(), self.scene.wakeups(), targets, tasks.clone(), config);
        let broker = BrokerFeed { feed: Arc::clone(&self.broker) as _, announced: self.announced() };
        tasks.spawn("worker", change(worker.fed_by(broker)).run(stop.shutdown()))
    }

    /// A worker that is stopped by itself.
    pub fn guest(&self, slots: usize, stop: &Stop) -> Running {
        let targets = Targets::default().with(Arc::clone(&self.scene.player) as _);
        let config = worker::Config { slots, name: "guest".into(), ..worker::Config::default() };
        let tasks = &self.scene.tasks;
        let worker = Worker::new(self.scene.store(), self.scene.wakeups(), targets, tasks.clone(), config);
        let broker = BrokerFeed { feed: Arc::clone(&self.broker) as _, announced: self.announced() };
        tasks.spawn("guest", worker.fed_by(broker).run(stop.shutdown()))
    }

    /// A worker elsewhere that takes jobs of these routes from the broker, and never does.
    pub async fn consumer(&self, slots: u32, routes: &[Route]) -> foreman_core::SessionId {
        self.scene.consumer(slots, routes).await
    }
}
