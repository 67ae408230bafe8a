//! Passes: what a browser shows instead of a key, kept by their hash.
//!
//! A ticket is spent by the delete of its row: of two who show it at once the second finds none. One that was spent for
//! somebody who then died is gone, and a new one is asked for. What has expired opens nothing and goes when it is pruned.

use async_trait::async_trait;
use foreman_core::Timestamp;
use foreman_core::key::{KeyHash, KeyId};
use foreman_core::ports::{NewPass, Pass, PassHolder, PassKind, PassStore, StoreError};
use rusqlite::{OptionalExtension, Row, params};

use crate::SqliteStore;
use crate::error::Fault;
use crate::readers::ReadSnapshot;
use crate::rows::Cells;
use crate::write::Write;

/// The columns of a [`Pass`], in its order of reading.
macro_rules! pass_columns {
    () => {
        "kind, holder, key_id, key_hash, tenant, expires_at"
    };
}

const NOBODY: &str = "nobody";
const BOOTSTRAP: &str = "bootstrap";
const KEY: &str = "key";

#[async_trait]
impl PassStore for SqliteStore {
    async fn issue_pass(&self, pass: &NewPass) -> Result<Timestamp, StoreError> {
        let pass = pass.clone();
        self.write(move |write| issue(write, &pass)).await
    }

    async fn pass(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        let hash = *hash;
        self.read(move |read| find(read, &hash)).await
    }

    async fn spend_ticket(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        let hash = *hash;
        self.write(move |write| spend(write, &hash)).await
    }

    async fn revoke_pass(&self, hash: &KeyHash) -> Result<bool, StoreError> {
        let hash = *hash;
        self.write(move |write| revoke(write, &hash)).await
    }
}

fn issue(write: &Write<'_>, new: &NewPass) -> Result<Timestamp, Fault> {
    let hash = &new.hash.as_bytes()[..];
    let (holder, key_id, key_hash) = match &new.holder {
        PassHolder::Nobody => (NOBODY, None, None),
        PassHolder::Bootstrap(hash) => (BOOTSTRAP, None, Some(&hash.as_bytes()[..])),
        PassHolder::Key(id) => (KEY, Some(id.as_str()), None),
    };
    write
        .prepared(
            "INSERT INTO passes (hash, kind, holder, key_id, key_hash, tenant, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (hash) DO NOTHING",
        )?
        .execute(params![
            hash,
            new.kind.as_str(),
            holder,
            key_id,
            key_hash,
            new.tenant.as_str(),
            write.now.plus(new.keep).as_micros(),
        ])?;
    // Sent again it is as it was.
    let until = write.prepared("SELECT expires_at FROM passes WHERE hash = ?1")?.query_row([hash], |row| row.get(0))?;
    Ok(Timestamp::from_micros(until))
}

fn find(read: &ReadSnapshot<'_>, hash: &KeyHash) -> Result<Option<Pass>, Fault> {
    let mut statement = read.sql.prepare_cached(concat!(
        "SELECT ",
        pass_columns!(),
        " FROM passes WHERE hash = ?1 AND expires_at > ?2"
    ))?;
    let mut rows = statement.query((&hash.as_bytes()[..], read.now.as_micros()))?;
    rows.next()?.map(pass).transpose()
}

fn spend(write: &Write<'_>, hash: &KeyHash) -> Result<Option<Pass>, Fault> {
    let mut statement = write.prepared(concat!(
        "DELETE FROM passes WHERE hash = ?1 AND kind = 'ticket' AND expires_at > ?2 RETURNING ",
        pass_columns!()
    ))?;
    let mut rows = statement.query((&hash.as_bytes()[..], write.now.as_micros()))?;
    rows.next()?.map(pass).transpose()
}

fn revoke(write: &Write<'_>, hash: &KeyHash) -> Result<bool, Fault> {
    let was_good: Option<bool> = write
        .prepared("DELETE FROM passes WHERE hash = ?1 RETURNING expires_at > ?2")?
        .query_row((&hash.as_bytes()[..], write.now.as_micros()), |row| row.get(0))
        .optional()?;
    Ok(was_good.unwrap_or_default())
}

fn pass(row: &Row<'_>) -> Result<Pass, Fault> {
    // Not even its hash is told.
    let cells = Cells { row, table: "passes", id: "of some hash" };
    let unknown = |column, text: &str| Fault::misfit("passes", column, cells.id, format!("{text:?} is not known"));
    let (kind, holder) = (cells.text(0, "kind")?, cells.text(1, "holder")?);
    let holder = match holder {
        NOBODY => PassHolder::Nobody,
        BOOTSTRAP => PassHolder::Bootstrap(KeyHash::from_stored(cells.get(3, "key_hash")?)),
        KEY => PassHolder::Key(KeyId::from_stored(cells.text(2, "key_id")?)),
        other => return Err(unknown("holder", other)),
    };
    Ok(Pass {
        kind: PassKind::from_stored(kind).ok_or_else(|| unknown("kind", kind))?,
        holder,
        tenant: cells.tenant(4)?,
        expires_at: cells.time(5, "expires_at")?,
    })
}
