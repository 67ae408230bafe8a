//! Turns text into settings: defaults ← file ← environment ← flags.
//!
//! Every part of Foreman has a plain, typed `Config` beside it; this is the only room that fills them from text, and it
//! reports every mistake at once, with its origin: file and line, variable, or flag. `foreman.default.toml`
//! *is* the defaults; a test holds the two together.

mod agree;
mod codec;
mod command_user;
mod egress;
mod environment;
mod file;
mod kafka;
mod nearest;
mod secret;
mod settings;
mod table;
mod unlimited;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use agree::{LOCAL_DISK, warnings};
pub use command_user::UserRange;
pub use environment::Environment;
pub use secret::without_password;
pub use settings::{CommandSettings, LogFormat, Settings, StoreKind};
pub use table::{Setting, settings as known};

use foreman_core::egress::Policy;
use foreman_core::tenant::TenantLimits;

use crate::cli::ServerFlags;
use crate::role::Role;
use crate::secret_key;
use codec::Raw;

/// Looked for where the process was started, when no other is named.
const FILE: &str = "foreman.toml";

const TENANT_LIMITS: &str = "limits.tenant.";

/// The settings in force, and where each of them came from.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    origins: BTreeMap<&'static str, Origin>,
}

impl Loaded {
    pub fn origin(&self, setting: &Setting) -> Origin {
        self.origin_of(setting.path)
    }

    pub fn origin_of(&self, path: &str) -> Origin {
        self.origins.get(path).cloned().unwrap_or(Origin::Default)
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// What `foreman dev` does differently.
    Dev,
    File {
        path: PathBuf,
        line: usize,
    },
    Variable(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Dev => f.write_str("foreman dev"),
            Origin::File { path, line: 0 } => write!(f, "{}", path.display()),
            Origin::File { path, line } => write!(f, "{}, line {line}", path.display()),
            Origin::Variable(name) => write!(f, "the variable {name}"),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

/// Everything that is wrong with the settings.
#[derive(Debug, thiserror::Error)]
pub struct SettingMistakes(Vec<SettingMistake>);

#[derive(Debug)]
struct SettingMistake {
    origin: Origin,
    text: String,
}

impl fmt::Display for SettingMistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => write!(f, "{}: {}", only.origin, only.text),
            many => {
                write!(f, "{} errors in the settings:", many.len())?;
                many.iter().try_for_each(|mistake| write!(f, "\n  {}: {}", mistake.origin, mistake.text))
            }
        }
    }
}

/// Reads all layers for a process of this role.
pub fn load(flags: &ServerFlags, environment: &Environment, role: Role) -> Result<Loaded, SettingMistakes> {
    let mut loader = Loader::new();
    if role == Role::Dev {
        loader.as_dev();
    }
    loader.file(flags.config.as_deref());
    loader.environment(environment);
    loader.flags(flags);
    if role == Role::Dev {
        loader.allow_this_machine();
    }
    loader.choose_store();
    loader.judge_redis();
    loader.judge_addresses(role);
    loader.judge_commands(role);
    loader.judge_kafka(role);
    loader.read_secret_key();
    loader.done(environment, Some(role))
}

/// The same for a command that looks at a store and serves nobody.
pub fn load_store(flags: &ServerFlags, environment: &Environment) -> Result<Loaded, SettingMistakes> {
    Loader::of_store(flags, environment).done(environment, None)
}

/// The same for a command that writes what is sealed.
pub fn load_direct(flags: &ServerFlags, environment: &Environment) -> Result<Loaded, SettingMistakes> {
    let mut loader = Loader::of_store(flags, environment);
    loader.read_secret_key();
    loader.done(environment, None)
}

struct Loader {
    known: Vec<Setting>,
    settings: Settings,
    origins: BTreeMap<&'static str, Origin>,
    mistakes: Vec<SettingMistake>,
}

impl Loader {
    fn new() -> Self {
        Self { known: known(), settings: Settings::default(), origins: BTreeMap::new(), mistakes: Vec::new() }
    }

    fn of_store(flags: &ServerFlags, environment: &Environment) -> Self {
        let mut loader = Self::new();
        loader.file(flags.config.as_deref());
        loader.environment(environment);
        loader.flags(flags);
        loader.choose_store();
        loader.judge_redis();
        loader
    }

    /// What is different for somebody alone on a machine.
    fn as_dev(&mut self) {
        // No balancer stands before it.
        self.set("shutdown.not_ready", Raw::Text("0s"), Origin::Dev);
        let paths = self.known.iter().map(|setting| setting.path);
        for limit in paths.filter(|path| path.starts_with(TENANT_LIMITS)).collect::<Vec<_>>() {
            self.set(limit, Raw::Text("unlimited"), Origin::Dev);
        }
    }

    /// On top of what is allowed otherwise: whoever tries things out calls what runs beside it.
    fn allow_this_machine(&mut self) {
        let allow = &mut self.settings.egress.allow;
        let missing: Vec<_> = Policy::dev().allow.into_iter().filter(|it| !allow.contains(it)).collect();
        allow.extend(missing);
        self.origins.entry("egress.allow").or_insert(Origin::Dev);
    }

    fn set(&mut self, path: &str, raw: Raw<'_>, origin: Origin) {
        let Some(setting) = self.known.iter().find(|setting| setting.path == path) else {
            let text = unknown(path, self.known.iter().map(|setting| setting.path));
            return self.mistake(origin, text);
        };
        match setting.read(raw, &mut self.settings) {
            Ok(()) => {
                self.origins.insert(setting.path, origin);
            }
            Err(why) => {
                let text = format!("{path}: {why}");
                self.mistake(origin, text);
            }
        }
    }

    fn mistake(&mut self, origin: Origin, text: impl Into<String>) {
        self.mistakes.push(SettingMistake { origin, text: text.into() });
    }

    /// The file that was named, which must be there, or the usual one, which may be missing.
    fn file(&mut self, named: Option<&Path>) {
        // A variable that is set to nothing is not set.
        let named = named.filter(|path| !path.as_os_str().is_empty());
        let path = named.unwrap_or(Path::new(FILE)).to_owned();
        let at = |line| Origin::File { path: path.clone(), line };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => return,
            Err(error) => return self.mistake(at(0), format!("could not be read: {error}")),
        };
        let paths: Vec<&str> = self.known.iter().map(|setting| setting.path).collect();
        let errors = file::read(
            &text,
            |path| paths.contains(&path),
            |entry| {
                self.set(&entry.path, Raw::Toml(entry.value), at(entry.line));
            },
        );
        for error in errors {
            self.mistake(at(error.line), error.why);
        }
    }

    fn environment(&mut self, environment: &Environment) {
        if let Some(filter) = environment.get("RUST_LOG") {
            self.set("log.level", Raw::Text(filter), Origin::Variable("RUST_LOG".into()));
        }
        if let Some(url) = environment.get("DATABASE_URL") {
            self.set("database.url", Raw::Text(url), Origin::Variable("DATABASE_URL".into()));
        }
        if let Some(brokers) = environment.get("KAFKA_BROKERS") {
            self.set("kafka.brokers", Raw::Text(brokers), Origin::Variable("KAFKA_BROKERS".into()));
        }
        if let Some(url) = environment.get("REDIS_URL") {
            self.set("redis.url", Raw::Text(url), Origin::Variable("REDIS_URL".into()));
        }
        let names: Vec<(String, &'static str)> =
            self.known.iter().map(|setting| (setting.variable(), setting.path)).collect();
        for (name, value) in environment.settings() {
            let origin = Origin::Variable(name.to_owned());
            match names.iter().find(|(known, _)| known == name) {
                Some((_, path)) => self.set(path, Raw::Text(value), origin),
                None if self.is_meant_for_us(name) => {
                    let text = unknown(name, names.iter().map(|(known, _)| known.as_str()));
                    self.mistake(origin, text);
                }
                // Somebody else's: `FOREMAN_IMAGE_TAG` of a compose file is no mistake.
                None => {}
            }
        }
    }

    /// In a section of ours, or a slip of the finger away from a setting.
    fn is_meant_for_us(&self, variable: &str) -> bool {
        self.known.iter().any(|setting| {
            let known = setting.variable();
            let section =
                setting.path.split_once('.').map(|(section, _)| format!("FOREMAN_{}_", section.to_uppercase()));
            section.is_some_and(|section| variable.starts_with(&section)) || nearest::distance(&known, variable) <= 2
        })
    }

    fn flags(&mut self, flags: &ServerFlags) {
        // The general before the special: `--slots 3` is closer to what was meant than `--set worker.slots=2`.
        for pair in &flags.set {
            let origin = Origin::Flag(format!("--set {}", secret::without_value(pair)));
            match pair.split_once('=') {
                Some((path, value)) => self.set(path.trim(), Raw::Text(value.trim()), origin),
                None => self.mistake(origin, "has no value; write it like --set worker.poll=500ms"),
            }
        }
        for (flag, path, value) in flags.given() {
            self.set(path, Raw::Text(value), Origin::Flag(flag.to_owned()));
        }
    }

    /// A database that was named is the store, unless another was asked for by name.
    fn choose_store(&mut self) {
        let settings = &mut self.settings;
        if settings.database.url.is_some() && !self.origins.contains_key("store") {
            settings.store = StoreKind::Postgres;
            let origin = self.origins.get("database.url").cloned().unwrap_or(Origin::Default);
            self.origins.insert("store", origin);
        }
        if settings.store == StoreKind::Postgres && settings.database.url.is_none() {
            let origin = self.origins.get("store").cloned().unwrap_or(Origin::Default);
            self.mistake(origin, "store: postgres needs an address: set DATABASE_URL");
        }
    }

    /// What stands behind the address of Redis is one thing, and can be reached as it is written.
    fn judge_redis(&mut self) {
        let redis = &self.settings.redis;
        let mistake = if redis.cluster && redis.sentinel_master.is_some() {
            Some(("redis.cluster", "redis.sentinel_master is set too; set only one of them".to_owned()))
        } else {
            let checked = redis.config().map(|config| config.check());
            checked.and_then(Result::err).map(|error| ("redis.url", describe(&error)))
        };
        if let Some((path, why)) = mistake {
            let origin = self.origins.get(path).cloned().unwrap_or(Origin::Default);
            self.mistake(origin, format!("{path}: {why}"));
        }
    }

    /// Whoever can be reached from other machines must be able to tell them apart.
    fn judge_addresses(&mut self, role: Role) {
        let Settings { listen: address, admin_key, .. } = &self.settings;
        // Other roles answer probes alone, which name no tenant, job or key: they need no key, and so are given none.
        if admin_key.is_some() || !role.serves_the_api() {
            return;
        }
        let (path, address) = ("listen", *address);
        if !address.ip().is_loopback() {
            let origin = self.origins.get(path).cloned().unwrap_or(Origin::Default);
            self.mistake(
                origin,
                format!(
                    "{path}: {address} can be reached from other machines, and the API requires no key; set \
                     FOREMAN_ADMIN_KEY, or listen on 127.0.0.1"
                ),
            );
        }
    }

    /// Whoever runs commands must be able to run them as it is told to.
    fn judge_commands(&mut self, role: Role) {
        let commands = &self.settings.commands;
        if !commands.allow || !role.runs_jobs() {
            return;
        }
        let mut wrong = Vec::new();
        if !commands.scratch.is_dir() {
            wrong.push(("commands.scratch", format!("there is no directory {}", commands.scratch.display())));
        }
        match &commands.users {
            Some(_) if commands.user.is_some() => {
                wrong.push(("commands.users", "commands.user is set too; set only one of them".into()));
            }
            Some(users) => wrong.extend(users.judge().err().map(|why| ("commands.users", why))),
            None => {}
        }
        match commands.user.as_deref().map(command_user::find).transpose() {
            Ok(found) => self.settings.commands.runs_as = found,
            Err(why) => wrong.push(("commands.user", why)),
        }
        for (path, why) in wrong {
            let origin = self.origins.get(path).cloned().unwrap_or(Origin::Default);
            self.mistake(origin, format!("{path}: {why}"));
        }
    }

    /// A broker carries what several processes share: the store must be one that they can share.
    fn judge_kafka(&mut self, role: Role) {
        let settings = &self.settings;
        let mut wrong = settings.kafka.judge();
        if settings.kafka.brokers.is_some() && settings.store != StoreKind::Postgres {
            let why = "Kafka announces jobs that are stored in Postgres, and this server has none: set DATABASE_URL, or unset KAFKA_BROKERS";
            wrong.push(("kafka.brokers", why.into()));
        }
        if role == Role::Relay && settings.kafka.brokers.is_none() {
            wrong.push((
                "kafka.brokers",
                "a relay sends to Kafka: set KAFKA_BROKERS, such as kafka-1.example:9092".into(),
            ));
        }
        for (path, why) in wrong {
            let origin = self.origins.get(path).cloned().unwrap_or(Origin::Default);
            self.mistake(origin, format!("{path}: {why}"));
        }
    }

    /// Without keys whoever reaches the API runs the server, and works as the tenant `default`: it is held only to what was set. Workers
    /// and schedulers cannot tell whether the API asks for keys.
    fn own_limits(&self, role: Option<Role>) -> TenantLimits {
        let mut settings = self.settings.clone();
        if role.is_some_and(Role::serves_the_api) && settings.admin_key.is_none() {
            let unset = |setting: &&Setting| {
                setting.path.starts_with(TENANT_LIMITS) && !self.origins.contains_key(setting.path)
            };
            for setting in self.known.iter().filter(unset) {
                setting.read(Raw::Text("unlimited"), &mut settings).expect("every limit of a tenant may be unlimited");
            }
        }
        settings.tenant_limits
    }

    /// Of the two only one may be given, or nobody knows which is in force.
    fn read_secret_key(&mut self) {
        let Some(path) = self.settings.secret_key_file.clone() else { return };
        let origin = self.origins.get("secret_key_file").cloned().unwrap_or(Origin::Default);
        if self.settings.secret_key.is_some() {
            return self.mistake(origin, "secret_key_file: secret_key is set too; set only one of them");
        }
        match secret_key::of_file(&path) {
            Ok(ring) => self.settings.secret_key = Some(ring),
            Err(error) => self.mistake(origin, format!("secret_key_file: {error:#}")),
        }
    }

    /// What only shows once all layers are there.
    fn done(mut self, environment: &Environment, role: Option<Role>) -> Result<Loaded, SettingMistakes> {
        if !self.mistakes.is_empty() {
            return Err(SettingMistakes(self.mistakes));
        }
        self.settings.own_limits = self.own_limits(role);
        self.settings.complete(environment, role);
        Ok(Loaded { settings: self.settings, origins: self.origins })
    }
}

/// What is wrong, down to the first cause.
fn describe(error: &foreman_redis::InvalidConfig) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn unknown<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest::nearest(given, known) {
        Some(meant) => format!("there is no setting {given:?}; did you mean {meant}?"),
        None => format!("there is no setting {given:?}; `foreman check` lists all settings"),
    }
}

#[cfg(test)]
mod tests;
