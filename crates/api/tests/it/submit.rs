//! One job through the door.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{JobFilter, JobQuery};
use foreman_core::sealed::MasterKey;
use foreman_core::{Clock, TenantId};

use crate::harness::{ALL, Api, MASTER_KEY, Setting, id_of, until};
use crate::http::written;

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn a_job_is_accepted_and_can_be_read_at_once() {
    let api = Api::start().await;
    let body =
        r#"{"url":"http://127.0.0.1:1/x","payload":{"n":1},"queue":"mail","priority":"high","tags":["a"],"kind":"k"}"#;
    let reply = api.submit_text(body).await;
    assert_eq!(reply.status, 202, "{reply:?}");
    let location = reply.header("location").expect("a location").to_owned();
    let answered = reply.json();
    assert_eq!(location, format!("/api/v1/jobs/{}", id_of(&answered)));
    for (field, value) in
        [("state", "pending"), ("queue", "mail"), ("priority", "high"), ("kind", "k"), ("method", "POST")]
    {
        assert_eq!(answered[field], value, "{field} of {answered}");
    }
    assert_eq!(answered["attempt"], 0);
    assert_eq!(answered["max_attempts"], 8);
    assert_eq!(answered["created_at"], api.clock.now().to_string());

    // What is answered without reading the store is what the store says.
    let mut read = api.get(&location).await.expect(200);
    assert_eq!(read["attempts"], serde_json::json!([]));
    for only_read in ["attempts", "attempts_total"] {
        read.as_object_mut().unwrap().remove(only_read);
    }
    assert_eq!(read, answered);
}

#[tokio::test]
async fn a_job_for_later_is_scheduled_as_the_store_sees_it() {
    let api = Api::start().await;
    for body in [
        r#"{"url":"http://127.0.0.1:1/","delay":"1h30m"}"#.to_owned(),
        format!(r#"{{"url":"http://127.0.0.1:1/","run_at":"{}"}}"#, api.clock.now().plus(Duration::from_mins(90))),
    ] {
        let answered = api.submit_text(&body).await.expect(202);
        assert_eq!(answered["state"], "scheduled");
        assert_eq!(answered["run_at"], api.clock.now().plus(Duration::from_mins(90)).to_string());
        let read = api.job(&id_of(&answered)).await;
        assert_eq!((&read["state"], &read["run_at"]), (&answered["state"], &answered["run_at"]));
    }
}

#[tokio::test]
async fn a_time_in_the_past_means_now() {
    let api = Api::start().await;
    let answered =
        api.submit_text(r#"{"url":"http://127.0.0.1:1/","run_at":"2020-01-01T00:00:00Z"}"#).await.expect(202);
    assert_eq!(answered["state"], "pending");
    assert_eq!(answered["run_at"], api.clock.now().to_string());
}

#[tokio::test]
async fn the_same_key_and_body_answer_the_first_job() {
    let api = Api::start().await;
    let body = r#"{"url":"http://127.0.0.1:1/","payload":1}"#;
    let headers = [JSON, ("idempotency-key", "k-1")];
    let first = api.send("POST", "/api/v1/jobs", &headers, Some(body)).await;
    assert_eq!(first.header("idempotency-replayed"), None);
    let first = first.expect(202);
    assert_eq!(first["idempotency_key"], "k-1");
    api.complete_all().await;

    let again = api.send("POST", "/api/v1/jobs", &headers, Some(body)).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("location"), Some(format!("/api/v1/jobs/{}", id_of(&first)).as_str()));
    let again = again.expect(200);
    assert_eq!(again["id"], first["id"]);
    assert_eq!(again["state"], "completed", "the first job as it is now, not as it was");

    // The field says the same as the header, and both may say it.
    let in_body = r#"{"url":"http://127.0.0.1:1/","payload":1,"idempotency_key":"k-1"}"#;
    assert_eq!(api.submit_text(in_body).await.expect(200)["id"], first["id"]);
    assert_eq!(api.send("POST", "/api/v1/jobs", &headers, Some(in_body)).await.expect(200)["id"], first["id"]);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused_and_accepts_nothing() {
    let api = Api::start().await;
    let headers = [JSON, ("idempotency-key", "k-1")];
    let first = api.send("POST", "/api/v1/jobs", &headers, Some(r#"{"url":"http://127.0.0.1:1/a"}"#)).await.expect(202);
    let other = api.send("POST", "/api/v1/jobs", &headers, Some(r#"{"url":"http://127.0.0.1:1/b"}"#)).await;
    let problem = other.problem(422, "idempotency-key-reused");
    assert!(problem["detail"].as_str().unwrap().contains(&id_of(&first)), "{problem}");
    assert_eq!(accepted(&api).await, 1);
}

#[tokio::test]
async fn a_header_and_a_field_that_disagree_about_the_key_are_refused() {
    let api = Api::start().await;
    let body = r#"{"url":"http://127.0.0.1:1/","idempotency_key":"a"}"#;
    let problem = api
        .send("POST", "/api/v1/jobs", &[JSON, ("idempotency-key", "b")], Some(body))
        .await
        .problem(422, "invalid-job");
    assert_eq!(problem["errors"][0]["pointer"], "/idempotency_key");
    let twice = [JSON, ("idempotency-key", "a"), ("idempotency-key", "a")];
    api.send("POST", "/api/v1/jobs", &twice, Some(body)).await.problem(422, "invalid-job");
    assert_eq!(accepted(&api).await, 0);
}

#[tokio::test]
async fn a_command_is_refused_where_commands_are_not_allowed() {
    let api = Api::with(crate::harness::Setting {
        commands: foreman_api::CommandPolicy::Refused,
        ..crate::harness::Setting::default()
    })
    .await;
    let problem = api.submit_text(r#"{"command":"echo hello"}"#).await.problem(403, "commands-disabled");
    assert!(problem["detail"].as_str().unwrap().contains("--allow-commands"), "{problem}");
    assert_eq!(accepted(&api).await, 0);
    api.submit_text(r#"{"url":"http://127.0.0.1:1/"}"#).await.expect(202);
}

#[tokio::test]
async fn a_payload_is_answered_as_it_was_given() {
    let api = Api::start().await;
    for payload in ["null", "0", r#""text""#, r#"{"b":[1,2.5,{"a":"ü"}],"a":null}"#] {
        let answered =
            api.submit_text(&format!(r#"{{"url":"http://127.0.0.1:1/","payload":{payload}}}"#)).await.expect(202);
        assert_eq!(answered["payload"], serde_json::from_str::<serde_json::Value>(payload).unwrap(), "{payload}");
    }
}

#[tokio::test]
async fn a_job_stays_accepted_when_its_client_leaves_before_the_answer() {
    let api = Api::start().await;
    let closed = Arc::clone(&api.submit.gate).acquire_many_owned(ALL).await.unwrap();
    let mut client = api.connect().await;
    client.send(&written("POST", "/api/v1/jobs", &[JSON], Some(r#"{"url":"http://127.0.0.1:1/"}"#))).await;
    until("the submitter has the job", || api.submit.taken() == 1).await;
    drop(client);
    until("the server has noticed", || api.tasks.alive().iter().all(|(name, _)| *name != "connection")).await;
    assert_eq!(accepted(&api).await, 0, "not written yet");
    drop(closed);
    until("the write has ended", || api.tasks.alive().iter().all(|(name, _)| *name != "write")).await;
    assert_eq!(accepted(&api).await, 1);
}

async fn accepted(api: &Api) -> u64 {
    api.store.count(&TenantId::default(), &JobFilter::default()).await.unwrap()
}

#[tokio::test]
async fn a_key_stands_for_a_job_with_secrets_however_its_fingerprint_was_kept() {
    let api = Api::start().await;
    let job = |value: &str| {
        format!(r#"{{"url":"http://127.0.0.1:1/","headers":{{"X-Token":"{value}"}},"idempotency_key":"once"}}"#)
    };
    let id = api.submitted(&job("hush")).await;
    let again = api.submit_text(&job("hush")).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.expect(200)["id"].as_str(), Some(id.as_str()));
    api.submit_text(&job("other")).await.problem(422, "idempotency-key-reused");

    // A process after a change of the master key, which knows the one before too.
    let ring = format!("{},{}", MasterKey::fresh().text().reveal(), MASTER_KEY);
    let keyring = Some(Arc::new(ring.parse().unwrap()));
    let other = Api::over(&api, Setting { keyring, ..Setting::default() }).await;
    other.submit_text(&job("hush")).await.expect(200);
    other.submit_text(&job("other")).await.problem(422, "idempotency-key-reused");
}
