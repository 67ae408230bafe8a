//! Making and changing schedules on the reference store, with nobody else there to fire them.

use std::time::Duration;

use foreman_core::ports::{ScheduleChange, ScheduleError, ScheduleStore, Schedules, StoreError, TickReason, TickState};
use foreman_core::schedule::{ScheduleKey, ScheduleSpec};
use foreman_core::{State, TenantId};
use tokio::time::sleep;

use crate::scene::Scene;
use crate::scheduler::{editor, key, made, patch, seconds, spec, ticks, unreadable};
use crate::script::{Act, Verb, away};

const MINUTE: Duration = Duration::from_mins(1);

fn us() -> TenantId {
    TenantId::default()
}

fn pointers(error: ScheduleError) -> Vec<String> {
    match error {
        ScheduleError::Invalid(invalid) => invalid.mistakes.into_iter().map(|mistake| mistake.pointer).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_whose_making_was_not_heard_of_is_made_once() {
    let scene = Scene::new();
    scene.store.next(Verb::CreateSchedule, Act::LoseAnswer);
    scene.store.next(Verb::CreateSchedule, Act::HangAfter);
    let view = made(&scene, "daily", r#""cron": "@daily""#).await;
    assert_eq!((view.seen.version, scene.store.calls(Verb::CreateSchedule)), (1, 3));
    assert_eq!(view.seen.next, Some("2026-01-02T00:00:00Z".parse().unwrap()));
    let again = editor(&scene).create(&us(), spec("daily", r#""every": "1m""#)).await.unwrap_err();
    assert!(matches!(&again, ScheduleError::NameTaken(name) if name.as_str() == "daily"), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_told() {
    let scene = Scene::new();
    scene.store.always(Verb::CreateSchedule, away());
    let error = editor(&scene).create(&us(), spec("daily", r#""cron": "@daily""#)).await.unwrap_err();
    assert!(matches!(error, ScheduleError::Store(_)), "{error:?}");
    assert_eq!(scene.store.calls(Verb::CreateSchedule), 3);
}

#[tokio::test(start_paused = true)]
async fn what_would_never_fire_is_refused() {
    let scene = Scene::new();
    for (fields, pointer) in [
        (r#""at": "2025-01-01T00:00:00Z""#, "/at"),
        (r#""at": "2026-03-01T00:00:00Z", "end_at": "2026-02-01T00:00:00Z""#, "/at"),
        (r#""cron": "@daily", "end_at": "2025-06-01T00:00:00Z""#, "/end_at"),
        (r#""every": "1h", "end_at": "2026-01-01T00:30:00Z""#, "/end_at"),
        (r#""every": "1h", "end_at": "2026-01-01T00:30:00Z", "paused": true"#, "/end_at"),
    ] {
        let error = editor(&scene).create(&us(), spec("never", fields)).await.unwrap_err();
        assert_eq!(pointers(error), [pointer], "{fields}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_due_is_fired_before_a_schedule_is_changed() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    sleep(MINUTE + Duration::from_secs(30)).await;
    let edited = editor(&scene).change(&us(), &key(&view), patch(r#"{"every": "1h"}"#), None).await.unwrap();
    assert_eq!(seconds(&view, &ticks(&scene, &view).await), [60], "it was due before the edit");
    assert_eq!((edited.seen.version, scene.count(State::Pending).await), (2, 1));
    assert_eq!(edited.seen.next, Some(view.created_at.plus(MINUTE * 60)), "an interval counts from when it was made");
    sleep(Duration::from_mins(70)).await;
    editor(&scene).delete(&us(), &key(&view), None).await.unwrap();
    let ticks = ticks(&scene, &view).await;
    assert_eq!(seconds(&view, &ticks), [3_600, 60], "and before it was deleted; late, but the latest");
    assert_eq!(scene.count(State::Pending).await, 2);
}

#[tokio::test(start_paused = true)]
async fn what_has_fired_for_the_last_time_can_still_be_paused() {
    let scene = Scene::new();
    let view = made(&scene, "once", r#""at": "2026-01-01T00:00:10Z""#).await;
    sleep(MINUTE).await;
    let paused = editor(&scene).change(&us(), &key(&view), ScheduleChange::Pause, None).await.unwrap();
    assert!(paused.is_paused && paused.seen.next.is_none(), "{paused:?}");
    assert_eq!(ticks(&scene, &view).await.len(), 1, "what was due fired first");
    let error = editor(&scene).change(&us(), &key(&view), ScheduleChange::Resume, None).await.unwrap_err();
    assert_eq!(pointers(error), ["/at"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_paused_fires_nothing_and_nothing_is_made_up_for_it() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    sleep(MINUTE).await;
    let paused = editor(&scene).change(&us(), &key(&view), ScheduleChange::Pause, None).await.unwrap();
    assert!(paused.is_paused && paused.schedule.spec.paused == Some(true));
    assert_eq!(ticks(&scene, &view).await.len(), 1, "it was due at this very moment");
    let again = editor(&scene).change(&us(), &key(&view), ScheduleChange::Pause, None).await.unwrap();
    assert_eq!(again.seen.version, paused.seen.version, "it is paused already");
    sleep(Duration::from_hours(24)).await;
    let resumed = editor(&scene).change(&us(), &key(&view), ScheduleChange::Resume, None).await.unwrap();
    assert!(!resumed.is_paused);
    assert_eq!(resumed.seen.next.unwrap().since(view.created_at), Duration::from_hours(24) + MINUTE * 2);
    assert_eq!(ticks(&scene, &view).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_edit_whose_answer_is_lost_is_made_once() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    scene.store.next(Verb::EditSchedule, Act::LoseAnswer);
    scene.store.next(Verb::EditSchedule, Act::LoseAnswer);
    let edited = editor(&scene).change(&us(), &key(&view), patch(r#"{"missed": "skip"}"#), Some(1)).await.unwrap();
    assert_eq!((edited.seen.version, scene.store.calls(Verb::EditSchedule)), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn a_firing_on_the_way_to_an_edit_may_lose_its_answer() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    sleep(MINUTE).await;
    scene.store.next(Verb::Fire, Act::LoseAnswer);
    editor(&scene).change(&us(), &key(&view), ScheduleChange::Pause, None).await.unwrap();
    assert_eq!((ticks(&scene, &view).await.len(), scene.count(State::Pending).await), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_does_not_hold_changes_nothing() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    let editor = editor(&scene);
    editor.change(&us(), &key(&view), patch(r#"{"missed": "skip"}"#), Some(1)).await.unwrap();
    for _ in 0..2 {
        let error = editor.change(&us(), &key(&view), patch(r#"{"missed": "all"}"#), Some(1)).await.unwrap_err();
        assert!(matches!(error, ScheduleError::Changed(2)), "{error:?}");
        let error = editor.delete(&us(), &key(&view), Some(1)).await.unwrap_err();
        assert!(matches!(error, ScheduleError::Changed(2)), "{error:?}");
    }
    // Firing is no change.
    sleep(MINUTE).await;
    editor.delete(&us(), &key(&view), Some(2)).await.unwrap();
    assert_eq!(ticks(&scene, &view).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn somebody_faster_is_no_reason_to_give_up_at_once() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    scene.store.edits_are_stale(10);
    let edited = editor(&scene).change(&us(), &key(&view), ScheduleChange::Pause, None).await.unwrap();
    assert_eq!((edited.seen.version, scene.store.calls(Verb::EditSchedule)), (2, 11));
    scene.store.edits_are_stale(1_000);
    let error = editor(&scene).change(&us(), &key(&view), ScheduleChange::Resume, None).await.unwrap_err();
    assert!(matches!(error, ScheduleError::Busy), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_whose_answer_is_lost_has_taken_place() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    scene.store.next(Verb::DeleteSchedule, Act::LoseAnswer);
    editor(&scene).delete(&us(), &key(&view), None).await.unwrap();
    assert_eq!(scene.store.calls(Verb::DeleteSchedule), 2);
    for error in [
        editor(&scene).delete(&us(), &key(&view), None).await.unwrap_err(),
        editor(&scene).change(&us(), &key(&view), ScheduleChange::Pause, None).await.unwrap_err(),
        editor(&scene).run(&us(), &key(&view), None).await.unwrap_err(),
    ] {
        assert!(matches!(error, ScheduleError::NotFound), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_reaches_another_tenants_schedule() {
    let scene = Scene::new();
    made(&scene, "often", r#""every": "1m""#).await;
    let (other, name): (_, ScheduleKey) = (TenantId::new("other"), "often".parse().unwrap());
    let editor = editor(&scene);
    assert!(matches!(editor.run(&other, &name, None).await, Err(ScheduleError::NotFound)));
    assert!(matches!(editor.change(&other, &name, ScheduleChange::Pause, None).await, Err(ScheduleError::NotFound)));
    assert!(matches!(editor.delete(&other, &name, None).await, Err(ScheduleError::NotFound)));
}

#[tokio::test(start_paused = true)]
async fn it_is_run_by_hand_whether_it_is_paused_or_busy() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m", "overlap": "skip", "paused": true"#).await;
    let editor = editor(&scene);
    let first = editor.run(&us(), &key(&view), None).await.unwrap();
    scene.store.next(Verb::Fire, Act::LoseAnswer);
    let second = editor.run(&us(), &key(&view), None).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(
        scene.count(State::Pending).await,
        2,
        "asked for twice, though at the same moment and with a lost answer"
    );
    let ticks = ticks(&scene, &view).await;
    let told: Vec<_> = ticks.iter().map(|tick| (tick.job.unwrap().0, tick.reason)).collect();
    assert_eq!(told, [(second, Some(TickReason::ByHand)), (first, Some(TickReason::ByHand))]);
    let occasion = scene.view(first).await.job.work.occasion.clone().unwrap();
    assert_eq!((occasion.schedule.as_str(), occasion.nominal), ("often", ticks[1].nominal));
    let now = scene.store.inner.schedule(&us(), &key(&view)).await.unwrap().unwrap();
    assert_eq!((now.seen, now.is_paused), (view.seen, true));
}

#[tokio::test(start_paused = true)]
async fn run_by_hand_at_the_moment_of_a_tick_it_does_not_take_the_ticks_place() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    sleep(MINUTE).await;
    editor(&scene).run(&us(), &key(&view), None).await.unwrap();
    editor(&scene).change(&us(), &key(&view), ScheduleChange::Pause, None).await.unwrap();
    let reasons: Vec<_> = ticks(&scene, &view).await.iter().map(|tick| (tick.state, tick.reason)).collect();
    assert_eq!(reasons, [(TickState::Fired, Some(TickReason::ByHand)), (TickState::Fired, None)]);
    assert_eq!(scene.count(State::Pending).await, 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_read_is_put_right_by_an_edit() {
    let scene = Scene::new();
    let id = ScheduleKey::Id(unreadable(&scene, "alien").await);
    sleep(MINUTE).await;
    let error = editor(&scene).change(&us(), &id, patch(r#"{"missed": "skip"}"#), None).await.unwrap_err();
    assert_eq!(pointers(error), ["/timezone"]);
    let edited = editor(&scene).change(&us(), &id, patch(r#"{"timezone": "Europe/Berlin"}"#), None).await.unwrap();
    assert_eq!(edited.seen.next, Some("2026-01-01T00:02:00Z".parse().unwrap()));
    editor(&scene).delete(&us(), &ScheduleKey::Id(unreadable(&scene, "other").await), None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_is_judged_like_a_new_schedule_and_its_name_stays() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    let refused = async |change: ScheduleChange| {
        pointers(editor(&scene).change(&us(), &key(&view), change, None).await.unwrap_err())
    };
    assert_eq!(refused(patch(r#"{"name": "other"}"#)).await, ["/name"]);
    assert_eq!(refused(patch(r#"{"cron": "@daily"}"#)).await, [""], "every and cron");
    assert_eq!(refused(patch(r#"{"job": {"queue": "a b"}}"#)).await, ["/job/queue"]);
    assert_eq!(
        refused(ScheduleChange::Replace(ScheduleSpec { every: None, ..spec("often", r#""every": "1m""#) })).await,
        [""]
    );
    let replaced = ScheduleChange::Replace(spec("often", r#""cron": "0 9 * * *", "timezone": "Europe/Berlin""#));
    let replaced = editor(&scene).change(&us(), &key(&view), replaced, None).await.unwrap();
    assert_eq!(replaced.seen.next, Some("2026-01-01T08:00:00Z".parse().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_refused_takes_no_time_off_what_cannot_be_read() {
    let scene = Scene::new();
    let id = ScheduleKey::Id(unreadable(&scene, "alien").await);
    sleep(MINUTE).await;
    let before = scene.store.inner.schedule(&us(), &id).await.unwrap().unwrap().seen;
    let error = editor(&scene).change(&us(), &id, patch(r#"{"missed": "skip"}"#), None).await.unwrap_err();
    assert_eq!(pointers(error), ["/timezone"]);
    let after = scene.store.inner.schedule(&us(), &id).await.unwrap().unwrap().seen;
    assert_eq!(after, before, "whoever can read it still fires it");
}

#[tokio::test(start_paused = true)]
async fn one_whose_content_cannot_be_read_is_replaced_and_deleted_and_nothing_else() {
    let scene = Scene::new();
    let spoilt = || Act::Fail(StoreError::Damaged("moon".into()));
    for is_due in [false, true] {
        let view = made(&scene, "alien", r#""every": "1m""#).await;
        let gone = made(&scene, "gone", r#""every": "1m""#).await;
        if is_due {
            sleep(MINUTE * 2).await;
        }
        scene.store.always(Verb::Schedule, spoilt());
        for change in [patch(r#"{"missed": "skip"}"#), ScheduleChange::Pause, ScheduleChange::Resume] {
            let error = editor(&scene).change(&us(), &key(&view), change, None).await.unwrap_err();
            assert!(matches!(&error, ScheduleError::Unreadable(why) if why == "moon"), "{error:?}");
        }
        let error = editor(&scene).run(&us(), &key(&view), None).await.unwrap_err();
        assert!(matches!(error, ScheduleError::Unreadable(_)), "{error:?}");
        let error = editor(&scene).delete(&us(), &key(&view), Some(7)).await.unwrap_err();
        assert!(matches!(error, ScheduleError::Changed(1)), "{error:?}");
        assert_eq!(scene.store.inner.schedule(&us(), &key(&view)).await.unwrap().unwrap().seen, view.seen);

        let whole = ScheduleChange::Replace(spec("alien", r#""every": "1h""#));
        let replaced = editor(&scene).change(&us(), &key(&view), whole, Some(1)).await.unwrap();
        assert_eq!((replaced.seen.version, replaced.schedule.id), (2, view.schedule.id));
        assert_eq!(replaced.seen.next, Some(view.created_at.plus(MINUTE * 60)));
        for one in [&gone, &replaced] {
            editor(&scene).delete(&us(), &key(one), None).await.unwrap();
            let error = editor(&scene).delete(&us(), &key(one), None).await.unwrap_err();
            assert!(matches!(error, ScheduleError::NotFound), "{error:?}");
        }
        scene.store.heal();
        assert!(scene.store.inner.schedules(&us(), None, 10).await.unwrap().is_empty());
    }
    assert_eq!(scene.count(State::Pending).await, 0, "what cannot be read does not fire");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_tell_where_a_schedule_stands_is_damaged() {
    let scene = Scene::new();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    let damaged = || Act::Fail(StoreError::Damaged("page 7".into()));
    scene.store.always(Verb::Schedule, damaged());
    scene.store.always(Verb::ScheduleHead, damaged());
    let error = editor(&scene).delete(&us(), &key(&view), None).await.unwrap_err();
    assert!(matches!(error, ScheduleError::Store(StoreError::Damaged(_))), "{error:?}");
}
