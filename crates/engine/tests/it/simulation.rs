//! Two years of schedules, with everything that goes wrong in them.
//!
//! Real schedulers and a real editor on the reference store, in simulated time: leaders come and go, two of them lead at once,
//! nobody leads for days, the clock is put forward and back, users edit, pause, resume and run by hand. A book kept beside
//! it remembers every tick. In the end each time that the calendar names, counted out one by one, was fired once or is
//! recorded as skipped with a reason, and there is no job without a tick.
//!
//! What happens is made from a seed, which a failure prints. When a loop polls, and so who of two leaders is first, is not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use foreman_core::lane::LanePlan;
use foreman_core::limits::Limits;
use foreman_core::memory::{self, LocalWakeups};
use foreman_core::ports::intercept::{Call, Hook, Intercepted};
use foreman_core::ports::{
    ChangeLog, ClaimAnswer, ClaimRequest, Company, Fired, Firing, Held, JobQuery, JobStore, Leader, Position, Queues,
    Retention, ScheduleChange, ScheduleError, ScheduleStore, ScheduleView, Schedules, SessionInfo, SessionStore,
    StoreError, TickReason, TickState, TickView, Upkeep, Wakeups, WantedJobs,
};
use foreman_core::schedule::{Missed, Overlap, ScheduleKey, ScheduleRule, ScheduleSpec};
use foreman_core::target::Route;
use foreman_core::{ClaimToken, JobId, Report, ScheduleId, SessionId, TenantId, Timestamp, Verdict};
use foreman_engine::scheduler::{Config, Error};
use foreman_engine::{ScheduleEditor, Scheduler};
use foreman_runtime::{Stop, Task, Tasks};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

const YEARS: Duration = Duration::from_hours(2 * 365 * 24);
const MISSED_AFTER: Duration = Duration::from_mins(1);
const TINY: Duration = Duration::from_micros(1);
const PLENTY: usize = 100_000;

/// What schedules are and may become; policies are drawn for each.
const TIMES: [&str; 11] = [
    r#""cron": "0 9 * * *", "timezone": "Europe/Berlin""#,
    r#""cron": "30 2 * * *", "timezone": "Europe/Berlin""#,
    r#""cron": "30 1 * * *", "timezone": "America/New_York", "dst_overlap": "both""#,
    r#""cron": "0 */6 * * *", "timezone": "America/St_Johns""#,
    r#""cron": "45 1 * * *", "timezone": "Australia/Lord_Howe", "dst_gap": "skip""#,
    r#""cron": "0 2 1,15 * *", "timezone": "Africa/Casablanca""#,
    r#""cron": "20 * * * *", "timezone": "Asia/Kolkata""#,
    r#""cron": "0 12 * * MON#1", "timezone": "Pacific/Apia""#,
    r#""cron": "TZ=Europe/London 5 0 L * *""#,
    r#""every": "7h13m""#,
    r#""every": "3d""#,
];
const MISSED: [&str; 4] = ["skip", "latest", "all", "all"];
const OVERLAPS: [&str; 4] = ["allow", "skip", "queue", "cancel"];

/// One rule of a schedule, from the edit that made it until the edit that ended it.
struct Epoch {
    rule: ScheduleRule,
    is_paused: bool,
    from: Timestamp,
    until: Option<Timestamp>,
    /// The latest time the clock has shown meanwhile: it may have been put back since.
    highest: Timestamp,
}

/// A tick as it was last seen, and in which epoch it was first seen.
struct Entry {
    tick: TickView,
    epoch: usize,
    was_held: bool,
}

#[derive(Default)]
struct Book {
    epochs: Vec<Epoch>,
    entries: BTreeMap<Timestamp, Entry>,
    by_hand: BTreeSet<JobId>,
}

struct World {
    seed: u64,
    rng: SmallRng,
    /// For what depends on how many jobs there are: the events are the same whatever those do.
    work_rng: SmallRng,
    store: Arc<memory::Store>,
    wakeups: Arc<LocalWakeups>,
    /// How far the clock was put forward or back, in microseconds.
    steps: Arc<AtomicI64>,
    editor: ScheduleEditor,
    tasks: Tasks,
    leaders: Vec<(Stop, Task<Result<(), Error>>)>,
    /// Whether schedulers lose a tick now and then.
    are_forgetful: bool,
    session: SessionId,
    running: Vec<Held>,
    books: BTreeMap<ScheduleId, Book>,
    position: Position,
    jobs: BTreeSet<JobId>,
    trail: Vec<String>,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("two years of seed {}, the last of {} events:", self.seed, self.trail.len());
            for event in &self.trail[self.trail.len().saturating_sub(30)..] {
                eprintln!("  {event}");
            }
        }
    }
}

impl World {
    async fn new(seed: u64) -> Self {
        let (steps, start) = (Arc::new(AtomicI64::new(0)), Instant::now());
        let clock = {
            let steps = Arc::clone(&steps);
            move || {
                let elapsed = i64::try_from(start.elapsed().as_micros()).unwrap();
                Timestamp::from_micros(1_767_225_600_000_000 + elapsed + steps.load(Ordering::SeqCst))
            }
        };
        let wakeups = Arc::new(LocalWakeups::new());
        let store = Arc::new(memory::Store::new(Arc::new(clock), Arc::clone(&wakeups) as Arc<dyn Wakeups>));
        let session = SessionId::fresh();
        let info = SessionInfo {
            id: session,
            worker: "worker".into(),
            pid: 1,
            version: "0".into(),
            slots: 1,
            queues: vec![],
            tasks: vec![],
            consumes: None,
            ttl: YEARS * 10,
        };
        store.register(&info).await.unwrap();
        let config = Config { missed_after: MISSED_AFTER, ..Config::default() };
        Self {
            seed,
            rng: SmallRng::seed_from_u64(seed),
            work_rng: SmallRng::seed_from_u64(!seed),
            editor: ScheduleEditor::new(store.clone(), store.clone(), Limits::default(), &config),
            store,
            wakeups,
            steps,
            tasks: Tasks::new(),
            leaders: Vec::new(),
            are_forgetful: false,
            session,
            running: Vec::new(),
            books: BTreeMap::new(),
            position: Position::default(),
            jobs: BTreeSet::new(),
            trail: Vec::new(),
        }
    }

    async fn now(&self) -> Timestamp {
        self.store.time().await.unwrap()
    }

    fn spec(&mut self, name: &str, times: &str) -> ScheduleSpec {
        let missed = MISSED.choose(&mut self.rng).unwrap();
        let missed_max = self.rng.random_range(1..150);
        let overlap = OVERLAPS.choose(&mut self.rng).unwrap();
        let json = format!(
            r#"{{"name": "{name}", "job": {{"task": "play"}}, "missed": "{missed}", "missed_max": {missed_max},
                 "overlap": "{overlap}", "jitter": "20s", {times}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    /// Some rule; rarely the one of a single moment.
    async fn any_times(&mut self) -> String {
        if self.rng.random_bool(0.15) {
            let ahead = Duration::from_secs(self.rng.random_range(1..4_000_000));
            return format!(r#""at": "{}""#, self.now().await.plus(ahead));
        }
        (*TIMES.choose(&mut self.rng).unwrap()).to_owned()
    }

    async fn make(&mut self, name: &str, times: &str) {
        let spec = self.spec(name, times);
        let view = self.editor.create(&TenantId::default(), spec).await.unwrap();
        self.turn_over(&view).await;
    }

    /// Begins a new page: the schedule is another from now on.
    async fn turn_over(&mut self, view: &ScheduleView) {
        let now = self.now().await;
        let book = self.books.entry(view.schedule.id).or_default();
        if let Some(last) = book.epochs.last_mut() {
            last.until = Some(view.edited_at);
            last.highest = last.highest.max(now);
        }
        book.epochs.push(Epoch {
            rule: view.schedule.rule().unwrap(),
            is_paused: view.is_paused,
            from: view.edited_at,
            until: None,
            highest: now,
        });
    }

    // --- what happens

    fn start_leader(&mut self) {
        // Nobody polls every few seconds for two years here: it wakes for what is due, and for edits.
        let poll = Duration::from_mins(20);
        let config = Config { poll, held_poll: poll, missed_after: MISSED_AFTER, ..Config::default() };
        let (store, wakeups) = (self.store.clone(), Arc::clone(&self.wakeups) as Arc<dyn Wakeups>);
        let schedules: Arc<dyn ScheduleStore> = if self.are_forgetful {
            Arc::new(Intercepted::new(store.clone(), Forgetful(store.clone())))
        } else {
            store.clone()
        };
        let scheduler = Scheduler::new(schedules, store, wakeups, config);
        let stop = Stop::new();
        let task = self.tasks.spawn("scheduler", scheduler.run(stop.shutdown()));
        self.leaders.push((stop, task));
    }

    async fn stop_leader(&mut self) {
        if self.leaders.is_empty() {
            return;
        }
        let (stop, task) = self.leaders.remove(0);
        if self.rng.random_bool(0.5) {
            stop.drain();
            task.await.unwrap().unwrap();
        } else {
            task.abort();
        }
    }

    async fn event(&mut self) {
        match self.rng.random_range(0..100) {
            0..15 => {
                self.trail.push("another leads".into());
                self.stop_leader().await;
                self.start_leader();
            }
            15..22 if self.leaders.len() < 3 => {
                self.trail.push("two lead".into());
                self.start_leader();
            }
            22..32 => {
                let away = match self.rng.random_range(0..3) {
                    0 => Duration::from_secs(self.rng.random_range(1..60)),
                    1 => Duration::from_secs(self.rng.random_range(60..7_200)),
                    _ => Duration::from_secs(self.rng.random_range(7_200..400_000)),
                };
                self.trail.push(format!("nobody leads for {away:?}"));
                while !self.leaders.is_empty() {
                    self.stop_leader().await;
                }
                sleep(away).await;
                self.start_leader();
            }
            32..40 => self.step_clock(1, 20_000).await,
            40..48 => self.step_clock(-1, 7_200).await,
            48..66 => self.edit().await,
            66..70 => self.run_by_hand().await,
            _ => {}
        }
    }

    async fn step_clock(&mut self, direction: i64, most_seconds: i64) {
        let by = direction * self.rng.random_range(1..most_seconds * 1_000) * 1_000;
        self.trail.push(format!("the clock is put by {} ms", by / 1_000));
        self.note_time().await;
        self.steps.fetch_add(by, Ordering::SeqCst);
        self.note_time().await;
    }

    /// What the clock shows, before it is put back.
    async fn note_time(&mut self) {
        let now = self.now().await;
        for book in self.books.values_mut() {
            let last = book.epochs.last_mut().unwrap();
            last.highest = last.highest.max(now);
        }
    }

    fn some_schedule(&mut self) -> ScheduleId {
        let ids: Vec<ScheduleId> = self.books.keys().copied().collect();
        *ids.choose(&mut self.rng).unwrap()
    }

    async fn edit(&mut self) {
        let id = self.some_schedule();
        let view = self.store.schedule(&TenantId::default(), &ScheduleKey::Id(id)).await.unwrap().unwrap();
        let name = view.schedule.name.to_string();
        let change = match self.rng.random_range(0..4) {
            0 => ScheduleChange::Pause,
            1 | 2 if view.is_paused => ScheduleChange::Resume,
            _ => {
                let times = self.any_times().await;
                ScheduleChange::Replace(self.spec(&name, &times))
            }
        };
        self.trail.push(format!("{name}: {change:?}"));
        self.note_time().await;
        match self.editor.change(&TenantId::default(), &ScheduleKey::Id(id), change, None).await {
            Ok(after) => {
                // What the editor fired before the edit belongs to the page before.
                self.observe().await;
                if after.seen.version > view.seen.version {
                    self.turn_over(&after).await;
                }
            }
            // A moment that is over cannot be resumed or paused.
            Err(ScheduleError::Invalid(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }

    async fn run_by_hand(&mut self) {
        let id = self.some_schedule();
        let job = self.editor.run(&TenantId::default(), &ScheduleKey::Id(id), None).await.unwrap();
        self.trail.push(format!("{id} is run by hand: {job}"));
        self.books.get_mut(&id).unwrap().by_hand.insert(job);
    }

    /// Runs most of what is due, ends some of what ran before, and forgets what is over.
    async fn work(&mut self) {
        self.store.promote(PLENTY).await.unwrap();
        let request = ClaimRequest {
            session: self.session,
            token: ClaimToken::fresh(),
            wanted: WantedJobs::ByOrder { plan: LanePlan::strict(1_000), limit: 1_000 },
            queues: Queues::All,
            routes: vec![Route::task("play")],
            company: Company::Others,
            rooms: Vec::new(),
        };
        if self.work_rng.random_bool(0.9)
            && let ClaimAnswer::Claimed(claim) = self.store.claim(&request).await.unwrap()
        {
            self.running.extend(claim.jobs);
        }
        let (mut ended, mut running) = (Vec::new(), Vec::new());
        for held in std::mem::take(&mut self.running) {
            if self.work_rng.random_bool(0.8) {
                ended.push(held.settle(Verdict::Completed(Report::default())));
            } else {
                running.push(held);
            }
        }
        self.running = running;
        // Some were cancelled for the sake of a later tick; that is refused, and right.
        self.store.settle(self.session, &ended).await.unwrap();
    }

    /// Writes down what became of ticks since the last look, then lets the store forget what is old.
    async fn observe(&mut self) {
        loop {
            let changes = self.store.changes(self.position, 10_000).await.unwrap();
            if changes.rows.is_empty() {
                break;
            }
            self.position = changes.position;
            self.jobs.extend(changes.moved().map(|moved| moved.id));
        }
        let hour = Duration::from_hours(1);
        for (id, book) in &mut self.books {
            for tick in self.store.ticks(*id, None, PLENTY).await.unwrap() {
                let epoch = book.epochs.len() - 1;
                let entry = book.entries.entry(tick.nominal).or_insert_with(|| Entry {
                    tick: tick.clone(),
                    epoch,
                    was_held: tick.state == TickState::Held,
                });
                let (before, now) = (&entry.tick, &tick);
                if before.state == TickState::Held {
                    entry.was_held = true;
                } else {
                    assert_eq!(before.state, now.state, "a tick is decided once: {before:?}, then {now:?}");
                    assert_eq!(before.job.map(|job| job.0), now.job.map(|job| job.0));
                    assert_eq!((before.reason, before.last, before.count), (now.reason, now.last, now.count));
                }
                entry.tick = tick;
            }
        }
        let retention = Retention {
            completed: Some(hour),
            cancelled: Some(hour),
            changes: hour,
            ticks: hour * 6,
            ..Retention::default()
        };
        self.store.prune(&retention, PLENTY).await.unwrap();
    }

    // --- the reckoning

    /// How many times were fired, and how many skipped.
    fn check(&self) -> (usize, usize) {
        let mut ticked = BTreeSet::new();
        let (mut fired, mut skipped) = (0_usize, 0_usize);
        for book in self.books.values() {
            book.check_entries(&mut ticked);
            for (number, epoch) in book.epochs.iter().enumerate().filter(|(_, epoch)| !epoch.is_paused) {
                let until = epoch.until.unwrap_or(epoch.highest);
                let times = std::iter::successors(epoch.rule.timing.next_after(epoch.from), |fire| {
                    epoch.rule.timing.next_after(fire.at)
                });
                for nominal in times.map(|fire| fire.at).take_while(|nominal| *nominal <= until) {
                    let at = book.entries.get(&nominal).filter(|entry| entry.tick.reason != Some(TickReason::ByHand));
                    let run = book.run_around(nominal, number);
                    match (at, run) {
                        (Some(entry), None) if entry.tick.state == TickState::Fired => fired += 1,
                        (Some(_), None) | (None, Some(_)) => skipped += 1,
                        // The clock was put back before this rule began: the time had come before.
                        (Some(entry), Some(_)) if entry.epoch < number => skipped += 1,
                        (None, None) => panic!("{nominal} of {:?} was lost", epoch.rule.timing),
                        (Some(entry), Some(run)) => panic!("{nominal} twice: {:?} and {run:?}", entry.tick),
                    }
                }
            }
        }
        assert_eq!(ticked, self.jobs, "every job has its tick, and every fired tick its job");
        (fired, skipped)
    }
}

impl Book {
    /// Each tick is one that its rule names, and became what the policies say.
    fn check_entries(&self, ticked: &mut BTreeSet<JobId>) {
        let mut late: BTreeMap<(usize, Timestamp), u32> = BTreeMap::new();
        let mut by_hand = BTreeSet::new();
        for (nominal, Entry { tick, epoch: number, was_held }) in &self.entries {
            let epoch = &self.epochs[*number];
            let rule = &epoch.rule;
            if let Some((job, _)) = tick.job {
                assert_eq!(tick.state, TickState::Fired);
                assert!(ticked.insert(job), "one job of two ticks: {tick:?}");
            }
            if tick.reason == Some(TickReason::ByHand) {
                by_hand.insert(tick.job.unwrap().0);
                continue;
            }
            let is_named =
                |nominal: Timestamp| rule.timing.next_after(nominal.minus(TINY)).is_some_and(|fire| fire.at == nominal);
            assert!(is_named(*nominal), "{tick:?} is no time of {:?}", rule.timing);
            assert!(
                *nominal > epoch.from && *nominal <= epoch.highest,
                "{tick:?} of {} to {}",
                epoch.from,
                epoch.highest
            );
            let lateness = tick.at.since(*nominal);
            match (tick.state, tick.reason) {
                (TickState::Fired, None) if *was_held => {}
                (TickState::Fired, None) => {
                    if lateness > MISSED_AFTER {
                        *late.entry((*number, tick.at)).or_default() += 1;
                    }
                }
                (TickState::Held, None) => assert_eq!(rule.overlap, Overlap::Queue, "{tick:?}"),
                (TickState::Skipped, Some(TickReason::Overlap)) => assert_ne!(rule.overlap, Overlap::Allow, "{tick:?}"),
                (TickState::Skipped, Some(TickReason::Missed)) => {
                    let last = tick.last.unwrap();
                    assert!(is_named(last) && last >= *nominal, "{tick:?}");
                    assert!(tick.at.since(last) > MISSED_AFTER, "in time, and yet missed: {tick:?}");
                    let times = std::iter::successors(Some(*nominal), |at| rule.next_after(*at));
                    let counted = times.take_while(|at| *at <= last).count();
                    assert_eq!(tick.count, u32::try_from(counted).ok().filter(|count| *count <= 10_000), "{tick:?}");
                }
                other => panic!("{other:?}: {tick:?}"),
            }
        }
        assert_eq!(by_hand, self.by_hand);
        for ((number, at), count) in late {
            let rule = &self.epochs[number].rule;
            let most = match rule.missed {
                Missed::Skip => 0,
                Missed::Latest => 1,
                Missed::All => rule.missed_max,
            };
            assert!(count <= most, "{count} late ones were fired at {at}, and {:?} allows {most}", rule.missed);
        }
    }

    /// The run of missed ticks that this time is in, of this epoch or one after it.
    fn run_around(&self, nominal: Timestamp, epoch: usize) -> Option<&TickView> {
        let before = self.entries.range(..=nominal).rev().take(300);
        let mut runs =
            before.filter(|(_, entry)| entry.epoch == epoch && entry.tick.reason == Some(TickReason::Missed));
        runs.find(|(at, entry)| **at != nominal && entry.tick.last >= Some(nominal)).map(|(_, entry)| &entry.tick)
    }
}

/// Moves on without the first of several ticks.
struct Forgetful(Arc<memory::Store>);

impl Hook for Forgetful {
    async fn fire(
        &self,
        leader: Option<&Leader>,
        firings: &[Firing],
        _: impl Call<Option<Vec<Fired>>>,
    ) -> Result<Option<Vec<Fired>>, StoreError> {
        let mut firings = firings.to_vec();
        for firing in firings.iter_mut().filter(|firing| firing.ticks.len() > 1) {
            firing.ticks.remove(0);
        }
        self.0.fire(leader, &firings).await
    }
}

/// So much time with everything in it, up to the moment at which all that is due is fired.
async fn lived(mut world: World, time: Duration) -> World {
    for (number, times) in TIMES.iter().enumerate() {
        world.make(&format!("s-{number}"), times).await;
    }
    world.make("once", r#""at": "2026-05-05T05:05:05Z""#).await;
    world.start_leader();
    let begun = Instant::now();
    while begun.elapsed() < time {
        let pause = world.rng.random_range(60..50_000);
        sleep(Duration::from_secs(pause)).await;
        world.observe().await;
        world.event().await;
        world.observe().await;
        world.work().await;
    }
    world.start_leader();
    sleep(Duration::from_mins(30)).await;
    world.note_time().await;
    world.observe().await;
    let look = world.store.due_schedules(100).await.unwrap();
    assert!(look.due.is_empty(), "{look:?}");
    while !world.leaders.is_empty() {
        world.stop_leader().await;
    }
    world
}

async fn two_years(seed: u64) {
    let world = lived(World::new(seed).await, YEARS).await;
    let (fired, skipped) = world.check();
    eprintln!("seed {seed}: {fired} times fired, {skipped} skipped with a reason, {} jobs", world.jobs.len());
    assert!(fired > 4_000 && skipped > 1_000, "two years full of events: {fired} and {skipped}");
    let audit = world.store.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:?}");
}

fn is_torture() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the test's own setting, not the program's")]
    std::env::var("FOREMAN_TORTURE").is_ok_and(|text| !text.is_empty())
}

#[tokio::test(start_paused = true)]
async fn in_two_years_every_tick_is_fired_once_or_skipped_with_a_reason() {
    two_years(2_026).await;
    if is_torture() {
        for _ in 0..20 {
            two_years(rand::random()).await;
        }
    }
}

/// The reckoning is worth something only if it can fail.
#[tokio::test(start_paused = true)]
#[should_panic(expected = "was lost")]
async fn a_tick_that_is_lost_is_noticed() {
    let mut world = World::new(7).await;
    world.are_forgetful = true;
    lived(world, YEARS / 8).await.check();
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "every job has its tick")]
async fn a_job_without_a_tick_is_noticed() {
    let mut world = lived(World::new(7).await, YEARS / 24).await;
    world.store.submit(&[crate::scene::job("")]).await.unwrap();
    world.observe().await;
    world.check();
}
