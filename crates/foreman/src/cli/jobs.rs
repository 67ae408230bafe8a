//! Inspecting and managing jobs.

use clap::{Args, Subcommand};
use foreman_core::duration::Span;
use foreman_core::{State, Timestamp};

#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List jobs, newest first
    List(List),
    /// Show one job with its attempts
    Show { id: String },
    /// List failed and dead jobs grouped by error, most frequent first
    Groups(Groups),
    /// Retry finished jobs: same id, attempts counted from zero
    Retry(Many),
    /// Cancel jobs, waiting or running
    Cancel(Many),
    /// Delete finished jobs and everything stored about them
    Delete(Many),
    /// Wait until jobs finish, print the result of one job or the final states of several, and set the exit code
    Wait(Wait),
    /// Print the output of a command
    Output(Outputs),
}

/// Which jobs.
#[derive(Clone, Debug, Default, Args)]
pub struct Filter {
    /// In this state: scheduled, pending, running, retrying, completed, failed, dead or cancelled
    #[arg(long, help_heading = "Which jobs")]
    pub state: Option<State>,
    /// In this queue; webhook deliveries are in `foreman.webhooks` and otherwise left out
    #[arg(long, help_heading = "Which jobs")]
    pub queue: Option<String>,
    /// Of this kind
    #[arg(long, help_heading = "Which jobs")]
    pub kind: Option<String>,
    /// With this tag
    #[arg(long, help_heading = "Which jobs")]
    pub tag: Option<String>,
    /// With this correlation id
    #[arg(long, value_name = "ID", help_heading = "Which jobs")]
    pub correlation_id: Option<String>,
    /// Failed or dead with this error, a group id from `foreman jobs groups`
    #[arg(long, value_name = "GROUP", help_heading = "Which jobs")]
    pub error_group: Option<String>,
    /// Created after this time, or less than this long ago (such as 2h)
    #[arg(long, value_name = "TIME", help_heading = "Which jobs")]
    pub created_after: Option<Moment>,
    /// Created before this time, or more than this long ago (such as 2h)
    #[arg(long, value_name = "TIME", help_heading = "Which jobs")]
    pub created_before: Option<Moment>,
}

/// A time, or how long ago it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    At(Timestamp),
    Ago(Span),
}

impl std::str::FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse() {
            return Ok(Moment::At(time));
        }
        text.parse().map(Moment::Ago).map_err(|_| {
            format!("not a time: {text:?}; write it like 2026-11-15T09:00:00Z, or like 2h for two hours ago")
        })
    }
}

impl Moment {
    pub fn before(self, now: Timestamp) -> Timestamp {
        match self {
            Moment::At(time) => time,
            Moment::Ago(span) => now.minus(span.0),
        }
    }
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        let Self { state, queue, kind, tag, correlation_id, error_group, created_after, created_before } = self;
        state.is_none()
            && [queue, kind, tag, correlation_id, error_group].into_iter().all(Option::is_none)
            && [created_after, created_before].into_iter().all(Option::is_none)
    }

    pub fn document(&self, now: Timestamp) -> foreman_client::FilterDocument {
        foreman_client::FilterDocument {
            state: self.state,
            queue: self.queue.clone(),
            kind: self.kind.clone(),
            tag: self.tag.clone(),
            correlation_id: self.correlation_id.clone(),
            error_group: self.error_group.clone(),
            created_after: self.created_after.map(|moment| moment.before(now)),
            created_before: self.created_before.map(|moment| moment.before(now)),
        }
    }
}

#[derive(Debug, Args)]
pub struct Groups {
    /// Only jobs in this state: failed or dead
    #[arg(long)]
    pub state: Option<State>,
}

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub filter: Filter,
    /// Show at most this many jobs
    #[arg(long, default_value_t = 50, value_name = "N", conflicts_with = "all")]
    pub limit: usize,
    /// Show all jobs
    #[arg(long)]
    pub all: bool,
}

/// Jobs by id, or all that match.
#[derive(Debug, Args)]
pub struct Many {
    /// Job ids
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub filter: Filter,
    /// All jobs that match the filter; without a filter, every job
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// Only print how many jobs match
    #[arg(long, conflicts_with = "ids")]
    pub dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Wait {
    /// Job ids
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
    /// Stop waiting after this long (exit code 4); the jobs continue
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<Span>,
}

#[derive(Debug, Args)]
pub struct Outputs {
    /// Job id
    pub id: String,
    /// Keep printing while the command runs
    #[arg(long, short)]
    pub follow: bool,
}
