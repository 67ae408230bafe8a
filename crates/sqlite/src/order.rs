//! The fair order: which key a job that falls due is given.
//!
//! V of each line, each tenant's last key there and its weight are read once per operation; what was given is written once at
//! its end.

use std::collections::HashMap;

use foreman_core::fair::{OrderKeys, UNIT};
use foreman_core::job::QueueName;
use foreman_core::target::Route;
use foreman_core::{Lane, TenantId};
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;
use crate::rows::JobRow;
use crate::write::Write;

/// V of a line, and the last key of a tenant there.
const PLACE: &str = "SELECT (SELECT v FROM line_fronts WHERE queue = ?1 AND lane = ?2 AND route = ?3),
     (SELECT last_key FROM line_shares WHERE queue = ?1 AND lane = ?2 AND route = ?3 AND tenant = ?4)";

/// What is due in one lane, for one route, in one queue.
type LineId = (QueueName, Lane, Route);

fn line_of(job_row: &JobRow) -> LineId {
    (job_row.queue.clone(), job_row.lane, job_row.route.clone())
}

fn is_of((queue, lane, route): &LineId, job_row: &JobRow) -> bool {
    *lane == job_row.lane && *queue == job_row.queue && *route == job_row.route
}

/// The keys given out by one operation.
pub(crate) struct KeyAssignments<'c> {
    sql: &'c Connection,
    places: Vec<TenantPlace>,
    by_name: HashMap<(LineId, TenantId), usize>,
    /// The place that was asked for last: most of a batch are of one tenant and one line.
    latest: usize,
    weights: Weights,
}

/// How far a tenant has come in a line.
struct TenantPlace {
    line: LineId,
    tenant: TenantId,
    virtual_time: i64,
    /// The tenant's last key, if it ever had one.
    last: Option<i64>,
    weight: u32,
    /// A key was given out that is not written down yet.
    is_ahead: bool,
}

impl TenantPlace {
    fn is_of(&self, job_row: &JobRow) -> bool {
        self.tenant == job_row.tenant && is_of(&self.line, job_row)
    }
}

impl<'c> KeyAssignments<'c> {
    pub fn new(sql: &'c Connection) -> Self {
        Self { sql, places: Vec::new(), by_name: HashMap::new(), latest: 0, weights: Weights::default() }
    }

    /// The key of a job that falls due now.
    pub fn next(&mut self, job_row: &JobRow) -> Result<i64, Fault> {
        let place = self.place(job_row)?;
        let key = OrderKeys::reserve(place.virtual_time, place.last, place.weight, 1).last();
        (place.last, place.is_ahead) = (Some(key), true);
        Ok(key)
    }

    /// The key of a job that goes to the front: V itself.
    pub fn front(&mut self, job_row: &JobRow) -> Result<i64, Fault> {
        Ok(self.place(job_row)?.virtual_time)
    }

    fn place(&mut self, job_row: &JobRow) -> Result<&mut TenantPlace, Fault> {
        if !self.places.get(self.latest).is_some_and(|place| place.is_of(job_row)) {
            self.latest = self.find(job_row)?;
        }
        Ok(&mut self.places[self.latest])
    }

    fn find(&mut self, job_row: &JobRow) -> Result<usize, Fault> {
        let name = (line_of(job_row), job_row.tenant.clone());
        if let Some(number) = self.by_name.get(&name) {
            return Ok(*number);
        }
        let JobRow { queue, lane, route, tenant, .. } = job_row;
        let names = (queue.as_str(), lane.rank(), route.as_str(), tenant.as_str());
        let (virtual_time, last): (Option<i64>, Option<i64>) =
            self.sql.prepare_cached(PLACE)?.query_row(names, |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.places.push(TenantPlace {
            line: name.0.clone(),
            tenant: name.1.clone(),
            virtual_time: virtual_time.unwrap_or_default(),
            last,
            weight: self.weights.of(self.sql, tenant)?,
            is_ahead: false,
        });
        let number = self.places.len() - 1;
        self.by_name.insert(name, number);
        Ok(number)
    }

    /// Writes down what was given out.
    pub fn keep(self, write: &Write<'_>) -> Result<(), Fault> {
        let now = write.now.as_micros();
        for TenantPlace { line: (queue, lane, route), tenant, last, .. } in
            self.places.iter().filter(|place| place.is_ahead)
        {
            write
                .prepared(
                    "INSERT INTO line_shares (queue, lane, route, tenant, last_key, given_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT DO UPDATE SET last_key = excluded.last_key, given_at = excluded.given_at",
                )?
                .execute((queue.as_str(), lane.rank(), route.as_str(), tenant.as_str(), last, now))?;
        }
        Ok(())
    }
}

/// The weights of tenants, each looked up once.
#[derive(Default)]
pub(crate) struct Weights(HashMap<TenantId, u32>);

impl Weights {
    /// One that nobody made weighs as much as any other.
    pub fn of(&mut self, sql: &Connection, tenant: &TenantId) -> Result<u32, Fault> {
        if let Some(weight) = self.0.get(tenant) {
            return Ok(*weight);
        }
        let mut statement = sql.prepare_cached("SELECT weight FROM tenants WHERE id = ?1")?;
        let weight = statement.query_row([tenant.as_str()], |row| row.get(0)).optional()?.unwrap_or(1);
        self.0.insert(tenant.clone(), weight);
        Ok(weight)
    }
}

/// What a claim took, line by line.
#[derive(Default)]
pub(crate) struct ServedLines {
    lines: Vec<ServedLine>,
    by_name: HashMap<LineId, usize>,
    /// The line of the last one: most of a claim come from few lines.
    latest: usize,
}

struct ServedLine {
    line: LineId,
    highest: i64,
    count: usize,
}

impl ServedLines {
    pub fn add(&mut self, job_row: &JobRow, key: i64) {
        if !self.lines.get(self.latest).is_some_and(|served| is_of(&served.line, job_row)) {
            let line = line_of(job_row);
            self.latest = self.by_name.get(&line).copied().unwrap_or_else(|| {
                self.lines.push(ServedLine { line: line.clone(), highest: key, count: 0 });
                self.by_name.insert(line, self.lines.len() - 1);
                self.lines.len() - 1
            });
        }
        let served = &mut self.lines[self.latest];
        (served.highest, served.count) = (served.highest.max(key), served.count + 1);
    }

    /// V moves with service: the highest key claimed so far. For what was taken out of its turn it moves no further than so many
    /// jobs would take it ([`foreman_core::fair::out_of_turn`]).
    pub fn keep(&self, write: &Write<'_>, is_their_turn: bool) -> Result<(), Fault> {
        /// Further than any key lies from another, and small enough to be added to one.
        const ANY: i64 = i64::MAX / 4;
        for ServedLine { line: (queue, lane, route), highest, count } in &self.lines {
            let most =
                if is_their_turn { ANY } else { UNIT.saturating_mul(i64::try_from(*count).unwrap_or(ANY)).min(ANY) };
            write
                .prepared(
                    "INSERT INTO line_fronts (queue, lane, route, v) VALUES (?1, ?2, ?3, min(?4, ?5))
                     ON CONFLICT DO UPDATE SET v = max(v, min(?4, v + ?5))",
                )?
                .execute((queue.as_str(), lane.rank(), route.as_str(), highest, most))?;
        }
        Ok(())
    }
}
