//! The courier's place in the change log, and the round that moves it.
//!
//! Two couriers at once run one after the other: the second does not begin where the first has left the place, and writes
//! nothing. One that dies before its round was written leaves the place where it was, and the next makes the same round.

use foreman_core::ports::{NewDelivery, Position, Posted, StoreError, UNREAD_KEPT};
use foreman_core::webhook::CALLBACK_TAG;
use foreman_core::{JobId, TenantId, Timestamp, WebhookId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::changes;
use crate::error::Fault;
use crate::jobs::submit::{self, Submission};
use crate::write::Write;

/// Where the courier stands, if there is one.
pub(super) fn place(sql: &Connection) -> Result<Option<Position>, Fault> {
    let place = sql
        .prepare_cached("SELECT position FROM courier WHERE only = 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(place.map(Position))
}

/// A courier begins at the end of the log. One that is there stays where it is.
pub(super) fn appoint(write: &Write<'_>) -> Result<Position, Fault> {
    if let Some(place) = place(write.sql)? {
        return Ok(place);
    }
    let head = changes::head(write.sql)?;
    write.prepared("INSERT INTO courier (only, position) VALUES (1, ?1)")?.execute([head.0])?;
    Ok(head)
}

pub(super) fn dismiss(write: &Write<'_>) -> Result<(), Fault> {
    write.prepared("DELETE FROM courier")?.execute([])?;
    Ok(())
}

/// A delivery, its job as its rows want it.
pub(super) struct Prepared {
    job: submit::Prepared,
    tenant: TenantId,
    webhook: Option<WebhookId>,
    event: &'static str,
    about: Option<JobId>,
}

pub(super) fn prepare(deliveries: &[NewDelivery]) -> Result<Vec<Prepared>, StoreError> {
    let prepare = |new: &NewDelivery| {
        Ok(Prepared {
            job: submit::prepare_one(&new.job)?,
            tenant: new.job.tenant.clone(),
            webhook: new.webhook,
            event: new.event.as_str(),
            about: new.about,
        })
    };
    deliveries.iter().map(prepare).collect()
}

/// One round: only from where the courier stands.
pub(super) fn post(write: &Write<'_>, from: Position, to: Position, deliveries: &[Prepared]) -> Result<Posted, Fault> {
    let moved =
        write.prepared("UPDATE courier SET position = ?2 WHERE only = 1 AND position = ?1")?.execute((from.0, to.0))?;
    if moved == 0 {
        return Ok(Posted::Overtaken);
    }
    deliver(write, deliveries)?;
    Ok(Posted::Done)
}

/// The jobs like any others, and what is listed of them.
pub(super) fn deliver(write: &Write<'_>, deliveries: &[Prepared]) -> Result<(), Fault> {
    let mut submission = Submission::new(write);
    for delivery in deliveries {
        submission.submit(&delivery.job)?;
        if let Some(webhook) = delivery.webhook {
            enlist(write, delivery, webhook)?;
        }
    }
    submission.keep()
}

/// An endpoint that was deleted since the courier looked has no list any more; the job will find out.
fn enlist(write: &Write<'_>, delivery: &Prepared, webhook: WebhookId) -> Result<(), Fault> {
    write
        .prepared(
            "INSERT INTO deliveries (tenant, webhook, job, event, about, created_at)
             SELECT tenant, id, ?3, ?4, ?5, ?6 FROM webhooks WHERE tenant = ?1 AND id = ?2
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            delivery.tenant.as_str(),
            webhook.0,
            delivery.job.id.0,
            delivery.event,
            delivery.about.map(|job| job.0),
            write.now.as_micros(),
        ])?;
    Ok(())
}

/// Those that asked for a callback, in the order given.
pub(super) fn with_callback(sql: &Connection, jobs: &[JobId]) -> Result<Vec<JobId>, Fault> {
    let mut statement =
        sql.prepare_cached("SELECT 1 FROM job_tags INDEXED BY job_tags_of_job WHERE job = ?1 AND tag = ?2")?;
    let mut asked = Vec::new();
    for job in jobs {
        if statement.exists((job.0, CALLBACK_TAG))? {
            asked.push(*job);
        }
    }
    Ok(asked)
}

/// Which rows of the change log nobody needs any more: its beginning, up to the first that is young or was not read. A row
/// that a clock set back has dated before its neighbours stays with them, so that what is gone is always a beginning.
pub(crate) struct OldChanges {
    until: Timestamp,
    /// Up to here everything was read.
    read_to: Position,
    /// And up to here nobody is waited for.
    unread_until: Timestamp,
}

impl OldChanges {
    pub fn find(write: &Write<'_>, until: Timestamp) -> Result<Self, Fault> {
        let read_to = place(write.sql)?.unwrap_or(Position(i64::MAX));
        Ok(Self { until, read_to, unread_until: write.now.minus(UNREAD_KEPT) })
    }

    pub fn prune(&self, write: &Write<'_>, limit: i64) -> Result<usize, Fault> {
        let mut last = None;
        {
            let mut statement = write.prepared("SELECT position, at FROM changes ORDER BY position LIMIT ?1")?;
            let mut rows = statement.query([limit])?;
            while let Some(row) = rows.next()? {
                let (position, at) = (Position(row.get(0)?), Timestamp::from_micros(row.get(1)?));
                if at > self.until || position > self.read_to && at > self.unread_until {
                    break;
                }
                last = Some(position);
            }
        }
        let Some(last) = last else { return Ok(0) };
        Ok(write.prepared("DELETE FROM changes WHERE position <= ?1")?.execute([last.0])?)
    }
}
