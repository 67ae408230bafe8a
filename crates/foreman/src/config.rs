//! Turns text into settings: defaults ← file ← environment ← flags.
//!
//! Every part of Foreman has a plain, typed `Config` beside it; this is the only room that fills them from text, and it
//! reports every mistake at once, in the words of whoever made it: file and line, variable, or flag. `foreman.default.toml`
//! *is* the defaults; a test holds the two together.

mod agree;
mod codec;
mod environment;
mod file;
mod nearest;
mod secret;
mod settings;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use agree::warnings;
pub use environment::Environment;
pub use secret::without_password;
pub use settings::{LogFormat, Settings, StoreKind};
pub use table::{Setting, settings as known};

use crate::cli::ServerFlags;
use crate::role::Role;
use codec::Raw;

/// Looked for where the process was started, when no other is named.
const FILE: &str = "foreman.toml";

/// The settings in force, and where each of them came from.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    origins: BTreeMap<&'static str, Origin>,
}

impl Loaded {
    pub fn origin(&self, setting: &Setting) -> Origin {
        self.origins.get(setting.path).cloned().unwrap_or(Origin::Default)
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
pub struct Mistakes(Vec<Mistake>);

#[derive(Debug)]
struct Mistake {
    origin: Origin,
    text: String,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => write!(f, "{}: {}", only.origin, only.text),
            many => {
                write!(f, "{} mistakes in the settings:", many.len())?;
                many.iter().try_for_each(|mistake| write!(f, "\n  {}: {}", mistake.origin, mistake.text))
            }
        }
    }
}

/// Reads all layers for a process of this role.
pub fn load(flags: &ServerFlags, environment: &Environment, role: Role) -> Result<Loaded, Mistakes> {
    let mut loader = Loader::new();
    if role == Role::Dev {
        // No balancer stands before it.
        loader.set("shutdown.not_ready", Raw::Text("0s"), Origin::Dev);
    }
    loader.file(flags.config.as_deref());
    loader.environment(environment);
    loader.flags(flags);
    loader.choose_store();
    loader.judge_addresses(role);
    loader.done(environment)
}

/// The same for a command that looks at a store and serves nobody.
pub fn load_store(flags: &ServerFlags, environment: &Environment) -> Result<Loaded, Mistakes> {
    let mut loader = Loader::new();
    loader.file(flags.config.as_deref());
    loader.environment(environment);
    loader.flags(flags);
    loader.choose_store();
    loader.done(environment)
}

struct Loader {
    known: Vec<Setting>,
    settings: Settings,
    origins: BTreeMap<&'static str, Origin>,
    mistakes: Vec<Mistake>,
}

impl Loader {
    fn new() -> Self {
        Self { known: known(), settings: Settings::default(), origins: BTreeMap::new(), mistakes: Vec::new() }
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
        self.mistakes.push(Mistake { origin, text: text.into() });
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
            self.mistake(origin, "store: postgres needs to be told where it is: set DATABASE_URL");
        }
    }

    /// Whoever can be reached from other machines must be able to tell them apart.
    fn judge_addresses(&mut self, role: Role) {
        let Settings { listen, health_listen, admin_key, .. } = &self.settings;
        if admin_key.is_some() {
            return;
        }
        let (path, address) =
            if role.serves_the_api() { ("listen", *listen) } else { ("health_listen", *health_listen) };
        if !address.ip().is_loopback() {
            let origin = self.origins.get(path).cloned().unwrap_or(Origin::Default);
            self.mistake(
                origin,
                format!(
                    "{path}: {address} can be reached from other machines, and nothing keeps strangers out; set \
                     FOREMAN_ADMIN_KEY to a key that everyone must show, or listen on 127.0.0.1"
                ),
            );
        }
    }

    /// What only shows once all layers are there.
    fn done(mut self, environment: &Environment) -> Result<Loaded, Mistakes> {
        if !self.mistakes.is_empty() {
            return Err(Mistakes(self.mistakes));
        }
        self.settings.complete(environment);
        Ok(Loaded { settings: self.settings, origins: self.origins })
    }
}

fn unknown<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest::nearest(given, known) {
        Some(meant) => format!("there is no setting {given:?}; did you mean {meant}?"),
        None => format!("there is no setting {given:?}; `foreman check` lists those there are"),
    }
}

#[cfg(test)]
mod tests;
