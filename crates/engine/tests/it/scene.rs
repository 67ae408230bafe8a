//! A store, its bells, a target, and tasks: what a test of a loop starts from.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::job::QueueName;
use foreman_core::lane::LanePlan;
use foreman_core::memory::{self, LocalWakeups};
use foreman_core::ports::{
    ClaimAnswer, ClaimRequest, Company, Held, JobQuery, JobStore, JobView, Queues, SessionInfo, SessionStore, Store,
    Submitted, Wakeups, WantedJobs,
};
use foreman_core::retry::Backoff;
use foreman_core::target::{Body, Route, TaskTarget};
use foreman_core::{
    ClaimToken, Clock, JobId, Lane, NewJob, SessionId, Start, State, Target, TenantId, Timestamp, Work,
};
use foreman_engine::target::Targets;
use foreman_engine::worker::{self, Drained, Worker};
use foreman_runtime::{Stop, Task, Tasks};
use tokio::time::{Instant, sleep, timeout};

use crate::runner::{Player, TASK};
use crate::script::{Scripted, scripted};

/// Longer than anything here takes; in paused time it costs nothing.
const PATIENCE: Duration = Duration::from_mins(10);

pub struct Scene {
    pub store: Scripted,
    pub wakeups: Arc<LocalWakeups>,
    pub player: Arc<Player>,
    pub tasks: Tasks,
    pub stop: Stop,
    clock: Arc<dyn Clock>,
}

impl Scene {
    pub fn new() -> Self {
        // The store's clock goes with the paused one.
        let (born, start) = (1_767_225_600_000_000, Instant::now());
        let clock = move || Timestamp::from_micros(born + i64::try_from(start.elapsed().as_micros()).unwrap());
        let wakeups = Arc::new(LocalWakeups::new());
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let store = memory::Store::new(Arc::clone(&clock), Arc::clone(&wakeups) as Arc<dyn Wakeups>);
        Self {
            store: scripted(store),
            wakeups,
            player: Arc::new(Player::new()),
            tasks: Tasks::new(),
            stop: Stop::new(),
            clock,
        }
    }

    /// That of the store.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    pub fn wakeups(&self) -> Arc<dyn Wakeups> {
        Arc::clone(&self.wakeups) as _
    }

    pub fn worker(&self) -> Running {
        self.worker_with(worker::Config::default())
    }

    pub fn worker_with(&self, config: worker::Config) -> Running {
        self.worker_with_bells(config, self.wakeups())
    }

    pub fn worker_with_bells(&self, config: worker::Config, wakeups: Arc<dyn Wakeups>) -> Running {
        let targets = Targets::default().with(Arc::clone(&self.player) as _);
        let worker = Worker::new(self.store(), wakeups, targets, self.tasks.clone(), config);
        self.tasks.spawn("worker", worker.run(self.stop.shutdown()))
    }

    pub async fn submit(&self, jobs: &[NewJob]) {
        let answers = self.store.inner.submit(jobs).await.unwrap();
        assert!(answers.iter().all(Submitted::is_accepted));
    }

    /// Submits one job that does what `payload` says.
    pub async fn submitted(&self, payload: &str) -> JobId {
        let job = job(payload);
        self.submit(std::slice::from_ref(&job)).await;
        job.id
    }

    pub async fn view(&self, id: JobId) -> JobView {
        self.store.inner.get(&TenantId::default(), id).await.unwrap().unwrap()
    }

    pub async fn state(&self, id: JobId) -> State {
        self.view(id).await.state
    }

    pub async fn until_state(&self, id: JobId, state: State) {
        let what = format!("job {id} is {state}");
        until_async(&what, async || self.state(id).await == state).await;
    }

    pub async fn count(&self, state: State) -> usize {
        let filter = foreman_core::ports::JobFilter { state: Some(state), ..Default::default() };
        usize::try_from(self.store.inner.count(&TenantId::default(), &filter).await.unwrap()).unwrap()
    }

    /// A session of somebody else, live until it is lapsed.
    pub async fn stranger(&self, ttl: Duration) -> SessionId {
        self.session(ttl, 1, None).await
    }

    /// Somebody else who takes jobs of these routes from a broker.
    pub async fn consumer(&self, slots: u32, routes: &[Route]) -> SessionId {
        self.session(Duration::from_hours(1), slots, Some(routes.to_vec())).await
    }

    async fn session(&self, ttl: Duration, slots: u32, consumes: Option<Vec<Route>>) -> SessionId {
        let info = SessionInfo {
            id: SessionId::fresh(),
            worker: "stranger".into(),
            pid: 1,
            version: "0".into(),
            slots,
            queues: vec![],
            tasks: vec![],
            consumes,
            ttl,
        };
        self.store.inner.register(&info).await.unwrap();
        info.id
    }

    pub async fn claimed_by(&self, session: SessionId, limit: usize) -> Vec<Held> {
        let request = ClaimRequest {
            session,
            token: ClaimToken::fresh(),
            wanted: WantedJobs::ByOrder { plan: LanePlan::strict(limit), limit },
            queues: Queues::All,
            routes: vec![Route::task(TASK)],
            company: Company::Nobody,
            rooms: Vec::new(),
        };
        match self.store.inner.claim(&request).await.unwrap() {
            ClaimAnswer::Claimed(claim) => claim.jobs,
            other => panic!("{other:?}"),
        }
    }

    /// Takes the only waiting job down with its worker, so often.
    pub async fn crash(&self, times: u32) {
        for _ in 0..times {
            let session = self.stranger(Duration::from_millis(1)).await;
            self.claimed_by(session, 1).await;
            sleep(Duration::from_millis(2)).await;
            self.lapse(session).await;
        }
    }

    pub async fn lapse(&self, session: SessionId) {
        let pulses = self.store.inner.pulses().await.unwrap();
        let pulse = pulses.into_iter().find(|pulse| pulse.session == session).unwrap();
        self.store.inner.lapse(pulse).await.unwrap().expect("it had not been renewed");
    }

    pub async fn is_clean(&self) {
        let audit = self.store.inner.census().await.unwrap();
        assert!(audit.is_clean(), "{audit:?}");
    }

    /// Drains the worker and waits for its end: nothing may be left of it.
    pub async fn drained(&self, worker: Running) -> Drained {
        self.stop.drain();
        let drained = timeout(PATIENCE, worker).await.expect("the worker stops").unwrap().unwrap();
        self.nothing_left().await;
        drained
    }

    pub async fn nothing_left(&self) {
        self.tasks.wait(Duration::from_secs(1)).await.unwrap();
        assert_eq!(self.tasks.count(), 0);
    }
}

pub type Running = Task<Result<Drained, worker::Error>>;

pub fn job(payload: &str) -> NewJob {
    job_with(payload, |_| {})
}

pub fn job_with(payload: &str, change: impl FnOnce(&mut Work)) -> NewJob {
    let mut work = Work {
        target: Target::Task(TaskTarget { name: TASK.into(), payload: Body::Text(payload.into()) }),
        kind: None,
        queue: QueueName::default(),
        lane: Lane::Normal,
        max_attempts: 3,
        backoff: Backoff::TASK,
        timeout: Duration::from_hours(1),
        expires_at: None,
        callback_url: None,
        correlation_id: None,
        tags: vec![],
        idempotency_key: None,
        occasion: None,
    };
    change(&mut work);
    NewJob {
        id: JobId::fresh(),
        tenant: TenantId::default(),
        work: Arc::new(work),
        start: Start::Now,
        idempotency: None,
    }
}

/// Waits for a level, looking every few milliseconds of paused time.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    until_async(what, async || is_so()).await;
}

pub async fn until_async(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let look = async {
        while !is_so().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, look).await.unwrap_or_else(|_| panic!("never: {what}"));
}
