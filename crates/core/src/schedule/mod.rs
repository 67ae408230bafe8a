//! Schedules: jobs that come by themselves.
//!
//! A schedule says when (cron, an interval, or one moment) and what (the fields of a job). Every time it says is a *tick*,
//! named by the instant it belongs to, and a tick is either fired, which makes its one job, or recorded as skipped with
//! the reason. All of this is arithmetic on times that are passed in; who does it, and when, is the engine's business.
//!
//! The calendar (`timing`, `cron`, `zone`) knows when a schedule fires. The plan says which ticks are due and which were
//! missed. The overlap says what a tick does while a job of an earlier one is not final.

mod calendar;
mod cron;
mod fields;
mod fire;
mod name;
mod overlap;
mod plan;
mod preview;
mod spec;
mod timing;
mod zone;

pub use foreman_protocol::schedule::{Missed, Overlap};

pub use cron::{Cron, CronOrInterval, DstGap, DstOverlap, NotACron};
pub use fire::{DstNote, Fire};
pub use name::{NotAScheduleName, ScheduleKey, ScheduleName};
pub use overlap::{Decided, Decision, decide};
pub use plan::{Planned, PlannedTick, plan};
pub use preview::{MOST_SHOWN, PreviewItem, preview};
pub use spec::{Judge, Judged, NewSchedule, Schedule, ScheduleRule, ScheduleSpec};
pub use timing::{NotAnInterval, Timing, TimingSpec};
pub use zone::{NotAZone, Zone, tzdb_version};
