//! Messages that nobody can read, and messages about nothing.

use std::sync::Arc;

use foreman_core::Lane;
use foreman_core::ports::Feed as _;
use foreman_kafka::TopicKind;

use crate::broker::shared;
use crate::stage::{Drawer, PATIENCE, Site, config, ids, ids_of, offered, publish, some_jobs, take};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_nobody_can_read_are_kept_and_then_committed() {
    let site = Site::of(config(&shared(), 1)).await;
    // It is tried again until it works; what was not kept is not skipped.
    let drawer = Drawer::that_is_stuck_for(2);
    let long = vec![0xff; 100_000];
    site.send_bytes(TopicKind::Normal, 0, &[b"garbage", b"", &long]);
    let jobs = some_jobs(Lane::Normal, 5);
    publish(&site.publisher(), &jobs).await;
    let feed = site.feed(&drawer);
    let taken = take(&feed, jobs.len()).await;
    assert_eq!(ids_of(&taken), ids(&jobs), "garbage is in nobody's way");
    feed.settled(taken);
    site.until_committed(TopicKind::Normal, 8).await;
    let kept = drawer.kept();
    let offsets: Vec<i64> = kept.iter().map(|message| message.offset).collect();
    assert_eq!((offsets, drawer.calls() > 2), (vec![0, 1, 2], true));
    assert_eq!((kept[0].bytes.as_slice(), kept[0].key.as_deref()), (b"garbage".as_slice(), Some(b"a key".as_slice())));
    assert_eq!((kept[0].topic.clone(), kept[0].partition), (site.topic(TopicKind::Normal), 0));
    assert!(kept[0].reason.contains("JobAnnounced") && kept[1].reason.contains("empty"), "{kept:?}");
    let sizes: Vec<(usize, u64)> = kept.iter().map(|message| (message.bytes.len(), message.size)).collect();
    assert_eq!(sizes, [(7, 7), (0, 0), (64 * 1024, 100_000)]);
    let state = site.state();
    assert_eq!((state.undecodable, state.parked), (3, 3));
    feed.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_kept_is_not_committed_and_stops_the_topics_not_the_group() {
    let site = Site::of(config(&shared(), 1)).await;
    let stuck = Drawer::that_is_stuck_for(usize::MAX);
    site.send_bytes(TopicKind::Low, 0, &[b"garbage".as_slice(); 200]);
    let feed = site.feed(&stuck);
    site.until("a paused topic", |state| state.fetches[TopicKind::Low as usize].paused == 1).await;
    assert!(site.state().undecodable < 200, "no more is taken than can wait");
    feed.close(PATIENCE).await;
    assert_eq!(site.committed(TopicKind::Low), [0]);
    // The next worker keeps all of it.
    let drawer = Arc::<Drawer>::default();
    let next = site.feed(&drawer);
    site.until_committed(TopicKind::Low, 200).await;
    let mut offsets: Vec<i64> = drawer.kept().iter().map(|message| message.offset).collect();
    offsets.dedup();
    assert_eq!(offsets, (0..200).collect::<Vec<i64>>());
    next.close(PATIENCE).await;
}

/// Whether a job exists is for the claim to say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_nobody_knows_passes_through_like_any_other() {
    let site = Site::of(config(&shared(), 1)).await;
    let feed = site.feed(&Arc::default());
    let unknown = some_jobs(Lane::High, 1);
    publish(&site.publisher(), &unknown).await;
    let taken = take(&feed, 1).await;
    assert_eq!(ids_of(&taken), ids(&unknown));
    // The claim has refused it.
    feed.settled(taken);
    site.until_committed(TopicKind::High, 1).await;
    assert!(offered(&feed, 9).is_empty());
    feed.close(PATIENCE).await;
}
