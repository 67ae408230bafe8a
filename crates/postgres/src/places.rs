//! Where a job stands, and what leaving a claim tells.
//!
//! A job is found by looking in `ready`, `claims` and `outcomes`, each in a statement of its own: a job on its way from one to
//! the next may be missed by one pass, but not for ever, so whoever must find it looks again.

use std::time::Duration;

use foreman_core::job::QueueName;
use foreman_core::ports::{ATTEMPTS_KEPT, FIRST_ATTEMPTS, Step, Topic};
use foreman_core::target::Route;
use foreman_core::{Fence, JobId, Lane, SessionId, State, TenantId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::order;
use crate::rows::Cells;
use crate::value::{Span, bound};
use crate::write::Transaction;

/// Jobs of a tenant.
pub(crate) const OWNED: &str = "SELECT id FROM jobs WHERE id = ANY ($1::uuid[]) AND tenant = $2::text";
pub(crate) const WAITING: &str = "SELECT job, run_at <= foreman_now(), attempt FROM ready WHERE job = ANY ($1::uuid[])";
pub(crate) const HELD: &str = "SELECT job FROM held WHERE job = ANY ($1::uuid[])";
pub(crate) const FINAL: &str = "SELECT job, state FROM outcomes WHERE job = ANY ($1::uuid[])";

/// How often a job is looked for before its caller is told that it could not be found: more often than jobs move.
pub(crate) const LOOKS: usize = 100;

/// A job that has just left its claim: a row of `sql/leave/close.sql`.
pub(crate) struct Closed {
    pub claim: Fence,
    pub session: SessionId,
    pub job: JobId,
    pub tenant: TenantId,
    pub queue: QueueName,
    pub lane: Lane,
    pub route: Route,
    pub attempt: u32,
    /// The final state it went to; none when it waits again.
    pub state: Option<State>,
    pub is_due: bool,
    wants_key: bool,
    may_expire: bool,
    moves: u32,
    /// How long the attempt ran.
    took: Duration,
}

impl TryFrom<&Row> for Closed {
    type Error = Fault;

    fn try_from(row: &Row) -> Result<Self, Fault> {
        let cells = Cells::of_job(row, "claims", 3)?;
        let is_final = cells.get::<Option<&str>>(8, "state")?.is_some();
        Ok(Self {
            claim: Fence(cells.get(1, "number")?),
            session: SessionId(cells.get(2, "session")?),
            job: cells.id,
            tenant: cells.tenant(4)?,
            queue: cells.queue(5)?,
            lane: cells.lane(6)?,
            attempt: cells.count(7, "attempt")?,
            state: if is_final { Some(cells.final_state(8)?) } else { None },
            is_due: cells.get::<Option<bool>>(9, "is_due")?.unwrap_or_default(),
            wants_key: cells.get::<Option<bool>>(10, "wants_key")?.unwrap_or_default(),
            may_expire: cells.get(11, "may_expire")?,
            route: Route::from_stored(cells.get(12, "route")?),
            moves: cells.moves(13)?,
            took: cells.get::<Span>(14, "claimed_at")?.0,
        })
    }
}

/// Books what left its claim: the log, the bells, and a place in line for a retry without a delay.
pub(crate) async fn book(tx: &Transaction, rows: &[Row]) -> Result<Vec<Closed>, Fault> {
    let closed: Vec<Closed> = rows.iter().map(Closed::try_from).collect::<Result<_, _>>()?;
    let mut due = Vec::new();
    for one in &closed {
        let state = one.state.unwrap_or_else(|| State::of_waiting(one.is_due, one.attempt));
        let step = Step { state, attempt: one.attempt, sequence: one.moves, took: Some(one.took) };
        tx.note(one.job, &one.tenant, &one.queue, step);
        if one.state.is_none() {
            if one.is_due {
                tx.ring(Topic::Ready);
            }
            if !one.is_due || one.may_expire {
                tx.ring(Topic::Waiting);
            }
        }
        if one.wants_key && one.state.is_none() {
            due.push((one.job, one.tenant.clone(), one.queue.clone(), one.lane, one.route.clone()));
        }
    }
    order::place(tx, &due).await?;
    let many = closed.iter().filter(|one| one.state.is_none()).map(|one| (one.job, one.moves));
    drop_attempts(tx, many).await?;
    Ok(closed)
}

/// Drops those between the first `$2` and the latest that are more than `$3`.
pub(crate) const DROP_ATTEMPTS: &str = "DELETE FROM attempts USING (
        SELECT job, place, row_number() OVER (PARTITION BY job ORDER BY place) AS nth,
               count(*) OVER (PARTITION BY job) AS kept
        FROM attempts WHERE job = ANY ($1::uuid[])
    ) AS numbered
    WHERE attempts.job = numbered.job AND attempts.place = numbered.place
      AND numbered.nth > $2::bigint AND numbered.nth <= $2 + numbered.kept - $3::bigint";

/// Of jobs of which an attempt was recorded, drops what is too many. With each its moves: every attempt was one.
pub(crate) async fn drop_attempts(tx: &Transaction, jobs: impl Iterator<Item = (JobId, u32)>) -> Result<(), Fault> {
    let jobs: Vec<Uuid> = jobs.filter(|(_, moves)| *moves as usize >= ATTEMPTS_KEPT).map(|(job, _)| job.0).collect();
    if jobs.is_empty() {
        return Ok(());
    }
    let (first, most) = (bound(FIRST_ATTEMPTS), bound(ATTEMPTS_KEPT - 1));
    tx.rows(DROP_ATTEMPTS, &[&jobs, &first, &most]).await?;
    Ok(())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[FINAL, HELD, DROP_ATTEMPTS, OWNED, WAITING];
