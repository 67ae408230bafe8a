//! Tenants: made once, changed by who has seen them, deleted when nothing is left of them.
//!
//! Every change is one operation of the one writer, so of two at once the second finds what the first has made of it. Sent
//! again a change is known by the id of its edit, and a deletion by the row it leaves behind, which also keeps the id from
//! being given again. One that dies half way has changed nothing.

use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::ports::{
    CreateTenantAnswer, DeleteTenantAnswer, NewTenant, StoreError, TenantPage, TenantStore, TenantUpdate, Topic,
    UpdateTenantAnswer,
};
use foreman_core::tenant::{Tenant, TenantSettings};
use foreman_core::{EditId, TenantId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::SqliteStore;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::rows::Cells;
use crate::unreadable::Unreadable;
use crate::write::Write;

#[async_trait]
impl TenantStore for SqliteStore {
    async fn create_tenant(&self, new: &NewTenant) -> Result<CreateTenantAnswer, StoreError> {
        let (new, settings) = (new.clone(), written_down(&new.id, &new.settings)?);
        let answer = self.write(move |write| create(write, &new, &settings)).await;
        self.parts.rotation.disabled().forget();
        answer
    }

    /// One that this version cannot read is [`StoreError::Damaged`].
    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
        let id = id.clone();
        self.read(move |read| find(read.sql, &id)).await
    }

    /// The log names a tenant that this version cannot read.
    async fn tenants(&self, after: Option<&TenantId>, limit: usize) -> Result<TenantPage, StoreError> {
        let (after, unreadable) = (after.cloned(), Arc::clone(&self.parts.unreadable));
        self.read(move |read| list(read, after.as_ref(), limit, &unreadable)).await
    }

    async fn update_tenant(&self, update: &TenantUpdate) -> Result<UpdateTenantAnswer, StoreError> {
        let (update, settings) = (update.clone(), written_down(&update.tenant, &update.settings)?);
        let answer = self.write(move |write| change(write, &update, &settings)).await;
        self.parts.rotation.disabled().forget();
        answer
    }

    async fn delete_tenant(&self, id: &TenantId, version: i64) -> Result<DeleteTenantAnswer, StoreError> {
        let id = id.clone();
        let answer = self.write(move |write| delete(write, &id, version)).await;
        self.parts.rotation.disabled().forget();
        answer
    }
}

fn written_down(id: &TenantId, settings: &TenantSettings) -> Result<String, StoreError> {
    serde_json::to_string(settings)
        .map_err(|error| StoreError::Broken(format!("tenant {id} cannot be written down: {error}")))
}

/// The columns of a [`Tenant`], in its order of reading.
macro_rules! tenant_columns {
    () => {
        "id, version, created_at, edited_at, settings"
    };
}

fn tenant(row: &Row<'_>) -> Result<Tenant, Fault> {
    tenant_at(row, 0)
}

/// A tenant whose columns begin at `first`.
pub(crate) fn tenant_at(row: &Row<'_>, first: usize) -> Result<Tenant, Fault> {
    let id = TenantId::new(row.get_ref(first)?.as_str().map_err(rusqlite::Error::from)?);
    let cells = Cells { row, table: "tenants", id };
    Ok(Tenant {
        version: cells.get(first + 1, "version")?,
        created_at: cells.time(first + 2, "created_at")?,
        edited_at: cells.time(first + 3, "edited_at")?,
        settings: cells.json(first + 4, "settings")?,
        id: cells.id,
    })
}

fn called(row: &Row<'_>) -> (String, i64) {
    (format!("tenant {}", row.get::<_, String>(0).unwrap_or_default()), row.get(1).unwrap_or_default())
}

fn find(sql: &Connection, id: &TenantId) -> Result<Option<Tenant>, Fault> {
    let mut statement = sql.prepare_cached(concat!(
        "SELECT ",
        tenant_columns!(),
        " FROM tenants WHERE id = ?1 AND deleted_at IS NULL"
    ))?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(tenant).transpose()
}

/// Reads on until the page is full: a short page would look like the last.
fn list(
    read: &ReadSnapshot<'_>,
    after: Option<&TenantId>,
    limit: usize,
    unreadable: &Unreadable,
) -> Result<TenantPage, Fault> {
    let mut statement = read.sql.prepare_cached(concat!(
        "SELECT ",
        tenant_columns!(),
        " FROM tenants WHERE id > ?1 AND deleted_at IS NULL ORDER BY id"
    ))?;
    // Every id comes after the empty one, which is none.
    let mut rows = statement.query([after.map_or("", TenantId::as_str)])?;
    let mut page = TenantPage::default();
    while page.readable.len() < limit {
        let Some(row) = rows.next()? else { break };
        match unreadable.left_out(|| called(row), tenant(row))? {
            Some(tenant) => page.readable.push(tenant),
            None => page.unreadable.push(TenantId::new(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)),
        }
    }
    Ok(page)
}

/// Whether there is such a tenant.
pub(crate) fn is_there(write: &Write<'_>, id: &TenantId) -> Result<bool, Fault> {
    Ok(write.prepared("SELECT 1 FROM tenants WHERE id = ?1 AND deleted_at IS NULL")?.exists([id.as_str()])?)
}

/// What a change is judged by; of one that is gone, what is left of it.
struct TenantHead {
    version: i64,
    deleted_at: Option<Timestamp>,
    made_by: Option<EditId>,
    edited_by: Option<EditId>,
}

fn head(write: &Write<'_>, id: &TenantId) -> Result<Option<TenantHead>, Fault> {
    let mut statement = write.prepared("SELECT version, deleted_at, made_by, edited_by FROM tenants WHERE id = ?1")?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells { row, table: "tenants", id };
    Ok(Some(TenantHead {
        version: cells.get(0, "version")?,
        deleted_at: cells.maybe_time(1, "deleted_at")?,
        made_by: cells.edit(2, "made_by")?,
        edited_by: cells.edit(3, "edited_by")?,
    }))
}

/// One that was found in this transaction.
fn look(write: &Write<'_>, id: &TenantId) -> Result<Tenant, Fault> {
    find(write.sql, id)?.ok_or_else(|| Fault::misfit("tenants", "id", id, "gone between two looks of one transaction"))
}

fn create(write: &Write<'_>, new: &NewTenant, settings: &str) -> Result<CreateTenantAnswer, Fault> {
    match head(write, &new.id)? {
        Some(it) if it.deleted_at.is_some() || it.made_by != Some(new.edit) => return Ok(CreateTenantAnswer::Taken),
        // Sent again.
        Some(_) => {}
        None => {
            write
                .prepared(
                    "INSERT INTO tenants (id, version, created_at, edited_at, made_by, weight, settings)
                     VALUES (?1, 1, ?2, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    new.id.as_str(),
                    write.now.as_micros(),
                    new.edit.0,
                    new.settings.weight.get(),
                    settings,
                ])?;
        }
    }
    look(write, &new.id).map(CreateTenantAnswer::Created)
}

fn change(write: &Write<'_>, update: &TenantUpdate, settings: &str) -> Result<UpdateTenantAnswer, Fault> {
    let head = head(write, &update.tenant)?.filter(|it| it.deleted_at.is_none());
    let Some(head) = head else { return Ok(UpdateTenantAnswer::Gone) };
    // Otherwise it was sent again.
    if head.edited_by != Some(update.edit) {
        if head.version != update.version {
            return Ok(UpdateTenantAnswer::Stale);
        }
        write
            .prepared(
                "UPDATE tenants SET version = version + 1, edited_at = ?2, edited_by = ?3, weight = ?4, settings = ?5
                 WHERE id = ?1",
            )?
            .execute(params![
                update.tenant.as_str(),
                write.now.as_micros(),
                update.edit.0,
                update.settings.weight.get(),
                settings,
            ])?;
    }
    let tenant = look(write, &update.tenant)?;
    if !tenant.settings.is_disabled {
        // It may have been: what waited is due at once. Also when it is sent again, for the first ring may be lost.
        write.ring(Topic::Ready);
        write.ring(Topic::Scheduled);
    }
    Ok(UpdateTenantAnswer::Updated(tenant))
}

fn delete(write: &Write<'_>, id: &TenantId, version: i64) -> Result<DeleteTenantAnswer, Fault> {
    if *id == TenantId::default() {
        return Ok(DeleteTenantAnswer::Permanent);
    }
    let Some(head) = head(write, id)? else { return Ok(DeleteTenantAnswer::Gone) };
    let is_as_seen = head.version == version;
    if head.deleted_at.is_some() {
        return Ok(if is_as_seen { DeleteTenantAnswer::Deleted } else { DeleteTenantAnswer::Gone });
    }
    if !is_as_seen {
        return Ok(DeleteTenantAnswer::Stale);
    }
    if !look(write, id)?.settings.is_disabled {
        return Ok(DeleteTenantAnswer::Enabled);
    }
    if owns_something(write, id)? {
        return Ok(DeleteTenantAnswer::InUse);
    }
    // Its secrets go with its settings. The version stays, for the deletion may be sent again.
    write
        .prepared("UPDATE tenants SET deleted_at = ?2, settings = '{}' WHERE id = ?1")?
        .execute((id.as_str(), write.now.as_micros()))?;
    for statement in [
        "DELETE FROM api_keys WHERE tenant = ?1",
        "DELETE FROM deliveries WHERE tenant = ?1",
        "DELETE FROM webhooks WHERE tenant = ?1",
    ] {
        write.prepared(statement)?.execute([id.as_str()])?;
    }
    Ok(DeleteTenantAnswer::Deleted)
}

/// A job, in whatever place, or a schedule.
fn owns_something(write: &Write<'_>, id: &TenantId) -> Result<bool, Fault> {
    for sql in [
        "SELECT 1 FROM jobs INDEXED BY jobs_of_tenant WHERE tenant = ?1 LIMIT 1",
        "SELECT 1 FROM schedules WHERE tenant = ?1 LIMIT 1",
    ] {
        if write.prepared(sql)?.exists([id.as_str()])? {
            return Ok(true);
        }
    }
    Ok(false)
}
