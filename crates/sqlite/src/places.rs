//! The three places, and every way into and out of them.
//!
//! A job leaves a place by a delete that must hit its row and enters one by an insert that must not find one: both happen
//! in one transaction of the one writer, so a job is never seen in two places or in none.

use std::time::Duration;

use foreman_core::error_group::ErrorGroup;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{ATTEMPTS_KEPT, Step, StoreError, Topic, dropped_attempts};
use foreman_core::storage::{Counters, StoredReport};
use foreman_core::{Fence, JobId, State, Timestamp};
use rusqlite::{OptionalExtension, params};

use crate::error::Fault;
use crate::order::KeyAssignments;
use crate::rows::{ClaimInfo, HeldRow, JobRow, ReadyRow, job_row_columns};
use crate::write::{BorrowedStatement, Write};

/// Where a job stands.
pub(crate) enum JobPlace {
    Ready(ReadyRow),
    Held(HeldRow),
    Final(State),
}

/// Finds a job that is in `jobs`; in none of the places is what must never happen.
pub(crate) fn find(write: &Write<'_>, job: JobId) -> Result<JobPlace, Fault> {
    if let Some(waiting) = waiting(write, job)? {
        return Ok(JobPlace::Ready(waiting));
    }
    if let Some(held) = held(write, job)? {
        return Ok(JobPlace::Held(held));
    }
    let state: Option<String> =
        write.prepared("SELECT state FROM outcomes WHERE job = ?1")?.query_row([job.0], |row| row.get(0)).optional()?;
    match state {
        Some(text) => match text.parse() {
            Ok(state) => Ok(JobPlace::Final(state)),
            Err(why) => Err(Fault::misfit("outcomes", "state", job, why)),
        },
        None => Err(StoreError::Damaged(format!("job {job} is in no place")).into()),
    }
}

pub(crate) fn waiting(write: &Write<'_>, job: JobId) -> Result<Option<ReadyRow>, Fault> {
    let mut statement = write.prepared(concat!("SELECT ", job_row_columns!(), ", key FROM ready WHERE job = ?1"))?;
    let mut rows = statement.query([job.0])?;
    rows.next()?.map(ReadyRow::try_from).transpose()
}

pub(crate) fn held(write: &Write<'_>, job: JobId) -> Result<Option<HeldRow>, Fault> {
    let mut statement = write.prepared(concat!("SELECT ", job_row_columns!(), ", claim FROM held WHERE job = ?1"))?;
    let mut rows = statement.query([job.0])?;
    rows.next()?.map(HeldRow::try_from).transpose()
}

/// Every job still open in a claim, by id.
pub(crate) fn open_in(write: &Write<'_>, claim: Fence) -> Result<Vec<HeldRow>, Fault> {
    let mut statement =
        write.prepared(concat!("SELECT ", job_row_columns!(), ", claim FROM held WHERE claim = ?1 ORDER BY job"))?;
    let mut rows = statement.query([claim.0])?;
    let mut open = Vec::new();
    while let Some(row) = rows.next()? {
        open.push(HeldRow::try_from(row)?);
    }
    Ok(open)
}

pub(crate) fn leave_ready(write: &Write<'_>, job: JobId) -> Result<(), Fault> {
    hit(&mut write.prepared("DELETE FROM ready WHERE job = ?1")?, "ready", job)
}

pub(crate) fn leave_held(write: &Write<'_>, job: JobId) -> Result<(), Fault> {
    hit(&mut write.prepared("DELETE FROM held WHERE job = ?1")?, "held", job)
}

/// Takes a job out of a claim; false where it is not open there.
pub(crate) fn leave_claim(write: &Write<'_>, job: JobId, claim: Fence) -> Result<bool, Fault> {
    Ok(write.prepared("DELETE FROM held WHERE job = ?1 AND claim = ?2")?.execute((job.0, claim.0))? == 1)
}

fn hit(delete: &mut BorrowedStatement<'_, '_>, table: &str, job: JobId) -> Result<(), Fault> {
    match delete.execute([job.0])? {
        1 => Ok(()),
        rows => Err(StoreError::Damaged(format!("leaving {table}, job {job} was found {rows} times")).into()),
    }
}

/// A claim goes with its last open job.
pub(crate) fn drop_claim_if_empty(write: &Write<'_>, claim: Fence) -> Result<(), Fault> {
    write
        .prepared("DELETE FROM claims WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM held WHERE claim = ?1)")?
        .execute([claim.0])?;
    Ok(())
}

/// Lets a job wait until its `run_at`, in fair order once it is due. `took`: how long the attempt ran that it comes from.
pub(crate) fn put_back(
    write: &Write<'_>,
    order: &mut KeyAssignments<'_>,
    job_row: &JobRow,
    took: Option<Duration>,
) -> Result<(), Fault> {
    let is_due = job_row.run_at <= write.now;
    let key = if is_due { Some(order.next(job_row)?) } else { None };
    let counters = job_row.counters.moved();
    put(write, job_row, job_row.run_at, counters, key)?;
    note(write, job_row, counters.step(State::of_waiting(is_due, counters.attempt), took));
    Ok(())
}

/// Lets a job wait at the front of the line: what happened to its attempt was not its fault.
pub(crate) fn put_in_front(
    write: &Write<'_>,
    order: &mut KeyAssignments<'_>,
    job_row: &JobRow,
    took: Option<Duration>,
) -> Result<(), Fault> {
    let key = order.front(job_row)?;
    let counters = job_row.counters.moved();
    put(write, job_row, job_row.run_at.min(write.now), counters, Some(key))?;
    note(write, job_row, counters.step(State::Pending, took));
    Ok(())
}

pub(crate) fn note(write: &Write<'_>, job_row: &JobRow, step: Step) {
    write.note(job_row.job, &job_row.tenant, &job_row.queue, step);
}

fn put(
    write: &Write<'_>,
    job_row: &JobRow,
    run_at: Timestamp,
    counters: Counters,
    key: Option<i64>,
) -> Result<(), Fault> {
    let JobRow { job, tenant, queue, route, lane, kind, expires_at, .. } = job_row;
    write
        .prepared(concat!(
            "INSERT INTO ready (",
            job_row_columns!(),
            ", key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        ))?
        .execute(params![
            job.0,
            tenant.as_str(),
            queue.as_str(),
            route.as_str(),
            lane.rank(),
            kind,
            run_at.as_micros(),
            expires_at.map(Timestamp::as_micros),
            counters.attempt,
            counters.spent,
            counters.crashes,
            counters.moves,
            key,
        ])?;
    if key.is_some() {
        write.ring(Topic::Ready);
    }
    if key.is_none() || expires_at.is_some() {
        write.ring(Topic::Waiting);
    }
    Ok(())
}

/// Puts a job that has been counted as claimed into its claim.
pub(crate) fn hold(write: &Write<'_>, claim: Fence, job_row: &JobRow) -> Result<(), Fault> {
    let JobRow { job, tenant, queue, route, lane, kind, run_at, expires_at, counters } = job_row;
    write
        .prepared(concat!(
            "INSERT INTO held (",
            job_row_columns!(),
            ", claim) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        ))?
        .execute(params![
            job.0,
            tenant.as_str(),
            queue.as_str(),
            route.as_str(),
            lane.rank(),
            kind,
            run_at.as_micros(),
            expires_at.map(Timestamp::as_micros),
            counters.attempt,
            counters.spent,
            counters.crashes,
            counters.moves,
            claim.0,
        ])?;
    note(write, job_row, counters.step(State::Running, Some(write.now.since(*run_at))));
    Ok(())
}

/// How an attempt, or a job that waited, came to its end.
pub(crate) struct EndRecord<'a> {
    /// `None`: it ended while it waited.
    pub claim_info: Option<&'a ClaimInfo>,
    /// Recorded by the attempt itself, which may ask for it again.
    pub is_settled: bool,
    pub report: &'a StoredReport,
}

impl EndRecord<'_> {
    /// How long the attempt ran.
    pub fn took(&self, now: Timestamp) -> Option<Duration> {
        self.claim_info.map(|claim_info| now.since(claim_info.started_at))
    }
}

/// Makes a job final.
pub(crate) fn finish(write: &Write<'_>, job_row: &JobRow, state: State, end: &EndRecord<'_>) -> Result<(), Fault> {
    let counters = job_row.counters.moved();
    let Counters { attempt, spent, crashes, moves } = counters;
    write
        .prepared(
            "INSERT INTO outcomes (job, tenant, state, queue, kind, finished_at, attempt, spent, crashes, run_at,
                                   claim, settled, session, worker, started_at, report, moves, error_group)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            job_row.job.0,
            job_row.tenant.as_str(),
            state.as_str(),
            job_row.queue.as_str(),
            job_row.kind,
            write.now.as_micros(),
            attempt,
            spent,
            crashes,
            job_row.run_at.as_micros(),
            end.claim_info.map(|claim_info| claim_info.claim.0),
            end.is_settled,
            end.claim_info.map(|claim_info| claim_info.session.0),
            end.claim_info.and_then(|claim_info| claim_info.worker.as_deref()),
            end.claim_info.map(|claim_info| claim_info.started_at.as_micros()),
            end.report.json,
            moves,
            end.report.group.as_ref().map(ErrorGroup::as_str),
        ])?;
    note(write, job_row, counters.step(state, end.took(write.now)));
    Ok(())
}

/// Records an attempt that did not end its job.
pub(crate) fn record_attempt(
    write: &Write<'_>,
    job_row: &JobRow,
    outcome: AttemptOutcome,
    end: &EndRecord<'_>,
) -> Result<(), Fault> {
    write
        .prepared(
            "INSERT INTO attempts (job, claim, number, settled, session, worker, started_at, finished_at, outcome,
                                   report)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            job_row.job.0,
            end.claim_info.map(|claim_info| claim_info.claim.0),
            job_row.counters.attempt,
            end.is_settled,
            end.claim_info.map(|claim_info| claim_info.session.0),
            end.claim_info.and_then(|claim_info| claim_info.worker.as_deref()),
            end.claim_info.map(|claim_info| claim_info.started_at.as_micros()),
            write.now.as_micros(),
            outcome.as_str(),
            end.report.json,
        ])?;
    drop_attempts(write, job_row.job, job_row.counters.moves)
}

/// Drops those between the first and the latest that are too many. `moves`: every attempt was one.
pub(crate) fn drop_attempts(write: &Write<'_>, job: JobId, moves: u32) -> Result<(), Fault> {
    if (moves as usize) < ATTEMPTS_KEPT {
        return Ok(());
    }
    let count: i64 =
        write.prepared("SELECT count(*) FROM attempts WHERE job = ?1")?.query_row([job.0], |row| row.get(0))?;
    let dropped = dropped_attempts(usize::try_from(count).unwrap_or_default());
    if dropped.is_empty() {
        return Ok(());
    }
    write
        .prepared(
            "DELETE FROM attempts WHERE place IN
                 (SELECT place FROM attempts WHERE job = ?1 ORDER BY place LIMIT ?3 OFFSET ?2)",
        )?
        .execute((job.0, dropped.start as i64, dropped.len() as i64))?;
    Ok(())
}
