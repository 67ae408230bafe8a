//! A whole API on a port of its own, over the reference store.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use foreman_api::{
    App, AppParts, Bodies, CommandPolicy, Cursors, Dashboard, Gate, HostPolicy, Hub, KeyPolicy, Patience, Readiness,
    Server, Tail, Vitals, Waits, router, serve, tail,
};
use foreman_core::lane::LanePlan;
use foreman_core::limits::Limits;
use foreman_core::memory::{self, LocalLimiter, LocalWakeups, ManualClock};
use foreman_core::ports::{
    ClaimAnswer, ClaimRequest, Company, Held, JobStore, Limiter, LiveOutput, OutputChunk, OutputLine, OutputStream,
    Queues, SessionInfo, SessionStore, Submit, SubmitError, Submitted, WantedJobs,
};
use foreman_core::sealed::Keyring;
use foreman_core::target::Route;
use foreman_core::tenant::TenantLimits;
use foreman_core::{ClaimToken, JobId, NewJob, Report, SessionId, Verdict};
use foreman_runtime::{Stop, Task, Tasks};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use crate::clerk::Clerk;
use crate::faulty::{Faulty, faulty};
use crate::http::{Connection, PATIENCE, Reply};
use crate::registry::{Registry, registry};

/// Every process of a team has the same.
pub const MASTER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// What a test may set before the start.
pub struct Setting {
    pub commands: CommandPolicy,
    pub hosts: HostPolicy,
    pub keys: KeyPolicy,
    pub patience: Patience,
    pub keyring: Option<Arc<Keyring>>,
    pub tenant_limits: TenantLimits,
    /// Of the default tenant, where they are others.
    pub own_limits: Option<TenantLimits>,
    pub dashboard: Dashboard,
    pub dev: bool,
    pub limits: Limits,
    pub bodies: Bodies,
    pub serve: serve::Config,
    pub tail: tail::Config,
    /// Instead of one of its own.
    pub limiter: Option<Arc<dyn Limiter>>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            commands: CommandPolicy::Allowed,
            hosts: HostPolicy::Local,
            keys: KeyPolicy::None,
            patience: Patience::default(),
            keyring: Some(Arc::new(MASTER_KEY.parse().unwrap())),
            tenant_limits: TenantLimits::unlimited(),
            own_limits: None,
            dashboard: Dashboard::default(),
            dev: true,
            limits: Limits::default(),
            bodies: Bodies::default(),
            serve: serve::Config::default(),
            // Without a poll in sight, only what is woken is seen.
            tail: tail::Config { poll: Duration::from_mins(10), ..tail::Config::default() },
            limiter: None,
        }
    }
}

pub struct Api {
    pub addr: SocketAddr,
    /// The same without a socket.
    pub inside: axum::Router,
    pub store: Arc<Faulty>,
    pub registry: Arc<Registry>,
    pub submit: Arc<Direct>,
    pub clerk: Arc<Clerk>,
    pub clock: Arc<ManualClock>,
    pub wakeups: Arc<LocalWakeups>,
    pub readiness: Readiness,
    pub vitals: Vitals,
    pub waits: Waits,
    pub streams: Hub,
    pub output: Arc<Printed>,
    pub stop: Stop,
    pub tasks: Tasks,
    pub served: Task<()>,
    pub session: SessionId,
}

impl Api {
    pub async fn start() -> Self {
        Self::with(Setting::default()).await
    }

    pub async fn with(setting: Setting) -> Self {
        let (clock, wakeups) = (Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        let inner = memory::Store::new(clock.clone(), wakeups.clone());
        Self::on(setting, clock, wakeups, inner).await
    }

    /// Another server over the same store.
    pub async fn over(other: &Self, setting: Setting) -> Self {
        let inner = memory::Store::clone(&other.store.inner);
        Self::on(setting, other.clock.clone(), other.wakeups.clone(), inner).await
    }

    /// The same, and it hears no bell but its own.
    pub async fn deaf(other: &Self) -> (Self, Arc<LocalWakeups>) {
        let (inner, wakeups) = (memory::Store::clone(&other.store.inner), Arc::new(LocalWakeups::new()));
        (Self::on(Setting::default(), other.clock.clone(), wakeups.clone(), inner).await, wakeups)
    }

    async fn on(setting: Setting, clock: Arc<ManualClock>, wakeups: Arc<LocalWakeups>, inner: memory::Store) -> Self {
        let registry = Arc::new(registry(inner.clone()));
        let store = Arc::new(faulty(inner));
        let tasks = Tasks::new();
        let submit = Arc::new(Direct::new(store.clone(), tasks.clone()));
        let clerk = Arc::new(Clerk::new(store.clone()));
        let (stop, readiness, output) = (Stop::new(), Readiness::new(), Arc::new(Printed::default()));
        let cursors = Cursors::new(setting.keyring.as_deref(), &setting.keys);
        let tail = Tail::new(store.clone(), wakeups.as_ref(), cursors, setting.tail, readiness.clone());
        let (waits, streams) = (tail.waits(), tail.streams());
        drop(tasks.spawn("tail", tail.run(stop.shutdown())));
        let vitals = Vitals::new("0.0.0-test", readiness.clone(), None);
        vitals.set_store(store.clone());
        let app = App::new(AppParts {
            store: store.clone(),
            tenancy: registry.clone(),
            announced: Some(store.clone()),
            submit: submit.clone(),
            schedules: clerk.clone(),
            waits: waits.clone(),
            streams: streams.clone(),
            output: output.clone(),
            limiter: setting.limiter.unwrap_or_else(|| Arc::new(LocalLimiter::new(clock.clone()))),
            clock: clock.clone(),
            limits: setting.limits,
            own_limits: setting.own_limits.unwrap_or_else(|| setting.tenant_limits.clone()),
            tenant_limits: setting.tenant_limits,
            keyring: setting.keyring,
            bodies: setting.bodies,
            connections: setting.serve.max_connections,
            vitals: vitals.clone(),
            gate: Gate {
                hosts: setting.hosts,
                keys: setting.keys,
                patience: setting.patience,
                meter: None,
                readiness: readiness.clone(),
            },
            commands: setting.commands,
            dashboard: setting.dashboard,
            tasks: tasks.clone(),
            dev: setting.dev,
        });
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let addr = server.local_addr();
        let router = router(app);
        let inside = router.clone();
        let served = tasks.spawn("serve", server.serve(router, setting.serve, stop.shutdown(), tasks.clone()));
        let session = SessionId::fresh();
        let info = SessionInfo {
            id: session,
            worker: "test-worker".into(),
            pid: 7,
            version: "0".into(),
            slots: 8,
            queues: Vec::new(),
            tasks: Vec::new(),
            consumes: None,
            ttl: Duration::from_hours(1),
        };
        store.register(&info).await.unwrap();
        Self {
            addr,
            inside,
            store,
            registry,
            submit,
            clerk,
            clock,
            wakeups,
            readiness,
            vitals,
            waits,
            streams,
            output,
            stop,
            tasks,
            served,
            session,
        }
    }

    pub async fn connect(&self) -> Connection {
        Connection::open(self.addr).await
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Reply {
        self.connect().await.request(method, path, headers, body).await
    }

    /// The same with a key, for a tenant of its own choice.
    pub async fn send_as(
        &self,
        key: &str,
        tenant: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Reply {
        let bearer = format!("Bearer {key}");
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(tenant.map(|tenant| ("foreman-tenant", tenant)));
        headers.extend(body.map(|_| ("content-type", "application/json")));
        self.send(method, path, &headers, body).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None).await
    }

    pub async fn post(&self, path: &str) -> Reply {
        self.send("POST", path, &[], None).await
    }

    pub async fn post_json(&self, path: &str, body: &str) -> Reply {
        self.send("POST", path, &[("content-type", "application/json")], Some(body)).await
    }

    pub async fn submit_text(&self, body: &str) -> Reply {
        self.post_json("/api/v1/jobs", body).await
    }

    /// Submits and answers the id.
    pub async fn submitted(&self, body: &str) -> String {
        id_of(&self.submit_text(body).await.expect(202))
    }

    pub async fn job(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/jobs/{id}")).await.expect(200)
    }

    /// Claims what is due, as a worker would.
    pub async fn claim(&self, limit: usize) -> Vec<Held> {
        let request = ClaimRequest {
            session: self.session,
            token: ClaimToken::fresh(),
            wanted: WantedJobs::ByOrder { plan: LanePlan::strict(limit), limit },
            queues: Queues::All,
            routes: vec![Route::http(), Route::sealed_http(), Route::command(), Route::sealed_command()],
            company: Company::Others,
            rooms: Vec::new(),
        };
        match self.store.claim(&request).await.unwrap() {
            ClaimAnswer::Claimed(claim) => claim.jobs,
            ClaimAnswer::Nothing { .. } => Vec::new(),
            ClaimAnswer::SessionGone => panic!("the session is gone"),
        }
    }

    /// Runs everything that is due, with this result.
    pub async fn run_all(&self, verdict: impl Fn() -> Verdict) {
        loop {
            let held = self.claim(500).await;
            if held.is_empty() {
                return;
            }
            let settlements: Vec<_> = held.into_iter().map(|held| held.settle(verdict())).collect();
            self.store.settle(self.session, &settlements).await.unwrap();
        }
    }

    pub async fn complete_all(&self) {
        self.run_all(|| Verdict::Completed(Report::default())).await;
    }

    pub async fn kill_all(&self) {
        self.run_all(|| Verdict::Dead(Report::error("gave up"))).await;
    }
}

/// As a build would be.
pub fn dashboard() -> Dashboard {
    let script = "console.log('a line like many others');\n".repeat(100);
    let files = [
        ("index.html", "<!doctype html><html><body><div id=\"root\"></div></body></html>".to_owned()),
        ("assets/app-D0o6KwHs.js", script.clone()),
        ("assets/style-C_U33Qv9.css", "body { margin: 0 }".to_owned()),
        ("assets/font-Dx4kXJAl.woff2", script.clone()),
        ("assets/plain.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_owned()),
        ("assets/strange", "?".to_owned()),
    ];
    let file = |(place, (path, text)): (usize, (&str, String))| {
        (path.to_owned(), text.into_bytes().into(), [u8::try_from(place).expect("a few"); 32])
    };
    Dashboard::of(files.into_iter().enumerate().map(file))
}

pub fn id_of(document: &Value) -> String {
    document["id"].as_str().expect("an id").to_owned()
}

/// Waits for a level, never for a time.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

pub async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("in time")
}

/// All places at the gate: whoever holds them has closed it.
pub const ALL: u32 = 1_000;

/// The shortest submitter that keeps the port's promise: what it has taken is written, whoever still waits.
pub struct Direct {
    store: Arc<Faulty>,
    tasks: Tasks,
    /// Closed: what is taken is written only once it opens.
    pub gate: Arc<Semaphore>,
    pub taken: AtomicUsize,
    pub refuse: Mutex<Option<SubmitError>>,
}

impl Direct {
    fn new(store: Arc<Faulty>, tasks: Tasks) -> Self {
        let gate = Arc::new(Semaphore::new(ALL as usize));
        Self { store, tasks, gate, taken: AtomicUsize::new(0), refuse: Mutex::default() }
    }

    pub fn set_refusal(&self, error: Option<SubmitError>) {
        *self.refuse.lock().unwrap() = error;
    }

    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Submit for Direct {
    async fn submit(&self, jobs: Vec<NewJob>) -> Result<Vec<Submitted>, SubmitError> {
        let refusal = self.refuse.lock().unwrap().clone();
        if let Some(error) = refusal {
            return Err(error);
        }
        self.taken.fetch_add(jobs.len(), Ordering::SeqCst);
        let (store, gate) = (self.store.clone(), self.gate.clone());
        let write = self.tasks.spawn("write", async move {
            let _open = gate.acquire().await.unwrap();
            store.submit(&jobs).await
        });
        Ok(write.await.expect("the write does not panic")?)
    }
}

/// What commands are said to print.
#[derive(Default)]
pub struct Printed(pub Mutex<Option<(JobId, Vec<String>)>>);

impl LiveOutput for Printed {
    fn read(&self, job: JobId, after: u64) -> Option<OutputChunk> {
        let printed = self.0.lock().unwrap();
        let (_, lines) = printed.as_ref().filter(|(id, _)| *id == job)?;
        let line = |text: &String| OutputLine { stream: OutputStream::Stdout, text: text.clone() };
        let lines: Vec<OutputLine> = lines.iter().skip(after as usize).map(line).collect();
        Some(OutputChunk { first_line: after, next_line: after + lines.len() as u64, lines })
    }
}
