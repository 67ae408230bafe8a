//! Messages that could not be read are kept for people to look at, no larger and no longer than is good.

use super::AnnounceSubject;
use super::announce::Relay;
use super::given::{DAY, HOUR, Scene};
use foreman_core::ports::{PARKED_BYTES, ParkedMessage, ParkedView, Retention};

const ANSWERS: &str = "the store answers";

fn message(offset: i64) -> ParkedMessage {
    ParkedMessage {
        topic: "foreman.jobs.high".into(),
        partition: 3,
        offset,
        key: Some(vec![0, 255, 7]),
        bytes: vec![0, 1, 2, 254, 255],
        size: 5,
        reason: "it is no message of ours".into(),
    }
}

async fn park(relay: &Relay, messages: &[ParkedMessage]) {
    relay.store.park(messages).await.expect(ANSWERS);
}

async fn list(relay: &Relay, before: Option<i64>, limit: usize) -> Vec<ParkedView> {
    relay.store.parked(before, limit).await.expect(ANSWERS)
}

pub async fn a_parked_message_is_kept_as_it_came(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let now = scene.now().await;
    let bare = ParkedMessage { key: None, bytes: Vec::new(), size: 0, reason: "it is empty".into(), ..message(8) };
    park(&relay, &[]).await;
    park(&relay, &[message(7), bare.clone()]).await;
    let kept = list(&relay, None, 10).await;
    assert_eq!(kept.iter().map(|view| &view.message).collect::<Vec<_>>(), [&bare, &message(7)]);
    assert_eq!(kept[1].parked_at, now);
}

pub async fn a_message_parked_again_is_there_once(subject: &dyn AnnounceSubject) {
    let relay = Relay::of(subject);
    park(&relay, &[message(7)]).await;
    park(&relay, &[message(7), message(8)]).await;
    let elsewhere = ParkedMessage { partition: 4, ..message(7) };
    let other = ParkedMessage { topic: "foreman.jobs.low".into(), ..message(7) };
    park(&relay, &[elsewhere, other]).await;
    assert_eq!(list(&relay, None, 10).await.len(), 4);
}

pub async fn a_large_message_is_cut_and_its_size_kept(subject: &dyn AnnounceSubject) {
    let relay = Relay::of(subject);
    let large = ParkedMessage {
        key: Some(vec![7; PARKED_BYTES + 1]),
        bytes: vec![9; PARKED_BYTES * 2],
        // The transport has cut it before.
        size: PARKED_BYTES as u64 * 3,
        reason: "ä\0".repeat(PARKED_BYTES),
        ..message(1)
    };
    park(&relay, &[large]).await;
    let kept = list(&relay, None, 1).await.remove(0);
    assert_eq!((kept.message.bytes.len(), kept.message.size), (PARKED_BYTES, 3 * PARKED_BYTES as u64));
    assert_eq!(kept.message.key.map(|key| key.len()), Some(PARKED_BYTES));
    assert!(kept.message.reason.starts_with('ä') && kept.message.reason.len() <= 3 * PARKED_BYTES);
}

pub async fn parked_messages_are_listed_the_newest_first_page_by_page(subject: &dyn AnnounceSubject) {
    let relay = Relay::of(subject);
    for offset in 0..25 {
        park(&relay, &[message(offset)]).await;
    }
    let (mut before, mut offsets) = (None, Vec::new());
    loop {
        let page = list(&relay, before, 10).await;
        let Some(last) = page.last() else { break };
        before = Some(last.number);
        offsets.extend(page.iter().map(|view| view.message.offset));
    }
    assert_eq!(offsets, (0..25).rev().collect::<Vec<i64>>());
}

pub async fn parked_messages_are_pruned_by_their_age(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    park(&relay, &[message(1), message(2), message(3)]).await;
    scene.advance(HOUR).await;
    park(&relay, &[message(4)]).await;
    let retention = Retention { parked: DAY, ..Retention::default() };
    scene.advance(HOUR * 23).await;
    assert_eq!(scene.prune(&retention, 2).await.parked, 2, "no more than were asked for");
    assert_eq!(scene.prune(&retention, 2).await.parked, 1);
    assert_eq!(scene.prune(&retention, 2).await.parked, 0);
    assert_eq!(list(&relay, None, 10).await.len(), 1);
}
