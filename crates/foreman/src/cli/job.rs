//! A job as it is typed: what is the same for one that is submitted and for those of a schedule.

use clap::Args;
use foreman_core::Lane;
use foreman_core::duration::Span;

#[derive(Clone, Debug, Default, Args)]
pub struct JobFlags {
    /// Call this URL
    #[arg(long)]
    pub url: Option<String>,
    /// Run this shell command with `sh -c` (the server must allow commands)
    #[arg(long, value_name = "LINE")]
    pub command: Option<String>,
    /// Run the task with this name
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Run this program with these arguments (the server must allow commands)
    #[arg(last = true, value_name = "PROGRAM ARGUMENTS")]
    pub argv: Vec<String>,

    /// JSON to send as the request body, the task's argument or the command's stdin; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "JSON", conflicts_with = "body")]
    pub payload: Option<String>,
    /// Raw text instead of JSON; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// HTTP method: POST, PUT, PATCH, GET, DELETE or HEAD
    #[arg(long)]
    pub method: Option<String>,
    /// HTTP header, as "Name: value"; may be given several times
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,
    /// Environment variable of the command; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Working directory of the command, an absolute path
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,

    /// Queue of the job
    #[arg(long)]
    pub queue: Option<String>,
    /// Priority: high, normal or low
    #[arg(long)]
    pub priority: Option<Lane>,
    /// Kind of job, a name to filter by
    #[arg(long)]
    pub kind: Option<String>,
    /// Tag to filter by; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Maximum number of attempts
    #[arg(long, value_name = "N")]
    pub max_attempts: Option<u32>,
    /// Time limit of each attempt
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<Span>,
    /// Delay before the second attempt
    #[arg(long, value_name = "DURATION")]
    pub backoff_base: Option<Span>,
    /// Factor by which each further delay grows
    #[arg(long, value_name = "NUMBER")]
    pub backoff_factor: Option<f64>,
    /// Maximum delay between attempts
    #[arg(long, value_name = "DURATION")]
    pub backoff_cap: Option<Span>,
    /// Groups related jobs
    #[arg(long, value_name = "ID")]
    pub correlation_id: Option<String>,
    /// URL that receives a signed POST when the job has finished
    #[arg(long, value_name = "URL")]
    pub callback_url: Option<String>,
}
