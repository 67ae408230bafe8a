//! "Look now": hints that save waiting for the next poll. They may be lost or doubled; a poll backs each of them up.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::watch;

/// Rung by a store after its commit, heard by loops before they look.
pub trait Wakeups: Send + Sync {
    fn ring(&self, topic: Topic);

    /// A receiver that changes at every ring. Mark it seen *before* looking for work: what is rung while one looks then
    /// wakes the next wait.
    fn listen(&self, topic: Topic) -> watch::Receiver<u64>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// A job is due, or a queue was resumed: claim.
    Ready,
    /// A job was put off, or its `expires_at` may come first: the promoter looks when the next is due.
    Waiting,
    /// A held job was cancelled: its worker looks at what it still holds.
    Cancelled,
    /// The change log has grown.
    Changed,
    /// A schedule was made or edited: its next tick may come first.
    Scheduled,
    /// A leader has resigned: its office can be had.
    Resigned,
    /// A process has lost the quicker of two ways on which rings travel: the others use both for a while.
    Unheard,
}

impl Topic {
    pub const ALL: [Topic; 7] = [
        Topic::Ready,
        Topic::Waiting,
        Topic::Cancelled,
        Topic::Changed,
        Topic::Scheduled,
        Topic::Resigned,
        Topic::Unheard,
    ];
}

const NAMES: [(Topic, &str); Topic::ALL.len()] = [
    (Topic::Ready, "ready"),
    (Topic::Waiting, "waiting"),
    (Topic::Cancelled, "cancelled"),
    (Topic::Changed, "changed"),
    (Topic::Scheduled, "scheduled"),
    (Topic::Resigned, "resigned"),
    (Topic::Unheard, "unheard"),
];

impl Topic {
    /// Whether some loop has something to look at then.
    pub fn is_about_work(self) -> bool {
        self != Topic::Unheard
    }

    /// As messages between processes name it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// The topic of that name. One that is not known comes from a later version, and is not for us.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(topic, _)| *topic)
    }
}

/// What was rung and not yet sent to other processes: any number of rings of a topic are one message.
#[derive(Debug, Default)]
pub struct RungTopics(AtomicU8);

impl RungTopics {
    pub fn add(&self, topic: Topic) {
        self.0.fetch_or(bit(topic), Ordering::Release);
    }

    /// All of them; from now on none.
    pub fn take(&self) -> Vec<Topic> {
        let rung = self.0.swap(0, Ordering::Acquire);
        Topic::ALL.into_iter().filter(|topic| rung & bit(*topic) != 0).collect()
    }

    /// What the next message is to carry. Where a job fell due, the growth of the log is left for the message after it: those who
    /// read the log would otherwise start at the same moment as the claim that somebody waits for, and take the machine from it.
    pub fn take_next(&self) -> Vec<Topic> {
        let rung = self.0.swap(0, Ordering::Acquire);
        let both = bit(Topic::Ready) | bit(Topic::Changed);
        let is_put_off = rung & both == both && rung & PUT_OFF == 0;
        if is_put_off {
            self.0.fetch_or(bit(Topic::Changed) | PUT_OFF, Ordering::Release);
        }
        let is_next = |topic: &Topic| rung & bit(*topic) != 0 && !(is_put_off && *topic == Topic::Changed);
        Topic::ALL.into_iter().filter(is_next).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// The growth of the log was left out of a message, and is not left out of the next.
const PUT_OFF: u8 = 1 << 7;

fn bit(topic: Topic) -> u8 {
    let place = Topic::ALL.iter().position(|known| *known == topic).unwrap_or_default();
    1 << place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_a_bit_and_a_name_of_its_own() {
        let bits: u8 = Topic::ALL.into_iter().map(bit).fold(0, |all, bit| all | bit);
        assert_eq!(bits.count_ones() as usize, Topic::ALL.len());
        assert_eq!(bits & PUT_OFF, 0);
        for topic in Topic::ALL {
            assert_eq!(Topic::named(topic.name()), Some(topic));
        }
        assert_eq!(Topic::named("of a later version"), None);
    }

    #[test]
    fn what_was_rung_is_taken_once() {
        let rung = RungTopics::default();
        for topic in [Topic::Resigned, Topic::Ready, Topic::Ready] {
            rung.add(topic);
        }
        assert!(!rung.is_empty());
        assert_eq!(rung.take(), [Topic::Ready, Topic::Resigned]);
        assert!(rung.is_empty() && rung.take().is_empty());
    }

    #[test]
    fn the_growth_of_the_log_is_told_one_message_after_a_job_that_fell_due() {
        let rung = RungTopics::default();
        let ring = |topics: &[Topic]| topics.iter().for_each(|topic| rung.add(*topic));
        ring(&[Topic::Changed]);
        assert_eq!(rung.take_next(), [Topic::Changed], "alone it goes at once");
        ring(&[Topic::Ready, Topic::Changed, Topic::Waiting]);
        assert_eq!(rung.take_next(), [Topic::Ready, Topic::Waiting]);
        assert!(!rung.is_empty());
        ring(&[Topic::Ready, Topic::Changed]);
        assert_eq!(rung.take_next(), [Topic::Ready, Topic::Changed], "not put off twice");
        assert!(rung.is_empty());
        ring(&[Topic::Ready, Topic::Changed]);
        assert_eq!(rung.take_next(), [Topic::Ready]);
        assert_eq!(rung.take(), [Topic::Changed], "nothing is lost");
        assert!(rung.is_empty());
    }
}
