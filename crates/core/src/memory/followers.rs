//! Where followers of the change log are, and what they write when they move.

use async_trait::async_trait;

use super::Store;
use super::places::Places;
use super::rules::Rule;
use crate::ports::{Advance, Advanced, Begin, Effect, FollowerName, Followers, Leader, Position, StoreError};
use crate::time::Timestamp;

/// There are no terms: one process has it for itself.
#[async_trait]
impl Followers for Store {
    async fn follow(
        &self,
        _leader: Option<&Leader>,
        follower: &FollowerName,
        begin: Begin,
    ) -> Result<Option<Position>, StoreError> {
        Ok(Some(self.write(|places, _| places.follow(follower, begin))))
    }

    async fn advance(&self, _leader: Option<&Leader>, advance: &Advance) -> Result<Option<Advanced>, StoreError> {
        Ok(Some(self.write(|places, now| places.advance(advance, now))))
    }

    async fn dismiss(&self, _leader: Option<&Leader>, follower: &FollowerName) -> Result<Option<()>, StoreError> {
        self.write(|places, _| places.dismiss(follower));
        Ok(Some(()))
    }
}

impl Places {
    pub fn follow(&mut self, follower: &FollowerName, begin: Begin) -> Position {
        let position = match begin {
            Begin::Start => Position::default(),
            Begin::End => self.head(),
        };
        *self.followers.entry(follower.clone()).or_insert(position)
    }

    pub fn dismiss(&mut self, follower: &FollowerName) {
        self.followers.remove(follower);
    }

    pub fn advance(&mut self, advance: &Advance, now: Timestamp) -> Advanced {
        let Advance { follower, from, to, effect } = advance;
        if self.followers.get(follower) != Some(from) && self.rules.has(Rule::AdvanceCompares) {
            return Advanced::Overtaken;
        }
        self.followers.insert(follower.clone(), *to);
        match effect {
            Effect::Nothing => {}
            Effect::Deliveries(deliveries) => deliveries.iter().for_each(|delivery| self.deliver(delivery, now)),
            Effect::Counts(entries) => self.books.add(entries),
        }
        Advanced::Done
    }

    /// A follower that has not read a row of the log, the one furthest behind; none when nobody needs the row any more.
    pub fn unread_by(&self, position: Position) -> Option<&FollowerName> {
        let (name, read) = self.followers.iter().min_by_key(|(_, read)| **read)?;
        (position > *read && self.rules.has(Rule::PruneWaitsForFollowers)).then_some(name)
    }
}
