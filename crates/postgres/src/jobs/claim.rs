//! Taking due jobs into one numbered claim.
//!
//! A look without locks finds where there is something to take (`look.rs`), the choice between what it saw is made here
//! (`choice.rs`), one statement takes the rows and another puts them into the claim: three round trips, the last with the
//! commit. Before them, calls with the same token wait for each other, so that a call sent again while its first sending is
//! still under way finds that one's claim. After them, and apart from them, V moves on.
//!
//! Between the look and the taking others may have been faster. Each line then gives what it has further back; where all of
//! it is gone there is another look. A claim that must not take what it finds in passing (a job that runs alone, a tenant that
//! has room for a few) decides while it holds the rows, in one statement (`sql/claim/by_order.sql`).

mod among;
mod answer;
mod choice;
mod expected;
mod floor;
mod look;
mod taken;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use foreman_core::Fence;
use foreman_core::job::QueueName;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{
    ClaimAnswer, ClaimRequest, Company, Headroom, Queues, StoreError, WantedJobs, is_fragile, pause_after,
};
use foreman_core::target::Route;
use tokio::time::Instant;
use tokio_postgres::Row;
use tracing::debug;
use uuid::Uuid;

use super::known_claims::KnownClaim;
use super::uuids;
use crate::error::Fault;
use crate::order::ServedLines;
use crate::rows::rank;
use crate::value::{Arg, Interval, bound};
use crate::write::Transaction;
use crate::{PostgresStore, StoreParts, order, transact};
pub(crate) use among::{Among, statements as texts_among};
pub(crate) use choice::Runs;
pub(crate) use expected::ExpectedJobs;
pub(crate) use floor::{Floor, Floors, SLACK};
pub(crate) use look::LOOK;
pub(crate) use look::{LookArgs, Seen};
use taken::{RawClaim, TakenJob};

pub(crate) const ASKS: &str = include_str!("../sql/claim/asks.sql");
pub(crate) const TAKE: &str = include_str!("../sql/claim/take.sql");
pub(crate) const BY_ORDER: &str = concat!(
    include_str!("../sql/claim/who.sql"),
    include_str!("../sql/claim/by_order.sql"),
    include_str!("../sql/claim/number.sql"),
    include_str!("../sql/claim/taken.sql")
);
pub(crate) const BY_IDS: &str = concat!(
    include_str!("../sql/claim/who.sql"),
    include_str!("../sql/claim/by_ids.sql"),
    include_str!("../sql/claim/number.sql"),
    include_str!("../sql/claim/taken_or_refused.sql")
);
pub(crate) const MARK_BUSY: &str = include_str!("../sql/claim/mark_busy.sql");
pub(crate) const MARK_IDLE: &str = include_str!("../sql/claim/mark_idle.sql");
/// Calls with one token wait for each other until the first has ended.
pub(crate) const ONE_BY_ONE: &str = "SELECT pg_advisory_xact_lock($1::integer, $2::integer)";

/// How often a claim looks again when others have taken everything it had seen.
pub(crate) const LOOKS: usize = 3;

/// How often a claim that finds nothing goes on to lines that it has not looked into.
const MOST_TURNS: usize = 4;

/// So many shares of lines are looked at at once to mark those in which nothing waits.
const MARKED_AT_ONCE: usize = 512;

/// Whether a disabled tenant has something waiting.
pub(crate) const ANY_DISABLED: &str = "SELECT EXISTS (
        SELECT FROM tenants WHERE tenants.disabled AND EXISTS (SELECT FROM ready WHERE ready.tenant = tenants.id)) AS is_any_disabled";

pub(super) async fn claim(store: &PostgresStore, request: &ClaimRequest) -> Result<ClaimAnswer, StoreError> {
    let parts = &store.parts;
    let floor = parts.floors.of(Among::of(&request.wanted));
    let slack = match request.wanted.is_in_order() {
        true if may_be_expected(request) && !parts.expected.is_empty() => floor.slack_if_expected(),
        true => floor.slack(),
        false => None,
    };
    let mut taken = transact!(store, data, Write, |tx| take(&tx, request, slack, parts).await)?;
    let mut is_full = slack.is_none();
    if matches!(taken, RawClaim::Nothing { .. }) && !is_full && floor.is_doubtful() {
        is_full = true;
        taken = transact!(store, data, Write, |tx| take(&tx, request, None, parts).await)?;
    }
    if let RawClaim::Claimed { claim, jobs, .. } = &taken {
        parts.known_claims.remember(Arc::clone(claim));
        let served = served(claim, jobs, request);
        parts.expected.served(&served.fronts(), jobs.len());
        order::served(store, &served).await;
        if is_full {
            let jobs = claim.jobs.iter();
            let shares = jobs.map(|job| (job.queue.as_str(), job.lane, job.route.as_str(), job.tenant.as_str()));
            mark_busy(store, shares.collect()).await;
        }
    }
    if floor.is_marking_due() {
        mark_idle(store, floor).await;
    }
    answer::answer(store, request.session, taken).await
}

fn served(claim: &KnownClaim, jobs: &[TakenJob], request: &ClaimRequest) -> ServedLines {
    let mut served = ServedLines::new(are_in_turn(claim, request));
    for TakenJob { place, lane, key, .. } in jobs {
        if let Some(key) = key {
            let job = &claim.jobs[*place];
            served.one((job.queue.clone(), *lane, job.route.clone()), *key);
        }
    }
    served
}

/// Neither named by their ids, nor taken before their turn because they must run alone.
fn are_in_turn(claim: &KnownClaim, request: &ClaimRequest) -> bool {
    request.wanted.is_in_order() && !claim.jobs.iter().any(|job| is_fragile(job.counters.crashes))
}

/// What a claim asks for, column by column.
struct ClaimArgs<'a> {
    session: Uuid,
    token: Uuid,
    one_by_one: (i32, i32),
    is_alone: bool,
    scope: ScopeColumns<'a>,
}

impl<'a> ClaimArgs<'a> {
    fn new(request: &'a ClaimRequest) -> Self {
        let (session, token) = (request.session.0, request.token.0);
        Self {
            session,
            token,
            one_by_one: one_by_one(token),
            is_alone: request.company == Company::Nobody,
            scope: ScopeColumns::of(&request.queues, &request.routes, &request.rooms),
        }
    }
}

/// From what to take, column by column.
pub(crate) struct ScopeColumns<'a> {
    pub queues: Option<Vec<&'a str>>,
    pub routes: Vec<&'a str>,
    pub rooms: Rooms<'a>,
}

impl<'a> ScopeColumns<'a> {
    pub fn of(queues: &'a Queues, routes: &'a [Route], rooms: &'a [Headroom]) -> Self {
        let queues = match queues {
            Queues::All => None,
            Queues::Named(names) => Some(names.iter().map(QueueName::as_str).collect()),
        };
        Self { queues, routes: routes.iter().map(Route::as_str).collect(), rooms: Rooms::of(rooms) }
    }
}

/// The random part of a token.
fn one_by_one(token: Uuid) -> (i32, i32) {
    let random = token.as_u64_pair().1;
    ((random >> 32) as i32, random as i32)
}

/// The tenants near their limit of running jobs, column by column.
pub(crate) struct Rooms<'a> {
    /// Passed over, like those who have paused.
    pub full: Vec<&'a str>,
    pub limited: Vec<&'a str>,
    pub jobs: Vec<i64>,
}

impl<'a> Rooms<'a> {
    fn of(rooms: &'a [Headroom]) -> Self {
        let rooms: BTreeMap<&str, u32> = rooms.iter().map(|room| (room.tenant.as_str(), room.jobs)).collect();
        let (full, limited): (Vec<_>, Vec<_>) = rooms.into_iter().partition(|(_, jobs)| *jobs == 0);
        let full = full.into_iter().map(|(tenant, _)| tenant).collect();
        let (limited, jobs) = limited.into_iter().map(|(tenant, jobs)| (tenant, i64::from(jobs))).unzip();
        Self { full, limited, jobs }
    }
}

/// Takes what there is, reads what was asked of it and commits.
async fn take(
    tx: &Transaction,
    request: &ClaimRequest,
    slack: Option<i64>,
    parts: &StoreParts,
) -> Result<RawClaim, Fault> {
    let asked = ClaimArgs::new(request);
    match &request.wanted {
        WantedJobs::ByOrder { .. } | WantedJobs::Unannounced { .. } => {
            by_order(tx, request, &asked, slack, parts).await
        }
        WantedJobs::ByIds(ids) => {
            let ClaimArgs { session, token, is_alone, scope: ScopeColumns { queues, routes, rooms }, .. } = &asked;
            let (named, pauses) = (uuids(ids), pauses());
            let args: [&dyn Arg; 10] =
                [session, token, queues, routes, &named, is_alone, &rooms.full, &rooms.limited, &rooms.jobs, &pauses];
            let waits: [&dyn Arg; 2] = [&asked.one_by_one.0, &asked.one_by_one.1];
            let rows = tx.all(&[(ONE_BY_ONE, &waits), (BY_IDS, &args)]).await?.pop().unwrap_or_default();
            taken::of_one_statement(tx, request.session, &rows, ids).await
        }
    }
}

/// How long a refused job is not announced again, the first time, the second, and so on: the last stands for all that follow.
pub(crate) fn pauses() -> Vec<Interval> {
    let pauses = (1..).map(pause_after);
    let mut last = None;
    pauses.take_while(|pause| last.replace(*pause) != Some(*pause)).map(Interval).collect()
}

async fn by_order(
    tx: &Transaction,
    request: &ClaimRequest,
    asked: &ClaimArgs<'_>,
    slack: Option<i64>,
    parts: &StoreParts,
) -> Result<RawClaim, Fault> {
    let Some((plan, wanted)) = request.wanted.in_order() else {
        return Err(StoreError::Broken("a claim by order was not asked for by order".into()).into());
    };
    let lanes: Vec<i16> = plan.0.iter().map(|pick| rank(pick.lane)).collect();
    let among = Among::of(&request.wanted);
    let floor = parts.floors.of(among);
    if slack.is_some()
        && let Some(taken) = take_expected(tx, request, asked, &lanes, wanted, parts).await?
    {
        return Ok(taken);
    }
    let mut args = LookArgs::new(&asked.scope, &lanes, wanted, slack, floor);
    let (mut seen, asks) = first_look(tx, asked, &args, slack.is_none(), among, floor).await?;
    if !asks.is_live {
        return Ok(RawClaim::SessionGone);
    }
    if let Some(number) = asks.known {
        return taken::again(tx, request.session, Fence(number)).await;
    }
    go_on(tx, &mut seen, &mut args, among, floor).await?;
    for _ in 0..LOOKS {
        let runs = choose(tx, &mut seen, &mut args, (among, floor), (plan, wanted), parts).await?;
        let has_more = runs.is_short || seen.has_more_lines;
        let fragile_waiting = asks.fragile_waiting;
        let taken = if asked.is_alone || !asked.scope.rooms.limited.is_empty() {
            let rows = tx.rows(among.by_order(), &careful(asked, [&bound(wanted), &args.beyond()], &runs)).await?;
            taken::of_one_statement(tx, request.session, &rows, &[]).await?
        } else if runs.numbers.is_empty() {
            RawClaim::nothing(fragile_waiting)
        } else {
            let highest = runs.highest(args.beyond());
            let rows = tx.rows(among.take(), &runs.columns(&asked.scope.rooms.full, &highest)).await?;
            taken::put(tx, asked, &rows, fragile_waiting).await?
        };
        // Others were faster with some of them, and there may be more behind.
        let has_more = has_more || !seen.is_one_line() && bound(taken.len()) < runs.jobs();
        let was_overtaken = !runs.numbers.is_empty() && matches!(taken, RawClaim::Nothing { .. });
        if !was_overtaken {
            note_turns(&taken, request, &seen, parts);
            if seen.has_many_lines() {
                floor.saw_many(taken.len() >= wanted && seen.has_one_tenant());
            }
            return Ok(taken.with_more(has_more));
        }
        seen = Seen::read(&tx.rows(among.look(), &args.columns()).await?, &args, floor)?;
    }
    Ok(RawClaim::nothing(asks.fragile_waiting))
}

/// Looks on while nothing was found and there are lines that were not looked into.
pub(crate) async fn go_on(
    tx: &Transaction,
    seen: &mut Seen,
    args: &mut LookArgs<'_>,
    among: Among,
    floor: &Floor,
) -> Result<(), Fault> {
    let mut turns = 0;
    while seen.lines.is_empty() && seen.has_more_lines && turns < MOST_TURNS {
        args.go_on(floor);
        *seen = Seen::read(&tx.rows(among.look(), &args.columns()).await?, args, floor)?;
        turns += 1;
    }
    Ok(())
}

/// Whether nothing runs in the session, and nobody and nothing is left out.
fn may_be_expected(request: &ClaimRequest) -> bool {
    let is_for_all = request.queues == Queues::All && request.rooms.is_empty();
    is_for_all && request.company == Company::Nobody && Among::of(&request.wanted) == Among::All
}

/// Takes what is expected without a look, for a session in which nothing runs ([`expected`]). `None`: a look has to tell.
async fn take_expected(
    tx: &Transaction,
    request: &ClaimRequest,
    asked: &ClaimArgs<'_>,
    lanes: &[i16],
    wanted: usize,
    parts: &StoreParts,
) -> Result<Option<RawClaim>, Fault> {
    if !may_be_expected(request) {
        return Ok(None);
    }
    let Some(runs) = parts.expected.runs(wanted, lanes, &asked.scope.routes) else { return Ok(None) };
    let (limit, beyond): (i64, Option<i64>) = (bound(wanted), None);
    let args = careful(asked, [&limit, &beyond], &runs);
    let waits: [&dyn Arg; 2] = [&asked.one_by_one.0, &asked.one_by_one.1];
    let rows = tx.all(&[(ONE_BY_ONE, &waits), (BY_ORDER, &args)]).await?.pop().unwrap_or_default();
    let taken = taken::of_one_statement(tx, request.session, &rows, &[]).await?;
    if matches!(taken, RawClaim::Nothing { .. }) {
        parts.expected.missed();
        return Ok(None);
    }
    Ok(Some(taken.with_more(true)))
}

/// Chooses among what was seen, and looks further or deeper where that was not enough.
pub(crate) async fn choose(
    tx: &Transaction,
    seen: &mut Seen,
    args: &mut LookArgs<'_>,
    (among, floor): (Among, &Floor),
    (plan, wanted): (&LanePlan, usize),
    parts: &StoreParts,
) -> Result<Runs, Fault> {
    let choose = |seen: &Seen| {
        let turns = parts.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Runs::choose(seen, plan, wanted, &turns)
    };
    floor.saw(&args.further, &seen.lines);
    let mut runs = choose(seen);
    // Few lines were enough of late and are not now: a claim is full where there is enough for it.
    if args.is_narrow() && seen.has_more_lines && runs.jobs() < bound(wanted) {
        floor.saw_many(false);
        args.go_on(floor);
        *seen = Seen::read(&tx.rows(among.look(), &args.columns()).await?, args, floor)?;
        runs = choose(seen);
    }
    if runs.is_short && args.look_deeper() {
        floor.fell_short();
        *seen = Seen::read(&tx.rows(among.look(), &args.columns()).await?, args, floor)?;
        runs = choose(seen);
    }
    Ok(runs)
}

/// What `sql/claim/asks.sql` answers.
struct Asks {
    is_live: bool,
    known: Option<i64>,
    fragile_waiting: bool,
}

impl Asks {
    fn read(rows: &[Row]) -> Result<Self, Fault> {
        let Some(row) = rows.first() else {
            return Err(StoreError::Broken("a claim was answered without a row".into()).into());
        };
        Ok(Self {
            is_live: row.try_get("is_live")?,
            known: row.try_get("known")?,
            fragile_waiting: row.try_get("fragile_waiting")?,
        })
    }
}

/// Who asks, and the first look, in one round trip.
async fn first_look(
    tx: &Transaction,
    asked: &ClaimArgs<'_>,
    args: &LookArgs<'_>,
    is_full: bool,
    among: Among,
    floor: &Floor,
) -> Result<(Seen, Asks), Fault> {
    let waits: [&dyn Arg; 2] = [&asked.one_by_one.0, &asked.one_by_one.1];
    let scope = &asked.scope;
    let asks: [&dyn Arg; 6] =
        [&asked.session, &asked.token, &asked.is_alone, &scope.routes, &scope.queues, &scope.rooms.full];
    let columns = args.columns();
    let begun = Instant::now();
    let mut steps: Vec<(&str, &[&dyn Arg])> = vec![(ONE_BY_ONE, &waits), (ASKS, &asks), (among.look(), &columns)];
    if is_full {
        steps.push((ANY_DISABLED, &[]));
    }
    let answers = tx.all(&steps).await?;
    let [_, asks, look, rest @ ..] = &answers[..] else {
        return Err(StoreError::Broken("a look was answered in part".into()).into());
    };
    if let [disabled, ..] = rest {
        let passes_disabled =
            disabled.first().map(|row| row.try_get("is_any_disabled")).transpose()?.unwrap_or_default();
        floor.scanned(begun.elapsed(), passes_disabled);
    }
    Ok((Seen::read(look, args, floor)?, Asks::read(asks)?))
}

/// The parameters of `sql/claim/by_order.sql`: how many are wanted, and how far beyond V, are worked out for it.
fn careful<'a>(asked: &'a ClaimArgs<'_>, [limit, beyond]: [&'a dyn Arg; 2], runs: &'a Runs) -> [&'a dyn Arg; 19] {
    [
        &asked.session,
        &asked.token,
        &asked.scope.queues,
        &asked.scope.routes,
        limit,
        &asked.is_alone,
        &asked.scope.rooms.full,
        &asked.scope.rooms.limited,
        &asked.scope.rooms.jobs,
        &runs.firsts,
        &runs.lanes,
        &runs.routes,
        &runs.queues,
        &runs.fronts,
        &runs.numbers,
        beyond,
        &runs.first_jobs,
        &runs.untils,
        &runs.until_jobs,
    ]
}

/// Whose turn it was. A claim that is undone after this has cost them a turn, and nothing else.
fn note_turns(taken: &RawClaim, request: &ClaimRequest, seen: &Seen, parts: &StoreParts) {
    let RawClaim::Claimed { claim, jobs, .. } = taken else { return };
    if !are_in_turn(claim, request) {
        return;
    }
    let mut turns = parts.turns.lock().unwrap_or_else(PoisonError::into_inner);
    for one in jobs.iter().filter(|one| one.key.is_some()) {
        let job = &claim.jobs[one.place];
        turns.took(one.lane, &job.route, &job.queue, &job.tenant, seen.weight(&job.tenant));
    }
}

/// Marks the lines of jobs that a look from the very beginning found, in case they were idle. A hint.
pub(crate) async fn mark_busy(store: &PostgresStore, shares: BTreeSet<(&str, i16, &str, &str)>) {
    let (mut queues, mut lanes, mut routes, mut tenants) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (queue, lane, route, tenant) in shares {
        queues.push(queue);
        lanes.push(lane);
        routes.push(route);
        tenants.push(tenant);
    }
    order::hint(store, (MARK_BUSY, &[&queues, &lanes, &routes, &tenants]), "mark lines as busy").await;
}

/// Marks lines in which nothing waits. A hint: nobody waits for it, and what is not marked is looked into for nothing.
pub(crate) async fn mark_idle(store: &PostgresStore, floor: &Floor) {
    let (lane, route, queue, tenant) = floor.mark_after();
    let args: [&dyn Arg; 5] = [&bound(MARKED_AT_ONCE), &lane, &route, &queue, &tenant];
    let marked = transact!(store, data, Hint, |tx| tx.row(MARK_IDLE, &args).await);
    match marked {
        Ok(row) => floor.marked(row.as_ref(), MARKED_AT_ONCE),
        Err(error) => debug!("could not mark idle lines: {error}"),
    }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[
    ANY_DISABLED,
    ASKS,
    BY_IDS,
    BY_ORDER,
    LOOK,
    MARK_IDLE,
    ONE_BY_ONE,
    MARK_BUSY,
    TAKE,
    taken::HELD,
    taken::PUT,
    taken::WORK,
];
