//! Where the log starts: whoever stood there or later can read on, whoever stood before it is known to have missed something.

use super::Subject;
use super::given::{DAY, HOUR, PLENTY, SECOND, Scene, a_job};
use super::prune::for_ever;
use foreman_core::id::JobId;
use foreman_core::ports::{Position, Retention};

fn kept_for_a_day() -> Retention {
    Retention { changes: DAY, ..for_ever() }
}

async fn ids_since(scene: &Scene<'_>, position: Position) -> Vec<JobId> {
    scene.moved_since(position).await.iter().map(|moved| moved.id).collect()
}

pub async fn an_empty_log_starts_where_it_ends(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert_eq!(scene.start().await, scene.head().await);
    let id = scene.submit(a_job()).await;
    assert_eq!(ids_since(&scene, scene.start().await).await, [id]);
}

pub async fn while_nothing_is_pruned_the_whole_log_can_be_read_from_its_start(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let beginning = scene.head().await;
    let mut came = Vec::new();
    for _ in 0..4 {
        came.push(scene.submit(a_job()).await);
        scene.advance(HOUR).await;
        let start = scene.start().await;
        assert!(start <= beginning, "who stood at the beginning has missed nothing");
        assert_eq!(ids_since(&scene, start).await, came);
    }
    scene.prune(&kept_for_a_day(), PLENTY).await;
    assert!(scene.start().await <= beginning, "nothing was old enough");
}

pub async fn what_is_left_after_pruning_can_be_read_from_the_start(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    scene.submit(a_job()).await;
    let between = scene.head().await;
    scene.advance(DAY + SECOND).await;
    let young = [scene.submit(a_job()).await, scene.submit(a_job()).await];
    assert!(scene.prune(&kept_for_a_day(), PLENTY).await.changes >= 2);
    let (start, head) = (scene.start().await, scene.head().await);
    assert!(between <= start && start < head, "{between:?} {start:?} {head:?}");
    assert_eq!(ids_since(&scene, start).await, young);
}

pub async fn who_stood_before_what_was_pruned_is_known(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let beginning = scene.head().await;
    scene.submit(a_job()).await;
    let first = scene.head().await;
    scene.submit(a_job()).await;
    scene.advance(DAY + SECOND).await;
    scene.submit(a_job()).await;
    scene.prune(&kept_for_a_day(), PLENTY).await;
    let start = scene.start().await;
    assert!(beginning < start, "it missed two");
    assert!(first < start, "it missed one");
}

/// One that watches a quiet store for days is not sent away.
pub async fn who_has_read_everything_can_read_on_whatever_was_pruned(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..3 {
        scene.submit(a_job()).await;
        let end = scene.head().await;
        scene.advance(DAY * 3).await;
        scene.prune(&kept_for_a_day(), PLENTY).await;
        assert_eq!(scene.head().await, end, "positions are not taken back");
        assert!(scene.start().await <= end, "everything is gone, and it had read it");
        let next = scene.submit(a_job()).await;
        assert!(scene.start().await <= end);
        assert_eq!(ids_since(&scene, end).await, [next]);
        assert_eq!(ids_since(&scene, scene.start().await).await, [next]);
    }
}

pub async fn the_start_goes_along_with_pruning_in_steps(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut came = Vec::new();
    for _ in 0..5 {
        came.push(scene.submit(a_job()).await);
    }
    scene.advance(DAY + SECOND).await;
    let mut last = scene.start().await;
    for left in (0..5).rev() {
        assert_eq!(scene.prune(&kept_for_a_day(), 1).await.changes, 1);
        let start = scene.start().await;
        assert!(start > last && start <= scene.head().await, "it only goes forward");
        assert_eq!(ids_since(&scene, start).await, came[5 - left..]);
        last = start;
    }
    assert_eq!(scene.prune(&kept_for_a_day(), 1).await.changes, 0);
}

pub async fn no_place_that_was_told_lies_beyond_the_last(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let last = async || scene.store.last().await.expect("the store answers");
    assert!(scene.head().await <= last().await);
    scene.submit(a_job()).await;
    let told = scene.store.changes(scene.start().await, PLENTY).await.expect("the store answers").position;
    assert!(told <= last().await);
    scene.advance(DAY + SECOND).await;
    scene.prune(&kept_for_a_day(), PLENTY).await;
    assert!(told <= last().await, "the end of a log is not taken back when all of it was pruned");
}
