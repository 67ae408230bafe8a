//! What is due, by the store's clock, and when the next will be.

use std::time::Duration;

use super::Subject;
use super::given::{HOUR, MINUTE, PLENTY, SECOND, Scene};
use super::timetable::{edit, every_minute, next_firing, pause, schedule_ids};
use foreman_core::ports::Fired;

const TINY: Duration = Duration::from_micros(1);

pub async fn with_no_schedules_nothing_is_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let look = scene.due(10).await;
    assert!(look.due.is_empty() && look.freed.is_empty() && !look.is_any_held);
    assert_eq!((look.next_in, look.now), (None, scene.now().await));
}

pub async fn the_store_tells_its_time(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..2 {
        assert_eq!(scene.store.time().await.expect("the store answers"), scene.now().await);
        scene.advance(HOUR).await;
    }
}

pub async fn a_schedule_is_due_at_its_time_and_not_before(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    assert_eq!(scene.due(10).await.next_in, Some(MINUTE));
    scene.advance(MINUTE.saturating_sub(TINY)).await;
    let look = scene.due(10).await;
    assert_eq!((schedule_ids(&look.due), look.next_in), (vec![], Some(TINY)));
    scene.advance(TINY).await;
    let look = scene.due(10).await;
    assert_eq!((schedule_ids(&look.due), look.next_in), (vec![view.schedule.id], None));
    assert_eq!(look.now, scene.now().await);
}

pub async fn the_most_overdue_comes_first_and_no_more_than_asked_for(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut views = Vec::new();
    for (name, minutes) in [("c", 3), ("a", 1), ("d", 4), ("b", 2)] {
        views.push(scene.plant(every_minute(name).first_in(MINUTE * minutes).of(name)).await);
    }
    let id = |nth: usize| views[nth].schedule.id;
    scene.advance(MINUTE * 3 + SECOND).await;
    let look = scene.due(10).await;
    assert_eq!(schedule_ids(&look.due), [id(1), id(3), id(0)], "of all tenants");
    assert_eq!(look.next_in, Some(MINUTE.saturating_sub(SECOND)));
    let look = scene.due(2).await;
    assert_eq!(schedule_ids(&look.due), [id(1), id(3)]);
    assert_eq!(look.next_in, Some(MINUTE.saturating_sub(SECOND)), "of those that are not due, however many are");
}

pub async fn a_due_schedule_says_everything_needed_to_fire_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").of("theirs").queued("mail")).await;
    scene.advance(MINUTE).await;
    let due = scene.due(10).await.due.pop().expect("it is due");
    assert_eq!(format!("{:?}", due.schedule), format!("{:?}", view.schedule));
    assert_eq!(due.seen, view.seen);
}

pub async fn what_is_paused_or_finished_is_never_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.plant(every_minute("paused").paused()).await;
    scene.plant(every_minute("finished").finished()).await;
    let live = scene.plant(every_minute("live")).await;
    scene.edited(&pause(&live)).await;
    scene.advance(HOUR).await;
    let look = scene.due(10).await;
    assert!(look.due.is_empty() && look.freed.is_empty() && look.next_in.is_none(), "{look:?}");
    let next = scene.now().await.plus(MINUTE);
    scene.edited(&edit(&scene.again(&live).await, Some(next))).await;
    assert_eq!(scene.due(10).await.next_in, Some(MINUTE));
}

pub async fn many_that_are_due_at_once_are_fired_in_steps(subject: &dyn Subject) {
    const MANY: usize = 250;
    let scene = Scene::of(subject);
    for number in 0..MANY {
        scene.plant(every_minute(&format!("s-{number}")).queued("many")).await;
    }
    scene.advance(MINUTE).await;
    let mut steps = 0;
    loop {
        let look = scene.due(100).await;
        if look.due.is_empty() {
            assert_eq!(look.next_in, Some(MINUTE));
            break;
        }
        let mut firings = Vec::new();
        for due in &look.due {
            let view = scene.find_schedule(due.schedule.id).await.expect("it is there");
            firings.push(next_firing(&view));
        }
        let fired = scene.fire(&firings).await;
        assert!(fired.iter().all(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)), "{fired:?}");
        steps += 1;
    }
    assert_eq!((steps, scene.count_in("many").await), (3, MANY as u64));
    let session = scene.session().await;
    assert_eq!(scene.claim(session, PLENTY).await.len(), MANY, "all of them can be run");
}
