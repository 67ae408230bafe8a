//! One operation under way inside a transaction: the connection, the moment, what it moved and whom to wake.

use std::cell::RefCell;

use foreman_core::job::QueueName;
use foreman_core::ports::Topic;
use foreman_core::{JobId, State, TenantId, Timestamp};
use rusqlite::Connection;

use crate::changes::MovedLog;
use crate::error::Fault;

pub(crate) struct Write<'c> {
    pub sql: &'c Connection,
    /// Read once: everything one operation does happens at one moment.
    pub now: Timestamp,
    moved: RefCell<MovedLog>,
    rings: RefCell<Rings>,
}

impl<'c> Write<'c> {
    pub fn new(sql: &'c Connection, now: Timestamp) -> Self {
        Self { sql, now, moved: RefCell::default(), rings: RefCell::default() }
    }

    /// A job moved: part of this operation's one row in the change log.
    pub fn note(&self, job: JobId, tenant: &TenantId, queue: &QueueName, state: State, attempt: u32) {
        self.moved.borrow_mut().push(job, tenant, queue, state, attempt);
    }

    pub fn ring(&self, topic: Topic) {
        self.rings.borrow_mut().add(topic);
    }

    /// Writes the change row, in the same transaction as what it tells of. Whom to wake once that has committed.
    pub fn finish(self) -> Result<Rings, Fault> {
        if self.moved.borrow().write(self.sql, self.now)? {
            self.ring(Topic::Changed);
        }
        Ok(self.rings.into_inner())
    }
}

/// A set of topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rings([bool; Topic::ALL.len()]);

impl Rings {
    pub fn add(&mut self, topic: Topic) {
        for (place, known) in Topic::ALL.iter().enumerate() {
            self.0[place] |= *known == topic;
        }
    }

    pub fn join(&mut self, other: Rings) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    pub fn topics(self) -> impl Iterator<Item = Topic> {
        Topic::ALL.into_iter().zip(self.0).filter_map(|(topic, is_rung)| is_rung.then_some(topic))
    }
}
