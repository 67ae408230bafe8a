//! Crates we decided against, each with the reason.

use crate::metadata::Metadata;

/// Not anywhere in what we ship, whoever brings it.
const ANYWHERE: [(&str, &str); 15] = [
    ("aws-lc-rs", "TLS is rustls with ring: it builds in a third of the time, without cmake"),
    ("aws-lc-sys", "TLS is rustls with ring: it builds in a third of the time, without cmake"),
    ("openssl", "TLS is rustls: no system library to find, one behaviour everywhere"),
    ("openssl-sys", "TLS is rustls: no system library to find, one behaviour everywhere"),
    ("native-tls", "TLS is rustls: no system library to find, one behaviour everywhere"),
    ("chrono", "time is jiff, or microseconds since the epoch; two ways to hold a time end in conversions"),
    ("sqlx", "it pins another libsqlite3-sys than rusqlite, so the two cannot be in one tree"),
    ("diesel", "SQL is written in the store that speaks it"),
    ("sea-orm", "SQL is written in the store that speaks it"),
    ("serde_yaml", "unmaintained; settings are TOML"),
    ("async-std", "discontinued; the runtime is tokio"),
    ("reqwest-middleware", "retries are the job engine's business: a hidden second request breaks the promise of one"),
    ("reqwest-retry", "retries are the job engine's business: a hidden second request breaks the promise of one"),
    ("figment", "settings are read in foreman/config.rs, which reports every mistake at once"),
    ("config", "settings are read in foreman/config.rs, which reports every mistake at once"),
];

/// Not asked for by a crate of ours. What others bring along is theirs.
const BY_US: [(&str, &str); 5] = [
    ("lazy_static", "the standard library has LazyLock"),
    ("once_cell", "the standard library has OnceLock and LazyLock"),
    ("time", "time is jiff, or microseconds since the epoch"),
    ("dotenv", "a file that changes the environment behind one's back; settings have one"),
    ("futures", "futures-util is the part of it that is used"),
];

fn reason(list: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    list.iter().find(|(banned, _)| *banned == name).map(|(_, reason)| *reason)
}

#[test]
fn no_banned_crate_is_in_what_we_ship() {
    let metadata = Metadata::read();
    let shipped = metadata.shipped();
    assert!(shipped.len() > 50, "the graph was walked: {} packages", shipped.len());
    let mut found = Vec::new();
    for (id, brought_by) in shipped {
        let package = metadata.package(id);
        if let Some(reason) = reason(&ANYWHERE, &package.name) {
            found.push(format!("{} (brought by {}): {reason}", package.name, metadata.package(brought_by).name));
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn no_crate_of_ours_asks_for_what_the_standard_library_has() {
    let metadata = Metadata::read();
    let mut found = Vec::new();
    for package in metadata.ours() {
        for dependency in &package.dependencies {
            if let Some(reason) = reason(&BY_US, &dependency.name).or_else(|| reason(&ANYWHERE, &dependency.name)) {
                found.push(format!("{} asks for {}: {reason}", package.name, dependency.name));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_banned_crate_is_known_with_its_reason() {
    assert!(reason(&ANYWHERE, "openssl-sys").is_some_and(|reason| reason.contains("rustls")));
    assert_eq!(reason(&ANYWHERE, "serde"), None);
}

#[test]
fn everything_comes_from_the_registry_or_from_this_tree() {
    let metadata = Metadata::read();
    let foreign: Vec<String> = metadata
        .packages
        .iter()
        .filter(|package| match package.source.as_deref() {
            Some("registry+https://github.com/rust-lang/crates.io-index" | "sparse+https://index.crates.io/") => false,
            Some(_) => true,
            None => !metadata.workspace_members.contains(&package.id),
        })
        .map(|package| format!("{} {} from {:?}", package.name, package.version, package.source))
        .collect();
    assert!(
        foreign.is_empty(),
        "a branch or a path moves under our feet; publish it or put it in the workspace:\n{}",
        foreign.join("\n")
    );
}
