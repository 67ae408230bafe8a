//! The settler on the reference store.

use std::time::Duration;

use foreman_core::ports::{Held, SessionStore, StoreError};
use foreman_core::{Report, SessionId, State, Verdict};
use foreman_engine::settle::{Config, GIVEN_UP_AFTER, Over, RefusedOutcomes, SettleHandle, Settlements, Settler};
use foreman_runtime::Task;
use tokio::time::{Instant, sleep, timeout};

use crate::scene::{Scene, job, until};
use crate::script::{Act, Verb};

const LONG: Duration = Duration::from_hours(1);

/// A settler of a fresh session that holds so many jobs.
async fn holding(scene: &Scene, count: usize) -> (Task<Settlements>, SettleHandle, SessionId, Vec<Held>) {
    let jobs: Vec<_> = (0..count).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    let session = scene.stranger(LONG).await;
    let held = if count == 0 { vec![] } else { scene.claimed_by(session, count).await };
    let (settler, handle) = Settler::new(scene.store(), session, Config { max_waiting: 50, ..Config::default() });
    (scene.tasks.spawn("settler", settler.run(scene.stop.shutdown())), handle, session, held)
}

fn completed(held: Held) -> foreman_core::ports::Settlement {
    held.settle(Verdict::Completed(Report::default()))
}

async fn send(handle: &SettleHandle, held: Held) {
    handle.outgoing(completed(held)).send().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_starts_records_and_stops() {
    let scene = Scene::new();
    let (settler, handle, _, mut held) = holding(&scene, 1).await;
    send(&handle, held.pop().unwrap()).await;
    handle.idle().await;
    assert_eq!(scene.count(State::Completed).await, 1);
    scene.stop.drain();
    assert_eq!(settler.await.unwrap(), Settlements { now: 1, ..Settlements::default() });
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let (settler, handle, _, mut held) = holding(&scene, 1).await;
    let start = Instant::now();
    scene.stop.drain();
    assert_eq!(settler.await.unwrap(), Settlements::default());
    assert!(start.elapsed().is_zero());
    assert_eq!(handle.outgoing(completed(held.pop().unwrap())).send().await, Err(Over));
}

#[tokio::test(start_paused = true)]
async fn it_flushes_what_it_holds_while_draining() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 40).await;
    scene.store.always(Verb::Settle, Act::Delay(Duration::from_millis(20)));
    for one in held {
        send(&handle, one).await;
    }
    scene.stop.drain();
    assert_eq!(settler.await.unwrap().now, 40);
    assert_eq!(scene.count(State::Completed).await, 40);
    assert!(scene.store.calls(Verb::Settle) <= 3, "{} writes", scene.store.calls(Verb::Settle));
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline_and_counts_what_it_dropped() {
    let scene = Scene::new();
    let (settler, handle, session, held) = holding(&scene, 3).await;
    scene.store.always(Verb::Settle, Act::Fail(StoreError::Full("no space".into())));
    for one in held {
        send(&handle, one).await;
    }
    scene.stop.drain();
    sleep(Duration::from_secs(5)).await;
    assert!(!settler.is_finished(), "it is sent again until told otherwise");
    scene.stop.abort();
    assert_eq!(settler.await.unwrap(), Settlements { unrecorded: 3, ..Settlements::default() });
    assert_eq!(scene.store.end(session).await.unwrap(), 3, "the session still holds them, to be handed back");
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_zombies_outcome_is_refused_and_counted() {
    let scene = Scene::new();
    let (_settler, handle, session, held) = holding(&scene, 2).await;
    sleep(LONG).await;
    scene.lapse(session).await;
    for one in held {
        send(&handle, one).await;
    }
    handle.idle().await;
    assert_eq!(handle.counts(), Settlements { fenced: 2, ..Settlements::default() });
    assert_eq!((scene.count(State::Completed).await, scene.count(State::Pending).await), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn outcomes_wait_for_room_when_the_store_is_slow() {
    let scene = Scene::new();
    let (_settler, handle, _, held) = holding(&scene, 51).await;
    scene.store.always(Verb::Settle, Act::Hang);
    let mut held = held.into_iter();
    for one in held.by_ref().take(50) {
        send(&handle, one).await;
    }
    let last = handle.outgoing(completed(held.next().unwrap())).send();
    let mut last = std::pin::pin!(last);
    assert!(timeout(Duration::from_secs(1), &mut last).await.is_err(), "the fifty-first waits");
    scene.store.heal();
    last.await.unwrap();
    until("all are recorded", || handle.counts().now == 51).await;
}

#[tokio::test(start_paused = true)]
async fn one_outcome_the_store_refuses_does_not_keep_back_the_others_and_is_recorded_in_the_end() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 60).await;
    scene.store.refuse(held[4].job.id);
    let mut held = held.into_iter();
    for one in held.by_ref().take(9) {
        send(&handle, one).await;
    }
    handle.idle().await;
    assert_eq!((handle.counts().now, handle.refused().0), (8, 1));
    let calls = scene.store.calls(Verb::Settle);
    for one in held {
        send(&handle, one).await;
        sleep(Duration::from_secs(5)).await;
    }
    assert_eq!((handle.counts().now, handle.refused().0), (59, 1));
    let again = scene.store.calls(Verb::Settle) - calls;
    assert!(again <= 51 + 20, "the waits have grown: {again} calls in four minutes, of them 51 for the others");
    scene.stop.drain();
    sleep(Duration::from_secs(5)).await;
    assert!(!settler.is_finished(), "it is not recorded yet");
    scene.store.heal();
    assert_eq!(settler.await.unwrap(), Settlements { now: 60, ..Settlements::default() });
    assert_eq!(scene.count(State::Completed).await, 60);
}

#[tokio::test(start_paused = true)]
async fn one_outcome_over_which_the_store_fails_inside_does_not_keep_back_the_others() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 20).await;
    scene.store.refuse_with(held[4].job.id, StoreError::Internal("cache lookup failed (XX000)".into()));
    let mut held = held.into_iter();
    for one in held.by_ref().take(9) {
        send(&handle, one).await;
    }
    until("the others are recorded", || handle.counts().now == 8).await;
    until("it waits alone", || handle.refused().0 == 1).await;
    let calls = scene.store.calls(Verb::Settle);
    for one in held {
        send(&handle, one).await;
        sleep(Duration::from_secs(5)).await;
    }
    assert_eq!((handle.counts().now, handle.refused().0), (19, 1));
    let again = scene.store.calls(Verb::Settle) - calls;
    assert_eq!(again, 11, "one call for each of the others");
    scene.store.heal();
    scene.stop.drain();
    assert_eq!(settler.await.unwrap(), Settlements { now: 20, ..Settlements::default() });
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_inside_for_a_moment_is_asked_again() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 5).await;
    for _ in 0..2 {
        scene.store.next(Verb::Settle, Act::Fail(StoreError::Internal("XX000".into())));
    }
    for one in held {
        send(&handle, one).await;
    }
    handle.idle().await;
    assert_eq!((handle.counts().now, handle.refused().0), (5, 0));
    scene.stop.drain();
    assert_eq!(settler.await.unwrap(), Settlements { now: 5, ..Settlements::default() });
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_is_refused_for_minutes_while_others_are_taken_is_given_up() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 2).await;
    scene.store.refuse(held[0].job.id);
    let mut held = held.into_iter();
    send(&handle, held.next().unwrap()).await;
    sleep(Duration::from_mins(30)).await;
    assert_eq!(handle.refused().0, 1, "as far as is known the store takes nothing at all");
    send(&handle, held.next().unwrap()).await;
    sleep(GIVEN_UP_AFTER).await;
    assert_eq!(handle.refused().0, 1, "and the others may be taken for a moment only");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(handle.refused().0, 0);
    assert_eq!(handle.counts(), Settlements { now: 1, unrecorded: 1, ..Settlements::default() });
    scene.stop.drain();
    settler.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn refused_outcomes_keep_half_of_the_room_free_for_others() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 60).await;
    for one in &held[..40] {
        scene.store.refuse(one.job.id);
    }
    let mut held = held.into_iter();
    for one in held.by_ref().take(40) {
        send(&handle, one).await;
    }
    sleep(Duration::from_mins(1)).await;
    assert_eq!(handle.refused().0, 40);
    send(&handle, held.next().unwrap()).await;
    sleep(Duration::from_secs(92)).await;
    assert_eq!((handle.refused().0, handle.counts().unrecorded), (25, 15), "of a room for fifty");
    scene.store.heal();
    scene.stop.drain();
    assert_eq!(settler.await.unwrap(), Settlements { now: 26, unrecorded: 15, ..Settlements::default() });
}

#[tokio::test(start_paused = true)]
async fn how_many_outcomes_are_refused_and_for_how_long_is_shown() {
    let scene = Scene::new();
    let session = scene.stranger(LONG).await;
    scene.submit(&[job("")]).await;
    let held = scene.claimed_by(session, 1).await.pop().unwrap();
    scene.store.refuse(held.job.id);
    let shown = RefusedOutcomes::default();
    let (settler, handle) = Settler::new(scene.store(), session, Config::default());
    let settler = scene.tasks.spawn("settler", settler.shown_in(&shown).run(scene.stop.shutdown()));
    assert_eq!((shown.count(), shown.age()), (0, Duration::ZERO));
    send(&handle, held).await;
    sleep(Duration::from_mins(5)).await;
    assert_eq!(shown.count(), 1);
    assert!(shown.age() > Duration::from_secs(299), "{:?}", shown.age());
    scene.stop.abort();
    settler.await.unwrap();
    assert_eq!((shown.count(), shown.age()), (0, Duration::ZERO), "it is over");
}

#[tokio::test(start_paused = true)]
async fn when_everything_is_refused_for_a_while_everything_is_recorded_after_it() {
    for act in [Act::Fail(StoreError::Broken("permission denied".into())), Act::Panic] {
        let scene = Scene::new();
        let (settler, handle, _, held) = holding(&scene, 30).await;
        scene.store.always(Verb::Settle, act);
        for one in held {
            send(&handle, one).await;
        }
        sleep(Duration::from_mins(5)).await;
        assert_eq!((handle.counts(), handle.refused().0), (Settlements::default(), 30));
        scene.store.heal();
        let start = Instant::now();
        until("all are recorded", || handle.counts().now == 30).await;
        assert!(start.elapsed() <= Duration::from_secs(31), "{:?}", start.elapsed());
        scene.stop.drain();
        assert_eq!(settler.await.unwrap(), Settlements { now: 30, ..Settlements::default() });
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_until_the_deadline_is_counted_as_dropped() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 2).await;
    scene.store.refuse(held[0].job.id);
    for one in held {
        send(&handle, one).await;
    }
    handle.idle().await;
    scene.stop.abort();
    assert_eq!(settler.await.unwrap(), Settlements { now: 1, unrecorded: 1, ..Settlements::default() });
}

#[tokio::test(start_paused = true)]
async fn outcomes_that_come_one_by_one_are_written_together_under_load() {
    let scene = Scene::new();
    let (_settler, handle, _, held) = holding(&scene, 40).await;
    scene.store.always(Verb::Settle, Act::Delay(Duration::from_millis(1)));
    let running: Vec<_> = (0..40).map(|_| handle.expect()).collect();
    for (number, (one, expected)) in held.into_iter().zip(running).enumerate() {
        if number % 4 == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        send(&handle, one).await;
        drop(expected);
    }
    handle.idle().await;
    let writes = scene.store.calls(Verb::Settle);
    assert_eq!(handle.counts().now, 40);
    // One after the other as they come would be ten; in the window of the settler there is room for twenty outcomes.
    assert!(writes <= 6, "{writes} writes for 40 outcomes in 10 ms");
}

#[tokio::test(start_paused = true)]
async fn a_lone_outcome_is_written_at_once_while_other_work_goes_on() {
    let scene = Scene::new();
    let (_settler, handle, _, held) = holding(&scene, 3).await;
    let _slow = handle.expect();
    for one in held {
        let expected = handle.expect();
        let start = Instant::now();
        send(&handle, one).await;
        drop(expected);
        handle.idle().await;
        assert!(start.elapsed().is_zero(), "it waited {:?}", start.elapsed());
        sleep(Duration::from_millis(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_outcome_takes_along_those_that_waited_for_it() {
    let scene = Scene::new();
    let (_settler, handle, _, held) = holding(&scene, 30).await;
    let mut held = held.into_iter();
    for _ in 0..2 {
        let start = Instant::now();
        let running: Vec<_> = (0..15).map(|_| handle.expect()).collect();
        for (one, expected) in held.by_ref().take(15).zip(running) {
            send(&handle, one).await;
            drop(expected);
        }
        handle.idle().await;
        assert!(start.elapsed().is_zero(), "nothing else ran: {:?}", start.elapsed());
    }
    assert!(scene.store.calls(Verb::Settle) <= 3, "{} writes", scene.store.calls(Verb::Settle));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_back_for_company_while_draining() {
    let scene = Scene::new();
    let (settler, handle, _, held) = holding(&scene, 20).await;
    let _running = handle.expect();
    let mut held = held.into_iter();
    for one in held.by_ref().take(10) {
        send(&handle, one).await;
    }
    handle.idle().await;
    // These would wait for company, for a batch came before and work goes on.
    for one in held {
        send(&handle, one).await;
    }
    let start = Instant::now();
    scene.stop.drain();
    assert_eq!(settler.await.unwrap().now, 20);
    assert!(start.elapsed().is_zero(), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_hangs_holds_up_the_others_for_a_moment_only() {
    let scene = Scene::new();
    let (_settler, handle, _, held) = holding(&scene, 2).await;
    scene.store.next(Verb::Settle, Act::Hang);
    let mut held = held.into_iter();
    send(&handle, held.next().unwrap()).await;
    sleep(Duration::from_millis(1)).await;
    let start = Instant::now();
    send(&handle, held.next().unwrap()).await;
    until("the second is recorded", || handle.counts().now == 1).await;
    assert!(start.elapsed() <= Duration::from_millis(20), "{:?}", start.elapsed());
}
