//! Looking at jobs and steering them.

use clap::{Args, Subcommand};
use foreman_core::duration::Span;
use foreman_core::{State, Timestamp};

#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List jobs, newest first
    List(List),
    /// Show one job with its attempts
    Show { id: String },
    /// Failed and dead jobs by their errors, the most frequent first
    Groups(Groups),
    /// Run final jobs again: same id, attempts counted anew
    Retry(Many),
    /// End jobs at once, waiting or running
    Cancel(Many),
    /// Remove final jobs with all that is known of them
    Delete(Many),
    /// Wait until jobs are final, print what one gave or how several ended, and exit accordingly
    Wait(Wait),
    /// Print what a command has printed
    Output(Outputs),
}

/// Which jobs.
#[derive(Clone, Debug, Default, Args)]
pub struct Filter {
    /// scheduled, pending, running, retrying, completed, failed, dead or cancelled
    #[arg(long, help_heading = "Which jobs")]
    pub state: Option<State>,
    /// In this queue; `foreman.webhooks` has the deliveries of webhooks, which are left out otherwise
    #[arg(long, help_heading = "Which jobs")]
    pub queue: Option<String>,
    /// With this label
    #[arg(long, help_heading = "Which jobs")]
    pub kind: Option<String>,
    /// With this tag
    #[arg(long, help_heading = "Which jobs")]
    pub tag: Option<String>,
    /// Of this undertaking
    #[arg(long, value_name = "ID", help_heading = "Which jobs")]
    pub correlation_id: Option<String>,
    /// Failed or dead with this error, as `foreman jobs groups` names it
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
    /// At most this many
    #[arg(long, default_value_t = 50, value_name = "N", conflicts_with = "all")]
    pub limit: usize,
    /// All of them, however many
    #[arg(long)]
    pub all: bool,
}

/// Jobs by id, or all that match.
#[derive(Debug, Args)]
pub struct Many {
    /// The jobs
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub filter: Filter,
    /// All jobs that match; alone: every job
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// Only say how many there are
    #[arg(long, conflicts_with = "ids")]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Wait {
    /// The jobs
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
    /// Give up waiting after this long (exit code 4); the jobs go on
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<Span>,
}

#[derive(Debug, Args)]
pub struct Outputs {
    /// The job
    pub id: String,
    /// Go on while it runs
    #[arg(long, short)]
    pub follow: bool,
}
