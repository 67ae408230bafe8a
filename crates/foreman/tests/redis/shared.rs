//! What processes share through Redis: rates, and wake-ups.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::{fresh_prefix, shared};
use crate::stage::{Database, Fleet, Load, Mix, Pace, Plan, Role, Target, Watcher, beside, wire};

const NO_POLL: &str = "10m";

#[tokio::test(flavor = "multi_thread")]
async fn api_processes_grant_a_tenants_burst_exactly_once() {
    let _turn = beside().await;
    let (database, redis, prefix) = (Database::fresh().await, shared(), fresh_prefix());
    let mut variables = of_one_book(&redis, &prefix);
    variables.extend([("FOREMAN_LIMITS_TENANT_SUBMIT_PER_SECOND", "1"), ("FOREMAN_LIMITS_TENANT_SUBMIT_BURST", "60")]);
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

#[tokio::test(flavor = "multi_thread")]
async fn api_processes_count_a_tenants_target_hosts_together() {
    let _turn = beside().await;
    let (database, redis, prefix) = (Database::fresh().await, shared(), fresh_prefix());
    let mut variables = of_one_book(&redis, &prefix);
    variables.push(("FOREMAN_LIMITS_TENANT_TARGET_HOSTS_PER_MINUTE", "20"));
    let mut fleet = Fleet::new(&database, Pace::Defaults, &variables);
    fleet.start_plan(Plan { api: 2, worker: 0, scheduler: 0 }, &[]).await;
    let apis: Vec<_> = fleet.of(Role::Api).collect();
    let began = Instant::now();
    let submit = async |api: usize, host: usize| {
        let job = format!(r#"{{"url":"http://host-{host}.example.com/"}}"#);
        apis[api].post("/api/v1/jobs", &job).await.unwrap().status
    };
    let mut answers = Vec::new();
    for host in 0..30 {
        answers.push(submit(host % 2, host).await);
    }
    // Each process knows the hosts that the other has let in.
    for host in 0..20 {
        assert_eq!(submit((host + 1) % 2, host).await, 202, "host {host} is among the twenty");
    }
    assert!(began.elapsed() < Duration::from_mins(1), "the minute is over, and this proves nothing");
    assert_eq!(answers, [vec![202; 20], vec![429; 10]].concat());
    for api in &apis {
        assert!(fallbacks(api, "limits").await < 0.5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn api_processes_count_an_addresss_wrong_keys_together() {
    let _turn = beside().await;
    let (database, redis, prefix) = (Database::fresh().await, shared(), fresh_prefix());
    let mut variables = of_one_book(&redis, &prefix);
    variables.push(("FOREMAN_ADMIN_KEY", "a-key-of-the-administrator-of-this-test"));
    let mut fleet = Fleet::new(&database, Pace::Defaults, &variables);
    fleet.start_plan(Plan { api: 2, worker: 0, scheduler: 0 }, &[]).await;
    let apis: Vec<_> = fleet.of(Role::Api).collect();
    let (began, mut refused, mut slowed) = (Instant::now(), 0, 0);
    for number in 0..30 {
        let answer = wire::get_with_key(&apis[number % 2].address, "/api/v1/jobs", "a-key-that-somebody-guesses").await;
        match answer.unwrap().status {
            401 => refused += 1,
            429 => slowed += 1,
            other => panic!("{other}"),
        }
    }
    // Ten at once, and one every six seconds.
    let most = 10 + began.elapsed().as_secs() / 6 + 1;
    assert!((10..=most).contains(&refused), "{refused} guesses were answered, and at most {most} may be");
    assert_eq!(refused + slowed, 30);
    for api in &apis {
        assert!(fallbacks(api, "limits").await < 0.5);
    }
}

/// Two processes that find Redis, however busy the machine is.
fn of_one_book<'a>(redis: &'a str, prefix: &'a str) -> Vec<(&'a str, &'a str)> {
    // A busy machine is no reason for a test to see two books.
    vec![("REDIS_URL", redis), ("FOREMAN_REDIS_PREFIX", prefix), ("FOREMAN_REDIS_CALL_TIMEOUT", "5s")]
}

/// Nobody polls, and the database is not told: what moves at one process is heard by the others through Redis alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_at_one_process_wakes_the_others_through_redis() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let (redis, prefix) = (shared(), fresh_prefix());
    let mut variables = of_one_book(&redis, &prefix);
    variables.extend([("FOREMAN_STREAM_POLL", NO_POLL), ("FOREMAN_WORKER_POLL", NO_POLL)]);
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
    let series = format!("foreman_redis_fallbacks_total{{use=\"{what}\"}}");
    process.series(&series).await.expect("it is counted from the start")
}
