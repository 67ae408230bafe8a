//! Deliveries on the wire: where they go, what signs them, and what an answer means.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::egress::Policy;
use foreman_core::job::QueueName;
use foreman_core::outcome::AttemptEnd;
use foreman_core::ports::WebhookStore;
use foreman_core::retry::Backoff;
use foreman_core::signing::{ID, SIGNATURE, SigningKeys, SigningSecret, TIMESTAMP};
use foreman_core::target::{Addressee, Route, WebhookTarget};
use foreman_core::webhook::{Disabled, Event, Events, KIND, QUEUE, Wish};
use foreman_core::{Job, JobId, Lane, Target, WebhookId, Work};
use foreman_engine::target::webhook::WebhookRunner;
use foreman_engine::target::{Runner, Try, TryEnding};
use serde_json::json;
use serde_json::value::RawValue;

use crate::given::{AGAIN, attempt, attempt_of, error_of, in_time};
use crate::sealing::{House, now, other_ring, sealed_for_tenant, sealed_for_webhook, us, verify};
use crate::server::Server;

const OK: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
const BODY: &str = r#"{"type":"job.completed", "n": 1.0}"#;

fn delivery(to: Addressee) -> Try {
    let body = RawValue::from_string(BODY.into()).unwrap();
    let work = Work {
        target: Target::Webhook(WebhookTarget { to, event: Event::JobCompleted, wish: Wish::Known, body }),
        kind: Some(KIND.into()),
        queue: QueueName::from_stored(QUEUE),
        lane: Lane::Normal,
        max_attempts: 10,
        backoff: Backoff::HTTP,
        timeout: Duration::from_secs(20),
        expires_at: None,
        callback_url: None,
        correlation_id: None,
        tags: Vec::new(),
        idempotency_key: None,
        occasion: None,
    };
    attempt_of(Job { id: JobId::fresh(), tenant: us(), work: Arc::new(work), created_at: now() })
}

fn to(id: WebhookId) -> Try {
    delivery(Addressee::Webhook(id))
}

async fn run(runner: &WebhookRunner, attempt: &Try) -> TryEnding {
    in_time(runner.run(attempt)).await
}

#[tokio::test]
async fn a_message_arrives_to_the_letter_signed_and_under_its_name() {
    let (house, server, secret) = (House::new(), Server::answering(OK).await, SigningSecret::fresh());
    let hook = house.endpoint(&format!("{}in?a=1", server.url()), &secret).await;
    let attempt = to(hook.id);
    let ending = run(&house.webhooks(), &attempt).await;
    assert_eq!((ending.ended, ending.report.response.unwrap().status), (AttemptEnd::Completed, 204));
    let received = server.seen.last();
    assert_eq!((received.line.as_str(), &received.body[..]), ("POST /in?a=1 HTTP/1.1", BODY.as_bytes()));
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert!(received.header("user-agent").unwrap().starts_with("foreman/"));
    assert_eq!(received.header(ID).unwrap(), format!("msg_{}", attempt.job.id.0.simple()));
    assert_eq!(verify(&received, &[&secret]), Ok(()));
    assert!(verify(&received, &[&SigningSecret::fresh()]).is_err());
    // What is ours alone is not told to strangers.
    assert_eq!((received.header("foreman-fence"), received.header("foreman-job-id")), (None, None));
    run(&house.webhooks(), &Try { attempt: 4, ..attempt }).await;
    assert_eq!(server.seen.last().header(ID), received.header(ID), "the same at every try");
}

#[tokio::test]
async fn an_endpoint_is_as_it_is_when_the_try_begins() {
    let house = House::new();
    let (old_server, new_server) = (Server::answering(OK).await, Server::answering(OK).await);
    let (old, new) = (SigningSecret::fresh(), SigningSecret::fresh());
    let hook = house.endpoint(&old_server.url(), &old).await;
    let attempt = to(hook.id);
    run(&house.webhooks(), &attempt).await;
    house
        .change(&hook, |hook| {
            hook.settings.url = new_server.url().parse().unwrap();
            hook.signing = hook.signing.rotated(sealed_for_webhook(hook.id, &new), now(), Duration::from_hours(1));
        })
        .await;
    run(&house.webhooks(), &attempt).await;
    assert_eq!((old_server.seen.requests(), new_server.seen.requests()), (1, 1));
    let received = new_server.seen.last();
    assert_eq!(received.header(SIGNATURE).unwrap().split(' ').count(), 2, "both sign while one takes over");
    assert_eq!((verify(&received, &[&old]), verify(&received, &[&new])), (Ok(()), Ok(())));
}

#[tokio::test]
async fn one_that_is_gone_or_disabled_is_called_no_more() {
    let (house, server, secret) = (House::new(), Server::answering(OK).await, SigningSecret::fresh());
    let hook = house.endpoint(&server.url(), &secret).await;
    let disabled = house.change(&hook, |hook| hook.settings.disabled = Some(Disabled::ByOwner)).await;
    let ending = run(&house.webhooks(), &to(hook.id)).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
    assert!(error_of(&ending).ends_with("is disabled"), "{}", error_of(&ending));
    house.change(&disabled, |hook| hook.settings.disabled = None).await;
    assert_eq!(run(&house.webhooks(), &to(hook.id)).await.ended, AttemptEnd::Completed);
    assert!(house.store.delete_webhook(&us(), hook.id).await.unwrap());
    let ending = run(&house.webhooks(), &to(hook.id)).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
    assert!(error_of(&ending).ends_with("was deleted"), "{}", error_of(&ending));
    assert_eq!(server.seen.requests(), 1);
}

/// The courier could not read the endpoint; this worker can.
#[tokio::test]
async fn a_delivery_that_nobody_may_want_is_sent_only_if_it_is_wanted() {
    let (house, server, secret) = (House::new(), Server::answering(OK).await, SigningSecret::fresh());
    let hook = house.endpoint(&server.url(), &secret).await;
    let mut unsure = to(hook.id);
    let mut work = (*unsure.job.work).clone();
    let Target::Webhook(target) = &mut work.target else { panic!("a delivery") };
    target.wish = Wish::Unknown;
    unsure.job.work = Arc::new(work);
    let other = house.change(&hook, |hook| hook.settings.events = Events::parse(["job.dead"]).unwrap()).await;
    assert_eq!(run(&house.webhooks(), &unsure).await.ended, AttemptEnd::Completed);
    assert_eq!(server.seen.requests(), 0, "it does not want to hear of this");
    assert_eq!(run(&house.webhooks(), &to(hook.id)).await.ended, AttemptEnd::Completed);
    assert_eq!(server.seen.requests(), 1, "it did when this one was made");
    house.change(&other, |hook| hook.settings.events = Events::parse(["job.*"]).unwrap()).await;
    assert_eq!(run(&house.webhooks(), &unsure).await.ended, AttemptEnd::Completed);
    assert_eq!(server.seen.requests(), 2);
}

#[tokio::test]
async fn what_an_answer_means() {
    let (house, secret) = (House::new(), SigningSecret::fresh());
    let later = AttemptEnd::Again { after: Some(Duration::from_secs(77)) };
    for (answer, expected) in [
        ("200 OK", AttemptEnd::Completed),
        ("410 Gone", AttemptEnd::Failed),
        ("400 Bad Request", AGAIN),
        ("401 Unauthorized", AGAIN),
        ("404 Not Found", AGAIN),
        ("500 Internal Server Error", AGAIN),
        ("503 Service Unavailable\r\nretry-after: 77", later),
        ("302 Found\r\nlocation: /elsewhere", AGAIN),
    ] {
        let server = Server::answering_once(format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n")).await;
        let hook = house.endpoint(&server.url(), &secret).await;
        let ending = run(&house.webhooks(), &to(hook.id)).await;
        assert_eq!((ending.ended, server.seen.requests()), (expected, 1), "{answer}");
        let status = ending.report.response.unwrap().status.to_string();
        assert!(answer.starts_with(&status), "{answer}: {status}");
    }
}

#[tokio::test]
async fn nothing_is_ever_sent_to_an_endpoint_unsigned() {
    let (house, server) = (House::new(), Server::answering(OK).await);
    let hook = house.endpoint(&server.url(), &SigningSecret::fresh()).await;
    for ring in [None, Some(other_ring())] {
        let ending = run(&house.webhooks_with(house.vault_with(ring)), &to(hook.id)).await;
        assert_eq!(ending.ended, AGAIN);
        assert!(error_of(&ending).starts_with("not sent: "), "{}", error_of(&ending));
    }
    let bare = house.change(&hook, |hook| hook.signing = SigningKeys::default()).await;
    let ending = run(&house.webhooks(), &to(bare.id)).await;
    assert_eq!((ending.ended, error_of(&ending)), (AGAIN, "not sent: the webhook has no signing secret"));
    assert_eq!(server.seen.requests(), 0);
}

#[tokio::test]
async fn a_secret_sealed_for_another_endpoint_opens_nothing() {
    let (house, server, secret) = (House::new(), Server::answering(OK).await, SigningSecret::fresh());
    let (one, other) = (house.endpoint(&server.url(), &secret).await, house.endpoint(&server.url(), &secret).await);
    let crossed = house.change(&one, |hook| hook.signing = other.signing.clone()).await;
    let ending = run(&house.webhooks(), &to(crossed.id)).await;
    assert_eq!((ending.ended, server.seen.requests()), (AGAIN, 0), "{}", error_of(&ending));
}

#[tokio::test]
async fn the_url_is_judged_at_each_try() {
    let (house, server) = (House::new(), Server::answering(OK).await);
    let hook = house.endpoint(&server.url(), &SigningSecret::fresh()).await;
    let runner = house.http();
    let webhooks = WebhookRunner::new(runner.caller(), Arc::new(house.store.clone()), house.vault());
    assert_eq!(run(&webhooks, &to(hook.id)).await.ended, AttemptEnd::Completed);
    runner.set_egress(Policy::default());
    let ending = run(&webhooks, &to(hook.id)).await;
    assert_eq!((ending.ended, server.seen.requests()), (AttemptEnd::Failed, 1), "{}", error_of(&ending));
}

#[tokio::test]
async fn a_callback_has_a_name_and_is_signed_when_its_tenant_has_a_secret() {
    let (house, server, secret) = (House::new(), Server::answering(OK).await, SigningSecret::fresh());
    let attempt = delivery(Addressee::Callback(server.url().parse().unwrap()));
    assert_eq!(run(&house.webhooks(), &attempt).await.ended, AttemptEnd::Completed);
    let received = server.seen.last();
    assert_eq!(received.header(ID).unwrap(), format!("msg_{}", attempt.job.id.0.simple()));
    assert_eq!((received.header(SIGNATURE), received.header(TIMESTAMP)), (None, None));
    house.tenant_signs_with(SigningKeys::one(sealed_for_tenant(&secret))).await;
    assert_eq!(run(&house.webhooks(), &attempt).await.ended, AttemptEnd::Completed);
    assert_eq!(verify(&server.seen.last(), &[&secret]), Ok(()));
}

#[tokio::test]
async fn it_runs_deliveries_and_nothing_else() {
    let house = House::new();
    assert_eq!(house.webhooks().routes(), [Route::webhook()]);
    let ending = run(&house.webhooks(), &attempt(&json!({"url": "http://127.0.0.1:1/"}))).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
}
