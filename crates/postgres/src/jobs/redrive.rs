//! Giving final jobs another life: same id, attempts counted anew, the old outcome kept as an attempt.
//!
//! The delete of the outcome is the compare-and-set: a second re-drive waits for it, finds none and is told where the job is.
//! Places in line are reserved beforehand for what looks final; those of jobs that turn out not to be are given back.

use std::collections::{HashMap, HashSet};

use foreman_core::job::QueueName;
use foreman_core::ports::{RedriveAnswer, Step, StoreError, Topic};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, State, TenantId};

use super::{distinct, nowhere, owned, submit, unfinished, uuids};
use crate::error::Fault;
use crate::order::{Demand, Reservation};
use crate::places::{self, LOOKS};
use crate::rows::NamedCells;
use crate::schedules::fire::REOPEN;
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

/// What a job was asked to be, for those that look final.
pub(crate) const ASKED: &str = "SELECT jobs.id, jobs.queue, jobs.route, jobs.lane, jobs.kind,
           EXISTS (SELECT FROM outcomes WHERE outcomes.job = jobs.id AND outcomes.job = ANY ($1)) AS is_final
    FROM jobs WHERE jobs.id = ANY ($1::uuid[]) AND jobs.tenant = $2::text";
pub(crate) const REDRIVE: &str = include_str!("../sql/redrive.sql");

/// What does not change in a job's life.
struct RedriveRow {
    queue: QueueName,
    route: Route,
    lane: Lane,
    kind: Option<String>,
}

pub(super) async fn redrive(
    store: &PostgresStore,
    tenant: &TenantId,
    ids: &[JobId],
) -> Result<Vec<Option<RedriveAnswer>>, StoreError> {
    let (asked, demand) = look!(store, Look, |tx| asked(&tx, tenant, ids).await)?;
    let reserved = Reservation::make(store, &demand).await?;
    let (answers, left) = transact!(store, data, Write, |tx| {
        let mut reservation = reserved.clone();
        let answers = redrive_all(&tx, tenant, ids, &asked, &mut reservation).await;
        answers.map(|answers| (answers, reservation))
    })?;
    left.give_back(store).await;
    Ok(answers)
}

async fn asked(
    tx: &Transaction,
    tenant: &TenantId,
    ids: &[JobId],
) -> Result<(HashMap<JobId, RedriveRow>, Demand), Fault> {
    let (mut asked, mut demand) = (HashMap::new(), Demand::default());
    for row in &tx.rows_by_id(ASKED, &[&uuids(ids), &tenant.as_str()]).await? {
        let job = NamedCells::of_asked(row)?;
        let one = RedriveRow { queue: job.queue()?, route: job.route()?, lane: job.lane()?, kind: job.get("kind")? };
        if job.get("is_final")? {
            demand.one(tenant, &one.queue, one.lane, &one.route);
        }
        asked.insert(job.id, one);
    }
    Ok((asked, demand))
}

async fn redrive_all(
    tx: &Transaction,
    tenant: &TenantId,
    ids: &[JobId],
    asked: &HashMap<JobId, RedriveRow>,
    reservation: &mut Reservation,
) -> Result<Vec<Option<RedriveAnswer>>, Fault> {
    let mut found: HashMap<JobId, RedriveAnswer> = HashMap::new();
    // What came to be after the look before this transaction is not there yet for this call.
    let mut sought: Vec<JobId> = distinct(ids).into_iter().filter(|id| asked.contains_key(id)).collect();
    for look in 0.. {
        sought = owned(tx, tenant, &sought).await?;
        if sought.is_empty() {
            break;
        }
        if look == LOOKS {
            return Err(nowhere(&sought));
        }
        let freed = freed(tx, tenant, &sought).await?;
        places::drop_attempts(tx, freed.iter().map(|(id, freed)| (*id, freed.moves))).await?;
        revive(tx, tenant, &sought, asked, &freed, reservation).await?;
        found.extend(freed.into_keys().map(|id| (id, RedriveAnswer::Redriven)));
        sought.retain(|id| !found.contains_key(id));
        let states = unfinished(tx, &sought).await?;
        found.extend(states.into_iter().map(|(id, state)| (id, RedriveAnswer::NotFinal(state))));
        sought.retain(|id| !found.contains_key(id));
    }
    Ok(in_order(ids, &found))
}

/// What is counted on in a job's next life.
struct Freed {
    /// Those that were made so far.
    attempt: u32,
    moves: u32,
}

/// Takes outcomes away. To the schedules that made them, the jobs are open again.
async fn freed(tx: &Transaction, tenant: &TenantId, ids: &[JobId]) -> Result<HashMap<JobId, Freed>, Fault> {
    let ids = uuids(ids);
    let answers = tx.by_id(&[(REDRIVE, &[&ids, &tenant.as_str()]), (REOPEN, &[&ids])]).await?;
    answers[0]
        .iter()
        .map(|row| {
            let outcome = NamedCells::of_job(row, "outcomes")?;
            Ok((outcome.id, Freed { attempt: outcome.count("attempt")?, moves: outcome.moves()? }))
        })
        .collect()
}

/// Puts jobs that have just lost their outcome back into line. Whoever re-drives a job wants it to run: a start-by of its
/// first life no longer holds.
async fn revive(
    tx: &Transaction,
    tenant: &TenantId,
    sought: &[JobId],
    asked: &HashMap<JobId, RedriveRow>,
    freed: &HashMap<JobId, Freed>,
    reservation: &mut Reservation,
) -> Result<(), Fault> {
    let mut line = submit::ReadyColumns::default();
    let (mut late, mut queues) = (Vec::new(), submit::UsedQueues::default());
    for id in sought {
        let (Some(Freed { attempt, moves }), Some(one)) = (freed.get(id), asked.get(id)) else { continue };
        let sequence = moves + 1;
        let key = reservation.next(tenant, &one.queue, one.lane, &one.route);
        if key.is_none() {
            late.push((*id, tenant.clone(), one.queue.clone(), one.lane, one.route.clone()));
        }
        queues.add(one.queue.as_str(), tenant.as_str(), one.lane);
        line.push(*id, tenant.as_str(), one.queue.as_str(), one.route.as_str(), one.lane, one.kind.as_deref());
        line.when(None, None, key);
        line.counted(*attempt, sequence);
        let step = Step { state: State::Pending, attempt: *attempt, sequence, took: None };
        tx.note(*id, tenant, &one.queue, step);
        tx.ring(Topic::Ready);
    }
    // An unused queue may have gone meanwhile.
    queues.write(tx).await?;
    line.write(tx).await?;
    crate::order::place(tx, &late).await
}

/// A job named twice waits at its second mention.
fn in_order(ids: &[JobId], found: &HashMap<JobId, RedriveAnswer>) -> Vec<Option<RedriveAnswer>> {
    let mut redriven = HashSet::new();
    ids.iter()
        .map(|id| match found.get(id).copied() {
            Some(RedriveAnswer::Redriven) if !redriven.insert(*id) => Some(RedriveAnswer::NotFinal(State::Pending)),
            other => other,
        })
        .collect()
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[ASKED, REDRIVE];
