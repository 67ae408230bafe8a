//! Pushes that are signed, and headers that were sealed.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_core::sealed::Keyring;
use foreman_core::signing::{ID, NotVerified, SIGNATURE, SigningKeys, SigningPurpose, SigningSecret, TIMESTAMP};
use foreman_core::{Job, Target};
use foreman_engine::Vault;
use foreman_engine::target::http::{Config, HttpRunner};
use foreman_engine::target::{Runner, Try};
use serde_json::json;

use crate::given::{AGAIN, attempt, attempt_of, error_of, in_time, job_from};
use crate::sealing::{House, now, other_ring, ring, sealed_for_tenant, us, verify};
use crate::server::Server;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn a_push_is_signed_when_its_tenant_has_a_secret_and_says_nothing_when_it_has_none() {
    let (house, server) = (House::new(), Server::answering(OK).await);
    let (secret, stranger) = (SigningSecret::fresh(), SigningSecret::fresh());
    let attempt = attempt(&json!({"url": server.url(), "payload": {"n": 1.0}}));
    assert_eq!(in_time(house.http().run(&attempt)).await.ended, AttemptEnd::Completed);
    for name in [ID, TIMESTAMP, SIGNATURE] {
        assert_eq!(server.seen.last().header(name), None);
    }
    house.tenant_signs_with(SigningKeys::one(sealed_for_tenant(&secret))).await;
    assert_eq!(in_time(house.http().run(&attempt)).await.ended, AttemptEnd::Completed);
    let received = server.seen.last();
    assert_eq!(verify(&received, &[&secret]), Ok(()));
    assert_eq!(verify(&received, &[&stranger]), Err(NotVerified::NoMatch));
    let mut forged = received.clone();
    forged.body.push(b' ');
    assert_eq!(verify(&forged, &[&secret]), Err(NotVerified::NoMatch));
}

#[tokio::test]
async fn every_kind_of_body_is_signed_as_it_is_sent() {
    let (house, server) = (House::new(), Server::answering(OK).await);
    let secret = SigningSecret::fresh();
    house.tenant_signs_with(SigningKeys::one(sealed_for_tenant(&secret))).await;
    for spec in [
        json!({"url": server.url()}),
        json!({"url": server.url(), "method": "GET"}),
        json!({"url": server.url(), "body": "päckchen\n"}),
        json!({"url": server.url(), "payload": null}),
    ] {
        assert_eq!(in_time(house.http().run(&attempt(&spec))).await.ended, AttemptEnd::Completed);
        assert_eq!(verify(&server.seen.last(), &[&secret]), Ok(()), "{spec}");
    }
}

#[tokio::test]
async fn the_id_is_the_same_at_every_try_and_another_for_another_job() {
    let (house, server) = (House::new(), Server::answering(OK).await);
    house.tenant_signs_with(SigningKeys::one(sealed_for_tenant(&SigningSecret::fresh()))).await;
    let job = job_from(&json!({"url": server.url()}).to_string());
    let id = async |job: Job, attempt: u32| {
        in_time(house.http().run(&Try { attempt, ..attempt_of(job) })).await;
        server.seen.last().header(ID).unwrap().to_owned()
    };
    let first = id(job.clone(), 1).await;
    assert_eq!(first, format!("msg_{}", job.id.0.simple()));
    assert_eq!(id(job, 2).await, first);
    assert_ne!(id(job_from(&json!({"url": server.url()}).to_string()), 1).await, first);
}

#[tokio::test]
async fn while_a_secret_is_changed_both_sign() {
    let (house, server) = (House::new(), Server::answering(OK).await);
    let (old, new) = (SigningSecret::fresh(), SigningSecret::fresh());
    let keys = SigningKeys::one(sealed_for_tenant(&old));
    let keys = keys.rotated(sealed_for_tenant(&new), now(), Duration::from_hours(1));
    house.tenant_signs_with(keys).await;
    in_time(house.http().run(&attempt(&json!({"url": server.url()})))).await;
    let received = server.seen.last();
    assert_eq!(
        received.header(SIGNATURE).unwrap().split(' ').count(),
        4,
        "each with its key for pushes and the shared one"
    );
    for known in [&old, &new] {
        assert_eq!(verify(&received, &[known]), Ok(()));
        assert_eq!(verify(&received, &[&known.for_purpose(SigningPurpose::Push)]), Ok(()));
    }
}

#[tokio::test]
async fn a_push_that_should_be_signed_and_cannot_be_is_not_sent() {
    let (house, server) = (House::new(), Server::answering(OK).await);
    house.tenant_signs_with(SigningKeys::one(sealed_for_tenant(&SigningSecret::fresh()))).await;
    for (ring, words) in [(None, "has no FOREMAN_SECRET_KEY"), (Some(other_ring()), "cannot be decrypted")] {
        let runner = HttpRunner::new(Config::default()).with_vault(house.vault_with(ring));
        let ending = in_time(runner.run(&attempt(&json!({"url": server.url()})))).await;
        assert_eq!(ending.ended, AGAIN, "an operator may give the key back");
        assert!(error_of(&ending).contains(words), "{}", error_of(&ending));
    }
    assert_eq!(server.seen.requests(), 0);
}

/// A job whose headers are sealed, as a store has it.
fn sealed_job(server: &Server) -> Job {
    let spec = json!({"url": server.url(), "headers": {"Authorization": "Bearer hush", "X-Team": "blue"}});
    let job = job_from(&spec.to_string());
    let mut work = (*job.work).clone();
    work.target.seal(&ring(), &us());
    assert!(!serde_json::to_string(&work).unwrap().contains("hush"));
    Job { work: Arc::new(work), ..job }
}

fn opening_with(ring: Option<Keyring>) -> HttpRunner {
    HttpRunner::new(Config::default()).with_vault(Vault::new(ring.map(Arc::new), None))
}

#[tokio::test]
async fn sealed_headers_are_opened_for_the_target_alone() {
    let server = Server::answering(OK).await;
    let attempt = attempt_of(sealed_job(&server));
    assert_eq!(in_time(opening_with(Some(ring())).run(&attempt)).await.ended, AttemptEnd::Completed);
    let received = server.seen.last();
    assert_eq!((received.header("authorization"), received.header("x-team")), (Some("Bearer hush"), Some("blue")));
    assert!(!format!("{attempt:?}").contains("hush"));
    assert!(matches!(&attempt.job.work.target, Target::Http(_)));
}

#[tokio::test]
async fn headers_that_cannot_be_opened_are_tried_again_and_nothing_is_sent_without_them() {
    let server = Server::answering(OK).await;
    for (ring, words) in
        [(None, "no FOREMAN_SECRET_KEY"), (Some(other_ring()), "cannot decrypt the headers of the job")]
    {
        let ending = in_time(opening_with(ring).run(&attempt_of(sealed_job(&server)))).await;
        assert_eq!(ending.ended, AGAIN);
        assert!(error_of(&ending).contains(words) && !error_of(&ending).contains("hush"), "{}", error_of(&ending));
    }
    assert_eq!(server.seen.requests(), 0);
}
