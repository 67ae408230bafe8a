//! Followers of the change log: each has a position of its own, writes with its move, and holds the log back until it has read it.

use super::Subject;
use super::given::{DAY, PLENTY, Scene, a_job, at_once, jobs};
use super::posting::callback;
use super::prune::for_ever;
use foreman_core::ports::{
    Advance, Advanced, Begin, Effect, FollowerName, Position, PruneKind, PruneStep, Retention, Store, UNREAD_KEPT,
};

const ANSWERS: &str = "the store answers";

/// None that a store has heard of before.
const NEWCOMER: FollowerName = FollowerName::new("newcomer");
const OTHER: FollowerName = FollowerName::new("other");

async fn follow(store: &dyn Store, follower: &FollowerName, begin: Begin) -> Position {
    store.follow(None, follower, begin).await.expect(ANSWERS).expect("nobody's term is over")
}

async fn advance(store: &dyn Store, follower: &FollowerName, from: Position, to: Position) -> Advanced {
    write(store, &Advance { follower: follower.clone(), from, to, effect: Effect::Nothing }).await
}

async fn write(store: &dyn Store, advance: &Advance) -> Advanced {
    store.advance(None, advance).await.expect(ANSWERS).expect("nobody's term is over")
}

async fn prune(scene: &Scene<'_>) -> PruneStep {
    let retention = Retention { changes: DAY, ..for_ever() };
    let step = scene.store.prune_kind(None, PruneKind::Changes, &retention, PLENTY).await;
    step.expect(ANSWERS).expect("nobody's term is over")
}

pub async fn a_new_follower_begins_where_it_says(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    let head = scene.head().await;
    assert_eq!(follow(&*scene.store, &NEWCOMER, Begin::End).await, head);
    let start = follow(&*scene.store, &OTHER, Begin::Start).await;
    assert_eq!(scene.moved_since(start).await.iter().map(|moved| moved.id).collect::<Vec<_>>(), [id]);
    scene.submit(a_job()).await;
    assert_eq!(follow(&*scene.store, &NEWCOMER, Begin::End).await, head, "it has read nothing since");
    assert_eq!(follow(&*scene.store, &NEWCOMER, Begin::Start).await, head, "it has begun");
}

pub async fn each_follower_has_its_own_position(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let from = follow(&*scene.store, &NEWCOMER, Begin::Start).await;
    assert_eq!(follow(&*scene.store, &OTHER, Begin::Start).await, from);
    scene.submit(a_job()).await;
    let to = scene.head().await;
    assert_eq!(advance(&*scene.store, &NEWCOMER, from, to).await, Advanced::Done);
    assert_eq!(follow(&*scene.store, &NEWCOMER, Begin::Start).await, to);
    assert_eq!(follow(&*scene.store, &OTHER, Begin::Start).await, from, "it has not moved");
    scene.store.dismiss(None, &NEWCOMER).await.expect(ANSWERS);
    assert_eq!(follow(&*scene.store, &NEWCOMER, Begin::Start).await, from, "it begins anew");
    assert_eq!(advance(&*scene.store, &OTHER, from, to).await, Advanced::Done, "and the other goes on");
}

pub async fn a_follower_that_was_never_added_writes_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    let (from, to) = (Position::default(), scene.head().await);
    let effect = Effect::Deliveries(vec![callback("acme")]);
    let unknown = Advance { follower: NEWCOMER, from, to, effect };
    assert_eq!(write(&*scene.store, &unknown).await, Advanced::Overtaken);
    assert_eq!(scene.census().await.jobs, 1);
}

/// Whatever the follower: its effect is written with its move, or not at all.
pub async fn of_followers_of_one_name_at_once_one_writes(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut from = follow(&*scene.store, &NEWCOMER, Begin::Start).await;
    for round in 1..=5_u64 {
        scene.submit(a_job()).await;
        let to = scene.head().await;
        let answers = at_once((0..4).map(|_| {
            let store = subject.store();
            let effect = Effect::Deliveries(vec![callback("acme")]);
            async move { write(&*store, &Advance { follower: NEWCOMER, from, to, effect }).await }
        }))
        .await;
        assert_eq!(answers.iter().filter(|answer| **answer == Advanced::Done).count(), 1, "{answers:?}");
        assert_eq!(scene.census().await.jobs, 2 * round, "what was submitted, and one effect");
        from = follow(&*scene.store, &NEWCOMER, Begin::Start).await;
        assert_eq!(from, to);
    }
}

pub async fn what_any_follower_has_not_read_is_kept_and_it_is_named(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let slow = follow(&*scene.store, &NEWCOMER, Begin::Start).await;
    let quick = follow(&*scene.store, &OTHER, Begin::Start).await;
    scene.submit_all(&jobs(2, &a_job())).await;
    let middle = scene.head().await;
    scene.submit(a_job()).await;
    let head = scene.head().await;
    assert_eq!(advance(&*scene.store, &OTHER, quick, head).await, Advanced::Done);
    assert_eq!(prune(&scene).await, PruneStep { is_done: true, ..PruneStep::default() }, "nothing is old");
    scene.advance(DAY * 2).await;
    let held = PruneStep { removed: 0, is_done: true, held_by: Some(NEWCOMER) };
    assert_eq!(prune(&scene).await, held, "one has read it, and one has not");
    assert_eq!(advance(&*scene.store, &NEWCOMER, slow, middle).await, Advanced::Done);
    let step = prune(&scene).await;
    assert!(step.removed >= 1 && step.held_by == Some(NEWCOMER), "only what both have read: {step:?}");
    assert!(scene.start().await <= middle);
    assert_eq!(advance(&*scene.store, &NEWCOMER, middle, head).await, Advanced::Done);
    let step = prune(&scene).await;
    assert!(step.removed == 1 && step.held_by.is_none(), "both have read it: {step:?}");
}

pub async fn a_follower_holds_the_log_back_for_a_week(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    follow(&*scene.store, &FollowerName::BOOKKEEPER, Begin::Start).await;
    scene.submit(a_job()).await;
    scene.advance(UNREAD_KEPT.saturating_sub(DAY)).await;
    assert_eq!(prune(&scene).await.held_by, Some(FollowerName::BOOKKEEPER));
    scene.advance(DAY).await;
    assert_eq!(prune(&scene).await, PruneStep { removed: 1, is_done: true, held_by: None });
}

/// The bookkeeper of a store that was just made is there from the beginning, for the version before.
pub async fn a_follower_that_never_asked_holds_nothing_back(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    scene.advance(DAY * 2).await;
    assert_eq!(prune(&scene).await, PruneStep { removed: 1, is_done: true, held_by: None });
}
