//! Everything that can be set, as the parts of Foreman take it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use foreman_api::{Bodies, serve, tail};
use foreman_core::limits::Limits;
use foreman_engine::target::{command, http};
use foreman_engine::{output, promoter, pruner, submit, sweeper, worker};

use super::Environment;
use super::codec::Choice;

/// For the last outcomes and the end of the session, after the work has stopped.
const LAST_WRITES: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    pub store: StoreKind,
    pub log: Log,
    /// `None`: the machine's name.
    pub worker_name: Option<String>,
    pub worker: worker::Config,
    pub commands: Commands,
    pub command: command::Config,
    pub http: http::Config,
    pub output: output::Config,
    pub submit: submit::Config,
    pub promoter: promoter::Config,
    pub sweeper: sweeper::Config,
    pub pruner: pruner::Config,
    pub limits: Limits,
    pub bodies: Bodies,
    pub serve: serve::Config,
    pub tail: tail::Config,
    pub shutdown: Shutdown,
    pub sqlite: foreman_sqlite::Config,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// As in `RUST_LOG`.
    pub level: String,
    pub format: LogFormat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// May jobs run programs, as this user?
    pub allow: bool,
    /// Variables that are passed on to commands.
    pub inherit_env: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// From the signal to the end of the process: for HTTP, work in flight and the store together.
    pub grace: Duration,
    /// How long readiness says no before intake is closed, so that balancers notice.
    pub not_ready: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    /// Nothing is kept.
    Memory,
}

impl StoreKind {
    pub const CHOICES: &[(&str, StoreKind)] = &[("sqlite", StoreKind::Sqlite), ("memory", StoreKind::Memory)];
}

impl Choice for StoreKind {
    fn name(self) -> &'static str {
        match self {
            StoreKind::Sqlite => "sqlite",
            StoreKind::Memory => "memory",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people on a terminal, JSON elsewhere.
    Auto,
    Human,
    Json,
}

impl LogFormat {
    pub const CHOICES: &[(&str, LogFormat)] =
        &[("auto", LogFormat::Auto), ("human", LogFormat::Human), ("json", LogFormat::Json)];
}

impl Choice for LogFormat {
    fn name(self) -> &'static str {
        match self {
            LogFormat::Auto => "auto",
            LogFormat::Human => "human",
            LogFormat::Json => "json",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            data_dir: PathBuf::from("./.foreman"),
            store: StoreKind::Sqlite,
            log: Log { level: "info".into(), format: LogFormat::Auto },
            worker_name: None,
            worker: worker::Config::default(),
            commands: Commands { allow: false, inherit_env: command::INHERITED.map(String::from).to_vec() },
            command: command::Config::default(),
            http: http::Config::default(),
            output: output::Config::default(),
            submit: submit::Config::default(),
            promoter: promoter::Config::default(),
            sweeper: sweeper::Config::default(),
            pruner: pruner::Config::default(),
            limits: Limits::default(),
            bodies: Bodies::default(),
            serve: serve::Config::default(),
            tail: tail::Config::default(),
            shutdown: Shutdown { grace: Duration::from_secs(25), not_ready: Duration::from_secs(2) },
            sqlite: foreman_sqlite::Config::default(),
        }
    }
}

impl Settings {
    /// Fills in what follows from other settings and from the machine.
    pub(super) fn complete(&mut self, environment: &Environment) {
        self.sqlite.path = self.data_dir.join("foreman.db");
        self.worker.name = self.worker_name.clone().unwrap_or_else(|| machine_name(environment));
        self.command.inherited = self
            .commands
            .inherit_env
            .iter()
            .filter_map(|name| Some((name.clone(), environment.get(name)?.to_owned())))
            .collect();
    }

    /// How long before the deadline work is told to stop: time for commands to end, outcomes to be written and the store
    /// to be closed.
    pub fn reserve(&self) -> Duration {
        (self.worker.stop_grace + LAST_WRITES).min(self.shutdown.grace / 2)
    }

    /// The worker's part of the one deadline: what it may take at the end fits into the reserve, and the abort, not a
    /// timer of its own, ends the wait for running work.
    pub fn worker_in_grace(&self) -> worker::Config {
        let reserve = self.reserve();
        let flush_grace = self.worker.flush_grace.min(LAST_WRITES).min(reserve / 3);
        worker::Config {
            drain_grace: self.shutdown.grace,
            stop_grace: self.worker.stop_grace.min(reserve.saturating_sub(flush_grace)),
            flush_grace,
            ..self.worker.clone()
        }
    }

    /// Commands are killed before the worker gives up waiting for them.
    pub fn command_in_grace(&self) -> command::Config {
        let kill_grace = self.command.kill_grace.min(self.worker_in_grace().stop_grace);
        command::Config { kill_grace, ..self.command.clone() }
    }
}

fn machine_name(environment: &Environment) -> String {
    let of_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.as_deref().or_else(|| environment.get("HOSTNAME")).map(str::trim).unwrap_or_default();
    if name.is_empty() { "worker".into() } else { name.to_owned() }
}
