//! Which of the jobs are unfinished.
//!
//! What a snapshot told may be told again afterwards: of two events of a job the one with the higher `sequence` counts. A
//! snapshot tells of no more than the newest thousand; whether older ones are left is counted by the server, by a dry run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foreman_client::{Client, Event, FilterDocument, JobEvent, State};
use tokio::time::Instant;

use crate::cli::Watch;
use crate::exit::Exit;

/// Between two counts of what no snapshot told.
const BETWEEN: Duration = Duration::from_secs(1);

pub(super) struct Finals<'a> {
    client: &'a Client,
    watch: &'a Watch,
    /// What is known of each.
    jobs: BTreeMap<String, (u32, State)>,
    unfinished: BTreeSet<String>,
    /// Named and not heard of yet.
    unheard: BTreeSet<String>,
    /// It is known how things stand.
    is_shown: bool,
    /// There may be older ones.
    are_more: bool,
    counted: Option<Instant>,
    /// How jobs ended: those named, or those that did while we watched.
    ends: BTreeMap<String, State>,
}

impl<'a> Finals<'a> {
    pub fn new(watch: &'a Watch, client: &'a Client) -> Self {
        Self {
            client,
            watch,
            jobs: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            unheard: watch.jobs.iter().cloned().collect(),
            is_shown: false,
            are_more: false,
            counted: None,
            ends: BTreeMap::new(),
        }
    }

    /// Takes an event; answers whether none is unfinished.
    pub async fn note(&mut self, event: &Event) -> anyhow::Result<bool> {
        match event {
            Event::Job(job) => self.take(job),
            Event::Snapshot(snapshot) => {
                self.is_shown = true;
                self.are_more = !snapshot.complete;
                // One that was not told is not there; the server says so in its own words.
                for id in std::mem::take(&mut self.unheard) {
                    self.look_at(&id).await?;
                }
            }
            Event::Reset(_) => {
                for id in self.unfinished.clone() {
                    self.look_at(&id).await?;
                }
                // What came and was missed is not known here.
                self.are_more = self.watch.jobs.is_empty();
            }
            _ => {}
        }
        if !self.is_shown || !self.unfinished.is_empty() {
            return Ok(false);
        }
        Ok(!self.are_more || self.none_is_left().await?)
    }

    fn take(&mut self, job: &JobEvent) {
        self.unheard.remove(&job.id);
        if self.jobs.get(&job.id).is_some_and(|(sequence, _)| *sequence > job.sequence) {
            return;
        }
        self.jobs.insert(job.id.clone(), (job.sequence, job.state));
        if !job.state.is_final() {
            self.unfinished.insert(job.id.clone());
            self.ends.remove(&job.id);
            return;
        }
        self.unfinished.remove(&job.id);
        if self.is_shown || !self.watch.jobs.is_empty() {
            self.ends.insert(job.id.clone(), job.state);
        }
    }

    async fn look_at(&mut self, id: &str) -> anyhow::Result<()> {
        let job = self.client.get(id).await?;
        let sequence = self.jobs.get(id).map_or(0, |(sequence, _)| *sequence);
        let at = job.created_at;
        self.take(&JobEvent { id: job.id, state: job.state, queue: job.queue, attempt: job.attempt, at, sequence });
        Ok(())
    }

    async fn none_is_left(&mut self) -> anyhow::Result<bool> {
        if self.counted.is_some_and(|counted| counted.elapsed() < BETWEEN) {
            return Ok(false);
        }
        self.counted = Some(Instant::now());
        for filter in filters(self.watch) {
            if self.client.bulk_cancel(filter, true).await?.matched > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `12 completed, 1 dead; 3 unfinished`.
    pub fn say(&self) -> String {
        let mut counts: BTreeMap<State, usize> = BTreeMap::new();
        for state in self.ends.values() {
            *counts.entry(*state).or_default() += 1;
        }
        let mut said: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        if !self.unfinished.is_empty() {
            said.push(format!("{} unfinished", self.unfinished.len()));
        }
        if said.is_empty() { "no unfinished jobs".into() } else { said.join(", ") }
    }

    pub fn exit(&self) -> Exit {
        let has = |wanted: State| self.ends.values().any(|state| *state == wanted);
        if has(State::Failed) || has(State::Dead) {
            Exit::Failed
        } else if has(State::Cancelled) {
            Exit::Cancelled
        } else {
            Exit::Done
        }
    }
}

/// A bulk call takes one of each.
fn filters(watch: &Watch) -> Vec<FilterDocument> {
    fn each(values: &[String]) -> Vec<Option<String>> {
        if values.is_empty() { vec![None] } else { values.iter().cloned().map(Some).collect() }
    }
    let mut filters = Vec::new();
    for queue in each(&watch.queues) {
        for kind in each(&watch.kinds) {
            for tag in each(&watch.tags) {
                let (queue, kind) = (queue.clone(), kind.clone());
                filters.push(FilterDocument { queue, kind, tag, ..FilterDocument::default() });
            }
        }
    }
    filters
}

#[cfg(test)]
mod tests {
    use foreman_client::SnapshotEvent;

    use super::*;

    fn job(id: &str, state: State, sequence: u32) -> Event {
        let at = foreman_core::Timestamp::from_micros(0);
        Event::Job(JobEvent { id: id.into(), state, queue: "mail".into(), attempt: 1, at, sequence })
    }

    fn shown() -> Event {
        Event::Snapshot(SnapshotEvent { jobs: 2, complete: true, at: foreman_core::Timestamp::from_micros(0) })
    }

    async fn all_final(watch: &Watch, events: &[Event]) -> (bool, String, Exit) {
        // Nobody is there, and nobody is asked.
        let client = Client::new("http://127.0.0.1:1", None).expect("valid");
        let mut finals = Finals::new(watch, &client);
        let mut is_over = false;
        for event in events {
            is_over = finals.note(event).await.expect("nobody is asked");
        }
        (is_over, finals.say(), finals.exit())
    }

    #[tokio::test]
    async fn it_is_over_when_none_is_unfinished_and_not_before_it_is_known_how_things_stand() {
        let watch = Watch { queues: vec!["mail".into()], ..Watch::default() };
        let (done, old) = (job("a", State::Completed, 3), job("z", State::Dead, 9));
        assert!(!all_final(&watch, std::slice::from_ref(&done)).await.0);
        assert_eq!(all_final(&watch, &[old.clone(), shown()]).await, (true, "no unfinished jobs".into(), Exit::Done));
        let events = [old, job("a", State::Running, 2), shown(), job("b", State::Pending, 1), done];
        assert_eq!(all_final(&watch, &events).await, (false, "1 completed, 1 unfinished".into(), Exit::Done));
        let events = [&events[..], &[job("b", State::Failed, 3)]].concat();
        assert_eq!(all_final(&watch, &events).await, (true, "1 completed, 1 failed".into(), Exit::Failed));
    }

    #[tokio::test]
    async fn what_a_snapshot_knew_better_is_not_believed_again() {
        let watch = Watch { jobs: vec!["a".into()], ..Watch::default() };
        let events = [job("a", State::Cancelled, 4), shown(), job("a", State::Running, 3)];
        assert_eq!(all_final(&watch, &events).await, (true, "1 cancelled".into(), Exit::Cancelled));
    }

    #[tokio::test]
    async fn a_job_that_is_run_again_is_unfinished_again() {
        let watch = Watch { jobs: vec!["a".into(), "b".into()], ..Watch::default() };
        let events = [job("a", State::Dead, 4), job("b", State::Running, 2), shown(), job("a", State::Pending, 5)];
        assert_eq!(all_final(&watch, &events).await, (false, "2 unfinished".into(), Exit::Done));
    }

    #[test]
    fn every_combination_is_counted() {
        let watch = Watch { queues: vec!["a".into(), "b".into()], tags: vec!["x".into()], ..Watch::default() };
        let counted: Vec<_> = filters(&watch).into_iter().map(|filter| (filter.queue, filter.tag)).collect();
        assert_eq!(counted, [(Some("a".into()), Some("x".into())), (Some("b".into()), Some("x".into()))]);
    }
}
