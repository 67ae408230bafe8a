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

/// What is due in one lane, for one route, in one queue.
pub(crate) type LineId = (QueueName, Lane, Route);

pub(crate) fn line_of(job_row: &JobRow) -> LineId {
    (job_row.queue.clone(), job_row.lane, job_row.route.clone())
}

/// The keys given out by one operation.
pub(crate) struct KeyAssignments<'c> {
    sql: &'c Connection,
    fronts: HashMap<LineId, i64>,
    shares: HashMap<(LineId, TenantId), i64>,
    weights: Weights,
}

impl<'c> KeyAssignments<'c> {
    pub fn new(sql: &'c Connection) -> Self {
        Self { sql, fronts: HashMap::new(), shares: HashMap::new(), weights: Weights::default() }
    }

    /// The key of a job that falls due now.
    pub fn next(&mut self, job_row: &JobRow) -> Result<i64, Fault> {
        let virtual_time = self.front(job_row)?;
        let weight = self.weights.of(self.sql, &job_row.tenant)?;
        let place = (line_of(job_row), job_row.tenant.clone());
        let last = match self.shares.get(&place) {
            Some(last) => Some(*last),
            None => self.stored_share(job_row)?,
        };
        let key = OrderKeys::reserve(virtual_time, last, weight, 1).last();
        self.shares.insert(place, key);
        Ok(key)
    }

    /// The key of a job that goes to the front: V itself.
    pub fn front(&mut self, job_row: &JobRow) -> Result<i64, Fault> {
        let line = line_of(job_row);
        if let Some(time) = self.fronts.get(&line) {
            return Ok(*time);
        }
        let mut statement =
            self.sql.prepare_cached("SELECT v FROM line_fronts WHERE queue = ?1 AND lane = ?2 AND route = ?3")?;
        let place = (line.0.as_str(), line.1.rank(), line.2.as_str());
        let time = statement.query_row(place, |row| row.get(0)).optional()?.unwrap_or_default();
        self.fronts.insert(line, time);
        Ok(time)
    }

    fn stored_share(&self, job_row: &JobRow) -> Result<Option<i64>, Fault> {
        let JobRow { queue, lane, route, tenant, .. } = job_row;
        let mut statement = self.sql.prepare_cached(
            "SELECT last_key FROM line_shares WHERE queue = ?1 AND lane = ?2 AND route = ?3 AND tenant = ?4",
        )?;
        let place = (queue.as_str(), lane.rank(), route.as_str(), tenant.as_str());
        Ok(statement.query_row(place, |row| row.get(0)).optional()?)
    }

    /// Writes down what was given out.
    pub fn keep(self, write: &Write<'_>) -> Result<(), Fault> {
        if self.shares.is_empty() {
            return Ok(());
        }
        let mut statement = self.sql.prepare_cached(
            "INSERT INTO line_shares (queue, lane, route, tenant, last_key, given_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET last_key = excluded.last_key, given_at = excluded.given_at",
        )?;
        let now = write.now.as_micros();
        for (((queue, lane, route), tenant), last) in &self.shares {
            statement.execute((queue.as_str(), lane.rank(), route.as_str(), tenant.as_str(), last, now))?;
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

/// What a claim took of a line.
#[derive(Clone, Copy, Default)]
pub(crate) struct ServedLine {
    pub highest: i64,
    pub count: usize,
}

/// V moves with service: the highest key claimed so far. For what was taken out of its turn it moves no further than so many
/// jobs would take it ([`foreman_core::fair::out_of_turn`]).
pub(crate) fn served(sql: &Connection, taken: &HashMap<LineId, ServedLine>, is_their_turn: bool) -> Result<(), Fault> {
    /// Further than any key lies from another, and small enough to be added to one.
    const ANY: i64 = i64::MAX / 4;
    let mut statement = sql.prepare_cached(
        "INSERT INTO line_fronts (queue, lane, route, v) VALUES (?1, ?2, ?3, min(?4, ?5))
         ON CONFLICT DO UPDATE SET v = max(v, min(?4, v + ?5))",
    )?;
    for ((queue, lane, route), ServedLine { highest, count }) in taken {
        let most = if is_their_turn { ANY } else { UNIT.saturating_mul(i64::try_from(*count).unwrap_or(ANY)).min(ANY) };
        statement.execute((queue.as_str(), lane.rank(), route.as_str(), highest, most))?;
    }
    Ok(())
}
