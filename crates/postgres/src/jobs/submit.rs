//! Accepting jobs.
//!
//! Sent again, a job is found by its id and nothing changes. An idempotency key is a row of its own; jobs of one slice are
//! judged in order, each seeing the keys of those before it. Two submissions with one key at once wait for each other on that
//! row. Places in line are reserved beforehand for what is due at once, and given in the order of the slice to what was
//! really accepted.
//!
//! Nearly always everything is new, due at once and without a key. That is written in one round trip, each column that the
//! jobs have in common sent once (`sql/accept_new.sql`), and no index asked beforehand: should a job be there already, its
//! unique key says so, nothing has happened, and the careful way is taken.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use foreman_core::job::{NewJob, QueueName, Start};
use foreman_core::ports::{Step, StoreError, Submitted, Topic, USE_IS_NOTED_EVERY};
use foreman_core::storage::NewJobRow;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, State, TenantId, Timestamp};
use uuid::Uuid;

use crate::error::Fault;
use crate::order::{self, Demand, Reservation};
use crate::rows::{Cells, rank};
use crate::value::{Arg, Interval, Time};
use crate::write::{Query, Transaction};
use crate::{PostgresStore, transact};

pub(crate) const ACCEPT_NEW: &str = include_str!("../sql/accept_new.sql");
pub(crate) const ACCEPT: &str = include_str!("../sql/accept.sql");
pub(crate) const WAIT: &str = include_str!("../sql/wait.sql");
pub(crate) const REMEMBER: &str = include_str!("../sql/remember.sql");
pub(crate) const KNOWN: &str = "SELECT id, created_at FROM jobs WHERE id = ANY ($1::uuid[])";
pub(crate) const HOLDERS: &str = "SELECT idempotency.job, idempotency.tenant, idempotency.key, idempotency.fingerprint
    FROM unnest($1::text[], $2::text[]) AS asked (tenant, key)
    JOIN idempotency ON idempotency.tenant = asked.tenant AND idempotency.key = asked.key";
pub(crate) const TAG: &str = "INSERT INTO job_tags (tenant, tag, job)
    SELECT DISTINCT tenant, tag, job FROM unnest($1::text[], $2::text[], $3::uuid[]) AS asked (tenant, tag, job)
    ORDER BY tenant, tag, job ON CONFLICT DO NOTHING";
/// Notes that queues are used, at most once an hour each: a row that is written, or only locked, by every submission would
/// make them wait for one another.
pub(crate) const OPEN_QUEUES: &str = "INSERT INTO queues (queue, tenant, used_at)
    SELECT queue, tenant, foreman_now() FROM unnest($1::text[], $2::text[]) AS asked (queue, tenant)
    WHERE NOT EXISTS (
        SELECT FROM queues AS known WHERE known.queue = asked.queue AND known.tenant = asked.tenant
        AND known.used_at > foreman_now() - $3::interval)
    ORDER BY queue, tenant
    ON CONFLICT (queue, tenant) DO UPDATE SET used_at = excluded.used_at";
/// After [`OPEN_QUEUES`], which waits for whoever removes the queue at this moment, and its lanes with it.
pub(crate) const OPEN_LANES: &str = "INSERT INTO lanes (queue, lane, v)
    SELECT queue, lane, 0 FROM unnest($1::text[], $2::smallint[]) AS asked (queue, lane)
    ORDER BY lane, queue ON CONFLICT DO NOTHING";

pub(super) async fn submit(store: &PostgresStore, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let jobs: Vec<NewJobRow> = jobs.iter().map(NewJobRow::of).collect::<Result<_, _>>()?;
    let reserved = Reservation::make(store, &demand(&jobs)).await?;
    if let Some(alike) = Alike::all(&jobs) {
        let at = transact!(store, data, Write, |tx| accept_new(&tx, &jobs, &alike, reserved.clone()).await)?;
        if let Some(at) = at {
            return Ok(vec![Submitted::Accepted(at); jobs.len()]);
        }
    }
    let (answers, left) = transact!(store, data, Write, |tx| {
        let mut reservation = reserved.clone();
        let answers = accept(&tx, &jobs.iter().collect::<Vec<_>>(), &mut reservation).await;
        answers.map(|answers| (answers, reservation))
    })?;
    left.give_back(store).await;
    Ok(answers)
}

/// Places for whatever is due at once.
pub(crate) fn demand(jobs: &[NewJobRow]) -> Demand {
    let mut demand = Demand::default();
    for job in jobs.iter().filter(|job| job.is_due()) {
        demand.one(&job.tenant, &job.queue, job.lane, &job.route);
    }
    demand
}

/// As its column keeps it.
fn max_attempts(job: &NewJobRow) -> i32 {
    i32::try_from(job.max_attempts).unwrap_or(i32::MAX)
}

/// Jobs that differ in nothing but their ids and their work, each with its columns in common.
type JobGroup<'a> = (Common<'a>, Vec<&'a NewJobRow>);

/// What jobs may have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Common<'a> {
    tenant: &'a TenantId,
    queue: &'a QueueName,
    route: &'a Route,
    lane: i16,
    kind: Option<&'a str>,
    correlation_id: Option<&'a str>,
    max_attempts: i32,
    expires_at: Option<Timestamp>,
}

/// New jobs by what they have in common: a statement for each.
struct Alike<'a>(Vec<JobGroup<'a>>);

/// A statement costs about as much as the columns of so many jobs.
const WORTH_A_STATEMENT: usize = 8;

impl<'a> Alike<'a> {
    /// None where the careful way is needed, or where there is too little in common.
    fn all(jobs: &'a [NewJobRow]) -> Option<Self> {
        if !jobs.iter().all(|job| job.is_due() && job.idempotency.is_none()) {
            return None;
        }
        let most = jobs.len().div_ceil(WORTH_A_STATEMENT);
        let mut groups: BTreeMap<Common<'a>, Vec<&'a NewJobRow>> = BTreeMap::new();
        for job in jobs {
            let kind = Common {
                tenant: &job.tenant,
                queue: &job.queue,
                route: &job.route,
                lane: rank(job.lane),
                kind: job.kind.as_deref(),
                correlation_id: job.correlation_id.as_deref(),
                max_attempts: max_attempts(job),
                expires_at: job.expires_at,
            };
            groups.entry(kind).or_default().push(job);
            if groups.len() > most {
                return None;
            }
        }
        Some(Self(groups.into_iter().collect()))
    }
}

/// A group as its statement wants it.
struct NewRows<'a> {
    ids: Vec<Uuid>,
    works: Vec<&'a str>,
    outlines: Vec<Option<&'a str>>,
    keys: Vec<i64>,
    tenant: &'a str,
    queue: &'a str,
    route: &'a str,
    expires_at: Option<Time>,
}

/// Writes new jobs down and lets them wait; when they were accepted. None: one of them is there already, and nothing happened.
async fn accept_new(
    tx: &Transaction,
    jobs: &[NewJobRow],
    alike: &Alike<'_>,
    mut reservation: Reservation,
) -> Result<Option<Timestamp>, Fault> {
    let (mut queues, mut tags, mut keys) = (UsedQueues::default(), Tags::default(), HashMap::with_capacity(jobs.len()));
    // In the order in which they were asked for, whatever they have in common.
    for job in jobs {
        let Some(key) = reservation.next(&job.tenant, &job.queue, job.lane, &job.route) else {
            tx.forget();
            return Ok(None);
        };
        keys.insert(job.id, key);
        tags.push(job);
        tx.note(job.id, &job.tenant, &job.queue, first_move(true));
    }
    tx.ring(Topic::Ready);
    let mut groups = Vec::with_capacity(alike.0.len());
    for (kind, jobs) in &alike.0 {
        if kind.expires_at.is_some() {
            tx.ring(Topic::Waiting);
        }
        queues.add(kind.queue.as_str(), kind.tenant.as_str(), jobs[0].lane);
        let mut jobs = jobs.clone();
        jobs.sort_by_key(|job| job.id);
        groups.push(NewRows {
            ids: jobs.iter().map(|job| job.id.0).collect(),
            works: jobs.iter().map(|job| job.work.as_str()).collect(),
            outlines: outlines(&jobs),
            keys: jobs.iter().filter_map(|job| keys.get(&job.id).copied()).collect(),
            tenant: kind.tenant.as_str(),
            queue: kind.queue.as_str(),
            route: kind.route.as_str(),
            expires_at: kind.expires_at.map(Time),
        });
    }
    let group_args: Vec<[&dyn Arg; 12]> = groups
        .iter()
        .zip(&alike.0)
        .map(|(rows, (kind, _))| -> [&dyn Arg; 12] {
            let NewRows { ids, works, outlines, keys, tenant, queue, route, expires_at } = rows;
            let Common { lane, kind, correlation_id, max_attempts, .. } = kind;
            [ids, works, keys, tenant, queue, route, lane, kind, correlation_id, max_attempts, expires_at, outlines]
        })
        .collect();
    let opened = queues.columns();
    let open_args = opened.args();
    let tag_args: [&dyn Arg; 3] = [&tags.tenants, &tags.names, &tags.jobs];
    let mut steps = open_args.steps();
    steps.extend(group_args.iter().map(|args| (ACCEPT_NEW, &args[..])));
    let first = steps.len() - groups.len();
    if !tags.jobs.is_empty() {
        steps.push((TAG, &tag_args[..]));
    }
    match tx.last(&steps, false).await {
        Ok(answers) => {
            let row =
                answers[first].first().ok_or_else(|| Fault::misfit("jobs", "created_at", jobs[0].id, "no answer"))?;
            Ok(Some(row.try_get::<_, Time>(0)?.0))
        }
        Err(fault) if fault.is_taken() => {
            tx.forget();
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// Empty where no work is large, as is usual.
fn outlines<'a>(jobs: &[&'a NewJobRow]) -> Vec<Option<&'a str>> {
    if jobs.iter().all(|job| job.outline.is_none()) {
        return Vec::new();
    }
    jobs.iter().map(|job| job.outline.as_deref()).collect()
}

/// The first of all moves is to be accepted.
fn first_move(is_due: bool) -> Step {
    Step { state: State::of_waiting(is_due, 0), attempt: 0, sequence: 1, took: None }
}

pub(crate) async fn accept(
    tx: &Transaction,
    jobs: &[&NewJobRow],
    keys: &mut Reservation,
) -> Result<Vec<Submitted>, Fault> {
    let mut judged = judge(tx, jobs).await?;
    let free: Vec<&NewJobRow> =
        jobs.iter().zip(&judged).filter(|(_, known)| known.is_none()).map(|(job, _)| *job).collect();
    let accepted = write_down(tx, &free).await?;
    let fresh: Vec<&NewJobRow> = {
        let mut seen = HashSet::new();
        free.iter().copied().filter(|job| accepted.contains_key(&job.id) && seen.insert(job.id)).collect()
    };
    line_up(tx, &fresh, &accepted, keys).await?;
    let sent_again: Vec<Uuid> =
        free.iter().map(|job| job.id).filter(|id| !accepted.contains_key(id)).map(|id| id.0).collect();
    let known = if sent_again.is_empty() { HashMap::new() } else { known(tx, &sent_again).await? };
    for (job, answer) in jobs.iter().zip(&mut judged) {
        if answer.is_none() {
            let at = accepted.get(&job.id).map(|accepted| accepted.created_at).or_else(|| known.get(&job.id).copied());
            // Written by somebody else, and removed again while we looked: it was accepted, whenever that was.
            *answer = Some(Submitted::Accepted(at.unwrap_or_default()));
        }
    }
    Ok(judged.into_iter().flatten().collect())
}

async fn known(tx: &Transaction, ids: &Vec<Uuid>) -> Result<HashMap<JobId, Timestamp>, Fault> {
    let rows = tx.rows_by_id(KNOWN, &[ids]).await?;
    rows.iter()
        .map(|row| {
            let cells = Cells::of_job(row, "jobs", 0)?;
            Ok((cells.id, cells.time(1, "created_at")?))
        })
        .collect()
}

type Key<'a> = (&'a str, &'a str);

fn key_of(job: &NewJobRow) -> Option<Key<'_>> {
    job.idempotency.as_ref().map(|idempotency| (job.tenant.as_str(), idempotency.key.as_str()))
}

/// What earlier jobs with the same keys make of these; nothing for those that may be written. A job sent again is not judged
/// by its key.
async fn judge(tx: &Transaction, jobs: &[&NewJobRow]) -> Result<Vec<Option<Submitted>>, Fault> {
    let keyed: Vec<Uuid> = jobs.iter().filter(|job| job.idempotency.is_some()).map(|job| job.id.0).collect();
    let mut judged = vec![None; jobs.len()];
    if keyed.is_empty() {
        return Ok(judged);
    }
    let known = known(tx, &keyed).await?;
    // The first of each key speaks for it.
    let mut first: BTreeMap<Key<'_>, &NewJobRow> = BTreeMap::new();
    for job in jobs.iter().filter(|job| !known.contains_key(&job.id)) {
        if let Some(key) = key_of(job) {
            first.entry(key).or_insert(job);
        }
    }
    let holders = remember(tx, &first).await?;
    for (job, answer) in jobs.iter().zip(&mut judged) {
        let (Some(key), Some(idempotency)) = (key_of(job), &job.idempotency) else { continue };
        *answer = match (known.get(&job.id), holders.get(&(key.0.to_owned(), key.1.to_owned()))) {
            (Some(created_at), _) => Some(Submitted::Accepted(*created_at)),
            (None, Some((holder, _))) if *holder == job.id => None,
            (None, Some((holder, fingerprint))) if idempotency.stands_for(fingerprint) => {
                Some(Submitted::Duplicate(*holder))
            }
            (None, Some((holder, _))) => Some(Submitted::KeyReused(*holder)),
            (None, None) => {
                return Err(Fault::misfit("idempotency", "key", job.id, "gone between two statements that lock it"));
            }
        };
    }
    Ok(judged)
}

type Holders = HashMap<(String, String), (JobId, Vec<u8>)>;

/// Takes the keys that are free; who holds each of them.
async fn remember(tx: &Transaction, first: &BTreeMap<Key<'_>, &NewJobRow>) -> Result<Holders, Fault> {
    let (mut tenants, mut keys, mut ids, mut fingerprints, mut keep) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::<&[u8]>::new(), Vec::new());
    for ((tenant, key), job) in first {
        let Some(idempotency) = &job.idempotency else { continue };
        tenants.push(*tenant);
        keys.push(*key);
        ids.push(job.id.0);
        fingerprints.push(&idempotency.fingerprint);
        keep.push(Interval(idempotency.keep));
    }
    if keys.is_empty() {
        return Ok(Holders::new());
    }
    tx.rows(REMEMBER, &[&tenants, &keys, &ids, &fingerprints, &keep]).await?;
    let rows = tx.rows(HOLDERS, &[&tenants, &keys]).await?;
    rows.iter()
        .map(|row| {
            let cells = Cells::of_job(row, "idempotency", 0)?;
            let key = (cells.get(1, "tenant")?, cells.get(2, "key")?);
            Ok((key, (cells.id, cells.get(3, "fingerprint")?)))
        })
        .collect()
}

struct Accepted {
    created_at: Timestamp,
    run_at: Timestamp,
}

/// Inserts what is not there yet; what that was. Queues before jobs, as [`accept_new`] does: two that bring the same jobs to the
/// same new queue must not wait for each other.
async fn write_down(tx: &Transaction, jobs: &[&NewJobRow]) -> Result<HashMap<JobId, Accepted>, Fault> {
    if jobs.is_empty() {
        return Ok(HashMap::new());
    }
    let mut jobs = jobs.to_vec();
    jobs.sort_by_key(|job| job.id);
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.id.0).collect();
    let tenants: Vec<&str> = jobs.iter().map(|job| job.tenant.as_str()).collect();
    let queues: Vec<&str> = jobs.iter().map(|job| job.queue.as_str()).collect();
    let routes: Vec<&str> = jobs.iter().map(|job| job.route.as_str()).collect();
    let lanes: Vec<i16> = jobs.iter().map(|job| rank(job.lane)).collect();
    let kinds: Vec<Option<&str>> = jobs.iter().map(|job| job.kind.as_deref()).collect();
    let correlations: Vec<Option<&str>> = jobs.iter().map(|job| job.correlation_id.as_deref()).collect();
    let max_attempts: Vec<i32> = jobs.iter().map(|job| max_attempts(job)).collect();
    let (mut starts, mut delays) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
    for job in &jobs {
        let (start, delay) = match job.start {
            Start::Now => (None, Duration::ZERO),
            Start::At(time) => (Some(Time(time)), Duration::ZERO),
            Start::After(delay) => (None, delay),
        };
        starts.push(start);
        delays.push(Interval(delay));
    }
    let works: Vec<&str> = jobs.iter().map(|job| job.work.as_str()).collect();
    let outlines = outlines(&jobs);
    let args: [&dyn Arg; 12] = [
        &ids,
        &tenants,
        &queues,
        &routes,
        &lanes,
        &kinds,
        &correlations,
        &max_attempts,
        &starts,
        &delays,
        &works,
        &outlines,
    ];
    let mut queues = UsedQueues::default();
    for job in &jobs {
        queues.add(job.queue.as_str(), job.tenant.as_str(), job.lane);
    }
    let opened = queues.columns();
    let open_args = opened.args();
    let mut steps = open_args.steps();
    steps.push((ACCEPT, &args));
    let rows = tx.all(&steps).await?.pop().unwrap_or_default();
    rows.iter()
        .map(|row| {
            let cells = Cells::of_job(row, "jobs", 0)?;
            let (created_at, run_at) = (cells.time(1, "created_at")?, cells.time(2, "first_run_at")?);
            Ok((cells.id, Accepted { created_at, run_at }))
        })
        .collect()
}

/// Lets accepted jobs wait, with everything that goes along with them.
async fn line_up(
    tx: &Transaction,
    jobs: &[&NewJobRow],
    accepted: &HashMap<JobId, Accepted>,
    keys: &mut Reservation,
) -> Result<(), Fault> {
    let (mut line, mut late) = (ReadyColumns::default(), Vec::new());
    let mut tags = Tags::default();
    for job in jobs {
        let Some(Accepted { created_at, run_at }) = accepted.get(&job.id) else { continue };
        let is_due = run_at <= created_at;
        let key = if is_due { keys.next(&job.tenant, &job.queue, job.lane, &job.route) } else { None };
        if is_due && key.is_none() {
            late.push((job.id, job.tenant.clone(), job.queue.clone(), job.lane, job.route.clone()));
        }
        line.push(job.id, job.tenant.as_str(), job.queue.as_str(), job.route.as_str(), job.lane, job.kind.as_deref());
        line.when(Some(*run_at), job.expires_at, key);
        line.counted(0, 1);
        tags.push(job);
        tx.note(job.id, &job.tenant, &job.queue, first_move(is_due));
        if is_due {
            tx.ring(Topic::Ready);
        }
        if !is_due || job.expires_at.is_some() {
            tx.ring(Topic::Waiting);
        }
    }
    if line.ids.is_empty() {
        return Ok(());
    }
    let line_args = line.args();
    let tag_args: [&dyn Arg; 3] = [&tags.tenants, &tags.names, &tags.jobs];
    let mut steps = vec![(WAIT, &line_args[..])];
    if !tags.jobs.is_empty() {
        steps.push((TAG, &tag_args[..]));
    }
    tx.all(&steps).await?;
    order::place(tx, &late).await
}

/// The queues of tenants, and the lanes in them, that a batch puts something into.
#[derive(Default)]
pub(super) struct UsedQueues<'a> {
    queues: BTreeSet<(&'a str, &'a str)>,
    lanes: BTreeSet<(i16, &'a str)>,
}

impl<'a> UsedQueues<'a> {
    pub fn add(&mut self, queue: &'a str, tenant: &'a str, lane: Lane) {
        self.queues.insert((queue, tenant));
        self.lanes.insert((rank(lane), queue));
    }

    /// Notes that they are used, and opens those that are new.
    pub async fn write(&self, tx: &Transaction) -> Result<(), Fault> {
        if !self.queues.is_empty() {
            tx.all(&self.columns().args().steps()).await?;
        }
        Ok(())
    }

    fn columns(&self) -> QueueColumns<'a> {
        let (queues, tenants) = self.queues.iter().copied().unzip();
        let (lanes, lines) = self.lanes.iter().copied().unzip();
        QueueColumns { queues, tenants, lines, lanes, every: Interval(USE_IS_NOTED_EVERY) }
    }
}

/// The same, column by column.
struct QueueColumns<'a> {
    queues: Vec<&'a str>,
    tenants: Vec<&'a str>,
    lines: Vec<&'a str>,
    lanes: Vec<i16>,
    every: Interval,
}

impl QueueColumns<'_> {
    fn args(&self) -> OpenArgs<'_> {
        OpenArgs { queues: [&self.queues, &self.tenants, &self.every], lanes: [&self.lines, &self.lanes] }
    }
}

struct OpenArgs<'a> {
    queues: [&'a dyn Arg; 3],
    lanes: [&'a dyn Arg; 2],
}

impl OpenArgs<'_> {
    fn steps(&self) -> Vec<Query<'_>> {
        vec![(OPEN_QUEUES, &self.queues), (OPEN_LANES, &self.lanes)]
    }
}

#[derive(Default)]
struct Tags<'a> {
    tenants: Vec<&'a str>,
    names: Vec<&'a str>,
    jobs: Vec<Uuid>,
}

impl<'a> Tags<'a> {
    fn push(&mut self, job: &'a NewJobRow) {
        for tag in &job.tags {
            self.tenants.push(job.tenant.as_str());
            self.names.push(tag);
            self.jobs.push(job.id.0);
        }
    }
}

/// Rows for `ready`, column by column.
#[derive(Default)]
pub(super) struct ReadyColumns<'a> {
    ids: Vec<Uuid>,
    tenants: Vec<&'a str>,
    queues: Vec<&'a str>,
    routes: Vec<&'a str>,
    lanes: Vec<i16>,
    kinds: Vec<Option<&'a str>>,
    run_at: Vec<Option<Time>>,
    expires_at: Vec<Option<Time>>,
    attempts: Vec<i32>,
    moves: Vec<i32>,
    keys: Vec<Option<i64>>,
}

impl<'a> ReadyColumns<'a> {
    pub fn push(
        &mut self,
        id: JobId,
        tenant: &'a str,
        queue: &'a str,
        route: &'a str,
        lane: Lane,
        kind: Option<&'a str>,
    ) {
        self.ids.push(id.0);
        self.tenants.push(tenant);
        self.queues.push(queue);
        self.routes.push(route);
        self.lanes.push(rank(lane));
        self.kinds.push(kind);
    }

    /// More of a row; without a time it may run now.
    pub fn when(&mut self, run_at: Option<Timestamp>, expires_at: Option<Timestamp>, key: Option<i64>) {
        self.run_at.push(run_at.map(Time));
        self.expires_at.push(expires_at.map(Time));
        self.keys.push(key);
    }

    /// The rest of it: tries so far, and moves with this one.
    pub fn counted(&mut self, attempt: u32, moves: u32) {
        self.attempts.push(i32::try_from(attempt).unwrap_or(i32::MAX));
        self.moves.push(i32::try_from(moves).unwrap_or(i32::MAX));
    }

    fn args(&self) -> [&dyn Arg; 11] {
        [
            &self.ids,
            &self.tenants,
            &self.queues,
            &self.routes,
            &self.lanes,
            &self.kinds,
            &self.run_at,
            &self.expires_at,
            &self.attempts,
            &self.keys,
            &self.moves,
        ]
    }

    pub async fn write(&self, tx: &Transaction) -> Result<(), Fault> {
        if !self.ids.is_empty() {
            tx.rows(WAIT, &self.args()).await?;
        }
        Ok(())
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] =
    &[ACCEPT, ACCEPT_NEW, HOLDERS, KNOWN, OPEN_LANES, OPEN_QUEUES, REMEMBER, TAG, WAIT];

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(tenant: &str, start: Start) -> NewJobRow {
        NewJobRow {
            id: JobId::fresh(),
            tenant: TenantId::new(tenant),
            queue: QueueName::default(),
            route: Route::http(),
            lane: Lane::Normal,
            kind: None,
            correlation_id: None,
            max_attempts: 1,
            tags: Vec::new(),
            expires_at: None,
            start,
            idempotency: None,
            work: "{}".into(),
            outline: None,
        }
    }

    #[test]
    fn what_new_jobs_have_in_common_is_sent_once_unless_that_is_too_little() {
        let groups = |jobs: &[NewJobRow]| Alike::all(jobs).map(|alike| alike.0.len());
        let of = |tenants: usize| -> Vec<NewJobRow> {
            (0..64).map(|n| prepared(&format!("tenant-{}", n % tenants), Start::Now)).collect()
        };
        assert_eq!(groups(&of(1)[..1]), Some(1), "a lone job");
        assert_eq!(groups(&of(1)), Some(1));
        assert_eq!(groups(&of(8)), Some(8));
        assert_eq!(groups(&of(9)), None, "fewer than eight jobs for each statement");
        let mut jobs = of(1);
        jobs.push(prepared("tenant-0", Start::After(Duration::from_secs(1))));
        assert_eq!(groups(&jobs), None, "one that is not due waits without a place in line");
    }
}
