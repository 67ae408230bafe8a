//! What can be seen of a queue.

use super::Subject;
use super::given::{HOUR, MINUTE, SECOND, Scene, a_job, completed, failed, tenant};
use foreman_core::id::TenantId;
use foreman_core::ports::{QueueView, WaitingCounts};
use foreman_core::state::State;

async fn views(scene: &Scene<'_>) -> Vec<QueueView> {
    scene.store.queues(&TenantId::default()).await.expect("the store answers")
}

async fn view(scene: &Scene<'_>, name: &str) -> QueueView {
    let views = views(scene).await;
    views.into_iter().find(|view| view.queue.as_str() == name).expect("a queue with jobs is shown")
}

pub async fn a_queue_counts_its_jobs_by_state(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for (state, count) in
        [(State::Scheduled, 3), (State::Retrying, 2), (State::Running, 1), (State::Completed, 2), (State::Pending, 4)]
    {
        for _ in 0..count {
            scene.job_in(state, a_job().queued("mail")).await;
        }
    }
    scene.submit(a_job().queued("other")).await;
    let mail = view(&scene, "mail").await;
    assert_eq!(mail.waiting, WaitingCounts { scheduled: 3, pending: 4, retrying: 2 });
    assert_eq!((mail.running, mail.is_paused), (1, false));
    let other = view(&scene, "other").await;
    assert_eq!((other.waiting.pending, other.running), (1, 0));
}

pub async fn a_queue_tells_how_long_its_oldest_due_job_has_waited(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit(a_job().after(HOUR * 10)).await;
    assert_eq!(view(&scene, "default").await.oldest_wait, None, "what is not due does not wait");
    let oldest = scene.submit(a_job()).await;
    scene.advance(MINUTE).await;
    scene.submit(a_job()).await;
    scene.advance(MINUTE).await;
    let waited = view(&scene, "default").await.oldest_wait.expect("two are due");
    assert!(waited >= MINUTE * 2 && waited < MINUTE * 3, "{waited:?}");
    scene.run(session, oldest, completed()).await;
    let waited = view(&scene, "default").await.oldest_wait.expect("one is due");
    assert!(waited >= MINUTE && waited < MINUTE * 2, "{waited:?}");
}

pub async fn a_job_for_later_waits_from_when_it_is_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job().after(HOUR)).await;
    scene.wait(HOUR + MINUTE).await;
    let waited = view(&scene, "default").await.oldest_wait.expect("it is due");
    assert!(waited >= MINUTE && waited < MINUTE * 2, "{waited:?}");
}

pub async fn a_queue_tells_what_finished_in_the_last_minute(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.job_in(State::Pending, a_job()).await;
    for verdict in [completed(), failed("no")] {
        let id = scene.submit(a_job()).await;
        scene.run(session, id, verdict).await;
    }
    scene.job_in(State::Cancelled, a_job()).await;
    assert_eq!(view(&scene, "default").await.finished_last_minute, 3);
    scene.advance(MINUTE + SECOND).await;
    assert_eq!(view(&scene, "default").await.finished_last_minute, 0);
}

pub async fn a_paused_queue_says_so(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job().queued("mail")).await;
    scene.submit(a_job().queued("other")).await;
    scene.pause("mail").await;
    assert!(view(&scene, "mail").await.is_paused);
    assert!(!view(&scene, "other").await.is_paused);
    scene.resume("mail").await;
    assert!(!view(&scene, "mail").await.is_paused);
}

pub async fn each_queue_is_shown_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for name in ["b", "a", "c"] {
        for state in [State::Pending, State::Running, State::Completed] {
            scene.job_in(state, a_job().queued(name)).await;
        }
    }
    let mut names: Vec<_> = views(&scene).await.into_iter().map(|view| view.queue.to_string()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
}

pub async fn a_queue_counts_one_tenants_jobs_only(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    scene.submit(a_job().of("theirs")).await;
    scene.submit(a_job().of("theirs").queued("secret")).await;
    let names: Vec<_> = views(&scene).await.into_iter().map(|view| view.queue.to_string()).collect();
    assert_eq!(names, ["default"]);
    assert_eq!(view(&scene, "default").await.waiting.pending, 1);
    let theirs = scene.store.queues(&tenant("theirs")).await.expect("the store answers");
    assert_eq!(theirs.len(), 2);
}
