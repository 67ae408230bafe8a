//! One operation under way inside a transaction: the connection, the moment, what it moved and whom to wake.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use foreman_core::change_text::ChangeWriter;
use foreman_core::job::QueueName;
use foreman_core::ports::{Note, Step, Topic};
use foreman_core::{JobId, TenantId, Timestamp};
use rusqlite::{CachedStatement, Connection};

use crate::changes;
use crate::error::Fault;

pub(crate) struct Write<'c> {
    pub sql: &'c Connection,
    /// Read once: everything one operation does happens at one moment.
    pub now: Timestamp,
    moved: RefCell<ChangeWriter>,
    rings: RefCell<Rings>,
    /// Statements at hand: a verb runs the same few for every job of its batch.
    statements: RefCell<Vec<(&'static str, Option<CachedStatement<'c>>)>>,
}

impl<'c> Write<'c> {
    pub fn new(sql: &'c Connection, now: Timestamp) -> Self {
        Self { sql, now, moved: RefCell::default(), rings: RefCell::default(), statements: RefCell::default() }
    }

    /// A prepared statement, kept at hand until the operation ends. The connection keeps it prepared beyond that, but
    /// finds it by its text, and copies that text whenever it is put back: a microsecond for every job.
    pub fn prepared<'w>(&'w self, sql: &'static str) -> Result<BorrowedStatement<'w, 'c>, Fault> {
        let place = {
            let mut statements = self.statements.borrow_mut();
            // By address: the text of one line of code is always in one place.
            let known = statements.iter().position(|(text, _)| std::ptr::eq(*text, sql));
            known.unwrap_or_else(|| {
                statements.push((sql, None));
                statements.len() - 1
            })
        };
        let kept = self.statements.borrow_mut()[place].1.take();
        let statement = match kept {
            Some(statement) => statement,
            None => self.sql.prepare_cached(sql)?,
        };
        Ok(BorrowedStatement { write: self, place, statement: Some(statement) })
    }

    /// A job moved: part of this operation's one row in the change log.
    pub fn note(&self, job: JobId, tenant: &TenantId, queue: &QueueName, step: Step) {
        self.moved.borrow_mut().push(job, tenant, queue, step);
    }

    /// Something else happened that whoever watches wants to know: part of the same row.
    pub fn tell(&self, note: Note) {
        self.moved.borrow_mut().note(note);
    }

    pub fn ring(&self, topic: Topic) {
        self.rings.borrow_mut().add(topic);
    }

    /// Writes the change row, in the same transaction as what it tells of. Whom to wake once that has committed.
    pub fn finish(self) -> Result<Rings, Fault> {
        if changes::append(self.sql, self.now, &self.moved.borrow())? {
            self.ring(Topic::Changed);
        }
        Ok(self.rings.into_inner())
    }
}

/// A statement in use; dropped, it is at hand again.
pub(crate) struct BorrowedStatement<'w, 'c> {
    write: &'w Write<'c>,
    place: usize,
    statement: Option<CachedStatement<'c>>,
}

impl<'c> Deref for BorrowedStatement<'_, 'c> {
    type Target = CachedStatement<'c>;

    fn deref(&self) -> &CachedStatement<'c> {
        self.statement.as_ref().expect("only a drop takes it out")
    }
}

impl DerefMut for BorrowedStatement<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.statement.as_mut().expect("only a drop takes it out")
    }
}

impl Drop for BorrowedStatement<'_, '_> {
    fn drop(&mut self) {
        self.write.statements.borrow_mut()[self.place].1 = self.statement.take();
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
