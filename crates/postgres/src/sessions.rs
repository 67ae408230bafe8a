//! Sessions: registered, renewed, drained, ended, lapsed.
//!
//! One row per worker keeps all its claims. A claim holds that row FOR KEY SHARE, which lets renewals pass. Whoever takes a
//! session out of service locks the row FOR UPDATE and looks again, so that it waits for every claim on its way; a plain
//! UPDATE would not. Only then, in a following statement that sees what it waited for, does it take the claims.
//!
//! Everything here uses the pool of its own: when jobs take every connection there is, workers still renew and are seen.

use async_trait::async_trait;
use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Heartbeat, Note, OpenJob, Pulse, SessionInfo, SessionState, SessionStore, StoreError};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::target::Route;
use foreman_core::{ClaimToken, Fence, JobId, Report, SessionId};
use tokio_postgres::Row;
use tracing::warn;
use uuid::Uuid;

use crate::error::Fault;
use crate::places::{self, LAPSE, RELEASE};
use crate::rows::json;
use crate::value::{Arg, Interval};
use crate::write::Transaction;
use crate::{PostgresStore, transact};

pub(crate) const REGISTER: &str = "INSERT INTO sessions
        (id, worker, pid, version, slots, queues, ttl, state, beats, started_at, renewed_at, expires_at, tasks,
         consumes)
    VALUES ($1::uuid, $2::text, $3::bigint, $4::text, $5::bigint, $6::text[], $7::interval, 'live', 0, foreman_now(),
            foreman_now(), foreman_now() + $7, $8::text[], $9::text[])
    ON CONFLICT (id) DO NOTHING RETURNING id";
pub(crate) const RENEW: &str = "UPDATE sessions
    SET beats = beats + 1, renewed_at = foreman_now(), expires_at = foreman_now() + ttl
    WHERE id = $1::uuid AND state IN ('live', 'draining') RETURNING id";
pub(crate) const OPEN_JOBS: &str = "SELECT claim, job FROM held WHERE session = $1::uuid ORDER BY claim, job";
pub(crate) const LOCK: &str =
    "SELECT worker, state FROM sessions WHERE id = $1::uuid AND state IN ('live', 'draining') FOR UPDATE";
pub(crate) const LOCK_OVERDUE: &str = "SELECT worker FROM sessions
    WHERE id = $1::uuid AND beats = $2::bigint AND expires_at <= foreman_now() AND state IN ('live', 'draining')
    FOR UPDATE";
pub(crate) const DRAIN: &str = "UPDATE sessions SET state = 'draining' WHERE id = $1::uuid";
pub(crate) const MARK: &str = "UPDATE sessions SET state = $2::text, ended_at = foreman_now() WHERE id = $1::uuid";
pub(crate) const PULSES: &str = "SELECT id, beats, expires_at <= foreman_now(), ttl FROM sessions
    WHERE state IN ('live', 'draining') ORDER BY id";

#[async_trait]
impl SessionStore for PostgresStore {
    async fn register(&self, session: &SessionInfo) -> Result<(), StoreError> {
        transact!(self, control, Write, |tx| register(&tx, session).await)
    }

    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Result<Heartbeat, StoreError> {
        let mut beat = transact!(self, control, Write, |tx| renew(&tx, session).await)?;
        if given_up.is_empty() || beat == Heartbeat::Gone {
            return Ok(beat);
        }
        // Apart from the renewal: a claim that somebody else has locked must not cost the worker its session. What could not be
        // released is named again with the next heartbeat.
        let tokens = given_up.iter().map(|token| token.0).collect::<Vec<_>>();
        let released = transact!(self, control, Write, |tx| release_some(&tx, session, tokens.clone()).await);
        match released {
            Ok(held) => beat = Heartbeat::Renewed { held },
            Err(error) => warn!(session.id = %session, "could not release abandoned claims yet: {error}"),
        }
        Ok(beat)
    }

    async fn held(&self, session: SessionId) -> Result<Vec<OpenJob>, StoreError> {
        transact!(self, control, Look, |tx| open_jobs(&tx, session).await)
    }

    async fn drain(&self, session: SessionId) -> Result<bool, StoreError> {
        transact!(self, control, Write, |tx| drain(&tx, session).await)
    }

    async fn end(&self, session: SessionId) -> Result<usize, StoreError> {
        transact!(self, control, Write, |tx| end(&tx, session).await)
    }

    async fn pulses(&self) -> Result<Vec<Pulse>, StoreError> {
        transact!(self, control, Look, |tx| pulses(&tx).await)
    }

    async fn lapse(&self, pulse: Pulse) -> Result<Option<usize>, StoreError> {
        transact!(self, control, Write, |tx| lapse(&tx, pulse).await)
    }
}

async fn register(tx: &Transaction, session: &SessionInfo) -> Result<(), Fault> {
    let queues: Vec<&str> = session.queues.iter().map(String::as_str).collect();
    let tasks: Vec<&str> = session.tasks.iter().map(String::as_str).collect();
    let consumes: Option<Vec<&str>> =
        session.consumes.as_ref().map(|routes| routes.iter().map(Route::as_str).collect());
    let registered = tx
        .row(
            REGISTER,
            &[
                &session.id.0,
                &session.worker,
                &i64::from(session.pid),
                &session.version,
                &i64::from(session.slots),
                &queues,
                &Interval(session.ttl),
                &tasks,
                &consumes,
            ],
        )
        .await?;
    if registered.is_some() {
        tell(tx, session.id, &session.worker, SessionState::Live);
    }
    Ok(())
}

/// Whoever watches learns in which state a session is now.
fn tell(tx: &Transaction, session: SessionId, worker: &str, state: SessionState) {
    tx.tell(Note::Worker { session, worker: worker.to_owned(), state });
}

async fn renew(tx: &Transaction, session: SessionId) -> Result<Heartbeat, Fault> {
    if tx.row(RENEW, &[&session.0]).await?.is_none() {
        return Ok(Heartbeat::Gone);
    }
    Ok(Heartbeat::Renewed { held: open_jobs(tx, session).await? })
}

/// What is held after that.
async fn release_some(tx: &Transaction, session: SessionId, tokens: Vec<Uuid>) -> Result<Vec<OpenJob>, Fault> {
    release(tx, session, Some(tokens)).await?;
    open_jobs(tx, session).await
}

async fn open_jobs(tx: &Transaction, session: SessionId) -> Result<Vec<OpenJob>, Fault> {
    let rows = tx.rows(OPEN_JOBS, &[&session.0]).await?;
    rows.iter().map(|row| Ok(OpenJob { fence: Fence(row.try_get(0)?), job: JobId(row.try_get(1)?) })).collect()
}

async fn drain(tx: &Transaction, session: SessionId) -> Result<bool, Fault> {
    let Some(row) = tx.row(LOCK, &[&session.0]).await? else { return Ok(false) };
    if row.try_get::<_, &str>(1)? != SessionState::Draining.as_str() {
        tx.rows(DRAIN, &[&session.0]).await?;
        tell(tx, session, row.try_get(0)?, SessionState::Draining);
    }
    Ok(true)
}

async fn end(tx: &Transaction, session: SessionId) -> Result<usize, Fault> {
    let Some(row) = tx.row(LOCK, &[&session.0]).await? else { return Ok(0) };
    tx.rows(MARK, &[&session.0, &SessionState::Ended.as_str()]).await?;
    tell(tx, session, row.try_get(0)?, SessionState::Ended);
    release(tx, session, None).await
}

/// Hands open jobs back, refunded, to the front of the line: those of the claims made by these calls, or all.
async fn release(tx: &Transaction, session: SessionId, tokens: Option<Vec<Uuid>>) -> Result<usize, Fault> {
    Ok(places::leave(tx, RELEASE, &[&session.0, &tokens]).await?.len())
}

async fn pulses(tx: &Transaction) -> Result<Vec<Pulse>, Fault> {
    let rows = tx.rows(PULSES, &[]).await?;
    rows.iter().map(pulse).collect()
}

fn pulse(row: &Row) -> Result<Pulse, Fault> {
    let Interval(ttl) = row.try_get(3)?;
    Ok(Pulse { session: SessionId(row.try_get(0)?), beats: row.try_get(1)?, is_overdue: row.try_get(2)?, ttl })
}

/// Locks the session and looks again, marks it dead for ever, and only then returns its jobs.
async fn lapse(tx: &Transaction, pulse: Pulse) -> Result<Option<usize>, Fault> {
    let session = pulse.session.0;
    let Some(row) = tx.row(LOCK_OVERDUE, &[&session, &pulse.beats]).await? else { return Ok(None) };
    tx.rows(MARK, &[&session, &SessionState::Dead.as_str()]).await?;
    tell(tx, pulse.session, row.try_get(0)?, SessionState::Dead);
    let max_crashes = i32::try_from(MAX_CRASHES).unwrap_or(i32::MAX);
    let errors = [
        "the worker died or lost the store",
        "the worker died or lost the store, and no attempt is left",
        "poison: the worker died % times while it ran this job",
    ];
    let [again, no_attempt_left, poison] = errors.map(|error| json(&Report::error(error)));
    // Whatever the number.
    let [_, spent_group, poison_group] = errors.map(|error| ErrorGroup::of(&error.replace('%', "3")));
    let args: [&dyn Arg; 7] =
        [&session, &max_crashes, &again?, &no_attempt_left?, &poison?, &spent_group.as_str(), &poison_group.as_str()];
    Ok(Some(places::leave(tx, LAPSE, &args).await?.len()))
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[DRAIN, LOCK, LOCK_OVERDUE, MARK, OPEN_JOBS, PULSES, REGISTER, RENEW];
