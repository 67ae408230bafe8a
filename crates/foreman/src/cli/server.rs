//! Commands that run a server or look at its files. Their flags are settings: [`crate::config`] puts them above the
//! environment and the file.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::demo::Demo;

/// Flags that are settings.
#[derive(Clone, Debug, Default, Args)]
pub struct ServerFlags {
    /// Settings file [default: ./foreman.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "FOREMAN_CONFIG", help_heading = "Settings")]
    pub config: Option<PathBuf>,
    /// Address to listen on [env: FOREMAN_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", help_heading = "Settings")]
    pub listen: Option<String>,
    /// Directory of the database file [env: FOREMAN_DATA_DIR] [default: ./.foreman]
    #[arg(long, value_name = "DIR", help_heading = "Settings")]
    pub data_dir: Option<String>,
    /// Store: sqlite, postgres (at DATABASE_URL), or memory, which keeps nothing [default: postgres if DATABASE_URL is set, else
    /// sqlite]
    #[arg(long, value_name = "STORE", help_heading = "Settings")]
    pub store: Option<String>,
    /// Address of the health endpoints [env: FOREMAN_HEALTH_LISTEN] [default: 127.0.0.1:8081]
    #[arg(skip)]
    pub health_listen: Option<String>,
    /// Number of jobs to run concurrently [default: 32]
    #[arg(long, value_name = "N", help_heading = "Settings")]
    pub slots: Option<String>,
    /// Run only jobs of these queues, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", help_heading = "Settings")]
    pub queues: Option<String>,
    /// Allow jobs to run programs, as the current user
    #[arg(long, help_heading = "Settings")]
    pub allow_commands: bool,
    /// Private networks and hosts that jobs and webhooks may call, separated by commas [env:
    /// FOREMAN_EGRESS_ALLOW] [default: none; `dev` allows this machine]
    #[arg(long, value_name = "NETWORKS", help_heading = "Settings")]
    pub egress_allow: Option<String>,
    /// Time to finish work when stopping [default: 25s]
    #[arg(long, value_name = "DURATION", help_heading = "Settings")]
    pub grace: Option<String>,
    /// Log level: error, warn, info, debug, trace, or a filter as in RUST_LOG [default: info]
    #[arg(long, value_name = "LEVEL", help_heading = "Settings")]
    pub log_level: Option<String>,
    /// Log format: auto, human or json [default: auto]
    #[arg(long, value_name = "FORMAT", help_heading = "Settings")]
    pub log_format: Option<String>,
    /// Set any setting by name, such as worker.poll=500ms; `foreman check` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "Settings")]
    pub set: Vec<String>,
}

impl ServerFlags {
    /// Flag, path of its setting, value.
    pub fn given(&self) -> Vec<(&'static str, &'static str, &str)> {
        let named = [
            ("--listen", "listen", &self.listen),
            ("--health-listen", "health_listen", &self.health_listen),
            ("--data-dir", "data_dir", &self.data_dir),
            ("--store", "store", &self.store),
            ("--slots", "worker.slots", &self.slots),
            ("--queues", "worker.queues", &self.queues),
            ("--egress-allow", "egress.allow", &self.egress_allow),
            ("--grace", "shutdown.grace", &self.grace),
            ("--log-level", "log.level", &self.log_level),
            ("--log-format", "log.format", &self.log_format),
        ];
        let mut given: Vec<_> =
            named.into_iter().filter_map(|(flag, path, value)| Some((flag, path, value.as_deref()?))).collect();
        if self.allow_commands {
            given.push(("--allow-commands", "commands.allow", "true"));
        }
        given
    }
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Dev {
    #[command(flatten)]
    pub flags: ServerFlags,
    /// Fill the server with demo jobs, schedules and failures, and keep submitting; finished jobs are kept for an hour
    #[arg(long)]
    pub demo: bool,
    /// Seed of the demo: the same seed picks the same jobs in the same order
    #[arg(long, value_name = "NUMBER", requires = "demo")]
    pub demo_seed: Option<u64>,
}

impl Dev {
    /// The demo to run, if one was asked for.
    pub fn demo(&self) -> Option<Demo> {
        self.demo.then_some(Demo { seed: self.demo_seed })
    }
}

/// Flags that every role has.
#[derive(Clone, Debug, Default, Args)]
pub struct RoleFlags {
    /// Private networks and hosts that jobs and webhooks may call, separated by commas [env:
    /// FOREMAN_EGRESS_ALLOW] [default: none]
    #[arg(long, value_name = "NETWORKS", help_heading = "Settings")]
    pub egress_allow: Option<String>,
    /// Settings file [default: ./foreman.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "FOREMAN_CONFIG", help_heading = "Settings")]
    pub config: Option<PathBuf>,
    /// Time to finish work when stopping [default: 25s]
    #[arg(long, value_name = "DURATION", help_heading = "Settings")]
    pub grace: Option<String>,
    /// Log level: error, warn, info, debug, trace, or a filter as in RUST_LOG [default: info]
    #[arg(long, value_name = "LEVEL", help_heading = "Settings")]
    pub log_level: Option<String>,
    /// Log format: auto, human or json [default: auto]
    #[arg(long, value_name = "FORMAT", help_heading = "Settings")]
    pub log_format: Option<String>,
    /// Set any setting by name, such as worker.poll=500ms; `foreman check` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "Settings")]
    pub set: Vec<String>,
}

impl From<&RoleFlags> for ServerFlags {
    fn from(flags: &RoleFlags) -> Self {
        let RoleFlags { egress_allow, config, grace, log_level, log_format, set } = flags.clone();
        Self { config, egress_allow, grace, log_level, log_format, set, ..Self::default() }
    }
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Api {
    /// Address to listen on [env: FOREMAN_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", help_heading = "Settings")]
    pub listen: Option<String>,
    /// Accept jobs that run programs on the workers
    #[arg(long, help_heading = "Settings")]
    pub allow_commands: bool,
    #[command(flatten)]
    pub flags: RoleFlags,
}

impl Api {
    pub fn flags(&self) -> ServerFlags {
        let (listen, allow_commands) = (self.listen.clone(), self.allow_commands);
        ServerFlags { listen, allow_commands, ..(&self.flags).into() }
    }
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Worker {
    /// Run only jobs of these queues, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", help_heading = "Settings")]
    pub queues: Option<String>,
    /// Number of jobs to run concurrently [default: 32]
    #[arg(long, value_name = "N", help_heading = "Settings")]
    pub slots: Option<String>,
    /// Run jobs that are programs, as the current user
    #[arg(long, help_heading = "Settings")]
    pub allow_commands: bool,
    /// Address of the health endpoints [env: FOREMAN_HEALTH_LISTEN] [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS", help_heading = "Settings")]
    pub health_listen: Option<String>,
    #[command(flatten)]
    pub flags: RoleFlags,
}

impl Worker {
    pub fn flags(&self) -> ServerFlags {
        ServerFlags {
            queues: self.queues.clone(),
            slots: self.slots.clone(),
            allow_commands: self.allow_commands,
            health_listen: self.health_listen.clone(),
            ..(&self.flags).into()
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Scheduler {
    /// Address of the health endpoints [env: FOREMAN_HEALTH_LISTEN] [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS", help_heading = "Settings")]
    pub health_listen: Option<String>,
    #[command(flatten)]
    pub flags: RoleFlags,
}

impl Scheduler {
    pub fn flags(&self) -> ServerFlags {
        ServerFlags { health_listen: self.health_listen.clone(), ..(&self.flags).into() }
    }
}

#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub struct Relay {
    /// Address of the health endpoints [env: FOREMAN_HEALTH_LISTEN] [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS", help_heading = "Settings")]
    pub health_listen: Option<String>,
    #[command(flatten)]
    pub flags: RoleFlags,
}

impl Relay {
    pub fn flags(&self) -> ServerFlags {
        ServerFlags { health_listen: self.health_listen.clone(), ..(&self.flags).into() }
    }
}

/// Diagnoses the store: exit code 0 when nothing needs attention, 1 when something does.
#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    pub flags: ServerFlags,
}

#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub flags: ServerFlags,
    /// Verify every job in the store: each must be in exactly one place (exit code 1 if not)
    #[arg(long)]
    pub deep: bool,
}

#[derive(Debug, Args)]
pub struct Migrate {
    #[command(subcommand)]
    pub command: Option<MigrateCommand>,
    #[command(flatten)]
    pub flags: ServerFlags,
    /// Only print what would be done
    #[arg(long, global = true)]
    pub dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum MigrateCommand {
    /// Apply missing migrations (the default)
    Up,
    /// Show which migrations have been applied
    Status,
}
