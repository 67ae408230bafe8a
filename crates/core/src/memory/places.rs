//! Where jobs are: in `ready` while they wait, in a claim while they are held, in `outcomes` when they are final.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use super::announce::{AnnouncedJobs, Mark};
use super::passes::Passes;
use super::rules::{Rule, Rules};
use super::schedules::{ScheduleRow, TickRow};
use super::statistics::Books;
use super::tenants::TenantTable;
use super::webhooks::WebhookTable;
use crate::audit::AuditEntry;
use crate::fair::{self, OrderKeys, Turns};
use crate::id::{ClaimToken, EntryId, Fence, JobId, ScheduleId, SessionId, TenantId};
use crate::job::{Job, QueueName};
use crate::key::{KeyId, KeyRecord};
use crate::lane::Lane;
use crate::outcome::{AttemptOutcome, Report};
use crate::ports::{
    ChangeRow, FollowerName, Moved, Note, Position, SessionInfo, SessionState, Step, Topic, USE_IS_NOTED_EVERY,
    is_fragile,
};
use crate::state::State;
use crate::storage::Counters;
use crate::target::Route;
use crate::time::Timestamp;

/// What is due in one lane, for one route, in one queue.
pub(super) type LineKey = (QueueName, Route, Lane);

pub(super) fn line_of(job: &Job) -> LineKey {
    (job.work.queue.clone(), job.work.target.route(), job.work.lane)
}

#[derive(Default)]
pub(super) struct Places {
    pub jobs: BTreeMap<JobId, Job>,
    pub ready: BTreeMap<JobId, WaitingJob>,
    pub claims: BTreeMap<Fence, ClaimRow>,
    pub outcomes: BTreeMap<JobId, OutcomeRow>,
    pub attempts: HashMap<JobId, Vec<AttemptRow>>,
    pub keys: HashMap<(TenantId, String), KeyRow>,
    pub sessions: BTreeMap<SessionId, SessionRow>,
    /// When each was last noted as used.
    pub queues: BTreeMap<(TenantId, QueueName), Timestamp>,
    pub paused: BTreeSet<(TenantId, QueueName)>,
    /// Due jobs by their fair key.
    pub order: BTreeMap<LineKey, BTreeSet<(i64, JobId)>>,
    /// Jobs that are not due, by when they will be.
    pub later: BTreeSet<(Timestamp, JobId)>,
    /// Waiting jobs with a start-by.
    pub expiring: BTreeSet<(Timestamp, JobId)>,
    /// Waiting jobs whose next crash would be their last.
    pub fragile: BTreeSet<JobId>,
    pub schedules: BTreeMap<ScheduleId, ScheduleRow>,
    pub ticks: BTreeMap<(ScheduleId, Timestamp), TickRow>,
    pub tenants: TenantTable,
    pub api_keys: BTreeMap<KeyId, KeyRecord>,
    pub webhooks: WebhookTable,
    pub trail: BTreeMap<EntryId, AuditEntry>,
    virtual_time: HashMap<LineKey, i64>,
    /// The last key given to a tenant in a line, and when.
    last_key: HashMap<(TenantId, LineKey), (i64, Timestamp)>,
    pub turns: Turns,
    last_fence: i64,
    pub log: BTreeMap<Position, ChangeRow>,
    last_position: i64,
    pub followers: BTreeMap<FollowerName, Position>,
    moved: Vec<Moved>,
    notes: Vec<Note>,
    pub books: Books,
    pub passes: Passes,
    pub announced: AnnouncedJobs,
    pub rung: Vec<Topic>,
    pub rules: Rules,
}

#[derive(Clone, Debug)]
pub(super) struct WaitingJob {
    pub run_at: Timestamp,
    /// Its place in the order; none until it is due.
    pub key: Option<i64>,
    pub expires_at: Option<Timestamp>,
    pub counters: Counters,
    /// Whoever puts a job here begins with none.
    pub mark: Mark,
}

pub(super) struct ClaimRow {
    pub session: SessionId,
    pub token: ClaimToken,
    pub claimed_at: Timestamp,
    pub members: BTreeMap<JobId, ClaimMember>,
    pub open: BTreeSet<JobId>,
}

/// A job as it was when it was claimed, the attempt already counted.
#[derive(Clone, Copy)]
pub(super) struct ClaimMember {
    pub run_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub counters: Counters,
}

pub(super) struct OutcomeRow {
    pub state: State,
    pub finished_at: Timestamp,
    pub run_at: Timestamp,
    pub counters: Counters,
    /// The attempt that ended it; none when it ended while it waited.
    pub attempt: Option<AttemptRow>,
    pub report: Report,
}

#[derive(Clone)]
pub(super) struct AttemptRow {
    pub fence: Option<Fence>,
    pub session: Option<SessionId>,
    pub number: u32,
    pub started_at: Option<Timestamp>,
    pub finished_at: Timestamp,
    pub outcome: AttemptOutcome,
    pub report: Report,
    /// The attempt said so itself. What the store decided for it, a zombie cannot claim to have reported.
    pub is_settled: bool,
}

pub(super) struct KeyRow {
    pub job: JobId,
    pub fingerprint: [u8; 32],
    pub expires_at: Timestamp,
}

pub(super) struct SessionRow {
    pub info: SessionInfo,
    pub state: SessionState,
    pub beats: i64,
    pub started_at: Timestamp,
    pub renewed_at: Timestamp,
    /// Tokens named before; only looked at when a rule is taken away.
    pub named: BTreeSet<ClaimToken>,
}

impl Places {
    /// The job, if it is this tenant's.
    pub fn owned(&self, tenant: &TenantId, id: JobId) -> Option<&Job> {
        self.jobs.get(&id).filter(|job| job.tenant == *tenant)
    }

    pub fn job(&self, id: JobId) -> Job {
        self.jobs
            .get(&id)
            .cloned()
            .expect("a job in a place is a job: places are filled from jobs, and emptied before them")
    }

    /// Lets a job wait until `run_at`, in fair order once it is due. `took`: how long the attempt ran that it comes from.
    pub fn put_back(
        &mut self,
        id: JobId,
        (run_at, expires_at): (Timestamp, Option<Timestamp>),
        counters: Counters,
        took: Option<Duration>,
        now: Timestamp,
    ) {
        let counters = counters.moved();
        let key = (run_at <= now).then(|| self.next_key(id, now));
        self.put(id, WaitingJob { run_at, key, expires_at, counters, mark: Mark::default() });
        self.note(id, counters.step(State::of_waiting(run_at <= now, counters.attempt), took), now);
    }

    /// Lets a job wait at the front of the line: what happened to its attempt was not its fault.
    pub fn put_in_front(&mut self, id: JobId, member: ClaimMember, counters: Counters, took: Duration, now: Timestamp) {
        let ClaimMember { run_at, expires_at, .. } = member;
        let counters = counters.moved();
        let job = self.job(id);
        let key = Some(self.virtual_time(&line_of(&job)));
        let run_at = run_at.min(now);
        self.put(id, WaitingJob { run_at, key, expires_at, counters, mark: Mark::default() });
        self.note(id, counters.step(State::Pending, Some(took)), now);
    }

    fn put(&mut self, id: JobId, waiting: WaitingJob) {
        let job = self.job(id);
        if let Some(key) = waiting.key {
            self.order.entry(line_of(&job)).or_default().insert((key, id));
            self.rung.push(Topic::Ready);
        } else {
            self.later.insert((waiting.run_at, id));
            self.rung.push(Topic::Waiting);
        }
        if let Some(expires_at) = waiting.expires_at {
            self.expiring.insert((expires_at, id));
            self.rung.push(Topic::Waiting);
        }
        if is_fragile(waiting.counters.crashes) {
            self.fragile.insert(id);
        }
        self.ready.insert(id, waiting);
    }

    /// Takes a job out of `ready`; `None` when it does not wait.
    pub fn take(&mut self, id: JobId) -> Option<WaitingJob> {
        let waiting = self.ready.remove(&id)?;
        self.fragile.remove(&id);
        let job = self.job(id);
        if let Some(key) = waiting.key {
            let line = line_of(&job);
            if let Some(keys) = self.order.get_mut(&line) {
                keys.remove(&(key, id));
                if keys.is_empty() {
                    self.order.remove(&line);
                }
            }
        } else {
            self.later.remove(&(waiting.run_at, id));
        }
        if let Some(expires_at) = waiting.expires_at {
            self.expiring.remove(&(expires_at, id));
        }
        Some(waiting)
    }

    fn next_key(&mut self, id: JobId, now: Timestamp) -> i64 {
        let job = self.job(id);
        let line = line_of(&job);
        let (virtual_time, weight) = (self.virtual_time(&line), self.tenants.weight(&job.tenant));
        let share = if self.rules.has(Rule::KeysAreFair) { job.tenant } else { TenantId::default() };
        let share = (share, line);
        let last = self.last_key.get(&share).map(|(key, _)| *key);
        let key = OrderKeys::reserve(virtual_time, last, weight, 1).last();
        self.last_key.insert(share, (key, now));
        key
    }

    pub fn virtual_time(&self, line: &LineKey) -> i64 {
        self.virtual_time.get(line).copied().unwrap_or_default()
    }

    /// V moves with service: the highest key claimed so far.
    pub fn served(&mut self, line: LineKey, key: i64, is_its_turn: bool) {
        let time = self.virtual_time.entry(line).or_default();
        *time = if is_its_turn { key.max(*time) } else { fair::out_of_turn(*time, key, 1) };
    }

    /// A queue is used: noted now and then.
    pub fn note_use(&mut self, tenant: &TenantId, queue: &QueueName, now: Timestamp) {
        let used_at = self.queues.entry((tenant.clone(), queue.clone())).or_insert(now);
        if used_at.plus(USE_IS_NOTED_EVERY) <= now {
            *used_at = now;
        }
    }

    /// Removes a queue that a tenant has nothing in; what the order knows of it goes along.
    pub fn forget_queue(&mut self, tenant: &TenantId, queue: &QueueName) {
        self.queues.remove(&(tenant.clone(), queue.clone()));
        let is_left = self.queues.keys().any(|(_, other)| other == queue);
        self.last_key.retain(|(of, line), _| (of, &line.0) != (tenant, queue));
        if !is_left {
            self.virtual_time.retain(|line, _| line.0 != *queue);
        }
    }

    /// Forgets the order of tasks that have been unused for long, where none is due. V goes with the last tenant of a line.
    pub fn forget_lines(&mut self, until: Timestamp, limit: usize) -> usize {
        let is_unused = |(_, line): &(TenantId, LineKey), given_at: Timestamp| {
            given_at <= until && line.1.as_str().starts_with(Route::TASK) && !self.order.contains_key(line)
        };
        let unused = self.last_key.iter().filter(|(share, (_, given_at))| is_unused(share, *given_at));
        let unused: Vec<(TenantId, LineKey)> = unused.map(|(share, _)| share.clone()).take(limit).collect();
        for share in &unused {
            self.last_key.remove(share);
            if !self.last_key.keys().any(|(_, line)| *line == share.1) {
                self.virtual_time.remove(&share.1);
            }
        }
        unused.len()
    }

    /// Drawn after the rows are taken, and never used again.
    pub fn next_fence(&mut self) -> Fence {
        if self.rules.has(Rule::NumbersNeverReused) {
            self.last_fence += 1;
            Fence(self.last_fence)
        } else {
            Fence(self.claims.keys().next_back().map_or(0, |last| last.0) + 1)
        }
    }

    /// The jobs of a claim that are still its own to decide about.
    pub fn open(&self, fence: Fence) -> BTreeSet<JobId> {
        let Some(claim) = self.claims.get(&fence) else { return BTreeSet::new() };
        if self.rules.has(Rule::OpenJobs) {
            claim.open.clone()
        } else {
            claim.members.keys().filter(|id| !self.outcomes.contains_key(id)).copied().collect()
        }
    }

    /// Closes a job in its claim; the claim goes with its last open job.
    pub fn close(&mut self, fence: Fence, id: JobId) {
        let Some(claim) = self.claims.get_mut(&fence) else { return };
        claim.open.remove(&id);
        if claim.open.is_empty() && self.rules.has(Rule::OpenJobs) {
            self.claims.remove(&fence);
        }
    }

    /// The claim that holds a job.
    pub fn holder(&self, id: JobId) -> Option<Fence> {
        self.claims.iter().find(|(_, claim)| claim.open.contains(&id)).map(|(fence, _)| *fence)
    }

    pub fn finish(&mut self, id: JobId, mut outcome: OutcomeRow) {
        outcome.counters = outcome.counters.moved();
        let started_at = outcome.attempt.as_ref().and_then(|attempt| attempt.started_at);
        let took = started_at.map(|started_at| outcome.finished_at.since(started_at));
        self.note(id, outcome.counters.step(outcome.state, took), outcome.finished_at);
        self.outcomes.insert(id, outcome);
    }

    /// What the transaction under way moved; one row of the log when it commits.
    pub fn note(&mut self, id: JobId, step: Step, at: Timestamp) {
        let job = self.job(id);
        self.moved.push(Moved { id, tenant: job.tenant, queue: job.work.queue.clone(), at, step });
    }

    /// What else the transaction under way did.
    pub fn tell(&mut self, note: Note) {
        self.notes.push(note);
    }

    pub fn commit(&mut self, at: Timestamp) {
        if self.moved.is_empty() && self.notes.is_empty() {
            return;
        }
        self.last_position += 1;
        let position = Position(self.last_position);
        let (moved, notes) = (std::mem::take(&mut self.moved), std::mem::take(&mut self.notes));
        self.log.insert(position, ChangeRow { position, at, moved, notes });
        self.rung.push(Topic::Changed);
    }

    pub fn head(&self) -> Position {
        Position(self.last_position)
    }
}
