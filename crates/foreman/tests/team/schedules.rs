//! Every tick of a schedule is fired exactly once, whatever happens to the schedulers.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::stage::{Database, Dice, Fault, Fleet, Pace, Plan, Role, Sql, beside, torture, until};

/// Those that fire every second, by interval and by cron.
async fn every_second(fleet: &Fleet, count: usize) {
    let api = fleet.places(Role::Api)[0];
    for number in 0..count {
        let mut schedule = json!({"name": format!("s-{number}"), "job": {"task": "foreman.noop"}});
        let (field, value) = if number % 2 == 0 { ("every", "1s") } else { ("cron", "* * * * * *") };
        schedule[field] = value.into();
        let answer = fleet.processes[api].post("/api/v1/schedules", &schedule.to_string()).await.unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

/// What was due is fired before it pauses, so that the ticks end here.
async fn pause_all(fleet: &Fleet, count: usize) {
    let api = fleet.places(Role::Api)[0];
    for number in 0..count {
        let answer = fleet.processes[api].post(&format!("/api/v1/schedules/s-{number}/pause"), "").await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

/// The ticks of every schedule lie a second apart, without a hole, each fired, with a job of its own that knows it.
async fn assert_each_tick_once(sql: &Sql, schedules: usize, least: i64) {
    let rows = sql
        .query(
            "SELECT schedules.name, count(*), extract(epoch FROM max(nominal) - min(nominal))::bigint + 1,
                    count(*) FILTER (WHERE ticks.state = 'fired'), count(DISTINCT ticks.job), count(jobs.id)
             FROM schedules JOIN ticks ON ticks.schedule = schedules.id LEFT JOIN jobs ON jobs.id = ticks.job
             GROUP BY schedules.name",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(rows.len(), schedules);
    for row in rows {
        let name: &str = row.get(0);
        let [ticks, seconds, fired, own_jobs, jobs] = [1, 2, 3, 4, 5].map(|column| row.get::<_, i64>(column));
        assert!(ticks >= least, "{name} had {ticks} ticks and not {least}: this run proves nothing");
        assert_eq!([seconds, fired, own_jobs, jobs], [ticks; 4], "{name}: ticks, fired, jobs");
    }
    let doubled = sql
        .query(
            "SELECT work::json #>> '{occasion,schedule}', work::json #>> '{occasion,nominal}', count(*) FROM jobs
             GROUP BY 1, 2 HAVING count(*) > 1",
            &[],
        )
        .await
        .unwrap();
    assert!(doubled.is_empty(), "{} ticks have two jobs: {doubled:?}", doubled.len());
    let count = async |table: &str| -> i64 {
        sql.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0)
    };
    assert_eq!(count("jobs").await, count("ticks").await, "a job without a tick");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tick_is_fired_once_through_kills_and_sleeps_of_three_schedulers() {
    let _turn = beside().await;
    let (seconds, schedules) = if torture() { (120, 50) } else { (25, 50) };
    let least = if torture() { 20 } else { 2 };
    let (database, mut dice) = (Database::fresh().await, Dice::new());
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 1, scheduler: 3 }, Pace::Quick).await;
    every_second(&fleet, schedules).await;
    let start = Instant::now();
    let mut round = 0;
    while start.elapsed() < Duration::from_secs(seconds) || round < 2 * least {
        sleep(dice.millis(300, 2_500)).await;
        let places = fleet.places(Role::Scheduler);
        // As often as not it is the leader; to strike only leaders would spare a follower that is about to lead.
        let place = places[dice.below(places.len())];
        if round % 2 == 0 {
            fleet.kill_nine(place).await;
            sleep(dice.millis(0, 1_000)).await;
            fleet.start_again(place).await;
        } else {
            fleet.freeze(place);
            // Longer than the lease of three seconds.
            sleep(dice.millis(3_200, 5_000)).await;
            fleet.thaw(place);
        }
        round += 1;
    }
    let sql = database.connect("looker").await;
    until("somebody fires on time again", async || {
        let row = sql
            .query_one(
                "SELECT coalesce(bool_and(next_fire_at > now() - interval '1 second'), false) FROM schedules",
                &[],
            )
            .await
            .unwrap();
        row.get::<_, bool>(0).then_some(())
    })
    .await;
    pause_all(&fleet, schedules).await;
    fleet.faults.assert_at_least(&[(Fault::Killed(Role::Scheduler), least), (Fault::Frozen(Role::Scheduler), least)]);
    assert_each_tick_once(&sql, schedules, i64::try_from(seconds).unwrap() - 1).await;
    until("all jobs are done", async || {
        let row = sql.query_one("SELECT (SELECT count(*) FROM jobs) = (SELECT count(*) FROM outcomes)", &[]).await;
        row.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    database.assert_clean().await;
}

/// Many that are due in the same second: all of them are fired, and whoever watches sees how far behind it is meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn many_that_are_due_at_once_are_all_fired() {
    let _turn = beside().await;
    let many: i64 = 10_000;
    let database = Database::fresh().await;
    let mut fleet = Fleet::start(&database, Plan { api: 1, worker: 0, scheduler: 0 }, Pace::Defaults).await;
    let api = fleet.places(Role::Api)[0];
    let schedule = json!({"name": "first", "cron": "@yearly", "job": {"task": "foreman.noop"}});
    assert_eq!(fleet.processes[api].post("/api/v1/schedules", &schedule.to_string()).await.unwrap().status, 201);
    let sql = database.connect("copier").await;
    // One was judged by the API; the others are like it.
    sql.execute(
        "INSERT INTO schedules SELECT (copy).* FROM (
             SELECT jsonb_populate_record(schedules, jsonb_build_object(
                 'id', gen_random_uuid(), 'name', 'copy-' || number,
                 'spec', replace(spec, '\"first\"', '\"copy-' || number || '\"'))) AS copy
             FROM schedules, generate_series(2, $1::bigint) AS number) AS copies",
        &[&many],
    )
    .await
    .unwrap();
    sql.execute("UPDATE schedules SET next_fire_at = date_trunc('second', now())", &[]).await.unwrap();
    let start = Instant::now();
    fleet.add(Role::Scheduler, &[]).await;
    until("all are fired", async || {
        let row = sql.query_one("SELECT count(*) FROM ticks WHERE state = 'fired'", &[]).await.unwrap();
        (row.get::<_, i64>(0) == many).then_some(())
    })
    .await;
    println!("{many} schedules that were due at once were fired within {:?}", start.elapsed());
    let scheduler = fleet.places(Role::Scheduler)[0];
    let lag = until("it is not behind", async || {
        fleet.processes[scheduler].metric("foreman_scheduler_lag_seconds").await.filter(|lag| *lag < 0.001)
    })
    .await;
    assert!(lag < 0.001);
    assert_eq!(fleet.processes[scheduler].metric("foreman_schedules_fired_total").await, Some(many as f64));
    fleet.assert_alive();
    database.assert_clean().await;
}
