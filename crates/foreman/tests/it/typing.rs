//! What the README and the issue tell people to type.

use foreman_client::{Client, State};
use serde_json::Value;

use crate::stage::{Server, Stage, call, command, state, until};

/// Posts a body as it is.
async fn post(server: &Server, body: &str) -> Value {
    let spec: foreman_client::JobSpec = serde_json::from_str(body).unwrap();
    serde_json::to_value(server.client.submit(&spec).await.unwrap()).unwrap()
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_job_that_the_greeting_suggests_completes() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let suggested = server.greeting.lines().find(|line| line.contains("curl")).unwrap();
    assert!(suggested.contains(&format!("{}/api/v1/jobs", server.url)), "{suggested}");
    let body = suggested.split('\'').nth(1).unwrap();
    assert_eq!(body, format!(r#"{{"url":"{}/dev/echo","payload":{{"n":1}}}}"#, server.url));
    let job = post(&server, body).await;
    let job = state(&server.client, job["id"].as_str().unwrap(), State::Completed).await;
    let attempts = job.attempts.unwrap();
    let answer = document(&attempts[0].response.as_ref().unwrap().body);
    assert_eq!(answer["body"], r#"{"n":1}"#, "the body is exactly the payload");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_run_and_its_output_is_printed() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let said = server.foreman(&["submit", "--command", "echo hello; echo oh >&2", "--wait"]).await;
    assert_eq!((said.code, said.out.as_str()), (0, "hello\n"), "{said:?}");
    assert!(said.err.contains("oh\n") && said.err.contains("completed after 1 attempt"), "{said:?}");

    let said = server.foreman(&["submit", "--wait", "--", "printf", "%s|", "a b", "$HOME", "--wait"]).await;
    assert_eq!(said.out, "a b|$HOME|--wait|", "argv goes through no shell");

    let said = server.foreman_reading(&["submit", "--command", "cat", "--body", "-", "--wait"], "from stdin").await;
    assert_eq!(said.out, "from stdin");
    std::fs::write(stage.path().join("payload.json"), "{\"n\": 1.0}").unwrap();
    let said = server.foreman(&["submit", "--command", "cat", "--payload", "@payload.json", "--wait"]).await;
    assert_eq!(said.out, "{\"n\": 1.0}", "to the letter");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_refused_unless_the_server_allows_them() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let said = server.foreman(&["submit", "--command", "echo hello"]).await;
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--allow-commands"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_job_is_listed_shown_and_run_again() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let flag = stage.path().join("flag");
    let line = format!("test -e {}", flag.display());
    let said = server.foreman(&["submit", "--command", &line, "--max-attempts", "1", "--wait"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("is dead after 1 attempt: exited with code 1"), "{said:?}");

    let said = server.foreman(&["jobs", "list", "--state", "dead", "--output", "json"]).await;
    let listed = document(&said.out);
    assert_eq!((listed["items"].as_array().unwrap().len(), &listed["next"]), (1, &Value::Null));
    let id = listed["items"][0]["id"].as_str().unwrap();
    let table = server.foreman(&["jobs", "list", "--state", "dead"]).await;
    assert!(table.out.starts_with("ID") && table.out.contains(id) && !table.out.contains('\u{1b}'), "{table:?}");

    let shown = server.foreman(&["jobs", "show", id]).await;
    assert!(shown.out.contains("exited with code 1") && shown.out.contains("dead"), "{shown:?}");

    std::fs::write(&flag, "").unwrap();
    assert_eq!(server.foreman(&["jobs", "retry", id]).await.code, 0);
    let said = server.foreman(&["jobs", "wait", id, "--output", "json"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let job = document(&said.out);
    assert_eq!((&job["state"], &job["spent"], &job["attempt"]), (&"completed".into(), &1.into(), &2.into()));
    assert_eq!(job["attempts"].as_array().unwrap().len(), 2, "earlier attempts are kept and shown");

    assert_eq!(server.foreman(&["jobs", "delete", id]).await.code, 0);
    assert_eq!(server.foreman(&["jobs", "show", id]).await.code, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_command_can_be_watched_and_cancelled() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let left = stage.path().join("left");
    let line = format!("echo begun; sleep 30; touch {}", left.display());
    let id = server.client.submit(&command(&line)).await.unwrap().id;
    state(&server.client, &id, State::Running).await;
    until("its first line is there", async || {
        let said = server.foreman(&["jobs", "output", &id]).await;
        (said.code == 0 && said.out == "begun\n").then_some(())
    })
    .await;
    assert_eq!(server.foreman(&["jobs", "cancel", &id]).await.code, 0);
    assert_eq!(server.client.get(&id).await.unwrap().state, State::Cancelled);
    let again = server.foreman(&["jobs", "cancel", &id]).await;
    assert_eq!(again.code, 1);
    assert!(again.err.contains("already cancelled"), "{again:?}");
    until("its worker let go of it", async || {
        let workers = server.client.workers().await.unwrap();
        (workers.items[0].running == 0).then_some(())
    })
    .await;
    assert!(!left.exists(), "the work was stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_a_command_is_followed_to_its_end() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let line = "for n in 1 2 3; do echo out $n; echo err $n >&2; sleep 0.3; done; printf 'without end'";
    let id = server.client.submit(&command(line)).await.unwrap().id;
    state(&server.client, &id, State::Running).await;
    let said = server.foreman(&["jobs", "output", "--follow", &id]).await;
    assert_eq!((said.code, said.out.as_str()), (0, "out 1\nout 2\nout 3\nwithout end\n"), "{said:?}");
    assert!(said.err.starts_with("err 1\nerr 2\nerr 3\n"), "{said:?}");
    let record = server.foreman(&["jobs", "output", &id]).await;
    assert_eq!(record.out, "out 1\nout 2\nout 3\nwithout end", "the record, to the letter");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_jobs_are_steered_at_once_after_a_question() {
    let stage = Stage::new();
    let server = stage.start(&["--queues", "other"]).await;
    let specs = (0..25).map(|n| foreman_client::JobSpec {
        queue: Some(if n < 20 { "mail" } else { "rest" }.into()),
        tags: Some(vec!["bulk".into()]),
        ..call("http://127.0.0.1:9/")
    });
    assert_eq!(server.client.submit_batch(specs.collect()).await.unwrap().len(), 25);

    let said = server.foreman(&["jobs", "cancel", "--queue", "mail", "--dry-run", "-o", "json"]).await;
    assert_eq!(document(&said.out), serde_json::json!({"matched": 20, "changed": 0, "skipped": 0}));
    let said = server.foreman(&["jobs", "cancel", "--queue", "mail"]).await;
    assert_eq!(said.code, 2, "nobody can be asked: {said:?}");
    assert!(said.err.contains("20 jobs") && said.err.contains("--yes"), "{said:?}");
    let said = server.foreman(&["jobs", "cancel", "--queue", "mail", "--yes"]).await;
    assert_eq!((said.code, said.out.as_str()), (0, "20 jobs cancelled\n"), "{said:?}");
    assert_eq!(server.foreman(&["jobs", "retry", "--all", "--yes"]).await.code, 2, "of which state?");
    assert_eq!(server.foreman(&["jobs", "cancel"]).await.code, 2, "which jobs?");

    let said = server.foreman(&["jobs", "list", "--tag", "bulk", "--limit", "3"]).await;
    assert_eq!(said.out.lines().count(), 4);
    assert!(said.err.contains("--all"), "{said:?}");
    let said = server.foreman(&["jobs", "list", "--tag", "bulk", "--all", "-o", "json"]).await;
    assert_eq!(document(&said.out)["items"].as_array().unwrap().len(), 25);

    let said = server.foreman(&["jobs", "delete", "--state", "cancelled", "--yes"]).await;
    assert_eq!(said.out, "20 jobs deleted\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_paused_and_resumed_and_watched_to_its_end() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    assert_eq!(server.foreman(&["queues", "pause", "mail"]).await.code, 0);
    let echo = format!("{}/dev/echo", server.url);
    let id = server.foreman(&["submit", "--url", &echo, "--queue", "mail"]).await.out.trim().to_owned();
    let queues = server.foreman(&["queues", "list"]).await;
    assert!(queues.out.contains("mail") && queues.out.contains("paused"), "{queues:?}");
    let waited = server.foreman(&["jobs", "wait", &id, "--timeout", "200ms"]).await;
    assert_eq!(waited.code, 4, "it does not start: {waited:?}");
    assert_eq!(server.foreman(&["queues", "resume", "mail"]).await.code, 0);
    let said = server.foreman(&["watch", "--queue", "mail", "--until-final", "--timeout", "30s"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.ends_with("completed\n") || said.err.ends_with("no unfinished jobs\n"), "{said:?}");
    let workers = document(&server.foreman(&["workers", "-o", "json"]).await.out);
    assert_eq!((&workers["items"][0]["state"], &workers["items"][0]["slots"]), (&"live".into(), &32.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_reads_the_output_may_stop_reading() {
    let stage = Stage::new();
    let mut command = stage.command();
    command.args(["openapi"]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_server_works_without_one() {
    let stage = Stage::new();
    let openapi = document(&stage.foreman(&["openapi"]).await.out);
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    assert!(stage.foreman(&["completions", "bash"]).await.out.contains("_foreman"));
    assert_eq!(stage.foreman(&["version"]).await.out, format!("foreman {}\n", env!("CARGO_PKG_VERSION")));
    let help = stage.foreman(&["--help"]).await;
    assert!(help.code == 0 && help.out.contains("Exit codes:"), "{help:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_none_is_told_before_anything_is_sent() {
    assert!(Client::new("127.0.0.1:8080", None).is_err());
    let stage = Stage::new();
    let said = stage.foreman(&["--api-url", "127.0.0.1:8080", "workers"]).await;
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("http://127.0.0.1:8080"), "{said:?}");
}
