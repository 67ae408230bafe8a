//! `foreman webhooks`, on a server that calls itself.

use serde_json::{Value, json};

use crate::stage::{Server, Stage, until};

async fn document(server: &Server, words: &[&str]) -> Value {
    let said = server.foreman(&[words, &["--output", "json"]].concat()).await;
    assert_eq!(said.code, 0, "{words:?}: {said:?}");
    serde_json::from_str(&said.out).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_made_tried_told_and_removed() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let echo = format!("{}/dev/echo", server.url);
    let made =
        document(&server, &["webhooks", "create", "--url", &echo, "--events", "job.*", "--description", "ci"]).await;
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"), "{made}");
    assert_eq!(made["events"], json!(["job.completed", "job.failed", "job.dead", "job.cancelled"]));
    let id = made["id"].as_str().unwrap();
    let shown = document(&server, &["webhooks", "show", id]).await;
    assert_eq!((&shown["enabled"], &shown["secret"]), (&json!(true), &Value::Null), "the secret is shown once");

    let tried = server.foreman(&["webhooks", "test", id]).await;
    assert!(tried.code == 0 && tried.out.contains("webhook.test") && tried.out.contains("200"), "{tried:?}");

    let said = server.foreman(&["submit", "--task", "foreman.noop", "--wait"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let delivery = until("the ending was told", async || {
        let list = document(&server, &["webhooks", "deliveries", id]).await;
        let items = list["items"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["event"] == "job.completed" && item["state"] == "completed")
    })
    .await;
    let delivery = delivery["id"].as_str().unwrap();
    let whole = document(&server, &["webhooks", "delivery", id, delivery]).await;
    assert_eq!((&whole["status"], &whole["job"]["queue"]), (&json!(200), &json!("foreman.webhooks")), "{whole}");
    let page = server.foreman(&["webhooks", "delivery", id, delivery]).await;
    assert!(page.out.contains("message id") && page.out.contains("foreman.webhooks"), "{page:?}");
    let again = server.foreman(&["webhooks", "resend", id, delivery]).await;
    assert_eq!(again.code, 0, "{again:?}");

    let rotated = document(&server, &["webhooks", "rotate-secret", id, "--overlap", "1h"]).await;
    assert_ne!(rotated["secret"], made["secret"]);
    assert_eq!(rotated["secrets"], 2, "both sign for now: {rotated}");
    let updated = document(&server, &["webhooks", "update", id, "--disable", "--events", "job.dead"]).await;
    assert_eq!((&updated["enabled"], &updated["disabled"]), (&json!(false), &json!("by_owner")));
    let list = server.foreman(&["webhooks", "list"]).await;
    assert!(list.out.contains("disabled") && list.out.contains("job.dead"), "{list:?}");
    let deleted = server.foreman(&["webhooks", "delete", id]).await;
    assert_eq!(deleted.code, 0, "{deleted:?}");
    let gone = server.foreman(&["webhooks", "show", id]).await;
    assert_eq!(gone.code, 1, "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_endpoint_is_told() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let wrong = server.foreman(&["webhooks", "create", "--url", "http://192.168.1.1/", "--events", "job.gone"]).await;
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.err.contains("target not allowed") && wrong.err.contains("job.gone"), "{wrong:?}");
    let nothing = server.foreman(&["webhooks", "update", "0198"]).await;
    assert_eq!(nothing.code, 2, "{nothing:?}");
    let failing = format!("{}/dev/status/500", server.url);
    let made = document(&server, &["webhooks", "create", "--url", &failing]).await;
    let id = made["id"].as_str().unwrap();
    let tried = server.foreman(&["webhooks", "test", id]).await;
    assert!(tried.code == 1 && tried.out.contains("answered 500"), "{tried:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_so_tells_nobody() {
    let stage = Stage::new();
    let mut server = stage.start(&["--set", "webhooks.enabled=false"]).await;
    until("it says so", async || server.log().contains("webhooks are turned off").then_some(())).await;
    let echo = format!("{}/dev/echo", server.url);
    let made = document(&server, &["webhooks", "create", "--url", &echo]).await;
    let said = server.foreman(&["submit", "--task", "foreman.noop", "--wait"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let id = made["id"].as_str().unwrap();
    assert_eq!(document(&server, &["webhooks", "deliveries", id]).await["items"], json!([]));
    assert_eq!(server.stop().await, Some(0));
}
