//! Keeps one cause from filling the audit log.
//!
//! An entry is kept for months. What one key does to one tenant under one name is written down each time up to
//! [`LISTED`] times in an hour; then every thousandth, which says so. Flooding the log with pauses hides no other act,
//! for each has a count of its own. Every request stands in the process's log besides.
//!
//! Each process counts for itself, in memory and bounded: one that starts anew, or has forgotten a cause, lists it from
//! the beginning.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::audit::{Act, Actor};
use tokio::time::Instant;

/// Entries of one cause in an hour that are all written; beyond them one in so many.
const LISTED: u64 = 1_000;
const HOUR: Duration = Duration::from_hours(1);
/// So many causes are counted at once; then those whose hour is over are forgotten, and if that is not enough all are.
const MOST_CAUSES: usize = 10_000;

#[derive(Default)]
pub(crate) struct Bounds {
    causes: Mutex<HashMap<Cause, Hour>>,
}

#[derive(PartialEq, Eq, Hash)]
struct Cause {
    tenant: TenantId,
    actor: String,
    action: String,
}

struct Hour {
    began: Instant,
    count: u64,
}

impl Bounds {
    /// The entry as it is to be written; nothing where it is only counted.
    pub fn admit<'a>(&self, act: &'a Act) -> Option<Cow<'a, Act>> {
        let count = self.count(act);
        // One command on the database itself is one process, and each of its acts was typed.
        if count <= LISTED || act.actor == Actor::Direct {
            return Some(Cow::Borrowed(act));
        }
        if !count.is_multiple_of(LISTED) {
            return None;
        }
        let object = format!("{} (number {count} this hour; those in between are not listed)", act.object);
        Some(Cow::Owned(Act { object, ..act.clone() }))
    }

    fn count(&self, act: &Act) -> u64 {
        let cause = Cause { tenant: act.tenant.clone(), actor: act.actor.to_string(), action: act.action.clone() };
        // Nothing in here can panic half way through a change.
        let mut causes = self.causes.lock().unwrap_or_else(PoisonError::into_inner);
        if causes.len() >= MOST_CAUSES && !causes.contains_key(&cause) {
            causes.retain(|_, hour| hour.began.elapsed() < HOUR);
            if causes.len() >= MOST_CAUSES {
                causes.clear();
            }
        }
        let hour = causes.entry(cause).or_insert_with(|| Hour { began: Instant::now(), count: 0 });
        if hour.began.elapsed() >= HOUR {
            *hour = Hour { began: Instant::now(), count: 0 };
        }
        hour.count += 1;
        hour.count
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::audit::Actor;

    use super::*;

    fn act(action: &str) -> Act {
        Act {
            tenant: TenantId::default(),
            actor: Actor::Nobody,
            action: action.into(),
            object: "queue/mail".into(),
            status: 200,
            request: None,
            peer: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_done_very_often_is_listed_now_and_then() {
        let bounds = Bounds::default();
        let listed = |times: u64| (0..times).filter(|_| bounds.admit(&act("queue.pause")).is_some()).count();
        assert_eq!(listed(1_000), 1_000);
        assert_eq!(listed(999), 0);
        let marked = bounds.admit(&act("queue.pause")).expect("the two thousandth").into_owned();
        assert_eq!(marked.object, "queue/mail (number 2000 this hour; those in between are not listed)");
        assert_eq!(listed(100_000), 100);
        assert!(bounds.admit(&act("webhook.create")).is_some(), "it hides nothing else");
        tokio::time::advance(HOUR).await;
        assert_eq!(listed(1_000), 1_000, "an hour later it is listed again");
    }

    #[tokio::test(start_paused = true)]
    async fn many_causes_do_not_fill_the_memory() {
        let bounds = Bounds::default();
        for number in 0..MOST_CAUSES * 3 {
            assert!(bounds.admit(&act(&number.to_string())).is_some());
        }
        assert!(bounds.causes.lock().expect("whole").len() <= MOST_CAUSES);
    }
}
