//! Leases: who leads, kept in one row per office, by the clock of the database.
//!
//! A term is drawn by the statement that changes hands, under the row's lock, and only ever rises: of any number that ask at
//! once one is granted. A holder whose answer was lost asks again and is granted a new term at once. On a connection of its
//! own, which nobody stands between: neither jobs nor a pooler's queue keep a leader from renewing. Whoever resigns says so to
//! the others, in the transaction that frees the lease.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Pool;
use foreman_core::Clock;
use foreman_core::ports::{StoreError, Topic};
use foreman_runtime::leadership::{Lease, Term, Unavailable};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::config::Config;
use crate::connection::{self, Beginning, TransactionPurpose};
use crate::error::OpenError;
use crate::value::{Arg, Interval};
use crate::wakeups;
use crate::write::{Query, Transaction, Tries};

/// Also says for how long it was another's before this.
pub(crate) const ACQUIRE: &str = "WITH granted AS (
        INSERT INTO leases AS known (name, term, holder, expires_at)
        VALUES ($1::text, 1, $2::text, foreman_now() + $3::interval)
        ON CONFLICT (name) DO UPDATE
        SET term = known.term + 1, holder = excluded.holder, expires_at = excluded.expires_at
        WHERE known.expires_at <= foreman_now() OR known.holder = excluded.holder
        RETURNING term
    )
    SELECT (SELECT term FROM granted) AS term,
           (SELECT expires_at - foreman_now() FROM leases WHERE name = $1 AND expires_at > foreman_now()) AS taken_for";
/// Also when it has run out, as long as nobody took it since: the term says so.
pub(crate) const RENEW: &str = "UPDATE leases SET expires_at = foreman_now() + $3::interval
    WHERE name = $1::text AND term = $2::bigint RETURNING term";
/// The number goes on, so that what this term still has on its way is refused.
pub(crate) const RESIGN: &str = "UPDATE leases SET term = term + 1, holder = '', expires_at = foreman_now()
    WHERE name = $1::text AND term = $2::bigint RETURNING term";
/// Heard after the commit.
pub(crate) const TELL: &str = "SELECT pg_notify($1::text, $2::text)";

/// Keeps leases in the database.
pub struct PgLeases {
    pool: Pool,
    /// Where it is told that one is free.
    channel: String,
    /// Until when the lease was another's that was last asked for and refused.
    taken_until: Mutex<Option<Instant>>,
    beginning: Beginning,
    clock: Option<Arc<dyn Clock>>,
    call_timeout: Duration,
}

impl PgLeases {
    /// Its connection is opened when it is first needed, and again after it was lost.
    pub fn new(config: &Config) -> Result<Self, OpenError> {
        Ok(Self {
            pool: connection::direct_pool(config)?,
            channel: wakeups::channel(&config.schema),
            taken_until: Mutex::default(),
            beginning: Beginning::direct(config),
            clock: config.clock.clone(),
            call_timeout: config.call_timeout,
        })
    }

    async fn ask(&self, sql: &str, args: &[&dyn Arg]) -> Result<Option<Row>, Unavailable> {
        Ok(self.ask_all(&[(sql, args)]).await?.into_iter().next().unwrap_or_default().into_iter().next())
    }

    async fn ask_all(&self, steps: &[Query<'_>]) -> Result<Vec<Vec<Row>>, Unavailable> {
        let call = async {
            let mut tries = Tries::new();
            loop {
                let begin = self.beginning.text(TransactionPurpose::Write, self.clock.as_deref());
                let tx = Transaction::on(&self.pool, begin, true, 0).await?;
                let done = tx.all(steps).await;
                if let Some((rows, _)) = tries.conclude(tx, done).await? {
                    return Ok::<_, StoreError>(rows);
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
        let asked = Instant::now();
        let row = self.ask(ACQUIRE, &[&name, &holder, &Interval(ttl)]).await?;
        let row = row.ok_or_else(|| Unavailable::new("no answer"))?;
        let term: Option<i64> = row.try_get("term").map_err(Unavailable::new)?;
        let taken_for: Option<Interval> = row.try_get("taken_for").map_err(Unavailable::new)?;
        let taken_until = taken_for.filter(|_| term.is_none()).map(|taken| asked + taken.0);
        *self.taken_until.lock().unwrap_or_else(PoisonError::into_inner) = taken_until;
        Ok(term.map(|term| Term(term.unsigned_abs())))
    }

    fn taken_until(&self) -> Option<Instant> {
        *self.taken_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn renew(&self, name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable> {
        Ok(self.ask(RENEW, &[&name, &number(term), &Interval(ttl)]).await?.is_some())
    }

    async fn resign(&self, name: &str, term: Term) -> Result<(), Unavailable> {
        let (term, told) = (number(term), wakeups::message(Topic::Resigned));
        self.ask_all(&[(RESIGN, &[&name, &term]), (TELL, &[&self.channel, &told])]).await.map(|_| ())
    }
}

fn number(term: Term) -> i64 {
    i64::try_from(term.0).unwrap_or(i64::MAX)
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[ACQUIRE, RENEW, RESIGN, TELL];
