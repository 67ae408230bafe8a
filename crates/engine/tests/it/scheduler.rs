//! The scheduler on the reference store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::limits::Limits;
use foreman_core::ports::{
    CreateAnswer, JobStore, ScheduleChange, ScheduleStore, ScheduleView, Schedules, TickReason, TickState, TickView,
};
use foreman_core::schedule::{NewSchedule, Schedule, ScheduleKey, ScheduleSpec};
use foreman_core::tenant::{Limit, TenantLimits, TenantSettings};
use foreman_core::{JobId, Report, ScheduleId, State, TenantId, Verdict};
use foreman_engine::scheduler::{Config, Error, Scheduler};
use foreman_engine::tenants::{self, Tenants};
use foreman_engine::{ScheduleEditor, scheduler};
use foreman_runtime::leadership::{self, Lease, Unavailable};
use foreman_runtime::{Leadership, Stop, Task, Term};
use tokio::time::{Instant, sleep};

use crate::rooms::tenant;
use crate::scene::{Scene, job, until};
use crate::script::{Act, Verb, away};

/// So long that whatever happens before it, a wake-up or a known time caused.
fn patient() -> Config {
    Config { poll: Duration::from_hours(1), ..Config::default() }
}

fn start(scene: &Scene, config: Config) -> Task<Result<(), Error>> {
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), config);
    scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()))
}

pub fn editor(scene: &Scene) -> ScheduleEditor {
    ScheduleEditor::new(scene.store(), scene.store(), Limits::default(), &scheduler::Config::default())
}

/// A schedule of a task that nobody runs by itself.
pub fn spec(name: &str, fields: &str) -> ScheduleSpec {
    let json = format!(r#"{{"name": "{name}", "job": {{"task": "{}"}}, {fields}}}"#, crate::runner::TASK);
    serde_json::from_str(&json).unwrap()
}

pub async fn made(scene: &Scene, name: &str, fields: &str) -> ScheduleView {
    editor(scene).create(&TenantId::default(), spec(name, fields)).await.unwrap()
}

pub fn patch(fields: &str) -> ScheduleChange {
    ScheduleChange::Patch(serde_json::value::RawValue::from_string(fields.into()).unwrap())
}

pub fn key(view: &ScheduleView) -> ScheduleKey {
    ScheduleKey::Id(view.schedule.id)
}

/// The latest first.
pub async fn ticks(scene: &Scene, view: &ScheduleView) -> Vec<TickView> {
    scene.store.inner.ticks(view.schedule.id, None, 10_000).await.unwrap()
}

/// When a tick was decided, in whole seconds after the schedule was made.
pub fn seconds(view: &ScheduleView, ticks: &[TickView]) -> Vec<u64> {
    ticks.iter().map(|tick| tick.nominal.since(view.created_at).as_secs()).collect()
}

async fn stopped(scene: &Scene, scheduler: Task<Result<(), Error>>) {
    scene.stop.drain();
    scheduler.await.unwrap().unwrap();
    scene.nothing_left().await;
    scene.is_clean().await;
}

async fn complete(scene: &Scene, id: JobId) {
    let session = scene.stranger(Duration::from_hours(100)).await;
    let held = scene.claimed_by(session, 1_000).await.into_iter().find(|held| held.job.id == id).unwrap();
    let settlement = held.settle(Verdict::Completed(Report::default()));
    scene.store.inner.settle(session, &[settlement]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_fires_every_tick_on_time() {
    let scene = Scene::new();
    let scheduler = start(&scene, patient());
    let view = made(&scene, "often", r#""every": "1m""#).await;
    sleep(Duration::from_secs(5 * 60 + 1)).await;
    let ticks = ticks(&scene, &view).await;
    assert_eq!(seconds(&view, &ticks), [300, 240, 180, 120, 60]);
    for tick in &ticks {
        assert_eq!((tick.state, tick.reason), (TickState::Fired, None));
        assert!(tick.at.since(tick.nominal) < Duration::from_millis(100), "{tick:?}");
    }
    assert_eq!(scene.count(State::Pending).await, 5);
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn it_wakes_when_a_schedule_is_made_or_changed() {
    let scene = Scene::new();
    let scheduler = start(&scene, patient());
    sleep(Duration::from_secs(1)).await;
    let view = made(&scene, "later", r#""every": "30m""#).await;
    sleep(Duration::from_secs(1)).await;
    editor(&scene).change(&TenantId::default(), &key(&view), patch(r#"{"every": "10s"}"#), None).await.unwrap();
    sleep(Duration::from_secs(21)).await;
    assert_eq!(seconds(&view, &ticks(&scene, &view).await), [20, 10]);
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn it_sleeps_while_nothing_is_due() {
    let scene = Scene::new();
    made(&scene, "daily", r#""cron": "@daily""#).await;
    let scheduler = start(&scene, patient());
    sleep(Duration::from_mins(630)).await;
    let looks = scene.store.calls(Verb::DueSchedules);
    assert!((8..=14).contains(&looks), "{looks} looks in ten and a half hours");
    assert_eq!(scene.store.calls(Verb::Fire), 0);
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_was_lost_costs_one_period() {
    let scene = Scene::new();
    // Listens to bells that nobody rings.
    let deaf = Arc::new(foreman_core::memory::LocalWakeups::new());
    let scheduler = Scheduler::new(scene.store(), scene.store(), deaf, Config::default());
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    sleep(Duration::from_secs(1)).await;
    let view = made(&scene, "soon", r#""every": "1s""#).await;
    sleep(Duration::from_secs(7)).await;
    assert!(ticks(&scene, &view).await.len() >= 6);
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let scheduler = start(&scene, Config::default());
    until("it has looked", || scene.store.calls(Verb::DueSchedules) > 0).await;
    sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    scene.stop.drain();
    scheduler.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_the_step_it_is_in() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    scene.store.always(Verb::Fire, Act::Delay(Duration::from_secs(3)));
    let scheduler = start(&scene, patient());
    sleep(Duration::from_secs(61)).await;
    assert!(ticks(&scene, &view).await.is_empty(), "it is under way");
    stopped(&scene, scheduler).await;
    assert_eq!(ticks(&scene, &view).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline() {
    let scene = Scene::new();
    scene.store.always(Verb::DueSchedules, Act::Hang);
    let scheduler = start(&scene, Config::default());
    sleep(Duration::from_secs(1)).await;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    assert!(!scheduler.is_finished());
    scene.stop.abort();
    scheduler.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_survives_an_outage_and_misses_nothing_that_is_not_too_late() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "10s""#).await;
    let scheduler = start(&scene, Config::default());
    sleep(Duration::from_secs(11)).await;
    scene.store.always(Verb::DueSchedules, away());
    sleep(Duration::from_secs(40)).await;
    scene.store.heal();
    sleep(Duration::from_secs(20)).await;
    assert_eq!(seconds(&view, &ticks(&scene, &view).await), [70, 60, 50, 40, 30, 20, 10]);
    assert!(ticks(&scene, &view).await.iter().all(|tick| tick.state == TickState::Fired));
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_too_late_is_missed_as_the_schedule_says() {
    let scene = Scene::new();
    let (skip, latest, all) = (
        made(&scene, "skip", r#""every": "1m", "missed": "skip""#).await,
        made(&scene, "latest", r#""every": "1m""#).await,
        made(&scene, "all", r#""every": "1m", "missed": "all", "missed_max": 3"#).await,
    );
    sleep(Duration::from_secs(10 * 60 + 30)).await;
    let scheduler = start(&scene, patient());
    sleep(Duration::from_secs(5)).await;
    // Ten and a half minutes: the tick of minute ten is in time, those before are later than a minute.
    let told = async |view: &ScheduleView| {
        let ticks = ticks(&scene, view).await;
        let count = |tick: &TickView| (tick.state == TickState::Skipped).then_some(tick.count).flatten();
        ticks.iter().map(|tick| (seconds(view, std::slice::from_ref(tick))[0] / 60, count(tick))).collect::<Vec<_>>()
    };
    assert_eq!(told(&skip).await, [(10, None), (1, Some(9))]);
    assert_eq!(told(&latest).await, [(10, None), (9, None), (1, Some(8))]);
    assert_eq!(told(&all).await, [(10, None), (9, None), (8, None), (7, None), (1, Some(6))]);
    let run = ticks(&scene, &skip).await.pop().unwrap();
    assert_eq!((run.reason, run.last), (Some(TickReason::Missed), Some(skip.created_at.plus(Duration::from_mins(9)))));
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn a_firing_whose_answer_is_lost_is_done_once() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    scene.store.next(Verb::Fire, Act::LoseAnswer);
    scene.store.next(Verb::Fire, Act::HangAfter);
    let scheduler = start(&scene, Config::default());
    sleep(Duration::from_secs(3 * 60 + 1)).await;
    assert_eq!(seconds(&view, &ticks(&scene, &view).await), [180, 120, 60]);
    assert_eq!(scene.count(State::Pending).await, 3);
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn a_held_tick_goes_when_the_job_before_it_is_final() {
    let scene = Scene::new();
    let view = made(&scene, "queue", r#""every": "1h", "overlap": "queue""#).await;
    let scheduler = start(&scene, patient());
    sleep(Duration::from_secs(3 * 3_600 + 1)).await;
    let before = ticks(&scene, &view).await;
    let states: Vec<_> = before.iter().map(|tick| tick.state).collect();
    assert_eq!(states, [TickState::Skipped, TickState::Held, TickState::Fired]);
    complete(&scene, before[2].job.unwrap().0).await;
    sleep(Duration::from_secs(2)).await;
    let after = ticks(&scene, &view).await;
    assert_eq!((after[1].nominal, after[1].state), (before[1].nominal, TickState::Fired));
    assert_eq!(scene.count(State::Pending).await, 1);
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn a_tick_cancels_the_job_before_it_where_that_was_asked_for() {
    let scene = Scene::new();
    let view = made(&scene, "cancel", r#""every": "1h", "overlap": "cancel""#).await;
    let scheduler = start(&scene, patient());
    sleep(Duration::from_secs(2 * 3_600 + 1)).await;
    let ticks = ticks(&scene, &view).await;
    let states: Vec<_> = ticks.iter().map(|tick| tick.job.unwrap().1.unwrap()).collect();
    assert_eq!(states, [State::Pending, State::Cancelled]);
    assert_eq!(scene.store.calls(Verb::Cancel), 1);
    stopped(&scene, scheduler).await;
}

/// As a later version may have written it.
pub async fn unreadable(scene: &Scene, name: &str) -> ScheduleId {
    let spec = spec(name, r#""cron": "* * * * *", "timezone": "Mars/Olympus_Mons""#);
    let now = scene.store.inner.time().await.unwrap();
    let schedule = Schedule {
        id: ScheduleId::fresh(),
        tenant: TenantId::default(),
        name: name.parse().unwrap(),
        spec: Arc::new(spec),
        work: job("").work,
        created_at: now,
    };
    let id = schedule.id;
    let new = NewSchedule { schedule, is_paused: false, next: Some(now.plus(Duration::from_secs(1))) };
    let made = scene.store.inner.create_schedule(&new).await.unwrap();
    assert!(matches!(made, CreateAnswer::Created(_)));
    id
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_does_not_hold_up_the_others() {
    let scene = Scene::new();
    for number in 0..5 {
        unreadable(&scene, &format!("alien-{number}")).await;
    }
    let view = made(&scene, "good", r#""every": "1m""#).await;
    // More of them than fit into one step, and all of them due before the good one.
    let scheduler =
        Scheduler::new(scene.store(), scene.store(), scene.wakeups(), Config { step: 2, ..Config::default() });
    let lag = scheduler.lag();
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    sleep(Duration::from_secs(3 * 60 + 10)).await;
    assert!(lag.get() < Duration::from_secs(5), "what never fires is not late: {:?}", lag.get());
    assert_eq!(seconds(&view, &ticks(&scene, &view).await), [180, 120, 60]);
    let looks = scene.store.calls(Verb::DueSchedules);
    assert!(looks < 400, "{looks} looks in three minutes: it spins");
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn thousands_that_are_due_in_one_second_are_fired_in_steps() {
    const MANY: usize = 2_000;
    let scene = Scene::new();
    for number in 0..MANY {
        made(&scene, &format!("s-{number}"), r#""at": "2026-01-01T01:00:00Z""#).await;
    }
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), patient());
    let (lag, tally) = (scheduler.lag(), scheduler.tally());
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    scene.store.always(Verb::Fire, Act::Delay(Duration::from_millis(100)));
    sleep(Duration::from_hours(1)).await;
    until("the third step looks", || lag.get() >= Duration::from_millis(200)).await;
    assert!(tally.fired() < MANY as u64, "and says that it is behind");
    until("all are fired", || tally.fired() == MANY as u64).await;
    assert_eq!((scene.store.calls(Verb::Fire), scene.count(State::Pending).await), (4, MANY));
    until("it has looked again", || lag.get().is_zero()).await;
    stopped(&scene, scheduler).await;
}

/// One lease for all who ask, by the paused clock.
#[derive(Default)]
struct Throne(Mutex<Seat>);

#[derive(Default)]
struct Seat {
    term: u64,
    holder: String,
    until: Option<Instant>,
}

#[async_trait]
impl Lease for Throne {
    async fn acquire(&self, _name: &str, holder: &str, ttl: Duration) -> Result<Option<Term>, Unavailable> {
        let mut seat = self.0.lock().unwrap();
        if seat.holder != holder && seat.until.is_some_and(|until| until > Instant::now()) {
            return Ok(None);
        }
        *seat = Seat { term: seat.term + 1, holder: holder.into(), until: Some(Instant::now() + ttl) };
        Ok(Some(Term(seat.term)))
    }

    async fn renew(&self, _name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable> {
        let mut seat = self.0.lock().unwrap();
        if seat.term != term.0 {
            return Ok(false);
        }
        seat.until = Some(Instant::now() + ttl);
        Ok(true)
    }

    async fn resign(&self, _name: &str, term: Term) -> Result<(), Unavailable> {
        let mut seat = self.0.lock().unwrap();
        if seat.term == term.0 {
            seat.until = None;
        }
        Ok(())
    }
}

/// A process with a scheduler that works only while it leads.
struct Process {
    stop: Stop,
    scheduler: Task<Result<(), Error>>,
    reign: Task<()>,
}

fn process(scene: &Scene, throne: &Arc<Throne>) -> Process {
    let lease = Arc::clone(throne) as Arc<dyn Lease>;
    let leadership = Leadership::new(lease, "scheduler", leadership::Config::default());
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), Config::default())
        .led_by("scheduler", leadership.lead());
    let stop = Stop::new();
    Process {
        scheduler: scene.tasks.spawn("scheduler", scheduler.run(stop.shutdown())),
        reign: scene.tasks.spawn("leadership", leadership.run(stop.shutdown())),
        stop,
    }
}

#[tokio::test(start_paused = true)]
async fn through_changes_of_leaders_every_tick_is_fired_once() {
    let scene = Scene::new();
    let throne = Arc::new(Throne::default());
    let view = made(&scene, "often", r#""every": "1s""#).await;
    let mut processes = vec![process(&scene, &throne), process(&scene, &throne)];
    for round in 0..6 {
        sleep(Duration::from_secs(20)).await;
        processes.push(process(&scene, &throne));
        let old = processes.remove(0);
        if round % 2 == 0 {
            old.stop.drain();
            old.scheduler.await.unwrap().unwrap();
            old.reign.await.unwrap();
        } else {
            // As if it had been killed: its lease has to run out.
            old.scheduler.abort();
            old.reign.abort();
        }
    }
    sleep(Duration::from_secs(20)).await;
    for process in processes {
        process.stop.drain();
        process.scheduler.await.unwrap().unwrap();
    }
    let ticks = ticks(&scene, &view).await;
    let last = seconds(&view, &ticks)[0];
    assert!(last >= 139, "{last}");
    assert_eq!(seconds(&view, &ticks), (1..=last).rev().collect::<Vec<_>>());
    assert!(ticks.iter().all(|tick| tick.state == TickState::Fired), "a change of leaders skips nothing");
    assert_eq!(scene.count(State::Pending).await, ticks.len());
    let mut leaders = scene.store.leaders();
    assert!(leaders.is_sorted(), "{leaders:?}");
    leaders.dedup();
    assert!(leaders.len() >= 4, "{leaders:?}");
}

#[tokio::test(start_paused = true)]
async fn one_whose_term_is_over_fires_nothing_and_does_not_spin() {
    let scene = Scene::new();
    let throne = Arc::new(Throne::default());
    let view = made(&scene, "often", r#""every": "1m""#).await;
    let Process { stop, scheduler, reign } = process(&scene, &throne);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(ticks(&scene, &view).await.len(), 1);
    // The store knows of a later leader, this process does not yet.
    scene.store.depose_before(9);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(ticks(&scene, &view).await.len(), 1);
    let calls = scene.store.calls(Verb::Fire);
    assert!(calls < 200, "{calls} calls within a second");
    stop.drain();
    scheduler.await.unwrap().unwrap();
    reign.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_that_is_deposed_before_it_knows_does_not_ask_again_and_again() {
    let scene = Scene::new();
    let throne = Arc::new(Throne::default());
    let view = made(&scene, "often", r#""every": "1s""#).await;
    let process = process(&scene, &throne);
    sleep(Duration::from_secs(5)).await;
    let (fired, looks) = (ticks(&scene, &view).await.len(), scene.store.calls(Verb::DueSchedules));
    assert!(fired >= 3, "{fired} ticks");
    // The lease has not heard of it, and goes on being renewed.
    scene.store.depose_before(100);
    sleep(Duration::from_secs(30)).await;
    let asked = scene.store.calls(Verb::DueSchedules) - looks;
    assert!((20..=70).contains(&asked), "{asked} looks in thirty seconds");
    assert_eq!(ticks(&scene, &view).await.len(), fired);
    process.stop.drain();
    process.scheduler.await.unwrap().unwrap();
    process.reign.await.unwrap();
}

/// The most ticks that were fired for all schedules together within one instant of the store's clock.
fn most_at_once(ticks: &[TickView]) -> usize {
    let mut counts = std::collections::HashMap::new();
    for tick in ticks {
        *counts.entry(tick.at).or_insert(0) += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_in_days_is_made_up_for_in_steps_and_the_lag_tells_of_it() {
    let scene = Scene::new();
    let mut views = Vec::new();
    for number in 0..5 {
        let fields = r#""cron": "* * * * * *", "missed": "all", "missed_max": 100"#;
        views.push(made(&scene, &format!("away-{number}"), fields).await);
    }
    sleep(Duration::from_hours(30)).await;
    // So that every step has its own instant.
    scene.store.always(Verb::Fire, Act::Delay(Duration::from_millis(1)));
    let config = Config { step: 40, ..patient() };
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), config);
    let (lag, tally) = (scheduler.lag(), scheduler.tally());
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    until("something has fired", || tally.fired() > 0).await;
    assert!(lag.get() > Duration::from_hours(29), "{:?}", lag.get());
    until("all of it has", || tally.fired() >= 5 * 160).await;
    sleep(Duration::from_secs(2)).await;
    assert!(lag.get() < Duration::from_secs(2), "{:?}", lag.get());
    let mut all = Vec::new();
    for view in &views {
        let ticks = ticks(&scene, view).await;
        let skipped: Vec<&TickView> = ticks.iter().filter(|tick| tick.state == TickState::Skipped).collect();
        assert_eq!(skipped.len(), 1, "one run of them");
        assert!(ticks.len() > 160, "a hundred that were missed, and the last minute: {}", ticks.len());
        all.extend(ticks);
    }
    assert!(most_at_once(&all) <= 40, "{} at once", most_at_once(&all));
    stopped(&scene, scheduler).await;
}

fn queued(most: u64) -> TenantLimits {
    TenantLimits { queued_jobs: Limit::AtMost(most), ..TenantLimits::unlimited() }
}

fn tenants(scene: &Scene, limits: TenantLimits) -> Arc<Tenants> {
    let config = tenants::Config { limits, ..tenants::Config::default() };
    Arc::new(Tenants::new(Arc::new(scene.store.clone()), config))
}

#[tokio::test(start_paused = true)]
async fn a_schedule_fires_no_more_than_its_tenant_may_have_waiting() {
    let scene = Scene::new();
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), patient())
        .limited_by(tenants(&scene, queued(3)), scene.store());
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    let view = made(&scene, "often", r#""every": "10s""#).await;
    sleep(Duration::from_secs(61)).await;
    assert_eq!(scene.count(State::Pending).await, 3);
    let told: Vec<_> = ticks(&scene, &view).await.iter().map(|tick| (tick.state, tick.reason)).collect();
    let (skipped, fired) = ((TickState::Skipped, Some(TickReason::TooManyWaiting)), (TickState::Fired, None));
    assert_eq!(told, [skipped, skipped, skipped, fired, fired, fired]);

    let first = ticks(&scene, &view).await.last().unwrap().job.unwrap().0;
    complete(&scene, first).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(ticks(&scene, &view).await[0].state, TickState::Fired, "there is room again");
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn a_schedule_fires_into_no_more_queues_than_its_tenant_may_have_jobs_waiting_in() {
    let scene = Scene::new();
    let limits = TenantLimits { queue_names: Limit::AtMost(1), ..TenantLimits::unlimited() };
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), patient())
        .limited_by(tenants(&scene, limits), scene.store());
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    let every_ten_seconds_into = async |queue: &str| {
        let job = format!(r#"{{"task": "{}", "queue": "{queue}"}}"#, crate::runner::TASK);
        let json = format!(r#"{{"name": "{queue}", "every": "10s", "job": {job}}}"#);
        editor(&scene).create(&TenantId::default(), serde_json::from_str(&json).unwrap()).await.unwrap()
    };
    let first = every_ten_seconds_into("first").await;
    sleep(Duration::from_secs(11)).await;
    let second = every_ten_seconds_into("second").await;
    sleep(Duration::from_secs(21)).await;
    let told = async |view| ticks(&scene, view).await.iter().map(|tick| (tick.state, tick.reason)).collect::<Vec<_>>();
    let (skipped, fired) = ((TickState::Skipped, Some(TickReason::TooManyWaiting)), (TickState::Fired, None));
    assert_eq!(told(&first).await, [fired; 3]);
    assert_eq!(told(&second).await, [skipped; 2], "its queue would be one more");

    editor(&scene).change(&TenantId::default(), &key(&first), patch(r#"{"every": "1h"}"#), None).await.unwrap();
    complete(&scene, ticks(&scene, &first).await[0].job.unwrap().0).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(told(&second).await, [fired, skipped, skipped], "nothing waits in the other one any more");
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn a_tenant_of_a_later_version_keeps_no_schedule_from_firing() {
    let scene = Scene::new();
    let later = tenant(&scene, "later", TenantSettings::default()).await;
    scene.store.tenant_is_of_a_later_version(later);
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), patient())
        .limited_by(tenants(&scene, queued(3)), scene.store());
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    made(&scene, "often", r#""every": "10s""#).await;
    sleep(Duration::from_secs(61)).await;
    assert_eq!(scene.count(State::Pending).await, 3, "held to its limit, as ever");
    stopped(&scene, scheduler).await;
}

#[tokio::test(start_paused = true)]
async fn ticks_that_are_due_when_a_schedule_is_changed_are_held_to_the_same_limit() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "10s", "missed": "all""#).await;
    sleep(Duration::from_secs(51)).await;
    let editor = editor(&scene).limited_by(tenants(&scene, queued(2)), scene.store());
    editor.change(&TenantId::default(), &key(&view), patch(r#"{"every": "1h"}"#), None).await.unwrap();
    assert_eq!(scene.count(State::Pending).await, 2);
    let reasons: Vec<_> = ticks(&scene, &view).await.iter().map(|tick| tick.reason).collect();
    assert_eq!(reasons.iter().filter(|reason| **reason == Some(TickReason::TooManyWaiting)).count(), 3, "{reasons:?}");
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_counted_seldom_where_the_limit_is_large() {
    let scene = Scene::new();
    let scheduler = Scheduler::new(scene.store(), scene.store(), scene.wakeups(), patient())
        .limited_by(tenants(&scene, queued(1_000_000)), scene.store());
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    made(&scene, "often", r#""every": "1s""#).await;
    sleep(Duration::from_millis(900_500)).await;
    assert_eq!(scene.count(State::Pending).await, 900);
    assert_eq!(scene.store.calls(Verb::Waiting), 0);
    sleep(Duration::from_mins(20)).await;
    assert_eq!(scene.store.calls(Verb::Waiting), 2, "once for every thousand");
    stopped(&scene, scheduler).await;
}
