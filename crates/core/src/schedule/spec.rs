//! A schedule as a client writes it, and the judgement that makes a [`NewSchedule`] of it.
//!
//! What was written is kept to the letter; the rule is read from it again whenever it is needed. Everything wrong is
//! reported at once, each mistake with a pointer to where it stands.

use std::sync::Arc;
use std::time::Duration;

pub use foreman_protocol::schedule::ScheduleSpec;

use super::name::ScheduleName;
use super::{Missed, Overlap, Timing, TimingSpec, Zone};
use crate::id::{JobId, ScheduleId, TenantId};
use crate::job::{NewJob, Occasion, Start, Work};
use crate::limits::Limits;
use crate::spec::{Invalid, JobSpec, Mistakes, Validate as _};
use crate::time::Timestamp;

/// When a schedule fires, and how it takes what gets in its way.
#[derive(Clone, Debug)]
pub struct ScheduleRule {
    pub timing: Timing,
    pub missed: Missed,
    pub missed_max: u32,
    pub overlap: Overlap,
    pub jitter: Duration,
    pub start_at: Option<Timestamp>,
    pub end_at: Option<Timestamp>,
}

/// A schedule about to be made. Its id is made before it is written: an unknown commit is resolved by sending it again.
#[derive(Clone, Debug)]
pub struct NewSchedule {
    pub schedule: Schedule,
    pub is_paused: bool,
    /// None while it is paused.
    pub next: Option<Timestamp>,
}

/// A schedule as it is kept.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub id: ScheduleId,
    pub tenant: TenantId,
    pub name: ScheduleName,
    /// As it was written.
    pub spec: Arc<ScheduleSpec>,
    /// What every tick asks for, judged when the schedule was written.
    pub work: Arc<Work>,
    /// `every` counts from here, unless it has a `start_at`.
    pub created_at: Timestamp,
}

/// What the judgement of a [`ScheduleSpec`] yields.
#[derive(Clone, Debug)]
pub struct Judged {
    pub name: ScheduleName,
    pub rule: ScheduleRule,
    pub work: Work,
}

const MISSED_MAX: u32 = 100;
const MOST_MISSED: u32 = 1_000;
const MOST_JITTER: Duration = Duration::from_hours(24);

/// What the server makes of what a client wrote.
pub trait Judge {
    /// Judges everything but whether it will ever fire from now on, which [`ScheduleRule::first_after`] says.
    /// `created_at`: since when `every` counts.
    fn judge(
        &self,
        tenant: &TenantId,
        limits: &Limits,
        created_at: Timestamp,
        now: Timestamp,
    ) -> Result<Judged, Invalid>;

    /// The rule alone, of a schedule that was judged before.
    fn rule(&self, created_at: Timestamp) -> Result<ScheduleRule, Invalid>;
}

impl Judge for ScheduleSpec {
    fn judge(
        &self,
        tenant: &TenantId,
        limits: &Limits,
        created_at: Timestamp,
        now: Timestamp,
    ) -> Result<Judged, Invalid> {
        let mut mistakes = Mistakes::default();
        let name = self.name.parse::<ScheduleName>().map_err(|error| mistakes.add("/name", error.to_string()));
        let rule = read_rule(self, created_at, &mut mistakes);
        let work = judge_job(self, tenant, limits, now, &mut mistakes);
        match (name, rule, work) {
            (Ok(name), Some(rule), Some(work)) if mistakes.is_empty() => Ok(Judged { name, rule, work }),
            _ => Err(mistakes.into_invalid()),
        }
    }

    fn rule(&self, created_at: Timestamp) -> Result<ScheduleRule, Invalid> {
        let mut mistakes = Mistakes::default();
        match read_rule(self, created_at, &mut mistakes) {
            Some(rule) if mistakes.is_empty() => Ok(rule),
            _ => Err(mistakes.into_invalid()),
        }
    }
}

fn read_rule(spec: &ScheduleSpec, created_at: Timestamp, mistakes: &mut Mistakes) -> Option<ScheduleRule> {
    let timing = timing(spec, created_at, mistakes);
    let missed_max = spec.missed_max.unwrap_or(MISSED_MAX);
    if !(1..=MOST_MISSED).contains(&missed_max) {
        mistakes.add("/missed_max", format!("must be between 1 and {MOST_MISSED}"));
    }
    let jitter = spec.jitter.map_or(Duration::ZERO, |span| span.0);
    if jitter > MOST_JITTER {
        mistakes.add("/jitter", "must be at most 1d");
    }
    if let (Some(start), Some(end)) = (spec.start_at, spec.end_at)
        && end < start
    {
        mistakes.add("/end_at", "is before `start_at`");
    }
    Some(ScheduleRule {
        timing: timing?,
        missed: spec.missed.unwrap_or_default(),
        missed_max,
        overlap: spec.overlap.unwrap_or_default(),
        jitter,
        start_at: spec.start_at,
        end_at: spec.end_at,
    })
}

fn timing(spec: &ScheduleSpec, created_at: Timestamp, mistakes: &mut Mistakes) -> Option<Timing> {
    let zone = match spec.timezone.as_deref().map(str::parse::<Zone>).transpose() {
        Ok(zone) => zone,
        Err(error) => {
            mistakes.add("/timezone", error.to_string());
            return None;
        }
    };
    let from = spec.start_at.unwrap_or(created_at);
    let when = match (&spec.cron, spec.every, spec.at) {
        (Some(cron), None, None) => TimingSpec::Cron(cron),
        (None, Some(every), None) => TimingSpec::Every(every.0),
        (None, None, Some(at)) => TimingSpec::At(at),
        (None, None, None) => {
            mistakes.add("", "has no time: give exactly one of `cron`, `every` and `at`");
            return None;
        }
        _ => {
            mistakes.add("", "has more than one time: give exactly one of `cron`, `every` and `at`");
            return None;
        }
    };
    if spec.cron.is_none() {
        let given = [
            ("/timezone", spec.timezone.is_some()),
            ("/dst_gap", spec.dst_gap.is_some()),
            ("/dst_overlap", spec.dst_overlap.is_some()),
        ];
        mistakes.refuse_where_given(&given, "works with `cron` only: an interval has no time zone");
    }
    let read = Timing::read(when, zone, spec.dst_gap, spec.dst_overlap, from);
    read.map_err(|(pointer, detail)| mistakes.add(pointer, detail)).ok()
}

fn judge_job(
    spec: &ScheduleSpec,
    tenant: &TenantId,
    limits: &Limits,
    now: Timestamp,
    mistakes: &mut Mistakes,
) -> Option<Work> {
    let job = &spec.job;
    let given = [("/job/run_at", job.run_at.is_some()), ("/job/delay", job.delay.is_some())];
    mistakes.refuse_where_given(&given, "the schedule sets the time; leave it out, or use `jitter`");
    let given = [("/job/expires_at", job.expires_at.is_some())];
    mistakes.refuse_where_given(&given, "a fixed time cannot suit every tick; leave it out");
    let given = [("/job/idempotency_key", job.idempotency_key.is_some())];
    mistakes.refuse_where_given(&given, "every tick creates its job exactly once; leave it out");
    let asked = JobSpec { run_at: None, delay: None, expires_at: None, idempotency_key: None, ..job.clone() };
    match asked.validate(tenant, limits, now) {
        Ok(new) => Some(Arc::unwrap_or_clone(new.work)),
        Err(invalid) => {
            for mistake in invalid.mistakes {
                mistakes.add(format!("/job{}", mistake.pointer), mistake.detail);
            }
            None
        }
    }
}

impl ScheduleRule {
    /// The first tick after `now` of a schedule that is made, resumed or edited.
    pub fn first_after(&self, now: Timestamp) -> Option<Timestamp> {
        let before_start = self.start_at.map(|start| start.minus(Duration::from_micros(1)));
        self.next_after(before_start.map_or(now, |start| start.max(now)))
    }

    /// The tick that follows `nominal`.
    pub fn next_after(&self, nominal: Timestamp) -> Option<Timestamp> {
        let next = self.timing.next_after(nominal)?.at;
        self.end_at.is_none_or(|end| next <= end).then_some(next)
    }

    /// The latest tick before `end` that is not before `first`.
    pub fn last_before(&self, end: Timestamp, first: Timestamp) -> Option<Timestamp> {
        let end = self.end_at.map_or(end, |last| last.plus(Duration::from_micros(1)).min(end));
        self.timing.last_before(end, first).map(|fire| fire.at)
    }
}

impl Schedule {
    pub fn rule(&self) -> Result<ScheduleRule, Invalid> {
        self.spec.rule(self.created_at)
    }

    /// The job that a tick makes.
    pub fn job_at(&self, nominal: Timestamp, jitter: Duration) -> NewJob {
        let start = nominal.plus(self.delay_of(nominal, jitter));
        NewJob { start: Start::At(start), ..self.job_now(nominal) }
    }

    /// The same at once.
    pub fn job_now(&self, nominal: Timestamp) -> NewJob {
        let occasion = Occasion { schedule: self.name.to_string(), nominal };
        let work = Work { occasion: Some(occasion), ..(*self.work).clone() };
        NewJob {
            id: JobId::fresh(),
            tenant: self.tenant.clone(),
            work: Arc::new(work),
            start: Start::Now,
            idempotency: None,
        }
    }

    /// Between nothing and `jitter`, spread evenly over schedules and ticks, the same whoever asks.
    fn delay_of(&self, nominal: Timestamp, jitter: Duration) -> Duration {
        use sha2::{Digest, Sha256};
        if jitter.is_zero() {
            return Duration::ZERO;
        }
        let hash = Sha256::new().chain_update(self.id.0).chain_update(nominal.as_micros().to_be_bytes()).finalize();
        let share = u64::from_be_bytes(hash[..8].try_into().expect("a hash has more than eight bytes"));
        Duration::from_millis(share % u64::try_from(jitter.as_millis()).unwrap_or(u64::MAX).max(1))
    }
}

#[cfg(test)]
mod tests;
