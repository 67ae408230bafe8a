//! Fire, edit and delete at the same moment, while a tick falls due.
//!
//! Whoever is first: a tick of the old rule is fired once when it was due before the change, and never when the change
//! came before it. Nothing that was due is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Subject;
use super::given::{HOUR, MINUTE, SECOND, Scene, at_once};
use super::timetable::{edit, every_minute, fire_by, next_firing, pause};
use foreman_core::id::{ScheduleId, TenantId};
use foreman_core::ports::{DeleteAnswer, Edit, EditAnswer, ScheduleView, Store, TickState};
use foreman_core::schedule::ScheduleKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meddling {
    Edit,
    Pause,
    Delete,
}

/// What the meddler did in the end: the last state it saw of the schedule.
#[derive(Debug)]
enum Meddled {
    Edited(ScheduleView),
    Deleted,
}

async fn seen(store: &dyn Store, id: ScheduleId) -> Option<ScheduleView> {
    store.schedule(&TenantId::default(), &ScheduleKey::Id(id)).await.expect("the store answers")
}

/// So many races are run at the same time, on schedules of their own.
const AT_ONCE: u64 = 10;

/// Fires every tick that is due, until the others are done.
async fn scheduler(store: Arc<dyn Store>, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::SeqCst) {
        let look = store.due_schedules(2 * AT_ONCE as usize).await.expect("the store answers");
        for due in &look.due {
            // Computed from what the look saw, however old that is by now.
            let view = ScheduleView {
                schedule: due.schedule.clone(),
                seen: due.seen,
                is_paused: false,
                created_at: due.schedule.created_at,
                edited_at: due.schedule.created_at,
                last_tick: None,
            };
            tokio::task::yield_now().await;
            fire_by(&*store, next_firing(&view)).await;
        }
        tokio::task::yield_now().await;
    }
}

/// Looks, fires what is due, changes; again and again until it has taken place.
async fn meddler(store: Arc<dyn Store>, id: ScheduleId, what: Meddling) -> Meddled {
    loop {
        let view = seen(&*store, id).await.expect("nobody else deletes it");
        let now = store.time().await.expect("the store answers");
        if view.seen.next.is_some_and(|next| next <= now) {
            fire_by(&*store, next_firing(&view)).await;
            continue;
        }
        let change: Edit = match what {
            Meddling::Edit => edit(&view, Some(now.plus(HOUR))),
            Meddling::Pause => pause(&view),
            Meddling::Delete => {
                let answer = store.delete_schedule(&TenantId::default(), id, view.seen).await;
                match answer.expect("the store answers") {
                    DeleteAnswer::Deleted => return Meddled::Deleted,
                    DeleteAnswer::Stale => continue,
                    DeleteAnswer::Gone => panic!("nobody else deletes it"),
                }
            }
        };
        match store.edit_schedule(&TenantId::default(), &change).await.expect("the store answers") {
            EditAnswer::Edited(view) => return Meddled::Edited(view),
            EditAnswer::Stale => tokio::task::yield_now().await,
            EditAnswer::Gone => panic!("nobody deletes it"),
        }
    }
}

/// One schedule, and what is done to it while its tick falls due.
struct Race {
    what: Meddling,
    queue: String,
    view: ScheduleView,
}

impl Race {
    async fn new(scene: &Scene<'_>, round: u64) -> Self {
        let what = [Meddling::Edit, Meddling::Pause, Meddling::Delete][(round % 3) as usize];
        let queue = format!("race-{round}");
        let view = scene.plant(every_minute(&queue).first_in(SECOND).queued(&queue)).await;
        Self { what, queue, view }
    }

    async fn judge(&self, scene: &Scene<'_>, changed: Meddled) {
        let Self { what, queue, view } = self;
        let old = view.seen.next.expect("it has one");
        let ticks = scene.ticks(view).await;
        let of_old_rule = ticks.iter().filter(|tick| tick.nominal == old).count();
        assert!(ticks.iter().all(|tick| tick.state == TickState::Fired), "{what:?}: {ticks:?}");
        assert_eq!(scene.count_in(queue).await, ticks.len() as u64, "one job for each tick: {ticks:?}");
        match changed {
            Meddled::Edited(edited) => {
                let was_due = edited.edited_at >= old;
                assert_eq!(of_old_rule, usize::from(was_due), "{what:?} at {}: {ticks:?}", edited.edited_at);
                let after = ticks.iter().filter(|tick| tick.nominal > edited.edited_at);
                assert_eq!(after.count(), 0, "nothing of the old rule comes after the edit: {ticks:?}");
                let now = scene.again(view).await;
                assert_eq!((now.seen, now.is_paused), (edited.seen, *what == Meddling::Pause));
                scene.delete(&now).await;
            }
            Meddled::Deleted => {
                assert!(of_old_rule <= 1, "{ticks:?}");
                assert!(scene.find_schedule(view.schedule.id).await.is_none());
            }
        }
    }
}

pub async fn a_change_and_a_tick_at_the_same_moment_are_one_after_the_other(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for batch in 0..subject.races().div_ceil(AT_ONCE) {
        let mut races = Vec::new();
        for place in 0..AT_ONCE {
            races.push(Race::new(&scene, batch * AT_ONCE + place).await);
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let schedulers = at_once((0..2).map(|_| scheduler(subject.store(), Arc::clone(&is_over))));
        let clock = async {
            // Sometimes the ticks are due before anything else happens, sometimes in between.
            for _ in 0..batch % 4 {
                tokio::task::yield_now().await;
            }
            scene.advance(SECOND).await;
        };
        let changed = async {
            let meddlers = races.iter().map(|race| meddler(subject.store(), race.view.schedule.id, race.what));
            let done = at_once(meddlers).await;
            is_over.store(true, Ordering::SeqCst);
            done
        };
        let (_, (), changed) = tokio::join!(schedulers, clock, changed);
        for (race, changed) in races.iter().zip(changed) {
            race.judge(&scene, changed).await;
        }
    }
}

/// Those who change and those who fire need not know of each other: every tick of many is fired once.
pub async fn a_schedule_edited_all_the_time_loses_no_tick(subject: &dyn Subject) {
    const TICKS: u64 = 12;
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("busy").queued("busy")).await;
    let (id, first) = (view.schedule.id, view.seen.next.expect("it has one"));
    let is_over = Arc::new(AtomicBool::new(false));
    let schedulers = at_once((0..2).map(|_| scheduler(subject.store(), Arc::clone(&is_over))));
    let editors = at_once((0..2).map(|_| {
        let (store, is_over) = (subject.store(), Arc::clone(&is_over));
        async move {
            while !is_over.load(Ordering::SeqCst) {
                let view = seen(&*store, id).await.expect("nobody deletes it");
                // The same times by another rule.
                let edit = edit(&view, view.seen.next);
                store.edit_schedule(&TenantId::default(), &edit).await.expect("the store answers");
                tokio::task::yield_now().await;
            }
        }
    }));
    let clock = async {
        for number in 1..=TICKS {
            scene.advance(MINUTE).await;
            let in_time = tokio::time::timeout(MINUTE, async {
                while scene.again(&view).await.seen.next <= Some(scene.now().await) {
                    tokio::task::yield_now().await;
                }
            });
            in_time.await.expect("the tick is fired within a minute");
            assert_eq!(scene.count_in("busy").await, number);
        }
        is_over.store(true, Ordering::SeqCst);
    };
    tokio::join!(schedulers, editors, clock);
    let ticks = scene.ticks(&view).await;
    let expected: Vec<_> = (0..TICKS).rev().map(|nth| first.plus(MINUTE * u32::try_from(nth).expect("few"))).collect();
    assert_eq!(super::timetable::nominals(&ticks), expected);
}
