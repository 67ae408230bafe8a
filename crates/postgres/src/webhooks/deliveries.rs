//! What is listed of the deliveries to an endpoint. How each went is a matter of its job.

use foreman_core::ports::{Delivery, StoreError};
use foreman_core::webhook::Event;
use foreman_core::{JobId, TenantId, WebhookId};
use tokio_postgres::Row;
use tracing::debug;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::Cells;
use crate::value::bound;
use crate::write::Transaction;
use crate::{PostgresStore, transact};

pub(crate) const LIST: &str = "SELECT job, webhook, event, about, created_at FROM deliveries
    WHERE tenant = $1::text AND webhook = $2::uuid AND job < $3::uuid ORDER BY job DESC LIMIT $4::bigint";
pub(crate) const BY_JOB: &str = "SELECT job, webhook, event, about, created_at FROM deliveries
    WHERE tenant = $1::text AND webhook = $2::uuid AND job = $3::uuid";
pub(crate) const UNLIST_ENDPOINT: &str = "DELETE FROM deliveries WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM deliveries WHERE tenant = $1::text AND webhook = $2::uuid LIMIT $3::bigint)) RETURNING 1";
pub(crate) const UNLIST_TENANT: &str = "DELETE FROM deliveries WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM deliveries WHERE tenant = $1::text LIMIT $2::bigint)) RETURNING 1";
pub(crate) const CUT_DELIVERIES: &str = "DELETE FROM deliveries WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM deliveries WHERE created_at <= foreman_now() - $2::interval ORDER BY created_at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";

/// So many rows are taken away by one transaction: a month of deliveries would take longer than a statement may.
const AT_ONCE: usize = 5_000;

/// Takes away what is listed of an endpoint that is gone, or of a tenant, as far as one transaction goes; how much that was.
pub(crate) async fn unlist(tx: &Transaction, tenant: &TenantId, webhook: Option<WebhookId>) -> Result<usize, Fault> {
    let rows = match webhook {
        Some(webhook) => tx.rows(UNLIST_ENDPOINT, &[&tenant.as_str(), &webhook.0, &bound(AT_ONCE)]).await?,
        None => tx.rows(UNLIST_TENANT, &[&tenant.as_str(), &bound(AT_ONCE)]).await?,
    };
    Ok(rows.len())
}

/// Goes on where [`unlist`] left off. Whoever dies here, or gives up, leaves the rest to the pruner: nobody asks for what is
/// listed of an endpoint that is gone.
pub(crate) async fn unlist_rest(store: &PostgresStore, tenant: &TenantId, webhook: Option<WebhookId>, unlisted: usize) {
    let mut last = unlisted;
    while last >= AT_ONCE {
        last = match transact!(store, data, Write, |tx| unlist(&tx, tenant, webhook).await) {
            Ok(unlisted) => unlisted,
            Err(error) => {
                let error: StoreError = error;
                return debug!("left the deliveries of a deleted webhook to the pruner: {error}");
            }
        };
    }
}

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

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[BY_JOB, CUT_DELIVERIES, LIST, UNLIST_ENDPOINT, UNLIST_TENANT];
