//! What a store must say, kept by the test on its own: an independent account of where every job is and what its
//! counters are, fed with nothing but the calls made and compared with what the store answers.

use std::collections::{BTreeMap, BTreeSet};

use foreman_core::id::{Fence, JobId, SessionId, TenantId};
use foreman_core::job::{NewJob, QueueName};
use foreman_core::outcome::{AttemptOutcome, Verdict};
use foreman_core::ports::{Held, JobView, OpenJob, Settled, is_fragile};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::state::State;
use foreman_core::time::Timestamp;

use super::given::Proof;

#[derive(Default)]
pub(super) struct Ledger {
    pub jobs: BTreeMap<JobId, Entry>,
    pub paused: BTreeSet<(TenantId, QueueName)>,
    last_fence: Option<Fence>,
}

/// One job, as it must be.
pub(super) struct Entry {
    pub tenant: TenantId,
    pub queue: QueueName,
    pub place: Place,
    /// Not after a re-drive: whoever re-drives a job wants it to run.
    pub expires_at: Option<Timestamp>,
    max_attempts: u32,
    attempt: u32,
    spent: u32,
    crashes: u32,
    /// How each try ended, by its claim.
    ends: BTreeMap<Fence, End>,
    /// What the job must show, tries that were handed back left out: a store may show them or not.
    records: Vec<(u32, Option<AttemptOutcome>)>,
    handed_back: BTreeSet<u32>,
    /// How often it became final.
    pub finals: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `in_order`: it was given its place among the due.
    Waiting {
        run_at: Timestamp,
        in_order: bool,
    },
    Held {
        session: SessionId,
        fence: Fence,
    },
    Final(State),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The worker said so.
    Said(SessionId, AttemptOutcome),
    /// Released, lapsed or cancelled by the store: the worker's word no longer counts.
    TakenAway,
}

/// What the store must answer to a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Exactly(Settled),
    /// Told in one way or another that it was not recorded now.
    NotNow,
}

impl Expected {
    pub fn allows(self, answer: Settled) -> bool {
        match self {
            Expected::Exactly(expected) => answer == expected,
            Expected::NotNow => answer != Settled::Now,
        }
    }
}

impl Ledger {
    pub fn submitted(&mut self, job: &NewJob, run_at: Timestamp, now: Timestamp) {
        let entry = Entry {
            tenant: job.tenant.clone(),
            queue: job.work.queue.clone(),
            place: Place::Waiting { run_at, in_order: run_at <= now },
            expires_at: job.work.expires_at,
            max_attempts: job.work.max_attempts,
            attempt: 0,
            spent: 0,
            crashes: 0,
            ends: BTreeMap::new(),
            records: Vec::new(),
            handed_back: BTreeSet::new(),
            finals: 0,
        };
        self.jobs.insert(job.id, entry);
    }

    /// A fresh claim: everything in it must have been there to be taken.
    pub fn claimed(&mut self, session: SessionId, held: &[Held], alone: bool, now: Timestamp) {
        let fence = held[0].fence;
        assert!(Some(fence) > self.last_fence, "claim {fence} after {:?}", self.last_fence);
        self.last_fence = Some(fence);
        for held in held {
            let id = held.job.id;
            assert_eq!(held.fence, fence);
            let entry = self.jobs.get_mut(&id).expect("only what was submitted is claimed");
            let Place::Waiting { run_at, .. } = entry.place else {
                panic!("{id} was claimed while it was {:?}", entry.place)
            };
            assert!(run_at <= now, "{id} was claimed before its time");
            assert!(entry.expires_at.is_none_or(|time| time > now), "{id} was claimed after it expired");
            let queue = (entry.tenant.clone(), entry.queue.clone());
            assert!(!self.paused.contains(&queue), "{id} was claimed from a paused queue");
            entry.attempt += 1;
            entry.spent += 1;
            assert_eq!((held.attempt, held.spent, held.crashes), (entry.attempt, entry.spent, entry.crashes), "{id}");
            entry.place = Place::Held { session, fence };
        }
        let fragile = held.iter().any(|held| is_fragile(held.crashes));
        assert!(!fragile || (alone && held.len() == 1), "a job at its last crash is claimed alone");
    }

    /// What a claim of everything may take right now, those that must run alone apart.
    pub fn claimable(&self, now: Timestamp) -> usize {
        self.jobs
            .values()
            .filter(|entry| {
                matches!(entry.place, Place::Waiting { in_order: true, .. })
                    && !is_fragile(entry.crashes)
                    && entry.expires_at.is_none_or(|time| time > now)
                    && !self.paused.contains(&(entry.tenant.clone(), entry.queue.clone()))
            })
            .count()
    }

    pub fn expects(&self, proof: Proof, verdict: &Verdict) -> Expected {
        let Some(entry) = self.jobs.get(&proof.job) else { return Expected::NotNow };
        if entry.place == (Place::Held { session: proof.session, fence: proof.fence }) {
            return Expected::Exactly(Settled::Now);
        }
        match entry.ends.get(&proof.fence) {
            Some(End::Said(session, outcome)) if *session == proof.session => {
                if *outcome == verdict.name() {
                    Expected::Exactly(Settled::Before)
                } else {
                    Expected::NotNow
                }
            }
            Some(End::Said(..) | End::TakenAway) | None => Expected::Exactly(Settled::Fenced),
        }
    }

    pub fn settled(&mut self, proof: Proof, verdict: &Verdict, now: Timestamp) {
        let entry = self.entry(proof.job);
        entry.ends.insert(proof.fence, End::Said(proof.session, verdict.name()));
        if verdict.refunds() {
            entry.spent -= 1;
        }
        if *verdict == Verdict::Released {
            entry.handed_back.insert(entry.attempt);
        } else {
            entry.records.push((entry.attempt, Some(verdict.name())));
        }
        match (verdict.final_state(), verdict) {
            (Some(state), _) => entry.end(state),
            (None, Verdict::Retry { delay, .. }) => {
                entry.place = Place::Waiting { run_at: now.plus(*delay), in_order: false };
            }
            (None, _) => entry.place = Place::Waiting { run_at: now, in_order: true },
        }
    }

    /// The store released the job for its session.
    pub fn handed_back(&mut self, job: JobId, fence: Fence, now: Timestamp) {
        let entry = self.entry(job);
        entry.ends.insert(fence, End::TakenAway);
        entry.handed_back.insert(entry.attempt);
        entry.spent -= 1;
        entry.place = Place::Waiting { run_at: now, in_order: true };
    }

    pub fn lapsed(&mut self, job: JobId, fence: Fence, now: Timestamp) {
        let entry = self.entry(job);
        entry.ends.insert(fence, End::TakenAway);
        entry.crashes += 1;
        if entry.crashes >= MAX_CRASHES || entry.spent >= entry.max_attempts {
            entry.records.push((entry.attempt, Some(AttemptOutcome::Dead)));
            entry.end(State::Dead);
        } else {
            entry.records.push((entry.attempt, Some(AttemptOutcome::Lapsed)));
            entry.place = Place::Waiting { run_at: now, in_order: true };
        }
    }

    pub fn cancelled(&mut self, job: JobId) {
        let entry = self.entry(job);
        let number = match entry.place {
            Place::Held { fence, .. } => {
                entry.ends.insert(fence, End::TakenAway);
                entry.attempt
            }
            Place::Waiting { .. } | Place::Final(_) => 0,
        };
        entry.records.push((number, Some(AttemptOutcome::Cancelled)));
        entry.end(State::Cancelled);
    }

    pub fn redriven(&mut self, job: JobId, now: Timestamp) {
        let entry = self.entry(job);
        (entry.spent, entry.crashes, entry.expires_at) = (0, 0, None);
        entry.place = Place::Waiting { run_at: now, in_order: true };
    }

    /// What a promoter does; answers how many fell due and how many expired.
    pub fn promoted(&mut self, now: Timestamp) -> (usize, usize) {
        let (mut promoted, mut expired) = (0, 0);
        for entry in self.jobs.values_mut() {
            let Place::Waiting { run_at, in_order } = entry.place else { continue };
            if entry.expires_at.is_some_and(|time| time <= now) {
                expired += 1;
                entry.records.push((0, Some(AttemptOutcome::Failed)));
                entry.end(State::Failed);
            } else if !in_order && run_at <= now {
                promoted += 1;
                entry.place = Place::Waiting { run_at, in_order: true };
            }
        }
        (promoted, expired)
    }

    pub fn open(&self, session: SessionId) -> Vec<OpenJob> {
        let mut open: Vec<OpenJob> = self
            .jobs
            .iter()
            .filter_map(|(id, entry)| match entry.place {
                Place::Held { session: holder, fence } if holder == session => Some(OpenJob { fence, job: *id }),
                _ => None,
            })
            .collect();
        open.sort();
        open
    }

    /// How many wait, are held, and are final.
    pub fn places(&self) -> (u64, u64, u64) {
        let count = |is: fn(&Place) -> bool| self.jobs.values().filter(|entry| is(&entry.place)).count() as u64;
        (
            count(|place| matches!(place, Place::Waiting { .. })),
            count(|place| matches!(place, Place::Held { .. })),
            count(|place| matches!(place, Place::Final(_))),
        )
    }

    fn entry(&mut self, job: JobId) -> &mut Entry {
        self.jobs.get_mut(&job).expect("the ledger knows every job it moves")
    }
}

impl Entry {
    fn end(&mut self, state: State) {
        self.place = Place::Final(state);
        self.finals += 1;
    }

    pub fn state(&self, now: Timestamp) -> State {
        match self.place {
            Place::Waiting { run_at, .. } => State::of_waiting(run_at <= now, self.attempt),
            Place::Held { .. } => State::Running,
            Place::Final(state) => state,
        }
    }

    /// The store's view must be this account, field by field.
    pub fn compare(&self, view: &JobView, now: Timestamp) {
        let id = view.job.id;
        assert_eq!(view.state, self.state(now), "state of {id}");
        let counters = (view.attempt, view.spent, view.crashes);
        assert_eq!(counters, (self.attempt, self.spent, self.crashes), "attempt, spent and crashes of {id}");
        assert_eq!(view.finished_at.is_some(), view.state.is_final(), "end of {id}");
        if let Place::Waiting { run_at, .. } = self.place {
            // What returns to the front keeps an earlier time.
            assert!(view.run_at <= run_at, "{id} is due at {}, should be {run_at}", view.run_at);
        }
        let mut expected = self.records.clone();
        if matches!(self.place, Place::Held { .. }) {
            expected.push((self.attempt, None));
        }
        let shown: Vec<_> = view
            .attempts
            .records
            .iter()
            .filter(|attempt| !self.handed_back.contains(&attempt.number))
            .map(|attempt| (attempt.number, attempt.outcome))
            .collect();
        assert_eq!(shown, expected, "attempts of {id}");
    }
}
