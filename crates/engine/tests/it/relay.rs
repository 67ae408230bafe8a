//! What relays announce, how much of it, and what becomes of it when somebody fails.

use std::time::Duration;

use foreman_core::ports::{JobStore as _, StoreError};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, NewJob};
use foreman_engine::relay::Config;
use tokio::time::{Instant, sleep};

use crate::broker::Fleet;
use crate::runner::TASK;
use crate::scene::{job, job_with, until};
use crate::script::{Act, Verb, away};

fn play() -> Route {
    Route::task(TASK)
}

fn jobs(count: usize) -> Vec<NewJob> {
    (0..count).map(|_| job("")).collect()
}

fn sorted(mut ids: Vec<JobId>) -> Vec<JobId> {
    ids.sort();
    ids
}

#[tokio::test(start_paused = true)]
async fn due_jobs_are_announced_as_soon_as_they_are_submitted() {
    let fleet = Fleet::new();
    fleet.consumer(8, &[play()]).await;
    let readings = fleet.relay();
    sleep(Duration::from_secs(20)).await;
    let (submitted, begun) = (jobs(3), Instant::now());
    fleet.scene.submit(&submitted).await;
    until("they are sent", || fleet.broker.sent().len() == 3).await;
    assert!(begun.elapsed() < Duration::from_millis(20), "no poll was waited for: {:?}", begun.elapsed());
    assert_eq!(sorted(fleet.broker.sent()), sorted(submitted.iter().map(|job| job.id).collect()));
    until("they are acknowledged", || readings.get().acknowledged == 3).await;
    sleep(Duration::from_mins(1)).await;
    assert_eq!(fleet.broker.sent().len(), 3, "each once");
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_announced_that_no_worker_would_take() {
    let fleet = Fleet::new();
    fleet.relay();
    fleet.scene.submit(&jobs(3)).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(fleet.broker.sent(), [], "there is no worker");
    let other = fleet.consumer(8, &[Route::http()]).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(fleet.broker.sent(), [], "it runs something else");
    fleet.consumer(8, &[Route::http(), play()]).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(fleet.broker.sent(), [], "one of two could get it that does not run it");
    fleet.scene.store.inner_end(other).await;
    until("every worker runs it", || fleet.broker.sent().len() == 3).await;
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_lie_in_the_broker_than_the_window_of_their_lane() {
    let fleet = Fleet::new();
    let session = fleet.consumer(4, &[play()]).await;
    let readings = fleet.relay();
    fleet.scene.submit(&jobs(100)).await;
    let high: Vec<_> = (0..3).map(|_| job_with("", |work| work.lane = Lane::High)).collect();
    fleet.scene.submit(&high).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(fleet.broker.sent().len(), 8 + 3, "twice the slots, and all of the other lane");
    let seen = readings.get();
    assert_eq!((seen.outstanding.normal, seen.outstanding.high, seen.window.normal), (8, 3, 8));
    // Three are claimed by order, and three more are announced.
    let before = fleet.broker.sent().len();
    fleet.scene.claimed_by(session, 6).await;
    until("there is room for more", || fleet.broker.sent().len() == before + 3).await;
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn two_relays_share_the_windows() {
    let fleet = Fleet::new();
    fleet.consumer(4, &[play()]).await;
    for _ in 0..2 {
        drop(fleet.relay_with(Config { window: Some(10), ..Config::default() }));
    }
    fleet.scene.submit(&jobs(100)).await;
    sleep(Duration::from_secs(10)).await;
    let sent = fleet.broker.sent();
    assert_eq!(sent.len(), 10, "and none of them by both");
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn several_batches_are_under_way_at_once() {
    let fleet = Fleet::new();
    fleet.consumer(1_000, &[play()]).await;
    fleet.broker.set_slow(Duration::from_millis(200));
    let (readings, _) = fleet.relay_with(Config { batch: 10, in_flight: 4, ..Config::default() });
    fleet.scene.submit(&jobs(100)).await;
    until("all are sent", || readings.get().acknowledged == 100).await;
    assert_eq!(fleet.broker.most_at_once(), 4);
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn while_the_broker_is_away_jobs_wait_in_the_store_and_it_is_tried_now_and_then() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    fleet.broker.set_away(true);
    let readings = fleet.relay();
    fleet.scene.submit(&jobs(20)).await;
    sleep(Duration::from_mins(1)).await;
    let tries = fleet.broker.batches();
    assert!((5..60).contains(&tries), "{tries} in a minute");
    assert!(readings.get().trouble.is_some_and(|(since, why)| since > Duration::from_secs(50) && why.contains("away")));
    assert_eq!(readings.get().acknowledged, 0);
    // Submissions go on.
    fleet.scene.submit(&jobs(5)).await;
    fleet.broker.set_away(false);
    until("the backlog drains", || fleet.broker.sent().len() == 25).await;
    until("all is well", || readings.get().trouble.is_none()).await;
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_relay_died_is_announced_again() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    // It marks a batch and is gone before it sends anything.
    let announced = fleet.announced();
    fleet.scene.submit(&jobs(5)).await;
    let request = foreman_core::ports::AnnounceRequest {
        plan: foreman_core::lane::LanePlan::strict(5),
        limit: 5,
        queues: foreman_core::ports::Queues::All,
        routes: vec![play()],
        rooms: Vec::new(),
    };
    assert_eq!(announced.announce(&request).await.unwrap().unwrap().jobs.len(), 5);
    let readings = fleet.relay();
    let begun = Instant::now();
    until("they are sent", || fleet.broker.sent().len() == 5).await;
    let unanswered = Config::default().unanswered_after;
    assert!((unanswered..unanswered * 2).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(readings.get().reannounced, 5);
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_broker_has_lost_is_announced_again() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    fleet.broker.set_leaking(true);
    let readings = fleet.relay();
    fleet.scene.submit(&jobs(5)).await;
    until("they are accepted", || readings.get().acknowledged == 5).await;
    fleet.broker.set_leaking(false);
    until("they are there", || fleet.broker.waiting() == 5).await;
    assert_eq!((fleet.broker.sent().len(), readings.get().reannounced), (10, 5));
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_acknowledgement_is_sent_again() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    let readings = fleet.relay();
    fleet.scene.store.next(Verb::Acknowledge, Act::LoseAnswer);
    fleet.scene.store.next(Verb::Acknowledge, away());
    fleet.scene.submit(&jobs(5)).await;
    until("they are acknowledged", || readings.get().acknowledged == 5).await;
    assert_eq!(fleet.scene.store.calls(Verb::Acknowledge), 3);
    // Acknowledged: so nothing comes back before the time for what is not claimed.
    sleep(Config::default().unanswered_after * 2).await;
    assert_eq!(fleet.broker.sent().len(), 5);
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_left_alone_for_a_while() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    fleet.scene.store.always(Verb::Announce, away());
    fleet.scene.submit(&jobs(5)).await;
    fleet.relay();
    sleep(Duration::from_mins(1)).await;
    let tries = fleet.scene.store.calls(Verb::Announce);
    assert!(tries < 60, "{tries} in a minute");
    fleet.scene.store.heal();
    until("they are sent", || fleet.broker.sent().len() == 5).await;
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_damaged_store_ends_the_relay() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    fleet.scene.store.always(Verb::Announce, Act::Fail(StoreError::Damaged("scripted".into())));
    let (_, relay) = fleet.relay_with(Config::default());
    assert!(relay.await.unwrap().is_err());
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_drains_waits_for_what_it_has_sent() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    fleet.broker.set_slow(Duration::from_secs(3));
    let (readings, relay) = fleet.relay_with(Config::default());
    fleet.scene.submit(&jobs(5)).await;
    until("they are under way", || readings.get().announced == 5).await;
    fleet.scene.stop.drain();
    relay.await.unwrap().unwrap();
    assert_eq!((readings.get().acknowledged, fleet.broker.waiting()), (5, 5));
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_must_leave_at_once_leaves_its_batches_to_the_reconciler() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    fleet.broker.set_slow(Duration::from_hours(1));
    let (readings, relay) = fleet.relay_with(Config::default());
    fleet.scene.submit(&jobs(5)).await;
    until("they are under way", || readings.get().announced == 5).await;
    fleet.scene.stop.abort();
    relay.await.unwrap().unwrap();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_relay_asks_the_store_seldom() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    fleet.relay();
    sleep(Duration::from_mins(1)).await;
    let before = fleet.scene.store.calls(Verb::Announce);
    sleep(Duration::from_mins(1)).await;
    let looks = fleet.scene.store.calls(Verb::Announce) - before;
    assert!(looks <= 6, "{looks} in a minute");
    let before = fleet.scene.store.calls(Verb::Announce);
    fleet.scene.submit(&jobs(1)).await;
    until("it is sent", || fleet.broker.sent().len() == 1).await;
    sleep(Duration::from_millis(100)).await;
    let looks = fleet.scene.store.calls(Verb::Announce) - before;
    assert!(looks <= 2, "{looks} for one job");
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_full_window_costs_little_while_nothing_is_claimed() {
    let fleet = Fleet::new();
    fleet.consumer(2, &[play()]).await;
    fleet.relay();
    fleet.scene.submit(&jobs(50)).await;
    sleep(Duration::from_secs(10)).await;
    let before = fleet.scene.store.calls(Verb::Outstanding);
    sleep(Duration::from_secs(10)).await;
    let looks = fleet.scene.store.calls(Verb::Outstanding) - before;
    assert!(looks <= 10 * 4 + 5, "{looks} in ten seconds");
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn paused_queues_are_announced_when_they_are_resumed() {
    let fleet = Fleet::new();
    fleet.consumer(50, &[play()]).await;
    let (tenant, queue) = (foreman_core::TenantId::default(), foreman_core::job::QueueName::default());
    fleet.scene.store.inner.pause(&tenant, &queue).await.unwrap();
    fleet.relay();
    fleet.scene.submit(&jobs(5)).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(fleet.broker.sent(), []);
    fleet.scene.store.inner.resume(&tenant, &queue).await.unwrap();
    let begun = Instant::now();
    until("they are sent", || fleet.broker.sent().len() == 5).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    fleet.scene.stop.drain();
    fleet.scene.nothing_left().await;
}
