//! What to watch, as it is typed.

use clap::Args;
use foreman_core::duration::Span;

#[derive(Debug, Default, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Watch {
    /// Only these jobs
    #[arg(value_name = "JOB")]
    pub jobs: Vec<String>,
    /// Only jobs of this queue; may be given several times
    #[arg(long = "queue", value_name = "QUEUE", help_heading = "Which jobs")]
    pub queues: Vec<String>,
    /// Only jobs with this label; may be given several times
    #[arg(long = "kind", value_name = "KIND", help_heading = "Which jobs")]
    pub kinds: Vec<String>,
    /// Only jobs with this tag; may be given several times
    #[arg(long = "tag", value_name = "TAG", help_heading = "Which jobs")]
    pub tags: Vec<String>,
    /// Print first how these jobs stand: those named, else the newest thousand that match
    #[arg(long)]
    pub snapshot: bool,
    /// Go on after this cursor: the `id` of a line of --json, or what an earlier watch said when it was left
    #[arg(long, value_name = "CURSOR", conflicts_with_all = ["snapshot", "until_final"])]
    pub after: Option<String>,
    /// One JSON object per line: the event's name, its id, its data
    #[arg(long)]
    pub json: bool,
    /// Leave when none of these jobs is unfinished, and exit as they ended
    #[arg(long)]
    pub until_final: bool,
    /// Give up after this long (exit code 4); the jobs go on
    #[arg(long, value_name = "DURATION", requires = "until_final")]
    pub timeout: Option<Span>,
}
