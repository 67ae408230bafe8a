//! The audit log and the secrets, as they are asked for.

use std::num::NonZeroUsize;

use clap::{Args, Subcommand};

use super::DirectFlags;

/// Of the tenant that `--tenant` names, or of all.
#[derive(Debug, Args)]
pub struct AuditLog {
    /// Show at most this many entries
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// Show all entries
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub direct: DirectFlags,
}

#[derive(Debug, Args)]
pub struct Secrets {
    #[command(subcommand)]
    pub command: SecretsCommand,
    #[command(flatten)]
    pub direct: DirectFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum SecretsCommand {
    /// Generate a key for FOREMAN_SECRET_KEY and print it
    Generate,
    /// Re-encrypt the stored secrets of tenants, webhooks and schedules with the first key of FOREMAN_SECRET_KEY; needs --direct
    Reseal,
}
