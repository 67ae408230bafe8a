//! Leases: who leads, kept in one row per office, by the clock of the database.
//!
//! A term is drawn by the statement that changes hands, under the row's lock, and only ever rises: of any number that ask at
//! once one is granted. A holder whose answer was lost asks again and is granted a new term at once. On a connection of its
//! own, which nobody stands between: neither jobs nor a pooler's queue keep a leader from renewing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Pool;
use foreman_core::Clock;
use foreman_core::ports::StoreError;
use foreman_runtime::leadership::{Lease, Term, Unavailable};
use tokio_postgres::Row;

use crate::config::Config;
use crate::connection::{self, Beginning, TransactionPurpose};
use crate::error::OpenError;
use crate::value::{Arg, Interval};
use crate::write::{Transaction, Tries};

pub(crate) const ACQUIRE: &str = "INSERT INTO leases AS known (name, term, holder, expires_at)
    VALUES ($1::text, 1, $2::text, foreman_now() + $3::interval)
    ON CONFLICT (name) DO UPDATE
    SET term = known.term + 1, holder = excluded.holder, expires_at = excluded.expires_at
    WHERE known.expires_at <= foreman_now() OR known.holder = excluded.holder
    RETURNING term";
/// Also when it has run out, as long as nobody took it since: the term says so.
pub(crate) const RENEW: &str = "UPDATE leases SET expires_at = foreman_now() + $3::interval
    WHERE name = $1::text AND term = $2::bigint RETURNING term";
/// The number goes on, so that what this term still has on its way is refused.
pub(crate) const RESIGN: &str = "UPDATE leases SET term = term + 1, holder = '', expires_at = foreman_now()
    WHERE name = $1::text AND term = $2::bigint RETURNING term";

/// Keeps leases in the database.
pub struct PgLeases {
    pool: Pool,
    beginning: Beginning,
    clock: Option<Arc<dyn Clock>>,
    call_timeout: Duration,
}

impl PgLeases {
    /// Its connection is opened when it is first needed, and again after it was lost.
    pub fn new(config: &Config) -> Result<Self, OpenError> {
        Ok(Self {
            pool: connection::direct_pool(config)?,
            beginning: Beginning::direct(config),
            clock: config.clock.clone(),
            call_timeout: config.call_timeout,
        })
    }

    async fn ask(&self, sql: &str, args: &[&dyn Arg]) -> Result<Option<Row>, Unavailable> {
        let call = async {
            let mut tries = Tries::new();
            loop {
                let begin = self.beginning.text(TransactionPurpose::Write, self.clock.as_deref());
                let tx = Transaction::on(&self.pool, begin, true, 0).await?;
                let done = tx.row(sql, args).await;
                if let Some((row, _)) = tries.conclude(tx, done).await? {
                    return Ok::<_, StoreError>(row);
                }
            }
        };
        match tokio::time::timeout(self.call_timeout, call).await {
            Ok(answer) => answer.map_err(Unavailable::new),
            Err(_) => Err(Unavailable::new("no answer in time")),
        }
    }
}

#[async_trait]
impl Lease for PgLeases {
    async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Term>, Unavailable> {
        let row = self.ask(ACQUIRE, &[&name, &holder, &Interval(ttl)]).await?;
        row.map(|row| row.try_get::<_, i64>(0).map(|term| Term(term.unsigned_abs())).map_err(Unavailable::new))
            .transpose()
    }

    async fn renew(&self, name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable> {
        Ok(self.ask(RENEW, &[&name, &number(term), &Interval(ttl)]).await?.is_some())
    }

    async fn resign(&self, name: &str, term: Term) -> Result<(), Unavailable> {
        self.ask(RESIGN, &[&name, &number(term)]).await.map(|_| ())
    }
}

fn number(term: Term) -> i64 {
    i64::try_from(term.0).unwrap_or(i64::MAX)
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[ACQUIRE, RENEW, RESIGN];
