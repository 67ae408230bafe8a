//! Marking due jobs as announced, in the order in which claims would take them.
//!
//! It is a claim that takes nothing: the same look without locks, the same choice, and one statement that marks the rows
//! (`sql/announce/mark.sql`). The rows keep their place. After it V moves on and tenants have had their turn as if the jobs were
//! claimed, for they are about to be: whoever comes now stands behind what is on its way, and what is claimed by its id later
//! moves V no further.

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;

use foreman_core::job::QueueName;
use foreman_core::ports::{AnnounceRequest, AnnouncedBatch, Announcement, BatchNumber, Headroom, StoreError};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};
use tokio::time::Instant;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Fault;
use crate::jobs::claim::{self, ANY_DISABLED, Among, LOOKS, LookArgs, ScopeColumns, Seen};
use crate::order::{self, ServedLines};
use crate::rows::{NamedCells, rank};
use crate::value::{Arg, bound};
use crate::write::Transaction;
use crate::{PostgresStore, StoreParts, transact};

pub(crate) const MARK: &str = include_str!("../sql/announce/mark.sql");
pub(crate) const NOTE: &str = include_str!("../sql/announce/note.sql");
pub(crate) const ROOMS_TAKEN: &str = include_str!("../sql/announce/rooms_taken.sql");
/// The bounds are those of the ids: without them every partition would be searched.
pub(crate) const CORRELATED: &str = "SELECT id, correlation_id FROM jobs
    WHERE id = ANY ($1::uuid[]) AND id >= $2::uuid AND id <= $3::uuid AND correlation_id IS NOT NULL";

const AMONG: Among = Among::Announceable;

/// What was marked.
struct Marked {
    number: BatchNumber,
    jobs: Vec<MarkedJob>,
    has_more: bool,
    weights: HashMap<TenantId, u32>,
    correlated: HashMap<JobId, String>,
}

struct MarkedJob {
    id: JobId,
    tenant: TenantId,
    queue: QueueName,
    route: Route,
    lane: Lane,
    attempt: u32,
    key: i64,
}

pub(super) async fn announce(
    store: &PostgresStore,
    request: &AnnounceRequest,
) -> Result<Option<AnnouncedBatch>, StoreError> {
    let floor = store.parts.floors.of(AMONG);
    let slack = floor.slack();
    let mut is_full = slack.is_none();
    let mut marked = transact!(store, data, Hint, |tx| mark(&tx, request, slack, &store.parts).await)?;
    if marked.is_none() && !is_full && floor.is_doubtful() {
        is_full = true;
        marked = transact!(store, data, Hint, |tx| mark(&tx, request, None, &store.parts).await)?;
    }
    if let Some(marked) = &marked {
        note_turns(marked, &store.parts);
        let mut served = ServedLines::new(true);
        for job in &marked.jobs {
            served.one((job.queue.clone(), job.lane, job.route.clone()), job.key);
        }
        order::served(store, &served).await;
        if is_full {
            let jobs = marked.jobs.iter();
            let shares = jobs.map(|job| (job.queue.as_str(), rank(job.lane), job.route.as_str(), job.tenant.as_str()));
            claim::mark_busy(store, shares.collect()).await;
        }
    }
    if floor.is_marking_due() {
        claim::mark_idle(store, floor).await;
    }
    Ok(marked.map(Marked::into_batch))
}

async fn mark(
    tx: &Transaction,
    request: &AnnounceRequest,
    slack: Option<i64>,
    parts: &StoreParts,
) -> Result<Option<Marked>, Fault> {
    let rooms = rooms_left(tx, &request.rooms).await?;
    let scope = ScopeColumns::of(&request.queues, &request.routes, &rooms);
    let lanes: Vec<i16> = request.plan.0.iter().map(|pick| rank(pick.lane)).collect();
    let (floor, chosen_by) = (parts.floors.of(AMONG), (&request.plan, request.limit));
    let mut args = LookArgs::new(&scope, &lanes, request.limit, slack, floor);
    let mut seen = first_look(tx, &args, slack.is_none(), parts).await?;
    claim::go_on(tx, &mut seen, &mut args, AMONG, floor).await?;
    for _ in 0..LOOKS {
        let runs = claim::choose(tx, &mut seen, &mut args, (AMONG, floor), chosen_by, parts).await?;
        if runs.numbers.is_empty() {
            return Ok(None);
        }
        let highest = runs.highest(args.beyond());
        let columns = runs.columns(&scope.rooms.full, &highest);
        let columns: Vec<&dyn Arg> =
            columns.into_iter().chain([&scope.rooms.limited as &dyn Arg, &scope.rooms.jobs]).collect();
        let rows = tx.rows(MARK, &columns).await?;
        if !rows.is_empty() {
            let wanted: i64 = runs.numbers.iter().sum();
            // Others were faster with some of them, and there may be more behind.
            let is_partial = runs.is_short || seen.has_more_lines || bound(rows.len()) < wanted;
            let has_more = is_partial || rows.len() >= request.limit;
            return note(tx, &rows, has_more, &seen).await.map(Some);
        }
        seen = Seen::read(&tx.rows(AMONG.look(), &args.columns()).await?, &args, floor)?;
    }
    Ok(None)
}

/// What is announced and waits is about to run.
async fn rooms_left(tx: &Transaction, rooms: &[Headroom]) -> Result<Vec<Headroom>, Fault> {
    let limited: Vec<&str> = rooms.iter().filter(|room| room.jobs > 0).map(|room| room.tenant.as_str()).collect();
    if limited.is_empty() {
        return Ok(rooms.to_vec());
    }
    let mut announced = BTreeMap::new();
    for row in tx.rows(ROOMS_TAKEN, &[&limited]).await? {
        let (tenant, jobs): (&str, i64) = (row.try_get("tenant")?, row.try_get("jobs")?);
        announced.insert(TenantId::new(tenant), u32::try_from(jobs).unwrap_or(u32::MAX));
    }
    let left = |room: &Headroom| {
        let announced = announced.get(&room.tenant).copied().unwrap_or_default();
        Headroom { tenant: room.tenant.clone(), jobs: room.jobs.saturating_sub(announced) }
    };
    Ok(rooms.iter().map(left).collect())
}

async fn first_look(tx: &Transaction, args: &LookArgs<'_>, is_full: bool, parts: &StoreParts) -> Result<Seen, Fault> {
    let (floor, begun) = (parts.floors.of(AMONG), Instant::now());
    let columns = args.columns();
    let mut steps: Vec<(&str, &[&dyn Arg])> = vec![(AMONG.look(), &columns)];
    if is_full {
        steps.push((ANY_DISABLED, &[]));
    }
    let answers = tx.all(&steps).await?;
    if let Some(disabled) = answers.get(1) {
        let passes_disabled =
            disabled.first().map(|row| row.try_get("is_any_disabled")).transpose()?.unwrap_or_default();
        floor.scanned(begun.elapsed(), passes_disabled);
    }
    Seen::read(answers.first().map_or(&[], Vec::as_slice), args, floor)
}

/// Notes the batch, reads what its messages carry beside, and commits, in one round trip.
async fn note(tx: &Transaction, rows: &[Row], has_more: bool, seen: &Seen) -> Result<Marked, Fault> {
    let mut number = 0;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        number = row.try_get("announced")?;
        jobs.push(MarkedJob::read(row)?);
    }
    jobs.sort_unstable_by_key(|job| (rank(job.lane), job.key, job.id));
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.id.0).collect();
    let tenants: Vec<&str> = jobs.iter().map(|job| job.tenant.as_str()).collect();
    let lanes: Vec<i16> = jobs.iter().map(|job| rank(job.lane)).collect();
    let lowest = ids.iter().min().copied().unwrap_or_default();
    let highest = ids.iter().max().copied().unwrap_or_default();
    let noted: [&dyn Arg; 4] = [&number, &ids, &tenants, &lanes];
    let bounds: [&dyn Arg; 3] = [&ids, &lowest, &highest];
    let answers = tx.last_by_ids(&[(NOTE, &noted), (CORRELATED, &bounds)]).await?;
    let mut correlated = HashMap::new();
    for row in answers.get(1).into_iter().flatten() {
        correlated.insert(JobId(row.try_get("id")?), row.try_get("correlation_id")?);
    }
    let weights = jobs.iter().map(|job| (job.tenant.clone(), seen.weight(&job.tenant))).collect();
    Ok(Marked { number: BatchNumber(number), jobs, has_more, weights, correlated })
}

/// Whose turn it was.
fn note_turns(marked: &Marked, parts: &StoreParts) {
    let mut turns = parts.turns.lock().unwrap_or_else(PoisonError::into_inner);
    for job in &marked.jobs {
        let weight = marked.weights.get(&job.tenant).copied().unwrap_or(1);
        turns.took(job.lane, &job.route, &job.queue, &job.tenant, weight);
    }
}

impl MarkedJob {
    fn read(row: &Row) -> Result<Self, Fault> {
        let cells = NamedCells::of_job(row, "ready")?;
        Ok(Self {
            id: cells.id,
            tenant: cells.tenant()?,
            queue: cells.queue()?,
            route: cells.route()?,
            lane: cells.lane()?,
            attempt: cells.count("attempt")?,
            key: cells.get("key")?,
        })
    }
}

impl Marked {
    fn into_batch(mut self) -> AnnouncedBatch {
        let announcement = |job: MarkedJob| Announcement {
            job: job.id,
            attempt: job.attempt,
            lane: job.lane,
            tenant: job.tenant,
            queue: job.queue,
            route: job.route,
            correlation_id: self.correlated.remove(&job.id),
        };
        let jobs = self.jobs.into_iter().map(announcement).collect();
        AnnouncedBatch { number: self.number, jobs, has_more: self.has_more }
    }
}
