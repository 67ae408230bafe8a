//! Firing: the ticks, their jobs and the next time, all in one transaction and each once.

use std::time::Duration;

use tokio::sync::watch;

use super::Subject;
use super::given::{DAY, HOUR, MINUTE, SECOND, Scene, at_once, completed, ids, queue};
use super::timetable::{
    by_hand, edit, every_minute, fire_by, firing, firing_by_hand, job_of, missed, next_firing, nominals, pause, tick,
};
use foreman_core::id::{JobId, ScheduleId};
use foreman_core::job::{NewJob, Occasion, Start};
use foreman_core::ports::{Fired, Firing, NewTick, SeenSchedule, TickAct, TickReason, TickState, TickView, Topic};
use foreman_core::schedule::Overlap;
use foreman_core::state::State;
use foreman_core::time::Timestamp;

const TINY: Duration = Duration::from_micros(1);
/// Generous: a bell that is rung at all is rung at once.
const PATIENCE: Duration = Duration::from_secs(10);

async fn heard(bell: &mut watch::Receiver<u64>, why: &str) {
    let rung = tokio::time::timeout(PATIENCE, bell.changed()).await;
    assert!(matches!(rung, Ok(Ok(()))), "no bell: {why}");
}

fn listen(subject: &dyn Subject, topic: Topic) -> watch::Receiver<u64> {
    let mut bell = subject.wakeups().listen(topic);
    bell.mark_unchanged();
    bell
}

fn plain_tick(nominal: Timestamp, at: Timestamp, job: JobId) -> TickView {
    TickView {
        nominal,
        state: TickState::Fired,
        reason: None,
        at,
        job: Some((job, Some(State::Pending))),
        last: None,
        count: Some(1),
    }
}

pub async fn a_tick_makes_its_job_and_moves_on(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    let nominal = view.seen.next.expect("it has one");
    scene.advance(MINUTE + SECOND).await;
    let start = scene.head().await;
    let jobs = scene.fired(&next_firing(&view)).await;
    let [id] = jobs[..] else { panic!("one tick, one job: {jobs:?}") };
    let job = scene.view(id).await;
    assert_eq!((job.state, job.run_at, job.job.created_at), (State::Pending, scene.now().await, scene.now().await));
    let occasion = Occasion { schedule: "daily".into(), nominal };
    assert_eq!((job.job.work.occasion.clone(), &job.job.work.queue), (Some(occasion), &queue("mail")));
    let moved = scene.moved_since(start).await;
    let told: Vec<_> =
        moved.iter().map(|moved| (moved.id, moved.step.state, moved.step.attempt, moved.queue.as_str())).collect();
    assert_eq!(told, [(id, State::Pending, 0, "mail")]);
    let now = scene.again(&view).await;
    assert_eq!(
        now.seen,
        SeenSchedule { version: 1, next: Some(nominal.plus(MINUTE)), held: None },
        "firing is no edit"
    );
    assert_eq!(scene.ticks(&view).await, [plain_tick(nominal, scene.now().await, id)]);
    let session = scene.session().await;
    assert_eq!(ids(&scene.claim(session, 5).await), [id], "it can be run at once");
}

pub async fn a_job_for_later_waits_for_its_time(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("jittery")).await;
    scene.advance(MINUTE).await;
    let nominal = scene.now().await;
    let delayed = NewJob { start: Start::At(nominal.plus(SECOND * 30)), ..view.schedule.job_now(nominal) };
    let firing = firing(&view, vec![NewTick { nominal, act: TickAct::Fire(delayed) }]);
    let mut bell = listen(subject, Topic::Waiting);
    let id = scene.fired(&firing).await[0];
    heard(&mut bell, "a job waits for its time").await;
    assert_eq!((scene.state(id).await, scene.view(id).await.run_at), (State::Scheduled, nominal.plus(SECOND * 30)));
    let session = scene.session().await;
    assert_eq!(ids(&scene.claim(session, 5).await), []);
    scene.wait(SECOND * 30).await;
    assert_eq!(ids(&scene.claim(session, 5).await), [id]);
}

pub async fn a_fired_tick_wakes_those_who_claim_and_those_who_watch(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    scene.advance(MINUTE).await;
    let (mut ready, mut changed) = (listen(subject, Topic::Ready), listen(subject, Topic::Changed));
    scene.fired(&next_firing(&view)).await;
    heard(&mut ready, "a job is due").await;
    heard(&mut changed, "the log has grown").await;
}

pub async fn a_schedule_that_is_made_or_edited_wakes_the_scheduler(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut bell = listen(subject, Topic::Scheduled);
    let view = scene.plant(every_minute("daily")).await;
    heard(&mut bell, "made").await;
    let mut bell = listen(subject, Topic::Scheduled);
    scene.edited(&edit(&view, Some(scene.now().await.plus(SECOND)))).await;
    heard(&mut bell, "edited").await;
}

pub async fn several_ticks_of_one_firing_each_make_their_job(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let first = view.seen.next.expect("it has one");
    scene.advance(MINUTE * 3).await;
    let times = [first, first.plus(MINUTE), first.plus(MINUTE * 2)];
    let firing = firing(&view, times.map(|nominal| tick(&view, nominal)).into());
    let asked: Vec<JobId> = firing.ticks.iter().map(|tick| job_of(tick).id).collect();
    assert_eq!(scene.fired(&firing).await, asked);
    let ticks = scene.ticks(&view).await;
    assert_eq!(nominals(&ticks), [times[2], times[1], times[0]]);
    let made: Vec<JobId> = ticks.iter().rev().map(|tick| tick.job.expect("each made one").0).collect();
    assert_eq!(made, asked);
    assert_eq!(scene.again(&view).await.seen.next, Some(times[2].plus(MINUTE)));
}

pub async fn a_firing_that_is_stale_holds_up_no_other(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut views = Vec::new();
    for name in ["good", "edited", "deleted", "fired", "paused", "fine"] {
        views.push(scene.plant(every_minute(name).queued(name)).await);
    }
    let mut firings: Vec<Firing> = views.iter().map(next_firing).collect();
    firings.insert(5, Firing { schedule: ScheduleId::fresh(), ..firings[0].clone() });
    scene.edited(&edit(&views[1], views[1].seen.next)).await;
    scene.delete(&views[2]).await;
    scene.advance(MINUTE).await;
    scene.fire_next(&views[3]).await;
    // Not due any more: what was seen of it says otherwise.
    firings[4].seen.next = None;
    let fired = scene.fire(&firings).await;
    let done: Vec<bool> = fired.iter().map(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)).collect();
    assert_eq!(done, [true, false, false, false, false, false, true], "{fired:?}");
    assert!(fired[1..6].iter().all(|fired| *fired == Fired::Stale), "{fired:?}");
    for (name, jobs) in [("good", 1), ("edited", 0), ("deleted", 0), ("fired", 1), ("paused", 0), ("fine", 1)] {
        assert_eq!(scene.count_in(name).await, jobs, "{name}");
    }
    assert!(scene.ticks(&views[1]).await.is_empty() && scene.ticks(&views[4]).await.is_empty());
}

pub async fn nothing_to_fire_is_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert_eq!(scene.fire(&[]).await, []);
}

pub async fn a_firing_sent_again_is_done_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    scene.advance(MINUTE).await;
    let firing = next_firing(&view);
    scene.fired(&firing).await;
    let before = (scene.again(&view).await.seen, scene.ticks(&view).await);
    for _ in 0..2 {
        assert_eq!(scene.fire_one(&firing).await, Fired::Stale);
    }
    assert_eq!((scene.again(&view).await.seen, scene.ticks(&view).await), before);
    assert_eq!(scene.count_in("mail").await, 1);
}

pub async fn a_tick_that_is_there_already_is_passed_by_without_a_job(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    let first = view.seen.next.expect("it has one");
    scene.advance(MINUTE).await;
    let jobs = scene.fired(&next_firing(&view)).await;
    // The clock was put back and the schedule edited: its first tick is ahead once more.
    let again = Firing {
        ticks: vec![tick(&view, first), tick(&view, first.plus(MINUTE))],
        next: Some(first.plus(MINUTE * 2)),
        ..firing(&scene.again(&view).await, Vec::new())
    };
    let second = job_of(&again.ticks[1]).id;
    assert_eq!(scene.fired(&again).await, [second], "only the tick that is new makes a job");
    assert_eq!(scene.count_in("mail").await, 2);
    let ticks = scene.ticks(&view).await;
    let made: Vec<JobId> = ticks.iter().map(|tick| tick.job.expect("each made one").0).collect();
    assert_eq!(made, [second, jobs[0]], "and the old one keeps its job");
    let missed = Firing {
        ticks: vec![missed(first, first.plus(MINUTE), Some(2))],
        ..firing(&scene.again(&view).await, Vec::new())
    };
    assert_eq!(scene.fired(&missed).await, []);
    assert_eq!(scene.ticks(&view).await, ticks, "what was fired is not missed afterwards");
}

pub async fn a_run_of_missed_ticks_is_recorded_as_one(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    let first = view.seen.next.expect("it has one");
    scene.advance(HOUR).await;
    let latest = first.plus(MINUTE * 59);
    let ticks = vec![missed(first, first.plus(MINUTE * 58), Some(59)), tick(&view, latest)];
    let jobs = scene.fired(&firing(&view, ticks)).await;
    assert_eq!(jobs.len(), 1);
    let now = scene.now().await;
    let run = TickView {
        nominal: first,
        state: TickState::Skipped,
        reason: Some(TickReason::Missed),
        at: now,
        job: None,
        last: Some(first.plus(MINUTE * 58)),
        count: Some(59),
    };
    assert_eq!(scene.ticks(&view).await, [plain_tick(latest, now, jobs[0]), run]);
    let uncounted = scene.again(&view).await;
    let from = latest.plus(MINUTE);
    scene.advance(DAY * 300).await;
    let last = from.plus(DAY * 299);
    assert_eq!(scene.fired(&firing(&uncounted, vec![missed(from, last, None)])).await, []);
    let newest = scene.ticks(&view).await.remove(0);
    assert_eq!((newest.nominal, newest.last, newest.count), (from, Some(last), None), "not counted");
}

pub async fn a_tick_that_is_refused_is_recorded_with_the_reason(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail").overlap(Overlap::Queue)).await;
    let first = view.seen.next.expect("it has one");
    scene.advance(MINUTE * 3).await;
    let (second, third) = (first.plus(MINUTE), first.plus(MINUTE * 2));
    let refused = |nominal| NewTick { nominal, act: TickAct::Refuse };
    let jobs = scene.fired(&firing(&view, vec![tick(&view, first), refused(second), refused(third)])).await;
    assert_eq!(jobs.len(), 1);
    let now = scene.now().await;
    let skipped = |nominal| TickView {
        nominal,
        state: TickState::Skipped,
        reason: Some(TickReason::TooManyWaiting),
        at: now,
        job: None,
        last: None,
        count: Some(1),
    };
    let expected = [skipped(third), skipped(second), plain_tick(first, now, jobs[0])];
    assert_eq!(scene.ticks(&view).await, expected);
    let moved = scene.again(&view).await;
    assert_eq!((moved.seen.held, moved.last_tick.clone()), (None, Some(skipped(third))), "none waits for its turn");
    let again = Firing { next: moved.seen.next, ..firing(&moved, vec![refused(first), refused(second)]) };
    assert_eq!(scene.fired(&again).await, []);
    assert_eq!(scene.ticks(&view).await, expected, "what is there stays as it is");
}

pub async fn the_last_tick_finishes_a_schedule(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("once")).await;
    scene.advance(MINUTE).await;
    scene.fired(&Firing { next: None, ..next_firing(&view) }).await;
    let now = scene.again(&view).await;
    assert!(now.is_finished());
    scene.advance(HOUR).await;
    let look = scene.due(10).await;
    assert!(look.due.is_empty() && look.next_in.is_none());
}

pub async fn a_firing_without_ticks_only_moves_on(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    scene.advance(MINUTE).await;
    let start = scene.head().await;
    let next = scene.now().await.plus(HOUR);
    assert_eq!(scene.fired(&Firing { next: Some(next), ..firing(&view, Vec::new()) }).await, []);
    assert_eq!(scene.again(&view).await.seen.next, Some(next));
    assert!(scene.ticks(&view).await.is_empty() && scene.moved_since(start).await.is_empty());
}

pub async fn a_job_belongs_to_its_schedules_tenant(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let theirs = scene.plant(every_minute("daily").of("theirs")).await;
    scene.advance(MINUTE).await;
    let start = scene.head().await;
    let jobs = scene.fired(&next_firing(&theirs)).await;
    assert!(scene.find(jobs[0]).await.is_none(), "nobody else's");
    let view = scene.store.get(&theirs.schedule.tenant, jobs[0]).await.expect("the store answers");
    assert_eq!(view.expect("it is theirs").state, State::Pending);
    assert!(scene.moved_since(start).await.iter().all(|moved| moved.tenant == theirs.schedule.tenant));
}

pub async fn one_asked_for_by_hand_is_fired_whatever_else_is(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").overlap(Overlap::Skip)).await;
    scene.fire_next(&view).await;
    scene.advance(SECOND).await;
    let now = scene.again(&view).await;
    let while_open = scene.fired(&firing_by_hand(&now, scene.now().await)).await;
    assert_eq!(while_open.len(), 1, "the first job is open");
    assert_eq!(scene.again(&view).await.seen, now.seen, "the calendar is as it was");
    let paused = scene.edited(&pause(&now)).await;
    scene.advance(SECOND).await;
    let while_paused = scene.fired(&firing_by_hand(&paused, scene.now().await)).await;
    let ticks = scene.ticks(&view).await;
    assert_eq!(ticks[0].job.expect("it made one").0, while_paused[0]);
    assert_eq!(ticks[1].job.expect("it made one").0, while_open[0]);
    for tick in &ticks[..2] {
        assert_eq!((tick.state, tick.reason), (TickState::Fired, Some(TickReason::ByHand)));
    }
    assert!(scene.again(&view).await.is_paused);
}

pub async fn one_asked_for_by_hand_and_sent_again_is_fired_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    let firing = firing_by_hand(&view, scene.now().await);
    let id = job_of(&firing.ticks[0]).id;
    for _ in 0..3 {
        assert_eq!(scene.fire_one(&firing).await, Fired::Done(vec![id]));
    }
    let session = scene.session().await;
    scene.run(session, id, completed()).await;
    assert_eq!(scene.fire_one(&firing).await, Fired::Done(vec![id]), "nor when it has run meanwhile");
    assert_eq!((scene.count_in("mail").await, scene.ticks(&view).await.len()), (1, 1));
    assert_eq!(scene.state(id).await, State::Completed);
}

pub async fn two_asked_for_by_hand_in_one_moment_are_both_fired(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let now = scene.now().await;
    let asked: Vec<Firing> = (0..3).map(|_| firing_by_hand(&view, now)).collect();
    for one in &asked {
        assert_eq!(scene.fired(one).await, [job_of(&one.ticks[0]).id]);
    }
    for one in &asked {
        assert_eq!(scene.fired(one).await, [job_of(&one.ticks[0]).id], "sent again, each finds its own");
    }
    let ticks = scene.ticks(&view).await;
    assert_eq!(nominals(&ticks), [now.plus(TINY * 2), now.plus(TINY), now]);
    let made: Vec<JobId> = ticks.iter().rev().map(|tick| tick.job.expect("it made one").0).collect();
    assert_eq!(made, asked.iter().map(|one| job_of(&one.ticks[0]).id).collect::<Vec<_>>());
}

pub async fn one_asked_for_by_hand_never_takes_a_ticks_place(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let jobs = scene.fire_next(&view).await;
    let now = scene.again(&view).await;
    let moment = scene.now().await;
    let hand = scene.fired(&firing_by_hand(&now, moment)).await;
    let ticks = scene.ticks(&view).await;
    let seen: Vec<_> = ticks.iter().map(|tick| (tick.nominal, tick.job.expect("it made one").0)).collect();
    assert_eq!(seen, [(moment.plus(TINY), hand[0]), (moment, jobs[0])]);
}

pub async fn a_firing_may_hold_a_tick_and_one_asked_for_by_hand(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    scene.advance(MINUTE).await;
    let now = scene.now().await;
    let ticks = vec![tick(&view, now), by_hand(&view, now.plus(SECOND))];
    let firing = Firing { next: Some(now.plus(MINUTE)), ..firing(&view, ticks) };
    assert_eq!(scene.fired(&firing).await.len(), 2);
    let reasons: Vec<_> = scene.ticks(&view).await.iter().map(|tick| tick.reason).collect();
    assert_eq!(reasons, [Some(TickReason::ByHand), None]);
}

pub async fn of_many_who_fire_one_tick_at_once_one_does(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    for round in 1..=10 {
        let now = scene.again(&view).await;
        scene.advance(MINUTE).await;
        // Each has made a job of its own for the same tick.
        let fired = at_once((0..8).map(|_| {
            let (store, firing) = (subject.store(), next_firing(&now));
            async move { fire_by(&*store, firing).await }
        }))
        .await;
        let done = fired.iter().filter(|fired| matches!(fired, Fired::Done(jobs) if jobs.len() == 1)).count();
        assert_eq!(done, 1, "{fired:?}");
        assert!(fired.iter().all(|fired| matches!(fired, Fired::Done(_) | Fired::Stale)), "{fired:?}");
        assert_eq!((scene.count_in("mail").await, scene.ticks(&view).await.len()), (round, round as usize));
    }
}

pub async fn schedules_fired_at_once_in_any_order_are_all_fired(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut views = Vec::new();
    for number in 0..20 {
        views.push(scene.plant(every_minute(&format!("s-{number}")).queued("mail")).await);
    }
    scene.advance(MINUTE).await;
    // Two that lock the same rows in opposite orders must not wait for each other for ever.
    let answers = at_once((0..6).map(|caller| {
        let store = subject.store();
        let mut firings: Vec<Firing> = views.iter().map(next_firing).collect();
        if caller % 2 == 1 {
            firings.reverse();
        }
        async move { store.fire(None, &firings).await.expect("the store answers").expect("no term is over") }
    }))
    .await;
    let done = answers.iter().flatten().filter(|fired| matches!(fired, Fired::Done(_))).count();
    assert_eq!((done, scene.count_in("mail").await), (20, 20));
}
