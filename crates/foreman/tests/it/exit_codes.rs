//! Exit codes that scripts can use, each of them seen.

use std::net::TcpListener;

use foreman_client::{FilterDocument, State};

use crate::stage::{Stage, state, until};

#[tokio::test(flavor = "multi_thread")]
async fn submit_and_wait_says_how_the_job_ended() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let missing = format!("{}/dev/status/404", server.url);
    for (words, code) in [
        (vec!["--command", "exit 0"], 0),
        (vec!["--command", "exit 127"], 1),
        (vec!["--url", &missing], 1),
        (vec!["--command", "exit 3", "--max-attempts", "1"], 1),
        (vec!["--task", "foreman.noop"], 0),
        (vec!["--command", "sleep 30", "--wait-timeout", "100ms"], 4),
        (vec!["--command", "exit 0", "--queue", "not a queue"], 2),
        (vec!["--command", ""], 2),
        (vec!["--url", "not a url"], 2),
        (vec![], 2),
        (vec!["--no-such-flag"], 2),
    ] {
        let said = server.foreman(&[&["submit", "--wait"], words.as_slice()].concat()).await;
        assert_eq!(said.code, code, "{words:?}: {said:?}");
        assert!(code == 0 || !said.err.is_empty(), "{words:?}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_cancelled_while_somebody_waits_exits_with_three() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let waiting = server.foreman(&["submit", "--command", "sleep 30", "--tag", "mine", "--wait"]);
    let cancelling = async {
        let filter = FilterDocument { tag: Some("mine".into()), ..FilterDocument::default() };
        let id = until("it is there", async || {
            server.client.list(&filter, 1, None).await.unwrap().items.first().map(|job| job.id.clone())
        })
        .await;
        state(&server.client, &id, State::Running).await;
        server.client.cancel(&id).await.unwrap();
    };
    let (said, ()) = tokio::join!(waiting, cancelling);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("was cancelled"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_every_command_exits_with_five() {
    let stage = Stage::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let id = "01a1df86-ff03-77a2-90f0-f36e48b30797";
    for words in [
        vec!["submit", "--url", "http://127.0.0.1/", "--wait"],
        vec!["submit", "--url", "http://127.0.0.1/"],
        vec!["jobs", "list"],
        vec!["jobs", "show", id],
        vec!["jobs", "cancel", id],
        vec!["jobs", "wait", id],
        vec!["jobs", "retry", "--state", "dead", "--yes"],
        vec!["queues", "list"],
        vec!["workers"],
        vec!["watch"],
    ] {
        let said = stage.foreman(&[&["--api-url", &url], words.as_slice()].concat()).await;
        assert_eq!(said.code, 5, "{words:?}: {said:?}");
        assert!(said.err.contains(&free.to_string()), "{words:?}: {said:?}");
        assert!(!said.err.contains("stack backtrace"), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_refuses_exits_with_one() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let unknown = "01a1df86-ff03-77a2-90f0-f36e48b30797";
    for words in [
        vec!["jobs", "show", unknown],
        vec!["jobs", "cancel", unknown],
        vec!["jobs", "retry", unknown],
        vec!["jobs", "delete", unknown],
        vec!["jobs", "show", "not-an-id"],
        vec!["jobs", "wait", unknown],
    ] {
        let said = server.foreman(&words).await;
        assert_eq!(said.code, 1, "{words:?}: {said:?}");
        assert!(said.out.is_empty() && said.err.starts_with("foreman: "), "stdout is data, stderr is talk: {said:?}");
    }
}
