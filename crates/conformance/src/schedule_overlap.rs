//! What a tick does while an earlier job of the same schedule is not final.

use super::Subject;
use super::given::{HOUR, MINUTE, SECOND, Scene, at_once, completed, retry};
use super::timetable::{
    edit, every_minute, fire_by, firing, firing_by_hand, job_of, missed, next_firing, nominals, pause, schedule_ids,
    tick,
};
use foreman_core::id::JobId;
use foreman_core::ports::{Fired, Firing, ScheduleView, TickReason, TickState};
use foreman_core::schedule::Overlap;
use foreman_core::state::State;

/// What became of the ticks, the latest first.
async fn told(scene: &Scene<'_>, view: &ScheduleView) -> Vec<(TickState, Option<TickReason>)> {
    scene.ticks(view).await.iter().map(|tick| (tick.state, tick.reason)).collect()
}

const FIRED: (TickState, Option<TickReason>) = (TickState::Fired, None);
const HELD: (TickState, Option<TickReason>) = (TickState::Held, None);
const SKIPPED: (TickState, Option<TickReason>) = (TickState::Skipped, Some(TickReason::Overlap));

async fn finish(scene: &Scene<'_>, id: JobId) {
    let session = scene.session().await;
    scene.run(session, id, completed()).await;
}

pub async fn allowed_to_overlap_every_tick_fires(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    for _ in 0..3 {
        assert_eq!(scene.fire_next(&view).await.len(), 1);
    }
    assert_eq!(told(&scene, &view).await, [FIRED; 3]);
}

pub async fn a_tick_is_skipped_while_a_job_is_not_final(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    let first = scene.fire_next(&view).await[0];
    assert_eq!(scene.fire_next(&view).await, [], "it waits");
    let session = scene.session().await;
    let proof = scene.claim_job(session, first).await;
    assert_eq!(scene.fire_next(&view).await, [], "it runs");
    scene.end_attempt(proof, retry(HOUR)).await;
    assert_eq!(scene.fire_next(&view).await, [], "it is to be tried again");
    scene.cancel(first).await;
    assert_eq!(scene.fire_next(&view).await.len(), 1, "it is final");
    assert_eq!(told(&scene, &view).await, [FIRED, SKIPPED, SKIPPED, SKIPPED, FIRED]);
    let skipped = scene.ticks(&view).await.remove(1);
    assert_eq!((skipped.job, skipped.last, skipped.count), (None, None, Some(1)));
}

pub async fn one_tick_is_held_and_the_others_are_skipped(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    scene.fire_next(&view).await;
    for _ in 0..3 {
        assert_eq!(scene.fire_next(&view).await, []);
    }
    assert_eq!(told(&scene, &view).await, [SKIPPED, SKIPPED, HELD, FIRED]);
    let held = scene.ticks(&view).await[2].nominal;
    let now = scene.again(&view).await;
    assert_eq!((now.seen.held, now.seen.version), (Some(held), 1));
    let look = scene.due(10).await;
    assert!(look.is_any_held && look.freed.is_empty(), "it has to wait: {look:?}");
}

pub async fn a_held_tick_is_fired_when_nothing_is_open(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let first = scene.fire_next(&view).await[0];
    scene.fire_next(&view).await;
    finish(&scene, first).await;
    scene.advance(SECOND).await;
    let look = scene.due(10).await;
    assert_eq!((schedule_ids(&look.freed), look.is_any_held), (vec![view.schedule.id], true));
    assert!(look.due.is_empty());
    let now = scene.again(&view).await;
    assert_eq!(
        (look.freed[0].seen, format!("{:?}", look.freed[0].schedule)),
        (now.seen, format!("{:?}", now.schedule))
    );
    let held = now.seen.held.expect("it is held");
    let start = scene.head().await;
    let released = firing(&now, Vec::new());
    let job = released.release.clone().expect("a tick is held").id;
    assert_eq!(scene.fired(&released).await, [job]);
    let moved: Vec<_> = scene.moved_since(start).await.iter().map(|moved| (moved.id, moved.step.state)).collect();
    assert_eq!(moved, [(job, State::Pending)]);
    let occasion = scene.view(job).await.job.work.occasion.clone().expect("it has one");
    assert_eq!(occasion.nominal, held, "the tick it was held for");
    let after = scene.again(&view).await;
    assert_eq!((after.seen.held, after.seen.next), (None, now.seen.next), "the calendar is as it was");
    let tick = scene.ticks(&view).await.remove(0);
    assert_eq!((tick.nominal, tick.state, tick.at), (held, TickState::Fired, scene.now().await));
    assert_eq!((tick.job, tick.reason), (Some((job, Some(State::Pending))), None));
    let look = scene.due(10).await;
    assert!(!look.is_any_held && look.freed.is_empty());
    assert_eq!(scene.fire_one(&released).await, Fired::Stale, "sent again");
}

pub async fn a_held_tick_that_has_to_wait_is_not_released(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    scene.fire_next(&view).await;
    scene.fire_next(&view).await;
    let now = scene.again(&view).await;
    assert_eq!(scene.fire_one(&firing(&now, Vec::new())).await, Fired::Done(vec![]));
    assert_eq!(scene.again(&view).await.seen, now.seen);
    assert_eq!(told(&scene, &view).await, [HELD, FIRED]);
}

pub async fn a_released_tick_goes_before_the_one_that_is_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let first = scene.fire_next(&view).await[0];
    scene.fire_next(&view).await;
    finish(&scene, first).await;
    let now = scene.again(&view).await;
    scene.advance(MINUTE).await;
    let both = next_firing(&now);
    let released = both.release.clone().expect("a tick is held").id;
    assert_eq!(scene.fired(&both).await, [released], "and the due one is held in its place");
    assert_eq!(told(&scene, &view).await, [HELD, FIRED, FIRED]);
    assert_eq!(scene.again(&view).await.seen.held, now.seen.next);
}

pub async fn a_paused_schedule_keeps_its_held_tick_to_itself(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let first = scene.fire_next(&view).await[0];
    scene.fire_next(&view).await;
    let paused = scene.edited(&pause(&scene.again(&view).await)).await;
    finish(&scene, first).await;
    let look = scene.due(10).await;
    assert!(look.freed.is_empty() && !look.is_any_held, "{look:?}");
    scene.edited(&edit(&paused, Some(scene.now().await.plus(HOUR)))).await;
    assert_eq!(schedule_ids(&scene.due(10).await.freed), [view.schedule.id]);
}

pub async fn no_more_freed_ones_than_asked_for_are_listed(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for name in ["a", "b", "c"] {
        let view = scene.plant(every_minute(name).overlap(Overlap::Queue)).await;
        let next = view.seen.next.expect("it has one");
        scene.advance(MINUTE * 2).await;
        let both = firing(&view, vec![tick(&view, next), tick(&view, next.plus(MINUTE))]);
        let first = scene.fired(&both).await[0];
        finish(&scene, first).await;
    }
    assert_eq!(scene.due(2).await.freed.len(), 2);
    assert_eq!(scene.due(10).await.freed.len(), 3);
}

pub async fn open_jobs_are_cancelled_before_the_tick_fires(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Cancel)).await;
    let first = scene.fire_next(&view).await[0];
    let now = scene.again(&view).await;
    scene.advance(MINUTE).await;
    let firing = next_firing(&now);
    for _ in 0..2 {
        assert_eq!(scene.fire_one(&firing).await, Fired::CancelFirst(vec![first]));
    }
    assert_eq!(scene.again(&view).await.seen, now.seen, "nothing was written");
    assert_eq!((told(&scene, &view).await, scene.state(first).await), (vec![FIRED], State::Pending));
    scene.cancel(first).await;
    let second = job_of(&firing.ticks[0]).id;
    assert_eq!(scene.fired(&firing).await, [second]);
    assert_eq!((scene.state(first).await, scene.state(second).await), (State::Cancelled, State::Pending));
}

pub async fn one_that_is_to_cancel_first_holds_up_no_other(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let busy = scene.plant(every_minute("busy").overlap(Overlap::Cancel)).await;
    let first = scene.fire_next(&busy).await[0];
    let other = scene.plant(every_minute("other")).await;
    scene.advance(MINUTE).await;
    let fired = scene.fire(&[next_firing(&scene.again(&busy).await), next_firing(&other)]).await;
    assert_eq!(fired[0], Fired::CancelFirst(vec![first]));
    assert!(matches!(&fired[1], Fired::Done(jobs) if jobs.len() == 1), "{fired:?}");
}

pub async fn of_many_ticks_that_would_cancel_each_other_the_last_fires(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Cancel)).await;
    let next = view.seen.next.expect("it has one");
    scene.advance(MINUTE * 3).await;
    let firing = firing(&view, (0..3).map(|minutes| tick(&view, next.plus(MINUTE * minutes))).collect());
    assert_eq!(scene.fired(&firing).await, [job_of(&firing.ticks[2]).id]);
    assert_eq!(told(&scene, &view).await, [FIRED, SKIPPED, SKIPPED]);
}

pub async fn of_many_ticks_at_once_one_fires_and_one_is_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let next = view.seen.next.expect("it has one");
    scene.advance(MINUTE * 5).await;
    let mut ticks = vec![missed(next, next.plus(MINUTE), Some(2))];
    ticks.extend((2..5).map(|minutes| tick(&view, next.plus(MINUTE * minutes))));
    let firing = firing(&view, ticks);
    assert_eq!(scene.fired(&firing).await, [job_of(&firing.ticks[1]).id]);
    let missed = (TickState::Skipped, Some(TickReason::Missed));
    assert_eq!(told(&scene, &view).await, [SKIPPED, HELD, FIRED, missed]);
    assert_eq!(scene.again(&view).await.seen.held, Some(next.plus(MINUTE * 3)));
}

pub async fn a_job_that_was_redriven_is_open_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    let first = scene.fire_next(&view).await[0];
    finish(&scene, first).await;
    scene.redrive(first).await;
    assert_eq!(scene.fire_next(&view).await, []);
    finish(&scene, first).await;
    assert_eq!(scene.fire_next(&view).await.len(), 1);
}

pub async fn a_job_that_was_removed_is_not_open(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let first = scene.fire_next(&view).await[0];
    scene.fire_next(&view).await;
    finish(&scene, first).await;
    scene.remove(first).await;
    assert_eq!(schedule_ids(&scene.due(10).await.freed), [view.schedule.id]);
    assert_eq!(scene.fired(&firing(&scene.again(&view).await, Vec::new())).await.len(), 1);
}

pub async fn a_job_asked_for_by_hand_is_open_like_any_other(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    let by_hand = scene.fired(&firing_by_hand(&view, scene.now().await)).await[0];
    assert_eq!(scene.fire_next(&view).await, []);
    finish(&scene, by_hand).await;
    assert_eq!(scene.fire_next(&view).await.len(), 1);
}

pub async fn only_the_schedules_own_jobs_are_in_its_way(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let busy = scene.plant(every_minute("busy")).await;
    scene.fire_next(&busy).await;
    let view = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    assert_eq!(scene.fire_next(&view).await.len(), 1);
    // One of that name that was deleted is another.
    scene.delete(&scene.again(&view).await).await;
    let again = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    assert_eq!(scene.fire_next(&again).await.len(), 1);
}

pub async fn many_who_fire_at_once_never_start_two_that_must_not_overlap(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for (name, overlap) in [("skip", Overlap::Skip), ("queue", Overlap::Queue)] {
        let view = scene.plant(every_minute(name).overlap(overlap).queued(name)).await;
        let next = view.seen.next.expect("it has one");
        scene.advance(MINUTE * 2).await;
        let both = |view: &ScheduleView| firing(view, vec![tick(view, next), tick(view, next.plus(MINUTE))]);
        let fired = at_once((0..8).map(|_| {
            let (store, firing) = (subject.store(), both(&view));
            async move { fire_by(&*store, firing).await }
        }))
        .await;
        let jobs: usize = fired.iter().map(|fired| if let Fired::Done(jobs) = fired { jobs.len() } else { 0 }).sum();
        assert_eq!((jobs, scene.count_in(name).await), (1, 1), "{overlap:?}: {fired:?}");
        assert_eq!(nominals(&scene.ticks(&view).await).len(), 2);
    }
}

pub async fn many_who_release_at_once_release_one(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue).queued("mail")).await;
    let first = scene.fire_next(&view).await[0];
    scene.fire_next(&view).await;
    finish(&scene, first).await;
    let now = scene.again(&view).await;
    let fired: Vec<Fired> = at_once((0..8).map(|_| {
        let (store, release): (_, Firing) = (subject.store(), firing(&now, Vec::new()));
        async move { fire_by(&*store, release).await }
    }))
    .await;
    assert_eq!(fired.iter().filter(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)).count(), 1);
    assert_eq!(scene.count_in("mail").await, 2);
}
