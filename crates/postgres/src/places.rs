//! Where a job stands, and the ways out of a claim and out of the queue.
//!
//! The statements that take jobs out of their places are one family (`sql/leave/`). Each begins with what happened (a settlement,
//! a cancellation, a lapse, …), which finds the jobs under their locks, and ends with the same parts: the bits of the claim, the
//! outcomes of those that end, and what those need that go on. Every job that ends, ends in [`ended`].
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
use crate::rows::NamedCells;
use crate::value::{Arg, Interval, bound};
use crate::write::Transaction;

/// Jobs of a tenant.
pub(crate) const OWNED: &str = "SELECT id FROM jobs WHERE id = ANY ($1::uuid[]) AND tenant = $2::text";
pub(crate) const WAITING: &str =
    "SELECT job, run_at <= foreman_now() AS is_due, attempt FROM ready WHERE job = ANY ($1::uuid[])";
pub(crate) const HELD: &str = "SELECT job FROM held WHERE job = ANY ($1::uuid[])";
pub(crate) const FINAL: &str = "SELECT job, state FROM outcomes WHERE job = ANY ($1::uuid[])";

/// A statement of `sql/leave/` whose jobs may go on.
macro_rules! leaves {
    ($what:literal) => {
        concat!(
            include_str!(concat!("sql/leave/", $what, ".sql")),
            include_str!("sql/leave/close_claim.sql"),
            include_str!("sql/leave/finish.sql"),
            include_str!("sql/leave/go_on.sql")
        )
    };
}

/// A statement of `sql/leave/` that closes places of claims and is told everything about the jobs there.
macro_rules! settles {
    ($what:literal, $end:literal) => {
        concat!(
            include_str!(concat!("sql/leave/", $what, ".sql")),
            include_str!("sql/leave/close_places.sql"),
            include_str!("sql/leave/finish.sql"),
            include_str!(concat!("sql/leave/", $end, ".sql"))
        )
    };
}

/// A statement of `sql/leave/` that ends jobs that wait.
macro_rules! ends_waiting {
    ($what:literal) => {
        concat!(
            include_str!(concat!("sql/leave/", $what, ".sql")),
            include_str!("sql/leave/finish.sql"),
            include_str!("sql/leave/ended.sql")
        )
    };
}

pub(crate) const SETTLE_FINAL: &str = settles!("settle_final", "closed");
pub(crate) const SETTLE_MIXED: &str = settles!("settle_mixed", "go_on");
pub(crate) const CANCEL_HELD: &str = leaves!("cancel_held");
pub(crate) const CANCEL_READY: &str = ends_waiting!("cancel_ready");
pub(crate) const EXPIRE: &str = ends_waiting!("expire");
pub(crate) const RELEASE: &str = leaves!("release");
pub(crate) const LAPSE: &str = leaves!("lapse");

/// How often a job is looked for before its caller is told that it could not be found: more often than jobs move.
pub(crate) const LOOKS: usize = 100;

/// A job that has just left its claim: a row of `sql/leave/go_on.sql`.
pub(crate) struct LeavingRow {
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

impl TryFrom<&Row> for LeavingRow {
    type Error = Fault;

    fn try_from(row: &Row) -> Result<Self, Fault> {
        let left = NamedCells::of_job(row, "claims")?;
        Ok(Self {
            claim: Fence(left.get("claim")?),
            session: SessionId(left.get("session")?),
            job: left.id,
            tenant: left.tenant()?,
            queue: left.queue()?,
            lane: left.lane()?,
            route: left.route()?,
            attempt: left.count("attempt")?,
            state: left.final_state()?,
            is_due: left.get::<Option<bool>>("is_due")?.unwrap_or_default(),
            wants_key: left.get::<Option<bool>>("wants_key")?.unwrap_or_default(),
            may_expire: left.get("may_expire")?,
            moves: left.moves()?,
            took: left.get::<Interval>("took")?.0,
        })
    }
}

/// The one way out: what is told of a job that has ended, whatever ended it. Its outcome was written by the statement that
/// ended it (`sql/leave/finish.sql`).
pub(crate) fn ended(tx: &Transaction, job: JobId, tenant: &TenantId, queue: &QueueName, step: Step) {
    debug_assert!(step.state.is_final(), "{job} has not ended: it is {}", step.state.as_str());
    tx.note(job, tenant, queue, step);
}

/// Ends jobs by one of the statements that do nothing else; which they were.
pub(crate) async fn finish(tx: &Transaction, sql: &str, args: &[&dyn Arg]) -> Result<Vec<JobId>, Fault> {
    let rows = tx.rows(sql, args).await?;
    rows.iter()
        .map(|row| {
            let EndedRow { job, tenant, queue, step } = EndedRow::try_from(row)?;
            ended(tx, job, &tenant, &queue, step);
            Ok(job)
        })
        .collect()
}

/// A row of `sql/leave/ended.sql`.
struct EndedRow {
    job: JobId,
    tenant: TenantId,
    queue: QueueName,
    step: Step,
}

impl TryFrom<&Row> for EndedRow {
    type Error = Fault;

    fn try_from(row: &Row) -> Result<Self, Fault> {
        let ended = NamedCells::of_job(row, "outcomes")?;
        let state = ended.final_state()?.ok_or_else(|| ended.misfit("state", "it has none"))?;
        let step = Step {
            state,
            attempt: ended.count("attempt")?,
            sequence: ended.moves()?,
            took: ended.get::<Option<Interval>>("took")?.map(|took| took.0),
        };
        Ok(Self { job: ended.id, tenant: ended.tenant()?, queue: ended.queue()?, step })
    }
}

/// Takes jobs out of their claims by one of the statements after which they may go on: the log, the bells, and a place in line
/// for a retry without a delay.
pub(crate) async fn leave(tx: &Transaction, sql: &str, args: &[&dyn Arg]) -> Result<Vec<LeavingRow>, Fault> {
    let rows = tx.rows(sql, args).await?;
    let closed: Vec<LeavingRow> = rows.iter().map(LeavingRow::try_from).collect::<Result<_, _>>()?;
    let mut due = Vec::new();
    for one in &closed {
        let state = one.state.unwrap_or_else(|| State::of_waiting(one.is_due, one.attempt));
        let step = Step { state, attempt: one.attempt, sequence: one.moves, took: Some(one.took) };
        if one.state.is_some() {
            ended(tx, one.job, &one.tenant, &one.queue, step);
            continue;
        }
        tx.note(one.job, &one.tenant, &one.queue, step);
        if one.is_due {
            tx.ring(Topic::Ready);
        }
        if !one.is_due || one.may_expire {
            tx.ring(Topic::Waiting);
        }
        if one.wants_key {
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
pub(crate) const STATEMENTS: &[&str] = &[
    CANCEL_HELD,
    CANCEL_READY,
    DROP_ATTEMPTS,
    EXPIRE,
    FINAL,
    HELD,
    LAPSE,
    OWNED,
    RELEASE,
    SETTLE_FINAL,
    SETTLE_MIXED,
    WAITING,
];

#[cfg(test)]
mod tests {
    use crate::statements;

    #[test]
    fn there_is_one_way_out() {
        let finish = include_str!("sql/leave/finish.sql");
        let ending: Vec<String> =
            statements::all().into_iter().filter(|text| text.contains("INSERT INTO outcomes")).collect();
        assert_eq!(ending.len(), 7, "settle (twice), cancel (twice), expire, release and lapse");
        assert!(ending.iter().all(|text| text.matches("INSERT INTO outcomes").count() == 1 && text.contains(finish)));
    }
}
