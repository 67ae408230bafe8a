//! What processes share through Redis: rates, and wake-ups.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::{fresh_prefix, shared};
use crate::stage::{Database, Fleet, Load, Mix, Pace, Plan, Role, Target, Watcher, beside};

const NO_POLL: &str = "10m";

#[tokio::test(flavor = "multi_thread")]
async fn api_processes_grant_a_tenants_burst_exactly_once() {
    let _turn = beside().await;
    let (database, redis, prefix) = (Database::fresh().await, shared(), fresh_prefix());
    let variables = [
        ("REDIS_URL", redis.as_str()),
        ("FOREMAN_REDIS_PREFIX", &prefix),
        // A busy machine is no reason for this test to see two books.
        ("FOREMAN_REDIS_CALL_TIMEOUT", "5s"),
        ("FOREMAN_LIMITS_TENANT_SUBMIT_PER_SECOND", "1"),
        ("FOREMAN_LIMITS_TENANT_SUBMIT_BURST", "60"),
    ];
    let mut fleet = Fleet::new(&database, Pace::Defaults, &variables);
    fleet.start_plan(Plan { api: 2, worker: 0, scheduler: 0 }, &[]).await;
    let apis: Vec<_> = fleet.of(Role::Api).collect();
    for api in &apis {
        assert!(api.metric("foreman_redis_up").await.is_some_and(|up| up > 0.5), "{}", api.log());
    }
    let (began, mut accepted, mut refused) = (Instant::now(), 0_u64, 0);
    for number in 0..140 {
        let answer = apis[number % 2].post("/api/v1/jobs", r#"{"task":"mail.send"}"#).await.unwrap();
        let remaining: u64 = answer.headers["ratelimit-remaining"].parse().unwrap();
        assert_eq!(answer.headers["ratelimit-limit"], "60");
        match answer.status {
            202 => {
                accepted += 1;
                let back = began.elapsed().as_secs() + 1;
                // More than the burst were accepted where the machine took seconds for it.
                let left = 60_u64.saturating_sub(accepted);
                assert!((left..=left + back).contains(&remaining), "{remaining} after {accepted}: one book for both");
            }
            429 => {
                refused += 1;
                assert_eq!((remaining, answer.headers["retry-after"].as_str()), (0, "1"));
            }
            other => panic!("{other}: {}", answer.body),
        }
        if accepted >= 60 && refused >= 10 {
            break;
        }
    }
    let come = began.elapsed().as_secs() + 1;
    assert!(
        accepted >= 60 && accepted <= 60 + come,
        "{accepted} accepted in {come} s of a burst of 60 and one a second"
    );
    assert!(refused > 0);
    for api in &apis {
        assert!(fallbacks(api, "limits").await < 0.5);
    }
}

/// Nobody polls, and the database is not told: what moves at one process is heard by the others through Redis alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_at_one_process_wakes_the_others_through_redis() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let (redis, prefix) = (shared(), fresh_prefix());
    let variables = [
        ("REDIS_URL", redis.as_str()),
        ("FOREMAN_REDIS_PREFIX", &prefix),
        ("FOREMAN_REDIS_CALL_TIMEOUT", "5s"),
        ("FOREMAN_STREAM_POLL", NO_POLL),
        ("FOREMAN_WORKER_POLL", NO_POLL),
    ];
    let mut fleet = Fleet::new(&database, Pace::Defaults, &variables);
    fleet.start_plan(Plan { api: 2, worker: 1, scheduler: 0 }, &[]).await;
    let addresses = fleet.addresses();
    let watcher = Watcher::start(&addresses[1..]).await;
    let load = Load::start(&addresses[..1], &target, 2, Duration::from_millis(50), Mix::Willing);
    load.goes_on(30).await;
    let tally = load.stop().await;
    let client = fleet.client();
    let mut jobs = std::collections::BTreeMap::new();
    for id in tally.accepted.values() {
        let job = crate::stage::state(&client, id, foreman_client::State::Completed).await;
        jobs.insert(id.clone(), job);
    }
    watcher.assert_saw(&jobs).await;
    // A long poll at one, of a job that the other accepts.
    let began = Instant::now();
    let second = foreman_client::Client::new(&format!("http://{}", addresses[1]), None).unwrap();
    let job = client.submit(&crate::stage::call(&target.url(crate::stage::Answer::Slow(500)))).await.unwrap();
    let ended = second.wait(&job.id, Some(Duration::from_mins(1))).await.unwrap();
    assert_eq!(ended.state, foreman_client::State::Completed);
    println!("a long poll at the other process was answered after {:?}", began.elapsed());
    for process in &fleet.processes {
        assert!(fallbacks(process, "wakeups").await < 0.5, "the database was told nothing");
    }
}

/// How often a process did without Redis.
pub async fn fallbacks(process: &crate::stage::Process, what: &str) -> f64 {
    let said = process.get("/metrics").await.unwrap().body;
    let name = format!("foreman_redis_fallbacks_total{{use=\"{what}\"}} ");
    said.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).expect("it is counted from the start")
}
