//! Taking due jobs into one numbered claim.
//!
//! One statement takes the rows and writes the claim (`sql/claim_*.sql`). Before it, calls with the same token wait for each
//! other, so that a call sent again while its first sending is still under way finds that one's claim. After it, and apart
//! from it, V moves on.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use foreman_core::fair::UNIT;
use foreman_core::job::QueueName;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{Claim, ClaimAnswer, ClaimRequest, Company, Held, Queues, Settlement, StoreError, Wanted};
use foreman_core::{Fence, JobId, Lane, Report, SessionId, State, TenantId, Timestamp, Verdict};
use tokio::time::Instant;
use tokio_postgres::Row;
use tracing::error;
use uuid::Uuid;

use super::{settle, uuids};
use crate::error::Fault;
use crate::rows::{Cells, Counters};
use crate::value::{Arg, bound};
use crate::write::Transaction;
use crate::{PostgresStore, order, transact, work};

pub(crate) const LINES: &str = include_str!("../sql/claim_lines.sql");
pub(crate) const BY_IDS: &str = concat!(
    include_str!("../sql/claim_lines.sql"),
    include_str!("../sql/claim_by_ids.sql"),
    include_str!("../sql/claim_take.sql")
);
/// Calls with one token wait for each other until the first has ended.
pub(crate) const ONE_BY_ONE: &str = "SELECT pg_advisory_xact_lock($1::bigint)";
pub(crate) const CLAIMED: &str =
    "SELECT held.job, held.tenant, held.queue, held.lane, NULL::bigint, held.attempt, held.spent,
           held.crashes, jobs.created_at, jobs.work
    FROM held LEFT JOIN jobs ON jobs.id = held.job WHERE held.claim = $1::bigint ORDER BY held.job";

/// How far below V a scan begins that trusts it: more than are ever on their way at once.
const SLACK: i64 = 4_096 * UNIT;

/// At least so often a scan begins at the very beginning.
const FULL_SCAN: Duration = Duration::from_secs(1);

/// Where a claim begins to look.
///
/// What has been claimed leaves dead entries at the beginning of the index until the vacuum takes them away, and that may be
/// long after if somebody keeps a transaction open: 100,000 of them cost a claim 9 ms instead of 0.2. So while claims come
/// back full a scan begins a little below V. Anything further back (left by a pause, or by workers that could not run
/// it) is found by the scans from the beginning: once a second, and whenever a claim did not come back full.
pub(crate) struct Floor {
    was_full: AtomicBool,
    scanned_at: Mutex<Instant>,
}

impl Floor {
    pub fn new() -> Self {
        Self { was_full: AtomicBool::new(false), scanned_at: Mutex::new(Instant::now()) }
    }

    /// The distance below V, or none for the very beginning.
    fn slack(&self) -> Option<i64> {
        let mut scanned_at = self.scanned_at.lock().unwrap_or_else(PoisonError::into_inner);
        if self.was_full.load(Ordering::Relaxed) && scanned_at.elapsed() < FULL_SCAN {
            return Some(SLACK);
        }
        *scanned_at = Instant::now();
        None
    }

    fn came_back(&self, is_full: bool) {
        self.was_full.store(is_full, Ordering::Relaxed);
    }
}

/// A claim whose jobs are still text.
enum Taken {
    Claimed { fence: Fence, jobs: Vec<Written>, fragile_waiting: bool },
    Nothing { fragile_waiting: bool },
    SessionGone,
}

struct Written {
    id: JobId,
    tenant: TenantId,
    queue: QueueName,
    lane: Lane,
    key: Option<i64>,
    counters: Counters,
    created_at: Option<Timestamp>,
    work: Option<String>,
}

pub(super) async fn claim(store: &PostgresStore, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
    let slack = match request.wanted {
        Wanted::ByOrder { .. } => store.parts.floor.slack(),
        Wanted::ByIds(_) => None,
    };
    let mut taken = transact!(store, data, Write, |tx| take(&tx, request, slack).await)?;
    if matches!(taken, Taken::Nothing { .. }) && slack.is_some() {
        taken = transact!(store, data, Write, |tx| take(&tx, request, None).await)?;
    }
    if let (Wanted::ByOrder { limit, .. }, Taken::Claimed { jobs, .. }) = (&request.wanted, &taken) {
        store.parts.floor.came_back(jobs.len() >= *limit);
    } else {
        store.parts.floor.came_back(false);
    }
    if let Taken::Claimed { jobs, .. } = &taken {
        let highest = highest(jobs);
        if !highest.is_empty() {
            order::served(store, &highest).await;
        }
    }
    answer(store, request.session, taken).await
}

fn highest(jobs: &[Written]) -> BTreeMap<(QueueName, Lane), i64> {
    let mut highest: BTreeMap<(QueueName, Lane), i64> = BTreeMap::new();
    for job in jobs {
        if let Some(key) = job.key {
            let v = highest.entry((job.queue.clone(), job.lane)).or_insert(key);
            *v = key.max(*v);
        }
    }
    highest
}

async fn take(tx: &Transaction, request: &ClaimRequest, slack: Option<i64>) -> Result<Taken, Fault> {
    let queues: Option<Vec<&str>> = match &request.queues {
        Queues::All => None,
        Queues::Named(names) => Some(names.iter().map(QueueName::as_str).collect()),
    };
    let routes: Vec<&str> = request.routes.iter().map(foreman_core::target::Route::as_str).collect();
    let is_alone = request.company == Company::Nobody;
    let (session, token) = (request.session.0, request.token.0);
    let line = one_by_one(token);
    let one_by_one: (&str, &[&dyn Arg]) = (ONE_BY_ONE, &[&line]);
    let mut answers = match &request.wanted {
        Wanted::ByOrder { plan, limit } => {
            let numbers: Vec<i64> = plan.0.iter().map(|pick| bound(pick.up_to)).collect();
            let limit = bound(*limit);
            let mut args: Vec<&dyn Arg> = vec![&session, &token, &queues, &routes, &limit, &is_alone, &slack];
            args.extend(numbers.iter().map(|number| number as &dyn Arg));
            tx.all(&[one_by_one, (by_order(plan), &args)]).await?
        }
        Wanted::ByIds(ids) => {
            let ids = uuids(ids);
            let args: [&dyn Arg; 6] = [&session, &token, &queues, &routes, &ids, &is_alone];
            tx.all(&[one_by_one, (BY_IDS, &args)]).await?
        }
    };
    read(tx, &answers.pop().unwrap_or_default()).await
}

/// The random part of a token.
fn one_by_one(token: Uuid) -> i64 {
    token.as_u64_pair().1.cast_signed()
}

async fn read(tx: &Transaction, rows: &[Row]) -> Result<Taken, Fault> {
    let Some(first) = rows.first() else {
        return Err(StoreError::Broken("a claim was answered without a row".into()).into());
    };
    if !first.try_get::<_, bool>(0)? {
        return Ok(Taken::SessionGone);
    }
    if let Some(number) = first.try_get::<_, Option<i64>>(1)? {
        // The answer to this very call was lost, and it is sent again.
        let rows = tx.rows(CLAIMED, &[&number]).await?;
        let jobs = rows.iter().map(|row| written(row, 0)).collect::<Result<Vec<_>, _>>()?;
        let jobs = jobs.into_iter().map(|job| Written { key: None, ..job }).collect();
        return Ok(Taken::Claimed { fence: Fence(number), jobs, fragile_waiting: false });
    }
    let fragile_waiting = first.try_get(2)?;
    let Some(number) = first.try_get::<_, Option<i64>>(3)? else {
        return Ok(Taken::Nothing { fragile_waiting });
    };
    let jobs: Vec<Written> = rows.iter().map(|row| written(row, 4)).collect::<Result<_, _>>()?;
    for job in &jobs {
        tx.note(job.id, &job.tenant, &job.queue, State::Running, job.counters.attempt);
    }
    Ok(Taken::Claimed { fence: Fence(number), jobs, fragile_waiting })
}

fn written(row: &Row, first: usize) -> Result<Written, Fault> {
    let cells = Cells::of_job(row, "claims", first)?;
    Ok(Written {
        id: cells.id,
        tenant: cells.tenant(first + 1)?,
        queue: cells.queue(first + 2)?,
        lane: cells.lane(first + 3)?,
        key: cells.get(first + 4, "key")?,
        counters: Counters::read(&cells, first + 5)?,
        created_at: cells.maybe_time(first + 8, "created_at")?,
        work: cells.get(first + 9, "work")?,
    })
}

/// Reads the jobs of a claim. One whose work cannot be read is put aside as dead: handed out it could not be run, and left in
/// line it would stop every claim after this one.
async fn answer(store: &PostgresStore, session: SessionId, taken: Taken) -> Result<ClaimAnswer, StoreError> {
    let (fence, written, fragile_waiting) = match taken {
        Taken::SessionGone => return Ok(ClaimAnswer::SessionGone),
        Taken::Nothing { fragile_waiting } => return Ok(ClaimAnswer::Nothing { fragile_waiting }),
        Taken::Claimed { fence, jobs, fragile_waiting } => (fence, jobs, fragile_waiting),
    };
    let mut jobs = Vec::with_capacity(written.len());
    for one in written {
        let (id, Counters { attempt, spent, crashes }) = (one.id, one.counters);
        match job(one) {
            Ok(job) => jobs.push(Held { job, fence, attempt, spent, crashes }),
            Err(fault) => {
                error!(job.id = %id, "job {id} cannot be read and is put aside as dead: {fault}");
                let report = Report::error(format!("what was asked cannot be read: {fault}"));
                let end = Settlement { fence, job: id, verdict: Verdict::Dead(report) };
                let batch = settle::Batch::new(&[end])?;
                transact!(store, data, Write, |tx| settle::record(&tx, session, &batch, false).await)?;
            }
        }
    }
    if jobs.is_empty() {
        return Ok(ClaimAnswer::Nothing { fragile_waiting });
    }
    Ok(ClaimAnswer::Claimed(Claim { fence, jobs, fragile_waiting }))
}

fn job(one: Written) -> Result<foreman_core::Job, Fault> {
    match (one.created_at, one.work) {
        (Some(created_at), Some(text)) => work::read(one.id, one.tenant, created_at, &text),
        _ => Err(Fault::misfit("jobs", "id", one.id, "is in a place but not among the jobs")),
    }
}

/// The statement for a plan. It depends on the lanes alone, and workers ask for few plans.
pub(crate) fn by_order(plan: &LanePlan) -> &'static str {
    static TEXTS: LazyLock<Mutex<HashMap<Vec<i64>, &'static str>>> = LazyLock::new(Mutex::default);
    let lanes: Vec<i64> = plan.0.iter().map(|pick| pick.lane.rank()).collect();
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.entry(lanes).or_insert_with_key(|lanes| Box::leak(write_by_order(lanes).into_boxed_str()))
}

fn write_by_order(lanes: &[i64]) -> String {
    let mut text = String::from(LINES);
    text.push_str(include_str!("../sql/claim_by_order.sql"));
    for (place, lane) in lanes.iter().enumerate() {
        text.push_str(&write_pick(lanes, place, *lane));
    }
    let mut sources = vec!["SELECT spot, job, 0 AS step, 0::bigint AS behind FROM alone".to_owned()];
    sources.extend((1..=lanes.len()).map(|n| format!("SELECT spot, job, {n}, behind FROM pick_{n}")));
    text.push_str(&format!(
        "picked AS MATERIALIZED (
    SELECT spot, job, row_number() OVER (ORDER BY step, behind, job) AS rank
    FROM ({}) AS chosen
),
taken AS (
    DELETE FROM ready WHERE ctid = ANY (ARRAY(SELECT spot FROM picked)) RETURNING *
),
",
        sources.join("\n          UNION ALL ")
    ));
    text.push_str(include_str!("../sql/claim_take.sql"));
    text
}

fn write_pick(lanes: &[i64], place: usize, lane: i64) -> String {
    let before = |n: &usize| format!("(SELECT count(*) FROM pick_{})", n + 1);
    let left: String = (0..place).map(|n| format!(" - {}", before(&n))).collect();
    // The numbers of the picks come behind the seven parameters that every claim has.
    let room = format!(
        "CASE WHEN EXISTS (SELECT FROM alone) THEN 0 ELSE greatest(0, least(${}::bigint, $5::bigint{left})) END",
        place + 8
    );
    // A lane may be asked twice; the second time, what was picked before is not picked again.
    let not_picked: String = (0..place)
        .filter(|n| lanes[*n] == lane)
        .map(|n| format!("\n          AND ready.ctid <> ALL (ARRAY(SELECT spot FROM pick_{}))", n + 1))
        .collect();
    include_str!("../sql/claim_pick.sql")
        .replace("{n}", &(place + 1).to_string())
        .replace("{lane}", &lane.to_string())
        .replace("{room}", &room)
        .replace("{not_picked}", &not_picked)
}
