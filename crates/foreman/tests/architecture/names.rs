//! One type name, one thing, in the whole workspace: whoever reads a name in a signature knows which one is meant.

use std::collections::BTreeMap;

use crate::rooms::all_sources;

/// Names that more than one type has, and why nobody mistakes them.
const PLAIN: [(&str, &str); 29] = [
    ("AuditLog", "the arguments of the command, and the port"),
    ("Backoff", "between tries of a loop, and between attempts of a job"),
    ("BatchAnswer", "the same answer in the API and in its client"),
    ("BatchItem", "the same item in the API and in its client"),
    ("Cells", "the cells of a row in either SQL store"),
    ("Check", "the arguments of the command, and one check of /readyz"),
    ("Config", "each loop and adapter has its own, under its module"),
    ("Error", "each crate and loop has its own, under its module"),
    ("Event", "what a client of the stream gets, and what a webhook subscribes to"),
    ("Examination", "what doctor finds in either SQL store"),
    ("Fault", "what can go wrong in either SQL store"),
    ("Follow", "what a follower of the change log does, and a client that follows the stream"),
    ("Health", "what the probes of a process answer, and how it is with Kafka"),
    ("OpenError", "why either SQL store cannot be opened"),
    ("PreparedEffect", "the effect of a follower in either SQL store"),
    ("Relay", "the arguments of the command, and the loop"),
    ("Rings", "the wake-ups of a transaction in either SQL store"),
    ("Scheduler", "the arguments of the command, and the loop"),
    ("Selection", "a filter as either SQL store writes it"),
    ("ServedLines", "the lines that a claim served in either SQL store"),
    ("Store", "the port, and the store in memory"),
    ("StoreParts", "what either SQL store is made of"),
    ("StoredTick", "a tick in either SQL store"),
    ("StreamEvent", "the same event in the API and in its client"),
    ("Submit", "the arguments of the command, and the port"),
    ("Tenants", "the arguments of the command, and what the engine knows of tenants"),
    ("Unreadable", "what cannot be read in either SQL store"),
    ("UsedQueues", "the queues that a submission uses in either SQL store"),
    ("Worker", "the arguments of the command, and the worker"),
];

/// The type names that a file has at its top level, tests left out.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| !line.starts_with("mod tests")).filter_map(|line| {
        let line = line.strip_prefix("pub").map_or(line, |rest| {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(rest.trim_start(), |(_, rest)| rest)
        });
        let rest = ["struct ", "enum ", "trait ", "union "].iter().find_map(|word| line.strip_prefix(word))?;
        rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
    })
}

#[test]
fn a_type_name_is_used_once_unless_its_module_makes_it_plain() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in all_sources() {
        // The event log is used without the other crates, and by Foreman under the name of its crate.
        let is_apart =
            ["crates/conformance/", "crates/eventlog/", "bench/"].iter().any(|place| file.starts_with(place));
        if file.contains("/tests") || is_apart {
            continue;
        }
        for name in names(&text) {
            places.entry(name.to_owned()).or_default().push(file.clone());
        }
    }
    assert!(places.len() > 500, "the sources were read: {} names", places.len());
    let shared: BTreeMap<&String, &Vec<String>> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    let unexplained: Vec<_> =
        shared.iter().filter(|(name, _)| !PLAIN.iter().any(|(plain, _)| plain == *name)).collect();
    assert!(unexplained.is_empty(), "one name for two things; rename one, or say why it is plain: {unexplained:#?}");
    let unused: Vec<_> = PLAIN.iter().filter(|(plain, _)| !shared.keys().any(|name| name == plain)).collect();
    assert!(unused.is_empty(), "no longer shared: {unused:?}");
}

#[test]
fn names_are_found_whatever_their_visibility() {
    let text = "pub struct A<T> {\nenum B {\npub(crate) trait C: D {\n    struct Inner;\npub(super) struct E(u8);\nmod tests {\nstruct F;";
    assert_eq!(names(text).collect::<Vec<_>>(), ["A", "B", "C", "E"]);
}
