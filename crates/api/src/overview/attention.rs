//! What a person should look at, each in a sentence that says what it means.

use std::collections::BTreeMap;
use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::document::{AttentionDocument, AttentionKind};
use foreman_core::duration;
use foreman_core::ports::{Counted, Overdue, QueueView, SessionState, SessionView, WaitingTask};
use foreman_core::webhook::{Disabled, Webhook};

/// So many of one kind are told one by one; of more, how many more there are.
const ONE_BY_ONE: usize = 5;

/// A scheduler that changes hands takes seconds; one that is later than this is not there, or cannot keep up.
const LATE: Duration = Duration::from_secs(30);

pub(super) fn dead_jobs(dead: Counted) -> Option<AttentionDocument> {
    if dead.count == 0 {
        return None;
    }
    let least = if dead.is_estimate { "at least " } else { "" };
    let (jobs, them) = if dead.count == 1 { ("job is", "it") } else { ("jobs are", "them") };
    let detail = format!("{least}{} {jobs} dead. Retry or delete {them}", dead.count);
    Some(AttentionDocument {
        count: dead.count,
        estimate: dead.is_estimate,
        ..item(AttentionKind::DeadJobs, sentence(&detail))
    })
}

/// In the last hour: failed jobs are removed after their retention, so that a deploy of last month needs nobody.
pub(super) fn failed_jobs(failed: Counted) -> Option<AttentionDocument> {
    if failed.count == 0 {
        return None;
    }
    let least = if failed.is_estimate { "at least " } else { "" };
    let jobs = if failed.count == 1 { "job" } else { "jobs" };
    let detail = format!("{least}{} {jobs} failed in the last hour", failed.count);
    Some(AttentionDocument {
        count: failed.count,
        estimate: failed.is_estimate,
        ..item(AttentionKind::FailedJobs, sentence(&detail))
    })
}

/// Task by task, whatever queues their jobs are in.
pub(super) fn unserved_tasks(unserved: &[&WaitingTask]) -> Vec<AttentionDocument> {
    let mut of_tasks: BTreeMap<&str, Counted> = BTreeMap::new();
    for WaitingTask { task, counted, .. } in unserved {
        let sum = of_tasks.entry(task).or_default();
        sum.count += counted.count;
        sum.is_estimate |= counted.is_estimate;
    }
    let mut tasks: Vec<(&str, Counted)> = of_tasks.into_iter().collect();
    tasks.sort_by_key(|(_, counted)| std::cmp::Reverse(counted.count));
    let tell = |(task, counted): &(&str, Counted)| {
        let least = if counted.is_estimate { "at least " } else { "" };
        let jobs = if counted.count == 1 { "job waits" } else { "jobs wait" };
        let detail = format!("{least}{} {jobs} for the task {task:?}, which no connected worker runs", counted.count);
        AttentionDocument {
            count: counted.count,
            estimate: counted.is_estimate,
            subject: Some((*task).to_owned()),
            ..item(AttentionKind::NoWorker, sentence(&detail))
        }
    };
    some_and_how_many_more(&tasks, tell, AttentionKind::NoWorker, "tasks have jobs but no worker")
}

pub(super) fn paused_queues(queues: &[QueueView]) -> Vec<AttentionDocument> {
    let paused: Vec<&QueueView> = queues.iter().filter(|queue| queue.is_paused).collect();
    let tell = |queue: &&QueueView| {
        let waiting = queue.waiting.scheduled + queue.waiting.pending + queue.waiting.retrying;
        let wait = match waiting {
            0 => "it has no waiting jobs".to_owned(),
            1 => "it has one waiting job".to_owned(),
            several => format!("it has {several} waiting jobs"),
        };
        AttentionDocument {
            count: waiting,
            subject: Some(queue.queue.to_string()),
            ..item(AttentionKind::PausedQueue, format!("The queue {} is paused; {wait}.", queue.queue))
        }
    };
    some_and_how_many_more(&paused, tell, AttentionKind::PausedQueue, "queues are paused")
}

/// `lapsed` are among `all`.
pub(super) fn lapsed_workers(lapsed: &[&SessionView], all: &[SessionView]) -> Vec<AttentionDocument> {
    let tell = |session: &&SessionView| {
        let is_back = all.iter().any(|other| other.worker == session.worker && other.state == SessionState::Live);
        let since = if is_back { "; a worker of that name is running again" } else { "" };
        let detail = format!(
            "The worker {} stopped responding; its jobs were taken back and will run again{since}.",
            session.worker
        );
        AttentionDocument {
            subject: Some(session.worker.clone()),
            since: Some(session.renewed_at),
            ..item(AttentionKind::LapsedWorker, detail)
        }
    };
    some_and_how_many_more(lapsed, tell, AttentionKind::LapsedWorker, "workers stopped responding within the last hour")
}

pub(super) fn late_schedules(overdue: &Overdue, now: Timestamp) -> Option<AttentionDocument> {
    let longest = overdue.longest.filter(|longest| *longest > LATE)?;
    let least = if overdue.counted.is_estimate { "at least " } else { "" };
    let late = duration::format(Duration::from_secs(longest.as_secs()));
    let schedules = match overdue.counted.count {
        1 => format!("a schedule is {late} late"),
        several => format!("{least}{several} schedules are late, by up to {late}"),
    };
    Some(AttentionDocument {
        count: overdue.counted.count,
        estimate: overdue.counted.is_estimate,
        since: Some(now.minus(longest)),
        ..item(AttentionKind::LateSchedules, sentence(&format!("{schedules}: is a scheduler running?")))
    })
}

/// What its owner disabled is as the owner wants it.
pub(super) fn disabled_webhooks(webhooks: &[Webhook]) -> Vec<AttentionDocument> {
    let disabled: Vec<(&Webhook, Disabled)> = webhooks
        .iter()
        .filter_map(|webhook| Some((webhook, webhook.settings.disabled?)))
        .filter(|(_, why)| *why != Disabled::ByOwner)
        .collect();
    let tell = |(webhook, why): &(&Webhook, Disabled)| {
        // The address is told by its host alone: what comes after it may be a secret.
        let host = webhook.settings.url.host_str().unwrap_or("?");
        let detail = match why {
            Disabled::Gone => format!("The webhook to {host} answered 410 Gone and was disabled."),
            Disabled::Failing | Disabled::ByOwner => {
                format!("The webhook to {host} was disabled: every delivery had failed for five days.")
            }
        };
        AttentionDocument {
            subject: Some(webhook.id.to_string()),
            since: webhook.failing_since,
            ..item(AttentionKind::DisabledWebhook, detail)
        }
    };
    some_and_how_many_more(&disabled, tell, AttentionKind::DisabledWebhook, "webhooks are disabled")
}

/// A page that lists a thousand of one kind shows nothing.
fn some_and_how_many_more<T>(
    all: &[T],
    tell: impl Fn(&T) -> AttentionDocument,
    kind: AttentionKind,
    what: &str,
) -> Vec<AttentionDocument> {
    let mut items: Vec<AttentionDocument> = all.iter().take(ONE_BY_ONE).map(tell).collect();
    let more = all.len().saturating_sub(ONE_BY_ONE);
    if more > 0 {
        let detail = format!("{more} more {what}.");
        items.push(AttentionDocument { count: more as u64, ..item(kind, detail) });
    }
    items
}

fn item(kind: AttentionKind, detail: String) -> AttentionDocument {
    AttentionDocument { kind, count: 1, estimate: false, subject: None, detail, since: None }
}

/// With a capital at its beginning and a full stop at its end, unless it asks.
fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let end = if fragment.ends_with('?') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use foreman_core::SessionId;
    use foreman_core::ports::WaitingCounts;

    use super::*;

    fn queue(name: &str, is_paused: bool, pending: u64) -> QueueView {
        QueueView {
            queue: name.parse().expect("a queue's name"),
            is_paused,
            waiting: WaitingCounts { pending, ..WaitingCounts::default() },
            running: 0,
            oldest_wait: None,
            finished_last_minute: 0,
        }
    }

    fn session(worker: &str, state: SessionState) -> SessionView {
        SessionView {
            id: SessionId::fresh(),
            worker: worker.into(),
            pid: 1,
            version: "0".into(),
            state,
            slots: 1,
            queues: Vec::new(),
            tasks: None,
            running: 0,
            started_at: Timestamp::from_micros(0),
            renewed_at: Timestamp::from_micros(7),
        }
    }

    #[test]
    fn dead_jobs_are_told_with_how_many_there_are_at_least() {
        assert!(dead_jobs(Counted::default()).is_none());
        let detail = |count, is_estimate| dead_jobs(Counted { count, is_estimate }).expect("some").detail;
        assert_eq!(detail(1, false), "1 job is dead. Retry or delete it.");
        assert!(detail(1_000, true).starts_with("At least 1000 jobs are dead"));
    }

    #[test]
    fn failed_jobs_are_told_with_how_many_there_are_at_least() {
        assert!(failed_jobs(Counted::default()).is_none());
        let detail = |count, is_estimate| failed_jobs(Counted { count, is_estimate }).expect("some").detail;
        assert_eq!(detail(1, false), "1 job failed in the last hour.");
        assert!(detail(1_000, true).starts_with("At least 1000 jobs failed in the last hour"));
    }

    #[test]
    fn a_task_without_a_worker_is_told_once_for_all_its_queues() {
        let waiting = |task: &str, queue: &str, count| WaitingTask {
            task: task.into(),
            queue: queue.parse().expect("a queue's name"),
            counted: Counted { count, is_estimate: false },
        };
        let all = [waiting("send", "a", 2), waiting("print", "a", 1), waiting("send", "b", 1)];
        let told = unserved_tasks(&all.iter().collect::<Vec<_>>());
        let details: Vec<_> =
            told.iter().map(|item| (item.subject.as_deref(), item.count, item.detail.as_str())).collect();
        let expected = [
            (Some("send"), 3, "3 jobs wait for the task \"send\", which no connected worker runs."),
            (Some("print"), 1, "1 job waits for the task \"print\", which no connected worker runs."),
        ];
        assert_eq!(details, expected);
        assert!(unserved_tasks(&[]).is_empty());
    }

    #[test]
    fn of_many_paused_queues_a_few_are_named_and_the_rest_counted() {
        let few = paused_queues(&[queue("a", true, 0), queue("b", false, 9), queue("c", true, 3)]);
        let told: Vec<_> = few.iter().map(|item| (item.subject.as_deref(), item.count, item.detail.as_str())).collect();
        assert_eq!(
            told,
            [
                (Some("a"), 0, "The queue a is paused; it has no waiting jobs."),
                (Some("c"), 3, "The queue c is paused; it has 3 waiting jobs."),
            ]
        );
        let many: Vec<QueueView> = (0..8).map(|n| queue(&format!("q{n}"), true, 0)).collect();
        let told = paused_queues(&many);
        let last = told.last().expect("some");
        assert_eq!((told.len(), last.count, last.subject.as_deref()), (6, 3, None));
        assert_eq!(last.detail, "3 more queues are paused.");
    }

    #[test]
    fn a_worker_that_came_back_is_told_to_be_back() {
        let all = [
            session("one", SessionState::Live),
            session("one", SessionState::Dead),
            session("two", SessionState::Dead),
        ];
        let told = lapsed_workers(&[&all[1], &all[2]], &all);
        assert!(told[0].detail.ends_with("; a worker of that name is running again."), "{}", told[0].detail);
        assert!(told[1].detail.ends_with("and will run again."), "{}", told[1].detail);
        assert_eq!(told[1].since, Some(Timestamp::from_micros(7)));
    }

    #[test]
    fn a_schedule_is_late_once_it_is_late_by_more_than_a_change_of_hands() {
        let now = Timestamp::from_micros(1_763_200_000_000_000);
        let overdue = |count, longest| Overdue { counted: Counted { count, is_estimate: false }, longest };
        assert!(late_schedules(&overdue(0, None), now).is_none());
        assert!(late_schedules(&overdue(3, Some(LATE)), now).is_none());
        let late = late_schedules(&overdue(1, Some(Duration::from_secs(125))), now).expect("late");
        assert_eq!(late.detail, "A schedule is 2m5s late: is a scheduler running?");
        assert_eq!(late.since, Some(now.minus(Duration::from_secs(125))));
    }
}
