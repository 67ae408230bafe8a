//! Random histories: every verb in any order, by several sessions, with answers lost and calls repeated, workers that
//! die and come back as zombies, users who meddle.
//!
//! After every step the store is compared with an account the test keeps by itself and looked at in full; at the end
//! every job must reach a final state, with one outcome for every life it had. A history is made from its seed alone: a
//! failure prints the seed and the steps that led to it.

mod broker;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use broker::Road;
pub use broker::{Broker, history_over};

use super::Subject;
use super::given::{
    Ask, MINUTE, PLENTY, Proof, SECOND, Scene, TTL, a_job, alone, by_ids, by_order, completed, dead, failed,
    interrupted, queue, retry, session_info, sorted, taken, tenant,
};
use super::ledger::{Ledger, Place};
use foreman_core::id::{ClaimToken, Fence, JobId, SessionId, TenantId};
use foreman_core::lane::Lane;
use foreman_core::outcome::Verdict;
use foreman_core::ports::{
    CancelAnswer, ClaimAnswer, ClaimRequest, Company, Heartbeat, Held, JobFilter, Position, RedriveAnswer,
    RemoveAnswer, Settled, WantedJobs,
};
use foreman_core::state::{State, StateEvent, transition};

/// Steps of one history.
pub const STEPS: usize = 150;

const TENANTS: [&str; 2] = ["north", "south"];
const QUEUES: [&str; 2] = ["mail", "reports"];
const SESSIONS: usize = 3;

/// What kind of trouble a history is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Work, retries and time.
    Calm,
    /// Answers are lost, calls arrive late and twice.
    Lossy,
    /// Workers die, end, drain, and speak from the grave.
    Deadly,
    /// Users cancel, re-drive, remove and pause.
    Meddling,
    /// All of it.
    Everything,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Submit,
    SubmitTwice,
    Claim,
    ClaimByIds,
    ClaimTwice,
    ClaimLost,
    ClaimLate,
    Settle,
    SettleTwice,
    SettleStale,
    Heartbeat,
    Lapse,
    LapseTooLate,
    Drain,
    End,
    Promote,
    Cancel,
    Redrive,
    Remove,
    Pause,
    Resume,
    Count,
}

impl Mood {
    fn steps(self) -> Vec<(Step, u32)> {
        use Step::{
            Cancel, Claim, ClaimByIds, ClaimLate, ClaimLost, ClaimTwice, Count, Drain, End, Heartbeat, Lapse,
            LapseTooLate, Pause, Promote, Redrive, Remove, Resume, Settle, SettleStale, SettleTwice, Submit,
            SubmitTwice,
        };
        let work = vec![(Submit, 16), (Claim, 22), (ClaimByIds, 3), (Settle, 26), (Promote, 10), (Heartbeat, 5)];
        let lossy = vec![(SubmitTwice, 4), (ClaimTwice, 6), (ClaimLost, 6), (ClaimLate, 4), (SettleTwice, 8)];
        let deadly = vec![(Lapse, 8), (LapseTooLate, 3), (Drain, 2), (End, 4), (SettleStale, 8)];
        let meddling = vec![(Cancel, 8), (Redrive, 8), (Remove, 2), (Pause, 3), (Resume, 4), (Count, 4)];
        match self {
            Mood::Calm => [work, vec![(Count, 3)]].concat(),
            Mood::Lossy => [work, lossy, vec![(SettleStale, 4)]].concat(),
            Mood::Deadly => [work, deadly].concat(),
            Mood::Meddling => [work, meddling, vec![(SettleStale, 4)]].concat(),
            Mood::Everything => [work, lossy, deadly, meddling].concat(),
        }
    }
}

/// Plays one history to its end.
pub async fn history(subject: &dyn Subject, mood: Mood, seed: u64) {
    Play::new(subject, mood, seed).run(mood).await;
}

struct Actor {
    id: SessionId,
    is_draining: bool,
    /// Calls it no longer waits for; named with every heartbeat.
    given_up: Vec<ClaimToken>,
}

struct Play<'a> {
    scene: Scene<'a>,
    rng: SmallRng,
    ledger: Ledger,
    actors: Vec<Actor>,
    /// Every attempt there ever was.
    proofs: Vec<Proof>,
    tokens: BTreeMap<Fence, ClaimToken>,
    start: Position,
    trail: Trail,
    /// None: every claim goes by order.
    road: Option<Road>,
}

/// Tells how it came to this when a promise breaks.
struct Trail {
    title: String,
    steps: Vec<String>,
}

impl Trail {
    fn push(&mut self, step: String) {
        self.steps.push(step);
    }

    fn note(&mut self, detail: &str) {
        if let Some(step) = self.steps.last_mut() {
            let _ = write!(step, " {detail}");
        }
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last = self.steps.len().saturating_sub(40);
            eprintln!("{}, the last of {} steps:", self.title, self.steps.len());
            for step in &self.steps[last..] {
                eprintln!("  {step}");
            }
        }
    }
}

impl<'a> Play<'a> {
    fn new(subject: &'a dyn Subject, mood: Mood, seed: u64) -> Self {
        Self {
            scene: Scene::of(subject),
            rng: SmallRng::seed_from_u64(seed),
            ledger: Ledger::default(),
            actors: Vec::new(),
            proofs: Vec::new(),
            tokens: BTreeMap::new(),
            start: Position::default(),
            trail: Trail { title: format!("{mood:?} history of seed {seed}"), steps: Vec::new() },
            road: None,
        }
    }

    async fn run(&mut self, mood: Mood) {
        for _ in 0..SESSIONS {
            self.register().await;
        }
        for _ in 0..STEPS {
            let step = self.pick(&mood.steps());
            self.trail.push(format!("{step:?}"));
            self.step(step).await;
            self.check().await;
        }
        self.finish().await;
    }

    fn pick(&mut self, steps: &[(Step, u32)]) -> Step {
        let chosen = steps.choose_weighted(&mut self.rng, |(_, weight)| *weight);
        chosen.expect("there are steps, each with a weight").0
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Submit => self.submit(false).await,
            Step::SubmitTwice => self.submit(true).await,
            Step::Claim if self.road.is_some() => {
                let road = self.road.take().expect("there is one");
                self.road = Some(self.claim_delivered(road).await);
            }
            Step::Claim | Step::ClaimByIds => self.claim(step == Step::ClaimByIds).await,
            Step::ClaimTwice => self.claim_twice().await,
            Step::ClaimLost => self.claim_lost().await,
            Step::ClaimLate => self.claim_late().await,
            Step::Settle => self.settle(false).await,
            Step::SettleTwice => self.settle(true).await,
            Step::SettleStale => self.settle_stale().await,
            Step::Heartbeat => {
                let actor = self.actor();
                self.heartbeat(actor).await;
            }
            Step::Lapse => self.lapse().await,
            Step::LapseTooLate => self.lapse_too_late().await,
            Step::Drain => self.drain().await,
            Step::End => self.end().await,
            Step::Promote => {
                let wait = SECOND * self.rng.random_range(0..8);
                self.promote(wait).await;
            }
            Step::Cancel => self.cancel().await,
            Step::Redrive => self.redrive().await,
            Step::Remove => self.remove().await,
            Step::Pause | Step::Resume => self.pause_or_resume(step == Step::Pause).await,
            Step::Count => self.count().await,
        }
    }

    // --- in

    async fn ask(&mut self) -> Ask {
        let mut ask = a_job()
            .of(TENANTS.choose(&mut self.rng).expect("not empty"))
            .queued(QUEUES.choose(&mut self.rng).expect("not empty"))
            .lane(*Lane::ALL.choose(&mut self.rng).expect("not empty"))
            .tries(self.rng.random_range(1..6));
        if self.rng.random_bool(0.3) {
            ask = ask.after(SECOND * self.rng.random_range(1..20));
        }
        if self.rng.random_bool(0.1) {
            ask = ask.expires(self.scene.now().await.plus(SECOND * self.rng.random_range(20..60)));
        }
        ask
    }

    async fn submit(&mut self, twice: bool) {
        let mut batch = Vec::new();
        for _ in 0..self.rng.random_range(1..=3) {
            batch.push(self.ask().await.build());
        }
        self.scene.submit_all(&batch).await;
        let now = self.scene.now().await;
        for job in &batch {
            self.ledger.submitted(job, job.start.run_at(now), now);
        }
        if twice {
            self.scene.submit_all(&batch).await;
        }
    }

    // --- sessions

    async fn register(&mut self) {
        let id = SessionId::fresh();
        self.scene.store.register(&session_info(id, "worker", TTL)).await.expect("the store answers");
        self.actors.push(Actor { id, is_draining: false, given_up: Vec::new() });
    }

    /// The place of any living session.
    fn actor(&mut self) -> usize {
        self.rng.random_range(0..self.actors.len())
    }

    async fn heartbeat(&mut self, actor: usize) {
        let Actor { id, given_up, .. } = &self.actors[actor];
        let (id, given_up) = (*id, given_up.clone());
        let answer = self.scene.heartbeat(id, &given_up).await;
        let now = self.scene.now().await;
        for open in self.ledger.open(id) {
            if given_up.contains(&self.tokens[&open.fence]) {
                self.ledger.handed_back(open.job, open.fence, now);
            }
        }
        let Heartbeat::Renewed { held } = answer else { panic!("{id} lives, yet its heartbeat says it is gone") };
        assert_eq!(sorted(held), self.ledger.open(id), "what the heartbeat says is open");
    }

    /// Everyone else beats in time, this one does not.
    async fn lapse(&mut self) {
        let dying = self.actor();
        let id = self.actors[dying].id;
        self.scene.advance(TTL + SECOND).await;
        for actor in 0..self.actors.len() {
            if actor != dying {
                self.heartbeat(actor).await;
            }
        }
        let pulse = self.scene.pulse(id).await.expect("it is not over");
        let lapsed = self.scene.store.lapse(pulse).await.expect("the store answers");
        let now = self.scene.now().await;
        let open = self.ledger.open(id);
        assert_eq!(lapsed, Some(open.len()));
        self.trail.note(&format!("{} jobs", open.len()));
        for open in open {
            self.ledger.lapsed(open.job, open.fence, now);
        }
        self.actors.remove(dying);
        assert_eq!(self.scene.heartbeat(id, &[]).await, Heartbeat::Gone);
        self.register().await;
    }

    /// The sweeper saw the session overdue, but it was renewed before the sweeper acted.
    async fn lapse_too_late(&mut self) {
        let actor = self.actor();
        self.scene.advance(TTL + SECOND).await;
        let pulse = self.scene.pulse(self.actors[actor].id).await.expect("it lives");
        assert!(pulse.is_overdue);
        for actor in 0..self.actors.len() {
            self.heartbeat(actor).await;
        }
        assert_eq!(self.scene.store.lapse(pulse).await.expect("the store answers"), None);
    }

    async fn drain(&mut self) {
        let actor = self.actor();
        self.scene.drain(self.actors[actor].id).await;
        self.actors[actor].is_draining = true;
    }

    async fn end(&mut self) {
        let actor = self.actor();
        let id = self.actors.remove(actor).id;
        let handed_back = self.scene.end(id).await;
        let now = self.scene.now().await;
        let open = self.ledger.open(id);
        assert_eq!(handed_back, open.len());
        for open in open {
            self.ledger.handed_back(open.job, open.fence, now);
        }
        self.register().await;
    }

    // --- claim

    fn request(&mut self, actor: usize) -> ClaimRequest {
        let session = self.actors[actor].id;
        let request = by_order(session, self.rng.random_range(1..=4));
        let is_idle = self.ledger.open(session).is_empty();
        if is_idle && self.rng.random_bool(0.7) { alone(request) } else { request }
    }

    async fn claim(&mut self, by_id: bool) {
        let actor = self.actor();
        let mut request = self.request(actor);
        if by_id {
            let known: Vec<JobId> = self.ledger.jobs.keys().copied().collect();
            let wanted: Vec<JobId> = known.sample(&mut self.rng, 3).copied().collect();
            request = ClaimRequest { wanted: by_ids(request.session, &wanted).wanted, ..request };
        }
        let limit = by_id.then_some(0);
        self.call(actor, &request, limit).await;
    }

    /// Makes a claim call and books what it took. `limit` overrides how many must be taken if they are there.
    async fn call(&mut self, actor: usize, request: &ClaimRequest, limit: Option<usize>) -> Vec<Held> {
        let before = self.scene.now().await;
        let claimable = self.ledger.claimable(before);
        let answer = self.scene.ask(request).await;
        if self.actors[actor].is_draining {
            assert!(matches!(answer, ClaimAnswer::SessionGone), "a draining session claims nothing: {answer:?}");
            return Vec::new();
        }
        let held = taken(answer);
        self.trail.note(&format!("took {}", held.len()));
        let is_alone = request.company == Company::Nobody;
        let wanted = match &request.wanted {
            WantedJobs::ByOrder { limit: wanted, .. } | WantedJobs::Unannounced { limit: wanted, .. } => {
                limit.unwrap_or(*wanted)
            }
            WantedJobs::ByIds(_) => 0,
        };
        let took_fragile = held.len() == 1 && held[0].is_fragile();
        assert!(
            took_fragile || held.len() >= wanted.min(claimable),
            "took {} of {wanted} wanted while {claimable} were there",
            held.len()
        );
        if let Some(first) = held.first() {
            self.tokens.insert(first.fence, request.token);
            let now = self.scene.now().await;
            self.ledger.claimed(request.session, &held, is_alone, now);
            for held in &held {
                self.proofs.push(Proof { session: request.session, fence: held.fence, job: held.job.id });
            }
        }
        held
    }

    /// The answer is lost, and the worker sends the same call again.
    async fn claim_twice(&mut self) {
        let actor = self.actor();
        let request = self.request(actor);
        let first = self.call(actor, &request, None).await;
        if first.is_empty() {
            return;
        }
        let again = self.scene.take(request).await;
        let known = |held: &Held| (held.fence, held.job.id, held.attempt, held.spent, held.crashes);
        assert_eq!(sorted(first.iter().map(known)), sorted(again.iter().map(known)), "the same claim");
    }

    /// The answer is lost, and the worker gives the call up.
    async fn claim_lost(&mut self) {
        let actor = self.actor();
        let request = self.request(actor);
        self.call(actor, &request, None).await;
        self.actors[actor].given_up.push(request.token);
    }

    /// The worker gives the call up and looks for it; only then does the call arrive.
    async fn claim_late(&mut self) {
        let actor = self.actor();
        let request = self.request(actor);
        self.actors[actor].given_up.push(request.token);
        self.heartbeat(actor).await;
        // What the heartbeat released may have changed what there is to take.
        self.call(actor, &request, None).await;
    }

    // --- settle

    fn verdict(&mut self) -> Verdict {
        match self.rng.random_range(0..100) {
            0..40 => completed(),
            40..48 => failed("no"),
            48..53 => dead("never"),
            53..75 => retry(SECOND * self.rng.random_range(1..20)),
            75..90 => interrupted(),
            _ => Verdict::Released,
        }
    }

    async fn settle(&mut self, twice: bool) {
        let held: Vec<Proof> = self
            .proofs
            .iter()
            .filter(|proof| {
                let place = Place::Held { session: proof.session, fence: proof.fence };
                self.ledger.jobs.get(&proof.job).is_some_and(|entry| entry.place == place)
            })
            .copied()
            .collect();
        let Some(proof) = held.choose(&mut self.rng).copied() else { return };
        let verdict = self.verdict();
        self.say(proof, &verdict).await;
        if twice {
            self.say(proof, &verdict).await;
        }
    }

    /// Anyone who ever held anything says how it ended: the living again, the dead from the grave, and some who hold
    /// the right number in the wrong hands.
    async fn settle_stale(&mut self) {
        let Some(mut proof) = self.proofs.choose(&mut self.rng).copied() else { return };
        if self.rng.random_bool(0.3) {
            let actor = self.actor();
            proof.session = self.actors[actor].id;
        }
        let verdict = self.verdict();
        self.say(proof, &verdict).await;
    }

    async fn say(&mut self, proof: Proof, verdict: &Verdict) {
        let expected = self.ledger.expects(proof, verdict);
        let answer = self.scene.settle(proof, verdict.clone()).await;
        self.trail.note(&format!("{:?} of {}: {answer:?}", verdict.name(), proof.job));
        assert!(expected.allows(answer), "{verdict:?} of {proof:?} was {answer:?}, should be {expected:?}");
        if answer == Settled::Now {
            let now = self.scene.now().await;
            self.ledger.settled(proof, verdict, now);
        }
    }

    // --- time and users

    async fn promote(&mut self, wait: Duration) {
        self.scene.advance(wait).await;
        let due = self.scene.promote(PLENTY).await;
        let now = self.scene.now().await;
        assert_eq!((due.promoted, due.expired), self.ledger.promoted(now), "what fell due and what expired");
    }

    fn any_job(&mut self) -> Option<(JobId, TenantId, Place)> {
        let jobs: Vec<_> =
            self.ledger.jobs.iter().map(|(id, entry)| (*id, entry.tenant.clone(), entry.place)).collect();
        jobs.choose(&mut self.rng).cloned()
    }

    async fn cancel(&mut self) {
        let Some((id, owner, place)) = self.any_job() else { return };
        let answer = self.scene.store.cancel(&owner, &[id]).await.expect("the store answers")[0];
        let expected = match place {
            Place::Waiting { .. } => CancelAnswer::WasWaiting,
            Place::Held { session, .. } => CancelAnswer::WasHeld(session),
            Place::Final(state) => CancelAnswer::AlreadyFinal(state),
        };
        assert_eq!(answer, Some(expected), "cancel of {id}");
        if !matches!(place, Place::Final(_)) {
            self.ledger.cancelled(id);
        }
    }

    async fn redrive(&mut self) {
        let Some((id, owner, place)) = self.any_job() else { return };
        let answer = self.scene.store.redrive(&owner, &[id]).await.expect("the store answers")[0];
        let now = self.scene.now().await;
        let expected = match place {
            Place::Final(_) => RedriveAnswer::Redriven,
            Place::Waiting { .. } | Place::Held { .. } => RedriveAnswer::NotFinal(self.ledger.jobs[&id].state(now)),
        };
        assert_eq!(answer, Some(expected), "re-drive of {id}");
        if matches!(place, Place::Final(_)) {
            self.ledger.redriven(id, now);
        }
    }

    async fn remove(&mut self) {
        let Some((id, owner, place)) = self.any_job() else { return };
        let answer = self.scene.store.remove(&owner, &[id]).await.expect("the store answers")[0];
        let now = self.scene.now().await;
        if matches!(place, Place::Final(_)) {
            assert_eq!(answer, Some(RemoveAnswer::Removed));
            self.ledger.jobs.remove(&id);
        } else {
            assert_eq!(answer, Some(RemoveAnswer::NotFinal(self.ledger.jobs[&id].state(now))));
        }
    }

    async fn pause_or_resume(&mut self, pause: bool) {
        let owner = tenant(TENANTS.choose(&mut self.rng).expect("not empty"));
        let name = queue(QUEUES.choose(&mut self.rng).expect("not empty"));
        let changed = if pause {
            self.scene.store.pause(&owner, &name).await.expect("the store answers")
        } else {
            self.scene.store.resume(&owner, &name).await.expect("the store answers")
        };
        let place = (owner, name);
        let expected = if pause { self.ledger.paused.insert(place) } else { self.ledger.paused.remove(&place) };
        assert_eq!(changed, expected);
    }

    // --- what must be true

    /// Counts by tenant and state agree with the account.
    async fn count(&mut self) {
        let now = self.scene.now().await;
        for name in TENANTS {
            for state in State::ALL {
                let filter = JobFilter { state: Some(state), ..JobFilter::default() };
                let counted = self.scene.store.count(&tenant(name), &filter).await.expect("the store answers");
                let jobs = self.ledger.jobs.values().filter(|entry| entry.tenant.as_str() == name);
                let expected = jobs.filter(|entry| entry.state(now) == state).count();
                assert_eq!(counted, expected as u64, "{state} jobs of {name}");
            }
        }
    }

    async fn check(&mut self) {
        let audit = self.scene.census().await;
        assert_eq!((audit.ready, audit.held, audit.outcomes), self.ledger.places(), "where the jobs are");
        if let Some((id, ..)) = self.any_job() {
            self.verify(id).await;
        }
    }

    async fn verify(&self, id: JobId) {
        let entry = &self.ledger.jobs[&id];
        let view = self.scene.store.get(&entry.tenant, id).await.expect("the store answers");
        entry.compare(&view.expect("a job the account knows is there"), self.scene.now().await);
    }

    /// Lets everything come to an end: queues open, old sessions gone, one good worker.
    async fn finish(&mut self) {
        self.trail.push("finish".into());
        for name in TENANTS {
            for of in QUEUES {
                self.scene.store.resume(&tenant(name), &queue(of)).await.expect("the store answers");
            }
        }
        self.ledger.paused.clear();
        while !self.actors.is_empty() {
            let id = self.actors.remove(0).id;
            self.scene.end(id).await;
            let now = self.scene.now().await;
            for open in self.ledger.open(id) {
                self.ledger.handed_back(open.job, open.fence, now);
            }
        }
        self.register().await;
        // Each round runs at least one job, or lets what waits fall due.
        for _ in 0..self.ledger.jobs.len() * 2 + 10 {
            self.promote(MINUTE).await;
            let request = alone(by_order(self.actors[0].id, 5));
            for held in self.call(0, &request, None).await {
                let proof = Proof { session: request.session, fence: held.fence, job: held.job.id };
                self.say(proof, &completed()).await;
            }
        }
        self.check().await;
        for (id, entry) in &self.ledger.jobs {
            assert!(matches!(entry.place, Place::Final(_)), "{id} never ended: {:?}", entry.place);
            self.verify(*id).await;
        }
        self.read_the_log().await;
    }

    /// The log tells the same story: only moves the states allow, and one end for every life.
    async fn read_the_log(&self) {
        let mut lives: BTreeMap<JobId, Vec<State>> = BTreeMap::new();
        for moved in self.scene.moved_since(self.start).await {
            lives.entry(moved.id).or_default().push(moved.step.state);
        }
        for (id, entry) in &self.ledger.jobs {
            let life = &lives[id];
            assert!(matches!(life[0], State::Scheduled | State::Pending), "{id} began as {}", life[0]);
            for pair in life.windows(2) {
                let allowed = StateEvent::ALL.into_iter().any(|event| transition(pair[0], event) == Some(pair[1]));
                assert!(allowed, "{id} went from {} to {}", pair[0], pair[1]);
            }
            let finals = life.iter().filter(|state| state.is_final()).count();
            assert_eq!(finals, entry.finals, "{id} ended once for every life: {life:?}");
        }
    }
}
