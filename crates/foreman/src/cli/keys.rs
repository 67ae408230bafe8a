//! Arguments of `foreman keys`.

use std::num::NonZeroUsize;

use clap::{Args, Subcommand};
use foreman_client::{Scopes, Span, Timestamp};

use super::DirectFlags;

/// `--tenant` names the tenant that owns the keys.
#[derive(Debug, Args)]
pub struct Keys {
    #[command(subcommand)]
    pub command: KeysCommand,
    #[command(flatten)]
    pub direct: DirectFlags,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it; it is shown only once
    Create(CreateKey),
    /// List a tenant's keys, including revoked and expired ones
    List(ListKeys),
    /// Revoke keys; takes effect everywhere within five seconds and cannot be undone
    Revoke {
        /// Key ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Replace a key with a new one that has the same scopes; the old key stays valid for a while
    Rotate(RotateKey),
}

#[derive(Debug, Args)]
pub struct CreateKey {
    /// Scopes, separated by commas: jobs:read, jobs:write, schedules:read, schedules:write, stream:read, workers,
    /// exec:command, admin; jobs:* and schedules:* mean read and write
    #[arg(long, value_name = "SCOPES")]
    pub scopes: Scopes,
    /// Name to recognise the key by
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    #[command(flatten)]
    pub expiry: Expiry,
}

/// When a key expires.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Expiry {
    /// The key expires after this long, such as 90d
    #[arg(long, value_name = "DURATION", conflicts_with = "expires_at")]
    pub expires_in: Option<Span>,
    /// The key expires at this time
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub struct ListKeys {
    /// Show at most this many keys
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// Show all keys
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct RotateKey {
    /// Key id
    pub id: String,
    /// How long the old key stays valid [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub grace: Option<Span>,
    #[command(flatten)]
    pub expiry: Expiry,
}
