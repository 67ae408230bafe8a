//! Arguments of `foreman submit`.

use clap::{ArgGroup, Args};
use foreman_core::Timestamp;
use foreman_core::duration::Span;

use super::JobFlags;

#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("target").required(true).args(["url", "command", "task", "argv"])),
    after_help = crate::exit::HELP
)]
pub struct Submit {
    #[command(flatten)]
    pub job: JobFlags,
    /// Delay the job by this long, such as 90s
    #[arg(long, value_name = "DURATION", conflicts_with = "run_at")]
    pub delay: Option<Span>,
    /// Do not run the job before this time, such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "TIME")]
    pub run_at: Option<Timestamp>,
    /// Fail the job if it has not started by this time
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<Timestamp>,
    /// Submitting again with the same key does not create a second job
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Wait until the job finishes, print its result, and set the exit code
    #[arg(long)]
    pub wait: bool,
    /// Stop waiting after this long (exit code 4); the job continues
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub wait_timeout: Option<Span>,
}
