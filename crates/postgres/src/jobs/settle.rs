//! Recording how attempts ended.
//!
//! An attempt is recorded only while its job's bit is set in that claim of that session, read under the claim's lock
//! (`sql/leave/settle_final.sql`). Where it is not, its own earlier record, with the mark that the attempt itself made it, tells
//! a settlement sent again from a zombie's: that is asked in a following statement, which sees whatever the lock was held for.

mod columns;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{Settled, Settlement, StoreError};
use foreman_core::storage::StoredReport;
use foreman_core::{Fence, JobId, SessionId, State, Verdict};
use tokio_postgres::Row;
use uuid::Uuid;

use super::known_claims::{ClaimedJob, KnownClaim};
use crate::StoreParts;
use crate::error::Fault;
use crate::places::{self, SETTLE_FINAL, SETTLE_MIXED};
use crate::value::{Bits, Interval};
use crate::write::Transaction;
use columns::Columns;

/// Which of these attempts have left their own record before.
pub(crate) const RECORDED: &str = "SELECT asked.claim, asked.job
    FROM unnest($2::bigint[], $3::uuid[]) AS asked (claim, job)
    WHERE EXISTS (SELECT FROM outcomes WHERE outcomes.job = asked.job AND outcomes.job = ANY ($3) AND outcomes.claim = asked.claim
                  AND outcomes.session = $1::uuid AND outcomes.settled)
       OR EXISTS (SELECT FROM attempts WHERE attempts.job = asked.job AND attempts.claim = asked.claim
                  AND attempts.session = $1 AND attempts.settled)";

/// An attempt by its identity.
type AttemptId = (Fence, JobId);

/// Settlements, ready to be written down, each attempt once.
pub(crate) struct SettlementBatch {
    /// Every settlement, in the order given.
    asked: Vec<AttemptId>,
    ends: Vec<EndedAttempt>,
    /// The attempts recorded this themselves.
    settled: bool,
}

/// How one attempt ended, as it is kept.
struct EndedAttempt {
    fence: Fence,
    job: JobId,
    /// None: the job goes on.
    state: Option<State>,
    outcome: &'static str,
    /// Before the next attempt; none: at the front of the line.
    delay: Option<Duration>,
    refunds: bool,
    report: String,
    error_group: Option<String>,
}

impl EndedAttempt {
    fn new(Settlement { fence, job, verdict }: &Settlement) -> Result<Self, StoreError> {
        let StoredReport { json, group } = StoredReport::of(*job, verdict)?;
        Ok(Self {
            fence: *fence,
            job: *job,
            state: verdict.final_state(),
            outcome: verdict.name().as_str(),
            delay: match verdict {
                Verdict::Retry { delay, .. } => Some(*delay),
                _ => None,
            },
            refunds: verdict.refunds(),
            report: json,
            error_group: group.map(Into::into),
        })
    }
}

/// An end with the place that it is about.
struct PlacedEnd<'a> {
    end: &'a EndedAttempt,
    claim: &'a Arc<KnownClaim>,
    place: usize,
}

impl PlacedEnd<'_> {
    fn job(&self) -> &ClaimedJob {
        &self.claim.jobs[self.place]
    }
}

impl SettlementBatch {
    pub fn new(settlements: &[Settlement]) -> Result<Self, StoreError> {
        let mut batch = Self { asked: Vec::new(), ends: Vec::new(), settled: true };
        let mut seen = HashSet::with_capacity(settlements.len());
        for settlement in settlements {
            let attempt = (settlement.fence, settlement.job);
            batch.asked.push(attempt);
            if seen.insert(attempt) {
                batch.ends.push(EndedAttempt::new(settlement)?);
            }
        }
        Ok(batch)
    }

    /// One that the store itself records in place of the attempt.
    pub fn by_the_store(settlement: &Settlement) -> Result<Self, StoreError> {
        Ok(Self { settled: false, ..Self::new(std::slice::from_ref(settlement))? })
    }

    /// By claim and place. What is in no claim that exists is not among them.
    fn placed<'a>(&'a self, claims: &'a BTreeMap<Fence, Arc<KnownClaim>>) -> Vec<PlacedEnd<'a>> {
        let place = |end: &'a EndedAttempt| {
            let claim = claims.get(&end.fence)?;
            Some(PlacedEnd { end, claim, place: claim.place(end.job)? })
        };
        let mut placed: Vec<PlacedEnd<'_>> = self.ends.iter().filter_map(place).collect();
        placed.sort_unstable_by_key(|one| (one.end.fence, one.place));
        placed
    }
}

pub(super) async fn settle(
    tx: &Transaction,
    session: SessionId,
    batch: &SettlementBatch,
    parts: &StoreParts,
) -> Result<Vec<Settled>, Fault> {
    let now = record(tx, session, batch, parts).await?;
    let mut answers: HashMap<AttemptId, Settled> = now.into_iter().map(|one| (one, Settled::Now)).collect();
    let attempts = || batch.asked.iter().filter(|attempt| !answers.contains_key(*attempt));
    let claims: Vec<i64> = attempts().map(|(claim, _)| claim.0).collect();
    let jobs: Vec<Uuid> = attempts().map(|(_, job)| job.0).collect();
    if !claims.is_empty() {
        for row in tx.rows_by_id(RECORDED, &[&session.0, &claims, &jobs]).await? {
            answers.insert((Fence(row.try_get("claim")?), JobId(row.try_get("job")?)), Settled::Before);
        }
    }
    Ok(batch.asked.iter().map(|attempt| answer(&mut answers, *attempt)).collect())
}

/// An attempt named twice was recorded by its first mention.
fn answer(answers: &mut HashMap<AttemptId, Settled>, attempt: AttemptId) -> Settled {
    match answers.get(&attempt) {
        Some(Settled::Now) => {
            answers.insert(attempt, Settled::Before);
            Settled::Now
        }
        Some(before) => *before,
        None => Settled::Fenced,
    }
}

/// Closes what is still open, and says what that was.
pub(crate) async fn record(
    tx: &Transaction,
    session: SessionId,
    batch: &SettlementBatch,
    parts: &StoreParts,
) -> Result<Vec<AttemptId>, Fault> {
    let fences: HashSet<Fence> = batch.ends.iter().map(|end| end.fence).collect();
    let claims = parts.known_claims.find(tx, session, fences.into_iter()).await?;
    let placed = batch.placed(&claims);
    if placed.is_empty() {
        return Ok(Vec::new());
    }
    let columns = Columns::of(&placed);
    if placed.iter().any(|one| one.end.state.is_none() || one.end.refunds) {
        let closed = places::leave(tx, SETTLE_MIXED, &columns.mixed(&session.0, &batch.settled)).await?;
        for one in &closed {
            if let Some(claim) = claims.get(&one.claim) {
                parts.known_claims.closed(claim, 1);
            }
        }
        return Ok(closed.into_iter().map(|closed| (closed.claim, closed.job)).collect());
    }
    let rows = tx.rows(SETTLE_FINAL, &columns.common(&session.0, &batch.settled)).await?;
    let closed = rows.iter().map(ClosedPlaces::try_from).collect::<Result<Vec<_>, _>>()?;
    let closed: HashMap<Fence, ClosedPlaces> = closed.into_iter().map(|one| (one.fence, one)).collect();
    for (fence, closed) in &closed {
        if let Some(claim) = claims.get(fence) {
            parts.known_claims.closed(claim, closed.places.count());
        }
    }
    let mut now = Vec::with_capacity(placed.len());
    // Those of one queue and tenant beside each other, for they are one run of the change row.
    let mut in_runs: Vec<&PlacedEnd<'_>> = placed.iter().collect();
    in_runs.sort_by(|one, other| (&one.job().queue, &one.job().tenant).cmp(&(&other.job().queue, &other.job().tenant)));
    for one in in_runs {
        if let (Some(closed), Some(state)) = (closed.get(&one.end.fence), one.end.state)
            && closed.places.is_set(one.place)
        {
            let job = one.job();
            places::ended(tx, job.id, &job.tenant, &job.queue, job.counters.moved().step(state, Some(closed.took)));
            now.push((one.end.fence, one.end.job));
        }
    }
    Ok(now)
}

/// A row of `sql/leave/closed.sql`.
struct ClosedPlaces {
    fence: Fence,
    places: Bits,
    /// How long the attempts ran.
    took: Duration,
}

impl TryFrom<&Row> for ClosedPlaces {
    type Error = Fault;

    fn try_from(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            fence: Fence(row.try_get("number")?),
            places: row.try_get("closed")?,
            took: row.try_get::<_, Interval>("took")?.0,
        })
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[RECORDED];
