//! What is listed of the deliveries to an endpoint. How each went is a matter of its job.

use foreman_core::ports::Delivery;
use foreman_core::webhook::Event;
use foreman_core::{JobId, TenantId, WebhookId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;
use crate::value::bound;
use crate::write::Transaction;

pub(crate) const LIST: &str = "SELECT job, webhook, event, about, created_at FROM deliveries
    WHERE tenant = $1::text AND webhook = $2::uuid AND job < $3::uuid ORDER BY job DESC LIMIT $4::bigint";
pub(crate) const BY_JOB: &str = "SELECT job, webhook, event, about, created_at FROM deliveries
    WHERE tenant = $1::text AND webhook = $2::uuid AND job = $3::uuid";
pub(crate) const CUT_DELIVERIES: &str = "DELETE FROM deliveries WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM deliveries WHERE created_at <= foreman_now() - $2::interval ORDER BY created_at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";

pub(super) async fn list(
    tx: &Transaction,
    tenant: &TenantId,
    webhook: WebhookId,
    before: Option<JobId>,
    limit: usize,
) -> Result<Vec<Delivery>, Fault> {
    // No job has the last of all ids.
    let before = before.map_or(Uuid::max(), |before| before.0);
    let rows = tx.rows(LIST, &[&tenant.as_str(), &webhook.0, &before, &bound(limit)]).await?;
    rows.iter().map(read).collect()
}

pub(super) async fn one(
    tx: &Transaction,
    tenant: &TenantId,
    webhook: WebhookId,
    job: JobId,
) -> Result<Option<Delivery>, Fault> {
    tx.row(BY_JOB, &[&tenant.as_str(), &webhook.0, &job.0]).await?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<Delivery, Fault> {
    let cells = Cells::of_job(row, "deliveries", 0)?;
    let event: Event = cells
        .get::<&str>(2, "event")?
        .parse()
        .map_err(|error| Fault::misfit("deliveries", "event", cells.id, error))?;
    Ok(Delivery {
        job: cells.id,
        webhook: WebhookId(cells.get(1, "webhook")?),
        event,
        about: cells.get::<Option<Uuid>>(3, "about")?.map(JobId),
        created_at: cells.time(4, "created_at")?,
    })
}
