//! `foreman watch`, and waiting by the stream.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use foreman_client::{Client, Event, Follow, JobSpec, State, StreamItem};
use foreman_runtime::Tasks;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use crate::stage::{LONG, Server, Stage, torture, until};

fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// A server on this port, again and again.
async fn start_at(stage: &Stage, address: &str) -> Server {
    let mut command = stage.command();
    command.args(["dev", "--listen", address, "--data-dir"]).arg(stage.data());
    stage.start_command(command).await
}

fn echo(server: &Server) -> JobSpec {
    JobSpec { url: Some(format!("{}/dev/echo", server.url)), ..JobSpec::default() }
}

/// A `foreman watch` that runs.
struct Watch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn start(server: &Server, words: &[&str]) -> Self {
        let mut command = server.command(&[&["watch"], words].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads on until a line is the one.
    async fn until_line(&mut self, what: &str, mut is_it: impl FnMut(&str) -> bool) -> Vec<String> {
        let mut read = Vec::new();
        let reading = async {
            loop {
                let line = self.lines.next_line().await.unwrap().expect("it goes on");
                read.push(line);
                if is_it(read.last().expect("just read")) {
                    return;
                }
            }
        };
        let in_time = timeout(LONG, reading).await;
        assert!(in_time.is_ok(), "waited in vain until {what}: {read:?}");
        read
    }

    /// As Ctrl-C leaves it: the exit code, and what it said.
    async fn leave(mut self) -> (Option<i32>, String) {
        kill(Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()), Signal::SIGINT).unwrap();
        let code = timeout(LONG, self.child.wait()).await.expect("it ends").unwrap().code();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        (code, said)
    }
}

/// Jobs are submitted until the watcher tells of one: from then on it is known to watch.
async fn is_watching(watch: &mut Watch, server: &Server) {
    let tasks = Tasks::new();
    let (client, spec) = (server.client.clone(), echo(server));
    let calling = tasks.spawn("caller", async move {
        loop {
            client.submit(&spec).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    watch.until_line("it tells of a job", |line| line.contains("job")).await;
    calling.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_outlives_a_server_that_is_killed_and_misses_nothing() {
    let (stage, address) = (Stage::new(), free());
    let mut server = start_at(&stage, &address).await;
    let mut watch = Watch::start(&server, &["--json"]);
    is_watching(&mut watch, &server).await;
    let job = server.client.submit(&echo(&server)).await.unwrap();
    let is_end_of = |id: String| {
        move |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["event"] == "job" && line["data"]["id"] == *id && line["data"]["state"] == "completed"
        }
    };
    watch.until_line("the first is completed", is_end_of(job.id)).await;

    server.client.pause("held").await.unwrap();
    let held = JobSpec { queue: Some("held".into()), ..echo(&server) };
    let held = server.client.submit(&held).await.unwrap();
    server.kill_nine().await;
    let server = start_at(&stage, &address).await;
    server.client.resume("held").await.unwrap();
    let lines = watch.until_line("the one across the restart is completed", is_end_of(held.id.clone())).await;
    let states: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["data"]["id"] == *held.id)
        .map(|line| line["data"]["state"].clone())
        .collect();
    assert_eq!(states, ["pending", "running", "completed"], "once each: {lines:#?}");
    assert!(lines.iter().any(|line| line.contains("\"event\":\"queue\"")), "{lines:#?}");

    let (code, said) = watch.leave().await;
    assert_eq!(code, Some(0), "{said}");
    for part in ["the stream was interrupted", "the stream is back", "--after "] {
        assert!(said.contains(part), "{part}: {said}");
    }

    // And on from there, in the words of a person.
    let cursor = said.rsplit("--after ").next().unwrap().split_whitespace().next().unwrap().to_owned();
    let late = server.client.submit(&echo(&server)).await.unwrap();
    let mut watch = Watch::start(&server, &["--after", &cursor]);
    let lines =
        watch.until_line("it goes on from there", |line| line.contains(&late.id) && line.contains("completed")).await;
    assert!(lines.iter().all(|line| !line.contains(&held.id)), "what was told is not told again: {lines:#?}");
    let last = lines.last().unwrap();
    assert!(last.contains("  job       ") && last.ends_with("default  attempt 1"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_a_file_that_is_killed_again_and_again_tells_every_end_to_whoever_resumes() {
    let (stage, address) = (Stage::new(), free());
    let mut server = start_at(&stage, &address).await;
    let mut stream = server.client.stream(Follow::everything()).await.unwrap();
    stream.next_event().await.unwrap();
    let mut accepted = Vec::new();
    for round in 0..if torture() { 20 } else { 3 } {
        for number in 0..40 {
            let key = Some(format!("{round}-{number}"));
            let spec = JobSpec { idempotency_key: key, ..echo(&server) };
            accepted.push(server.client.submit(&spec).await.unwrap().id);
        }
        server.kill_nine().await;
        server = start_at(&stage, &address).await;
    }
    let mut last: BTreeMap<String, (u32, State)> = BTreeMap::new();
    let mut breaks = 0;
    let everything = async {
        while accepted.iter().any(|id| last.get(id).is_none_or(|(_, state)| !state.is_final())) {
            match stream.next().await.unwrap() {
                StreamItem::Event(told) => match told.event {
                    Event::Job(job) => {
                        let before = last.insert(job.id.clone(), (job.sequence, job.state));
                        assert!(before.is_none_or(|(sequence, _)| sequence < job.sequence), "{before:?} {job:?}");
                    }
                    Event::Reset(reset) => panic!("{reset:?}"),
                    _ => {}
                },
                StreamItem::Broken { .. } => breaks += 1,
                StreamItem::Resumed => {}
            }
        }
    };
    timeout(LONG, everything).await.expect("every end is told");
    assert!(breaks > 0, "nothing was done to this stream");
    assert_eq!(last.values().filter(|(_, state)| *state == State::Completed).count(), accepted.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_until_final_ends_as_the_jobs_do() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let good = server.client.submit(&echo(&server)).await.unwrap().id;
    let bad = JobSpec { url: Some(format!("{}/dev/status/404", server.url)), ..JobSpec::default() };
    let bad = server.client.submit(&bad).await.unwrap().id;

    let said = server.foreman(&["watch", &good, "--until-final", "--timeout", "1m"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains(&good) && said.out.contains("completed"), "{said:?}");
    let said = server.foreman(&["watch", &good, &bad, "--until-final", "--timeout", "1m"]).await;
    assert_eq!((said.code, said.err.as_str()), (1, "1 completed, 1 failed\n"), "{said:?}");

    let later = JobSpec { delay: Some("1h".parse().unwrap()), ..echo(&server) };
    let later = server.client.submit(&later).await.unwrap().id;
    let said = server.foreman(&["watch", &later, "--until-final", "--timeout", "300ms"]).await;
    assert_eq!(said.code, 4, "{said:?}");
    server.client.cancel(&later).await.unwrap();
    let said = server.foreman(&["watch", &later, "--until-final"]).await;
    assert_eq!(said.code, 3, "{said:?}");

    let said = server.foreman(&["watch", "01a1df86-ff03-77a2-90f0-f36e48b30797", "--until-final"]).await;
    assert_eq!(said.code, 1, "there is no such job: {said:?}");
    let said = server.foreman(&["watch", "not-an-id"]).await;
    assert_eq!(said.code, 2, "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_jobs_are_waited_for_and_the_worst_is_the_exit_code() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let slow = JobSpec { url: Some(format!("{}/dev/wait/300ms", server.url)), ..JobSpec::default() };
    let bad = JobSpec { url: Some(format!("{}/dev/status/404", server.url)), ..JobSpec::default() };
    let slow = server.client.submit(&slow).await.unwrap().id;
    let bad = server.client.submit(&bad).await.unwrap().id;
    let said = server.foreman(&["jobs", "wait", &slow, &bad]).await;
    assert_eq!(said.code, 1, "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].contains(&slow) && lines[0].contains("completed"), "in the order they were named: {said:?}");
    assert!(lines[1].contains(&bad) && lines[1].contains("failed"), "{said:?}");
    let said = server.foreman(&["jobs", "wait", &slow, &bad, "-o", "json"]).await;
    let listed: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn submit_and_wait_goes_through_a_restart() {
    let (stage, address) = (Stage::new(), free());
    let mut server = start_at(&stage, &address).await;
    server.client.pause("held").await.unwrap();
    let url = format!("{}/dev/echo", server.url);
    let mut command = server.command(&["submit", "--url", &url, "--queue", "held", "--wait"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is accepted", async || {
        let held = server.client.queues().await.unwrap().items;
        held.iter().any(|queue| queue.name == "held" && queue.pending == 1).then_some(())
    })
    .await;
    server.kill_nine().await;
    let server = start_at(&stage, &address).await;
    Client::new(&server.url, None).unwrap().resume("held").await.unwrap();
    let output = timeout(LONG, child.wait_with_output()).await.expect("it ends").unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("completed after"), "{said}");
}
