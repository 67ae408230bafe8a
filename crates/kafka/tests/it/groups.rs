//! Workers that share topics: who has which partitions, and what becomes of messages when that changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Arrival, Feed as _};
use foreman_core::{JobId, Lane};
use foreman_kafka::{Config, GroupProtocol, KafkaFeed, TopicKind};
use tokio::time::{Instant, sleep};

use crate::broker::{Broker, shared};
use crate::stage::{PATIENCE, Site, config, ids, ids_of, offered, publish, some_jobs, take};

async fn a_full_lane_stays_in_the_group(protocol: GroupProtocol) {
    let short = Duration::from_millis(2_500);
    let site = Site::of(Config {
        protocol,
        lane_capacity: 10,
        session_timeout: Duration::from_secs(2),
        max_poll_interval: short,
        ..config(&shared(), 2)
    })
    .await;
    let feed = site.feed(&Arc::default());
    site.has_partitions(2).await;
    let jobs = some_jobs(Lane::Normal, 200);
    publish(&site.publisher(), &jobs).await;
    site.until("a paused topic", |state| state.fetches[TopicKind::Normal as usize].paused == 2).await;
    let before = site.state();
    assert!(before.fetches[TopicKind::Normal as usize].waiting < 100, "{before:?}");
    // A worker that is busy for longer than a consumer may be silent.
    sleep(short * 2).await;
    let after = site.state();
    assert_eq!((after.rebalances, after.fetches[TopicKind::Normal as usize].assigned), (before.rebalances, 2));
    let mut seen: Vec<Arrival> = Vec::new();
    while seen.len() < jobs.len() {
        let taken = take(&feed, 20.min(jobs.len() - seen.len())).await;
        feed.settled(taken.clone());
        seen.extend(taken);
    }
    assert_eq!(ids_of(&seen), ids(&jobs), "each of them, and none twice");
    site.until_committed(TopicKind::Normal, 200).await;
    feed.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_has_enough_takes_no_more_and_stays_in_the_group() {
    a_full_lane_stays_in_the_group(GroupProtocol::Auto).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_has_enough_stays_in_the_group_with_the_classic_protocol_too() {
    a_full_lane_stays_in_the_group(GroupProtocol::Classic).await;
}

async fn workers_come_and_go(protocol: GroupProtocol) {
    let config = Config { protocol, ..config(&shared(), 12) };
    let (one, other) = (Site::of(config.clone()).await, Site::bare(config));
    let first = one.feed(&Arc::default());
    one.has_partitions(12).await;
    let publisher = one.publisher();
    let jobs = some_jobs(Lane::Normal, 120);
    publish(&publisher, &jobs).await;
    // Some are running, the rest waits here when the second worker comes.
    let running = take(&first, 30).await;
    let second = other.feed(&Arc::default());
    one.has_partitions(6).await;
    other.has_partitions(6).await;
    let mut seen: BTreeSet<JobId> = running.iter().map(|arrival| arrival.job).collect();
    first.settled(running);
    let finish = async |feeds: &[&KafkaFeed], seen: &mut BTreeSet<JobId>, wanted: usize| {
        let give_up = Instant::now() + PATIENCE;
        while seen.len() < wanted {
            assert!(Instant::now() < give_up, "{} of {wanted} arrived", seen.len());
            for feed in feeds {
                let now = offered(*feed, 10);
                seen.extend(now.iter().map(|arrival| arrival.job));
                feed.settled(now);
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    finish(&[&first, &second], &mut seen, 120).await;
    // The first one goes; what it had, and what comes then, is the other's.
    first.close(PATIENCE).await;
    let more = some_jobs(Lane::Normal, 24);
    publish(&publisher, &more).await;
    finish(&[&second], &mut seen, 144).await;
    let mut wanted = [ids(&jobs), ids(&more)].concat();
    wanted.sort_unstable();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), wanted);
    // What changed hands unsettled was delivered again; all of it is settled by now.
    let give_up = Instant::now() + PATIENCE;
    while other.committed(TopicKind::Normal).iter().sum::<i64>() < 144 {
        assert!(Instant::now() < give_up, "{:?}", other.committed(TopicKind::Normal));
        let again = offered(&second, 100);
        second.settled(again);
        sleep(Duration::from_millis(20)).await;
    }
    second.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_come_and_go_and_every_message_reaches_one() {
    workers_come_and_go(GroupProtocol::Consumer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_come_and_go_with_the_classic_protocol_too() {
    workers_come_and_go(GroupProtocol::Classic).await;
}

async fn settled_is_committed_when_partitions_go(protocol: GroupProtocol) {
    // Nothing is committed because its time has come.
    let config = Config { protocol, commit_every: Duration::from_hours(1), ..config(&shared(), 12) };
    let (one, other) = (Site::of(config.clone()).await, Site::bare(config));
    let first = one.feed(&Arc::default());
    one.has_partitions(12).await;
    let publisher = one.publisher();
    let jobs = some_jobs(Lane::Normal, 120);
    publish(&publisher, &jobs).await;
    first.settled(take(&first, jobs.len()).await);
    assert_eq!(one.committed(TopicKind::Normal).iter().sum::<i64>(), 0);
    let second = other.feed(&Arc::default());
    one.has_partitions(6).await;
    other.has_partitions(6).await;
    let more = some_jobs(Lane::Normal, 120);
    publish(&publisher, &more).await;
    let (mut of_first, mut of_second) = (Vec::new(), Vec::new());
    let give_up = Instant::now() + PATIENCE;
    while of_first.len() + of_second.len() < more.len() {
        assert!(Instant::now() < give_up, "{} and {} arrived", of_first.len(), of_second.len());
        of_first.extend(offered(&first, 100));
        of_second.extend(offered(&second, 100));
        sleep(Duration::from_millis(10)).await;
    }
    assert!(!of_second.is_empty(), "half of the partitions are its own");
    of_first.extend(of_second);
    assert_eq!(ids_of(&of_first), ids(&more), "what was settled is not delivered again");
    first.close(PATIENCE).await;
    second.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_settled_is_committed_before_a_partition_goes_to_another_worker() {
    settled_is_committed_when_partitions_go(GroupProtocol::Consumer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_settled_is_committed_with_the_classic_protocol_too() {
    settled_is_committed_when_partitions_go(GroupProtocol::Classic).await;
}

async fn a_named_worker_restarts(protocol: GroupProtocol) {
    let config = Config { protocol, ..config(&shared(), 4) };
    let named = |name: &str| Config { instance: Some(name.into()), ..config.clone() };
    let (one, other) = (Site::of(named("one")).await, Site::bare(named("other")));
    let (first, second) = (one.feed(&Arc::default()), other.feed(&Arc::default()));
    one.has_partitions(2).await;
    other.has_partitions(2).await;
    let before = one.state().rebalances;
    second.close(PATIENCE).await;
    // It comes back as who it was.
    let again = Site::bare(named("other"));
    let third = again.feed(&Arc::default());
    again.has_partitions(2).await;
    let jobs = some_jobs(Lane::High, 40);
    publish(&one.publisher(), &jobs).await;
    let mut seen = BTreeSet::new();
    let give_up = Instant::now() + PATIENCE;
    while seen.len() < jobs.len() {
        assert!(Instant::now() < give_up, "{} of {} arrived", seen.len(), jobs.len());
        seen.extend(offered(&first, 9).into_iter().chain(offered(&third, 9)).map(|arrival| arrival.job));
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(one.state().rebalances, before, "the others did not notice");
    first.close(PATIENCE).await;
    third.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_worker_finds_its_partitions_again_and_disturbs_nobody() {
    a_named_worker_restarts(GroupProtocol::Consumer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_worker_finds_its_partitions_again_with_the_classic_protocol_too() {
    a_named_worker_restarts(GroupProtocol::Classic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_with_one_name_both_work() {
    let config = Config { instance: Some("twin".into()), ..config(&shared(), 2) };
    let (one, other) = (Site::of(config.clone()).await, Site::bare(config));
    let first = one.feed(&Arc::default());
    one.has_partitions(2).await;
    let second = other.feed(&Arc::default());
    one.has_partitions(1).await;
    other.has_partitions(1).await;
    first.close(PATIENCE).await;
    second.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brokers_that_do_not_assign_partitions_are_noticed() {
    let old = Broker::start(&["feature.group.version=0"]).await;
    let site = Site::of(config(&old.address, 3)).await;
    let feed = site.feed(&Arc::default());
    let jobs = some_jobs(Lane::Low, 10);
    publish(&site.publisher(), &jobs).await;
    let taken = take(&feed, jobs.len()).await;
    assert_eq!(ids_of(&taken), ids(&jobs));
    feed.settled(taken);
    site.until_committed(TopicKind::Low, 10).await;
    feed.close(PATIENCE).await;
}
