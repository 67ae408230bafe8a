//! Brokers that are away, that die, and that lose everything.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Feed as _, Publisher as _};
use foreman_core::{JobId, Lane};
use foreman_kafka::{Config, KafkaFeed, TopicKind};
use tokio::time::{Instant, sleep, timeout};

use crate::broker::Broker;
use crate::stage::{PATIENCE, Site, config, ids, offered, publish, some_jobs, take};

/// Takes and settles until it has seen all of these.
async fn see(feed: &KafkaFeed, wanted: &[JobId]) {
    let mut left: BTreeSet<JobId> = wanted.iter().copied().collect();
    let give_up = Instant::now() + PATIENCE;
    while !left.is_empty() {
        assert!(Instant::now() < give_up, "{} of {} never came", left.len(), wanted.len());
        let _ = timeout(Duration::from_millis(200), feed.arrived()).await;
        let taken = offered(feed, 1_000);
        for arrival in &taken {
            left.remove(&arrival.job);
        }
        feed.settled(taken);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_dies_under_load_costs_no_acknowledged_message() {
    let broker = Broker::start(&[]).await;
    let site = Site::of(config(&broker.address, 3)).await;
    site.keep_topics();
    site.until("the topics", |state| state.is_connected).await;
    let (publisher, feed) = (site.publisher(), site.feed(&Arc::default()));
    site.has_partitions(3).await;
    let publishing = async {
        let mut acknowledged = Vec::new();
        for round in 0..40 {
            let jobs = some_jobs(Lane::Normal, 50);
            let answers = publisher.publish(&jobs).await;
            assert_eq!(answers.len(), jobs.len());
            acknowledged
                .extend(ids(&jobs).iter().zip(answers).filter(|(_, answer)| answer.is_ok()).map(|(job, _)| *job));
            if round < 20 {
                sleep(Duration::from_millis(20)).await;
            }
        }
        acknowledged
    };
    let breaking = async {
        sleep(Duration::from_millis(200)).await;
        broker.kill().await;
        site.until("the loss", |state| !state.is_connected).await;
        assert!(site.state().problem().is_some());
        broker.start_again().await;
    };
    let (acknowledged, ()) = tokio::join!(publishing, breaking);
    assert!(!acknowledged.is_empty());
    see(&feed, &acknowledged).await;
    site.until("a good state", |state| state.problem().is_none()).await;
    feed.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_broker_is_away_everyone_has_answers_in_time_and_goes_on_later() {
    let broker = Broker::start(&[]).await;
    let config = Config { delivery_timeout: Duration::from_secs(1), publish_queue: 50, ..config(&broker.address, 1) };
    let site = Site::of(config).await;
    let publisher = site.publisher();
    let works_again = async || {
        let give_up = Instant::now() + PATIENCE;
        while publisher.publish(&some_jobs(Lane::High, 3)).await.iter().any(Result::is_err) {
            assert!(Instant::now() < give_up, "it never recovers");
        }
    };
    works_again().await;
    let feed = site.feed(&Arc::default());
    let running = take(&feed, 3).await;
    for is_frozen in [true, false] {
        if is_frozen {
            broker.freeze().await;
        } else {
            broker.kill().await;
        }
        let jobs = some_jobs(Lane::High, 120);
        // More than the queue holds: those that find no room are answered too.
        let answers = timeout(Duration::from_secs(20), publisher.publish(&jobs)).await.expect("it gives up by itself");
        assert_eq!(answers.len(), jobs.len());
        assert!(answers.iter().all(Result::is_err), "nobody took them");
        if is_frozen {
            // The end of a process does not wait for a broker that does not answer.
            feed.settled(running.clone());
            timeout(PATIENCE, feed.close(Duration::from_secs(1))).await.expect("it is bounded");
        }
        if is_frozen {
            broker.thaw().await;
        } else {
            broker.start_again().await;
        }
        works_again().await;
    }
    assert!(site.state().refused >= 240);
}

/// The client gives every message its whole time from when it was handed over. That is no reason to wait twice as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_for_room_has_its_answers_in_time_too() {
    // It takes connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address").to_string();
    let delivery_timeout = Duration::from_secs(4);
    let site = Site::bare(Config { delivery_timeout, publish_queue: 50, ..config(&address, 1) });
    let publisher = site.publisher();
    let (first, second) = (some_jobs(Lane::High, 50), some_jobs(Lane::High, 50));
    let later = async {
        sleep(delivery_timeout / 3).await;
        let began = Instant::now();
        (publisher.publish(&second).await, began.elapsed())
    };
    let (answers, (late_answers, took)) = tokio::join!(publisher.publish(&first), later);
    assert!(answers.iter().chain(&late_answers).all(Result::is_err));
    let bound = site.config.longest_publish();
    // What the first call had in the queue is given up after four seconds, and only then there is room for the second one.
    assert!(took < bound + Duration::from_secs(1), "{took:?} instead of {bound:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_that_are_deleted_in_the_middle_come_back_and_carry_on() {
    let broker = Broker::start(&[]).await;
    let site = Site::of(config(&broker.address, 4)).await;
    site.keep_topics();
    let (publisher, feed) = (site.publisher(), site.feed(&Arc::default()));
    site.has_partitions(4).await;
    let jobs = some_jobs(Lane::High, 300);
    publish(&publisher, &jobs).await;
    see(&feed, &ids(&jobs)).await;
    for _ in 0..2 {
        site.delete_topics().await;
        // What is lost with them is announced again by the relay; here, whatever was not acknowledged.
        let mut left = some_jobs(Lane::High, 40);
        let announced = ids(&left);
        let give_up = Instant::now() + PATIENCE;
        let mut seen: BTreeSet<JobId> = BTreeSet::new();
        while seen.len() < announced.len() {
            assert!(Instant::now() < give_up, "{} of {} came: {:#?}", seen.len(), announced.len(), site.state());
            publisher.publish(&left).await;
            let until = Instant::now() + Duration::from_secs(2);
            while Instant::now() < until && seen.len() < announced.len() {
                let _ = timeout(Duration::from_millis(100), feed.arrived()).await;
                let taken = offered(&feed, 1_000);
                seen.extend(taken.iter().map(|arrival| arrival.job));
                feed.settled(taken);
            }
            left.retain(|job| !seen.contains(&job.job));
        }
        site.until("all partitions", |state| {
            state.problem().is_none() && state.fetches[TopicKind::High as usize].assigned == 4
        })
        .await;
    }
    feed.close(PATIENCE).await;
}
