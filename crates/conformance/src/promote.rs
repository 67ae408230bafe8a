//! Giving what has fallen due its place in the order.

use super::Subject;
use super::given::{HOUR, MINUTE, PLENTY, SECOND, Scene, a_job, at_once, completed, jobs, retry};
use foreman_core::ports::Due;
use foreman_core::state::State;

pub async fn with_nothing_waiting_there_is_nothing_to_do(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    assert_eq!(scene.promote(PLENTY).await, Due::default());
}

pub async fn what_has_fallen_due_is_promoted_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job().after(HOUR)).await;
    assert_eq!(scene.promote(PLENTY).await.promoted, 0, "it is not due");
    scene.advance(HOUR + SECOND).await;
    assert_eq!(scene.promote(PLENTY).await.promoted, 1);
    assert_eq!(scene.promote(PLENTY).await.promoted, 0);
    assert_eq!(scene.state(id).await, State::Pending);
}

pub async fn a_retry_is_promoted_like_any_other(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, retry(MINUTE)).await;
    scene.advance(MINUTE + SECOND).await;
    assert_eq!(scene.promote(PLENTY).await.promoted, 1);
    assert_eq!(scene.state(id).await, State::Pending);
    scene.run(session, id, completed()).await;
}

pub async fn it_tells_when_the_next_falls_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    scene.submit(a_job().at(now.plus(HOUR * 3))).await;
    let early = scene.submit(a_job().at(now.plus(HOUR))).await;
    scene.submit(a_job().at(now.plus(HOUR * 2))).await;
    let due = scene.promote(PLENTY).await;
    assert_eq!(due.next, Some(now.plus(HOUR)), "the earliest of them");
    let wait = due.next_in.expect("there is a next");
    assert!(wait <= HOUR && wait > HOUR / 2, "{wait:?}");
    scene.cancel(early).await;
    assert_eq!(scene.promote(PLENTY).await.next, Some(now.plus(HOUR * 2)), "a cancelled one is not waited for");
}

pub async fn it_tells_when_the_next_expires(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    scene.submit(a_job().at(now.plus(HOUR * 3))).await;
    scene.submit(a_job().expires(now.plus(HOUR))).await;
    assert_eq!(scene.promote(PLENTY).await.next, Some(now.plus(HOUR)));
}

pub async fn what_is_left_over_is_due_already(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(5, &a_job().after(HOUR))).await;
    scene.advance(HOUR * 2).await;
    let due = scene.promote(2).await;
    assert_eq!(due.promoted, 2);
    assert!(due.was_busy(2));
    assert_eq!(due.next_in, Some(std::time::Duration::ZERO), "call again at once");
    assert_eq!(scene.promote(2).await.promoted, 2);
    let last = scene.promote(2).await;
    assert_eq!((last.promoted, last.was_busy(2), last.next), (1, false, None));
}

pub async fn many_promoters_at_once_promote_each_job_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(200, &a_job().after(HOUR))).await;
    scene.advance(HOUR * 2).await;
    let head = scene.head().await;
    let promoted = at_once((0..6).map(|_| {
        let store = subject.store();
        async move {
            let mut promoted = 0;
            loop {
                let due = store.promote(15).await.expect("the store answers");
                promoted += due.promoted;
                if !due.was_busy(15) && due.next.is_none() {
                    return promoted;
                }
                tokio::task::yield_now().await;
            }
        }
    }))
    .await;
    assert_eq!(promoted.iter().sum::<usize>(), 200, "{promoted:?}");
    assert_eq!(scene.moved_since(head).await.len(), 200, "each fell due once");
    let session = scene.session().await;
    assert_eq!(scene.claim(session, 300).await.len(), 200);
}

pub async fn a_job_of_a_paused_queue_falls_due_and_waits(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job().after(HOUR)).await;
    scene.pause("default").await;
    scene.wait(HOUR * 2).await;
    assert_eq!(scene.state(id).await, State::Pending);
    let session = scene.session().await;
    assert!(scene.claim(session, 5).await.is_empty());
    scene.resume("default").await;
    assert_eq!(scene.claim(session, 5).await.len(), 1);
}
