//! A job as it is typed.

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
    /// Not before this much later, such as 90s
    #[arg(long, value_name = "DURATION", conflicts_with = "run_at")]
    pub delay: Option<Span>,
    /// Not before this time, such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "TIME")]
    pub run_at: Option<Timestamp>,
    /// Fail it if it has not started by then
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<Timestamp>,
    /// Submitting twice with the same key makes one job
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Wait until it is final, print what it gave, and exit accordingly
    #[arg(long)]
    pub wait: bool,
    /// Give up waiting after this long (exit code 4); the job goes on
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub wait_timeout: Option<Span>,
}
