//! Jobs that asked for a callback are found again by whoever tells of their endings, and by nobody else.

use std::sync::Arc;

use super::TenancySubject;
use super::given::{Ask, HOUR, Scene, a_job, completed, failed, jobs, sorted};
use super::posting::{callback, courier, posted};
use super::timetable::{every_minute, firing_by_hand, next_firing};
use foreman_core::id::{JobId, TenantId};
use foreman_core::ports::{RedriveAnswer, RemoveAnswer};
use foreman_core::schedule::NewSchedule;
use foreman_core::webhook::CALLBACK_TAG;

const ANSWERS: &str = "the store answers";

fn asking() -> Ask {
    a_job().work(|work| work.callback_url = Some("https://example.com/done".into()))
}

async fn asked(subject: &dyn TenancySubject, jobs: &[JobId]) -> Vec<JobId> {
    sorted(subject.tenancy().with_callback(jobs).await.expect(ANSWERS))
}

pub async fn the_jobs_that_asked_are_found(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let plain = scene.submit_all(&jobs(3, &a_job().tagged("a").kind("callback"))).await;
    let ours = scene.submit_all(&jobs(2, &asking().tagged("a"))).await;
    let theirs = scene.submit(asking().of("acme").queued("mail").after(HOUR)).await;
    let expected = sorted([ours[0], ours[1], theirs]);
    let all = [&plain[..], &ours, &[theirs, JobId::fresh()]].concat();
    assert_eq!(asked(subject, &all).await, expected, "of whatever tenant");
    assert_eq!(asked(subject, &all[1..4]).await, [ours[0]], "and only of those that were named");
    assert_eq!(asked(subject, &plain).await, []);
    assert_eq!(asked(subject, &[]).await, []);
}

pub async fn a_job_that_asked_is_found_wherever_it_is(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(asking()).await;
    let proof = scene.claim_job(session, id).await;
    assert_eq!(asked(subject, &[id]).await, [id], "held");
    scene.end_attempt(proof, failed("no")).await;
    assert_eq!(asked(subject, &[id]).await, [id], "ended: when it matters");
    assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven));
    assert_eq!(asked(subject, &[id]).await, [id], "run again");
    scene.run(session, id, completed()).await;
    assert_eq!(asked(subject, &[id]).await, [id], "and ended again");
    assert_eq!(scene.remove(id).await, Some(RemoveAnswer::Removed));
    assert_eq!(asked(subject, &[id]).await, [], "removed");
}

pub async fn jobs_made_by_a_schedule_ask_too(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let new = every_minute("often").build(scene.now().await);
    let mut schedule = new.schedule.clone();
    schedule.work = Arc::clone(&asking().build().work);
    let foreman_core::ports::CreateAnswer::Created(view) = scene.create(&NewSchedule { schedule, ..new }).await else {
        panic!("the name is free")
    };
    let by_hand = scene.fired(&firing_by_hand(&view, scene.now().await)).await;
    scene.advance(HOUR).await;
    let by_time = scene.fired(&next_firing(&scene.again(&view).await)).await;
    let made = [by_hand, by_time].concat();
    assert_eq!(made.len(), 2);
    assert_eq!(asked(subject, &made).await, sorted(made));
    let quiet = scene.plant(every_minute("quiet")).await;
    let made = scene.fired(&firing_by_hand(&quiet, scene.now().await)).await;
    assert_eq!(made.len(), 1);
    assert_eq!(asked(subject, &made).await, []);
}

/// Otherwise a callback would be told of by a callback.
pub async fn a_delivery_asks_for_no_callback(subject: &dyn TenancySubject) {
    courier(&*subject.store()).await;
    let round = posted(subject, vec![callback("acme")]).await;
    assert_eq!(asked(subject, &[round.deliveries[0].job.id]).await, []);
}

/// However a store finds them: what a job was tagged with by its owner is all that its owner sees.
pub async fn what_a_job_is_found_by_stands_in_no_document(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    for ask in [asking(), asking().tagged("a").tagged("b")] {
        let new = ask.build();
        scene.submit_all(std::slice::from_ref(&new)).await;
        let view = scene.view(new.id).await;
        assert_eq!(view.job.work.tags, new.work.tags);
        let text = serde_json::to_string(&view.document(true)).expect("plain data");
        assert!(!text.contains(CALLBACK_TAG), "{text}");
        assert!(text.contains("https://example.com/done"), "{text}");
        let tag = new.work.tags.first().cloned();
        let filter = foreman_core::ports::JobFilter { tag, ..Default::default() };
        let page = scene.store.list(&TenantId::default(), &filter, None, 10).await.expect(ANSWERS);
        assert!(page.items.iter().any(|summary| summary.id == new.id), "by its own tags it is found like any other");
    }
}
