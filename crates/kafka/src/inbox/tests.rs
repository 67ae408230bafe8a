use foreman_core::lane::{LanePlan, Pick};

use super::*;

const TOPIC: TopicKind = TopicKind::Normal;

fn announced(job: JobId, lane: Lane) -> Announced {
    Announced { job, attempt: 0, lane, tenant: TenantId::default() }
}

/// With two partitions of a topic.
fn inbox(capacity: usize) -> Inbox {
    let mut inbox = Inbox::new(capacity);
    inbox.assigned(TOPIC, 0);
    inbox.assigned(TOPIC, 1);
    inbox
}

fn receive(inbox: &mut Inbox, partition: i32, offset: i64) -> JobId {
    let job = JobId::fresh();
    assert!(inbox.received(TOPIC, partition, offset, announced(job, Lane::Normal)));
    job
}

fn offer(inbox: &mut Inbox, limit: usize) -> Vec<Arrival> {
    match inbox.offer(&LanePlan::strict(limit), limit) {
        Offer::Ids(arrivals) => arrivals,
        Offer::Nothing => Vec::new(),
        Offer::ByOrder => panic!("it knows what arrived"),
    }
}

fn jobs(arrivals: &[Arrival]) -> Vec<JobId> {
    arrivals.iter().map(|arrival| arrival.job).collect()
}

fn commits(inbox: &mut Inbox) -> Vec<(i32, i64)> {
    let mut commits = inbox.commits(TOPIC);
    commits.sort_unstable();
    commits
}

#[test]
fn what_arrived_is_offered_once_in_its_order() {
    let mut inbox = inbox(100);
    let sent: Vec<JobId> = (0..5).map(|offset| receive(&mut inbox, 0, offset)).collect();
    assert!(inbox.has_ready());
    let (first, rest) = (offer(&mut inbox, 2), offer(&mut inbox, 100));
    assert_eq!([jobs(&first), jobs(&rest)].concat(), sent);
    assert!(offer(&mut inbox, 100).is_empty() && !inbox.has_ready());
}

#[test]
fn lanes_are_picked_by_the_plan_whatever_topic_they_came_in() {
    let mut inbox = inbox(100);
    inbox.assigned(TopicKind::Retry, 0);
    for (offset, lane) in [(0, Lane::Low), (1, Lane::High), (2, Lane::Low)] {
        assert!(inbox.received(TopicKind::Retry, 0, offset, announced(JobId::fresh(), lane)));
    }
    let normal = receive(&mut inbox, 0, 0);
    let plan = LanePlan(vec![
        Pick { lane: Lane::Low, up_to: 1 },
        Pick { lane: Lane::High, up_to: 9 },
        Pick { lane: Lane::Normal, up_to: 9 },
        Pick { lane: Lane::Low, up_to: 9 },
    ]);
    let Offer::Ids(arrivals) = inbox.offer(&plan, 3) else { panic!("there is something") };
    let lanes: Vec<Lane> = arrivals.iter().map(|arrival| arrival.lane).collect();
    assert_eq!((lanes, arrivals[2].job), (vec![Lane::Low, Lane::High, Lane::Normal], normal));
}

#[test]
fn offsets_are_committed_up_to_the_lowest_that_is_not_settled() {
    let mut inbox = inbox(100);
    for offset in 0..3 {
        receive(&mut inbox, 0, offset);
    }
    receive(&mut inbox, 1, 7);
    let mut offered = offer(&mut inbox, 4);
    let last = offered.pop().expect("of the other partition");
    inbox.settled(vec![offered.remove(1), last]);
    assert_eq!(commits(&mut inbox), [(0, 0), (1, 8)]);
    inbox.settled(vec![offered.remove(0)]);
    assert_eq!(commits(&mut inbox), [(0, 2)], "1 was settled before");
    assert_eq!(commits(&mut inbox), []);
    inbox.uncommitted(TOPIC);
    assert_eq!(commits(&mut inbox), [(0, 2), (1, 8)], "said again when it failed");
}

#[test]
fn what_is_put_back_comes_first_and_in_its_order() {
    let mut inbox = inbox(100);
    let sent: Vec<JobId> = (0..4).map(|offset| receive(&mut inbox, 0, offset)).collect();
    let offered = offer(&mut inbox, 3);
    inbox.put_back(offered);
    assert_eq!(jobs(&offer(&mut inbox, 9)), sent);
    assert_eq!(inbox.waiting(TOPIC), 0);
}

#[test]
fn a_second_message_of_a_job_that_waits_is_settled_with_the_first() {
    let mut inbox = inbox(100);
    let job = receive(&mut inbox, 0, 0);
    assert!(inbox.received(TOPIC, 1, 5, Announced { attempt: 2, ..announced(job, Lane::Normal) }));
    assert_eq!(inbox.waiting(TOPIC), 2);
    let offered = offer(&mut inbox, 9);
    assert_eq!((offered.len(), offered[0].attempt, inbox.waiting(TOPIC)), (1, 2, 0));
    inbox.settled(offered);
    assert_eq!(commits(&mut inbox), [(0, 1), (1, 6)]);
}

#[test]
fn what_arrives_of_a_job_after_it_was_offered_is_offered_after_it() {
    let mut inbox = inbox(100);
    let job = receive(&mut inbox, 0, 0);
    let first = offer(&mut inbox, 9);
    assert!(inbox.received(TOPIC, 0, 1, announced(job, Lane::Normal)));
    assert!(inbox.received(TOPIC, 0, 2, announced(job, Lane::Normal)));
    assert!(offer(&mut inbox, 9).is_empty(), "never while it is out");
    inbox.settled(first);
    assert_eq!(commits(&mut inbox), [(0, 1)]);
    let second = offer(&mut inbox, 9);
    assert_eq!(jobs(&second), [job], "both of them at once");
    inbox.settled(second);
    assert_eq!((commits(&mut inbox), inbox.has_ready()), (vec![(0, 3)], false));
}

#[test]
fn what_is_put_back_takes_along_what_arrived_meanwhile() {
    let mut inbox = inbox(100);
    let job = receive(&mut inbox, 0, 0);
    let first = offer(&mut inbox, 9);
    assert!(inbox.received(TOPIC, 0, 1, announced(job, Lane::Normal)));
    inbox.put_back(first);
    let again = offer(&mut inbox, 9);
    assert_eq!(again.len(), 1);
    inbox.settled(again);
    assert_eq!((commits(&mut inbox), inbox.waiting(TOPIC)), (vec![(0, 2)], 0));
}

#[test]
fn a_partition_that_goes_takes_along_what_was_not_offered() {
    let mut inbox = inbox(100);
    receive(&mut inbox, 0, 0);
    let running = offer(&mut inbox, 9);
    receive(&mut inbox, 0, 1);
    let kept = receive(&mut inbox, 1, 0);
    let both = receive(&mut inbox, 0, 2);
    assert!(inbox.received(TOPIC, 1, 1, announced(both, Lane::Normal)));
    inbox.revoked(TOPIC, &[0]);
    assert_eq!(inbox.waiting(TOPIC), 2);
    let left = offer(&mut inbox, 9);
    let mut left_jobs = jobs(&left);
    left_jobs.sort_unstable();
    let mut expected = vec![kept, both];
    expected.sort_unstable();
    assert_eq!(left_jobs, expected);
    // Its work goes on; of its end nothing is committed.
    inbox.settled(running);
    inbox.settled(left);
    assert_eq!(commits(&mut inbox), [(1, 2)]);
}

#[test]
fn a_late_end_is_ignored_when_the_partition_came_back() {
    let mut inbox = inbox(100);
    let job = receive(&mut inbox, 0, 0);
    let before = offer(&mut inbox, 9);
    inbox.revoked(TOPIC, &[0]);
    inbox.assigned(TOPIC, 0);
    // Delivered again, as nothing was committed.
    assert!(inbox.received(TOPIC, 0, 0, announced(job, Lane::Normal)));
    assert!(offer(&mut inbox, 9).is_empty(), "it is still out");
    inbox.settled(before.clone());
    assert_eq!(
        inbox.partitions.values().filter_map(OwnPartition::position).collect::<Vec<_>>(),
        [0],
        "not by the first claim"
    );
    let after = offer(&mut inbox, 9);
    assert_eq!(jobs(&after), [job]);
    inbox.settled(before);
    inbox.settled(after);
    assert_eq!(commits(&mut inbox), [(0, 1)]);
}

#[test]
fn what_is_put_back_after_its_partition_went_is_let_go() {
    let mut inbox = inbox(100);
    receive(&mut inbox, 0, 0);
    let offered = offer(&mut inbox, 9);
    inbox.revoked(TOPIC, &[0, 1]);
    inbox.put_back(offered);
    assert!(!inbox.has_ready() && inbox.jobs.is_empty());
    assert_eq!((inbox.waiting(TOPIC), commits(&mut inbox)), (0, vec![]));
    assert!(!inbox.received(TOPIC, 0, 1, announced(JobId::fresh(), Lane::High)), "it has no such partition");
}

#[test]
fn a_topic_that_was_created_again_begins_again() {
    let mut inbox = inbox(100);
    receive(&mut inbox, 0, 500);
    let old = offer(&mut inbox, 9);
    receive(&mut inbox, 0, 501);
    let new = receive(&mut inbox, 0, 0);
    inbox.settled(old);
    let offered = offer(&mut inbox, 9);
    assert_eq!(jobs(&offered), [new]);
    inbox.settled(offered);
    assert_eq!(commits(&mut inbox), [(0, 1)]);
}

#[test]
fn a_full_inbox_takes_more_when_half_of_it_is_gone() {
    let mut inbox = inbox(4);
    let job = receive(&mut inbox, 0, 0);
    for offset in 1..4 {
        assert!(!inbox.is_full(TOPIC));
        // The same job again and again fills it too.
        assert!(inbox.received(TOPIC, 0, offset, announced(job, Lane::Normal)));
    }
    receive(&mut inbox, 1, 0);
    assert!(inbox.is_full(TOPIC) && !inbox.has_room(TOPIC) && !inbox.is_full(TopicKind::High));
    offer(&mut inbox, 1);
    assert!(inbox.has_room(TOPIC));
}

#[test]
fn what_cannot_be_read_is_committed_when_it_is_parked() {
    let mut inbox = inbox(100);
    let message = |offset| ParkedMessage {
        topic: "foreman.jobs.normal".into(),
        partition: 0,
        offset,
        key: None,
        bytes: b"garbage".to_vec(),
        size: 7,
        reason: "not ours".into(),
    };
    for offset in 0..70 {
        assert!(inbox.garbled(TOPIC, message(offset)));
    }
    assert!(inbox.is_full(TOPIC) && inbox.is_full(TopicKind::High), "no more until they are parked");
    assert_eq!(inbox.unreadable(50).len(), 50);
    assert_eq!(commits(&mut inbox), [(0, 0)]);
    inbox.parked(50);
    assert_eq!(commits(&mut inbox), [(0, 50)]);
    // Parking goes on when the partition is gone; it says nothing about what came after.
    inbox.revoked(TOPIC, &[0]);
    inbox.parked(20);
    assert!(inbox.unreadable(1).is_empty() && commits(&mut inbox).is_empty());
}

/// Whatever happens, each message is waiting, out, settled or gone with its partition, and counts are right.
#[test]
fn no_history_loses_a_message_or_its_count() {
    use rand::{RngExt as _, SeedableRng as _};
    for seed in 0..300 {
        let mut rng = rand::rngs::SmallRng::seed_from_u64(seed);
        let mut inbox = inbox(50);
        let names: Vec<JobId> = (0..12).map(|_| JobId::fresh()).collect();
        let mut next = [0_i64; 2];
        let mut out: Vec<Arrival> = Vec::new();
        for _ in 0..200 {
            match rng.random_range(0..10) {
                0..4 => {
                    let partition = rng.random_range(0..2_usize);
                    let job = names[rng.random_range(0..names.len())];
                    let lane = Lane::ALL[rng.random_range(0..3)];
                    if inbox.received(TOPIC, partition as i32, next[partition], announced(job, lane)) {
                        next[partition] += 1;
                    }
                }
                4..6 => {
                    let offered = offer(&mut inbox, rng.random_range(1..5));
                    for arrival in &offered {
                        assert!(out.iter().all(|it| it.job != arrival.job), "seed {seed}: offered while it is out");
                    }
                    out.extend(offered);
                }
                6..8 if !out.is_empty() => inbox.settled(vec![out.swap_remove(rng.random_range(0..out.len()))]),
                8 if !out.is_empty() => inbox.put_back(vec![out.swap_remove(rng.random_range(0..out.len()))]),
                9 if rng.random_range(0..4) == 0 => {
                    let partition = rng.random_range(0..2);
                    if inbox.numbers.contains_key(&(TOPIC, partition)) {
                        inbox.revoked(TOPIC, &[partition]);
                    } else {
                        inbox.assigned(TOPIC, partition);
                    }
                }
                _ => {}
            }
            let (ready, waiting) = (inbox.ready, inbox.waiting);
            inbox.count();
            assert_eq!((ready, waiting), (inbox.ready, inbox.waiting), "seed {seed}");
        }
        // Everything is brought to its end: then all offsets of what is ours can be committed.
        loop {
            inbox.settled(std::mem::take(&mut out));
            out = offer(&mut inbox, 1_000);
            if out.is_empty() {
                break;
            }
        }
        for partition in inbox.partitions.values() {
            assert_eq!(partition.position(), partition.next(), "seed {seed}");
        }
        assert!(inbox.jobs.is_empty() && inbox.waiting == [0; 4], "seed {seed}: {inbox:?}");
    }
}
