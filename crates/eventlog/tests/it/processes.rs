//! Processes that are killed and frozen at random: consumers move, and nothing is missed or done twice.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use foreman_eventlog::Stream;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::given::{Given, is_torture, setting};

/// An example. Cargo builds it with the tests, but not when it is asked for one test program only.
pub fn example(name: &str) -> PathBuf {
    static BUILD: Mutex<()> = Mutex::new(());
    let own = std::env::current_exe().unwrap();
    let path = own.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    let _one_at_a_time = BUILD.lock().unwrap();
    if !path.exists() {
        let mut build = std::process::Command::new(env!("CARGO"));
        let status = build.args(["build", "--package", "foreman-eventlog", "--examples", "--locked"]).status().unwrap();
        assert!(status.success() && path.exists(), "{} could not be built", path.display());
    }
    path
}

fn start(given: &Given) -> Child {
    let path = example("counting_worker");
    let mut command = Command::new(&path);
    command.arg(&given.url).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    command.spawn().unwrap_or_else(|error| panic!("{}: {error}; cargo builds it with the tests", path.display()))
}

async fn signal(child: &Child, name: &str) {
    let id = child.id().expect("it runs").to_string();
    assert!(Command::new("kill").args([name, &id]).status().await.unwrap().success());
}

#[tokio::test]
async fn workers_that_are_killed_and_frozen_at_random_miss_and_repeat_nothing() {
    let given = Given::new().await;
    let seed = setting("FOREMAN_TEST_SEED").and_then(|text| text.parse().ok()).unwrap_or_else(rand::random);
    println!("seed {seed}");
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut workers: Vec<Child> = (0..3).map(|_| start(&given)).collect();
    let until = Instant::now() + Duration::from_secs(if is_torture() { 120 } else { 10 });
    let mut appended = 0;
    while Instant::now() < until {
        for _ in 0..5 {
            given.append(&Stream::new("order", rng.random_range(0..20_u32).to_string()), 10).await;
            appended += 10;
        }
        sleep(Duration::from_millis(rng.random_range(0..400))).await;
        let nth = rng.random_range(0..workers.len());
        if rng.random_bool(0.5) {
            workers[nth].kill().await.unwrap();
            workers[nth] = start(&given);
        } else {
            // Longer than its silence is tolerated: when it goes on, its consumers are with others.
            signal(&workers[nth], "-STOP").await;
            sleep(Duration::from_millis(rng.random_range(2_000..3_000))).await;
            signal(&workers[nth], "-CONT").await;
        }
    }
    for nth in 0..6 {
        let consumer = format!("consumer{nth}");
        given.seen_by(&consumer, appended).await;
        given.assert_seen_exactly_once(&consumer).await;
    }
    let hands = given.number("SELECT sum(epoch)::bigint FROM consumer_assignments").await;
    assert!(hands > 6, "consumers changed hands: {hands}");
}
