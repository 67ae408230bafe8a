//! The leader's lease: one row, by the clock of the database.
//!
//! A term rises with every change of hands, and every write of a leader carries its own, so one that was deposed without noticing
//! writes nothing. No advisory lock of a session: those do not exist behind a pooler in transaction mode.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_runtime::Term;
use foreman_runtime::leadership::{Lease, Unavailable};
use tokio_postgres::types::Type;

use super::control::Control;
use super::sql::Statements;

/// The row of the one lease there is.
pub(crate) const LEADER: &str = "leader";

pub(crate) struct TableLease {
    pub control: Arc<Control>,
    pub sql: Arc<Statements>,
}

#[async_trait]
impl Lease for TableLease {
    async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Term>, Unavailable> {
        let of = [(&name as _, Type::TEXT), (&holder as _, Type::TEXT), (&ttl.as_secs_f64() as _, Type::FLOAT8)];
        let rows = self.control.query(&self.sql.lease_acquire, &of).await.map_err(Unavailable::new)?;
        let term: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose().map_err(Unavailable::new)?;
        Ok(term.map(|term| Term(term.unsigned_abs())))
    }

    async fn renew(&self, name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable> {
        let of = [(&name as _, Type::TEXT), (&number(term) as _, Type::INT8), (&ttl.as_secs_f64() as _, Type::FLOAT8)];
        Ok(!self.control.query(&self.sql.lease_renew, &of).await.map_err(Unavailable::new)?.is_empty())
    }

    async fn resign(&self, name: &str, term: Term) -> Result<(), Unavailable> {
        let of = [(&name as _, Type::TEXT), (&number(term) as _, Type::INT8)];
        self.control.execute(&self.sql.lease_resign, &of).await.map_err(Unavailable::new).map(drop)
    }
}

pub(crate) fn number(term: Term) -> i64 {
    i64::try_from(term.0).unwrap_or(i64::MAX)
}
