//! Keys as they are typed.

use std::num::NonZeroUsize;

use clap::{Args, Subcommand};
use foreman_client::{Scopes, Span, Timestamp};

use super::DirectFlags;

/// Whose keys they are says `--tenant`.
#[derive(Debug, Args)]
pub struct Keys {
    #[command(subcommand)]
    pub command: KeysCommand,
    #[command(flatten)]
    pub direct: DirectFlags,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it: this is the one moment in which it is shown
    Create(CreateKey),
    /// List a tenant's keys, those that open nothing any more among them
    List(ListKeys),
    /// Let keys open nothing any more, everywhere within five seconds; it cannot be taken back
    Revoke {
        /// The keys, by their ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Make a key in the place of another that is good for the same; the old one goes on for a while
    Rotate(RotateKey),
}

#[derive(Debug, Args)]
pub struct CreateKey {
    /// What it is good for, separated by commas: jobs:read, jobs:write, schedules:read, schedules:write, stream:read, workers,
    /// exec:command, admin; jobs:* and schedules:* mean both of theirs
    #[arg(long, value_name = "SCOPES")]
    pub scopes: Scopes,
    /// What people recognise it by
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    #[command(flatten)]
    pub expiry: Expiry,
}

/// When a key stops opening anything by itself.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Expiry {
    /// It opens nothing any more after this long, such as 90d
    #[arg(long, value_name = "DURATION", conflicts_with = "expires_at")]
    pub expires_in: Option<Span>,
    /// It opens nothing any more from this time on
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub struct ListKeys {
    /// At most this many
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// All of them, however many
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct RotateKey {
    /// The key, by its id
    pub id: String,
    /// How long the old one goes on [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub grace: Option<Span>,
    #[command(flatten)]
    pub expiry: Expiry,
}
