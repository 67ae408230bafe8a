//! Joining and coming back while much is written: nothing twice, nothing missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foreman_core::ports::{JobStore as _, Topic, Wakeups as _};

use crate::feed::{Event, Feed, position};
use crate::harness::{Api, Setting, until};
use crate::stream::new_job;

const ROUNDS: usize = 60;
const CLIENTS: usize = 24;

/// A small generator, so that a failure can be looked at again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn without_heartbeats(event: &Event) -> bool {
    event.name != "heartbeat"
}

/// Reads until the last job has ended, leaving and coming back as the dice say.
async fn follow(api: &Api, mut dice: Dice, last: &str, query: &str) -> (String, Vec<Event>) {
    tokio::time::sleep(Duration::from_millis(dice.roll(150))).await;
    let mut feed = Feed::open(api, query, &[]).await;
    let first = feed.last_id.clone().unwrap();
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let stay = dice.roll(40) + 1;
        for _ in 0..stay {
            let event = feed.any().await;
            let is_last = event.data["id"] == *last && event.data["state"] == "completed";
            seen.extend(Some(event).filter(without_heartbeats));
            if is_last {
                return (first, seen);
            }
        }
        let place = feed.last_id.clone().unwrap();
        drop(feed);
        tokio::time::sleep(Duration::from_millis(dice.roll(20))).await;
        feed = Feed::open(api, query, &[("last-event-id", &place)]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_joins_or_comes_back_at_whatever_moment_is_told_everything_once_and_in_order() {
    let mut setting = Setting::default();
    // Small pages and little patience, so that joining takes several tries; a mailbox in which all of it has room.
    setting.tail.page = 3;
    setting.tail.gap = Duration::from_millis(1);
    setting.tail.streams.heartbeat = Duration::from_millis(15);
    let api = Arc::new(Api::with(setting).await);
    let last = new_job();
    let last_id = last.id.to_string();
    let mut all = Feed::open(&api, "", &[]).await;

    let (writing, reading) = (Arc::new(AtomicBool::new(true)), api.clone());
    let writer = {
        let (api, writing) = (api.clone(), writing.clone());
        api.clone().tasks.spawn("writer", async move {
            for _ in 0..ROUNDS {
                let jobs: Vec<_> = (0..3).map(|_| new_job()).collect();
                api.store.inner.submit(&jobs).await.unwrap();
                api.complete_all().await;
                tokio::time::sleep(Duration::from_millis(4)).await;
            }
            // Whoever begins after this has nothing to wait for but the last one.
            tokio::time::sleep(Duration::from_millis(250)).await;
            api.store.inner.submit(&[last]).await.unwrap();
            api.complete_all().await;
            writing.store(false, Ordering::SeqCst);
        })
    };
    let clients = (0..CLIENTS).map(|number| {
        let dice = Dice(number as u64 * 7_919 + 1);
        let query = if number % 4 == 0 { "?queue=default" } else { "" };
        follow(&reading, dice, &last_id, query)
    });
    let clients = futures_util::future::join_all(clients);
    let everything = async {
        let mut seen = Vec::new();
        loop {
            let event = all.any().await;
            let is_last = event.data["id"] == last_id && event.data["state"] == "completed";
            seen.extend(Some(event).filter(without_heartbeats));
            if is_last {
                return seen;
            }
        }
    };
    let (seen, everything) = tokio::join!(clients, everything);
    writer.await.unwrap();
    assert!(!writing.load(Ordering::SeqCst));
    assert_eq!(everything.len(), (ROUNDS * 3 + 1) * 3);
    let order: Vec<&String> = everything.iter().map(|event| &event.id).collect();
    for (number, (first, events)) in seen.into_iter().enumerate() {
        assert!(!events.is_empty());
        let expected = &everything[everything.len() - events.len()..];
        assert_eq!(events, expected, "client {number} has not seen the end of the log as it is");
        // And not one less than what came after its first place.
        let missed = order.iter().take(order.len() - events.len()).filter(|id| is_after(id, &first)).count();
        assert_eq!(missed, 0, "client {number} began at {first}");
    }
}

/// Only within a test: to everybody else a place is opaque.
fn is_after(place: &str, other: &str) -> bool {
    position(place) > position(other)
}

#[tokio::test]
async fn a_client_of_another_server_that_is_ahead_is_told_nothing_twice() {
    let api = Api::start().await;
    // These hear no bell and poll every ten minutes: each stays where it began.
    let mut others = Vec::new();
    for _ in 0..5 {
        let (other, wakeups) = Api::deaf(&api).await;
        let begun = Feed::open(&other, "", &[]).await;
        until("it reads", || other.streams.is_reading()).await;
        others.push((other, wakeups, begun));
    }
    let mut here = Feed::open(&api, "", &[]).await;
    let jobs: Vec<_> = (0..4).map(|_| new_job()).collect();
    api.store.inner.submit(&jobs).await.unwrap();
    api.complete_all().await;
    let told = here.jobs(12).await;
    // In the middle of a transaction, at its end, and almost all of it.
    for (cut, (other, wakeups, _)) in [0, 1, 3, 5, 10].into_iter().zip(&others) {
        let mut moved = Feed::open(other, &format!("?after={}", told[cut].id), &[]).await;
        wakeups.ring(Topic::Changed);
        let rest = &told[cut + 1..];
        assert_eq!(moved.jobs(rest.len()).await, rest, "after {cut}");
    }
}
