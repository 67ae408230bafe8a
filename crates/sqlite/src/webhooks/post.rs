//! Making deliveries: the effect of a move of the courier (`followers.rs`), or one beside it.

use foreman_core::ports::{NewDelivery, StoreError};
use foreman_core::storage::NewJobRow;
use foreman_core::webhook::CALLBACK_TAG;
use foreman_core::{JobId, TenantId, WebhookId};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::jobs::submit::Submission;
use crate::write::Write;

/// A delivery, its job as its rows want it.
pub(crate) struct PreparedDelivery {
    job: NewJobRow,
    tenant: TenantId,
    webhook: Option<WebhookId>,
    event: &'static str,
    about: Option<JobId>,
}

pub(crate) fn prepare(deliveries: &[NewDelivery]) -> Result<Vec<PreparedDelivery>, StoreError> {
    let prepare = |new: &NewDelivery| {
        Ok(PreparedDelivery {
            job: NewJobRow::of(&new.job)?,
            tenant: new.job.tenant.clone(),
            webhook: new.webhook,
            event: new.event.as_str(),
            about: new.about,
        })
    };
    deliveries.iter().map(prepare).collect()
}

/// The jobs like any others, and what is listed of them.
pub(crate) fn deliver(write: &Write<'_>, deliveries: &[PreparedDelivery]) -> Result<(), Fault> {
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
fn enlist(write: &Write<'_>, delivery: &PreparedDelivery, webhook: WebhookId) -> Result<(), Fault> {
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
