//! Schedules as they are typed.

use std::num::NonZeroUsize;

use clap::{ArgGroup, Args, Subcommand};
use foreman_client::{DstGap, DstOverlap, Missed, Overlap};
use foreman_core::Timestamp;
use foreman_core::duration::Span;
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error, StrDeserializer};

use super::JobFlags;

#[derive(Debug, Subcommand)]
pub enum SchedulesCommand {
    /// Make a schedule
    Create(Box<Whole>),
    /// Show a schedule: when it fires, and what became of its latest tick
    Get {
        /// The schedule, by its name or id
        name: String,
    },
    /// List schedules by name
    List(ListSchedules),
    /// Make a schedule what is given, whatever it was; one that is not there is made
    Replace(Box<Whole>),
    /// Change only what is given
    Update(Box<Update>),
    /// Remove schedules; their jobs stay
    Delete(DeleteSchedule),
    /// Fire nothing until it is resumed
    Pause {
        /// The schedule, by its name or id
        name: String,
    },
    /// Fire again, from the next time on
    Resume {
        /// The schedule, by its name or id
        name: String,
    },
    /// Make its job now, whatever the calendar says
    Run(RunSchedule),
    /// Show when a schedule fires next, or when one would that is not made yet
    Preview(Box<Preview>),
    /// Show what became of its ticks, the latest first
    Ticks(Ticks),
    /// Make schedules of the lines of a crontab; done again, it replaces what it made
    Import(Import),
}

/// A schedule from its name to its job.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("time").required(true).args(["cron", "every", "at", "file"])),
    group(ArgGroup::new("target").required(true).args(["url", "command", "task", "argv", "file"])),
)]
pub struct Whole {
    /// Letters, digits, `.`, `_` and `-`
    #[arg(required_unless_present = "file")]
    pub name: Option<String>,
    /// Everything as JSON, as `schedules get --output json` prints it; - reads stdin
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// Replace it only if it is at this version
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
    #[command(flatten)]
    pub when: WhenFlags,
    #[command(flatten)]
    pub policy: PolicyFlags,
    #[command(flatten)]
    pub job: JobFlags,
}

/// When it fires.
#[derive(Clone, Debug, Default, Args)]
pub struct WhenFlags {
    /// Five fields, or six with seconds first, or @daily and the like: '0 9 * * MON-FRI'
    #[arg(long, value_name = "EXPRESSION", help_heading = "When")]
    pub cron: Option<String>,
    /// So much real time apart, such as 90s
    #[arg(long, value_name = "DURATION", help_heading = "When")]
    pub every: Option<Span>,
    /// Once, at this time, such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub at: Option<Timestamp>,
    /// Where --cron is read, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "When")]
    pub timezone: Option<String>,
    /// A local time that does not exist: next_valid or skip [default: as cron does]
    #[arg(long, value_name = "POLICY", value_parser = word::<DstGap>, help_heading = "When")]
    pub dst_gap: Option<DstGap>,
    /// A local time that comes twice: first or both [default: as cron does]
    #[arg(long, value_name = "POLICY", value_parser = word::<DstOverlap>, help_heading = "When")]
    pub dst_overlap: Option<DstOverlap>,
    /// Not before this time; --every counts from it
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub start_at: Option<Timestamp>,
    /// Not after this time
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub end_at: Option<Timestamp>,
}

/// What it does when something gets in its way.
#[derive(Clone, Debug, Default, Args)]
pub struct PolicyFlags {
    /// Ticks that nobody fired in time: skip, latest or all [default: latest]
    #[arg(long, value_name = "POLICY", value_parser = word::<Missed>, help_heading = "Policies")]
    pub missed: Option<Missed>,
    /// With --missed all, so many at most [default: 100]
    #[arg(long, value_name = "N", help_heading = "Policies")]
    pub missed_max: Option<u32>,
    /// While the job of an earlier tick is not final: allow, skip, queue or cancel [default: allow]
    #[arg(long, value_name = "POLICY", value_parser = word::<Overlap>, help_heading = "Policies")]
    pub overlap: Option<Overlap>,
    /// Start each job up to so much later than its tick
    #[arg(long, value_name = "DURATION", help_heading = "Policies")]
    pub jitter: Option<Span>,
    /// Fire nothing until it is resumed
    #[arg(long, help_heading = "Policies")]
    pub paused: bool,
}

#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("time").args(["cron", "every", "at"])),
    group(ArgGroup::new("target").args(["url", "command", "task", "argv"])),
)]
pub struct Update {
    /// The schedule, by its name or id
    pub name: String,
    /// Take a field away, such as jitter or job.queue; may be given several times
    #[arg(long, value_name = "FIELD")]
    pub unset: Vec<String>,
    /// Only if it is at this version
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
    #[command(flatten)]
    pub when: WhenFlags,
    #[command(flatten)]
    pub policy: PolicyFlags,
    #[command(flatten)]
    pub job: JobFlags,
}

#[derive(Debug, Args)]
pub struct ListSchedules {
    /// At most this many
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// All of them, however many
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct DeleteSchedule {
    /// The schedules, by their names or ids
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Only if it is at this version
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct RunSchedule {
    /// The schedule, by its name or id
    pub name: String,
    /// Wait until the job is final, print what it gave, and exit accordingly
    #[arg(long)]
    pub wait: bool,
    /// Give up waiting after this long (exit code 4); the job goes on
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub wait_timeout: Option<Span>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["name", "cron", "every", "at"])))]
pub struct Preview {
    /// A schedule, by its name or id
    pub name: Option<String>,
    #[command(flatten)]
    pub when: WhenFlags,
    /// How many fires to show
    #[arg(long, short, default_value_t = 20, value_name = "N")]
    pub n: usize,
    /// Those from this time on, such as 2026-03-28T00:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub from: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub struct Ticks {
    /// The schedule, by its name or id
    pub name: String,
    /// At most this many
    #[arg(long, default_value = "20", value_name = "N")]
    pub limit: NonZeroUsize,
}

#[derive(Debug, Args)]
pub struct Import {
    /// The crontab; - reads stdin
    pub file: String,
    /// It has a column with the user, as /etc/crontab has
    #[arg(long)]
    pub system: bool,
    /// Where lines without a CRON_TZ are read, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
    /// Only say what was understood; no server is asked
    #[arg(long)]
    pub dry_run: bool,
    /// Leave out lines that cannot be read, instead of writing nothing at all
    #[arg(long)]
    pub keep_going: bool,
}

/// One of the words that the API takes.
fn word<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
    T::deserialize(deserializer).map_err(|error| error.to_string())
}
