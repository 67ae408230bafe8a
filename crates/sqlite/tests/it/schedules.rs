//! Schedules in the file: what a migration keeps, what a later version left behind, what a full disk does to a firing, and how long
//! many firings take.

use std::time::Duration;

use foreman_conformance::given::{MINUTE, PLENTY, Scene, a_job};
use foreman_conformance::timetable::{every_minute, named, next_firing, schedule_ids};
use foreman_core::ports::{
    DeleteAnswer, DueSchedule, Fired, Firing, JobStore, NewTick, ScheduleStore, SeenSchedule, StoreError, TickAct,
};
use foreman_core::schedule::ScheduleKey;
use foreman_core::target::{Body, HttpTarget, Target};
use foreman_core::{State, TenantId};
use foreman_sqlite::{census_of_file, migrate};
use tokio::time::Instant;

use crate::given::{Laptop, back_to};

/// Something done to the file by someone else.
fn execute(laptop: &Laptop, sql: &str) -> usize {
    rusqlite::Connection::open(laptop.path()).unwrap().execute(sql, []).unwrap()
}

#[tokio::test]
async fn a_file_from_before_schedules_keeps_its_jobs_and_learns_to_fire() {
    let laptop = Laptop::new();
    let (waits, later) = {
        let scene = Scene::of(&laptop);
        (scene.submit(a_job().tagged("blue")).await, scene.job_in(State::Scheduled, a_job()).await)
    };
    laptop.store.close().await;
    back_to(&laptop.path(), 1);
    let waiting: Vec<i64> = migrate::status(&laptop.path())
        .unwrap()
        .into_iter()
        .filter(|migration| migration.applied_at.is_none())
        .map(|migration| migration.version)
        .collect();
    assert_eq!(waiting, (2..=migrate::LATEST).collect::<Vec<_>>());
    assert!(census_of_file(&laptop.path()).is_err(), "it waits for a migration, and says so");

    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    assert_eq!((scene.state(waits).await, scene.state(later).await), (State::Pending, State::Scheduled));
    let view = scene.plant(every_minute("daily")).await;
    assert_eq!(scene.fire_next(&view).await.len(), 1);
    scene.census().await;
    laptop.store.close().await;
}

#[tokio::test]
async fn a_schedule_and_its_ticks_are_there_after_a_close_and_an_open() {
    let laptop = Laptop::new();
    let (before, ticks) = {
        let scene = Scene::of(&laptop);
        let view = scene.plant(every_minute("daily")).await;
        scene.fire_next(&view).await;
        scene.fire_next(&view).await;
        (scene.again(&view).await, scene.ticks(&view).await)
    };
    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    assert_eq!(format!("{:?}", scene.again(&before).await), format!("{before:?}"));
    assert_eq!(scene.ticks(&before).await, ticks);
    laptop.store.close().await;
}

#[tokio::test]
async fn a_schedule_of_a_later_version_harms_no_other() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let mut views = Vec::new();
    for name in ["a", "b", "c", "d"] {
        views.push(scene.plant(every_minute(name)).await);
    }
    let ids: Vec<_> = views.iter().map(|view| view.schedule.id).collect();
    // Each in its own way: a field, a policy, a target that this version does not know.
    for spoil in [
        "UPDATE schedules SET spec = json_set(spec, '$.moon', 'full') WHERE name = 'a'",
        "UPDATE schedules SET spec = json_set(spec, '$.overlap', 'merge') WHERE name = 'b'",
        "UPDATE schedules SET work = json_set(work, '$.target', 'by pigeon') WHERE name = 'c'",
    ] {
        assert_eq!(execute(&laptop, spoil), 1);
    }
    let tenant = TenantId::default();
    let listed = laptop.store.schedules(&tenant, None, 1).await.unwrap();
    assert_eq!(listed.iter().map(|view| view.schedule.id).collect::<Vec<_>>(), ids[3..], "the page is full");
    for (name, column) in [("a", "spec"), ("b", "spec"), ("c", "work")] {
        let error = laptop.store.schedule(&tenant, &named(name)).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::Damaged(why) if why.contains("schedules") && why.contains(column)),
            "{error}"
        );
        let view = views.iter().find(|view| view.schedule.name.as_str() == name).unwrap();
        let by_id = ScheduleKey::Id(view.schedule.id);
        for key in [named(name), by_id] {
            let standing = laptop.store.schedule_head(&tenant, &key).await.unwrap();
            assert_eq!(standing, Some(view.schedule_head()), "where it stands is known");
        }
    }
    assert_eq!(laptop.store.schedule_head(&tenant, &named("none")).await.unwrap(), None);
    scene.advance(MINUTE).await;
    let look = scene.due(1).await;
    assert_eq!(schedule_ids(&look.due), ids[3..], "the step is full");
    assert_eq!(scene.fired(&next_firing(&views[3])).await.len(), 1);

    // Whoever knows what was seen can still be rid of it, once what was due is fired.
    let firing = Firing { ticks: Vec::new(), next: None, ..next_firing(&views[0]) };
    assert_eq!(scene.fired(&firing).await, []);
    let seen = SeenSchedule { next: None, ..views[0].seen };
    let deleted = laptop.store.delete_schedule(&tenant, ids[0], seen).await.unwrap();
    assert_eq!(deleted, DeleteAnswer::Deleted);
    assert!(laptop.store.schedule(&tenant, &named("a")).await.unwrap().is_none());
    laptop.store.close().await;
}

#[tokio::test]
async fn a_tick_that_finds_no_room_is_fired_when_there_is_some() {
    let laptop = Laptop::with(|config| config.max_pages = Some(300));
    let scene = Scene::of(&laptop);
    let target = Target::Http(HttpTarget {
        url: "http://127.0.0.1:9/".parse().unwrap(),
        method: "POST".into(),
        headers: std::collections::BTreeMap::default().into(),
        body: Body::Text("x".repeat(100_000)),
    });
    let big = a_job().target(target);
    let mut new = every_minute("big").build(scene.now().await);
    new.schedule.work = big.build().work;
    scene.create(&new).await;
    let view = scene.find_schedule(new.schedule.id).await.unwrap();
    let small = scene.plant(every_minute("small")).await;
    let mut filler = Vec::new();
    loop {
        let job = big.build();
        match laptop.store.submit(std::slice::from_ref(&job)).await {
            Ok(_) => filler.push(job.id),
            Err(error) => break assert!(matches!(error, StoreError::Full(_)), "{error:?}"),
        }
        assert!(filler.len() < 1_000, "the limit holds");
    }
    scene.advance(MINUTE).await;
    let firings = [next_firing(&small), next_firing(&view)];
    let full = laptop.store.fire(None, &firings).await;
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
    for view in [&small, &view] {
        assert_eq!(scene.again(view).await.seen, view.seen);
        assert!(scene.ticks(view).await.is_empty());
    }
    // The same firings, as they are sent again.
    let tenant = TenantId::default();
    laptop.store.cancel(&tenant, &filler[..2]).await.unwrap();
    laptop.store.remove(&tenant, &filler[..2]).await.unwrap();
    let fired = scene.fire(&firings).await;
    assert!(fired.iter().all(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)), "{fired:?}");
    assert_eq!(scene.due(PLENTY).await.due.len(), 0);
    laptop.store.close().await;
}

/// How much longer firing may take than plain inserts of the same rows. A debug build took 2 to 3 times as long (6.4 s and 2.4 s, on two
/// cores with twenty others waiting for them). Most of that is the disk; where it is fast, what is decided counts for more.
const MOST_TIMES: u32 = 25;
/// In as many transactions as the scheduler makes of it.
const STEP: usize = 500;

/// Its tick, and the next a minute later.
fn firing_of(due: &DueSchedule) -> Firing {
    let DueSchedule { schedule, seen } = due;
    let nominal = seen.next.unwrap();
    Firing {
        schedule: schedule.id,
        seen: *seen,
        overlap: schedule.spec.overlap.unwrap_or_default(),
        release: None,
        ticks: vec![NewTick { nominal, act: TickAct::Fire(schedule.job_at(nominal, Duration::ZERO)) }],
        next: Some(nominal.plus(MINUTE)),
    }
}

#[tokio::test]
async fn ten_thousand_due_in_one_second_are_fired_in_a_small_multiple_of_plain_inserts() {
    const MANY: usize = 10_000;
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    scene.plant(every_minute("many")).await;
    let numbers = |count: usize| {
        format!("WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {count})")
    };
    let like = format!(
        "{} INSERT INTO schedules
         SELECT randomblob(16), tenant, name || n, version, next_fire_at, held, paused, created_at, edited_at, edited_by, spec,
                work
         FROM schedules, number",
        numbers(MANY - 1)
    );
    assert_eq!(execute(&laptop, &like), MANY - 1);
    // As a scheduler would if it had nothing to look up or to decide: the same rows, by plain statements.
    let other = rusqlite::Connection::open(laptop.path()).unwrap();
    let numbers = numbers(STEP);
    // In turns, so that what else the machine does slows both.
    let (mut plain, mut took, mut fired) = (Duration::ZERO, Duration::ZERO, 0);
    scene.advance(MINUTE).await;
    for step in 0..MANY / STEP {
        let text = format!(
            "BEGIN IMMEDIATE;
             {numbers} INSERT INTO jobs (id, tenant, queue, lane, created_at, first_run_at, work)
             SELECT randomblob(16), 'plain', 'plain', 1, 1, 1, printf('%.300c', 'x') FROM number;
             {numbers} INSERT INTO ready (job, tenant, queue, route, lane, key, run_at, attempt, spent, crashes)
             SELECT randomblob(16), 'plain', 'plain', 'http', 1, {step} * {STEP} + n, 1, 0, 0, 0 FROM number;
             {numbers} INSERT INTO ticks (schedule, nominal, state, at, job)
             SELECT randomblob(16), 1, 'fired', 1, randomblob(16) FROM number;
             COMMIT"
        );
        let begun = Instant::now();
        other.execute_batch(&text).unwrap();
        plain += begun.elapsed();
        let begun = Instant::now();
        let due = laptop.store.due_schedules(STEP).await.unwrap().due;
        let firings: Vec<Firing> = due.iter().map(firing_of).collect();
        let answers = laptop.store.fire(None, &firings).await.unwrap().unwrap();
        took += begun.elapsed();
        fired += answers.iter().filter(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)).count();
    }
    assert_eq!(fired, MANY);
    eprintln!("{MANY} schedules fired in {took:?}, plain inserts of as many rows took {plain:?}");
    assert!(took <= plain * MOST_TIMES, "{took:?} is more than {MOST_TIMES} times {plain:?}");
    laptop.store.close().await;
}
