//! Where followers of the change log are, and the operation that moves them.
//!
//! A follower's effect is written and its position moved in one operation of the one writer, and only while it is where the follower
//! believes it to be. Two at once run one after the other: the second finds the position moved and writes nothing. One that dies
//! before that leaves everything as it was, and the next writes the same.

use async_trait::async_trait;
use foreman_core::Timestamp;
use foreman_core::ports::{
    Advance, Advanced, Begin, Effect, FollowerName, Followers, Leader, Position, PruneStep, StoreError, UNREAD_KEPT,
};
use foreman_core::statistics::BucketEntry;
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;
use crate::webhooks::post;
use crate::write::Write;
use crate::{SqliteStore, changes, statistics};

/// There are no terms: one process has the file for itself.
#[async_trait]
impl Followers for SqliteStore {
    async fn follow(
        &self,
        _leader: Option<&Leader>,
        follower: &FollowerName,
        begin: Begin,
    ) -> Result<Option<Position>, StoreError> {
        let (asked, name) = (follower.clone(), follower.clone());
        // Asked when a follower starts, and hardly ever for the first time.
        match self.read(move |read| find(read.sql, &asked)).await? {
            Some(position) => Ok(Some(position)),
            None => self.write(move |write| add(write, &name, begin)).await.map(Some),
        }
    }

    async fn advance(&self, _leader: Option<&Leader>, advance: &Advance) -> Result<Option<Advanced>, StoreError> {
        let Advance { follower, from, to, effect } = advance;
        let (follower, from, to, effect) = (follower.clone(), *from, *to, PreparedEffect::new(effect)?);
        self.write(move |write| move_on(write, &follower, from, to, &effect)).await.map(Some)
    }

    async fn dismiss(&self, _leader: Option<&Leader>, follower: &FollowerName) -> Result<Option<()>, StoreError> {
        let follower = follower.clone();
        self.write(move |write| dismiss(write, &follower)).await.map(Some)
    }
}

/// An effect as its statements want it.
enum PreparedEffect {
    Nothing,
    Deliveries(Vec<post::PreparedDelivery>),
    Counts(Vec<BucketEntry>),
}

impl PreparedEffect {
    fn new(effect: &Effect) -> Result<Self, StoreError> {
        Ok(match effect {
            Effect::Nothing => Self::Nothing,
            Effect::Deliveries(deliveries) => Self::Deliveries(post::prepare(deliveries)?),
            Effect::Counts(entries) => Self::Counts(entries.clone()),
        })
    }

    fn write(&self, write: &Write<'_>) -> Result<(), Fault> {
        match self {
            Self::Nothing => Ok(()),
            Self::Deliveries(deliveries) => post::deliver(write, deliveries),
            Self::Counts(entries) => statistics::add_all(write, entries),
        }
    }
}

fn find(sql: &Connection, follower: &FollowerName) -> Result<Option<Position>, Fault> {
    let position = sql
        .prepare_cached("SELECT position FROM followers WHERE name = ?1 AND holds_log = 1")?
        .query_row([follower.as_str()], |row| row.get("position"))
        .optional()?;
    Ok(position.map(Position))
}

/// One that is there keeps its position. The row of a bookkeeper is there from the beginning, and holds nothing back until one comes.
fn add(write: &Write<'_>, follower: &FollowerName, begin: Begin) -> Result<Position, Fault> {
    let at = match begin {
        Begin::Start => Position::default(),
        Begin::End => changes::head(write.sql)?,
    };
    write
        .prepared(
            "INSERT INTO followers (name, position) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET holds_log = 1 WHERE holds_log = 0",
        )?
        .execute((follower.as_str(), at.0))?;
    Ok(find(write.sql, follower)?.unwrap_or(at))
}

fn dismiss(write: &Write<'_>, follower: &FollowerName) -> Result<(), Fault> {
    write.prepared("DELETE FROM followers WHERE name = ?1")?.execute([follower.as_str()])?;
    Ok(())
}

fn move_on(
    write: &Write<'_>,
    follower: &FollowerName,
    from: Position,
    to: Position,
    effect: &PreparedEffect,
) -> Result<Advanced, Fault> {
    let moved = write.prepared("UPDATE followers SET position = ?3 WHERE name = ?1 AND position = ?2")?.execute((
        follower.as_str(),
        from.0,
        to.0,
    ))?;
    if moved == 0 {
        return Ok(Advanced::Overtaken);
    }
    effect.write(write)?;
    Ok(Advanced::Done)
}

/// Which rows of the change log nobody needs any more: its beginning, up to the first that is young or that a follower has not read.
/// A row that a clock set back has dated before its neighbours stays with them, so that what is gone is always a beginning.
pub(crate) struct OldChanges {
    until: Timestamp,
    /// The follower that has read least, and how far that is.
    last_reader: Option<(FollowerName, Position)>,
    /// And up to here nobody is waited for.
    unread_until: Timestamp,
}

impl OldChanges {
    pub fn find(write: &Write<'_>, until: Timestamp) -> Result<Self, Fault> {
        let last_reader = write
            .prepared("SELECT name, position FROM followers WHERE holds_log = 1 ORDER BY position, name LIMIT 1")?
            .query_row([], |row| Ok((FollowerName::from_stored(row.get("name")?), Position(row.get("position")?))))
            .optional()?;
        Ok(Self { until, last_reader, unread_until: write.now.minus(UNREAD_KEPT) })
    }

    pub fn prune(self, write: &Write<'_>, limit: usize) -> Result<PruneStep, Fault> {
        let (mut last, mut held_by) = (None, None);
        {
            let mut statement = write.prepared("SELECT position, at FROM changes ORDER BY position LIMIT ?1")?;
            let mut rows = statement.query([i64::try_from(limit).unwrap_or(i64::MAX)])?;
            while let Some(row) = rows.next()? {
                let (position, at) = (Position(row.get("position")?), Timestamp::from_micros(row.get("at")?));
                if at > self.until {
                    break;
                }
                held_by = self.last_reader.as_ref().filter(|(_, read)| position > *read && at > self.unread_until);
                if held_by.is_some() {
                    break;
                }
                last = Some(position);
            }
        }
        let held_by = held_by.map(|(name, _)| name.clone());
        let removed = match last {
            Some(last) => write.prepared("DELETE FROM changes WHERE position <= ?1")?.execute([last.0])?,
            None => 0,
        };
        Ok(PruneStep { held_by, ..PruneStep::of(removed, limit) })
    }
}
