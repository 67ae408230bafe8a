//! What is listed of an endpoint's deliveries.

use foreman_core::ports::Delivery;
use foreman_core::webhook::{Event, NotAnEvent};
use foreman_core::{JobId, TenantId, WebhookId};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;
use crate::unreadable::Unreadable;

/// The columns of a [`Delivery`], in its order of reading.
macro_rules! delivery_columns {
    () => {
        "job, webhook, event, about, created_at"
    };
}

fn delivery(row: &Row<'_>) -> Result<Delivery, Fault> {
    let cells = Cells::of_job(row, "deliveries", 0)?;
    let misfit = |error: NotAnEvent| Fault::misfit("deliveries", "event", cells.id, error);
    Ok(Delivery {
        job: cells.id,
        webhook: WebhookId(cells.get(1, "webhook")?),
        event: cells.text(2, "event")?.parse::<Event>().map_err(misfit)?,
        about: cells.get::<Option<Uuid>>(3, "about")?.map(JobId),
        created_at: cells.time(4, "created_at")?,
    })
}

fn called(row: &Row<'_>) -> (String, i64) {
    (format!("delivery {}", row.get::<_, Uuid>(0).unwrap_or_default()), 0)
}

/// The newest first.
pub(super) fn list(
    sql: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
    before: Option<JobId>,
    limit: usize,
    unreadable: &Unreadable,
) -> Result<Vec<Delivery>, Fault> {
    let mut statement = sql.prepare_cached(concat!(
        "SELECT ",
        delivery_columns!(),
        " FROM deliveries WHERE tenant = ?1 AND webhook = ?2 AND job < ?3 ORDER BY job DESC"
    ))?;
    // Every id comes before the last one, which is none.
    let before = before.map_or(Uuid::max(), |before| before.0);
    let mut rows = statement.query((tenant.as_str(), webhook.0, before))?;
    let mut deliveries = Vec::new();
    while deliveries.len() < limit {
        let Some(row) = rows.next()? else { break };
        deliveries.extend(unreadable.left_out(|| called(row), delivery(row))?);
    }
    Ok(deliveries)
}

pub(super) fn find(
    sql: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
    job: JobId,
) -> Result<Option<Delivery>, Fault> {
    let mut statement = sql.prepare_cached(concat!(
        "SELECT ",
        delivery_columns!(),
        " FROM deliveries WHERE tenant = ?1 AND webhook = ?2 AND job = ?3"
    ))?;
    let mut rows = statement.query((tenant.as_str(), webhook.0, job.0))?;
    rows.next()?.map(delivery).transpose()
}
