//! How much a tenant has waiting and running, counted from where the jobs are: limits are derived, and no counter can leak.

use std::collections::BTreeMap;

use super::Subject;
use super::given::{HOUR, Scene, a_job, by_order, completed, dead, interrupted, jobs, open, retry, tenant};
use foreman_core::job::QueueName;
use foreman_core::state::State;

const ANSWERS: &str = "the store answers";

async fn running(scene: &Scene<'_>) -> BTreeMap<String, u64> {
    let counts = scene.store.running().await.expect(ANSWERS);
    let length = counts.len();
    let counts: BTreeMap<String, u64> = counts.into_iter().map(|(tenant, count)| (tenant.to_string(), count)).collect();
    assert_eq!(counts.len(), length, "each tenant once");
    counts
}

fn expected<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(tenant, count)| (tenant.to_owned(), count)).collect()
}

async fn waiting(scene: &Scene<'_>, of: &str, enough: u64) -> u64 {
    scene.store.waiting(&tenant(of), enough).await.expect(ANSWERS)
}

pub async fn what_is_held_is_counted_for_each_tenant(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (first, second) = (scene.session().await, scene.session().await);
    assert_eq!(running(&scene).await, expected([]));
    scene.submit_all(&jobs(3, &a_job().of("acme").queued("mail"))).await;
    scene.submit_all(&jobs(2, &a_job().of("acme").queued("video").command())).await;
    scene.submit_all(&jobs(2, &a_job().of("other"))).await;
    scene.submit(a_job().of("later").after(HOUR)).await;
    assert_eq!(running(&scene).await, expected([]), "what waits does not run");
    assert_eq!(scene.claim(first, 3).await.len(), 3);
    assert_eq!(running(&scene).await.values().sum::<u64>(), 3);
    assert_eq!(scene.claim(second, 10).await.len(), 4);
    assert_eq!(running(&scene).await, expected([("acme", 5), ("other", 2)]), "over sessions, claims and queues");
}

pub async fn what_is_settled_runs_no_more(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job().of("acme"))).await;
    let held = scene.claim(session, 5).await;
    let verdicts = [completed(), dead("never"), retry(HOUR), interrupted(), foreman_core::outcome::Verdict::Released];
    for (left, (held, verdict)) in (0..5).rev().zip(held.into_iter().zip(verdicts)) {
        scene.settle_all(session, &[held.settle(verdict)]).await;
        let counts = if left == 0 { expected([]) } else { expected([("acme", left)]) };
        assert_eq!(running(&scene).await, counts, "one claim, one job after another");
    }
}

pub async fn what_is_cancelled_runs_no_more(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(3, &a_job().of("acme"))).await;
    let held = scene.claim(session, 3).await;
    scene.store.cancel(&tenant("acme"), &came[..2]).await.expect(ANSWERS);
    assert_eq!(running(&scene).await, expected([("acme", 1)]), "though its worker has not heard of it yet");
    let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
    scene.settle_all(session, &batch).await;
    assert_eq!(running(&scene).await, expected([]));
}

pub async fn what_a_session_held_runs_no_more_when_it_is_over(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (mortal, session) = (scene.mortal().await, scene.session().await);
    scene.submit_all(&jobs(2, &a_job().of("acme"))).await;
    scene.claim(mortal, 2).await;
    assert_eq!(running(&scene).await, expected([("acme", 2)]));
    scene.lapse(mortal).await;
    assert_eq!(running(&scene).await, expected([]), "lapsed");
    scene.claim(session, 2).await;
    assert_eq!(running(&scene).await, expected([("acme", 2)]), "claimed again, counted once");
    scene.end(session).await;
    assert_eq!(running(&scene).await, expected([]), "ended");
    let session = scene.session().await;
    let request = by_order(session, 2);
    let held = scene.take(request.clone()).await;
    assert_eq!(running(&scene).await, expected([("acme", 2)]));
    assert_eq!(held.iter().map(open).count(), 2);
    scene.beat(session, &[request.token]).await;
    assert_eq!(running(&scene).await, expected([]), "given up");
}

pub async fn what_waits_is_counted_whatever_it_waits_for(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL {
        scene.job_in(state, a_job().of("acme")).await;
        scene.job_in(state, a_job().of("other").queued("mail")).await;
    }
    for of in ["acme", "other"] {
        assert_eq!(waiting(&scene, of, 100).await, 3, "scheduled, pending and retrying");
    }
    assert_eq!(waiting(&scene, "nobody", 100).await, 0);
    scene.submit_all(&jobs(2, &a_job().of("acme").queued("video").task("resize"))).await;
    assert_eq!((waiting(&scene, "acme", 100).await, waiting(&scene, "other", 100).await), (5, 3));
    scene.store.pause(&tenant("acme"), &super::given::queue("video")).await.expect(ANSWERS);
    assert_eq!(waiting(&scene, "acme", 100).await, 5, "in a paused queue too");
    scene.wait(HOUR * 2).await;
    assert_eq!(waiting(&scene, "acme", 100).await, 5, "due or not");
}

pub async fn what_waits_is_counted_no_further_than_enough(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(30, &a_job().of("acme"))).await;
    scene.submit_all(&jobs(5, &a_job().of("acme").after(HOUR))).await;
    for (enough, expected) in [(0, 0), (1, 1), (34, 34), (35, 35), (36, 35), (u64::from(u32::MAX), 35)] {
        assert_eq!(waiting(&scene, "acme", enough).await, expected, "up to {enough}");
    }
    for held in scene.claim(session, 10).await {
        scene.complete(session, held).await;
    }
    assert_eq!(waiting(&scene, "acme", 100).await, 25);
}

async fn waiting_queues(scene: &Scene<'_>, of: &str, enough: u64) -> u64 {
    scene.store.waiting_queues(&tenant(of), enough).await.expect(ANSWERS)
}

pub async fn queues_are_counted_while_jobs_wait_in_them(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    assert_eq!(waiting_queues(&scene, "acme", 100).await, 0);
    scene.submit_all(&jobs(3, &a_job().of("acme").queued("mail"))).await;
    scene.submit_all(&jobs(2, &a_job().of("acme").queued("mail").command())).await;
    scene.submit_all(&jobs(2, &a_job().of("acme").queued("video"))).await;
    scene.submit(a_job().of("acme").queued("later").after(HOUR)).await;
    scene.submit(a_job().of("other").queued("other")).await;
    assert_eq!(waiting_queues(&scene, "acme", 100).await, 3, "each once, and whether its jobs are due or not");
    assert_eq!((waiting_queues(&scene, "other", 100).await, waiting_queues(&scene, "nobody", 100).await), (1, 0));
    scene.store.pause(&tenant("acme"), &super::given::queue("video")).await.expect(ANSWERS);
    assert_eq!(waiting_queues(&scene, "acme", 100).await, 3, "a paused queue too");
    scene.store.resume(&tenant("acme"), &super::given::queue("video")).await.expect(ANSWERS);

    let held = scene.claim(session, 100).await;
    assert_eq!(held.len(), 8);
    assert_eq!(waiting_queues(&scene, "acme", 100).await, 1, "nothing waits where everything is held");
    let again = held.into_iter().find(|held| held.job.work.queue == super::given::queue("video")).expect("claimed");
    scene.settle_all(session, &[again.settle(retry(HOUR))]).await;
    assert_eq!(waiting_queues(&scene, "acme", 100).await, 2, "what is tried again waits");
}

pub async fn queues_are_counted_no_further_than_enough(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for n in 0..12 {
        scene.submit_all(&jobs(2, &a_job().of("acme").queued(&format!("queue-{n}")))).await;
    }
    for (enough, expected) in [(0, 0), (1, 1), (11, 11), (12, 12), (13, 12), (u64::MAX, 12)] {
        assert_eq!(waiting_queues(&scene, "acme", enough).await, expected, "up to {enough}");
    }
}

pub async fn it_is_known_in_which_queues_jobs_wait(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let found = async |of: &str, asked: &[&str]| {
        let asked: Vec<QueueName> = asked.iter().map(|name| super::given::queue(name)).collect();
        let mut found = scene.store.waiting_in(&tenant(of), &asked).await.expect(ANSWERS);
        found.sort_unstable();
        found.iter().map(|queue| queue.as_str().to_owned()).collect::<Vec<_>>()
    };
    let mail = scene.submit_all(&jobs(2, &a_job().of("acme").queued("mail"))).await;
    scene.submit(a_job().of("acme").queued("later").after(HOUR)).await;
    scene.submit(a_job().of("other").queued("video")).await;
    let asked = ["video", "mail", "none", "later", "mail"];
    assert_eq!(found("acme", &asked).await, ["later", "mail"], "its own, each once");
    assert_eq!(found("other", &asked).await, ["video"]);
    assert_eq!(found("acme", &["video"]).await, [""; 0]);
    assert_eq!(found("acme", &[]).await, [""; 0]);
    scene.store.cancel(&tenant("acme"), &mail[..1]).await.expect(ANSWERS);
    assert_eq!(found("acme", &asked).await, ["later", "mail"]);
    scene.store.cancel(&tenant("acme"), &mail[1..]).await.expect(ANSWERS);
    assert_eq!(found("acme", &asked).await, ["later"], "the name is free again");
}
