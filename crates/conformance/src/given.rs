//! What the promises start from: jobs, sessions, claims, each in a word or two.

use std::sync::Arc;
use std::time::Duration;

use super::Subject;
use foreman_core::id::{ClaimToken, Fence, JobId, SessionId, TenantId};
use foreman_core::job::{Idempotency, NewJob, QueueName, Start, Work};
use foreman_core::lane::{Lane, LanePlan};
use foreman_core::outcome::{AttemptOutcome, Report, Verdict};
use foreman_core::ports::{
    CancelAnswer, Census, ChangeRow, ClaimAnswer, ClaimRequest, Company, Due, Heartbeat, Held, JobFilter, JobView,
    Moved, Note, OpenJob, Position, Pruned, Pulse, Queues, RedriveAnswer, RemoveAnswer, Retention, SessionInfo,
    Settled, Settlement, Store, Submitted, WantedJobs,
};
use foreman_core::retry::Backoff;
use foreman_core::secret_map::SecretMap;
use foreman_core::state::State;
use foreman_core::target::{Body, CommandTarget, ExitCodes, HttpTarget, Program, Route, Target, TaskTarget};
use foreman_core::time::Timestamp;

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_mins(1);
pub const HOUR: Duration = Duration::from_hours(1);
pub const DAY: Duration = Duration::from_hours(24);

/// The time to live of a [`Scene::mortal`] session.
pub const TTL: Duration = Duration::from_secs(15);

/// More than any promise asks for at once.
pub const PLENTY: usize = 10_000;

/// A job to be built: an HTTP call, due at once, of the default tenant, until told otherwise.
#[derive(Clone)]
pub struct Ask {
    tenant: TenantId,
    work: Work,
    start: Start,
    idempotency: Option<Idempotency>,
}

pub fn a_job() -> Ask {
    let target = Target::Http(HttpTarget {
        url: "http://127.0.0.1:9/hook".parse().expect("a valid URL"),
        method: "POST".into(),
        headers: SecretMap::default(),
        body: Body::None,
    });
    Ask {
        tenant: TenantId::default(),
        work: Work {
            target,
            kind: None,
            queue: QueueName::default(),
            lane: Lane::Normal,
            max_attempts: 25,
            backoff: Backoff::HTTP,
            timeout: Duration::from_secs(30),
            expires_at: None,
            callback_url: None,
            correlation_id: None,
            tags: Vec::new(),
            idempotency_key: None,
            occasion: None,
        },
        start: Start::Now,
        idempotency: None,
    }
}

pub fn tenant(name: &str) -> TenantId {
    TenantId::new(name)
}

pub fn queue(name: &str) -> QueueName {
    name.parse().expect("a valid queue name")
}

impl Ask {
    #[must_use]
    pub fn of(mut self, tenant: &str) -> Self {
        self.tenant = TenantId::new(tenant);
        self
    }

    #[must_use]
    pub fn queued(mut self, queue: &str) -> Self {
        self.work.queue = self::queue(queue);
        self
    }

    #[must_use]
    pub fn lane(mut self, lane: Lane) -> Self {
        self.work.lane = lane;
        self
    }

    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.start = Start::After(delay);
        self
    }

    #[must_use]
    pub fn at(mut self, time: Timestamp) -> Self {
        self.start = Start::At(time);
        self
    }

    #[must_use]
    pub fn expires(mut self, time: Timestamp) -> Self {
        self.work.expires_at = Some(time);
        self
    }

    #[must_use]
    pub fn tries(mut self, max_attempts: u32) -> Self {
        self.work.max_attempts = max_attempts;
        self
    }

    #[must_use]
    pub fn kind(mut self, kind: &str) -> Self {
        self.work.kind = Some(kind.into());
        self
    }

    #[must_use]
    pub fn tagged(mut self, tag: &str) -> Self {
        self.work.tags.push(tag.into());
        self
    }

    #[must_use]
    pub fn correlated(mut self, id: &str) -> Self {
        self.work.correlation_id = Some(id.into());
        self
    }

    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.work.target = target;
        self
    }

    #[must_use]
    pub fn command(self) -> Self {
        self.target(Target::Command(CommandTarget {
            program: Program::Argv(vec!["true".into()]),
            env: SecretMap::default(),
            cwd: None,
            input: Body::None,
            exit_codes: ExitCodes::default(),
        }))
    }

    #[must_use]
    pub fn task(self, name: &str) -> Self {
        self.target(Target::Task(TaskTarget { name: name.into(), payload: Body::None }))
    }

    /// With an idempotency key that stands for `content` and is kept for a day.
    #[must_use]
    pub fn keyed(mut self, key: &str, content: u8) -> Self {
        self.work.idempotency_key = Some(key.into());
        self.idempotency =
            Some(Idempotency { key: key.into(), fingerprint: [content; 32], former: Vec::new(), keep: DAY });
        self
    }

    #[must_use]
    pub fn work(mut self, change: impl FnOnce(&mut Work)) -> Self {
        change(&mut self.work);
        self
    }

    /// With a fresh id.
    pub fn build(&self) -> NewJob {
        NewJob {
            id: JobId::fresh(),
            tenant: self.tenant.clone(),
            work: Arc::new(self.work.clone()),
            start: self.start,
            idempotency: self.idempotency.clone(),
        }
    }
}

/// So many of one kind.
pub fn jobs(count: usize, ask: &Ask) -> Vec<NewJob> {
    (0..count).map(|_| ask.build()).collect()
}

pub fn completed() -> Verdict {
    Verdict::Completed(Report::default())
}

pub fn failed(error: &str) -> Verdict {
    Verdict::Failed(Report::error(error))
}

pub fn dead(error: &str) -> Verdict {
    Verdict::Dead(Report::error(error))
}

pub fn retry(delay: Duration) -> Verdict {
    Verdict::Retry { delay, report: Report::error("it did not work") }
}

pub fn interrupted() -> Verdict {
    Verdict::Interrupted(Report::error("stopped"))
}

/// The routes of every job that [`Ask`] builds, tasks apart.
pub fn routes() -> Vec<Route> {
    vec![Route::http(), Route::command()]
}

/// A claim call by order, in company, of everything there is.
pub fn by_order(session: SessionId, limit: usize) -> ClaimRequest {
    ClaimRequest {
        session,
        token: ClaimToken::fresh(),
        wanted: WantedJobs::ByOrder { plan: LanePlan::strict(limit), limit },
        queues: Queues::All,
        routes: routes(),
        company: Company::Others,
        rooms: Vec::new(),
    }
}

pub fn by_ids(session: SessionId, ids: &[JobId]) -> ClaimRequest {
    ClaimRequest { wanted: WantedJobs::ByIds(ids.to_vec()), ..by_order(session, 0) }
}

/// The same call with nothing else running in the session.
pub fn alone(request: ClaimRequest) -> ClaimRequest {
    ClaimRequest { company: Company::Nobody, ..request }
}

/// The jobs of an answer; none when there was nothing to take.
pub fn taken(answer: ClaimAnswer) -> Vec<Held> {
    match answer {
        ClaimAnswer::Claimed(claim) => {
            assert!(!claim.jobs.is_empty(), "an empty claim is `Nothing`");
            claim.jobs
        }
        ClaimAnswer::Nothing { .. } => Vec::new(),
        ClaimAnswer::SessionGone => panic!("the session is live, yet the claim says it is gone"),
    }
}

pub fn ids(held: &[Held]) -> Vec<JobId> {
    held.iter().map(|held| held.job.id).collect()
}

pub fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort();
    items
}

pub fn open(held: &Held) -> OpenJob {
    OpenJob { fence: held.fence, job: held.job.id }
}

/// The identity of an attempt, to settle it in any way and as often as one likes.
#[derive(Clone, Copy, Debug)]
pub struct Proof {
    pub session: SessionId,
    pub fence: Fence,
    pub job: JobId,
}

impl Proof {
    pub fn with(self, verdict: Verdict) -> Settlement {
        Settlement { fence: self.fence, job: self.job, verdict }
    }
}

/// A store with shorthands that panic when it does not answer.
pub struct Scene<'a> {
    subject: &'a dyn Subject,
    pub store: Arc<dyn Store>,
}

const ANSWERS: &str = "the store answers";

impl<'a> Scene<'a> {
    pub fn of(subject: &'a dyn Subject) -> Self {
        Self { subject, store: subject.store() }
    }

    // --- time

    pub async fn now(&self) -> Timestamp {
        self.subject.now().await
    }

    pub async fn advance(&self, by: Duration) {
        self.subject.advance(by).await;
    }

    /// Lets time pass, and gives what has fallen due its place in the order.
    pub async fn wait(&self, by: Duration) {
        self.advance(by).await;
        while self.promote(PLENTY).await.was_busy(PLENTY) {}
    }

    pub async fn promote(&self, limit: usize) -> Due {
        self.store.promote(limit).await.expect(ANSWERS)
    }

    // --- in

    pub async fn answers(&self, jobs: &[NewJob]) -> Vec<Submitted> {
        self.store.submit(jobs).await.expect(ANSWERS)
    }

    /// Submits them in one call; all are accepted.
    pub async fn submit_all(&self, jobs: &[NewJob]) -> Vec<JobId> {
        let answers = self.answers(jobs).await;
        assert!(answers.len() == jobs.len() && answers.iter().all(Submitted::is_accepted), "{answers:?}");
        jobs.iter().map(|job| job.id).collect()
    }

    pub async fn submit(&self, ask: Ask) -> JobId {
        self.submit_all(&[ask.build()]).await[0]
    }

    // --- sessions

    async fn registered(&self, worker: &str, ttl: Duration) -> SessionId {
        let id = SessionId::fresh();
        self.store.register(&session_info(id, worker, ttl)).await.expect(ANSWERS);
        id
    }

    /// A session that outlives every promise.
    pub async fn session(&self) -> SessionId {
        self.registered("worker", DAY * 3_650).await
    }

    pub async fn session_of(&self, worker: &str) -> SessionId {
        self.registered(worker, DAY * 3_650).await
    }

    /// A session that can be lapsed by [`Scene::lapse`].
    pub async fn mortal(&self) -> SessionId {
        self.registered("mortal", TTL).await
    }

    pub async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Heartbeat {
        self.store.heartbeat(session, given_up).await.expect(ANSWERS)
    }

    /// What a heartbeat of a live session says is still open, sorted.
    pub async fn beat(&self, session: SessionId, given_up: &[ClaimToken]) -> Vec<OpenJob> {
        match self.heartbeat(session, given_up).await {
            Heartbeat::Renewed { held } => sorted(held),
            Heartbeat::Gone => panic!("the session is live, yet its heartbeat says it is gone"),
        }
    }

    pub async fn held(&self, session: SessionId) -> Vec<OpenJob> {
        sorted(self.store.held(session).await.expect(ANSWERS))
    }

    pub async fn drain(&self, session: SessionId) -> bool {
        self.store.drain(session).await.expect(ANSWERS)
    }

    pub async fn end(&self, session: SessionId) -> usize {
        self.store.end(session).await.expect(ANSWERS)
    }

    pub async fn pulse(&self, session: SessionId) -> Option<Pulse> {
        self.store.pulses().await.expect(ANSWERS).into_iter().find(|pulse| pulse.session == session)
    }

    /// Lets the time of a [`Scene::mortal`] session pass and lapses it. Answers how many jobs came back.
    pub async fn lapse(&self, session: SessionId) -> usize {
        self.advance(TTL + SECOND).await;
        let pulse = self.pulse(session).await.expect("a session that is not over has a pulse");
        assert!(pulse.is_overdue, "its time is over");
        let lapsed = self.store.lapse(pulse).await.expect(ANSWERS);
        lapsed.expect("a session that is overdue and was not renewed lapses")
    }

    // --- claim and settle

    pub async fn ask(&self, request: &ClaimRequest) -> ClaimAnswer {
        self.store.claim(request).await.expect(ANSWERS)
    }

    pub async fn take(&self, request: ClaimRequest) -> Vec<Held> {
        taken(self.ask(&request).await)
    }

    pub async fn claim(&self, session: SessionId, limit: usize) -> Vec<Held> {
        self.take(by_order(session, limit)).await
    }

    /// Claims this one job, which must be there to be taken.
    pub async fn claim_job(&self, session: SessionId, id: JobId) -> Proof {
        let held = self.take(alone(by_ids(session, &[id]))).await;
        assert_eq!(ids(&held), [id], "a due job is claimed by its id");
        Proof { session, fence: held[0].fence, job: id }
    }

    /// Claims the next job in order, which must be there.
    pub async fn claim_next(&self, session: SessionId) -> Held {
        self.claim(session, 1).await.pop().expect("a job is due")
    }

    pub async fn settle_all(&self, session: SessionId, settlements: &[Settlement]) -> Vec<Settled> {
        self.store.settle(session, settlements).await.expect(ANSWERS)
    }

    pub async fn settle(&self, proof: Proof, verdict: Verdict) -> Settled {
        let answers = self.settle_all(proof.session, &[proof.with(verdict)]).await;
        assert_eq!(answers.len(), 1, "one answer for one settlement");
        answers[0]
    }

    /// Settles what this session really holds.
    pub async fn end_attempt(&self, proof: Proof, verdict: Verdict) {
        assert_eq!(self.settle(proof, verdict).await, Settled::Now, "{} was held", proof.job);
    }

    pub async fn complete(&self, session: SessionId, held: Held) {
        let answers = self.settle_all(session, &[held.settle(completed())]).await;
        assert_eq!(answers, [Settled::Now]);
    }

    /// One attempt from claim to its end.
    pub async fn run(&self, session: SessionId, id: JobId, verdict: Verdict) -> Proof {
        let proof = self.claim_job(session, id).await;
        self.end_attempt(proof, verdict).await;
        proof
    }

    /// Lapses a session that holds this job.
    pub async fn crash(&self, id: JobId) {
        let session = self.mortal().await;
        self.claim_job(session, id).await;
        assert_eq!(self.lapse(session).await, 1, "the lapsed session held {id}");
    }

    /// A job in `state`. One that is scheduled or retrying falls due in an hour.
    pub async fn job_in(&self, state: State, ask: Ask) -> JobId {
        let ask = if state == State::Scheduled { ask.after(HOUR) } else { ask };
        let owner = ask.tenant.clone();
        let id = self.submit(ask).await;
        let session = self.session().await;
        match state {
            State::Scheduled | State::Pending => {}
            State::Running => drop(self.claim_job(session, id).await),
            State::Retrying => drop(self.run(session, id, retry(HOUR)).await),
            State::Completed => drop(self.run(session, id, completed()).await),
            State::Failed => drop(self.run(session, id, failed("no")).await),
            State::Dead => drop(self.run(session, id, dead("never")).await),
            State::Cancelled => {
                let answer = self.store.cancel(&owner, &[id]).await.expect(ANSWERS);
                assert_eq!(answer, [Some(CancelAnswer::WasWaiting)]);
            }
        }
        let view = self.store.get(&owner, id).await.expect(ANSWERS).expect("the job is there");
        assert_eq!(view.state, state);
        id
    }

    // --- the default tenant's verbs

    pub async fn cancel(&self, id: JobId) -> Option<CancelAnswer> {
        self.store.cancel(&TenantId::default(), &[id]).await.expect(ANSWERS)[0]
    }

    pub async fn redrive(&self, id: JobId) -> Option<RedriveAnswer> {
        self.store.redrive(&TenantId::default(), &[id]).await.expect(ANSWERS)[0]
    }

    pub async fn remove(&self, id: JobId) -> Option<RemoveAnswer> {
        self.store.remove(&TenantId::default(), &[id]).await.expect(ANSWERS)[0]
    }

    pub async fn pause(&self, name: &str) -> bool {
        self.store.pause(&TenantId::default(), &queue(name)).await.expect(ANSWERS)
    }

    pub async fn resume(&self, name: &str) -> bool {
        self.store.resume(&TenantId::default(), &queue(name)).await.expect(ANSWERS)
    }

    pub async fn prune(&self, retention: &Retention, limit: usize) -> Pruned {
        self.store.prune(retention, limit).await.expect(ANSWERS)
    }

    // --- what can be seen

    pub async fn find(&self, id: JobId) -> Option<JobView> {
        let of = TenantId::default();
        let mut view = self.store.get(&of, id).await.expect(ANSWERS)?;
        // All its attempts, page by page.
        while view.attempts.records.len() < view.attempts.kept {
            let shown = view.attempts.records.len();
            let mut older = self.store.attempts(&of, id, shown).await.expect(ANSWERS).expect("the job is there");
            assert!(!older.records.is_empty(), "{shown} of {} attempts are all", view.attempts.kept);
            older.records.append(&mut view.attempts.records);
            view.attempts = older;
        }
        Some(view)
    }

    pub async fn view(&self, id: JobId) -> JobView {
        self.find(id).await.expect("the job is there")
    }

    pub async fn state(&self, id: JobId) -> State {
        self.view(id).await.state
    }

    /// Attempt, spent and crashes.
    pub async fn counters(&self, id: JobId) -> (u32, u32, u32) {
        let view = self.view(id).await;
        (view.attempt, view.spent, view.crashes)
    }

    /// How the attempts of a job ended, in the order in which they are shown; `None` for one under way.
    pub async fn outcomes(&self, id: JobId) -> Vec<Option<AttemptOutcome>> {
        self.view(id).await.attempts.records.into_iter().map(|attempt| attempt.outcome).collect()
    }

    pub async fn count(&self, filter: &JobFilter) -> u64 {
        self.store.count(&TenantId::default(), filter).await.expect(ANSWERS)
    }

    pub async fn head(&self) -> Position {
        self.store.head().await.expect(ANSWERS)
    }

    pub async fn start(&self) -> Position {
        self.store.start().await.expect(ANSWERS)
    }

    /// Every row of the log since, read in steps of a few.
    pub async fn rows_since(&self, mut position: Position) -> Vec<ChangeRow> {
        let mut rows: Vec<ChangeRow> = Vec::new();
        loop {
            let changes = self.store.changes(position, 3).await.expect(ANSWERS);
            if changes.rows.is_empty() {
                return rows;
            }
            assert!(changes.rows.is_sorted_by_key(|row| row.position), "a page is in order");
            assert!(changes.rows.iter().all(|row| row.position > position), "a row is told once");
            assert_eq!(
                changes.rows.last().map(|row| row.position),
                Some(changes.position),
                "one goes on after the last"
            );
            position = changes.position;
            rows.extend(changes.rows);
        }
    }

    /// Everything else that happened since.
    pub async fn notes_since(&self, position: Position) -> Vec<Note> {
        self.rows_since(position).await.into_iter().flat_map(|row| row.notes).collect()
    }

    /// Everything that moved since, read in steps of a few rows.
    pub async fn moved_since(&self, mut position: Position) -> Vec<Moved> {
        let mut moved = Vec::new();
        loop {
            let changes = self.store.changes(position, 3).await.expect(ANSWERS);
            if changes.rows.is_empty() {
                return moved;
            }
            assert!(changes.position > position, "a page with changes moves on");
            position = changes.position;
            moved.extend(changes.into_moved());
        }
    }

    /// A full look at the store, which must find every job in exactly one place.
    pub async fn census(&self) -> Census {
        let audit = self.store.census().await.expect(ANSWERS);
        assert!(audit.is_clean(), "the store is not as it must be: {audit:#?}");
        audit
    }
}

pub fn session_info(id: SessionId, worker: &str, ttl: Duration) -> SessionInfo {
    SessionInfo {
        id,
        worker: worker.into(),
        pid: 4711,
        version: "0.1.0".into(),
        slots: 32,
        queues: Vec::new(),
        tasks: Vec::new(),
        consumes: None,
        ttl,
    }
}

/// Runs each piece of work as a task of its own, all at once, and answers in the order given.
pub async fn at_once<F>(work: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "a race needs tasks, and all of them are awaited here")]
    let tasks: Vec<_> = work.into_iter().map(tokio::spawn).collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        match task.await {
            Ok(result) => results.push(result),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    results
}
