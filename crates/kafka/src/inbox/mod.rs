//! What has arrived and is not settled: lanes of jobs to offer, and where each of their messages lies.
//!
//! ```text
//!               received                offer                    settled
//!   (Kafka) ───────────────▶ waiting ───────────▶ offered ──────────────────▶ its offsets may be committed
//!                               ▲                   │ │
//!                               └──── put back ─────┘ └ its partition went to another process: let go, nothing is committed
//! ```
//!
//! A job is here once, however many messages name it. What arrives while it waits adds its place: the claim comes later than the
//! message, so it answers that one too. What arrives after it was offered waits behind it: the claim may have looked already, and
//! refused what is due again by now.
//!
//! A partition has a number for as long as this process has it, and another when it comes again. What is said of a number that is
//! gone is ignored, so nothing that was offered before a rebalance is committed after it by mistake.
//!
//! It is plain data under one lock, touched by the fetches (one thread for each topic), the dispatcher and the parking.

mod partition;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use foreman_core::lane::LanePlan;
use foreman_core::ports::{Arrival, Offer, ParkedMessage};
use foreman_core::{JobId, Lane, TenantId};

use crate::message::Announced;
use crate::topics::TopicKind;
use partition::OwnPartition;

/// A partition's number and an offset in it.
pub(crate) type Place = (u32, i64);

/// So many unreadable messages wait to be parked at most, before no more of any topic are taken.
const UNREADABLE: usize = 64;

#[derive(Debug)]
pub(crate) struct Inbox {
    /// Of each topic, how many messages may wait.
    capacity: usize,
    partitions: HashMap<u32, OwnPartition>,
    numbers: HashMap<(TopicKind, i32), u32>,
    last_number: u32,
    jobs: HashMap<JobId, Letter>,
    /// Jobs that wait, and some that did once.
    lanes: [VecDeque<JobId>; Lane::ALL.len()],
    /// How many jobs wait.
    ready: usize,
    /// How many messages of each topic wait.
    waiting: [usize; TopicKind::ALL.len()],
    unreadable: VecDeque<(Place, ParkedMessage)>,
}

/// A job that arrived.
#[derive(Debug)]
struct Letter {
    state: LetterState,
    /// The message under which it is offered, and others that name the same job.
    place: Place,
    also: Vec<Place>,
    attempt: u32,
    lane: Lane,
    tenant: TenantId,
    /// What arrived of the job after it was offered.
    later: Option<Box<Letter>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LetterState {
    Waiting,
    Offered,
}

impl Letter {
    fn places(&self) -> impl Iterator<Item = Place> {
        std::iter::once(self.place).chain(self.also.iter().copied())
    }

    /// Another message names the same job.
    fn merge(&mut self, other: Letter) {
        self.attempt = self.attempt.max(other.attempt);
        self.also.extend(other.places());
    }

    /// Forgets messages whose partition is gone. `false`: there is none left.
    fn keep(&mut self, is_ours: impl Fn(Place) -> bool) -> bool {
        self.also.retain(|place| is_ours(*place));
        if self.state == LetterState::Waiting && !is_ours(self.place) {
            let Some(place) = self.also.pop() else { return false };
            self.place = place;
        }
        true
    }
}

impl Inbox {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            partitions: HashMap::new(),
            numbers: HashMap::new(),
            last_number: 0,
            jobs: HashMap::new(),
            lanes: Default::default(),
            ready: 0,
            waiting: [0; TopicKind::ALL.len()],
            unreadable: VecDeque::new(),
        }
    }

    // --- partitions

    pub fn assigned(&mut self, topic: TopicKind, partition: i32) -> u32 {
        self.revoked(topic, &[partition]);
        self.last_number = self.last_number.wrapping_add(1);
        self.numbers.insert((topic, partition), self.last_number);
        self.partitions.insert(self.last_number, OwnPartition::new(topic, partition));
        self.last_number
    }

    /// Lets go of what was not offered. What was offered goes on, and its end is ignored.
    pub fn revoked(&mut self, topic: TopicKind, partitions: &[i32]) {
        let mut is_changed = false;
        for partition in partitions {
            if let Some(number) = self.numbers.remove(&(topic, *partition)) {
                self.partitions.remove(&number);
                is_changed = true;
            }
        }
        if !is_changed {
            return;
        }
        let ours = &self.partitions;
        let is_ours = |place: Place| ours.contains_key(&place.0);
        self.jobs.retain(|_, letter| {
            if letter.later.as_mut().is_some_and(|later| !later.keep(is_ours)) {
                letter.later = None;
            }
            letter.keep(is_ours)
        });
        let jobs = &self.jobs;
        for lane in &mut self.lanes {
            lane.retain(|job| jobs.get(job).is_some_and(|letter| letter.state == LetterState::Waiting));
        }
        self.count();
    }

    /// All partitions of a topic that this process has.
    pub fn partitions(&self, topic: TopicKind) -> Vec<i32> {
        self.numbers.keys().filter(|(of, _)| *of == topic).map(|(_, partition)| *partition).collect()
    }

    /// The offset after the last message received of a partition, and the one below which all are settled.
    pub fn positions(&self, topic: TopicKind, partition: i32) -> Option<(i64, i64)> {
        let partition = self.partitions.get(self.numbers.get(&(topic, partition))?)?;
        Some((partition.next()?, partition.position()?))
    }

    // --- what comes in

    /// A message that can be read. `false`: of a partition that this process does not have.
    pub fn received(&mut self, topic: TopicKind, partition: i32, offset: i64, announced: Announced) -> bool {
        let Some(place) = self.place(topic, partition, offset) else { return false };
        let Announced { job, attempt, lane, tenant } = announced;
        let state = LetterState::Waiting;
        let new = Letter { state, place, also: Vec::new(), attempt, lane, tenant, later: None };
        self.waiting[topic.place()] += 1;
        match self.jobs.get_mut(&job) {
            None => {
                self.jobs.insert(job, new);
                self.lanes[lane.rank() as usize].push_back(job);
                self.ready += 1;
            }
            Some(letter) if letter.state == LetterState::Waiting => letter.merge(new),
            Some(letter) => match &mut letter.later {
                Some(later) => later.merge(new),
                None => letter.later = Some(Box::new(new)),
            },
        }
        true
    }

    /// A message that cannot be read: it waits to be parked.
    pub fn garbled(&mut self, topic: TopicKind, message: ParkedMessage) -> bool {
        let Some(place) = self.place(topic, message.partition, message.offset) else { return false };
        self.unreadable.push_back((place, message));
        true
    }

    fn place(&mut self, topic: TopicKind, partition: i32, offset: i64) -> Option<Place> {
        let number = *self.numbers.get(&(topic, partition))?;
        if self.partitions.get_mut(&number)?.received(offset) {
            return Some((number, offset));
        }
        // The topic was deleted and created again.
        let number = self.assigned(topic, partition);
        self.partitions.get_mut(&number)?.received(offset);
        Some((number, offset))
    }

    /// Enough of this topic waits here.
    pub fn is_full(&self, topic: TopicKind) -> bool {
        self.waiting[topic.place()] >= self.capacity || self.unreadable.len() >= UNREADABLE
    }

    /// There is room for a good number of messages again: half of it, so that a topic is not stopped for each of them.
    pub fn has_room(&self, topic: TopicKind) -> bool {
        self.waiting[topic.place()] <= self.capacity / 2 && self.unreadable.len() <= UNREADABLE / 2
    }

    pub fn waiting(&self, topic: TopicKind) -> usize {
        self.waiting[topic.place()]
    }

    // --- what goes out

    pub fn has_ready(&self) -> bool {
        self.ready > 0
    }

    pub fn offer(&mut self, plan: &LanePlan, limit: usize) -> Offer {
        let mut arrivals = Vec::new();
        for pick in &plan.0 {
            let most = pick.up_to.min(limit - arrivals.len());
            for _ in 0..most {
                let Some(arrival) = self.take(pick.lane) else { break };
                arrivals.push(arrival);
            }
        }
        if arrivals.is_empty() { Offer::Nothing } else { Offer::Ids(arrivals) }
    }

    fn take(&mut self, lane: Lane) -> Option<Arrival> {
        while let Some(job) = self.lanes[lane.rank() as usize].pop_front() {
            let Some(letter) = self.jobs.get_mut(&job) else { continue };
            if letter.state != LetterState::Waiting {
                continue;
            }
            letter.state = LetterState::Offered;
            self.ready -= 1;
            for (number, _) in letter.places() {
                if let Some(partition) = self.partitions.get(&number) {
                    self.waiting[partition.topic.place()] -= 1;
                }
            }
            let Letter { attempt, place, .. } = *letter;
            return Some(Arrival { job, attempt, lane, tenant: letter.tenant.clone(), place });
        }
        None
    }

    pub fn settled(&mut self, arrivals: Vec<Arrival>) {
        for arrival in arrivals {
            let Some(mut letter) = self.take_back(&arrival) else { continue };
            for place in letter.places() {
                self.settle(place);
            }
            if let Some(later) = letter.later.take() {
                self.lanes[later.lane.rank() as usize].push_back(arrival.job);
                self.jobs.insert(arrival.job, *later);
                self.ready += 1;
            }
        }
    }

    pub fn put_back(&mut self, arrivals: Vec<Arrival>) {
        // The first of them is to be the first again.
        for arrival in arrivals.into_iter().rev() {
            let Some(mut letter) = self.take_back(&arrival) else { continue };
            letter.state = LetterState::Waiting;
            let partitions = &self.partitions;
            let has_own = letter.keep(|place| partitions.contains_key(&place.0));
            for (number, _) in letter.places().filter(|_| has_own) {
                if let Some(partition) = self.partitions.get(&number) {
                    self.waiting[partition.topic.place()] += 1;
                }
            }
            let letter = match (has_own, letter.later.take()) {
                (true, None) => letter,
                (true, Some(later)) => {
                    letter.merge(*later);
                    letter
                }
                (false, Some(later)) => *later,
                (false, None) => continue,
            };
            self.lanes[letter.lane.rank() as usize].push_front(arrival.job);
            self.jobs.insert(arrival.job, letter);
            self.ready += 1;
        }
    }

    /// The letter that was offered as this arrival, if it still is.
    fn take_back(&mut self, arrival: &Arrival) -> Option<Letter> {
        let letter = self.jobs.get(&arrival.job)?;
        if letter.state != LetterState::Offered || letter.place != arrival.place {
            return None;
        }
        self.jobs.remove(&arrival.job)
    }

    fn settle(&mut self, (number, offset): Place) {
        if let Some(partition) = self.partitions.get_mut(&number) {
            partition.settled(offset);
        }
    }

    // --- parking

    /// The first messages that wait to be parked, at most so many.
    pub fn unreadable(&self, limit: usize) -> Vec<ParkedMessage> {
        self.unreadable.iter().take(limit).map(|(_, message)| message.clone()).collect()
    }

    /// So many of them are parked.
    pub fn parked(&mut self, count: usize) {
        for _ in 0..count {
            let Some((place, _)) = self.unreadable.pop_front() else { return };
            self.settle(place);
        }
    }

    // --- offsets

    /// What is to be committed of a topic: partitions and offsets. Each is named once.
    pub fn commits(&mut self, topic: TopicKind) -> Vec<(i32, i64)> {
        let of_topic = self.partitions.values_mut().filter(|partition| partition.topic == topic);
        of_topic.filter_map(|partition| Some((partition.number, partition.commit()?))).collect()
    }

    /// A commit of the topic has failed: everything is named again.
    pub fn uncommitted(&mut self, topic: TopicKind) {
        self.partitions.values_mut().filter(|partition| partition.topic == topic).for_each(OwnPartition::uncommitted);
    }

    fn count(&mut self) {
        self.ready = 0;
        self.waiting = [0; TopicKind::ALL.len()];
        for letter in self.jobs.values() {
            let waits = (letter.state == LetterState::Waiting).then_some(letter);
            self.ready += usize::from(waits.is_some());
            for (number, _) in waits.into_iter().chain(letter.later.as_deref()).flat_map(Letter::places) {
                if let Some(partition) = self.partitions.get(&number) {
                    self.waiting[partition.topic.place()] += 1;
                }
            }
        }
    }
}
