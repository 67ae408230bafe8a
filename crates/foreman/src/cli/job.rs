//! A job as it is typed: what is the same for one that is submitted and for those of a schedule.

use clap::Args;
use foreman_core::Lane;
use foreman_core::duration::Span;

#[derive(Clone, Debug, Default, Args)]
pub struct JobFlags {
    /// Call this URL
    #[arg(long)]
    pub url: Option<String>,
    /// Run this line with `sh -c` (the server must allow commands)
    #[arg(long, value_name = "LINE")]
    pub command: Option<String>,
    /// Call the task of this name
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Run this program with these arguments (the server must allow commands)
    #[arg(last = true, value_name = "PROGRAM ARGUMENTS")]
    pub argv: Vec<String>,

    /// JSON: the body of the request, the task's argument or the command's input; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "JSON", conflicts_with = "body")]
    pub payload: Option<String>,
    /// Raw text instead of JSON; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// Of the request: POST, PUT, PATCH, GET, DELETE or HEAD
    #[arg(long)]
    pub method: Option<String>,
    /// Of the request: "Name: value"; may be given several times
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,
    /// Of the command: NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// The command's working directory, an absolute path
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,

    /// The queue to stand in
    #[arg(long)]
    pub queue: Option<String>,
    /// high, normal or low
    #[arg(long)]
    pub priority: Option<Lane>,
    /// A label to filter by
    #[arg(long)]
    pub kind: Option<String>,
    /// A tag to filter by; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// How often it is tried at most
    #[arg(long, value_name = "N")]
    pub max_attempts: Option<u32>,
    /// Of one attempt
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<Span>,
    /// How long to wait before the second attempt
    #[arg(long, value_name = "DURATION")]
    pub backoff_base: Option<Span>,
    /// How much longer each further wait is
    #[arg(long, value_name = "NUMBER")]
    pub backoff_factor: Option<f64>,
    /// The longest wait between attempts
    #[arg(long, value_name = "DURATION")]
    pub backoff_cap: Option<Span>,
    /// Ties jobs of one undertaking together
    #[arg(long, value_name = "ID")]
    pub correlation_id: Option<String>,
    /// Notified with a signed POST when the job has ended
    #[arg(long, value_name = "URL")]
    pub callback_url: Option<String>,
}
