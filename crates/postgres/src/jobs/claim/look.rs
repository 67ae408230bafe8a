//! The look before a claim: which lines have something, and what comes first in them.

use std::collections::HashMap;

use foreman_core::fair;
use foreman_core::job::QueueName;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::ScopeColumns;
use super::floor::{FEWEST_LINES, Floor, LineKeys, LineName, SLACK, ScanRange, StopColumns, StopPlace};
use crate::error::Fault;
use crate::rows::{NamedCells, rank};
use crate::value::{Arg, bound};

pub(crate) const LOOK: &str = include_str!("../../sql/claim/look.sql");

/// A look goes into so many lines of each lane and route at most.
pub(super) const MOST_LINES: usize = 256;

/// Where so few are wanted, a line is looked into even if it has it all: as in the statement.
const FEW: i64 = 8;

/// The parameters of `sql/claim/look.sql`.
pub(crate) struct LookArgs<'a> {
    scope: &'a ScopeColumns<'a>,
    lanes: &'a Vec<i16>,
    limit: i64,
    range: ScanRange,
    firsts: LineKeys,
    pub further: LineKeys,
    stretch: i64,
    is_deep: bool,
    stops: StopColumns,
    /// So many lines of a lane and route at most.
    lines: i64,
}

impl<'a> LookArgs<'a> {
    pub fn new(
        scope: &'a ScopeColumns<'a>,
        lanes: &'a Vec<i16>,
        wanted: usize,
        slack: Option<i64>,
        floor: &Floor,
    ) -> Self {
        let range = ScanRange::of(slack, !scope.rooms.full.is_empty() || floor.passes_disabled(), wanted);
        Self {
            scope,
            lanes,
            limit: bound(wanted),
            stretch: range.below.unwrap_or(SLACK),
            range,
            firsts: floor.firsts(),
            // A scan from the very beginning finds out by itself.
            further: if slack.is_some() { floor.further() } else { LineKeys::default() },
            is_deep: floor.looks_deeper(),
            stops: floor.stops(slack.is_none()),
            lines: if slack.is_some() { floor.breadth(wanted) } else { bound(MOST_LINES) },
        }
    }

    /// Looks at as many of each line as are wanted, the next time; whether that is more than before.
    pub fn look_deeper(&mut self) -> bool {
        !std::mem::replace(&mut self.is_deep, true)
    }

    /// Goes on where the last one stopped, which found nothing, and looks as far as it may.
    pub fn go_on(&mut self, floor: &Floor) {
        self.lines = bound(MOST_LINES);
        self.stops = floor.stops(self.is_full());
    }

    /// Into fewer lines than it may.
    pub fn is_narrow(&self) -> bool {
        self.lines < bound(MOST_LINES)
    }

    /// From the very beginning.
    pub fn is_full(&self) -> bool {
        self.range.below.is_none()
    }

    pub fn beyond(&self) -> Option<i64> {
        self.range.beyond
    }

    pub fn columns(&self) -> [&dyn Arg; 22] {
        let (firsts, further, stops) = (&self.firsts, &self.further, &self.stops);
        [
            &self.scope.queues,
            &self.scope.routes,
            self.lanes,
            &self.limit,
            &self.range.below,
            &self.scope.rooms.full,
            &self.range.beyond,
            &firsts.lanes,
            &firsts.routes,
            &firsts.queues,
            &firsts.keys,
            &further.lanes,
            &further.routes,
            &further.queues,
            &further.keys,
            &self.stretch,
            &self.is_deep,
            &stops.lanes,
            &stops.routes,
            &stops.queues,
            &stops.tenants,
            &self.lines,
        ]
    }

    /// How many of a line were looked at at most, up to V and beyond it, where its lane has so many lines: as in the statement.
    fn depth(&self, lines: i64) -> (i64, i64) {
        if self.is_deep {
            return (self.limit, self.limit.max(4));
        }
        let part = 5 * self.limit / (4 * lines.max(1));
        (self.limit.min(part + 4), self.limit.min(part) + 4)
    }
}

/// What a look saw.
#[derive(Default)]
pub(crate) struct Seen {
    pub lines: Vec<SeenLine>,
    weights: HashMap<TenantId, u32>,
    /// There are lines that it did not look into.
    pub has_more_lines: bool,
    /// So many are wanted that whose turn it is between two at the same place does not matter.
    is_order_enough: bool,
}

/// A line that has something, with what comes first in it, in order.
pub(crate) struct SeenLine {
    pub lane: Lane,
    pub route: Route,
    pub queue: QueueName,
    pub v: i64,
    /// The key of its first.
    pub first: i64,
    pub jobs: Vec<SeenJob>,
    /// There is nothing in it that was not seen.
    pub is_whole: bool,
    /// Nothing waits in front of its first for somebody who may not be served just now.
    pub passes_nobody: bool,
}

pub(crate) struct SeenJob {
    pub key: i64,
    pub job: JobId,
    pub tenant: TenantId,
    /// It was taken back through no fault of its own.
    pub is_returned: bool,
}

impl SeenLine {
    pub fn name(&self) -> LineName {
        (rank(self.lane), self.route.clone(), self.queue.clone())
    }

    /// What its keys are compared with.
    pub fn front(&self) -> i64 {
        fair::front(self.v, self.first)
    }
}

impl Seen {
    pub fn read(rows: &[Row], args: &LookArgs<'_>, floor: &Floor) -> Result<Self, Fault> {
        let mut seen = Self { is_order_enough: args.limit > FEW, ..Self::default() };
        let mut numbers: HashMap<i64, usize> = HashMap::new();
        let mut stops = Vec::new();
        let mut tenants: HashMap<String, TenantId> = HashMap::new();
        for row in rows {
            let id = JobId(row.try_get::<_, Option<Uuid>>("job")?.unwrap_or_default());
            let found = NamedCells::about(row, "ready", id);
            let Some(number) = found.get::<Option<i64>>("number")? else {
                match found.get::<Option<i32>>("weight")? {
                    Some(weight) => drop(seen.weights.insert(found.tenant()?, weight.unsigned_abs())),
                    None => stops.push(stop(&found)?),
                }
                continue;
            };
            let (key, name): (i64, &str) = (found.get("key")?, found.get("tenant")?);
            let tenant = match tenants.get(name) {
                Some(tenant) => tenant.clone(),
                None => tenants.entry(name.to_owned()).or_insert_with(|| TenantId::new(name)).clone(),
            };
            let job = SeenJob { key, job: id, tenant, is_returned: found.get("is_returned")? };
            if let Some(place) = numbers.get(&number) {
                seen.lines[*place].jobs.push(job);
                continue;
            }
            numbers.insert(number, seen.lines.len());
            seen.lines.push(SeenLine {
                lane: found.lane()?,
                route: found.route()?,
                queue: found.queue()?,
                v: found.get("v")?,
                first: key,
                jobs: vec![job],
                is_whole: true,
                passes_nobody: found.get("passes_nobody")?,
            });
        }
        seen.see_ends(args);
        seen.has_more_lines = floor.stopped(stops, args.is_full());
        Ok(seen)
    }

    /// Sorts each line and says whether it was seen to its end.
    fn see_ends(&mut self, args: &LookArgs<'_>) {
        let mut lines: HashMap<Lane, i64> = HashMap::new();
        self.lines.iter().for_each(|line| *lines.entry(line.lane).or_default() += 1);
        let is_alone = self.is_one_line();
        for line in &mut self.lines {
            line.jobs.sort_unstable_by_key(|one| (one.key, one.job));
            let (up_to_v, beyond) = args.depth(lines[&line.lane]);
            let after_first = || line.jobs.iter().skip(1);
            let low = after_first().filter(|one| one.key <= line.v).count();
            let high = after_first().count() - low;
            line.is_whole = !is_alone && bound(low) < up_to_v && bound(high) < beyond;
        }
    }

    /// One line has it all, and nothing of it was passed over: its order is the order, and only its first was looked at. Jobs at
    /// V itself are at the same place as the last that was served, and not behind it.
    pub fn is_one_line(&self) -> bool {
        self.is_order_enough && matches!(&self.lines[..], [line] if line.first >= line.v)
    }

    /// More than a narrow look goes into.
    pub fn has_many_lines(&self) -> bool {
        self.has_more_lines || self.lines.len() > FEWEST_LINES
    }

    /// Nobody competes with anybody, as far as it saw.
    pub fn has_one_tenant(&self) -> bool {
        let mut tenants = self.lines.iter().flat_map(|line| &line.jobs).map(|job| &job.tenant);
        let first = tenants.next();
        tenants.all(|tenant| first == Some(tenant))
    }

    pub fn weight(&self, tenant: &TenantId) -> u32 {
        self.weights.get(tenant).copied().unwrap_or(1)
    }
}

fn stop(stopped: &NamedCells<'_>) -> Result<((i16, Route), StopPlace), Fault> {
    let direction = (stopped.get("lane")?, stopped.route()?);
    let queue: Option<&str> = stopped.get("queue")?;
    let tenant: Option<&str> = stopped.get("tenant")?;
    Ok((direction, StopPlace { queue: queue.map(QueueName::from_stored), tenant: tenant.map(TenantId::new) }))
}
