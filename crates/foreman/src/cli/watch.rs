//! Arguments of `foreman watch`.

use clap::Args;
use foreman_core::duration::Span;

#[derive(Debug, Default, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Watch {
    /// Only these jobs, by id
    #[arg(value_name = "JOB")]
    pub jobs: Vec<String>,
    /// Only jobs in this queue; may be given several times
    #[arg(long = "queue", value_name = "QUEUE", help_heading = "Which jobs")]
    pub queues: Vec<String>,
    /// Only jobs of this kind; may be given several times
    #[arg(long = "kind", value_name = "KIND", help_heading = "Which jobs")]
    pub kinds: Vec<String>,
    /// Only jobs with this tag; may be given several times
    #[arg(long = "tag", value_name = "TAG", help_heading = "Which jobs")]
    pub tags: Vec<String>,
    /// Start with the current state of the named jobs, or of the newest 1000 that match
    #[arg(long)]
    pub snapshot: bool,
    /// Resume after this cursor: the `id` of a --json line, or the cursor that an earlier watch printed on exit
    #[arg(long, value_name = "CURSOR", conflicts_with_all = ["snapshot", "until_final"])]
    pub after: Option<String>,
    /// Print one JSON object per line, with the event's name, id and data
    #[arg(long)]
    pub json: bool,
    /// Exit when all of these jobs have finished, with an exit code for how they ended
    #[arg(long)]
    pub until_final: bool,
    /// Stop after this long (exit code 4); the jobs continue
    #[arg(long, value_name = "DURATION", requires = "until_final")]
    pub timeout: Option<Span>,
}
