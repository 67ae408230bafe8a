//! "Look now": a bell rung after the commit that gave a reason to look.

use std::time::Duration;

use tokio::sync::watch;

use super::Subject;
use super::given::{HOUR, SECOND, Scene, a_job, by_order, completed, interrupted, retry};
use foreman_core::ports::Topic;

/// Generous: a bell that is rung at all is rung at once, and one that is not fails the test whenever it gives up.
const PATIENCE: Duration = Duration::from_secs(10);

async fn heard(bell: &mut watch::Receiver<u64>, why: &str) {
    let rung = tokio::time::timeout(PATIENCE, bell.changed()).await;
    assert!(matches!(rung, Ok(Ok(()))), "no bell: {why}");
}

fn listen(subject: &dyn Subject, topic: Topic) -> watch::Receiver<u64> {
    let mut bell = subject.wakeups().listen(topic);
    bell.mark_unchanged();
    bell
}

pub async fn a_due_job_wakes_those_who_claim(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut bell = listen(subject, Topic::Ready);
    scene.submit(a_job()).await;
    heard(&mut bell, "submitted, due at once").await;
    let id = scene.submit(a_job().after(HOUR)).await;
    scene.advance(HOUR * 2).await;
    let mut bell = listen(subject, Topic::Ready);
    scene.promote(10).await;
    heard(&mut bell, "fell due").await;
    scene.cancel(id).await;
}

pub async fn a_returned_job_wakes_those_who_claim(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    let mut bell = listen(subject, Topic::Ready);
    scene.end_attempt(proof, interrupted()).await;
    heard(&mut bell, "interrupted").await;
    let request = by_order(session, 1);
    scene.ask(&request).await;
    let mut bell = listen(subject, Topic::Ready);
    scene.beat(session, &[request.token]).await;
    heard(&mut bell, "given up").await;
    let mortal = scene.mortal().await;
    scene.claim_job(mortal, id).await;
    let mut bell = listen(subject, Topic::Ready);
    scene.lapse(mortal).await;
    heard(&mut bell, "lapsed").await;
    scene.claim_job(session, id).await;
    let mut bell = listen(subject, Topic::Ready);
    scene.end(session).await;
    heard(&mut bell, "handed back").await;
    scene.cancel(id).await;
    let mut bell = listen(subject, Topic::Ready);
    scene.redrive(id).await;
    heard(&mut bell, "re-driven").await;
}

pub async fn a_resumed_queue_wakes_those_who_claim(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    scene.pause("default").await;
    let mut bell = listen(subject, Topic::Ready);
    scene.resume("default").await;
    heard(&mut bell, "resumed").await;
}

pub async fn a_job_for_later_wakes_the_promoter(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut bell = listen(subject, Topic::Waiting);
    scene.submit(a_job().after(HOUR)).await;
    heard(&mut bell, "scheduled").await;
    let id = scene.submit(a_job()).await;
    let mut bell = listen(subject, Topic::Waiting);
    scene.run(session, id, retry(SECOND)).await;
    heard(&mut bell, "put off").await;
    let soon = scene.now().await.plus(HOUR);
    let mut bell = listen(subject, Topic::Waiting);
    scene.submit(a_job().expires(soon)).await;
    heard(&mut bell, "it may expire").await;
}

pub async fn a_cancelled_held_job_wakes_its_worker(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.claim_job(session, id).await;
    let mut bell = listen(subject, Topic::Cancelled);
    scene.cancel(id).await;
    heard(&mut bell, "cancelled while held").await;
}

pub async fn every_move_wakes_those_who_watch(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut bell = listen(subject, Topic::Changed);
    let id = scene.submit(a_job()).await;
    heard(&mut bell, "submitted").await;
    bell.mark_unchanged();
    let proof = scene.claim_job(session, id).await;
    heard(&mut bell, "claimed").await;
    bell.mark_unchanged();
    scene.end_attempt(proof, completed()).await;
    heard(&mut bell, "settled").await;
    bell.mark_unchanged();
    scene.redrive(id).await;
    heard(&mut bell, "re-driven").await;
    bell.mark_unchanged();
    scene.cancel(id).await;
    heard(&mut bell, "cancelled").await;
}

/// The order that makes a hint reliable: whoever marks the bell seen and then looks finds what it was rung for.
pub async fn what_the_bell_announces_can_be_seen(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for _ in 0..20 {
        let mut bell = listen(subject, Topic::Ready);
        let store = subject.store();
        let submitted = super::given::at_once([async move {
            store.submit(&[a_job().build()]).await.expect("the store answers");
        }]);
        let woken = async {
            heard(&mut bell, "submitted").await;
            scene.claim(session, 1).await.len()
        };
        let (_, found) = tokio::join!(submitted, woken);
        assert_eq!(found, 1, "it was rung after the commit");
    }
}
