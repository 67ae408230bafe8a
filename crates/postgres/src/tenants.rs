//! Tenants as they are kept: made, read, changed and deleted, each in one transaction of a round trip or two.
//!
//! What two do at once is decided by the tenant's row, which stays for ever: whoever changes it compares the version under its
//! lock, and whoever deletes it keeps new keys away by that lock. An edit leaves its id there, so that one whose answer was lost is
//! known when it is sent again. A process that dies half way leaves the row as it was.

use async_trait::async_trait;
use foreman_core::TenantId;
use foreman_core::ports::{
    CreateTenantAnswer, DeleteTenantAnswer, NewTenant, StoreError, TenantPage, TenantStore, TenantUpdate, Topic,
    UpdateTenantAnswer,
};
use foreman_core::tenant::{Tenant, TenantSettings};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::{Cells, json};
use crate::value::{Arg, bound};
use crate::webhooks::deliveries::{unlist, unlist_rest};
use crate::write::{Query, Transaction};
use crate::{PostgresStore, look, transact};

/// What [`read`] reads.
macro_rules! columns {
    () => {
        "tenants.id, tenants.settings, tenants.version, tenants.created_at, tenants.edited_at"
    };
}
pub(crate) use columns;

/// Also one that was deleted.
pub(crate) const BY_ID: &str = concat!(
    "SELECT ",
    columns!(),
    ", tenants.made_by, tenants.edited_by, tenants.deleted_at IS NOT NULL FROM tenants WHERE tenants.id = $1::text"
);
pub(crate) const LOCK: &str = concat!(
    "SELECT ",
    columns!(),
    ", tenants.made_by, tenants.edited_by, tenants.deleted_at IS NOT NULL FROM tenants WHERE tenants.id = $1::text
    FOR UPDATE"
);
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tenants WHERE tenants.id > $1::text AND tenants.deleted_at IS NULL ORDER BY tenants.id LIMIT $2::bigint"
);
pub(crate) const CREATE: &str = "INSERT INTO tenants (id, settings, weight, version, created_at, edited_at, made_by)
    VALUES ($1::text, $2::text, $3::integer, 1, foreman_now(), foreman_now(), $4::uuid)
    ON CONFLICT (id) DO NOTHING";
/// Whoever waits here for somebody else's change compares with what that one has left.
pub(crate) const UPDATE: &str = "UPDATE tenants
    SET settings = $3::text, weight = $4::integer, version = version + 1, edited_at = foreman_now(), edited_by = $5::uuid
    WHERE id = $1::text AND version = $2::bigint AND deleted_at IS NULL AND edited_by IS DISTINCT FROM $5";
/// After the tenant's row was locked. A submission of a process that has not heard of it yet may still come.
pub(crate) const OWNS: &str =
    "SELECT EXISTS (SELECT FROM jobs WHERE jobs.tenant = $1::text AND left(jobs.queue, 8) <> 'foreman.')
    OR EXISTS (SELECT FROM jobs WHERE jobs.tenant = $1 AND left(jobs.queue, 8) = 'foreman.')
    OR EXISTS (SELECT FROM schedules WHERE schedules.tenant = $1)";
/// What is left of it is its id; its secrets are not.
pub(crate) const FORGET: [&str; 3] = [
    "UPDATE tenants SET settings = '{}', weight = 1, deleted_at = foreman_now() WHERE id = $1::text",
    "DELETE FROM api_keys WHERE tenant = $1::text",
    "DELETE FROM webhooks WHERE tenant = $1::text",
];

#[async_trait]
impl TenantStore for PostgresStore {
    async fn create_tenant(&self, new: &NewTenant) -> Result<CreateTenantAnswer, StoreError> {
        let settings = json(&new.settings)?;
        transact!(self, data, Write, |tx| create(&tx, new, &settings).await)
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
        look!(self, Look, |tx| one(&tx, id).await)
    }

    async fn tenants(&self, after: Option<&TenantId>, limit: usize) -> Result<TenantPage, StoreError> {
        look!(self, Look, |tx| list(&tx, after, limit).await)
    }

    async fn update_tenant(&self, asked: &TenantUpdate) -> Result<UpdateTenantAnswer, StoreError> {
        let settings = json(&asked.settings)?;
        transact!(self, data, Write, |tx| update(&tx, asked, &settings).await)
    }

    async fn delete_tenant(&self, id: &TenantId, version: i64) -> Result<DeleteTenantAnswer, StoreError> {
        if *id == TenantId::default() {
            return Ok(DeleteTenantAnswer::Permanent);
        }
        let (answer, unlisted) = transact!(self, data, Write, |tx| delete(&tx, id, version).await)?;
        unlist_rest(self, id, None, unlisted).await;
        Ok(answer)
    }
}

/// A tenant's row with what is not told of it.
struct StoredTenant {
    tenant: Tenant,
    made_by: Option<Uuid>,
    edited_by: Option<Uuid>,
    is_deleted: bool,
}

/// From a row of [`BY_ID`].
fn stored(row: &Row) -> Result<StoredTenant, Fault> {
    let tenant = read(row, 0)?;
    let cells = Cells { row, table: "tenants", id: tenant.id.as_str() };
    let (made_by, edited_by) = (cells.get(5, "made_by")?, cells.get(6, "edited_by")?);
    let is_deleted = cells.get(7, "deleted_at")?;
    Ok(StoredTenant { tenant, made_by, edited_by, is_deleted })
}

/// From the columns of [`columns`], beginning with the one at `first`.
pub(crate) fn read(row: &Row, first: usize) -> Result<Tenant, Fault> {
    let id: &str = row.try_get(first).map_err(|error| Fault::misfit("tenants", "id", "unknown", error))?;
    let cells = Cells { row, table: "tenants", id };
    Ok(Tenant {
        id: TenantId::new(id),
        settings: cells.json(first + 1, "settings")?,
        version: cells.get(first + 2, "version")?,
        created_at: cells.time(first + 3, "created_at")?,
        edited_at: cells.time(first + 4, "edited_at")?,
    })
}

fn weight(settings: &TenantSettings) -> i32 {
    i32::try_from(settings.weight.get()).unwrap_or(i32::MAX)
}

async fn create(tx: &Transaction, new: &NewTenant, settings: &str) -> Result<CreateTenantAnswer, Fault> {
    let (id, weight, edit) = (new.id.as_str(), weight(&new.settings), new.edit.0);
    let answers = tx.all(&[(CREATE, &[&id, &settings, &weight, &edit]), (BY_ID, &[&id])]).await?;
    let row = answers[1].first();
    let stored =
        stored(row.ok_or_else(|| Fault::misfit("tenants", "id", id, "it was inserted, but cannot be found"))?)?;
    let is_ours = !stored.is_deleted && stored.made_by == Some(edit);
    Ok(if is_ours { CreateTenantAnswer::Created(stored.tenant) } else { CreateTenantAnswer::Taken })
}

async fn one(tx: &Transaction, id: &TenantId) -> Result<Option<Tenant>, Fault> {
    let row = tx.row(BY_ID, &[&id.as_str()]).await?;
    let stored = row.as_ref().map(stored).transpose()?;
    Ok(stored.filter(|stored| !stored.is_deleted).map(|stored| stored.tenant))
}

/// Reads on until the page is full: a short page would look like the last.
async fn list(tx: &Transaction, after: Option<&TenantId>, limit: usize) -> Result<TenantPage, Fault> {
    let mut page = TenantPage::default();
    // No id is empty.
    let mut after = after.map_or("", TenantId::as_str).to_owned();
    while page.readable.len() < limit {
        let room = limit - page.readable.len();
        let rows = tx.rows(LIST, &[&after.as_str(), &bound(room)]).await?;
        for row in &rows {
            match read(row, 0) {
                Ok(tenant) => page.readable.push(tenant),
                Err(Fault::Store(StoreError::Damaged(_))) => {
                    page.unreadable.push(TenantId::new(row.try_get::<_, &str>(0)?));
                }
                Err(fault) => return Err(fault),
            }
        }
        match rows.last() {
            Some(last) if rows.len() == room => after = last.try_get(0)?,
            _ => break,
        }
    }
    Ok(page)
}

async fn update(tx: &Transaction, update: &TenantUpdate, settings: &str) -> Result<UpdateTenantAnswer, Fault> {
    let (id, weight, edit) = (update.tenant.as_str(), weight(&update.settings), update.edit.0);
    let answers = tx.all(&[(UPDATE, &[&id, &update.version, &settings, &weight, &edit]), (BY_ID, &[&id])]).await?;
    let stored = answers[1].first().map(stored).transpose()?;
    Ok(match stored.filter(|stored| !stored.is_deleted) {
        None => UpdateTenantAnswer::Gone,
        Some(stored) if stored.edited_by == Some(edit) => {
            if !stored.tenant.settings.is_disabled {
                // It may have been: what waited is due at once. Also when it is sent again, for the first ring may be lost.
                tx.ring(Topic::Ready);
                tx.ring(Topic::Scheduled);
            }
            UpdateTenantAnswer::Updated(stored.tenant)
        }
        Some(_) => UpdateTenantAnswer::Stale,
    })
}

/// What became of it, and how many deliveries are listed of it no more.
async fn delete(tx: &Transaction, tenant: &TenantId, version: i64) -> Result<(DeleteTenantAnswer, usize), Fault> {
    let id = tenant.as_str();
    let args: [&dyn Arg; 1] = [&id];
    let answers = tx.all(&[(LOCK, &args), (OWNS, &args)]).await?;
    let stored = answers[0].first().map(stored).transpose()?;
    let owns_something: bool = answers[1].first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    let answer = judge(stored.as_ref(), version, owns_something);
    if answer != DeleteTenantAnswer::Deleted || stored.is_some_and(|stored| stored.is_deleted) {
        return Ok((answer, 0));
    }
    let steps: [Query<'_>; 3] = FORGET.map(|sql| (sql, &args[..]));
    tx.all(&steps).await?;
    Ok((answer, unlist(tx, tenant, None).await?))
}

/// Whether it may be deleted, or was.
fn judge(stored: Option<&StoredTenant>, version: i64, owns_something: bool) -> DeleteTenantAnswer {
    let Some(StoredTenant { tenant, is_deleted, .. }) = stored else { return DeleteTenantAnswer::Gone };
    match (*is_deleted, tenant.version == version) {
        (true, true) => DeleteTenantAnswer::Deleted,
        (true, false) => DeleteTenantAnswer::Gone,
        (false, false) => DeleteTenantAnswer::Stale,
        (false, true) if !tenant.settings.is_disabled => DeleteTenantAnswer::Enabled,
        (false, true) if owns_something => DeleteTenantAnswer::InUse,
        (false, true) => DeleteTenantAnswer::Deleted,
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[BY_ID, CREATE, LIST, LOCK, OWNS, UPDATE];
