//! The idempotency key: a submission that is safe to repeat.

use super::Subject;
use super::given::{DAY, HOUR, PLENTY, SECOND, Scene, a_job, at_once, completed, tenant};
use foreman_core::ports::{JobFilter, RemoveAnswer, Retention, Submitted};
use foreman_core::state::State;

pub async fn a_key_sent_again_names_the_first_job(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.submit(a_job().keyed("order-1", 1)).await;
    let again = a_job().keyed("order-1", 1).build();
    assert_eq!(scene.answers(std::slice::from_ref(&again)).await, [Submitted::Duplicate(first)]);
    assert!(scene.find(again.id).await.is_none(), "no second job came of it");
}

pub async fn a_key_stands_for_content_that_was_kept_under_a_former_fingerprint(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.submit(a_job().keyed("order-1", 1)).await;
    let keyed = |content: u8, former: &[u8]| {
        let mut job = a_job().keyed("order-1", content).build();
        let idempotency = job.idempotency.as_mut().expect("it has a key");
        idempotency.former = former.iter().map(|content| [*content; 32]).collect();
        job
    };
    let batch = [keyed(7, &[9, 1]), keyed(7, &[9]), keyed(7, &[])];
    let answers = scene.answers(&batch).await;
    assert_eq!(answers, [Submitted::Duplicate(first), Submitted::KeyReused(first), Submitted::KeyReused(first)]);
}

pub async fn a_key_with_other_content_is_refused(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.submit(a_job().keyed("order-1", 1)).await;
    let other = a_job().keyed("order-1", 2).build();
    assert_eq!(scene.answers(std::slice::from_ref(&other)).await, [Submitted::KeyReused(first)]);
    assert!(scene.find(other.id).await.is_none());
}

pub async fn what_a_key_refuses_writes_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job().keyed("order-1", 1)).await;
    let head = scene.head().await;
    let batch = [a_job().keyed("order-1", 1).build(), a_job().keyed("order-1", 2).build()];
    scene.answers(&batch).await;
    assert_eq!(scene.head().await, head, "nothing moved");
    assert_eq!(scene.census().await.jobs, 1);
}

pub async fn keys_of_two_tenants_never_meet(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let ours = scene.submit(a_job().of("ours").keyed("order-1", 1)).await;
    let theirs = scene.submit(a_job().of("theirs").keyed("order-1", 2)).await;
    let again = a_job().of("theirs").keyed("order-1", 2).build();
    assert_eq!(scene.answers(&[again]).await, [Submitted::Duplicate(theirs)]);
    let again = a_job().of("ours").keyed("order-1", 1).build();
    assert_eq!(scene.answers(&[again]).await, [Submitted::Duplicate(ours)]);
}

pub async fn inside_one_batch_keys_are_judged_in_order(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let batch = [
        a_job().keyed("k", 1).build(),
        a_job().keyed("k", 1).build(),
        a_job().keyed("k", 2).build(),
        a_job().keyed("l", 2).build(),
    ];
    let first = batch[0].id;
    let answers = scene.answers(&batch).await;
    assert!(answers[0].is_accepted() && answers[3].is_accepted(), "{answers:?}");
    assert_eq!(answers[1..3], [Submitted::Duplicate(first), Submitted::KeyReused(first)]);
    assert_eq!(scene.count(&JobFilter::default()).await, 2);
}

pub async fn the_owner_of_a_key_sent_again_is_accepted_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asked = a_job().keyed("k", 1).build();
    scene.submit_all(std::slice::from_ref(&asked)).await;
    // The answer was lost and the coalescer sends the same job: it is no duplicate of itself.
    scene.submit_all(std::slice::from_ref(&asked)).await;
    assert_eq!(scene.census().await.jobs, 1);
}

pub async fn a_key_stands_for_its_job_after_the_job_is_final(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.submit(a_job().keyed("k", 1)).await;
    let session = scene.session().await;
    scene.run(session, first, completed()).await;
    assert_eq!(scene.answers(&[a_job().keyed("k", 1).build()]).await, [Submitted::Duplicate(first)]);
    assert_eq!(scene.state(first).await, State::Completed);
}

pub async fn a_key_is_forgotten_when_its_time_is_over(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.submit(a_job().keyed("k", 1)).await;
    scene.advance(DAY.checked_sub(HOUR).expect("an hour is less than a day")).await;
    assert_eq!(scene.answers(&[a_job().keyed("k", 1).build()]).await, [Submitted::Duplicate(first)]);
    scene.advance(HOUR + SECOND).await;
    // Nobody has pruned: the key is over all the same, and is taken over by the new job.
    let second = scene.submit(a_job().keyed("k", 2)).await;
    assert_eq!(scene.answers(&[a_job().keyed("k", 2).build()]).await, [Submitted::Duplicate(second)]);
    assert_eq!(scene.answers(&[a_job().keyed("k", 1).build()]).await, [Submitted::KeyReused(second)]);
}

pub async fn a_pruned_key_can_be_used_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job().keyed("k", 1)).await;
    assert_eq!(scene.prune(&Retention::default(), PLENTY).await.keys, 0, "its time is not over");
    scene.advance(DAY + SECOND).await;
    assert_eq!(scene.prune(&Retention::default(), PLENTY).await.keys, 1);
    scene.submit(a_job().keyed("k", 2)).await;
}

pub async fn removing_a_job_frees_its_key(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.submit(a_job().keyed("k", 1)).await;
    let session = scene.session().await;
    scene.run(session, first, completed()).await;
    assert_eq!(scene.remove(first).await, Some(RemoveAnswer::Removed));
    scene.submit(a_job().keyed("k", 2)).await;
}

pub async fn removing_a_job_leaves_a_key_that_was_taken_over(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.job_in(State::Completed, a_job().keyed("k", 1)).await;
    scene.advance(DAY + SECOND).await;
    let second = scene.submit(a_job().keyed("k", 1)).await;
    assert_eq!(scene.remove(first).await, Some(RemoveAnswer::Removed));
    assert_eq!(scene.answers(&[a_job().keyed("k", 1).build()]).await, [Submitted::Duplicate(second)]);
}

pub async fn of_many_submissions_with_one_key_one_is_accepted(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asked: Vec<_> = (0..16).map(|_| a_job().of("acme").keyed("k", 1).build()).collect();
    let answers: Vec<Submitted> = at_once(asked.iter().cloned().map(|job| {
        let store = subject.store();
        async move { store.submit(&[job]).await.expect("the store answers")[0] }
    }))
    .await;
    let winners: Vec<_> = answers.iter().zip(&asked).filter(|(answer, _)| answer.is_accepted()).collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    let winner = winners[0].1.id;
    let losers = answers.iter().filter(|answer| **answer == Submitted::Duplicate(winner)).count();
    assert_eq!(losers, 15, "everyone else is told the winner: {answers:?}");
    assert_eq!(scene.store.count(&tenant("acme"), &JobFilter::default()).await.expect("the store answers"), 1);
}
