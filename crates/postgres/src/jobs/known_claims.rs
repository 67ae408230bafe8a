//! What this process knows of the claims it has made.
//!
//! What a claim says of its jobs never changes; only which of them are open does. Whoever settles names each job by its place
//! and brings along what was known when it was claimed, so that the statement takes nothing out of the claim's arrays. A claim
//! that is not known here (its answer was lost, or it was forgotten for being old) is read first.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_core::job::QueueName;
use foreman_core::storage::Counters;
use foreman_core::target::Route;
use foreman_core::{Fence, JobId, SessionId, TenantId, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::rows::counted;
use crate::value::{Bits, Time};
use crate::write::Transaction;

/// So many jobs are remembered, in the latest claims.
const REMEMBERED: usize = 65_536;

/// Claims of a session, whole.
pub(crate) const MEMBERS: &str =
    "SELECT number, jobs, tenants, queues, routes, lanes, kinds, run_at, expires_at, attempt, spent, crashes, moves, open
    FROM claims WHERE number = ANY ($1::bigint[]) AND (session = $2::uuid) IS TRUE";

/// A job as its claim has it.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedJob {
    pub id: JobId,
    pub tenant: TenantId,
    pub queue: QueueName,
    pub route: Route,
    pub lane: i16,
    pub kind: Option<Arc<str>>,
    pub run_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// This try and this move included.
    pub counters: Counters,
}

/// A claim with all its jobs, each at its place.
#[derive(Debug)]
pub(crate) struct KnownClaim {
    pub fence: Fence,
    pub jobs: Vec<ClaimedJob>,
    places: HashMap<JobId, usize>,
    /// How many are not settled yet, as far as this process knows.
    open: AtomicUsize,
}

impl KnownClaim {
    pub fn new(fence: Fence, jobs: Vec<ClaimedJob>) -> Self {
        let places = jobs.iter().enumerate().map(|(place, job)| (job.id, place)).collect();
        let open = AtomicUsize::new(jobs.len());
        Self { fence, jobs, places, open }
    }

    /// Where a job stands in it, from 0.
    pub fn place(&self, job: JobId) -> Option<usize> {
        self.places.get(&job).copied()
    }
}

/// Clones share nothing: there is one for each store.
#[derive(Default)]
pub(crate) struct KnownClaims(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    claims: BTreeMap<Fence, Arc<KnownClaim>>,
    jobs: usize,
}

impl Memory {
    fn forget(&mut self, fence: Fence) {
        if let Some(claim) = self.claims.remove(&fence) {
            self.jobs -= claim.jobs.len();
        }
    }
}

impl KnownClaims {
    pub fn remember(&self, claim: Arc<KnownClaim>) {
        let mut memory = self.lock();
        memory.forget(claim.fence);
        memory.jobs += claim.jobs.len();
        memory.claims.insert(claim.fence, claim);
        while memory.jobs > REMEMBERED
            && let Some(oldest) = memory.claims.keys().next().copied()
        {
            memory.forget(oldest);
        }
    }

    /// Some of its jobs were settled; with the last of them it is forgotten.
    pub fn closed(&self, claim: &KnownClaim, closed: usize) {
        if claim.open.fetch_sub(closed, Ordering::Relaxed) <= closed {
            self.lock().forget(claim.fence);
        }
    }

    /// These claims of a session, as far as they exist. Those that are not known are read.
    pub async fn find(
        &self,
        tx: &Transaction,
        session: SessionId,
        fences: impl Iterator<Item = Fence>,
    ) -> Result<BTreeMap<Fence, Arc<KnownClaim>>, Fault> {
        let (mut found, mut unknown) = (BTreeMap::new(), Vec::new());
        {
            let memory = self.lock();
            for fence in fences {
                match memory.claims.get(&fence) {
                    Some(claim) => drop(found.insert(fence, Arc::clone(claim))),
                    None => unknown.push(fence.0),
                }
            }
        }
        if !unknown.is_empty() {
            for row in &tx.rows(MEMBERS, &[&unknown, &session.0]).await? {
                let claim = Arc::new(read(row)?);
                self.remember(Arc::clone(&claim));
                found.insert(claim.fence, claim);
            }
        }
        Ok(found)
    }

    /// A claim of a session with the places that are open, for the call that made it and has not heard so.
    pub async fn made(tx: &Transaction, session: SessionId, fence: Fence) -> Result<Option<(KnownClaim, Bits)>, Fault> {
        let row = tx.row(MEMBERS, &[&vec![fence.0], &session.0]).await?;
        row.map(|row| Ok((read(&row)?, row.try_get("open")?))).transpose()
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(row: &Row) -> Result<KnownClaim, Fault> {
    let number: i64 = row.try_get("number")?;
    let misfit = |column: &'static str| Fault::misfit("claims", column, number, "is shorter than `jobs`");
    let ids: Vec<Uuid> = row.try_get("jobs")?;
    let (tenants, queues): (Vec<&str>, Vec<&str>) = (row.try_get("tenants")?, row.try_get("queues")?);
    let (routes, lanes): (Vec<&str>, Vec<i16>) = (row.try_get("routes")?, row.try_get("lanes")?);
    let kinds: Vec<Option<&str>> = row.try_get("kinds")?;
    let (run_at, expires_at): (Vec<Time>, Vec<Option<Time>>) = (row.try_get("run_at")?, row.try_get("expires_at")?);
    let (attempt, spent): (Vec<i32>, Vec<i32>) = (row.try_get("attempt")?, row.try_get("spent")?);
    let crashes: Vec<i32> = row.try_get("crashes")?;
    // A claim that a binary of before the column has made.
    let moves: Option<Vec<Option<i32>>> = row.try_get("moves")?;
    let count = |of: &[i32], place: usize, column| -> Result<u32, Fault> {
        let count = of.get(place).ok_or_else(|| misfit(column))?;
        u32::try_from(*count).map_err(|error| Fault::misfit("claims", column, number, error))
    };
    let jobs = ids.into_iter().enumerate().map(|(place, id)| {
        let attempt = count(&attempt, place, "attempt")?;
        let moves = moves.as_ref().and_then(|moves| moves.get(place).copied().flatten());
        Ok(ClaimedJob {
            id: JobId(id),
            tenant: TenantId::new(*tenants.get(place).ok_or_else(|| misfit("tenants"))?),
            queue: QueueName::from_stored(queues.get(place).ok_or_else(|| misfit("queues"))?),
            route: Route::from_stored(routes.get(place).ok_or_else(|| misfit("routes"))?),
            lane: *lanes.get(place).ok_or_else(|| misfit("lanes"))?,
            kind: kinds.get(place).ok_or_else(|| misfit("kinds"))?.map(Arc::from),
            run_at: run_at.get(place).ok_or_else(|| misfit("run_at"))?.0,
            expires_at: expires_at.get(place).ok_or_else(|| misfit("expires_at"))?.map(|time| time.0),
            counters: Counters {
                attempt,
                spent: count(&spent, place, "spent")?,
                crashes: count(&crashes, place, "crashes")?,
                moves: counted(moves.unwrap_or_default(), attempt),
            },
        })
    });
    Ok(KnownClaim::new(Fence(number), jobs.collect::<Result<_, Fault>>()?))
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[MEMBERS];

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(number: i64, jobs: usize) -> Arc<KnownClaim> {
        let job = || ClaimedJob {
            id: JobId::fresh(),
            tenant: TenantId::new("default"),
            queue: QueueName::default(),
            route: Route::http(),
            lane: 1,
            kind: None,
            run_at: Timestamp::from_micros(0),
            expires_at: None,
            counters: Counters::default(),
        };
        Arc::new(KnownClaim::new(Fence(number), (0..jobs).map(|_| job()).collect()))
    }

    fn knows(known: &KnownClaims, number: i64) -> bool {
        known.lock().claims.contains_key(&Fence(number))
    }

    #[test]
    fn a_claim_is_forgotten_with_the_last_of_its_jobs() {
        let (known, claim) = (KnownClaims::default(), claim(1, 9));
        known.remember(Arc::clone(&claim));
        known.closed(&claim, 8);
        assert!(knows(&known, 1));
        known.closed(&claim, 1);
        assert!(!knows(&known, 1));
        assert_eq!(known.lock().jobs, 0);
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let known = KnownClaims::default();
        for number in 0..10 {
            known.remember(claim(number, REMEMBERED / 4));
        }
        assert!(!knows(&known, 5) && knows(&known, 6) && knows(&known, 9));
        assert_eq!(known.lock().jobs, REMEMBERED);
    }
}
