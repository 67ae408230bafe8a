//! The careful way in: jobs that may be there already, carry idempotency keys, or start later.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use foreman_core::job::Start;
use foreman_core::ports::{Submitted, Topic};
use foreman_core::storage::NewJobRow;
use foreman_core::{JobId, Timestamp};
use uuid::Uuid;

use super::columns::{ReadyColumns, Tags, UsedQueues, max_attempts, outlines};
use super::{ACCEPT, HOLDERS, KNOWN, REMEMBER, TAG, WAIT, first_move};
use crate::error::Fault;
use crate::order::{self, Reservation};
use crate::rows::{NamedCells, rank};
use crate::value::{Arg, Interval, Time};
use crate::write::Transaction;

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
            let job = NamedCells::of_asked(row)?;
            Ok((job.id, job.time("created_at")?))
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
            let holder = NamedCells::of_job(row, "idempotency")?;
            let key = (holder.get("tenant")?, holder.get("key")?);
            Ok((key, (holder.id, holder.get("fingerprint")?)))
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
            let job = NamedCells::of_asked(row)?;
            let (created_at, run_at) = (job.time("created_at")?, job.time("first_run_at")?);
            Ok((job.id, Accepted { created_at, run_at }))
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
    let tag_args = tags.args();
    let mut steps = vec![(WAIT, &line_args[..])];
    if !tags.jobs.is_empty() {
        steps.push((TAG, &tag_args[..]));
    }
    tx.all(&steps).await?;
    order::place(tx, &late).await
}
