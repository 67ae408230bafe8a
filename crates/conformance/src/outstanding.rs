//! What is on its way through a broker, what waits to be, and who takes it.

use super::AnnounceSubject;
use super::announce::{Relay, up_to};
use super::given::{HOUR, MINUTE, SECOND, Scene, TTL, a_job, by_ids, completed, jobs, queue, routes, session_info};
use super::tenants_kept::{changed, disabled, made};
use foreman_core::id::SessionId;
use foreman_core::lane::Lane;
use foreman_core::ports::{AnnounceRequest, Consumer, LaneCounts, Queues, SessionInfo};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::target::Route;
use foreman_core::tenant::TenantSettings;

const ANSWERS: &str = "the store answers";

async fn outstanding(relay: &Relay) -> LaneCounts {
    relay.store.outstanding().await.expect(ANSWERS)
}

pub async fn what_is_announced_and_waits_is_outstanding(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    assert_eq!(outstanding(&relay).await, LaneCounts::default());
    for (lane, count) in [(Lane::High, 3), (Lane::Normal, 5), (Lane::Low, 7)] {
        scene.submit_all(&jobs(count, &a_job().lane(lane))).await;
    }
    assert_eq!(outstanding(&relay).await, LaneCounts::default(), "nothing is announced yet");
    relay.next(10).await;
    assert_eq!(outstanding(&relay).await, LaneCounts { high: 3, normal: 5, low: 2 });
    relay.next(10).await;
    assert_eq!(outstanding(&relay).await, LaneCounts { high: 3, normal: 5, low: 7 });
}

pub async fn what_was_claimed_is_not_outstanding(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    scene.submit_all(&jobs(20, &a_job())).await;
    let batch = relay.announce(&up_to(20)).await.expect("they are due");
    relay.store.acknowledge(batch.number, &[]).await.expect(ANSWERS);
    let mut left = 20;
    for held in scene.claim(session, 20).await {
        assert_eq!(outstanding(&relay).await.normal, 0, "all of them are held");
        left -= 1;
        scene.complete(session, held).await;
    }
    assert_eq!((left, outstanding(&relay).await.total()), (0, 0));
    // One by one, and counted in between: what is left of a batch is counted whatever went before.
    let more = scene.submit_all(&jobs(20, &a_job())).await;
    let batch = relay.announce(&up_to(20)).await.expect("they are due");
    relay.store.acknowledge(batch.number, &[]).await.expect(ANSWERS);
    for (taken, job) in more.iter().enumerate() {
        assert_eq!(outstanding(&relay).await.normal, 20 - taken);
        scene.run(session, *job, completed()).await;
    }
    assert_eq!(outstanding(&relay).await.total(), 0);
}

pub async fn what_ended_while_it_waited_is_not_outstanding(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let due = scene.submit_all(&jobs(3, &a_job())).await;
    scene.submit(a_job().expires(scene.now().await.plus(MINUTE))).await;
    relay.next(10).await;
    assert_eq!(outstanding(&relay).await.normal, 4);
    scene.cancel(due[0]).await;
    assert_eq!(outstanding(&relay).await.normal, 3);
    scene.wait(MINUTE).await;
    assert_eq!(outstanding(&relay).await.normal, 2);
}

pub async fn every_relay_sees_what_all_have_announced(subject: &dyn AnnounceSubject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(9, &a_job())).await;
    let relays = [Relay::of(subject), Relay::of(subject), Relay::of(subject)];
    for relay in &relays {
        assert_eq!(relay.next(3).await.len(), 3);
    }
    for relay in &relays {
        assert_eq!(outstanding(relay).await.normal, 9);
    }
}

/// More than are looked up one by one.
pub async fn the_count_of_very_many_is_about_right(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    for _ in 0..6 {
        scene.submit_all(&jobs(1_000, &a_job())).await;
        scene.submit_all(&jobs(500, &a_job().lane(Lane::Low))).await;
    }
    let mut announced = Vec::new();
    for _ in 0..18 {
        let batch = relay.announce(&up_to(500)).await.expect("there are more");
        relay.store.acknowledge(batch.number, &[]).await.expect(ANSWERS);
        announced.extend(batch.jobs);
    }
    assert_eq!(announced.len(), 9_000);
    let about = |counts: LaneCounts, (normal, low): (usize, usize)| {
        let is_near = |count: usize, right: usize| count.abs_diff(right) <= right / 8 + 60;
        assert!(is_near(counts.normal, normal) && is_near(counts.low, low), "{counts:?} of {normal} and {low}");
    };
    about(outstanding(&relay).await, (6_000, 3_000));
    // Every other one of the first two thirds, which are the whole normal lane.
    let taken: Vec<_> = announced[..6_000].iter().step_by(2).map(|one| one.job).collect();
    for some in taken.chunks(500) {
        assert_eq!(scene.take(by_ids(session, some)).await.len(), 500);
    }
    for _ in 0..6 {
        about(outstanding(&relay).await, (3_000, 3_000));
    }
    let rest: Vec<_> = announced[..6_000].iter().skip(1).step_by(2).map(|one| one.job).collect();
    for some in rest.chunks(500) {
        assert_eq!(scene.take(by_ids(session, some)).await.len(), 500);
    }
    for _ in 0..6 {
        about(outstanding(&relay).await, (0, 3_000));
    }
    assert_eq!(outstanding(&relay).await.normal, 0, "what is counted whole is exact");
}

pub async fn what_waits_to_be_announced_is_counted(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let of = |request: &AnnounceRequest| (relay.store.clone(), request.clone());
    let count = async |request: &AnnounceRequest| {
        let (store, request) = of(request);
        store.unannounced(&request).await.expect(ANSWERS).jobs
    };
    assert_eq!(count(&up_to(1)).await, 0);
    scene.submit_all(&jobs(12, &a_job())).await;
    scene.submit_all(&jobs(5, &a_job().queued("mail").lane(Lane::Low))).await;
    scene.submit_all(&jobs(3, &a_job().command())).await;
    scene.submit_all(&jobs(2, &a_job().after(HOUR))).await;
    assert_eq!(count(&up_to(1)).await, 20);
    assert_eq!(count(&AnnounceRequest { queues: Queues::Named(vec![queue("mail")]), ..up_to(1) }).await, 5);
    assert_eq!(count(&AnnounceRequest { routes: vec![Route::command()], ..up_to(1) }).await, 3);
    relay.next(8).await;
    assert_eq!(count(&up_to(1)).await, 12);
    relay.all().await;
    assert_eq!(count(&up_to(1)).await, 0);
}

/// It waits until somebody enables or resumes it, or for a worker that has nothing else to do.
pub async fn what_is_paused_or_disabled_or_must_run_alone_does_not_wait_to_be_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let count = async || {
        let seen = relay.store.unannounced(&up_to(1)).await.expect(ANSWERS);
        (seen.jobs, seen.oldest.is_some())
    };
    let fragile = scene.submit(a_job()).await;
    for _ in 1..MAX_CRASHES {
        scene.crash(fragile).await;
    }
    assert_eq!(count().await, (0, false), "it must run alone");
    scene.pause("mail").await;
    let acme = made(subject, "acme").await;
    scene.submit_all(&jobs(3, &a_job().queued("mail"))).await;
    scene.submit_all(&jobs(5, &a_job().of("acme").queued("mail"))).await;
    assert_eq!(count().await, (5, true), "the queue of another tenant is not paused");
    let acme = changed(subject, &acme, disabled()).await;
    assert_eq!(count().await, (0, false));
    scene.resume("mail").await;
    assert_eq!(count().await, (3, true));
    changed(subject, &acme, TenantSettings::default()).await;
    assert_eq!(count().await, (8, true));
}

pub async fn the_oldest_that_waits_to_be_announced_is_told(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    assert_eq!(relay.store.unannounced(&up_to(1)).await.expect(ANSWERS).oldest, None);
    let since = scene.now().await;
    scene.submit(a_job()).await;
    scene.advance(MINUTE).await;
    scene.submit(a_job().of("other")).await;
    let seen = relay.store.unannounced(&up_to(1)).await.expect(ANSWERS);
    assert_eq!((seen.jobs, seen.is_more, seen.oldest), (2, false, Some(since)));
}

fn consuming(id: SessionId, slots: u32, queues: &[&str]) -> SessionInfo {
    let queues = queues.iter().map(ToString::to_string).collect();
    SessionInfo { slots, queues, consumes: Some(routes()), ..session_info(id, "consumer", TTL) }
}

pub async fn sessions_that_take_work_from_a_broker_are_told(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    assert_eq!(relay.store.consumers().await.expect(ANSWERS), []);
    scene.session().await;
    let (one, other) = (SessionId::fresh(), SessionId::fresh());
    scene.store.register(&consuming(one, 8, &[])).await.expect(ANSWERS);
    scene.store.register(&consuming(other, 3, &["mail", "video"])).await.expect(ANSWERS);
    let mut consumers = relay.store.consumers().await.expect(ANSWERS);
    consumers.sort_by_key(|consumer| consumer.slots);
    let named = Queues::Named(vec![queue("mail"), queue("video")]);
    let expected = [
        Consumer { slots: 3, queues: named, routes: routes() },
        Consumer { slots: 8, queues: Queues::All, routes: routes() },
    ];
    assert_eq!(consumers, expected, "and not the one that asks the store alone");
}

pub async fn a_session_that_is_not_live_consumes_nothing(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let sessions = [SessionId::fresh(), SessionId::fresh(), SessionId::fresh()];
    for id in sessions {
        scene.store.register(&consuming(id, 1, &[])).await.expect(ANSWERS);
    }
    let count = async || relay.store.consumers().await.expect(ANSWERS).len();
    assert_eq!(count().await, 3);
    scene.drain(sessions[0]).await;
    assert_eq!(count().await, 2, "one that drains claims nothing");
    scene.end(sessions[1]).await;
    assert_eq!(count().await, 1);
    scene.advance(TTL.saturating_sub(SECOND)).await;
    assert_eq!(count().await, 1);
    scene.advance(SECOND).await;
    assert_eq!(count().await, 0, "one that was not renewed in time is taken for dead");
}
