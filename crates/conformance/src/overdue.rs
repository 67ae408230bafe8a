//! Ticks that are due and nobody has fired: what tells of a scheduler that lags.

use super::Subject;
use super::given::{HOUR, MINUTE, SECOND, Scene, tenant};
use super::timetable::every_minute;
use foreman_core::ports::{Counted, Overdue};

async fn overdue(scene: &Scene<'_>, of: &str, enough: u64) -> Overdue {
    scene.store.overdue(&tenant(of), enough).await.expect("the store answers")
}

fn exactly(count: u64) -> Counted {
    Counted { count, is_estimate: false }
}

pub async fn what_is_not_due_is_not_overdue(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.plant(every_minute("daily")).await;
    scene.plant(every_minute("paused").paused()).await;
    scene.plant(every_minute("finished").finished()).await;
    scene.advance(SECOND * 59).await;
    assert_eq!(overdue(&scene, "default", 10).await, Overdue::default());
    scene.advance(SECOND).await;
    let now = overdue(&scene, "default", 10).await;
    assert_eq!(now, Overdue { counted: exactly(1), longest: Some(std::time::Duration::ZERO) }, "due at its time");
}

pub async fn the_longest_overdue_says_for_how_long(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.plant(every_minute("first")).await;
    scene.plant(every_minute("second").first_in(MINUTE * 3)).await;
    scene.plant(every_minute("far").first_in(HOUR)).await;
    scene.advance(MINUTE * 5).await;
    let late = overdue(&scene, "default", 10).await;
    assert_eq!(late, Overdue { counted: exactly(2), longest: Some(MINUTE * 4) });
    scene.fire_next(&first).await;
    let late = overdue(&scene, "default", 10).await;
    assert_eq!(late.counted, exactly(2), "its next tick is due as well");
    assert_eq!(late.longest, Some(MINUTE * 3));
}

pub async fn what_was_fired_is_not_overdue(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    scene.fire_next(&view).await;
    assert_eq!(overdue(&scene, "default", 10).await, Overdue::default());
}

pub async fn overdue_ones_are_counted_no_further_than_enough(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for n in 0..4_u32 {
        scene.plant(every_minute(&format!("s{n}")).first_in(MINUTE + SECOND * n)).await;
    }
    scene.advance(HOUR).await;
    for (enough, count, is_estimate) in [(3, 3, true), (4, 4, false), (9, 4, false)] {
        let late = overdue(&scene, "default", enough).await;
        assert_eq!(late.counted, Counted { count, is_estimate });
        assert_eq!(late.longest, Some(MINUTE * 59), "the first of them is found however few are counted");
    }
}

pub async fn another_tenants_ticks_are_its_own_to_wait_for(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for n in 0..5 {
        scene.plant(every_minute(&format!("s{n}")).of("crowd")).await;
    }
    scene.plant(every_minute("one").of("acme").first_in(MINUTE * 2)).await;
    scene.advance(MINUTE * 3).await;
    assert_eq!(overdue(&scene, "acme", 2).await, Overdue { counted: exactly(1), longest: Some(MINUTE) });
    assert_eq!(overdue(&scene, "default", 2).await, Overdue::default());
}
