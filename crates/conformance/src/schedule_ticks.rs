//! What became of ticks: listed the latest first, and kept for their retention.

use super::Subject;
use super::given::{DAY, HOUR, MINUTE, PLENTY, SECOND, Scene, completed};
use super::timetable::{every_minute, firing, firing_by_hand, missed, nominals};
use foreman_core::ports::{Retention, ScheduleView, TickState};
use foreman_core::schedule::Overlap;
use foreman_core::state::State;
use foreman_core::time::Timestamp;

/// Keeps everything but ticks for ever.
fn keeping_ticks(ticks: std::time::Duration) -> Retention {
    let long = DAY * 100_000;
    Retention {
        completed: None,
        failed: None,
        cancelled: None,
        dead: None,
        changes: long,
        sessions: long,
        queues: long,
        ticks,
        deliveries: long,
        audit: long,
        statistics: long,
        parked: long,
    }
}

async fn fire_and_finish(scene: &Scene<'_>, view: &ScheduleView) {
    let session = scene.session().await;
    for id in scene.fire_next(view).await {
        scene.run(session, id, completed()).await;
    }
}

pub async fn ticks_are_listed_the_latest_first_page_by_page(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (view, other) = (scene.plant(every_minute("daily")).await, scene.plant(every_minute("other")).await);
    let mut expected: Vec<Timestamp> = Vec::new();
    for _ in 0..7 {
        scene.fire_next(&view).await;
        scene.fired(&super::timetable::next_firing(&scene.again(&other).await)).await;
        expected.insert(0, scene.now().await);
    }
    assert_eq!(nominals(&scene.ticks(&view).await), expected);
    for limit in [1, 3, 7] {
        let (mut before, mut seen) = (None, Vec::new());
        loop {
            let page = scene.store.ticks(view.schedule.id, before, limit).await.expect("the store answers");
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            before = Some(last.nominal);
            seen.extend(nominals(&page));
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
    assert!(scene.ticks(&scene.plant(every_minute("new")).await).await.is_empty());
}

pub async fn a_tick_tells_the_state_of_its_job(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let id = scene.fire_next(&view).await[0];
    let session = scene.session().await;
    let state = async || scene.ticks(&view).await[0].job.expect("it made one").1;
    assert_eq!(state().await, Some(State::Pending));
    let proof = scene.claim_job(session, id).await;
    assert_eq!(state().await, Some(State::Running));
    scene.end_attempt(proof, completed()).await;
    assert_eq!(state().await, Some(State::Completed));
    assert_eq!(scene.again(&view).await.last_tick.and_then(|tick| tick.job), Some((id, Some(State::Completed))));
    scene.remove(id).await;
    assert_eq!(scene.ticks(&view).await[0].job, Some((id, None)), "it was removed");
}

pub async fn ticks_are_kept_for_their_retention(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    for _ in 0..3 {
        fire_and_finish(&scene, &view).await;
    }
    let retention = keeping_ticks(HOUR);
    assert_eq!(scene.prune(&retention, PLENTY).await.ticks, 0, "none is old enough");
    scene.advance(HOUR.saturating_sub(MINUTE * 2)).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.ticks, 1, "the first has been there for an hour");
    scene.advance(HOUR).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.ticks, 1);
    let left = scene.ticks(&view).await;
    assert_eq!(left.len(), 1, "the latest stays, however old it is");
    assert_eq!(scene.again(&view).await.last_tick.as_ref(), left.first());
}

pub async fn a_ticks_age_counts_from_when_it_was_decided(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let first = view.seen.next.expect("it has one");
    scene.advance(DAY).await;
    scene.fired(&firing(&view, vec![missed(first, scene.now().await, None)])).await;
    fire_and_finish(&scene, &view).await;
    assert_eq!(scene.prune(&keeping_ticks(HOUR), PLENTY).await.ticks, 0, "it was missed a minute ago");
    scene.advance(HOUR).await;
    assert_eq!(scene.prune(&keeping_ticks(HOUR), PLENTY).await.ticks, 1);
}

pub async fn a_tick_whose_job_is_not_final_stays(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    let id = scene.fire_next(&view).await[0];
    scene.fire_next(&view).await;
    scene.fire_next(&view).await;
    scene.advance(DAY).await;
    let retention = keeping_ticks(HOUR);
    assert_eq!(scene.prune(&retention, PLENTY).await.ticks, 1, "one was skipped, and is not the latest");
    let left: Vec<TickState> = scene.ticks(&view).await.iter().map(|tick| tick.state).collect();
    assert_eq!(left, [TickState::Skipped, TickState::Fired]);
    assert_eq!(scene.fire_next(&view).await, [], "its job is still in the way");
    scene.advance(DAY).await;
    let session = scene.session().await;
    scene.run(session, id, completed()).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.ticks, 2);
}

pub async fn a_tick_whose_job_was_removed_goes(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let id = scene.fire_next(&view).await[0];
    let session = scene.session().await;
    scene.run(session, id, completed()).await;
    scene.remove(id).await;
    fire_and_finish(&scene, &view).await;
    scene.advance(DAY).await;
    assert_eq!(scene.prune(&keeping_ticks(HOUR), PLENTY).await.ticks, 1);
}

pub async fn a_held_tick_stays(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let first = scene.fire_next(&view).await[0];
    for _ in 0..3 {
        scene.fire_next(&view).await;
    }
    let session = scene.session().await;
    scene.run(session, first, completed()).await;
    scene.advance(DAY).await;
    assert_eq!(scene.prune(&keeping_ticks(HOUR), PLENTY).await.ticks, 2, "the fired one, and one of two skipped");
    let left: Vec<TickState> = scene.ticks(&view).await.iter().map(|tick| tick.state).collect();
    assert_eq!(left, [TickState::Skipped, TickState::Held]);
    assert_eq!(scene.fired(&firing(&scene.again(&view).await, Vec::new())).await.len(), 1, "and can be released");
}

pub async fn the_ticks_of_a_deleted_schedule_go_with_their_retention(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let first = scene.fire_next(&view).await[0];
    scene.fire_next(&view).await;
    scene.delete(&scene.again(&view).await).await;
    scene.advance(DAY).await;
    let retention = keeping_ticks(HOUR);
    assert_eq!(scene.prune(&retention, PLENTY).await.ticks, 1, "the job of the other is not final");
    let session = scene.session().await;
    scene.run(session, first, completed()).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.ticks, 1, "its latest is nobody's any more");
    assert!(scene.ticks(&view).await.is_empty());
}

pub async fn at_most_so_many_ticks_are_pruned_in_one_step(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    for _ in 0..6 {
        fire_and_finish(&scene, &view).await;
    }
    scene.advance(DAY).await;
    let retention = keeping_ticks(HOUR);
    let mut steps = Vec::new();
    loop {
        let pruned = scene.prune(&retention, 2).await;
        steps.push(pruned.ticks);
        if !pruned.was_busy(2) {
            break;
        }
    }
    assert_eq!(steps, [2, 2, 1]);
}

pub async fn a_latest_tick_made_by_hand_keeps_its_place_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    fire_and_finish(&scene, &view).await;
    scene.advance(SECOND).await;
    let session = scene.session().await;
    let by_hand = scene.fired(&firing_by_hand(&scene.again(&view).await, scene.now().await)).await[0];
    scene.run(session, by_hand, completed()).await;
    scene.advance(DAY).await;
    assert_eq!(scene.prune(&keeping_ticks(HOUR), PLENTY).await.ticks, 1);
    assert_eq!(scene.ticks(&view).await[0].job.expect("it made one").0, by_hand);
}
