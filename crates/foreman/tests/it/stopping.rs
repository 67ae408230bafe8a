//! Stopping is bounded, and loses nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use foreman_client::{FilterDocument, State};
use foreman_runtime::Tasks;
use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

use crate::stage::{Server, Stage, Target, call, command, state, until};

async fn all(server: &Server) -> Vec<foreman_client::JobDocument> {
    let mut pages = server.client.pages(FilterDocument::default());
    let mut jobs = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        jobs.extend(page);
    }
    jobs
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_stops_long_before_its_grace() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let stage = Stage::new();
        // Whoever runs the tests may ignore some of these (nohup), and a child inherits that.
        let line = "exec env --default-signal=TERM,INT,HUP \"$0\" \"$@\"";
        let mut server = stage.start_by(line, &["--grace", "50s"]).await;
        let start = Instant::now();
        server.signal(signal);
        assert_eq!(server.ended().await, Some(0), "everything drained");
        assert!(start.elapsed() < Duration::from_secs(25), "{signal}: {:?}", start.elapsed());
        assert!(!server.log().contains("still running at exit"), "{}", server.log());
        stage.assert_clean().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_closes_is_ignored_under_nohup() {
    let stage = Stage::new();
    let mut server = stage.start_by("trap '' HUP; exec \"$0\" \"$@\"", &[]).await;
    server.signal(Signal::SIGHUP);
    let said = server.foreman(&["submit", "--task", "foreman.noop", "--wait"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!server.log().contains("stopping"), "{}", server.log());
    assert_eq!(server.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_jobs_in_flight_finish_within_the_grace() {
    let (stage, target) = (Stage::new(), Target::holding().await);
    let mut server = stage.start(&["--slots", "200", "--grace", "50s"]).await;
    let jobs = (0..300).map(|_| call(&target.url)).collect();
    server.client.submit_batch(jobs).await.unwrap();
    until("200 are in flight", async || (target.count() >= 200).then_some(())).await;
    server.signal(Signal::SIGTERM);
    until("it is stopping", async || server.log().contains("stopping").then_some(())).await;
    target.open();
    assert_eq!(server.ended().await, Some(0), "everything drained: {}", server.log());
    target.assert_one_call_per_attempt();
    stage.assert_clean().await;

    let server = stage.start(&[]).await;
    until("all are completed", async || {
        all(&server).await.iter().all(|job| job.state == State::Completed).then_some(())
    })
    .await;
    let jobs = all(&server).await;
    assert_eq!(jobs.len(), 300);
    assert!(jobs.iter().all(|job| job.spent == 1 && job.crashes == 0), "each was tried once");
    assert_eq!(target.count(), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grace_shorter_than_the_time_for_balancers_still_hands_back() {
    let (stage, target) = (Stage::new(), Target::holding().await);
    let mut server = stage.start(&["--grace", "4s", "--set", "shutdown.not_ready=1m"]).await;
    server.client.submit(&call(&target.url)).await.unwrap();
    until("it is in flight", async || (target.count() >= 1).then_some(())).await;
    assert_eq!(server.stop().await, Some(3), "work was handed back: {}", server.log());
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_jobs_that_do_not_finish_are_handed_back_within_the_grace() {
    let (stage, target) = (Stage::new(), Target::holding().await);
    let mut server = stage.start(&["--slots", "200", "--grace", "4s"]).await;
    let jobs = (0..250).map(|_| call(&target.url)).collect();
    server.client.submit_batch(jobs).await.unwrap();
    until("200 are in flight", async || (target.count() >= 200).then_some(())).await;
    let start = Instant::now();
    assert_eq!(server.stop().await, Some(3), "work was handed back: {}", server.log());
    assert!(start.elapsed() < Duration::from_secs(6), "the grace and a second: {:?}", start.elapsed());
    stage.assert_clean().await;

    target.open();
    let server = stage.start(&["--slots", "200"]).await;
    until("all are completed", async || {
        all(&server).await.iter().all(|job| job.state == State::Completed).then_some(())
    })
    .await;
    let jobs = all(&server).await;
    assert_eq!(jobs.len(), 250);
    assert!(jobs.iter().all(|job| job.spent == 1 && job.crashes == 0), "an interrupted attempt is not spent");
    assert_eq!(jobs.iter().filter(|job| job.attempt == 2).count(), 200, "and its number is not used again");
    target.assert_one_call_per_attempt();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_means_now() {
    let (stage, target) = (Stage::new(), Target::holding().await);
    let mut server = stage.start(&["--grace", "55s", "--allow-commands"]).await;
    let called = server.client.submit(&call(&target.url)).await.unwrap();
    let left = stage.path().join("left");
    let commanded = server.client.submit(&command(&format!("sleep 40; touch {}", left.display()))).await.unwrap();
    state(&server.client, &called.id, State::Running).await;
    state(&server.client, &commanded.id, State::Running).await;
    let start = Instant::now();
    server.signal(Signal::SIGTERM);
    until("it is stopping", async || server.log().contains("stopping").then_some(())).await;
    server.signal(Signal::SIGTERM);
    assert_eq!(server.ended().await, Some(3), "{}", server.log());
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    stage.assert_clean().await;
    let server = stage.start(&["--queues", "other"]).await;
    for id in [&called.id, &commanded.id] {
        let job = server.client.get(id).await.unwrap();
        assert_eq!((job.state, job.spent, job.crashes), (State::Pending, 0, 0), "handed back and refunded");
    }
    assert!(!left.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_will_not_stop_is_killed_before_the_deadline() {
    let stage = Stage::new();
    let mut server = stage.start(&["--grace", "3s", "--allow-commands"]).await;
    let job = server.client.submit(&command("trap '' TERM; while true; do sleep 0.1; done")).await.unwrap();
    state(&server.client, &job.id, State::Running).await;
    let start = Instant::now();
    assert_eq!(server.stop().await, Some(3), "{}", server.log());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let server = stage.start(&["--queues", "other"]).await;
    let job = server.client.get(&job.id).await.unwrap();
    assert_eq!((job.state, job.spent, job.crashes), (State::Pending, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_signal_leaves_at_once_and_leaves_no_command_behind() {
    let stage = Stage::new();
    let mut server = stage.start(&["--grace", "55s", "--allow-commands"]).await;
    let note = stage.path().join("pid");
    let stubborn =
        format!("trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; while true; do sleep 0.1; done", note.display());
    server.client.submit(&command(&stubborn)).await.unwrap();
    let pid = until("the command runs", async || std::fs::read_to_string(&note).ok()).await;
    server.signal(Signal::SIGTERM);
    until("it is stopping", async || server.log().contains("stopping").then_some(())).await;
    server.signal(Signal::SIGTERM);
    until("it hands back", async || server.log().contains("a second signal").then_some(())).await;
    server.signal(Signal::SIGTERM);
    assert_eq!(server.ended().await, Some(4), "{}", server.log());
    assert!(server.log().contains("received a third signal: exiting now"), "{}", server.log());
    until("the command is gone", async || is_gone(pid.trim()).then_some(())).await;
}

/// Ended, whether or not its new parent has noticed.
fn is_gone(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .map_or(true, |stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_deadline_the_process_leaves_even_if_the_store_is_wedged() {
    let (stage, target) = (Stage::new(), Target::holding().await);
    let mut server = stage.start(&["--grace", "2s", "--set", "sqlite.busy_timeout=1m"]).await;
    let job = server.client.submit(&call(&target.url)).await.unwrap();
    state(&server.client, &job.id, State::Running).await;
    // Somebody else holds the file and does not let go.
    let other = rusqlite::Connection::open(stage.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    assert_eq!(server.stop().await, Some(4), "it says that it left: {}", server.log());
    assert!(server.log().contains("a task hangs: exiting now"), "{}", server.log());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    drop(other);
    target.open();
    let server = stage.start(&[]).await;
    state(&server.client, &job.id, State::Completed).await;
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_that_race_the_stop_are_refused_or_kept() {
    let (stage, target) = (Stage::new(), Target::willing().await);
    let mut server = stage.start(&[]).await;
    let tasks = Tasks::new();
    let submitters: Vec<_> = (0..16)
        .map(|_| {
            let (client, url) = (server.client.clone(), target.url.clone());
            tasks.spawn("submitter", async move {
                let mut accepted = Vec::new();
                // Until the door is closed: every answer before that was a yes.
                while let Ok(job) = client.submit(&call(&url)).await {
                    accepted.push(job.id);
                }
                accepted
            })
        })
        .collect();
    until("the work has begun", async || (target.count() > 50).then_some(())).await;
    assert_eq!(server.stop().await, Some(0), "{}", server.log());
    let mut accepted = BTreeSet::new();
    for submitter in submitters {
        accepted.extend(submitter.await.unwrap());
    }
    assert!(accepted.len() > 50);
    stage.assert_clean().await;

    let server = stage.start(&[]).await;
    until("all are completed", async || {
        all(&server).await.iter().all(|job| job.state == State::Completed).then_some(())
    })
    .await;
    let kept: BTreeSet<String> = all(&server).await.into_iter().map(|job| job.id).collect();
    let missing: Vec<_> = accepted.difference(&kept).collect();
    assert!(missing.is_empty(), "accepted and not there: {missing:?}");
    target.assert_one_call_per_attempt();
}

#[tokio::test(flavor = "multi_thread")]
async fn balancers_are_told_before_intake_closes() {
    let stage = Stage::new();
    let mut server = stage.start(&["--set", "shutdown.not_ready=3s"]).await;
    assert_eq!(server.get("/readyz").await.0, 200);
    server.signal(Signal::SIGTERM);
    until("it is not ready", async || (server.get("/readyz").await.0 == 503).then_some(())).await;
    assert_eq!(server.get("/healthz").await.0, 200, "it lives");
    let job = server.client.submit(&call("http://127.0.0.1:9/")).await.expect("what still comes is accepted");
    assert_eq!(server.ended().await, Some(0));
    let server = stage.start(&["--queues", "other"]).await;
    server.client.get(&job.id).await.expect("and kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_job_is_answered_when_the_server_stops() {
    let (stage, target) = (Stage::new(), Target::holding().await);
    let mut server = stage.start(&["--grace", "50s"]).await;
    let job = server.client.submit(&call(&target.url)).await.unwrap();
    state(&server.client, &job.id, State::Running).await;
    let path = format!("/api/v1/jobs/{}/wait?timeout=5m", job.id);
    let stopping = async {
        // The request should be waiting when the signal comes; one that comes earlier is answered all the same.
        sleep(Duration::from_millis(300)).await;
        server.signal(Signal::SIGTERM);
    };
    let ((status, body), ()) = tokio::join!(server.get(&path), stopping);
    assert_eq!(status, 200);
    assert!(body.contains("\"state\":\"running\""), "as it is: {body}");
    target.open();
    assert_eq!(server.ended().await, Some(0));
}
