//! Arguments of `foreman schedules`.

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
    /// Create a schedule
    Create(Box<Whole>),
    /// Show a schedule: when it fires next and how its latest tick went
    Get {
        /// Name or id of the schedule
        name: String,
    },
    /// List schedules by name
    List(ListSchedules),
    /// Replace a schedule completely, or create it if it does not exist
    Replace(Box<Whole>),
    /// Change the given fields of a schedule
    Update(Box<Update>),
    /// Delete schedules; their jobs are kept
    Delete(DeleteSchedule),
    /// Pause a schedule
    Pause {
        /// Name or id of the schedule
        name: String,
    },
    /// Resume a schedule, from its next time on
    Resume {
        /// Name or id of the schedule
        name: String,
    },
    /// Run a schedule now: creates one job immediately and leaves the schedule unchanged
    Run(RunSchedule),
    /// Preview when an existing or a new schedule fires
    Preview(Box<Preview>),
    /// List the latest ticks of a schedule and their results
    Ticks(Ticks),
    /// Create schedules from a crontab; importing it again replaces them
    Import(Import),
}

/// A schedule from its name to its job.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("time").required(true).args(["cron", "every", "at", "file"])),
    group(ArgGroup::new("target").required(true).args(["url", "command", "task", "argv", "file"])),
)]
pub struct Whole {
    /// Name of the schedule: letters, digits, `.`, `_` and `-`
    #[arg(required_unless_present = "file")]
    pub name: Option<String>,
    /// Read the whole schedule from a JSON file, as `schedules get --output json` prints it; - reads stdin
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// Replace the schedule only if it has this version
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
    /// Cron expression such as '0 9 * * MON-FRI': five fields, six with seconds first, or @daily and the like
    #[arg(long, value_name = "EXPRESSION", help_heading = "When")]
    pub cron: Option<String>,
    /// Fixed interval, such as 90s
    #[arg(long, value_name = "DURATION", help_heading = "When")]
    pub every: Option<Span>,
    /// Once, at this time, such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub at: Option<Timestamp>,
    /// Time zone of --cron, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "When")]
    pub timezone: Option<String>,
    /// When clocks go forward and a local time does not exist: next_valid or skip [default: as cron does]
    #[arg(long, value_name = "POLICY", value_parser = word::<DstGap>, help_heading = "When")]
    pub dst_gap: Option<DstGap>,
    /// When clocks go back and a local time occurs twice: first or both [default: as cron does]
    #[arg(long, value_name = "POLICY", value_parser = word::<DstOverlap>, help_heading = "When")]
    pub dst_overlap: Option<DstOverlap>,
    /// Do not fire before this time; --every counts from it
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub start_at: Option<Timestamp>,
    /// Do not fire after this time
    #[arg(long, value_name = "TIME", help_heading = "When")]
    pub end_at: Option<Timestamp>,
}

/// What to do about missed ticks and overlapping jobs.
#[derive(Clone, Debug, Default, Args)]
pub struct PolicyFlags {
    /// Missed ticks, when no scheduler was running: skip, latest or all [default: latest]
    #[arg(long, value_name = "POLICY", value_parser = word::<Missed>, help_heading = "Policies")]
    pub missed: Option<Missed>,
    /// Fire at most this many missed ticks with --missed all [default: 100]
    #[arg(long, value_name = "N", help_heading = "Policies")]
    pub missed_max: Option<u32>,
    /// When the job of an earlier tick has not finished: allow, skip, queue or cancel [default: allow]
    #[arg(long, value_name = "POLICY", value_parser = word::<Overlap>, help_heading = "Policies")]
    pub overlap: Option<Overlap>,
    /// Delay each job by a random time of at most this long
    #[arg(long, value_name = "DURATION", help_heading = "Policies")]
    pub jitter: Option<Span>,
    /// Pause the schedule: it does not fire until resumed
    #[arg(long, help_heading = "Policies")]
    pub paused: bool,
}

#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("time").args(["cron", "every", "at"])),
    group(ArgGroup::new("target").args(["url", "command", "task", "argv"])),
)]
pub struct Update {
    /// Name or id of the schedule
    pub name: String,
    /// Remove a field, such as jitter or job.queue; may be given several times
    #[arg(long, value_name = "FIELD")]
    pub unset: Vec<String>,
    /// Change the schedule only if it has this version
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
    /// Show at most this many schedules
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// Show all schedules
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct DeleteSchedule {
    /// Names or ids of the schedules
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Delete the schedule only if it has this version
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct RunSchedule {
    /// Name or id of the schedule
    pub name: String,
    /// Wait until the job finishes, print its result, and set the exit code
    #[arg(long)]
    pub wait: bool,
    /// Stop waiting after this long (exit code 4); the job continues
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub wait_timeout: Option<Span>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["name", "cron", "every", "at"])))]
pub struct Preview {
    /// Name or id of an existing schedule
    pub name: Option<String>,
    #[command(flatten)]
    pub when: WhenFlags,
    /// Number of times to show
    #[arg(long, short, default_value_t = 20, value_name = "N")]
    pub n: usize,
    /// Start from this time, such as 2026-03-28T00:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub from: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub struct Ticks {
    /// Name or id of the schedule
    pub name: String,
    /// Show at most this many ticks
    #[arg(long, default_value = "20", value_name = "N")]
    pub limit: NonZeroUsize,
}

#[derive(Debug, Args)]
pub struct Import {
    /// Crontab file; - reads stdin
    pub file: String,
    /// The crontab has a user column, like /etc/crontab
    #[arg(long)]
    pub system: bool,
    /// Time zone of lines without CRON_TZ, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
    /// Only print how the crontab is understood; does not call the server
    #[arg(long)]
    pub dry_run: bool,
    /// Skip lines that cannot be imported, instead of importing nothing
    #[arg(long)]
    pub keep_going: bool,
}

/// One of the words that the API takes.
fn word<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
    T::deserialize(deserializer).map_err(|error| error.to_string())
}
