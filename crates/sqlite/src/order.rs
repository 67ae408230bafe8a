//! The fair order: which key a job that falls due is given.
//!
//! V of each queue and lane, and each tenant's last key there, are read once per operation and written once at its end.

use std::collections::HashMap;

use foreman_core::fair::Keys;
use foreman_core::job::QueueName;
use foreman_core::{Lane, TenantId};
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;

/// Weight of every tenant until tenants can be given one.
const WEIGHT: u32 = 1;

/// The keys given out by one operation.
pub(crate) struct Order<'c> {
    sql: &'c Connection,
    lines: HashMap<(QueueName, Lane), i64>,
    shares: HashMap<(QueueName, Lane, TenantId), i64>,
}

impl<'c> Order<'c> {
    pub fn new(sql: &'c Connection) -> Self {
        Self { sql, lines: HashMap::new(), shares: HashMap::new() }
    }

    /// The key of a job that falls due now.
    pub fn next(&mut self, tenant: &TenantId, queue: &QueueName, lane: Lane) -> Result<i64, Fault> {
        let virtual_time = self.front(queue, lane)?;
        let place = (queue.clone(), lane, tenant.clone());
        let last = match self.shares.get(&place) {
            Some(last) => *last,
            None => self.stored_share(tenant, queue, lane)?,
        };
        let key = Keys::reserve(virtual_time, last, WEIGHT, 1).last();
        self.shares.insert(place, key);
        Ok(key)
    }

    /// The key of a job that goes to the front: V itself.
    pub fn front(&mut self, queue: &QueueName, lane: Lane) -> Result<i64, Fault> {
        let place = (queue.clone(), lane);
        if let Some(time) = self.lines.get(&place) {
            return Ok(*time);
        }
        let time = virtual_time(self.sql, queue, lane)?;
        self.lines.insert(place, time);
        Ok(time)
    }

    fn stored_share(&self, tenant: &TenantId, queue: &QueueName, lane: Lane) -> Result<i64, Fault> {
        let mut statement =
            self.sql.prepare_cached("SELECT last_key FROM shares WHERE queue = ?1 AND lane = ?2 AND tenant = ?3")?;
        let last = statement.query_row((queue.as_str(), lane.rank(), tenant.as_str()), |row| row.get(0)).optional()?;
        Ok(last.unwrap_or_default())
    }

    /// Writes down what was given out.
    pub fn keep(self) -> Result<(), Fault> {
        if self.shares.is_empty() {
            return Ok(());
        }
        let mut statement = self.sql.prepare_cached(
            "INSERT INTO shares (queue, lane, tenant, last_key) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET last_key = excluded.last_key",
        )?;
        for ((queue, lane, tenant), last) in &self.shares {
            statement.execute((queue.as_str(), lane.rank(), tenant.as_str(), last))?;
        }
        Ok(())
    }
}

fn virtual_time(sql: &Connection, queue: &QueueName, lane: Lane) -> Result<i64, Fault> {
    let mut statement = sql.prepare_cached("SELECT v FROM lanes WHERE queue = ?1 AND lane = ?2")?;
    let time = statement.query_row((queue.as_str(), lane.rank()), |row| row.get(0)).optional()?;
    Ok(time.unwrap_or_default())
}

/// V moves with service: the highest key claimed so far.
pub(crate) fn served(sql: &Connection, highest: &HashMap<(QueueName, Lane), i64>) -> Result<(), Fault> {
    let mut statement = sql.prepare_cached(
        "INSERT INTO lanes (queue, lane, v) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET v = excluded.v WHERE excluded.v > v",
    )?;
    for ((queue, lane), key) in highest {
        statement.execute((queue.as_str(), lane.rank(), key))?;
    }
    Ok(())
}
