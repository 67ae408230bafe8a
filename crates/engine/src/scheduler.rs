//! Fires schedules when their time has come.
//!
//! Sleeps until the earliest tick, a schedule is made or changed (its tick may come first), or its poll period is over.
//! One of many works at a time, the one that leads; but that is for the sake of the database alone. A scheduler that was
//! paused past its term and goes on firing finds its term over, and if it did not, it would find every tick fired: the
//! key of a tick, not the leadership, is what fires it once. One that dies half way leaves a schedule as it was or as it
//! shall be, and its successor goes on from the tick that is due.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foreman_core::ScheduleId;
use foreman_core::ports::{DueSchedules, JobQuery, JobStore, ScheduleStore, StoreError, Topic, Wakeups};
use foreman_runtime::{Lead, Shutdown, Term, Ticker, WakeReason};
use tokio::time::{Instant, timeout};
use tracing::{debug, error};

use crate::backlog::Backlog;
use crate::firing::{Budget, Firer, ReadyFiring, prepare};
pub use crate::lag::Lag;
use crate::leader_only::LeaderOnly;
pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};
use crate::tenants::Tenants;

/// Between two looks, so that a flood of edits is one look.
const SHORTEST_NAP: Duration = Duration::from_millis(10);
/// When a look was full of what cannot be read.
const UNREADABLE_NAP: Duration = Duration::from_secs(1);
/// So many times as long as [`Config::poll`] it waits while nothing happens, and no longer than that.
const RESTING: (u32, Duration) = (6, Duration::from_secs(30));
/// So many unreadable schedules are remembered, and looked past.
const MOST_UNREADABLE: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look when nothing says that something is due, give or take a tenth; seldomer while nothing happens.
    pub poll: Duration,
    /// Schedules, and ticks of them, in one transaction.
    pub step: usize,
    /// A tick that is later than this is missed, and the schedule's policy decides. Longer than a change of leaders takes.
    pub missed_after: Duration,
    /// How often to see whether a held tick may go. Jobs end all the time; being asked at every end would be most of the work.
    pub held_poll: Duration,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(5),
            step: 500,
            missed_after: Duration::from_mins(1),
            held_poll: Duration::from_secs(1),
            call_timeout: Duration::from_secs(10),
        }
    }
}

/// What it has done since it started, for whoever counts.
#[derive(Clone, Debug, Default)]
pub struct SchedulerTally {
    fired: Arc<AtomicU64>,
}

impl SchedulerTally {
    /// Jobs made by ticks.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Relaxed)
    }
}

pub struct Scheduler {
    firer: Firer,
    wakeups: Arc<dyn Wakeups>,
    config: Config,
    led: LeaderOnly,
    lag: Lag,
    tally: SchedulerTally,
}

impl Scheduler {
    pub fn new(
        schedules: Arc<dyn ScheduleStore>,
        jobs: Arc<dyn JobStore>,
        wakeups: Arc<dyn Wakeups>,
        config: Config,
    ) -> Self {
        let firer = Firer { schedules, jobs, call_timeout: config.call_timeout, backlog: None };
        Self {
            firer,
            wakeups,
            config,
            led: LeaderOnly::default(),
            lag: Lag::default(),
            tally: SchedulerTally::default(),
        }
    }

    /// Works only while `lead` says that this process holds the `office`.
    #[must_use]
    pub fn led_by(self, office: impl Into<String>, lead: Lead) -> Self {
        Self { led: LeaderOnly::by(office, lead), ..self }
    }

    /// Holds each tenant to what it may have waiting, as counted in this store.
    #[must_use]
    pub fn limited_by(mut self, tenants: Arc<Tenants>, jobs: Arc<dyn JobQuery>) -> Self {
        self.firer.backlog = Some(Arc::new(Backlog::new(tenants, jobs, self.config.call_timeout)));
        self
    }

    pub fn lag(&self) -> Lag {
        self.lag.clone()
    }

    pub fn tally(&self) -> SchedulerTally {
        self.tally.clone()
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        let mut wake = self.wakeups.listen(Topic::Scheduled);
        let mut ticker = Ticker::new(self.config.poll, 0.1).resting((self.config.poll * RESTING.0).min(RESTING.1));
        let mut outage = Outage::new("scheduler");
        let mut unreadable = HashSet::new();
        loop {
            if self.led.is_waiting() {
                // Who does not lead is not behind.
                self.lag.set(Duration::ZERO);
            }
            let Some(term) = self.led.elected(&shutdown).await else { return Ok(()) };
            let fired = self.tally.fired();
            let Some(looked) = unless_aborted(&shutdown, self.fire_all(term, &mut unreadable, &shutdown)).await else {
                return Ok(());
            };
            let next = match looked {
                Ok(wait) => {
                    outage.is_over();
                    if self.tally.fired() > fired {
                        ticker.hurry();
                    }
                    wait.map(|wait| Instant::now() + wait)
                }
                Err(error) => Some(Instant::now() + outage.goes_on(error)?),
            };
            // Until draining; a wake-up meanwhile is heard right after.
            let _ = timeout(SHORTEST_NAP, shutdown.draining()).await;
            if ticker.next_until(next, &mut wake, &shutdown).await == WakeReason::Draining {
                return Ok(());
            }
        }
    }

    /// Step by step until nothing more is due, the term is over, or until draining. Answers how long to sleep.
    async fn fire_all(
        &self,
        term: Term,
        unreadable: &mut HashSet<ScheduleId>,
        shutdown: &Shutdown,
    ) -> Result<Option<Duration>, StoreError> {
        let mut late = 0;
        loop {
            if !self.led.holds(term) {
                return Ok(Some(Duration::ZERO));
            }
            let limit = self.config.step + unreadable.len();
            let look = bounded(self.config.call_timeout, self.firer.schedules.due_schedules(limit)).await?;
            let was_full = look.due.len().max(look.freed.len()) >= limit;
            // Before anything else: to work out what was missed in days takes a while, and whoever watches shall see why.
            self.note_lag(&look);
            let ready = self.ready(&look, unreadable).await;
            if ready.is_empty() {
                return Ok(self.sleep(&look, was_full));
            }
            let leader = self.led.leader(term);
            let Some(round) = self.firer.fire(leader.as_ref(), ready).await? else {
                self.led.until_deposed(term, shutdown).await;
                return Ok(Some(Duration::ZERO));
            };
            self.tally.fired.fetch_add(round.jobs.len() as u64, Ordering::Relaxed);
            if !round.jobs.is_empty() {
                debug!(jobs.count = round.jobs.len(), "fired {} jobs", round.jobs.len());
            }
            // Somebody else was faster: that is no reason to spin with them.
            late = if round.jobs.is_empty() { late + 1 } else { 0 };
            if late > 3 || shutdown.is_draining() {
                return Ok(Some(SHORTEST_NAP));
            }
        }
    }

    /// What cannot be read is not late: it never fires, and the log has said so.
    fn note_lag(&self, look: &DueSchedules) {
        let oldest = look.due.iter().find(|due| due.schedule.rule().is_ok()).and_then(|due| due.seen.next);
        self.lag.set(oldest.map_or(Duration::ZERO, |oldest| look.now.since(oldest)));
    }

    /// As many of them as there is room for.
    async fn ready(&self, look: &DueSchedules, unreadable: &mut HashSet<ScheduleId>) -> Vec<ReadyFiring> {
        let mut ready: Vec<ReadyFiring> = Vec::new();
        let mut room = Budget::new(self.config.step);
        for due in look.due.iter().chain(&look.freed) {
            let id = due.schedule.id;
            if ready.iter().any(|ready| ready.firing.schedule == id) {
                continue;
            }
            if !room.is_left() {
                break;
            }
            if due.seen.next.is_some_and(|next| look.now.since(next) > self.config.missed_after) {
                // Thousands of missed ticks may have to be counted.
                tokio::task::yield_now().await;
            }
            match prepare(due, look.now, self.config.missed_after, &mut room) {
                Ok(one) => ready.push(one),
                Err(invalid) => {
                    if unreadable.len() < MOST_UNREADABLE && unreadable.insert(id) {
                        error!(
                            schedule.id = %id,
                            schedule.name = %due.schedule.name,
                            "schedule {} does not fire, because this version cannot read it: {invalid}",
                            due.schedule.name
                        );
                    }
                }
            }
        }
        ready
    }

    fn sleep(&self, look: &DueSchedules, was_full: bool) -> Option<Duration> {
        // Full of what cannot be read: the others' turn comes with the next look, which asks for more.
        let again = was_full.then_some(UNREADABLE_NAP);
        let held = look.is_any_held.then_some(self.config.held_poll);
        [look.next_in, held, again].into_iter().flatten().min()
    }
}
