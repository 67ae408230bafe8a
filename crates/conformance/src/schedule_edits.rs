//! Editing and deleting: only while the schedule is what was seen and nothing of it is due.

use std::sync::Arc;

use super::Subject;
use super::given::{HOUR, MINUTE, SECOND, Scene, a_job, at_once, completed};
use super::timetable::{edit, every_minute, firing_by_hand, named, next_firing, nominals, pause};
use foreman_core::id::{EditId, ScheduleId, TenantId};
use foreman_core::ports::{DeleteAnswer, Edit, EditAnswer, Fired, Firing, SeenSchedule, TickReason, TickState};
use foreman_core::schedule::{Overlap, ScheduleSpec};

pub async fn an_edit_changes_all_that_it_says_and_no_more(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    scene.advance(SECOND).await;
    let next = scene.now().await.plus(HOUR);
    let spec = ScheduleSpec { overlap: Some(Overlap::Skip), missed_max: Some(3), ..(*view.schedule.spec).clone() };
    let work = a_job().queued("other").tagged("new").build().work;
    let edit = Edit { spec: Arc::new(spec), work, ..edit(&view, Some(next)) };
    let answered = scene.edited(&edit).await;
    for now in [answered, scene.again(&view).await] {
        assert_eq!(now.seen, SeenSchedule { version: 2, next: Some(next), held: None });
        assert_eq!(format!("{:?}", now.schedule.spec), format!("{:?}", edit.spec));
        assert_eq!(format!("{:?}", now.schedule.work), format!("{:?}", edit.work));
        assert_eq!((now.edited_at, now.is_paused), (scene.now().await, false));
        assert_eq!((now.schedule.id, now.created_at), (view.schedule.id, view.created_at));
        assert_eq!((now.schedule.name, now.schedule.created_at), (view.schedule.name.clone(), view.created_at));
    }
}

pub async fn an_edit_of_what_it_no_longer_is_is_stale(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    let next = Some(scene.now().await.plus(HOUR * 24));
    let older = SeenSchedule { version: 0, ..view.seen };
    let wrong = [older, SeenSchedule { next: None, ..view.seen }, SeenSchedule { held: view.seen.next, ..view.seen }];
    for seen in wrong {
        let answer = scene.edit(&Edit { seen, ..edit(&view, next) }).await;
        assert!(matches!(answer, EditAnswer::Stale), "{seen:?}: {answer:?}");
    }
    let before = edit(&view, next);
    scene.fire_next(&view).await;
    let answer = scene.edit(&before).await;
    assert!(matches!(answer, EditAnswer::Stale), "it has fired since: {answer:?}");
    let before = edit(&scene.again(&view).await, next);
    assert!(scene.fire_next(&view).await.is_empty(), "the first job is open, so the second tick is held");
    let answer = scene.edit(&before).await;
    assert!(matches!(answer, EditAnswer::Stale), "a tick is held since: {answer:?}");
    let first = scene.edited(&edit(&scene.again(&view).await, next)).await;
    scene.edited(&edit(&first, next)).await;
    let answer = scene.edit(&edit(&first, next)).await;
    assert!(matches!(answer, EditAnswer::Stale), "somebody else was faster: {answer:?}");
    assert_eq!(scene.again(&view).await.seen.version, 3);
}

pub async fn nothing_is_edited_or_deleted_while_a_tick_is_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    scene.advance(MINUTE.saturating_sub(SECOND)).await;
    let early = scene.edited(&edit(&view, view.seen.next)).await;
    scene.advance(SECOND).await;
    let answer = scene.edit(&pause(&early)).await;
    assert!(matches!(answer, EditAnswer::Stale), "due at this very moment: {answer:?}");
    assert_eq!(scene.delete(&early).await, DeleteAnswer::Stale);
    scene.advance(HOUR).await;
    assert!(matches!(scene.edit(&pause(&early)).await, EditAnswer::Stale), "long overdue");
    assert_eq!(scene.delete(&early).await, DeleteAnswer::Stale);
    assert_eq!(scene.again(&view).await.seen, early.seen, "nothing was written");
    let fired = scene.fired(&Firing { next: None, ..next_firing(&early) }).await;
    assert_eq!(fired.len(), 1);
    let paused = scene.edited(&pause(&scene.again(&view).await)).await;
    assert!(paused.is_paused);
}

pub async fn an_edit_sent_again_is_done_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let next = scene.now().await.plus(MINUTE * 2);
    let edit = edit(&view, Some(next));
    scene.edited(&edit).await;
    scene.advance(SECOND).await;
    let again = scene.edited(&edit).await;
    assert_eq!((again.seen.version, again.seen.next), (2, Some(next)));
    assert_eq!(again.edited_at, scene.now().await.minus(SECOND), "the second sending changed nothing");
    // The answer may be lost for so long that the schedule fires meanwhile.
    scene.fire_next(&view).await;
    let late = scene.edited(&edit).await;
    assert_eq!((late.seen.version, late.seen.next), (2, Some(next.plus(MINUTE))), "as it stands, not as it was");
    scene.edited(&Edit { id: EditId::fresh(), seen: late.seen, ..edit.clone() }).await;
    let answer = scene.edit(&edit).await;
    assert!(matches!(answer, EditAnswer::Stale), "another edit came after it: {answer:?}");
}

pub async fn what_is_gone_is_neither_edited_nor_deleted(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let edit = edit(&view, None);
    scene.edited(&edit).await;
    assert_eq!(scene.delete(&scene.again(&view).await).await, DeleteAnswer::Deleted);
    let answer = scene.edit(&edit).await;
    assert!(matches!(answer, EditAnswer::Gone), "{answer:?}");
    assert_eq!(scene.delete(&view).await, DeleteAnswer::Gone);
    let nobody = Edit { schedule: ScheduleId::fresh(), ..edit };
    assert!(matches!(scene.edit(&nobody).await, EditAnswer::Gone));
}

pub async fn pausing_takes_the_next_tick_away_and_resuming_gives_another(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let before = next_firing(&view);
    let paused = scene.edited(&pause(&view)).await;
    assert_eq!((paused.is_paused, paused.seen.next), (true, None));
    scene.advance(HOUR).await;
    assert!(scene.due(10).await.due.is_empty());
    assert_eq!(scene.fire_one(&before).await, Fired::Stale, "computed before the pause");
    let next = scene.now().await.plus(MINUTE);
    let resumed = scene.edited(&edit(&scene.again(&view).await, Some(next))).await;
    assert_eq!((resumed.is_paused, resumed.seen.version), (false, 3));
    assert_eq!(scene.fire_next(&view).await.len(), 1);
    assert_eq!(nominals(&scene.ticks(&view).await), [next], "nothing is made up for the pause");
}

pub async fn a_held_tick_stays_held_through_an_edit(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    scene.fire_next(&view).await;
    scene.fire_next(&view).await;
    let held = scene.again(&view).await.seen.held;
    assert!(held.is_some());
    let paused = scene.edited(&pause(&scene.again(&view).await)).await;
    assert_eq!(paused.seen.held, held);
    let resumed = scene.edited(&edit(&paused, Some(scene.now().await.plus(HOUR)))).await;
    assert_eq!(scene.again(&view).await.seen.held, held);
    assert_eq!(resumed.last_tick.expect("it is there").state, TickState::Held);
}

pub async fn a_deleted_schedule_leaves_its_jobs_and_its_ticks(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let jobs = scene.fire_next(&view).await;
    let now = scene.again(&view).await;
    let late = next_firing(&now);
    let stale = SeenSchedule { version: 7, ..now.seen };
    let answer = scene.store.delete_schedule(&TenantId::default(), now.schedule.id, stale).await;
    assert_eq!(answer.expect("the store answers"), DeleteAnswer::Stale, "it is not what was seen");
    assert_eq!(scene.delete(&now).await, DeleteAnswer::Deleted);
    assert!(scene.find_schedule(view.schedule.id).await.is_none());
    let by_name = scene.store.schedule(&TenantId::default(), &named("daily")).await.expect("the store answers");
    assert!(by_name.is_none());
    assert_eq!(scene.fire_one(&late).await, Fired::Stale, "a tick computed before it was deleted");
    scene.advance(HOUR).await;
    let due = scene.due(10).await;
    assert!(due.due.is_empty() && due.freed.is_empty() && due.next_in.is_none(), "{due:?}");
    let ticks = scene.ticks(&view).await;
    assert_eq!(nominals(&ticks), [view.seen.next.expect("it had one")]);
    let session = scene.session().await;
    scene.run(session, jobs[0], completed()).await;
}

pub async fn the_held_tick_of_a_deleted_schedule_is_recorded_as_skipped(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Queue)).await;
    scene.fire_next(&view).await;
    scene.fire_next(&view).await;
    let held = scene.again(&view).await;
    scene.advance(SECOND).await;
    assert_eq!(scene.delete(&held).await, DeleteAnswer::Deleted);
    let ticks = scene.ticks(&view).await;
    assert_eq!((ticks[0].state, ticks[0].reason), (TickState::Skipped, Some(TickReason::Deleted)));
    assert_eq!((ticks[0].at, Some(ticks[0].nominal)), (scene.now().await, held.seen.held));
    assert_eq!((ticks[0].job, ticks[0].count), (None, Some(1)));
    assert_eq!(ticks[1].state, TickState::Fired, "and no other");
}

pub async fn a_name_is_free_again_after_its_schedule_was_deleted(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.plant(every_minute("daily")).await;
    scene.fire_next(&first).await;
    scene.delete(&scene.again(&first).await).await;
    let second = scene.plant(every_minute("daily")).await;
    assert_ne!(second.schedule.id, first.schedule.id);
    assert_eq!((second.seen.version, second.last_tick.clone()), (1, None), "it has no past");
    assert!(scene.ticks(&second).await.is_empty());
    assert_eq!(scene.ticks(&first).await.len(), 1);
}

pub async fn of_many_edits_at_once_one_takes_place(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let answers = at_once((1..=8).map(|hours| {
        let (store, edit) = (subject.store(), edit(&view, view.seen.next.map(|next| next.plus(HOUR * hours))));
        async move { store.edit_schedule(&TenantId::default(), &edit).await.expect("the store answers") }
    }))
    .await;
    let won: Vec<_> = answers
        .iter()
        .filter_map(|answer| if let EditAnswer::Edited(view) = answer { Some(view.seen) } else { None })
        .collect();
    assert_eq!(won, [scene.again(&view).await.seen], "{answers:?}");
    assert_eq!(won[0].version, 2);
}

pub async fn running_it_by_hand_makes_no_edit_stale(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let edit = edit(&view, None);
    scene.fired(&firing_by_hand(&view, scene.now().await)).await;
    assert_eq!(scene.edited(&edit).await.seen.version, 2);
}
