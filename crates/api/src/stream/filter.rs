//! What of all that happens one client wants to see, and may.

use foreman_core::JobId;
use foreman_core::job::QueueName;
use foreman_core::ports::{Moved, Note};

/// What a client may see beside jobs and queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights {
    pub schedules: bool,
    /// For operators.
    pub workers: bool,
}

impl Rights {
    /// All that rights can be.
    pub const COUNT: usize = 4;

    pub fn index(self) -> usize {
        usize::from(self.schedules) + 2 * usize::from(self.workers)
    }
}

/// Or within one list, and between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamFilter {
    pub jobs: Option<Vec<JobId>>,
    pub queues: Option<Vec<QueueName>>,
    pub kinds: Option<Vec<String>>,
    pub tags: Option<Vec<String>>,
}

impl StreamFilter {
    /// Takes everything.
    pub fn is_open(&self) -> bool {
        self.jobs.is_none() && self.queues.is_none() && !self.asks_for_labels()
    }

    /// What the log tells of a move is not enough to decide.
    pub fn asks_for_labels(&self) -> bool {
        self.kinds.is_some() || self.tags.is_some()
    }

    /// As far as the log tells.
    pub fn takes_move(&self, moved: &Moved) -> bool {
        self.takes(moved.id, &moved.queue)
    }

    pub fn takes(&self, job: JobId, queue: &QueueName) -> bool {
        self.jobs.as_ref().is_none_or(|jobs| jobs.contains(&job)) && self.takes_queue(queue)
    }

    pub fn takes_labels(&self, kind: Option<&str>, tags: &[String]) -> bool {
        let is_kind = |kinds: &Vec<String>| kind.is_some_and(|kind| kinds.iter().any(|one| one == kind));
        self.kinds.as_ref().is_none_or(is_kind)
            && self.tags.as_ref().is_none_or(|wanted| wanted.iter().any(|tag| tags.contains(tag)))
    }

    /// Whoever asks for jobs does not want to hear of anything else; whoever asks for queues hears of those.
    pub fn takes_note(&self, note: &Note) -> bool {
        match note {
            Note::Queue { queue, .. } => self.jobs.is_none() && !self.asks_for_labels() && self.takes_queue(queue),
            Note::Tick { .. } | Note::Schedule { .. } | Note::Worker { .. } => self.is_open(),
            Note::Unknown => false,
        }
    }

    fn takes_queue(&self, queue: &QueueName) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.contains(queue))
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::ports::SessionState;
    use foreman_core::{SessionId, TenantId};

    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::from_stored(name)
    }

    #[test]
    fn lists_are_or_and_between_them_is_and() {
        let (one, two, other) = (JobId::fresh(), JobId::fresh(), JobId::fresh());
        let filter = StreamFilter {
            jobs: Some(vec![one, two]),
            queues: Some(vec![queue("a"), queue("b")]),
            ..StreamFilter::default()
        };
        assert!(filter.takes(one, &queue("a")) && filter.takes(two, &queue("b")));
        assert!(!filter.takes(other, &queue("a")) && !filter.takes(one, &queue("c")));
        let labels = StreamFilter {
            kinds: Some(vec!["k".into()]),
            tags: Some(vec!["x".into(), "y".into()]),
            ..StreamFilter::default()
        };
        assert!(labels.takes_labels(Some("k"), &["z".into(), "y".into()]));
        assert!(!labels.takes_labels(Some("k"), &["z".into()]) && !labels.takes_labels(None, &["x".into()]));
        assert!(StreamFilter::default().takes_labels(None, &[]));
    }

    #[test]
    fn what_is_no_job_is_for_those_who_do_not_ask_for_jobs() {
        let paused = Note::Queue { tenant: TenantId::default(), queue: queue("a"), is_paused: true };
        let worker = Note::Worker { session: SessionId::fresh(), worker: "w".into(), state: SessionState::Live };
        let of_queue = |name: &str| StreamFilter { queues: Some(vec![queue(name)]), ..StreamFilter::default() };
        let of_kind = StreamFilter { kinds: Some(vec!["k".into()]), ..of_queue("a") };
        for (filter, expected) in [
            (StreamFilter::default(), (true, true)),
            (of_queue("a"), (true, false)),
            (of_queue("b"), (false, false)),
            (of_kind, (false, false)),
            (StreamFilter { jobs: Some(vec![JobId::fresh()]), ..StreamFilter::default() }, (false, false)),
        ] {
            assert_eq!((filter.takes_note(&paused), filter.takes_note(&worker)), expected, "{filter:?}");
        }
        assert!(!StreamFilter::default().takes_note(&Note::Unknown));
    }
}
