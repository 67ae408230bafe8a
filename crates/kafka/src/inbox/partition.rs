//! Which messages of a partition are settled, and up to where that may be committed.
//!
//! Kafka keeps one number for each partition: everything below it is done. Messages are settled in any order, so the number is the
//! lowest offset that is not, whatever was settled above it.

use std::collections::VecDeque;

use crate::topics::TopicKind;

/// A partition while this process has it.
#[derive(Debug)]
pub(crate) struct OwnPartition {
    pub topic: TopicKind,
    pub number: i32,
    /// What was received and is not below the lowest unsettled offset: offset, and whether it is settled.
    open: VecDeque<(i64, bool)>,
    /// The offset after the last one received; `None` before the first.
    next: Option<i64>,
    /// What was committed last; `None`: nothing yet, or it is unknown whether.
    committed: Option<i64>,
}

impl OwnPartition {
    pub fn new(topic: TopicKind, number: i32) -> Self {
        Self { topic, number, open: VecDeque::new(), next: None, committed: None }
    }

    /// `false`: it lies before what was received already, so this is another log under the same name.
    pub fn received(&mut self, offset: i64) -> bool {
        if self.next.is_some_and(|next| offset < next) {
            return false;
        }
        self.open.push_back((offset, false));
        self.next = Some(offset + 1);
        true
    }

    pub fn settled(&mut self, offset: i64) {
        if let Ok(place) = self.open.binary_search_by_key(&offset, |(offset, _)| *offset) {
            self.open[place].1 = true;
        }
        while self.open.front().is_some_and(|(_, settled)| *settled) {
            self.open.pop_front();
        }
    }

    /// Everything below this is settled. `None` before anything was received.
    pub fn position(&self) -> Option<i64> {
        self.open.front().map(|(offset, _)| *offset).or(self.next)
    }

    /// The offset after the last one received.
    pub fn next(&self) -> Option<i64> {
        self.next
    }

    /// What is to be committed, if that is not done yet; from now on it is.
    pub fn commit(&mut self) -> Option<i64> {
        let position = self.position().filter(|position| Some(*position) != self.committed)?;
        self.committed = Some(position);
        Some(position)
    }

    /// A commit failed: it is done again with the next.
    pub fn uncommitted(&mut self) {
        self.committed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_the_lowest_that_is_not_settled() {
        let mut partition = OwnPartition::new(TopicKind::High, 0);
        assert_eq!(partition.commit(), None);
        // 12 is not there: Kafka leaves gaps.
        for offset in [10, 11, 13, 14] {
            assert!(partition.received(offset));
        }
        partition.settled(13);
        assert_eq!(partition.position(), Some(10));
        partition.settled(10);
        assert_eq!((partition.commit(), partition.commit()), (Some(11), None), "once is enough");
        partition.settled(11);
        assert_eq!(partition.commit(), Some(14), "13 was settled before");
        partition.settled(14);
        partition.settled(14);
        partition.settled(99);
        assert_eq!(partition.commit(), Some(15));
        partition.uncommitted();
        assert_eq!(partition.commit(), Some(15), "a commit that failed is done again");
    }

    #[test]
    fn an_offset_from_before_belongs_to_another_log() {
        let mut partition = OwnPartition::new(TopicKind::High, 0);
        assert!(partition.received(500) && partition.received(501));
        assert!(!partition.received(0) && !partition.received(501));
        assert_eq!(partition.next(), Some(502));
    }
}
