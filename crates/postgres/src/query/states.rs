//! How many of a tenant's jobs are in each state, counted only so far: no look at the whole history. Foreman's own jobs are left out.

use foreman_core::ports::{Counted, StateCounts};
use foreman_core::{State, TenantId, Timestamp};

use crate::error::Fault;
use crate::rows::number;
use crate::value::{Arg, Time, one_more};
use crate::write::Transaction;

/// So much of what a tenant has waiting is looked at, or ten times what is enough: which of it is due stands in no index. What
/// was found among that is there at least.
const LOOKED_AT: u64 = 20_000;

/// Scheduled, pending, retrying, and how many were looked at.
pub(crate) const WAITING: &str =
    "SELECT count(*) FILTER (WHERE is_users AND NOT is_due AND attempt = 0), count(*) FILTER (WHERE is_users AND is_due),
           count(*) FILTER (WHERE is_users AND NOT is_due AND attempt > 0), count(*)
    FROM (
        SELECT ready.run_at <= foreman_now() AS is_due, ready.attempt, left(ready.queue, 8) <> 'foreman.' AS is_users
        FROM ready
        WHERE ready.tenant = $1::text LIMIT $2::bigint
    ) AS looked_at";
/// As `held` has them, without taking apart what is not asked for.
pub(crate) const RUNNING: &str = "SELECT count(*) FROM (
        SELECT FROM claims
        CROSS JOIN LATERAL unnest(claims.tenants, claims.queues) WITH ORDINALITY AS member (tenant, queue, place)
        WHERE member.tenant = $1::text AND left(member.queue, 8) <> 'foreman.' AND get_bit(claims.open, member.place::integer - 1) = 1
        LIMIT $2::bigint
    ) AS counted";
/// Each state by its own stretch of the index.
pub(crate) const FINAL: &str = "SELECT state.name, (
        SELECT count(*) FROM (
            SELECT FROM outcomes
            WHERE outcomes.tenant = $1::text AND outcomes.state = state.name AND left(outcomes.queue, 8) <> 'foreman.'
            LIMIT $2::bigint
        ) AS counted)
    FROM unnest($3::text[]) AS state (name)";

/// One stretch of the index.
pub(crate) const SINCE: &str = "SELECT count(*) FROM (
        SELECT FROM outcomes
        WHERE outcomes.tenant = $1::text AND outcomes.state = $2::text AND outcomes.finished_at >= $3::timestamptz
          AND left(outcomes.queue, 8) <> 'foreman.'
        LIMIT $4::bigint
    ) AS counted";

pub(super) async fn ended_since(
    tx: &Transaction,
    tenant: &TenantId,
    state: State,
    since: Timestamp,
    enough: u64,
) -> Result<Counted, Fault> {
    let row = tx.row(SINCE, &[&tenant.as_str(), &state.as_str(), &Time(since), &one_more(enough)]).await?;
    let count = row.map(|row| number(&row, 0)).transpose()?.unwrap_or_default();
    Ok(Counted::up_to(count, enough))
}

pub(super) async fn states(tx: &Transaction, tenant: &TenantId, enough: u64) -> Result<StateCounts, Fault> {
    let (tenant, limit) = (tenant.as_str(), one_more(enough));
    let looked_at = one_more(enough.saturating_mul(10).max(LOOKED_AT));
    let finals: Vec<&str> = State::ALL.into_iter().filter(|state| state.is_final()).map(State::as_str).collect();
    let final_args: [&dyn Arg; 3] = [&tenant, &limit, &finals];
    let answers =
        tx.all(&[(WAITING, &[&tenant, &looked_at]), (RUNNING, &[&tenant, &limit]), (FINAL, &final_args)]).await?;
    let mut counts = StateCounts::default();
    if let Some(row) = answers[0].first() {
        let was_all = number(row, 3)? < u64::try_from(looked_at).unwrap_or_default();
        for (place, state) in [State::Scheduled, State::Pending, State::Retrying].into_iter().enumerate() {
            let counted = Counted::up_to(number(row, place)?, enough);
            counts.set(state, Counted { is_estimate: counted.is_estimate || !was_all, ..counted });
        }
    }
    if let Some(row) = answers[1].first() {
        counts.set(State::Running, Counted::up_to(number(row, 0)?, enough));
    }
    for row in &answers[2] {
        if let Ok(state) = row.try_get::<_, &str>(0)?.parse() {
            counts.set(state, Counted::up_to(number(row, 1)?, enough));
        }
    }
    Ok(counts)
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[FINAL, RUNNING, SINCE, WAITING];
