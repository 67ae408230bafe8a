//! The command line: what can be typed.

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
pub use server::{Api, Check, Dev, Doctor, Migrate, MigrateCommand, Scheduler, ServerFlags, Worker};
pub use submit::Submit;
pub use tenants::{DeleteTenants, ListTenants, Tenants, TenantsCommand};
pub use watch::Watch;
pub use webhooks::{Deliveries, ListWebhooks, TestWebhook, WebhooksCommand};

use crate::config::{self, Environment};
use crate::exit::{self, usage};
use crate::own_key;

/// Runs background work: accepts jobs durably, runs them, retries, and tells you what happened.
#[derive(Debug, Parser)]
#[command(name = "foreman", version, after_help = exit::HELP, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub remote: Remote,
    #[command(subcommand)]
    pub command: Command,
}

/// For every command that speaks to a server.
#[derive(Clone, Debug, Args)]
pub struct Remote {
    /// Where the server is [default: http://127.0.0.1:8080]
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
    /// The key to show it; better in the variable or in a file, for others can see what is typed
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
    /// The file that has the key
    #[arg(
        long,
        visible_alias = "key-file",
        global = true,
        env = "FOREMAN_API_KEY_FILE",
        value_name = "FILE",
        help_heading = "Server"
    )]
    api_key_file: Option<PathBuf>,
    /// Whose data it is about, for an operator's key; any other key knows its own tenant
    #[arg(long, global = true, env = "FOREMAN_TENANT", value_name = "TENANT", help_heading = "Server")]
    tenant: Option<String>,
    /// Tables for people, or the API's own documents
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
    /// Run the server: every role in one process, jobs in a SQLite file, or in Postgres where DATABASE_URL says
    Dev(Dev),
    /// Run an API: takes jobs and answers for them; any number, on one Postgres
    Api(Api),
    /// Run a worker: runs jobs; any number, on one Postgres
    Worker(Worker),
    /// Run a scheduler: fires schedules, promotes, sweeps and prunes; any number, on one Postgres, of which one leads
    Scheduler(Scheduler),
    /// Submit a job
    Submit(Box<Submit>),
    /// Look at jobs and steer them
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Jobs that come by themselves: make, look at, change, preview and run schedules
    #[command(subcommand)]
    Schedules(SchedulesCommand),
    /// Look at queues, pause and resume them
    #[command(subcommand)]
    Queues(QueuesCommand),
    /// List the workers
    Workers,
    /// Endpoints that are told how jobs end: make, look at, change and try them
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Whom this server works for: make, look at, change and remove tenants (an operator's key, or --direct)
    Tenants(Tenants),
    /// Make, list, revoke and rotate the keys of a tenant (an operator's key, or --direct)
    Keys(Keys),
    /// Who did what to which object, the latest first (an operator's key, or --direct)
    Audit(AuditLog),
    /// The master key that secrets are sealed with, and sealing them anew when it changes
    Secrets(Secrets),
    /// Print what happens, a line each, as it happens: jobs, schedules, queues and workers
    Watch(Watch),
    /// Bring the store's schema to this version
    Migrate(Migrate),
    /// Show the settings in force and where they come from; with --deep, prove that every job is in exactly one place
    Check(Check),
    /// Look at the store, and say what needs attention and what to do about it
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

#[derive(Debug, Subcommand)]
pub enum QueuesCommand {
    /// List queues with their depth by state
    List,
    /// Start no more jobs of a queue; what is running goes on
    Pause { queue: String },
    /// Start the jobs of a queue again
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
