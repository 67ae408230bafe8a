//! Firing as this store does it: under a term, in the same few statements however many are due, and past what cannot be read.

use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::Subject;
use foreman_conformance::given::{MINUTE, Scene, at_once, completed};
use foreman_conformance::timetable::{Timetable, edit, every_minute, named, next_firing, schedule_ids};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{
    DeleteAnswer, DueSchedule, EditAnswer, Fired, Firing, JobStore, Leader, NewTick, RedriveAnswer, ScheduleStore,
    ScheduleView, StoreError, TickAct,
};
use foreman_core::schedule::{Overlap, ScheduleKey};
use foreman_core::{ScheduleId, TenantId, Timestamp};
use foreman_postgres::leases::PgLeases;
use foreman_postgres::{Config, PostgresStore, statements};
use foreman_runtime::Tasks;
use foreman_runtime::leadership::Lease;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tokio_postgres::Client;

use crate::given::{Team, is_torture};
use crate::wire::{Meter, behind};

const TTL: Duration = Duration::from_secs(15);
const OFFICE: &str = "scheduler";
/// How much more the server may compute for firing than for plain inserts of the same rows: it reads and locks every schedule, and
/// writes three more tables.
const MOST_TIMES: u64 = 10;

/// Its tick, and the next a minute later.
fn firing_of(due: &DueSchedule) -> Firing {
    let DueSchedule { schedule, seen } = due;
    let nominal = seen.next.unwrap();
    Firing {
        schedule: schedule.id,
        seen: *seen,
        overlap: schedule.spec.overlap.unwrap_or_default(),
        release: seen.held.map(|held| schedule.job_now(held)),
        ticks: vec![NewTick { nominal, act: TickAct::Fire(schedule.job_at(nominal, Duration::ZERO)) }],
        next: Some(nominal.plus(MINUTE)),
    }
}

async fn count(team: &Team, what: &str) -> i64 {
    let client = team.database.client().await;
    client.query_one(&format!("SELECT count(*) FROM {what}"), &[]).await.unwrap().get(0)
}

/// So many in one go, all like this one.
async fn plant_many(team: &Team, many: i64, like: Timetable) {
    let scene = Scene::of(team);
    let view = scene.plant(like).await;
    let client = team.database.client().await;
    let text = "INSERT INTO schedules
        SELECT gen_random_uuid(), tenant, name || n, spec, work, version, next_fire_at, held, paused, created_at, edited_at
        FROM schedules, generate_series(2, $2::bigint) AS n WHERE id = $1";
    client.execute(text, &[&view.schedule.id.0, &many]).await.unwrap();
}

#[tokio::test]
async fn a_scheduler_whose_term_is_over_fires_nothing() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let mut config = Config::at(team.database.url());
    config.clock = Some(team.clock.clone());
    let leases = PgLeases::new(&config).unwrap();
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    scene.advance(MINUTE).await;
    let term = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    let leader = |term: u64| Leader { office: OFFICE.into(), term };
    let refused = async |leader: Leader, why: &str| {
        let before = scene.again(&view).await;
        let answer = team.store.fire(Some(&leader), &[next_firing(&before)]).await.unwrap();
        assert_eq!(answer, None, "{why}");
        assert_eq!(scene.again(&view).await.seen, before.seen, "{why}");
        (scene.ticks(&view).await.len(), scene.count_in("mail").await)
    };
    assert_eq!(refused(leader(term.0 + 1), "a term that never was").await, (0, 0));
    let answer = team.store.fire(Some(&leader(term.0)), &[next_firing(&view)]).await.unwrap().unwrap();
    assert!(matches!(&answer[..], [Fired::Done(jobs)] if jobs.len() == 1), "{answer:?}");
    leases.resign(OFFICE, term).await.unwrap();
    assert_eq!(refused(leader(term.0), "it resigned").await, (1, 1));
    let next = leases.acquire(OFFICE, "b", TTL).await.unwrap().unwrap();
    assert_eq!(refused(leader(term.0), "another leads").await, (1, 1));
    scene.advance(TTL * 2).await;
    assert_eq!(refused(leader(next.0), "its time is over").await, (1, 1));
}

#[tokio::test]
async fn two_thousand_schedules_fire_by_as_many_statements_as_twenty() {
    let tasks = Tasks::new();
    let (meter, address) = Meter::start(&tasks).await;
    let team = Team::with(|config| {
        config.url = config.url.replace(&behind(), &address);
        // One, so that every statement is known to it after the first time.
        config.data_connections = 1;
    })
    .await;
    let scene = Scene::of(&team);
    plant_many(&team, 2_000, every_minute("many").overlap(Overlap::Skip)).await;
    scene.advance(MINUTE).await;
    let mut counted = Vec::new();
    for step in [20, 20, 1_960] {
        let due = team.store.due_schedules(step).await.unwrap().due;
        assert_eq!(due.len(), step);
        let firings: Vec<Firing> = due.iter().map(firing_of).collect();
        meter.take();
        let fired = team.store.fire(None, &firings).await.unwrap().unwrap();
        counted.push(meter.take());
        assert!(fired.iter().all(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)), "{fired:?}");
    }
    let [(_, prepared), few, many] = counted[..] else { panic!("{counted:?}") };
    assert!(prepared > 10, "what goes by is counted: {counted:?}");
    assert_eq!((few, few.1), (many, 0), "the same for a hundred times as many: {counted:?}");
    assert!(many.0 <= 20, "a handful: {counted:?}");
    assert!(team.store.due_schedules(10).await.unwrap().due.is_empty());
    assert_eq!((count(&team, "jobs").await, count(&team, "ticks WHERE state = 'fired'").await), (2_000, 2_000));
}

/// In as many transactions as the scheduler makes of it.
const STEP: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_due_in_one_second_are_fired_in_a_small_multiple_of_plain_inserts() {
    const MANY: i64 = 10_000;
    let team = Team::new().await;
    let scene = Scene::of(&team);
    plant_many(&team, MANY, every_minute("many")).await;
    let client = team.database.client().await;
    // As a scheduler would if it had nothing to look up or to decide: the same rows, by plain statements.
    let before = server_ticks(&client).await;
    for step in 0..MANY / STEP as i64 {
        let text = format!(
            "BEGIN;
             INSERT INTO jobs (id, tenant, queue, route, lane, max_attempts, created_at, first_run_at, work)
             SELECT gen_random_uuid(), 'plain', 'plain', 'http', 1, 1, now(), now(), repeat('x', 300)
             FROM generate_series(1, {STEP});
             INSERT INTO ready (job, tenant, queue, route, lane, key, run_at, attempt, spent, crashes)
             SELECT gen_random_uuid(), 'plain', 'plain', 'http', 1, {step} * {STEP} + n, now(), 0, 0, 0
             FROM generate_series(1, {STEP}) AS n;
             INSERT INTO ticks (schedule, nominal, state, job, open, at)
             SELECT gen_random_uuid(), now(), 'fired', gen_random_uuid(), true, now() FROM generate_series(1, {STEP});
             COMMIT"
        );
        client.batch_execute(&text).await.unwrap();
    }
    let plain = server_ticks(&client).await - before;
    scene.advance(MINUTE).await;
    let before = server_ticks(&client).await;
    let mut fired = 0;
    loop {
        let due = team.store.due_schedules(STEP).await.unwrap().due;
        if due.is_empty() {
            break;
        }
        let firings: Vec<Firing> = due.iter().map(firing_of).collect();
        let answers = team.store.fire(None, &firings).await.unwrap().unwrap();
        fired += answers.iter().filter(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)).count();
    }
    let took = server_ticks(&client).await - before;
    assert_eq!(fired, MANY as usize);
    eprintln!("{MANY} schedules fired in {took} ticks of CPU, plain inserts of as many rows took {plain}");
    assert!(plain > 0, "what the server computes is counted");
    assert!(took <= plain * MOST_TIMES, "{took} ticks are more than {MOST_TIMES} times {plain}");
}

/// How long the server has computed for the connections to this database, in ticks of the kernel. Not a clock: on a busy machine
/// a second of work takes many.
async fn server_ticks(client: &Client) -> u64 {
    let pids =
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'";
    let mut ticks = 0;
    for row in client.query(pids, &[]).await.unwrap() {
        // Gone since: it was idle, and what it had computed is missing before and after alike.
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", row.get::<_, i32>(0))) else { continue };
        // After the name in brackets: the state is field 3, time in the program and in the kernel are 14 and 15.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        ticks += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    }
    ticks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_that_fire_the_same_while_others_edit_and_delete_fire_each_tick_once() {
    const SCHEDULES: usize = 24;
    let rounds = if is_torture() { 100 } else { 12 };
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let mut stores = Vec::new();
    for _ in 0..3 {
        let mut config = Config::at(team.database.url());
        config.clock = Some(team.clock.clone());
        config.data_connections = 3;
        stores.push(PostgresStore::open(config, Arc::new(LocalWakeups::new())).await.unwrap());
    }
    let start = scene.now().await;
    let mut views = Vec::new();
    for n in 0..SCHEDULES {
        views.push(scene.plant(every_minute(&format!("s{n}")).first_at(start.plus(MINUTE))).await);
    }
    let mut rng = SmallRng::seed_from_u64(5);
    let mut deleted = Vec::new();
    for round in 0..rounds {
        scene.advance(MINUTE).await;
        let schedulers = stores.iter().enumerate().map(|(n, store)| {
            let store = store.clone();
            Box::pin(fire_all(store, round * 3 + n as u64)) as std::pin::Pin<Box<dyn Future<Output = ()> + Send>>
        });
        let victim = (round % 3 == 2 && views.len() > 4).then(|| views.swap_remove(rng.random_range(0..views.len())));
        let edited: Vec<ScheduleId> = views.iter().take(6).map(|view| view.schedule.id).collect();
        let store = team.store.clone();
        let editor = async move {
            for id in edited {
                edit_one(&store, id).await;
            }
        };
        let (store, doomed) = (team.store.clone(), victim.as_ref().map(|view| view.schedule.id));
        let deleter = async move {
            if let Some(id) = doomed {
                delete_one(&store, id).await;
            }
        };
        let mut work: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>> = schedulers.collect();
        work.push(Box::pin(editor));
        work.push(Box::pin(deleter));
        at_once(work).await;
        deleted.extend(victim.map(|view| (view, round + 1)));
    }
    let minutes = |until: u64| -> Vec<Timestamp> { (1..=until).rev().map(|n| start.plus(MINUTE * n as u32)).collect() };
    for view in &views {
        let seen = scene.ticks(view).await.iter().map(|tick| tick.nominal).collect::<Vec<_>>();
        assert_eq!(seen, minutes(rounds), "every minute of {} was fired", view.schedule.name);
        let edits = scene.again(view).await.seen.version - 1;
        assert!(edits <= i64::try_from(rounds).unwrap());
    }
    for (view, until) in &deleted {
        let seen = scene.ticks(view).await.iter().map(|tick| tick.nominal).collect::<Vec<_>>();
        assert_eq!(seen, minutes(*until), "what was due before {} was deleted was fired", view.schedule.name);
    }
    let ticks = count(&team, "ticks WHERE state = 'fired'").await;
    assert_eq!(count(&team, "jobs").await, ticks, "one job for each");
    let once =
        "(SELECT DISTINCT work::json #>> '{occasion,schedule}', work::json #>> '{occasion,nominal}' FROM jobs) AS once";
    assert_eq!(count(&team, once).await, ticks, "and no tick has two");
    assert!(scene.census().await.is_clean());
    for store in stores {
        store.close();
    }
}

/// Fires what is due, in any order, until nothing is.
async fn fire_all(store: PostgresStore, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    loop {
        let due = store.due_schedules(100).await.unwrap().due;
        if due.is_empty() {
            return;
        }
        let mut firings: Vec<Firing> = due.iter().map(firing_of).collect();
        firings.shuffle(&mut rng);
        let fired = store.fire(None, &firings).await.unwrap().unwrap();
        assert_eq!(fired.len(), firings.len());
    }
}

async fn look(store: &PostgresStore, id: ScheduleId) -> ScheduleView {
    store.schedule(&TenantId::default(), &ScheduleKey::Id(id)).await.unwrap().unwrap()
}

/// Changes nothing but its version, as soon as nothing is due.
async fn edit_one(store: &PostgresStore, id: ScheduleId) {
    loop {
        let view = look(store, id).await;
        let edit = edit(&view, view.seen.next);
        match store.edit_schedule(&TenantId::default(), &edit).await.unwrap() {
            EditAnswer::Edited(after) => {
                assert_eq!(after.seen.version, view.seen.version + 1);
                return;
            }
            EditAnswer::Stale => tokio::task::yield_now().await,
            EditAnswer::Gone => panic!("it is not deleted in this round"),
        }
    }
}

async fn delete_one(store: &PostgresStore, id: ScheduleId) {
    loop {
        let view = look(store, id).await;
        match store.delete_schedule(&TenantId::default(), id, view.seen).await.unwrap() {
            DeleteAnswer::Deleted => return,
            DeleteAnswer::Stale => tokio::task::yield_now().await,
            DeleteAnswer::Gone => panic!("nobody else deletes it"),
        }
    }
}

/// A tick remembers that its job was seen to be final, so that nobody asks again; a re-drive takes that back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_redriven_while_a_tick_is_judged_is_in_the_way_of_the_next() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let session = scene.session().await;
    let rounds = if is_torture() { 300 } else { 30 };
    for round in 0..rounds {
        let view = scene.plant(every_minute(&format!("s{round}")).overlap(Overlap::Skip)).await;
        let first = scene.fire_next(&view).await[0];
        scene.run(session, first, completed()).await;
        scene.advance(MINUTE).await;
        let firing = next_firing(&scene.again(&view).await);
        let redrive = async {
            let answer = team.store.redrive(&TenantId::default(), &[first]).await.unwrap();
            assert_eq!(answer, [Some(RedriveAnswer::Redriven)]);
        };
        let fire = async {
            // A re-drive looks and reserves first; now one of them is ahead, now the other.
            for _ in 0..round % 5 {
                team.store.time().await.unwrap();
            }
            scene.fired(&firing).await
        };
        let ((), second) = tokio::join!(redrive, fire);
        for id in second {
            scene.run(session, id, completed()).await;
        }
        assert_eq!(scene.fire_next(&view).await, [], "the first job is open again");
        assert!(scene.census().await.is_clean());
        scene.run(session, first, completed()).await;
        assert_eq!(scene.fire_next(&view).await.len(), 1, "and final again");
        let done = scene.again(&view).await;
        scene.edited(&edit(&done, None)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_firing_waits_for_a_redrive_that_is_under_way() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let session = scene.session().await;
    let view = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    let first = scene.fire_next(&view).await[0];
    scene.run(session, first, completed()).await;
    scene.advance(MINUTE).await;
    let neighbour = team.database.client().await;
    let redrive = format!(
        "BEGIN; {};
         INSERT INTO ready SELECT job, tenant, queue, 'http', 1, 1, now(), NULL, 1, 1, 0, kind FROM outcomes;
         DELETE FROM outcomes",
        statements::reopen(&format!("ARRAY['{first}']"))
    );
    neighbour.batch_execute(&redrive).await.unwrap();
    let firing = next_firing(&scene.again(&view).await);
    let fire = scene.fired(&firing);
    let end = async {
        let watch = team.database.client().await;
        let waiting = "SELECT EXISTS (SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock')";
        while !watch.query_one(waiting, &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        neighbour.batch_execute("COMMIT").await.unwrap();
    };
    let (jobs, ()) = tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(fire, end) }).await.unwrap();
    assert_eq!(jobs, [], "the job was open again when the tick was judged");
    assert!(scene.census().await.is_clean());
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_holds_up_no_other() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let mut views = Vec::new();
    for (n, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let first = Duration::from_secs(n as u64 + 1);
        views.push(scene.plant(every_minute(name).overlap(Overlap::Queue).first_in(first)).await);
    }
    let client = team.database.client().await;
    let later = r#"{"name":"a","lunar":"new moon","job":{}}"#;
    client.execute("UPDATE schedules SET spec = $1 WHERE name = 'a'", &[&later]).await.unwrap();
    client.execute("UPDATE schedules SET work = 'no work' WHERE name = 'c'", &[]).await.unwrap();
    scene.advance(MINUTE).await;
    let ids = |places: &[usize]| places.iter().map(|n| views[*n].schedule.id).collect::<Vec<_>>();
    for (limit, expected) in [(1, ids(&[1])), (2, ids(&[1, 3])), (3, ids(&[1, 3, 4])), (9, ids(&[1, 3, 4]))] {
        assert_eq!(schedule_ids(&team.store.due_schedules(limit).await.unwrap().due), expected, "at most {limit}");
        let listed = team.store.schedules(&TenantId::default(), None, limit).await.unwrap();
        assert_eq!(listed.iter().map(|view| view.schedule.id).collect::<Vec<_>>(), expected, "at most {limit}");
    }
    let error = team.store.schedule(&TenantId::default(), &named("a")).await.unwrap_err();
    let StoreError::Damaged(text) = error else { panic!("{error:?}") };
    assert!(text.contains("schedules") && text.contains("spec"), "{text}");
    let (tenant, first) = (TenantId::default(), &views[0]);
    for key in [named("a"), ScheduleKey::Id(first.schedule.id)] {
        assert_eq!(
            team.store.schedule_head(&tenant, &key).await.unwrap(),
            Some(first.schedule_head()),
            "where it stands is known"
        );
    }
    assert_eq!(team.store.schedule_head(&tenant, &named("none")).await.unwrap(), None);
    // What holds a tick and cannot be read does not hold up those that can let theirs go.
    client.execute("UPDATE schedules SET held = next_fire_at, next_fire_at = NULL", &[]).await.unwrap();
    client
        .execute("INSERT INTO ticks SELECT id, held, 'held', NULL, NULL, false, now(), NULL, 1 FROM schedules", &[])
        .await
        .unwrap();
    let look = team.store.due_schedules(2).await.unwrap();
    assert_eq!((schedule_ids(&look.due), look.is_any_held), (vec![], true));
    assert_eq!(schedule_ids(&look.freed), ids(&[1, 3]));
    assert!(team.store().census().await.unwrap().is_clean());
}
