//! What else stands in the log: ticks, schedules, workers and queues, each told once and in order with the moves.

use super::Subject;
use super::given::{HOUR, MINUTE, SECOND, Scene, TTL, a_job, queue, session_info, tenant};
use super::timetable::{by_hand, edit, every_minute, firing, firing_by_hand, missed, named, next_firing, pause, tick};
use foreman_core::id::{SessionId, TenantId};
use foreman_core::ports::{
    Became, CreateAnswer, DeleteAnswer, EditAnswer, Fired, Note, Position, ScheduleView, SessionState, TickState, Topic,
};
use foreman_core::schedule::Overlap;
use foreman_core::state::State;
use foreman_core::time::Timestamp;

fn worker(session: SessionId, worker: &str, state: SessionState) -> Note {
    Note::Worker { session, worker: worker.into(), state }
}

fn schedule(view: &ScheduleView, became: Became) -> Note {
    let (tenant, name) = (view.schedule.tenant.clone(), view.schedule.name.to_string());
    Note::Schedule { tenant, schedule: view.schedule.id, name, became }
}

fn ticked(view: &ScheduleView, nominal: Timestamp, state: TickState, job: Option<foreman_core::JobId>) -> Note {
    let (tenant, name) = (view.schedule.tenant.clone(), view.schedule.name.to_string());
    Note::Tick { tenant, schedule: view.schedule.id, name, nominal, state, job }
}

pub async fn a_worker_that_comes_drains_and_goes_is_told_of(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    let session = scene.session_of("blue-1").await;
    scene.drain(session).await;
    scene.end(session).await;
    let expected = [SessionState::Live, SessionState::Draining, SessionState::Ended];
    assert_eq!(scene.notes_since(start).await, expected.map(|state| worker(session, "blue-1", state)));
}

pub async fn a_worker_that_dies_is_told_of_with_what_it_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let id = scene.submit(a_job()).await;
    scene.claim_job(session, id).await;
    let start = scene.head().await;
    assert_eq!(scene.lapse(session).await, 1);
    assert_eq!(scene.notes_since(start).await, [worker(session, "mortal", SessionState::Dead)]);
    let moved: Vec<_> = scene.moved_since(start).await.iter().map(|moved| (moved.id, moved.step.state)).collect();
    assert_eq!(moved, [(id, State::Pending)]);
}

pub async fn what_a_worker_does_again_or_in_vain_is_not_told(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let info = session_info(SessionId::fresh(), "green", TTL);
    scene.store.register(&info).await.expect("the store answers");
    let start = scene.head().await;
    scene.store.register(&info).await.expect("the store answers");
    scene.beat(info.id, &[]).await;
    assert_eq!(scene.notes_since(start).await, []);
    assert!(scene.drain(info.id).await && scene.drain(info.id).await, "both say that it drains");
    assert_eq!(scene.notes_since(start).await.len(), 1);
    scene.end(info.id).await;
    let start = scene.head().await;
    scene.end(info.id).await;
    scene.drain(info.id).await;
    scene.store.register(&info).await.expect("the store answers");
    scene.drain(SessionId::fresh()).await;
    scene.end(SessionId::fresh()).await;
    assert_eq!(scene.notes_since(start).await, []);
    assert_eq!(scene.head().await, start, "the log did not grow");
}

pub async fn a_pulse_that_did_not_lapse_is_not_told(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let early = scene.pulse(session).await.expect("it lives");
    scene.advance(TTL + SECOND).await;
    let late = scene.pulse(session).await.expect("it lives");
    scene.beat(session, &[]).await;
    let start = scene.head().await;
    for pulse in [early, late] {
        assert_eq!(scene.store.lapse(pulse).await.expect("the store answers"), None);
    }
    assert_eq!(scene.notes_since(start).await, []);
}

pub async fn a_queue_that_is_paused_or_resumed_is_told_of_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    let (acme, mail) = (tenant("acme"), queue("mail"));
    scene.store.resume(&acme, &mail).await.expect("the store answers");
    for _ in 0..2 {
        scene.store.pause(&acme, &mail).await.expect("the store answers");
    }
    scene.store.resume(&TenantId::default(), &mail).await.expect("the store answers");
    for _ in 0..2 {
        scene.store.resume(&acme, &mail).await.expect("the store answers");
    }
    let told = |is_paused| Note::Queue { tenant: acme.clone(), queue: mail.clone(), is_paused };
    assert_eq!(scene.notes_since(start).await, [told(true), told(false)]);
}

pub async fn what_is_done_to_a_schedule_is_told(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    let view = scene.plant(every_minute("daily")).await;
    let later = scene.now().await.plus(HOUR);
    let changed = scene.edited(&edit(&view, Some(later))).await;
    let paused = scene.edited(&pause(&changed)).await;
    let still = scene.edited(&pause(&paused)).await;
    let resumed = scene.edited(&edit(&still, Some(later))).await;
    assert_eq!(scene.delete(&resumed).await, DeleteAnswer::Deleted);
    let expected =
        [Became::Created, Became::Updated, Became::Paused, Became::Updated, Became::Resumed, Became::Deleted];
    assert_eq!(scene.notes_since(start).await, expected.map(|became| schedule(&view, became)));
    assert_eq!(scene.moved_since(start).await, [], "no job moved");
}

pub async fn what_is_refused_or_sent_again_of_a_schedule_is_not_told(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let new = every_minute("daily").build(scene.now().await);
    scene.create(&new).await;
    let view = scene.find_schedule(new.schedule.id).await.expect("it is there");
    let change = edit(&view, Some(scene.now().await.plus(HOUR)));
    scene.edited(&change).await;
    let start = scene.head().await;
    assert!(matches!(scene.create(&new).await, CreateAnswer::Created(_)), "sent again");
    let taken = every_minute("daily").build(scene.now().await);
    assert!(matches!(scene.create(&taken).await, CreateAnswer::NameTaken(_)));
    scene.edited(&change).await;
    assert!(matches!(scene.edit(&edit(&view, None)).await, EditAnswer::Stale));
    let foreign = scene.store.edit_schedule(&tenant("other"), &edit(&view, None)).await.expect("the store answers");
    assert!(matches!(foreign, EditAnswer::Gone));
    assert_eq!(scene.delete(&view).await, DeleteAnswer::Stale);
    let now = scene.again(&view).await;
    let foreign = scene.store.delete_schedule(&tenant("other"), now.schedule.id, now.seen).await;
    assert_eq!(foreign.expect("the store answers"), DeleteAnswer::Gone);
    assert_eq!(scene.notes_since(start).await, []);
    assert_eq!(scene.delete(&now).await, DeleteAnswer::Deleted);
    let start = scene.head().await;
    assert_eq!(scene.delete(&now).await, DeleteAnswer::Gone);
    assert_eq!(scene.head().await, start);
}

pub async fn a_tick_that_fires_is_told_with_its_job(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").of("acme")).await;
    let start = scene.head().await;
    let nominal = view.seen.next.expect("it has a next tick");
    let jobs = scene.fire_next(&view).await;
    assert_eq!(scene.notes_since(start).await, [ticked(&view, nominal, TickState::Fired, Some(jobs[0]))]);
    let rows = scene.rows_since(start).await;
    assert_eq!(rows.len(), 1, "in the row of the job that it made");
    assert_eq!(rows[0].moved.iter().map(|moved| moved.id).collect::<Vec<_>>(), jobs);
    assert_eq!(rows[0].at, scene.now().await);
}

pub async fn a_tick_by_hand_is_told_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let start = scene.head().await;
    let now = scene.now().await;
    let by_hand = firing_by_hand(&view, now);
    let jobs = scene.fired(&by_hand).await;
    scene.fired(&by_hand).await;
    assert_eq!(scene.notes_since(start).await, [ticked(&view, now, TickState::Fired, Some(jobs[0]))]);
}

pub async fn every_tick_that_was_decided_is_told(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("queued").overlap(Overlap::Queue)).await;
    let jobs = scene.fire_next(&view).await;
    // The first job stays open: the next tick is held, the one after it skipped.
    let view = scene.again(&view).await;
    let first = view.seen.next.expect("it has a next tick");
    scene.advance(MINUTE * 3).await;
    let start = scene.head().await;
    let ticks = vec![
        missed(first, first.plus(MINUTE), Some(2)),
        tick(&view, first.plus(MINUTE * 2)),
        tick(&view, first.plus(MINUTE * 3)),
    ];
    scene.fired(&firing(&view, ticks)).await;
    let expected = [
        ticked(&view, first, TickState::Skipped, None),
        ticked(&view, first.plus(MINUTE * 2), TickState::Held, None),
        ticked(&view, first.plus(MINUTE * 3), TickState::Skipped, None),
    ];
    assert_eq!(scene.notes_since(start).await, expected);
    // And told again when it is fired at last.
    scene.cancel(jobs[0]).await;
    let start = scene.head().await;
    let view = scene.again(&view).await;
    let released = scene.fired(&firing(&view, Vec::new())).await;
    let expected = [ticked(&view, first.plus(MINUTE * 2), TickState::Fired, Some(released[0]))];
    assert_eq!(scene.notes_since(start).await, expected);
}

pub async fn a_firing_that_does_nothing_is_not_told(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    scene.advance(MINUTE).await;
    let stale = next_firing(&view);
    scene.fired(&stale).await;
    let start = scene.head().await;
    assert!(matches!(scene.fire_one(&stale).await, Fired::Stale));
    let now = scene.again(&view).await;
    // The tick that is there already is passed by.
    let nominal = view.seen.next.expect("it had a next tick");
    let run = missed(nominal, nominal.plus(MINUTE), Some(2));
    scene.fired(&firing(&now, vec![run, tick(&now, nominal)])).await;
    assert_eq!(scene.notes_since(start).await, []);
}

pub async fn a_tick_that_must_wait_for_a_cancel_is_not_told_yet(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("replacing").overlap(Overlap::Cancel)).await;
    let jobs = scene.fire_next(&view).await;
    scene.advance(MINUTE).await;
    let (view, start) = (scene.again(&view).await, scene.head().await);
    let firing = next_firing(&view);
    assert!(matches!(scene.fire_one(&firing).await, Fired::CancelFirst(open) if open == jobs));
    assert_eq!(scene.notes_since(start).await, []);
    scene.cancel(jobs[0]).await;
    let fired = scene.fired(&firing).await;
    let nominal = view.seen.next.expect("it was due");
    assert_eq!(scene.notes_since(start).await, [ticked(&view, nominal, TickState::Fired, Some(fired[0]))]);
}

pub async fn a_note_says_whose_it_is(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.session().await;
    let view = scene.plant(every_minute("daily").of("acme")).await;
    scene.fire_next(&view).await;
    scene.store.pause(&tenant("beta"), &queue("mail")).await.expect("the store answers");
    let notes = scene.notes_since(Position::default()).await;
    let whose: Vec<Option<&str>> = notes.iter().map(|note| note.tenant().map(TenantId::as_str)).collect();
    assert_eq!(whose, [None, Some("acme"), Some("acme"), Some("beta")]);
    assert!(scene.store.schedule(&tenant("acme"), &named("daily")).await.expect("the store answers").is_some());
}

pub async fn a_name_of_any_letters_is_told_to_the_letter(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let odd = r#"w "ö" \ '; -- {}"#;
    let session = scene.session_of(odd).await;
    assert_eq!(scene.notes_since(Position::default()).await, [worker(session, odd, SessionState::Live)]);
}

pub async fn a_note_wakes_those_who_watch(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut bell = subject.wakeups().listen(Topic::Changed);
    bell.mark_unchanged();
    scene.pause("mail").await;
    let rung = tokio::time::timeout(SECOND * 10, bell.changed()).await;
    assert!(matches!(rung, Ok(Ok(()))), "no bell");
}

pub async fn ticks_by_hand_in_one_moment_are_told_apart(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let (start, now) = (scene.head().await, scene.now().await);
    let twice = firing(&view, vec![by_hand(&view, now), by_hand(&view, now)]);
    let jobs = scene.fired(&foreman_core::ports::Firing { next: view.seen.next, ..twice }).await;
    let after = Timestamp::from_micros(now.as_micros() + 1);
    let expected = [(now, jobs[0]), (after, jobs[1])].map(|(at, job)| ticked(&view, at, TickState::Fired, Some(job)));
    assert_eq!(scene.notes_since(start).await, expected);
}
