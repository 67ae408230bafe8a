//! A schedule as a client writes it, and the judgement that makes a [`NewSchedule`] of it.
//!
//! What was written is kept to the letter; the rule is read from it again whenever it is needed. Everything wrong is
//! reported at once, each mistake with a pointer to where it stands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::name::ScheduleName;
use super::policy::{Missed, Overlap};
use super::{DstGap, DstOverlap, Timing, TimingSpec, Zone};
use crate::duration::Span;
use crate::id::{JobId, ScheduleId, TenantId};
use crate::job::{NewJob, Occasion, Start, Work};
use crate::limits::Limits;
use crate::spec::{Invalid, JobSpec, Mistake, Mistakes};
use crate::time::Timestamp;

/// The fields of a schedule. Exactly one of `cron`, `every` and `at` sets the time; `job` is the job to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// Letters, digits, `.`, `_`, `-`, up to 128. It cannot be changed.
    pub name: String,
    /// Five fields, or six with seconds first; `@daily` and the like; `@every 90s`; `TZ=Europe/Berlin 0 9 * * *`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "0 9 * * MON-FRI"))]
    pub cron: Option<String>,
    /// The interval between ticks in real time, counted from `start_at` or from the schedule's creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "90s"))]
    pub every: Option<Span>,
    /// Once, at this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub at: Option<Timestamp>,
    /// An IANA time zone for `cron`. Defaults to UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Europe/Berlin"))]
    pub timezone: Option<String>,
    /// The fields of the job that every tick creates, without `run_at`, `delay`, `expires_at` and `idempotency_key`.
    #[serde(deserialize_with = "crate::object::required")]
    pub job: JobSpec,
    /// What happens to missed ticks. Defaults to `latest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    /// The most missed ticks to fire if `missed` is `all`: 1 to 1000. Defaults to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_max: Option<u32>,
    /// What a tick does while the job of an earlier tick is not final. Defaults to `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// What happens to a local time that does not exist because the clocks go forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_gap: Option<DstGap>,
    /// What happens to a local time that occurs twice because the clocks go back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_overlap: Option<DstOverlap>,
    /// Each job starts up to this long after its tick; the delay is always the same for the same tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "30s"))]
    pub jitter: Option<Span>,
    /// No tick before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    /// No tick after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    /// A paused schedule does not fire, and its missed ticks are not made up for later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// When a schedule fires, and how it takes what gets in its way.
#[derive(Clone, Debug)]
pub struct Rule {
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
    pub rule: Rule,
    pub work: Work,
}

const MISSED_MAX: u32 = 100;
const MOST_MISSED: u32 = 1_000;
const MOST_JITTER: Duration = Duration::from_hours(24);

impl ScheduleSpec {
    /// Judges everything but whether it will ever fire from now on, which [`Rule::first_after`] says.
    /// `created_at`: since when `every` counts.
    pub fn judge(
        &self,
        tenant: &TenantId,
        limits: &Limits,
        created_at: Timestamp,
        now: Timestamp,
    ) -> Result<Judged, Invalid> {
        let mut mistakes = Mistakes::default();
        let name = self.name.parse::<ScheduleName>().map_err(|error| mistakes.add("/name", error.to_string()));
        let rule = self.read_rule(created_at, &mut mistakes);
        let work = self.judge_job(tenant, limits, now, &mut mistakes);
        match (name, rule, work) {
            (Ok(name), Some(rule), Some(work)) if mistakes.is_empty() => Ok(Judged { name, rule, work }),
            _ => Err(mistakes.into_invalid()),
        }
    }

    /// What it becomes by a patch: an object whose fields replace those of the same name, `null` removing them, and so
    /// inside `job`. Anything deeper, such as a payload, is replaced whole.
    pub fn patched(&self, patch: &RawValue) -> Result<Self, Invalid> {
        let refuse = |detail: String| Invalid { mistakes: vec![Mistake { pointer: String::new(), detail }] };
        let mut fields = fields_of(patch).map_err(|error| refuse(format!("is not a JSON object: {error}")))?;
        if let Some(job) = fields.remove("job") {
            let given = fields_of(&job).map_err(|error| refuse(format!("`job` is not a JSON object: {error}")))?;
            fields.insert("job".into(), written(&merged(&self.job, given)));
        }
        let text = written(&merged(self, fields));
        serde_json::from_str(text.get()).map_err(|error| refuse(error.to_string()))
    }

    /// The rule alone, of a schedule that was judged before.
    pub fn rule(&self, created_at: Timestamp) -> Result<Rule, Invalid> {
        let mut mistakes = Mistakes::default();
        match self.read_rule(created_at, &mut mistakes) {
            Some(rule) if mistakes.is_empty() => Ok(rule),
            _ => Err(mistakes.into_invalid()),
        }
    }

    fn read_rule(&self, created_at: Timestamp, mistakes: &mut Mistakes) -> Option<Rule> {
        let timing = self.timing(created_at, mistakes);
        let missed_max = self.missed_max.unwrap_or(MISSED_MAX);
        if !(1..=MOST_MISSED).contains(&missed_max) {
            mistakes.add("/missed_max", format!("must be between 1 and {MOST_MISSED}"));
        }
        let jitter = self.jitter.map_or(Duration::ZERO, |span| span.0);
        if jitter > MOST_JITTER {
            mistakes.add("/jitter", "must be at most 1d");
        }
        if let (Some(start), Some(end)) = (self.start_at, self.end_at)
            && end < start
        {
            mistakes.add("/end_at", "is before `start_at`");
        }
        Some(Rule {
            timing: timing?,
            missed: self.missed.unwrap_or_default(),
            missed_max,
            overlap: self.overlap.unwrap_or_default(),
            jitter,
            start_at: self.start_at,
            end_at: self.end_at,
        })
    }

    fn timing(&self, created_at: Timestamp, mistakes: &mut Mistakes) -> Option<Timing> {
        let zone = match self.timezone.as_deref().map(str::parse::<Zone>).transpose() {
            Ok(zone) => zone,
            Err(error) => {
                mistakes.add("/timezone", error.to_string());
                return None;
            }
        };
        let from = self.start_at.unwrap_or(created_at);
        let spec = match (&self.cron, self.every, self.at) {
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
        if self.cron.is_none() {
            let given = [
                ("/timezone", self.timezone.is_some()),
                ("/dst_gap", self.dst_gap.is_some()),
                ("/dst_overlap", self.dst_overlap.is_some()),
            ];
            mistakes.refuse_where_given(&given, "works with `cron` only: an interval has no time zone");
        }
        let read = Timing::read(spec, zone, self.dst_gap, self.dst_overlap, from);
        read.map_err(|(pointer, detail)| mistakes.add(pointer, detail)).ok()
    }

    fn judge_job(&self, tenant: &TenantId, limits: &Limits, now: Timestamp, mistakes: &mut Mistakes) -> Option<Work> {
        let job = &self.job;
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
}

/// A JSON object by its fields, each to the letter.
type Fields = BTreeMap<String, Box<RawValue>>;

fn fields_of(json: &RawValue) -> serde_json::Result<Fields> {
    serde_json::from_str(json.get())
}

fn written(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a spec is plain data with text keys")
}

fn merged(old: &impl Serialize, given: Fields) -> Fields {
    let mut fields = fields_of(&written(old)).expect("a spec is written as an object");
    for (name, value) in given {
        if value.get() == "null" {
            fields.remove(&name);
        } else {
            fields.insert(name, value);
        }
    }
    fields
}

impl Rule {
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
    pub fn rule(&self) -> Result<Rule, Invalid> {
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
