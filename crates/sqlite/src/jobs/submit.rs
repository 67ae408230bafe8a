//! Accepting jobs.
//!
//! Sent again, a job is found by its id and nothing changes. An idempotency key is a row of its own; jobs of one slice are
//! judged in order, each seeing the keys of those before it.

use std::collections::HashSet;

use foreman_core::job::{NewJob, QueueName};
use foreman_core::ports::{StoreError, Submitted, USE_IS_NOTED_EVERY};
use foreman_core::storage::{Counters, NewJobRow};
use foreman_core::{Idempotency, JobId, TenantId, Timestamp};
use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use crate::error::Fault;
use crate::order::KeyAssignments;
use crate::places;
use crate::rows::JobRow;
use crate::write::Write;

pub(super) fn prepare(jobs: &[NewJob]) -> Result<Vec<NewJobRow>, StoreError> {
    jobs.iter().map(NewJobRow::of).collect()
}

pub(super) fn submit(write: &Write<'_>, jobs: &[NewJobRow]) -> Result<Vec<Submitted>, Fault> {
    let mut submission = Submission::new(write);
    let answers = jobs.iter().map(|job| submission.submit(job)).collect::<Result<_, _>>()?;
    submission.keep()?;
    Ok(answers)
}

/// The jobs that one operation accepts, one after the other.
pub(crate) struct Submission<'w, 'c> {
    write: &'w Write<'c>,
    order: KeyAssignments<'c>,
    queues: UsedQueues,
}

/// The queues whose use is noted.
#[derive(Default)]
struct UsedQueues {
    noted: HashSet<(TenantId, QueueName)>,
    /// Most of a batch go into one.
    latest: Option<(TenantId, QueueName)>,
}

impl UsedQueues {
    fn note(&mut self, write: &Write<'_>, NewJobRow { tenant, queue, .. }: &NewJobRow) -> Result<(), Fault> {
        if self.latest.as_ref().is_some_and(|latest| latest.0 == *tenant && latest.1 == *queue) {
            return Ok(());
        }
        let used = (tenant.clone(), queue.clone());
        if self.noted.insert(used.clone()) {
            note_use(write, tenant, queue)?;
        }
        self.latest = Some(used);
        Ok(())
    }
}

impl<'w, 'c> Submission<'w, 'c> {
    pub fn new(write: &'w Write<'c>) -> Self {
        Self { write, order: KeyAssignments::new(write.sql), queues: UsedQueues::default() }
    }

    pub fn submit(&mut self, job: &NewJobRow) -> Result<Submitted, Fault> {
        match known_by_key(self.write, job)? {
            Some(known) => Ok(known),
            None => accept(self.write, &mut self.order, &mut self.queues, job).map(Submitted::Accepted),
        }
    }

    /// Writes down what was given out, at the end.
    pub fn keep(self) -> Result<(), Fault> {
        self.order.keep(self.write)
    }
}

/// What an earlier job with the same key makes of this one. A job sent again is not judged by its own key.
fn known_by_key(write: &Write<'_>, job: &NewJobRow) -> Result<Option<Submitted>, Fault> {
    let Some(idempotency) = &job.idempotency else { return Ok(None) };
    let row: Option<(Uuid, Vec<u8>)> = write
        .prepared("SELECT job, fingerprint FROM idempotency WHERE tenant = ?1 AND key = ?2 AND expires_at > ?3")?
        .query_row((job.tenant.as_str(), &idempotency.key, write.now.as_micros()), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((first, fingerprint)) = row else { return Ok(None) };
    if let Some(created_at) = created_at(write, job.id)? {
        return Ok(Some(Submitted::Accepted(created_at)));
    }
    Ok(Some(if idempotency.stands_for(&fingerprint) {
        Submitted::Duplicate(JobId(first))
    } else {
        Submitted::KeyReused(JobId(first))
    }))
}

/// When a job with this id was accepted; none when it never was.
fn created_at(write: &Write<'_>, id: JobId) -> Result<Option<Timestamp>, Fault> {
    let created_at =
        write.prepared("SELECT created_at FROM jobs WHERE id = ?1")?.query_row([id.0], |row| row.get(0)).optional()?;
    Ok(created_at.map(Timestamp::from_micros))
}

/// Writes the job and everything that goes with it; answers when it was accepted.
fn accept(
    write: &Write<'_>,
    order: &mut KeyAssignments<'_>,
    queues: &mut UsedQueues,
    job: &NewJobRow,
) -> Result<Timestamp, Fault> {
    let run_at = job.start.run_at(write.now);
    if !insert_job(write, job, run_at)? {
        // Sent again: everything else was written with it.
        return Ok(created_at(write, job.id)?.unwrap_or(write.now));
    }
    if let Some(idempotency) = &job.idempotency {
        reserve_key(write, job, idempotency)?;
    }
    insert_tags(write, job)?;
    queues.note(write, job)?;
    let job_row = JobRow {
        job: job.id,
        tenant: job.tenant.clone(),
        queue: job.queue.clone(),
        route: job.route.clone(),
        lane: job.lane,
        kind: job.kind.clone(),
        run_at,
        expires_at: job.expires_at,
        counters: Counters::default(),
    };
    places::put_back(write, order, &job_row, None)?;
    Ok(write.now)
}

fn insert_job(write: &Write<'_>, job: &NewJobRow, run_at: Timestamp) -> Result<bool, Fault> {
    let inserted = write
        .prepared(
            "INSERT INTO jobs (id, tenant, queue, kind, lane, created_at, first_run_at, correlation_id, work, outline)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            job.id.0,
            job.tenant.as_str(),
            job.queue.as_str(),
            job.kind,
            job.lane.rank(),
            write.now.as_micros(),
            run_at.as_micros(),
            job.correlation_id,
            job.work,
            job.outline,
        ])?;
    Ok(inserted == 1)
}

/// The key is free, or has expired and is taken over.
fn reserve_key(write: &Write<'_>, job: &NewJobRow, idempotency: &Idempotency) -> Result<(), Fault> {
    write
        .prepared(
            "INSERT INTO idempotency (tenant, key, job, fingerprint, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (tenant, key) DO UPDATE
             SET job = excluded.job, fingerprint = excluded.fingerprint, expires_at = excluded.expires_at",
        )?
        .execute(params![
            job.tenant.as_str(),
            idempotency.key,
            job.id.0,
            &idempotency.fingerprint[..],
            write.now.plus(idempotency.keep).as_micros(),
        ])?;
    Ok(())
}

fn insert_tags(write: &Write<'_>, job: &NewJobRow) -> Result<(), Fault> {
    if job.tags.is_empty() {
        return Ok(());
    }
    let mut statement =
        write.prepared("INSERT INTO job_tags (tenant, tag, job) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?;
    for tag in &job.tags {
        statement.execute((job.tenant.as_str(), tag, job.id.0))?;
    }
    Ok(())
}

/// A queue is used: its row is there, and says so now and then.
pub(super) fn note_use(write: &Write<'_>, tenant: &TenantId, queue: &QueueName) -> Result<(), Fault> {
    let long_ago = write.now.minus(USE_IS_NOTED_EVERY);
    write
        .prepared(
            "INSERT INTO queues (queue, tenant, used_at) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET used_at = excluded.used_at WHERE used_at <= ?4",
        )?
        .execute((queue.as_str(), tenant.as_str(), write.now.as_micros(), long_ago.as_micros()))?;
    Ok(())
}
