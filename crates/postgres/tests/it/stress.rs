//! Everything at once: every verb, by many, with answers lost, settlements sent twice, workers that die, and users who meddle.
//! Beside it somebody proves over and over that every job is in exactly one place.
//!
//! Time is the database's own here. Nothing is asserted about speed, only that each kind of trouble really happened.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_conformance::given::{
    a_job, alone, by_ids, by_order, completed, dead, failed, interrupted, retry, routes, session_info,
};
use foreman_core::lane::LanePlan;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{
    AnnounceRequest, AnnounceStore, CancelAnswer, ClaimAnswer, ClaimRequest, Headroom, Heartbeat, Held, JobQuery,
    JobStore, Queues, RedriveAnswer, RemoveAnswer, SessionStore, Settled, StoreError, Submitted, Upkeep, WantedJobs,
};
use foreman_core::{ClaimToken, JobId, SessionId, TenantId, Verdict};
use foreman_postgres::{Config, PostgresStore};
use foreman_runtime::{Task, Tasks};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, timeout};

use crate::given::{Database, is_torture};

const TTL: Duration = Duration::from_millis(800);
const TENANTS: [&str; 3] = ["north", "south", "west"];
const QUEUES: [&str; 2] = ["mail", "reports"];

/// What must have happened at least once.
const TROUBLES: [&str; 21] = [
    "submitted twice",
    "duplicates",
    "claimed",
    "claims given up",
    "settled",
    "settled twice",
    "fenced",
    "deaths",
    "left behind",
    "lapsed sessions",
    "lapsed jobs",
    "promoted",
    "cancelled waiting",
    "cancelled held",
    "redriven",
    "removed",
    "announced",
    "announced again",
    "claimed as announced",
    "refused as announced",
    "audits",
];

/// What happened, by name.
#[derive(Default)]
struct Tally(Mutex<HashMap<&'static str, u64>>);

impl Tally {
    fn add(&self, what: &'static str, count: usize) {
        *self.0.lock().unwrap().entry(what).or_default() += count as u64;
    }

    fn of(&self, what: &str) -> u64 {
        self.0.lock().unwrap().get(what).copied().unwrap_or_default()
    }
}

struct Stage {
    store: PostgresStore,
    /// When it is over if every kind of trouble has happened by then.
    until: Instant,
    /// When it is over whatever has happened.
    at_the_latest: Instant,
    tally: Tally,
    /// Every job that was accepted and not removed.
    known: Mutex<Vec<(TenantId, JobId)>>,
    removed: AtomicU64,
    /// What a broker would have delivered by now.
    arrived: Mutex<Vec<JobId>>,
}

impl Stage {
    fn is_over(&self) -> bool {
        let now = Instant::now();
        now >= self.at_the_latest || now >= self.until && self.missing().is_none()
    }

    /// A kind of trouble that has not happened yet.
    fn missing(&self) -> Option<&'static str> {
        TROUBLES.into_iter().find(|trouble| self.tally.of(trouble) == 0)
    }

    async fn is_gone(&self, tenant: &TenantId, job: JobId) -> bool {
        loop {
            if let Some(found) = self.unless_busy(self.store.get(tenant, job).await) {
                return found.is_none();
            }
        }
    }

    /// Busy neighbours may make the store say "later"; nothing else may go wrong.
    fn unless_busy<T>(&self, answer: Result<T, StoreError>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(StoreError::Unavailable(why)) => {
                self.tally.add("busy", 1);
                eprintln!("busy: {why}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn some_jobs(&self, rng: &mut SmallRng, count: usize) -> HashMap<TenantId, Vec<JobId>> {
        let known = self.known.lock().unwrap();
        let mut jobs: HashMap<TenantId, Vec<JobId>> = HashMap::new();
        // The young ones are where things happen.
        let start = known.len().saturating_sub(400);
        for (tenant, id) in known[start..].sample(rng, count) {
            jobs.entry(tenant.clone()).or_default().push(*id);
        }
        jobs
    }
}

async fn submit(stage: Arc<Stage>, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    while !stage.is_over() {
        let size = rng.random_range(1..=12);
        let batch: Vec<_> = (0..size)
            .map(|_| {
                let mut ask = a_job()
                    .of(TENANTS.choose(&mut rng).unwrap())
                    .queued(QUEUES.choose(&mut rng).unwrap())
                    .tries(rng.random_range(2..8));
                if rng.random_bool(0.1) {
                    ask = ask.after(Duration::from_millis(rng.random_range(1..300)));
                }
                if rng.random_bool(0.1) {
                    ask = ask.keyed(&format!("key-{}", rng.random_range(0..200)), 1);
                }
                ask.build()
            })
            .collect();
        let is_twice = rng.random_bool(0.3);
        let (first, second) = if is_twice {
            let (first, second) = tokio::join!(stage.store.submit(&batch), stage.store.submit(&batch));
            stage.tally.add("submitted twice", 1);
            (first, Some(second))
        } else {
            (stage.store.submit(&batch).await, None)
        };
        let answers: Vec<_> =
            [Some(first), second].into_iter().flatten().filter_map(|it| stage.unless_busy(it)).collect();
        let Some(one) = answers.first() else { continue };
        if let [first, second] = &answers[..] {
            assert_eq!(first, second, "sent twice, it is answered alike");
        }
        for (job, answer) in batch.iter().zip(one) {
            match answer {
                Submitted::Accepted(_) => stage.known.lock().unwrap().push((job.tenant.clone(), job.id)),
                Submitted::Duplicate(_) => stage.tally.add("duplicates", 1),
                Submitted::KeyReused(_) => panic!("every key stands for the same content"),
            }
        }
        stage.tally.add("submitted", one.len());
        // Not faster than the workers.
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..20))).await;
    }
}

fn verdict(rng: &mut SmallRng) -> Verdict {
    match rng.random_range(0..100) {
        0..60 => completed(),
        60..65 => failed("no"),
        65..68 => dead("never"),
        68..72 => retry(Duration::ZERO),
        72..86 => retry(Duration::from_millis(rng.random_range(1..200))),
        86..96 => interrupted(),
        _ => Verdict::Released,
    }
}

/// One worker after the other in the same seat: each lives for a while, and some die without a word.
async fn work(stage: Arc<Stage>, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    while !stage.is_over() {
        let session = SessionId::fresh();
        if stage.unless_busy(stage.store.register(&session_info(session, "worker", TTL)).await).is_none() {
            continue;
        }
        live(&stage, session, &mut rng).await;
        if rng.random_bool(0.5) {
            stage.tally.add("deaths", 1);
        } else {
            stage.unless_busy(stage.store.end(session).await);
        }
    }
}

async fn live(stage: &Stage, session: SessionId, rng: &mut SmallRng) {
    let dies_at = Instant::now() + Duration::from_millis(rng.random_range(100..1_500));
    let mut given_up: Vec<ClaimToken> = Vec::new();
    let mut renewed_at = Instant::now();
    while !stage.is_over() && Instant::now() < dies_at {
        if renewed_at.elapsed() > TTL / 4 {
            match stage.unless_busy(stage.store.heartbeat(session, &given_up).await) {
                Some(Heartbeat::Renewed { .. }) => renewed_at = Instant::now(),
                Some(Heartbeat::Gone) => {
                    stage.tally.add("heartbeats too late", 1);
                    return;
                }
                None => {}
            }
        }
        let request = request(stage, session, rng);
        let is_of_broker = matches!(&request.wanted, WantedJobs::ByIds(_));
        let patience = if rng.random_bool(0.15) { Duration::from_micros(rng.random_range(0..4_000)) } else { TTL };
        let held = match timeout(patience, stage.store.claim(&request)).await {
            Err(_) => {
                stage.tally.add("claims given up", 1);
                given_up.push(request.token);
                continue;
            }
            Ok(answer) => match stage.unless_busy(answer) {
                Some(ClaimAnswer::Claimed(claim)) => {
                    if is_of_broker {
                        stage.tally.add("claimed as announced", claim.jobs.len());
                        stage.tally.add("refused as announced", claim.refused.len());
                    }
                    claim.jobs
                }
                Some(ClaimAnswer::SessionGone) => return,
                Some(ClaimAnswer::Nothing { .. }) => {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    continue;
                }
                None => {
                    given_up.push(request.token);
                    continue;
                }
            },
        };
        stage.tally.add("claimed", held.len());
        settle(stage, session, held, rng).await;
    }
}

fn request(stage: &Stage, session: SessionId, rng: &mut SmallRng) -> ClaimRequest {
    let arrived = {
        let mut arrived = stage.arrived.lock().unwrap();
        let count = rng.random_range(0..=12).min(arrived.len());
        arrived.drain(..count).collect::<Vec<JobId>>()
    };
    let request = if !arrived.is_empty() {
        // Some are delivered twice.
        if rng.random_bool(0.2) {
            stage.arrived.lock().unwrap().extend(&arrived);
        }
        by_ids(session, &arrived)
    } else if rng.random_bool(0.2) {
        let limit = rng.random_range(1..=15);
        let wanted = WantedJobs::Unannounced { plan: LanePlan::strict(limit), limit };
        ClaimRequest { wanted, ..by_order(session, limit) }
    } else if rng.random_bool(0.1) {
        let wanted: Vec<JobId> = stage.some_jobs(rng, 10).into_values().flatten().collect();
        by_ids(session, &wanted)
    } else {
        by_order(session, rng.random_range(1..=15))
    };
    if rng.random_bool(0.3) { alone(request) } else { request }
}

/// In two parts, one of them sent twice at once: the two answers agree about who recorded it.
async fn settle(stage: &Stage, session: SessionId, mut held: Vec<Held>, rng: &mut SmallRng) {
    if rng.random_bool(0.1) {
        // Held until the session lapses or ends.
        stage.tally.add("left behind", held.len());
        return;
    }
    let second = held.split_off(rng.random_range(0..=held.len()));
    for part in [held, second] {
        if part.is_empty() {
            continue;
        }
        let jobs: Vec<(TenantId, JobId)> = part.iter().map(|held| (held.job.tenant.clone(), held.job.id)).collect();
        let batch: Vec<_> = part.into_iter().map(|held| held.settle(verdict(rng))).collect();
        if rng.random_bool(0.5) {
            let (one, other) = tokio::join!(stage.store.settle(session, &batch), stage.store.settle(session, &batch));
            stage.tally.add("settled twice", 1);
            let (Some(one), Some(other)) = (stage.unless_busy(one), stage.unless_busy(other)) else { continue };
            for ((one, other), (tenant, job)) in one.into_iter().zip(other).zip(jobs) {
                match (one, other) {
                    (Settled::Now, Settled::Before) | (Settled::Before, Settled::Now) => stage.tally.add("settled", 1),
                    (Settled::Fenced, Settled::Fenced) => stage.tally.add("fenced", 1),
                    // Between the two somebody deleted the job, and with it all that is known of its attempts.
                    (Settled::Now, Settled::Fenced) | (Settled::Fenced, Settled::Now)
                        if stage.is_gone(&tenant, job).await =>
                    {
                        stage.tally.add("settled", 1);
                    }
                    both => panic!("one attempt, two opinions: {both:?}"),
                }
            }
        } else if let Some(answers) = stage.unless_busy(stage.store.settle(session, &batch).await) {
            for answer in answers {
                match answer {
                    Settled::Now => stage.tally.add("settled", 1),
                    Settled::Fenced => stage.tally.add("fenced", 1),
                    Settled::Before => panic!("recorded before it was sent"),
                }
            }
        }
    }
}

async fn sweep(stage: Arc<Stage>) {
    while !stage.is_over() {
        for pulse in stage.unless_busy(stage.store.pulses().await).unwrap_or_default() {
            if pulse.is_overdue
                && let Some(Some(jobs)) = stage.unless_busy(stage.store.lapse(pulse).await)
            {
                stage.tally.add("lapsed sessions", 1);
                stage.tally.add("lapsed jobs", jobs);
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn promote(stage: Arc<Stage>) {
    while !stage.is_over() {
        if let Some(due) = stage.unless_busy(stage.store.promote(50).await) {
            stage.tally.add("promoted", due.promoted);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn meddle(stage: Arc<Stage>, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    while !stage.is_over() {
        for (tenant, ids) in stage.some_jobs(&mut rng, 6) {
            match rng.random_range(0..10) {
                0..5 => cancel(&stage, &tenant, &ids).await,
                5..9 => redrive(&stage, &tenant, &ids).await,
                _ => remove(&stage, &tenant, &ids[..1]).await,
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn cancel(stage: &Stage, tenant: &TenantId, ids: &[JobId]) {
    let Some(answers) = stage.unless_busy(stage.store.cancel(tenant, ids).await) else { return };
    for answer in answers {
        match answer {
            Some(CancelAnswer::WasWaiting) => stage.tally.add("cancelled waiting", 1),
            Some(CancelAnswer::WasHeld(_)) => stage.tally.add("cancelled held", 1),
            Some(CancelAnswer::AlreadyFinal(_)) | None => {}
        }
    }
}

async fn redrive(stage: &Stage, tenant: &TenantId, ids: &[JobId]) {
    let Some(answers) = stage.unless_busy(stage.store.redrive(tenant, ids).await) else { return };
    let redriven = answers.iter().filter(|answer| **answer == Some(RedriveAnswer::Redriven)).count();
    stage.tally.add("redriven", redriven);
}

async fn remove(stage: &Stage, tenant: &TenantId, ids: &[JobId]) {
    let Some(answers) = stage.unless_busy(stage.store.remove(tenant, ids).await) else { return };
    let removed = answers.iter().filter(|answer| **answer == Some(RemoveAnswer::Removed)).count();
    stage.removed.fetch_add(removed as u64, Ordering::SeqCst);
    stage.tally.add("removed", removed);
}

/// Announces to a broker that fails, forgets and delivers twice, and whose relays die half way.
async fn relay(stage: Arc<Stage>, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    while !stage.is_over() {
        let limit = rng.random_range(1..=20);
        let request = AnnounceRequest {
            plan: LanePlan::strict(limit),
            limit,
            queues: Queues::All,
            routes: routes(),
            rooms: vec![Headroom { tenant: TenantId::new(TENANTS[0]), jobs: rng.random_range(0..30) }],
        };
        if let Some(Some(batch)) = stage.unless_busy(stage.store.announce(&request).await) {
            stage.tally.add("announced", batch.jobs.len());
            let failed: Vec<usize> = (0..batch.jobs.len()).filter(|_| rng.random_bool(0.05)).collect();
            let lost = rng.random_range(0..10) == 0;
            let ids = batch.jobs.iter().map(|one| one.job).filter(|_| !lost);
            stage.arrived.lock().unwrap().extend(ids);
            if rng.random_bool(0.9) {
                stage.unless_busy(stage.store.acknowledge(batch.number, &failed).await);
            }
        } else {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if rng.random_bool(0.2) {
            stage.unless_busy(stage.store.outstanding().await);
        }
        if rng.random_bool(0.1) {
            let (unanswered, unclaimed) = (Duration::from_millis(300), Duration::from_millis(900));
            let again = stage.unless_busy(stage.store.reannounce(unanswered, unclaimed).await).unwrap_or_default();
            stage.tally.add("announced again", again);
        }
    }
}

async fn audit(stage: Arc<Stage>) {
    while !stage.is_over() {
        if let Some(audit) = stage.unless_busy(stage.store.census().await) {
            assert!(audit.is_clean(), "{audit:#?}");
            stage.tally.add("audits", 1);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_is_in_exactly_one_place_whatever_happens_at_once() {
    let seconds = if is_torture() { 120 } else { 15 };
    let database = Database::ready().await;
    let mut config = Config::at(database.url());
    config.data_connections = 16;
    config.control_connections = 6;
    config.acquire_timeout = Duration::from_secs(10);
    let store = PostgresStore::open(config, Arc::new(LocalWakeups::new())).await.unwrap();
    let stage = Arc::new(Stage {
        store,
        until: Instant::now() + Duration::from_secs(seconds),
        at_the_latest: Instant::now() + Duration::from_secs(8 * seconds),
        tally: Tally::default(),
        known: Mutex::default(),
        removed: AtomicU64::new(0),
        arrived: Mutex::default(),
    });
    let tasks = Tasks::new();
    let mut running: Vec<Task<()>> = Vec::new();
    for seed in 0..2 {
        running.push(tasks.spawn("submit", submit(Arc::clone(&stage), seed)));
        running.push(tasks.spawn("sweep", sweep(Arc::clone(&stage))));
        running.push(tasks.spawn("promote", promote(Arc::clone(&stage))));
        running.push(tasks.spawn("meddle", meddle(Arc::clone(&stage), seed + 100)));
        running.push(tasks.spawn("relay", relay(Arc::clone(&stage), seed + 200)));
    }
    for seed in 0..6 {
        running.push(tasks.spawn("work", work(Arc::clone(&stage), seed + 10)));
    }
    running.push(tasks.spawn("audit", audit(Arc::clone(&stage))));
    for task in running {
        task.await.unwrap();
    }
    let audit = stage.store.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    let mut known: Vec<JobId> = stage.known.lock().unwrap().iter().map(|(_, id)| *id).collect();
    known.sort();
    known.dedup();
    let removed = stage.removed.load(Ordering::SeqCst);
    let busy = stage.tally.of("busy");
    // A call whose outcome is unknown may have been done.
    assert!(audit.jobs + removed >= known.len() as u64 && audit.jobs + removed <= known.len() as u64 + busy * 12);
    eprintln!("{:#?}", stage.tally.0.lock().unwrap());
    assert_eq!(stage.missing(), None, "it never happened: the stress proves nothing about it");
    stage.store.close();
}
