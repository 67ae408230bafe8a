//! Passes as they are kept: their hash, never themselves.
//!
//! A pass is one row, and whoever takes it away has it: of two that spend one ticket the second finds none. Which are good is
//! decided by the clock of the database. A pass whose making was not heard of is made again under the same hash, and is there
//! once; one whose spending was not heard of is spent.

use async_trait::async_trait;
use foreman_core::Timestamp;
use foreman_core::key::{KeyHash, KeyId};
use foreman_core::ports::{NewPass, Pass, PassHolder, PassKind, PassStore, StoreError};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::rows::Cells;
use crate::value::Interval;
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

/// What [`read`] reads.
macro_rules! columns {
    () => {
        "passes.kind, passes.holder, passes.tenant, passes.expires_at"
    };
}

pub(crate) const ISSUE: &str = "INSERT INTO passes (hash, kind, holder, tenant, expires_at)
    VALUES ($1::bytea, $2::text, $3::text, $4::text, foreman_now() + $5::interval)
    ON CONFLICT (hash) DO NOTHING";
/// Good or not.
pub(crate) const KEPT: &str = concat!("SELECT ", columns!(), " FROM passes WHERE passes.hash = $1::bytea");
pub(crate) const FIND: &str =
    concat!("SELECT ", columns!(), " FROM passes WHERE passes.hash = $1::bytea AND passes.expires_at > foreman_now()");
pub(crate) const SPEND: &str = concat!(
    "DELETE FROM passes
    WHERE passes.hash = $1::bytea AND passes.kind = $2::text AND passes.expires_at > foreman_now() RETURNING ",
    columns!()
);
pub(crate) const REVOKE: &str = "DELETE FROM passes WHERE hash = $1::bytea RETURNING expires_at > foreman_now()";
pub(crate) const CUT_PASSES: &str = "DELETE FROM passes WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM passes WHERE expires_at <= foreman_now() ORDER BY expires_at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING 1";

#[async_trait]
impl PassStore for PostgresStore {
    async fn issue_pass(&self, pass: &NewPass) -> Result<Timestamp, StoreError> {
        transact!(self, data, Write, |tx| issue(&tx, pass).await)
    }

    async fn pass(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        look!(self, Look, |tx| find(&tx, hash).await)
    }

    async fn spend_ticket(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        transact!(self, data, Write, |tx| spend(&tx, hash).await)
    }

    async fn revoke_pass(&self, hash: &KeyHash) -> Result<bool, StoreError> {
        transact!(self, data, Write, |tx| revoke(&tx, hash).await)
    }
}

async fn issue(tx: &Transaction, pass: &NewPass) -> Result<Timestamp, Fault> {
    let (hash, holder) = (bytes(&pass.hash), holder_text(&pass.holder));
    let (kind, tenant, keep) = (pass.kind.as_str(), pass.tenant.as_str(), Interval(pass.keep));
    let answers = tx.all(&[(ISSUE, &[&hash, &kind, &holder, &tenant, &keep]), (KEPT, &[&hash])]).await?;
    let row = answers[1].first();
    let row = row.ok_or_else(|| Fault::misfit("passes", "hash", kind, "it was inserted, but cannot be found"))?;
    Ok(read(row)?.expires_at)
}

async fn find(tx: &Transaction, hash: &KeyHash) -> Result<Option<Pass>, Fault> {
    tx.row(FIND, &[&bytes(hash)]).await?.as_ref().map(read).transpose()
}

async fn spend(tx: &Transaction, hash: &KeyHash) -> Result<Option<Pass>, Fault> {
    let row = tx.row(SPEND, &[&bytes(hash), &PassKind::Ticket.as_str()]).await?;
    row.as_ref().map(read).transpose()
}

async fn revoke(tx: &Transaction, hash: &KeyHash) -> Result<bool, Fault> {
    let row = tx.row(REVOKE, &[&bytes(hash)]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
}

fn bytes(hash: &KeyHash) -> &[u8] {
    hash.as_bytes()
}

/// From the columns of [`columns`].
fn read(row: &Row) -> Result<Pass, Fault> {
    // Not even its hash is told.
    let cells = Cells { row, table: "passes", id: "a pass" };
    let (kind, holder): (&str, &str) = (cells.get(0, "kind")?, cells.get(1, "holder")?);
    let misfit = |column: &str| Fault::misfit("passes", column, cells.id, "a later version's");
    Ok(Pass {
        kind: PassKind::from_stored(kind).ok_or_else(|| misfit("kind"))?,
        holder: read_holder(holder).ok_or_else(|| misfit("holder"))?,
        tenant: cells.tenant(2)?,
        expires_at: cells.time(3, "expires_at")?,
    })
}

const NOBODY: &str = "nobody";
const BOOTSTRAP: &str = "bootstrap:";
const KEY: &str = "key:";

fn holder_text(holder: &PassHolder) -> String {
    match holder {
        PassHolder::Nobody => NOBODY.to_owned(),
        PassHolder::Bootstrap(hash) => {
            hash.as_bytes().iter().fold(BOOTSTRAP.to_owned(), |text, byte| format!("{text}{byte:02x}"))
        }
        PassHolder::Key(id) => format!("{KEY}{}", id.as_str()),
    }
}

fn read_holder(text: &str) -> Option<PassHolder> {
    if text == NOBODY {
        return Some(PassHolder::Nobody);
    }
    if let Some(id) = text.strip_prefix(KEY) {
        return Some(PassHolder::Key(KeyId::from_stored(id)));
    }
    let hex = text.strip_prefix(BOOTSTRAP).filter(|hex| hex.len() == 64 && hex.is_ascii())?;
    let mut hash = [0; 32];
    for (place, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(PassHolder::Bootstrap(KeyHash::from_stored(hash)))
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[CUT_PASSES, FIND, ISSUE, KEPT, REVOKE, SPEND];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_survives_text_and_nothing_else_is_one() {
        for holder in [PassHolder::Nobody, PassHolder::Bootstrap(KeyHash::of(b"key")), PassHolder::Key(KeyId::fresh())]
        {
            assert_eq!(read_holder(&holder_text(&holder)), Some(holder));
        }
        let short = format!("{BOOTSTRAP}00");
        let not_hex = format!("{BOOTSTRAP}{}", "zz".repeat(32));
        let not_ascii = format!("{BOOTSTRAP}{}", "é".repeat(32));
        for text in ["", "somebody", BOOTSTRAP, &short, &not_hex, &not_ascii] {
            assert_eq!(read_holder(text), None, "{text}");
        }
    }
}
