//! The command line: commands and their flags.

mod audit;
mod direct;
mod job;
mod jobs;
mod keys;
mod schedules;
mod server;
mod submit;
mod tenants;
mod watch;
mod webhooks;

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use foreman_client::Client;
use foreman_core::secret::Secret;

pub use audit::{AuditLog, Secrets, SecretsCommand};
pub use direct::DirectFlags;
pub use job::JobFlags;
pub use jobs::{Groups, JobsCommand, List, Many, Outputs};
pub use keys::{Keys, KeysCommand, ListKeys};
pub use schedules::{
    DeleteSchedule, Import, ListSchedules, PolicyFlags, Preview, RunSchedule, SchedulesCommand, Ticks, Update,
    WhenFlags, Whole,
};
pub use server::{Api, Check, Dev, Doctor, Migrate, MigrateCommand, Relay, Scheduler, ServerFlags, Worker};
pub use submit::Submit;
pub use tenants::{DeleteTenants, ListTenants, Tenants, TenantsCommand};
pub use watch::Watch;
pub use webhooks::{Deliveries, ListWebhooks, TestWebhook, WebhooksCommand};

use crate::config::{self, Environment};
use crate::exit::{self, usage};
use crate::own_key;

/// Runs background jobs: accepts them durably, runs them, retries them, and reports what happened
#[derive(Debug, Parser)]
#[command(name = "foreman", version, after_help = exit::HELP, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub remote: Remote,
    #[command(subcommand)]
    pub command: Command,
}

/// For every command that calls a server.
#[derive(Clone, Debug, Args)]
pub struct Remote {
    /// URL of the server [default: http://127.0.0.1:8080]
    #[arg(
        long,
        visible_alias = "server",
        global = true,
        env = "FOREMAN_API_URL",
        // It may carry a password.
        hide_env_values = true,
        value_name = "URL",
        help_heading = "Server"
    )]
    api_url: Option<String>,
    /// API key; prefer the variable or --api-key-file, because other users can see command lines
    #[arg(
        long,
        visible_alias = "key",
        global = true,
        env = "FOREMAN_API_KEY",
        hide_env_values = true,
        value_name = "KEY",
        value_parser = secret,
        help_heading = "Server"
    )]
    api_key: Option<Secret>,
    /// File that contains the API key
    #[arg(
        long,
        visible_alias = "key-file",
        global = true,
        env = "FOREMAN_API_KEY_FILE",
        value_name = "FILE",
        help_heading = "Server"
    )]
    api_key_file: Option<PathBuf>,
    /// Tenant to work on, for operator keys; any other key belongs to one tenant
    #[arg(long, global = true, env = "FOREMAN_TENANT", value_name = "TENANT", help_heading = "Server")]
    tenant: Option<String>,
    /// Output format: tables for people, or the API's JSON
    #[arg(long, short, global = true, value_enum, default_value_t = Output::Table, help_heading = "Server")]
    pub output: Output,
}

impl Remote {
    /// A variable that is set to nothing is not set.
    pub fn api_url(&self) -> &str {
        self.api_url.as_deref().filter(|url| !url.is_empty()).unwrap_or("http://127.0.0.1:8080")
    }

    /// The tenant that was named.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref().filter(|tenant| !tenant.is_empty())
    }

    /// Speaks to the server as its holder does.
    pub fn client(&self, environment: &Environment) -> anyhow::Result<Client> {
        let key = match self.key()? {
            Some(key) => Some(key),
            None => self.own_key(environment)?,
        };
        Ok(Client::new(self.api_url(), key.as_ref().map(Secret::reveal))?)
    }

    /// The same, about the tenant that was named.
    pub fn client_for_tenant(&self, environment: &Environment) -> anyhow::Result<Client> {
        let client = self.client(environment)?;
        Ok(self.tenant().map(|tenant| client.for_tenant(tenant)).transpose()?.unwrap_or(client))
    }

    /// The key that a `foreman dev` of this user has made for itself, where the settings here say that its data lies.
    fn own_key(&self, environment: &Environment) -> anyhow::Result<Option<Secret>> {
        let flags =
            ServerFlags { config: environment.get("FOREMAN_CONFIG").map(PathBuf::from), ..ServerFlags::default() };
        // Settings that cannot be read are the server's to complain about.
        let Ok(loaded) = config::load_store(&flags, environment) else { return Ok(None) };
        own_key::find(&loaded.settings.data_dir, self.api_url())
    }

    fn key(&self) -> anyhow::Result<Option<Secret>> {
        if let Some(key) = self.api_key.as_ref().filter(|key| !key.reveal().is_empty()) {
            return Ok(Some(key.clone()));
        }
        let Some(file) = self.api_key_file.as_ref().filter(|file| !file.as_os_str().is_empty()) else {
            return Ok(None);
        };
        match fs::read_to_string(file).map(Secret::new) {
            Ok(text) if text.reveal().trim().is_empty() => Err(usage(format!("there is no key in {}", file.display()))),
            Ok(text) => Ok(Some(Secret::new(text.reveal().trim()))),
            Err(error) => Err(usage(format!("could not read the key in {}: {error}", file.display()))),
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as clap asks for it")]
fn secret(text: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(text))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Table,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a server with every role in one process, on a SQLite file, or on Postgres if DATABASE_URL is set
    Dev(Dev),
    /// Run an API server: accepts jobs and serves the dashboard; run any number on one Postgres
    Api(Api),
    /// Run a worker: runs jobs; run any number on one Postgres
    Worker(Worker),
    /// Run a scheduler: fires schedules, promotes due jobs, rescues jobs of dead workers, prunes; run any number, one leads
    Scheduler(Scheduler),
    /// Run a relay: announces due jobs to workers through Kafka; run any number on one Postgres
    Relay(Relay),
    /// Submit a job
    Submit(Box<Submit>),
    /// Manage jobs
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Manage schedules
    #[command(subcommand)]
    Schedules(SchedulesCommand),
    /// List, pause and resume queues
    #[command(subcommand)]
    Queues(QueuesCommand),
    /// List workers
    Workers,
    /// List messages from Kafka that could not be read, newest first (needs an operator key)
    Parked(ListParked),
    /// Manage webhooks
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Manage tenants (needs an operator key, or --direct)
    Tenants(Tenants),
    /// Manage a tenant's API keys (needs an operator key, or --direct)
    Keys(Keys),
    /// Show the audit log, newest first (needs an operator key, or --direct)
    Audit(AuditLog),
    /// Manage the master key that encrypts stored secrets
    Secrets(Secrets),
    /// Print events of jobs, schedules, queues and workers as they happen
    Watch(Watch),
    /// Migrate the database schema to this version
    Migrate(Migrate),
    /// Show the settings in force and where they come from; with --deep, verify every job in the store
    Check(Check),
    /// Diagnose the store: report what needs attention and how to fix it
    Doctor(Doctor),
    /// Print the OpenAPI document
    Openapi,
    /// Print a completion script for a shell
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the version
    Version,
}

#[derive(Debug, Args)]
pub struct ListParked {
    /// Show at most this many messages
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// Show all messages
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Subcommand)]
pub enum QueuesCommand {
    /// List queues with their job counts by state
    List,
    /// Pause a queue: no job of it starts; running jobs continue
    Pause { queue: String },
    /// Resume a queue
    Resume { queue: String },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_every_flag_says_what_it_is_for() {
        fn walk(command: &clap::Command, silent: &mut Vec<String>) {
            let name = command.get_name().to_owned();
            if command.get_about().is_none() {
                silent.push(name.clone());
            }
            for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
                if arg.get_help().is_none() {
                    silent.push(format!("{name} --{}", arg.get_id()));
                }
            }
            command.get_subcommands().for_each(|command| walk(command, silent));
        }
        let mut silent = Vec::new();
        walk(&Cli::command(), &mut silent);
        assert!(silent.is_empty(), "{silent:?}");
    }
}
