//! Everything that can be set, as the parts of Foreman take it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use foreman_api::{Bodies, serve, tail};
use foreman_core::egress::Policy;
use foreman_core::limits::Limits;
use foreman_core::sealed::Keyring;
use foreman_core::secret::Secret;
use foreman_core::tenant::TenantLimits;
use foreman_engine::target::{command, http};
use foreman_engine::{bookkeeper, courier, output, promoter, pruner, scheduler, submit, sweeper, worker};
use foreman_redis::Topology;

use super::Environment;
use super::codec::Choice;
use super::command_user::{CommandUser, UserRange};
use super::egress;
use super::kafka::KafkaSettings;
use crate::horizon;
use crate::role::Role;

/// For the last outcomes and the end of the session, after the work has stopped.
const LAST_WRITES: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    pub store: StoreKind,
    /// Where roles without an API answer probes.
    pub health_listen: SocketAddr,
    /// What everyone who comes to the API must show.
    pub admin_key: Option<Secret>,
    /// The server made that key itself: it is of whoever started it, and no tenant's list keeps that user from running anything.
    pub has_own_key: bool,
    /// What secrets are sealed with where they are kept.
    pub secret_key: Option<Keyring>,
    /// Where that is read from, instead.
    pub secret_key_file: Option<PathBuf>,
    pub database: DatabaseSettings,
    /// What carries announcements to workers, if anything does.
    pub kafka: KafkaSettings,
    pub redis: RedisSettings,
    pub log: LogSettings,
    /// `None`: the machine's name.
    pub worker_name: Option<String>,
    pub worker: worker::Config,
    pub commands: CommandSettings,
    pub command: command::Config,
    pub http: http::Config,
    /// Where targets may lie, as it was written. What follows from it is in `limits` and `http`.
    pub egress: Policy,
    pub webhooks: DeliverySettings,
    pub courier: courier::Config,
    pub bookkeeper: bookkeeper::Config,
    pub output: output::Config,
    pub submit: submit::Config,
    pub promoter: promoter::Config,
    pub sweeper: sweeper::Config,
    pub pruner: pruner::Config,
    pub scheduler: scheduler::Config,
    pub limits: Limits,
    /// How much each tenant may ask for, unless something else was said about it.
    pub tenant_limits: TenantLimits,
    /// Those of the tenant `default`, which on a server without keys is its operator's own.
    pub own_limits: TenantLimits,
    pub bodies: Bodies,
    pub serve: serve::Config,
    pub tail: tail::Config,
    /// A leader that is silent for so long is replaced.
    pub leader_ttl: Duration,
    pub horizon: horizon::Config,
    pub shutdown: ShutdownSettings,
    pub sqlite: foreman_sqlite::Config,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// As in `RUST_LOG`.
    pub level: String,
    pub format: LogFormat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSettings {
    /// May jobs run programs?
    pub allow: bool,
    /// Variables that are passed on to commands.
    pub inherit_env: Vec<String>,
    /// Who runs them. `None`: the user of this process.
    pub user: Option<String>,
    /// The same, found on this machine; only where commands are run.
    pub runs_as: Option<CommandUser>,
    /// Instead: a user for each tenant, out of these.
    pub users: Option<UserRange>,
    /// Where it is kept which tenant has which.
    pub users_dir: PathBuf,
    /// May commands of several tenants run as one user?
    pub share_user: bool,
    /// Where they get a directory of their own.
    pub scratch: PathBuf,
    pub limits: command::ProcessLimits,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            allow: false,
            inherit_env: command::INHERITED.map(String::from).to_vec(),
            user: None,
            runs_as: None,
            users: None,
            users_dir: PathBuf::from("/var/lib/foreman/users"),
            share_user: false,
            scratch: PathBuf::from("/tmp"),
            limits: command::ProcessLimits::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliverySettings {
    /// Is anybody told of anything?
    pub enabled: bool,
}

/// The Postgres that all roles share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSettings {
    pub url: Option<Secret>,
    /// Past a pooler, for what needs a connection of its own: wake-ups and leadership. `None`: the same.
    pub direct_url: Option<Secret>,
    /// Certificates of who may vouch for the server. `None`: with TLS, any certificate is accepted.
    pub tls_ca: Option<PathBuf>,
    pub schema: String,
    /// For jobs.
    pub connections: usize,
    /// For heartbeats and sweeps, which must not wait for jobs.
    pub control_connections: usize,
    pub prepare: bool,
    pub acquire_timeout: Duration,
    pub connect_timeout: Duration,
    pub max_connection_age: Duration,
    pub lock_timeout: Duration,
    pub statement_timeout: Duration,
    pub idle_timeout: Duration,
    pub call_timeout: Duration,
    /// The longest look at everything: `foreman check --deep`.
    pub census_timeout: Duration,
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        let config = foreman_postgres::Config::at("");
        Self {
            url: None,
            direct_url: None,
            tls_ca: config.tls_ca,
            schema: config.schema,
            connections: config.data_connections,
            control_connections: config.control_connections,
            prepare: config.prepare,
            acquire_timeout: config.acquire_timeout,
            connect_timeout: config.connect_timeout,
            max_connection_age: config.max_connection_age,
            lock_timeout: config.lock_timeout,
            statement_timeout: config.statement_timeout,
            idle_timeout: config.idle_timeout,
            call_timeout: config.call_timeout,
            census_timeout: config.census_timeout,
        }
    }
}

/// The Redis through which processes tell each other news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSettings {
    pub url: Option<Secret>,
    /// Further Sentinels, or nodes of a cluster.
    pub nodes: Vec<String>,
    /// The name of the master that Sentinels are asked for.
    pub sentinel_master: Option<String>,
    pub sentinel_password: Option<Secret>,
    pub cluster: bool,
    pub tls_ca: Option<PathBuf>,
    /// Instead of those in the address.
    pub username: Option<String>,
    pub password: Option<Secret>,
    pub prefix: String,
    pub connect_timeout: Duration,
    pub call_timeout: Duration,
    pub retry: Duration,
}

impl Default for RedisSettings {
    fn default() -> Self {
        let config = foreman_redis::Config::at("");
        Self {
            url: None,
            nodes: config.nodes,
            sentinel_master: None,
            sentinel_password: config.sentinel_password,
            cluster: false,
            tls_ca: config.tls_ca,
            username: config.username,
            password: config.password,
            prefix: config.prefix,
            connect_timeout: config.connect_timeout,
            call_timeout: config.call_timeout,
            retry: config.retry,
        }
    }
}

impl RedisSettings {
    /// How Redis is reached; `None` without one.
    pub fn config(&self) -> Option<foreman_redis::Config> {
        let mut config = foreman_redis::Config::at(self.url.as_ref()?.reveal());
        config.topology = match &self.sentinel_master {
            Some(master) => Topology::Sentinel(master.clone()),
            None if self.cluster => Topology::Cluster,
            None => Topology::Single,
        };
        config.nodes.clone_from(&self.nodes);
        config.tls_ca.clone_from(&self.tls_ca);
        config.username.clone_from(&self.username);
        config.password.clone_from(&self.password);
        config.sentinel_password.clone_from(&self.sentinel_password);
        config.prefix.clone_from(&self.prefix);
        config.connect_timeout = self.connect_timeout;
        config.call_timeout = self.call_timeout;
        config.retry = self.retry;
        Some(config)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownSettings {
    /// From the signal to the end of the process: for HTTP, work in flight and the store together.
    pub grace: Duration,
    /// How long readiness says no before intake is closed, so that balancers notice.
    pub not_ready: Duration,
    /// After so long the platform kills what has not stopped. `None`: nobody said.
    pub platform_grace: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    /// Nothing is kept.
    Memory,
    /// Shared by any number of processes.
    Postgres,
}

impl StoreKind {
    pub const CHOICES: &[(&str, StoreKind)] =
        &[("sqlite", StoreKind::Sqlite), ("memory", StoreKind::Memory), ("postgres", StoreKind::Postgres)];
}

impl Choice for StoreKind {
    fn name(self) -> &'static str {
        match self {
            StoreKind::Sqlite => "sqlite",
            StoreKind::Memory => "memory",
            StoreKind::Postgres => "postgres",
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
            health_listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081),
            admin_key: None,
            has_own_key: false,
            secret_key: None,
            secret_key_file: None,
            database: DatabaseSettings::default(),
            kafka: KafkaSettings::default(),
            redis: RedisSettings::default(),
            log: LogSettings { level: "info".into(), format: LogFormat::Auto },
            worker_name: None,
            worker: worker::Config::default(),
            commands: CommandSettings::default(),
            command: command::Config::default(),
            http: http::Config::default(),
            egress: Policy::default(),
            webhooks: DeliverySettings { enabled: true },
            courier: courier::Config::default(),
            bookkeeper: bookkeeper::Config::default(),
            output: output::Config::default(),
            submit: submit::Config::default(),
            promoter: promoter::Config::default(),
            sweeper: sweeper::Config::default(),
            pruner: pruner::Config::default(),
            scheduler: scheduler::Config::default(),
            limits: Limits::default(),
            tenant_limits: TenantLimits::default(),
            own_limits: TenantLimits::default(),
            bodies: Bodies::default(),
            serve: serve::Config::default(),
            tail: tail::Config::default(),
            leader_ttl: Duration::from_secs(15),
            horizon: horizon::Config::default(),
            shutdown: ShutdownSettings {
                grace: Duration::from_secs(25),
                not_ready: Duration::from_secs(2),
                platform_grace: None,
            },
            sqlite: foreman_sqlite::Config::default(),
        }
    }
}

impl Settings {
    /// Fills in what follows from other settings and from the machine; `role` is of a process that serves.
    pub(super) fn complete(&mut self, environment: &Environment, role: Option<Role>) {
        if let Some(role) = role {
            let policy = egress::in_force(self, role);
            self.limits.egress = policy.clone();
            self.http.egress = policy;
        }
        self.sqlite.path = self.data_dir.join("foreman.db");
        self.worker.name = self.worker_name.clone().unwrap_or_else(|| machine_name(environment));
        self.command.inherited = self
            .commands
            .inherit_env
            .iter()
            .filter_map(|name| Some((name.clone(), environment.get(name)?.to_owned())))
            .collect();
        if let Some(user) = &self.commands.runs_as {
            user.correct(&mut self.command.inherited);
        }
        if self.commands.users.is_some() {
            CommandUser::of_nobody().correct(&mut self.command.inherited);
        }
    }

    /// How the database is opened, by a process that shows itself there as `foreman-{what}`; `None` without one.
    pub fn postgres(&self, what: &str) -> Option<foreman_postgres::Config> {
        let database = &self.database;
        let mut config = foreman_postgres::Config::at(database.url.as_ref()?.reveal());
        config.direct_url = database.direct_url.as_ref().map(|url| url.reveal().to_owned());
        config.tls_ca.clone_from(&database.tls_ca);
        config.schema.clone_from(&database.schema);
        config.data_connections = database.connections;
        config.control_connections = database.control_connections;
        config.prepare = database.prepare;
        config.application_name = application_name(what);
        config.acquire_timeout = database.acquire_timeout;
        config.connect_timeout = database.connect_timeout;
        config.max_connection_age = database.max_connection_age;
        config.lock_timeout = database.lock_timeout;
        config.statement_timeout = database.statement_timeout;
        config.idle_timeout = database.idle_timeout;
        config.call_timeout = database.call_timeout;
        config.census_timeout = database.census_timeout;
        Some(config)
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
        command::Config { kill_grace, scratch: Some(self.commands.scratch.clone()), ..self.command.clone() }
    }
}

/// What the server shows beside our connections: the role, the machine and the process, so that an operator knows which one to look
/// at. `foreman doctor` counts processes by it. The server cuts names off after 63 bytes.
fn application_name(what: &str) -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let machine: String = machine.trim().chars().filter(char::is_ascii_graphic).take(30).collect();
    format!("foreman-{what} {machine}:{}", std::process::id())
}

fn machine_name(environment: &Environment) -> String {
    let of_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.as_deref().or_else(|| environment.get("HOSTNAME")).map(str::trim).unwrap_or_default();
    if name.is_empty() { "worker".into() } else { name.to_owned() }
}
