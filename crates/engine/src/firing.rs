//! Firing schedules: from what is due to what the store is asked for.
//!
//! Shared by the scheduler, which fires on time, and by the desk, which fires what is due before it changes a schedule.
//! Both may do so at once, and as often as they like: a tick is fired once because of its key, and a firing that was
//! computed from an older state is refused.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{DueSchedule, Fired, Firing, JobStore, Leader, NewTick, ScheduleStore, StoreError, TickAct};
use foreman_core::schedule::{Planned, PlannedTick, plan};
use foreman_core::spec::Invalid;
use foreman_core::{JobId, ScheduleId, TenantId, Timestamp};

use crate::outage::bounded;

/// A schedule's firing, and whose schedule it is.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub tenant: TenantId,
    pub firing: Firing,
}

/// What is to be done about a schedule now. An error when the schedule cannot be read: a zone that this binary does not
/// know, or an expression of a later version.
pub(crate) fn prepare(due: &DueSchedule, now: Timestamp, missed_after: Duration) -> Result<Ready, Invalid> {
    let DueSchedule { schedule, seen } = due;
    let rule = schedule.rule()?;
    let planned = match seen.next.filter(|next| *next <= now) {
        Some(next) => plan(&rule, next, now, missed_after),
        None => Planned { ticks: Vec::new(), next: seen.next },
    };
    let tick = |planned: &PlannedTick| match *planned {
        PlannedTick::Fire { nominal } => NewTick { nominal, act: TickAct::Fire(schedule.job_at(nominal, rule.jitter)) },
        PlannedTick::Skip { first, last, count } => NewTick { nominal: first, act: TickAct::Miss { last, count } },
    };
    let firing = Firing {
        schedule: schedule.id,
        seen: *seen,
        overlap: rule.overlap,
        release: seen.held.map(|nominal| schedule.job_now(nominal)),
        ticks: planned.ticks.iter().map(tick).collect(),
        next: planned.next,
    };
    Ok(Ready { tenant: schedule.tenant.clone(), firing })
}

/// What a round of firing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    pub jobs: Vec<JobId>,
    /// Not what they were any more: others fired or changed them.
    pub stale: Vec<ScheduleId>,
}

/// Both halves of a store that firing needs.
#[derive(Clone)]
pub(crate) struct Gun {
    pub schedules: Arc<dyn ScheduleStore>,
    pub jobs: Arc<dyn JobStore>,
    pub call_timeout: Duration,
}

/// Cancelling makes room at once, so a second round finds something open only when others fire at the same time.
const ROUNDS: usize = 3;

impl Gun {
    /// Fires them all; `None` when the leader's term is over.
    pub async fn fire(&self, leader: Option<&Leader>, mut ready: Vec<Ready>) -> Result<Option<Round>, StoreError> {
        let mut done = Round::default();
        for _ in 0..ROUNDS {
            if ready.is_empty() {
                break;
            }
            let firings: Vec<Firing> = ready.iter().map(|ready| ready.firing.clone()).collect();
            let Some(answers) = bounded(self.call_timeout, self.schedules.fire(leader, &firings)).await? else {
                return Ok(None);
            };
            let mut again = Vec::new();
            for (ready, fired) in ready.into_iter().zip(answers) {
                match fired {
                    Fired::Done(jobs) => done.jobs.extend(jobs),
                    Fired::Stale => done.stale.push(ready.firing.schedule),
                    Fired::CancelFirst(open) => {
                        bounded(self.call_timeout, self.jobs.cancel(&ready.tenant, &open)).await?;
                        again.push(ready);
                    }
                }
            }
            ready = again;
        }
        done.stale.extend(ready.into_iter().map(|ready| ready.firing.schedule));
        Ok(Some(done))
    }
}
