//! What a session holds, as an operator sees it.

use super::Subject;
use super::given::{PLENTY, SECOND, Scene, a_job, alone, by_ids, jobs, queue, retry, sorted, tenant};
use foreman_core::id::{JobId, SessionId};
use foreman_core::ports::HeldView;

async fn held_by(scene: &Scene<'_>, session: SessionId, limit: usize) -> Vec<HeldView> {
    scene.store.held_by(session, limit).await.expect("the store answers")
}

fn ids(views: &[HeldView]) -> Vec<JobId> {
    views.iter().map(|view| view.job).collect()
}

pub async fn what_is_held_is_shown_with_whose_it_is_and_since_when(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().of("acme").queued("mail").kind("welcome")).await;
    scene.run(session, id, retry(std::time::Duration::ZERO)).await;
    scene.claim_job(session, id).await;
    let started_at = scene.now().await;
    scene.advance(SECOND).await;
    let expected = HeldView {
        job: id,
        tenant: tenant("acme"),
        queue: queue("mail"),
        kind: Some("welcome".into()),
        attempt: 2,
        started_at,
    };
    assert_eq!(held_by(&scene, session, PLENTY).await, [expected]);
}

pub async fn the_longest_held_comes_first_and_no_more_than_asked_for(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let young = scene.submit(a_job()).await;
    let old = scene.submit(a_job()).await;
    scene.claim_job(session, old).await;
    scene.advance(SECOND).await;
    scene.claim_job(session, young).await;
    scene.advance(SECOND).await;
    let batch = scene.submit_all(&jobs(3, &a_job().of("acme"))).await;
    scene.claim(session, 3).await;
    let mut expected = vec![old, young];
    expected.extend(sorted(batch));
    assert_eq!(ids(&held_by(&scene, session, PLENTY).await), expected);
    assert_eq!(ids(&held_by(&scene, session, 2).await), expected[..2]);
    assert_eq!(held_by(&scene, session, 0).await, []);
}

pub async fn only_what_is_still_open_is_shown(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (session, other) = (scene.session().await, scene.session().await);
    let came = scene.submit_all(&jobs(4, &a_job())).await;
    let held = scene.take(by_ids(session, &came[..3])).await;
    scene.take(alone(by_ids(other, &came[3..]))).await;
    assert_eq!(ids(&held_by(&scene, other, PLENTY).await), came[3..]);
    for held in held {
        if held.job.id == came[0] {
            scene.complete(session, held).await;
        }
    }
    scene.cancel(came[1]).await;
    assert_eq!(ids(&held_by(&scene, session, PLENTY).await), came[2..3]);
    scene.end(session).await;
    assert_eq!(held_by(&scene, session, PLENTY).await, []);
    assert_eq!(held_by(&scene, SessionId::fresh(), PLENTY).await, [], "nobody registered");
}
