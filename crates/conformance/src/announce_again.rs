//! What was announced and did not arrive is announced again: after a pause where it was refused, at once where it was lost.

use super::AnnounceSubject;
use super::announce::{Relay, jobs_of, up_to};
use super::given::{HOUR, MINUTE, SECOND, Scene, a_job, by_ids, by_order, completed, ids, interrupted, jobs, sorted};
use super::refusals::said;
use foreman_core::id::{JobId, SessionId};
use foreman_core::ports::{AnnouncedBatch, BatchNumber, ClaimRequest, Refusal, WaitsFor, pause_after};
use foreman_core::target::Route;

const ANSWERS: &str = "the store answers";

async fn batch(relay: &Relay, limit: usize) -> AnnouncedBatch {
    relay.announce(&up_to(limit)).await.expect("something is due")
}

async fn acknowledge(relay: &Relay, batch: BatchNumber, failed: &[usize]) {
    relay.store.acknowledge(batch, failed).await.expect(ANSWERS);
}

/// A claim of that job which may not take it.
async fn refuse(scene: &Scene<'_>, session: SessionId, job: JobId) {
    let request = ClaimRequest { routes: vec![Route::command()], ..by_ids(session, &[job]) };
    let (taken, refused) = said(scene, &request).await;
    assert_eq!((taken, refused[0].why), (vec![], Refusal::Waits(WaitsFor::OtherWorker)));
}

/// It is announced when its pause is over, and not before.
async fn comes_after_its_pause(scene: &Scene<'_>, relay: &Relay, job: JobId, refusals: u32) {
    let pause = pause_after(refusals);
    assert!(relay.all().await.is_empty(), "{refusals} refusals: at once");
    scene.advance(pause.saturating_sub(SECOND / 10)).await;
    assert!(relay.all().await.is_empty(), "{refusals} refusals: before the end");
    scene.advance(SECOND / 10).await;
    assert_eq!(relay.all().await, [job], "{refusals} refusals: after {pause:?}");
}

pub async fn what_the_broker_did_not_accept_is_announced_again_after_a_pause(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.submit_all(&jobs(5, &a_job())).await;
    let batch = batch(&relay, 10).await;
    acknowledge(&relay, batch.number, &[1, 4]).await;
    assert!(relay.next(10).await.is_empty());
    scene.advance(pause_after(1)).await;
    assert_eq!(sorted(relay.all().await), sorted([batch.jobs[1].job, batch.jobs[4].job]));
}

pub async fn the_pause_grows_with_every_failure(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let job = scene.submit(a_job()).await;
    let mut number = batch(&relay, 1).await.number;
    for failures in 1..=8 {
        acknowledge(&relay, number, &[0]).await;
        assert!(relay.next(1).await.is_empty(), "{failures} failures: at once");
        scene.advance(pause_after(failures).saturating_sub(SECOND / 10)).await;
        assert!(relay.next(1).await.is_empty(), "{failures} failures: before the end");
        scene.advance(SECOND / 10).await;
        let again = batch(&relay, 1).await;
        assert_eq!(jobs_of(&again), [job]);
        number = again.number;
    }
}

pub async fn an_acknowledgement_sent_again_changes_nothing(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.submit_all(&jobs(2, &a_job())).await;
    let batch = batch(&relay, 10).await;
    acknowledge(&relay, batch.number, &[]).await;
    acknowledge(&relay, batch.number, &[0, 1]).await;
    scene.advance(MINUTE).await;
    assert!(relay.next(10).await.is_empty(), "the first answer counts");
}

pub async fn an_acknowledgement_of_an_unknown_batch_changes_nothing(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.submit(a_job()).await;
    let batch = batch(&relay, 10).await;
    acknowledge(&relay, BatchNumber(batch.number.0 + 7), &[0]).await;
    acknowledge(&relay, batch.number, &[1, 99]).await;
    scene.advance(MINUTE).await;
    assert!(relay.next(10).await.is_empty(), "nor does a place that no job has");
}

/// Its relay died before the broker answered, or before it could say so.
pub async fn a_batch_that_nobody_acknowledged_is_announced_again(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let due = scene.submit_all(&jobs(4, &a_job())).await;
    let lost = relay.next(2).await;
    let answered = batch(&relay, 2).await;
    acknowledge(&relay, answered.number, &[]).await;
    scene.advance(SECOND * 29).await;
    assert_eq!(relay.store.reannounce(SECOND * 30, HOUR).await.expect(ANSWERS), 0);
    scene.advance(SECOND).await;
    assert_eq!(relay.store.reannounce(SECOND * 30, HOUR).await.expect(ANSWERS), 2);
    assert_eq!(sorted(relay.all().await), sorted(lost));
    assert_eq!(relay.store.reannounce(SECOND * 30, HOUR).await.expect(ANSWERS), 0, "that is a new batch");
    assert_eq!(scene.census().await.ready, due.len() as u64);
}

pub async fn what_nobody_claimed_for_too_long_is_announced_again(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let due = scene.submit_all(&jobs(3, &a_job())).await;
    let batch = batch(&relay, 10).await;
    acknowledge(&relay, batch.number, &[]).await;
    scene.advance(MINUTE * 5).await;
    assert_eq!(relay.store.reannounce(SECOND * 30, MINUTE * 6).await.expect(ANSWERS), 0);
    assert_eq!(relay.store.reannounce(SECOND * 30, MINUTE * 5).await.expect(ANSWERS), 3);
    assert_eq!(sorted(relay.all().await), due, "without a pause");
}

pub async fn only_what_still_waits_is_announced_again(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let due = scene.submit_all(&jobs(4, &a_job())).await;
    relay.next(10).await;
    scene.run(session, due[0], completed()).await;
    scene.cancel(due[1]).await;
    scene.claim_job(session, due[2]).await;
    scene.advance(HOUR).await;
    assert_eq!(relay.store.reannounce(SECOND, HOUR).await.expect(ANSWERS), 1);
    assert_eq!(relay.all().await, [due[3]]);
}

pub async fn of_very_many_batches_some_are_forgotten_at_a_time(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let due = scene.submit_all(&jobs(50, &a_job())).await;
    while !relay.next(1).await.is_empty() {}
    scene.advance(HOUR).await;
    let mut calls = Vec::new();
    loop {
        match relay.store.reannounce(MINUTE, HOUR).await.expect(ANSWERS) {
            0 => break,
            jobs => calls.push(jobs),
        }
    }
    assert_eq!(calls.iter().sum::<usize>(), 50);
    assert!(calls.len() > 1, "a call is bounded: {calls:?}");
    assert_eq!(sorted(relay.all().await), due);
}

/// Its relay was slow, the batch was forgotten, and another announced its jobs.
pub async fn a_late_acknowledgement_touches_no_later_batch(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.submit_all(&jobs(2, &a_job())).await;
    let late = batch(&relay, 10).await;
    scene.advance(MINUTE).await;
    assert_eq!(relay.store.reannounce(MINUTE, HOUR).await.expect(ANSWERS), 2);
    assert_eq!(relay.next(10).await.len(), 2);
    acknowledge(&relay, late.number, &[0, 1]).await;
    scene.advance(SECOND * 59).await;
    assert!(relay.next(10).await.is_empty(), "they bear another mark");
    assert_eq!(relay.store.outstanding().await.expect(ANSWERS).total(), 2);
}

pub async fn a_refused_job_is_announced_again_after_a_pause(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    assert_eq!(relay.all().await, [job]);
    refuse(&scene, session, job).await;
    assert_eq!(relay.store.outstanding().await.expect(ANSWERS).total(), 0, "it is on its way no more");
    comes_after_its_pause(&scene, &relay, job, 1).await;
}

pub async fn the_pause_grows_with_every_refusal(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    assert_eq!(relay.all().await, [job]);
    for refusals in 1..=8 {
        refuse(&scene, session, job).await;
        comes_after_its_pause(&scene, &relay, job, refusals).await;
    }
    assert_eq!(ids(&scene.take(by_ids(session, &[job])).await), [job], "whoever may run it takes it");
}

pub async fn a_refusal_of_a_job_that_is_not_announced_costs_it_nothing(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    for _ in 0..5 {
        refuse(&scene, session, job).await;
    }
    assert_eq!(relay.all().await, [job]);
    refuse(&scene, session, job).await;
    // A message that is delivered twice is refused twice, and that is one refusal.
    refuse(&scene, session, job).await;
    comes_after_its_pause(&scene, &relay, job, 1).await;
}

pub async fn a_job_that_comes_back_has_no_pause(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    assert_eq!(relay.all().await, [job]);
    refuse(&scene, session, job).await;
    scene.run(session, job, interrupted()).await;
    assert_eq!(relay.all().await, [job], "it waits anew");
    refuse(&scene, session, job).await;
    comes_after_its_pause(&scene, &relay, job, 1).await;
}

pub async fn a_job_in_a_pause_is_claimed_all_the_same(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let due = scene.submit_all(&jobs(2, &a_job())).await;
    assert_eq!(relay.next(10).await.len(), 2);
    refuse(&scene, session, due[0]).await;
    refuse(&scene, session, due[1]).await;
    scene.claim_job(session, due[0]).await;
    assert_eq!(ids(&scene.take(by_order(session, 10)).await), [due[1]]);
}

pub async fn a_broker_that_loses_everything_loses_no_job(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let due = scene.submit_all(&jobs(60, &a_job())).await;
    let mut done: Vec<JobId> = Vec::new();
    for round in 0..20 {
        let mut arrived = Vec::new();
        while let Some(batch) = relay.announce(&up_to(7)).await {
            // Of some batches nobody hears again, and of each only every other message arrives.
            if batch.number.0 % 3 != 0 {
                acknowledge(&relay, batch.number, &[]).await;
            }
            arrived.extend(jobs_of(&batch).into_iter().skip(round % 2).step_by(2));
        }
        for held in scene.take(by_ids(session, &arrived)).await {
            done.push(held.job.id);
            scene.complete(session, held).await;
        }
        if done.len() == due.len() {
            return assert_eq!(sorted(done), due);
        }
        scene.advance(MINUTE).await;
        while relay.store.reannounce(SECOND, MINUTE).await.expect(ANSWERS) > 0 {}
        assert!(round < 19, "{} of {} arrived", done.len(), due.len());
    }
}
