//! What the binary knows: its commands, its variables, its times.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::tree::{read, root, walk};

/// The roles, and the setting that says where each answers `/healthz` and `/readyz`.
pub const ROLES: [(&str, &str); 3] =
    [("api", "FOREMAN_LISTEN"), ("worker", "FOREMAN_HEALTH_LISTEN"), ("scheduler", "FOREMAN_HEALTH_LISTEN")];

/// The role that fleet size has besides.
pub const RELAY: (&str, &str) = ("relay", "FOREMAN_HEALTH_LISTEN");

/// How long after the grace a platform may kill. The watchdog leaves at the deadline; what is between is for a busy machine.
pub const TO_SPARE: Duration = Duration::from_secs(5);

/// The settings of `foreman.default.toml` as variables, with their defaults as text.
fn defaults() -> BTreeMap<String, String> {
    fn collect(table: &toml::Table, prefix: &str, into: &mut BTreeMap<String, String>) {
        for (key, value) in table {
            let name = format!("{prefix}_{}", key.to_uppercase());
            match value {
                toml::Value::Table(table) => collect(table, &name, into),
                toml::Value::String(text) => drop(into.insert(name, text.clone())),
                other => drop(into.insert(name, other.to_string())),
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(&read("foreman.default.toml").parse().unwrap(), "FOREMAN", &mut found);
    assert!(found.contains_key("FOREMAN_SHUTDOWN_GRACE"), "the settings were read: {found:?}");
    found
}

pub fn default_of(variable: &str) -> String {
    defaults().remove(variable).unwrap_or_else(|| panic!("{variable} is no setting of foreman.default.toml"))
}

/// Variables that the binary reads: its settings, and what its source names besides.
pub fn assert_known<'a>(whose: &str, variables: impl IntoIterator<Item = &'a str>) {
    let known: BTreeSet<String> = defaults().into_keys().collect();
    for variable in variables {
        assert!(
            known.contains(variable) || is_named_in_the_source(variable),
            "{whose} sets {variable}, which foreman does not know"
        );
    }
}

fn is_named_in_the_source(variable: &str) -> bool {
    let mut sources = Vec::new();
    walk(&root().join("crates/foreman/src"), &mut sources);
    let quoted = format!("\"{variable}\"");
    let names = |path: &Path| {
        std::fs::read_to_string(path).unwrap().lines().any(|line| is_code(line) && line.contains(&quoted))
    };
    sources.iter().any(|path| names(path))
}

fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with("//")
}

/// The binary has such a command, and such flags.
pub fn assert_command(whose: &str, words: &[&str]) {
    assert!(!words.is_empty(), "{whose} runs foreman without a command");
    let help = Command::new(env!("CARGO_BIN_EXE_foreman")).args(words).arg("--help").output().unwrap();
    let said = String::from_utf8_lossy(&help.stderr);
    assert!(help.status.success(), "{whose}: foreman {}: {said}", words.join(" "));
}

/// `25s`: the durations of these files have one number and one unit.
pub fn duration(text: &str) -> Duration {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: u64 = number.parse().unwrap_or_else(|_| panic!("{text:?} is not a duration"));
    match &text[number.len()..] {
        "ms" => Duration::from_millis(value),
        "s" | "" => Duration::from_secs(value),
        "m" | "min" => Duration::from_secs(value * 60),
        unit => panic!("{text:?}: {unit} is not a unit"),
    }
}

/// A platform that gives `given` to stop leaves time for the grace that `variables` set.
pub fn assert_time_to_stop(whose: &str, given: Duration, variables: &BTreeMap<String, String>) {
    let grace =
        variables.get("FOREMAN_SHUTDOWN_GRACE").cloned().unwrap_or_else(|| default_of("FOREMAN_SHUTDOWN_GRACE"));
    let needed = duration(&grace) + TO_SPARE;
    assert!(given >= needed, "{whose} is killed after {given:?}, with a grace of {grace}: {needed:?} are needed");
    // It cannot see by itself when the platform kills; told, it warns at the start once somebody has changed one and not the other.
    let told = variables.get("FOREMAN_SHUTDOWN_PLATFORM_GRACE");
    let told = told.unwrap_or_else(|| panic!("{whose} is not told after how long it is killed"));
    assert_eq!(duration(told), given, "{whose} is told {told}, and killed after {given:?}");
}

/// Everything that is secret, and who needs it: the API asks for the key of the operator and seals what it takes in, workers open what is
/// sealed, and everybody reaches the database.
pub const SECRETS: [(&str, &[&str]); 3] = [
    ("DATABASE_URL", &["api", "worker", "worker-commands", "scheduler", "relay", "migrate"]),
    ("FOREMAN_SECRET_KEY", &["api", "worker", "worker-commands"]),
    ("FOREMAN_ADMIN_KEY", &["api"]),
];

/// Each is given the secrets that it needs, and no others.
pub fn assert_only_its_secrets<'a>(whose: &str, variables: impl IntoIterator<Item = &'a str>) {
    let given: BTreeSet<&str> = variables.into_iter().collect();
    for (secret, needed_by) in SECRETS {
        let is_needed = needed_by.contains(&whose);
        assert_eq!(given.contains(secret), is_needed, "{whose} and {secret}");
    }
    let others =
        given.iter().filter(|name| name.contains("KEY") || name.contains("PASSWORD") || name.contains("SECRET"));
    let unknown: Vec<_> = others.filter(|name| SECRETS.iter().all(|(secret, _)| secret != *name)).collect();
    assert!(unknown.is_empty(), "{whose} is given {unknown:?}");
}

/// An API that others can reach has a key, or it would not start. Other roles answer probes alone.
pub fn assert_key_where_reachable(whose: &str, variables: &BTreeMap<String, String>) {
    let Some(address) = variables.get("FOREMAN_LISTEN").filter(|_| whose.ends_with("api")) else { return };
    let address: SocketAddr = address.parse().unwrap_or_else(|_| panic!("{whose}: FOREMAN_LISTEN is {address}"));
    let is_safe = address.ip().is_loopback() || variables.contains_key("FOREMAN_ADMIN_KEY");
    assert!(is_safe, "{whose} listens on {address} without FOREMAN_ADMIN_KEY");
}

/// Root's rights that are needed to run each tenant's programs as a user of its own, and no others.
pub const TO_BECOME_OTHERS: [&str; 5] = ["SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE"];

#[test]
fn a_secret_too_many_or_too_few_is_seen() {
    assert_only_its_secrets("scheduler", ["DATABASE_URL", "FOREMAN_LOG_LEVEL"]);
    for (whose, given) in [
        ("scheduler", &["DATABASE_URL", "FOREMAN_SECRET_KEY"][..]),
        ("worker", &["DATABASE_URL"]),
        ("api", &["DATABASE_URL", "FOREMAN_SECRET_KEY"]),
        ("scheduler", &["DATABASE_URL", "POSTGRES_PASSWORD"]),
    ] {
        let given = given.to_vec();
        assert!(std::panic::catch_unwind(|| assert_only_its_secrets(whose, given)).is_err(), "{whose}");
    }
}

#[test]
fn a_variable_that_is_misspelt_is_seen() {
    assert_known(
        "nobody",
        ["FOREMAN_LISTEN", "FOREMAN_WORKER_SLOTS", "DATABASE_URL", "FOREMAN_ADMIN_KEY", "FOREMAN_HEALTH_LISTEN"],
    );
    assert!(std::panic::catch_unwind(|| assert_known("nobody", ["FOREMAN_WORKER_SLOT"])).is_err());
}

#[test]
fn a_grace_that_does_not_fit_is_seen() {
    let told = |platform: &str, own: &str| {
        BTreeMap::from([
            ("FOREMAN_SHUTDOWN_PLATFORM_GRACE".to_owned(), platform.to_owned()),
            ("FOREMAN_SHUTDOWN_GRACE".to_owned(), own.to_owned()),
        ])
    };
    let given = Duration::from_secs(35);
    assert_time_to_stop("nobody", given, &told("35s", "30s"));
    let mut without_own = told("35s", "");
    without_own.remove("FOREMAN_SHUTDOWN_GRACE");
    assert_time_to_stop("nobody", given, &without_own);
    for wrong in [told("35s", "31s"), told("40s", "25s"), BTreeMap::new()] {
        assert!(std::panic::catch_unwind(|| assert_time_to_stop("nobody", given, &wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn what_probes_ask_for_is_answered() {
    let document: serde_json::Value = serde_json::from_str(&read("docs/openapi.json")).unwrap();
    for path in ["/healthz", "/readyz"] {
        assert!(document["paths"].get(path).is_some(), "{path} is no path of the API");
    }
}
