//! Disabling a tenant stops it: nothing of it is claimed, fired or delivered until it is enabled again, and what waits is kept.
//!
//! An attempt that runs at that moment may still be recorded: the store does not take work out of a worker's hands. The worker
//! stops it and hands it back.

use super::given::{
    MINUTE, PLENTY, SECOND, Scene, a_job, alone, by_ids, by_order, completed, ids, jobs, retry, sorted,
};
use super::posting::{delivery, job_ids, next_deliveries, posted};
use super::tenants_kept::{changed, disabled, made};
use super::timetable::{every_minute, schedule_ids};
use super::{TenancySubject, webhooks_kept};
use foreman_core::id::TenantId;
use foreman_core::ports::{ClaimAnswer, Topic};
use foreman_core::schedule::Overlap;
use foreman_core::state::State;
use foreman_core::tenant::{Tenant, TenantSettings};

async fn disable(subject: &dyn TenancySubject, seen: &Tenant) -> Tenant {
    changed(subject, seen, disabled()).await
}

async fn enable(subject: &dyn TenancySubject, seen: &Tenant) -> Tenant {
    changed(subject, seen, TenantSettings::default()).await
}

pub async fn nothing_of_a_disabled_tenant_is_claimed(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let acme = made(subject, "acme").await;
    let mut waiting = scene.submit_all(&jobs(5, &a_job().of("acme"))).await;
    let acme = disable(subject, &acme).await;
    // Whatever still comes in under its name waits too, also what falls due.
    waiting.push(scene.submit(a_job().of("acme").queued("another")).await);
    waiting.push(scene.submit(a_job().of("acme").after(SECOND)).await);
    scene.wait(SECOND * 2).await;
    let other = scene.submit(a_job().of("other")).await;
    assert_eq!(ids(&scene.claim(session, PLENTY).await), [other]);
    assert!(matches!(scene.ask(&by_order(session, PLENTY)).await, ClaimAnswer::Nothing { fragile_waiting: false, .. }));
    assert!(matches!(scene.ask(&by_ids(session, &waiting)).await, ClaimAnswer::Nothing { fragile_waiting: false, .. }));
    enable(subject, &acme).await;
    assert_eq!(sorted(ids(&scene.claim(session, PLENTY).await)), sorted(waiting), "all of it was kept");
}

/// Also where theirs are the first of the queue, and more than a claim looks at.
pub async fn its_backlog_holds_nobody_up(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let acme = made(subject, "acme").await;
    let backlog = scene.submit_all(&jobs(700, &a_job().of("acme"))).await;
    let acme = disable(subject, &acme).await;
    for a_claim in [1, 4, 64] {
        for name in ["default", "another"] {
            let job = scene.submit(a_job().of("other").queued(name)).await;
            let held = scene.claim(session, a_claim).await;
            assert_eq!(ids(&held), [job], "{name}, {a_claim} at once");
            for held in held {
                scene.complete(session, held).await;
            }
        }
    }
    let burst = scene.submit_all(&jobs(100, &a_job().of("other"))).await;
    let mut taken = Vec::new();
    while taken.len() < burst.len() {
        let held = scene.claim(session, 30).await;
        assert!(!held.is_empty(), "{} of {} were taken", taken.len(), burst.len());
        taken.extend(ids(&held));
    }
    assert_eq!(sorted(taken), sorted(burst));
    let kept = scene.store.get(&acme.id, backlog[0]).await.expect("the store answers").expect("it is kept");
    assert_eq!(kept.state, State::Pending);
}

pub async fn a_job_that_must_run_alone_waits_too(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let acme = made(subject, "acme").await;
    let fragile = scene.submit(a_job().of("acme")).await;
    scene.crash(fragile).await;
    scene.crash(fragile).await;
    let acme = disable(subject, &acme).await;
    for request in [by_order(session, 5), alone(by_order(session, 5)), alone(by_ids(session, &[fragile]))] {
        let answer = scene.ask(&request).await;
        assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
    }
    enable(subject, &acme).await;
    assert_eq!(ids(&scene.take(alone(by_order(session, 5))).await), [fragile]);
}

pub async fn what_runs_may_be_recorded_and_is_not_run_again(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let acme = made(subject, "acme").await;
    let (ends, again) = (scene.submit(a_job().of("acme")).await, scene.submit(a_job().of("acme")).await);
    let proofs = [scene.claim_job(session, ends).await, scene.claim_job(session, again).await];
    let acme = disable(subject, &acme).await;
    let [first, second] = proofs;
    scene.end_attempt(first, completed()).await;
    scene.end_attempt(second, retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    assert!(scene.claim(session, PLENTY).await.is_empty(), "no retry");
    let ended = scene.store.get(&acme.id, ends).await.expect("the store answers").expect("it is kept");
    assert_eq!(ended.state, State::Completed);
    enable(subject, &acme).await;
    assert_eq!(ids(&scene.claim(session, PLENTY).await), [again]);
}

pub async fn its_schedules_are_not_due_until_it_is_enabled(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let acme = made(subject, "acme").await;
    let (theirs, ours) = (scene.plant(every_minute("a").of("acme")).await, scene.plant(every_minute("b")).await);
    let acme = disable(subject, &acme).await;
    scene.advance(MINUTE * 10).await;
    for limit in [1, 10] {
        assert_eq!(schedule_ids(&scene.due(limit).await.due), [ours.schedule.id], "at most {limit}");
    }
    enable(subject, &acme).await;
    let mut due = scene.due(10).await.due;
    due.retain(|due| due.schedule.id == theirs.schedule.id);
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].seen, theirs.seen, "from the tick that was missed on, for its policy to decide");
}

pub async fn a_held_tick_waits_too(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let view = scene.plant(every_minute("a").overlap(Overlap::Queue)).await;
    let first = scene.fire_next(&view).await;
    assert!(scene.fire_next(&view).await.is_empty(), "it is held for the job before it");
    let proof = scene.claim_job(session, first[0]).await;
    scene.end_attempt(proof, completed()).await;
    let us = subject.tenancy().tenant(&TenantId::default()).await.expect("the store answers");
    let us = disable(subject, &us.expect("it is always there")).await;
    let look = scene.due(10).await;
    assert!(look.freed.is_empty() && !look.is_any_held, "nobody looks for it again and again");
    enable(subject, &us).await;
    assert_eq!(schedule_ids(&scene.due(10).await.freed), [view.schedule.id]);
}

pub async fn its_deliveries_wait(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let acme = made(subject, "acme").await;
    let webhook = webhooks_kept::made(subject, "acme").await;
    let acme = disable(subject, &acme).await;
    let round = posted(subject, vec![delivery("acme", webhook.id)]).await;
    assert!(matches!(scene.ask(&next_deliveries(session, 10)).await, ClaimAnswer::Nothing { .. }));
    enable(subject, &acme).await;
    assert_eq!(ids(&scene.take(next_deliveries(session, 10)).await), job_ids(&round.deliveries));
}

pub async fn enabling_it_wakes_those_who_claim_and_fire(subject: &dyn TenancySubject) {
    let acme = disable(subject, &made(subject, "acme").await).await;
    let wakeups = subject.wakeups();
    let mut bells = [Topic::Ready, Topic::Scheduled].map(|topic| wakeups.listen(topic));
    for bell in &mut bells {
        bell.mark_unchanged();
    }
    enable(subject, &acme).await;
    for bell in &bells {
        assert!(bell.has_changed().expect("the bells are there"));
    }
}
