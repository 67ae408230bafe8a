//! Every promise names the tests that prove it, and each of them exists.

use std::collections::BTreeSet;

use crate::tree::{files, read};

/// A promise: its heading, and what its `Proved by` line names. One that waits says `Later` instead.
struct Promise {
    heading: String,
    proofs: Vec<String>,
    is_later: bool,
}

fn promises(text: &str) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    let mut in_proofs = false;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            promises.push(Promise { heading: heading.to_owned(), proofs: Vec::new(), is_later: false });
            in_proofs = false;
        } else if let Some(promise) = promises.last_mut() {
            in_proofs = line.starts_with("Proved by") || (in_proofs && !line.trim().is_empty());
            promise.is_later |= line.starts_with("Later");
            if in_proofs {
                promise.proofs.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
            }
        }
    }
    promises
}

/// The names of all functions of the tree: a proof may be a test, or a promise of a conformance suite that is stamped into one.
fn functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files("crates", ".rs") {
        for line in read(&file).lines() {
            if let Some((_, rest)) = line.split_once("fn ") {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                names.insert(name);
            }
        }
    }
    names
}

#[test]
fn every_promise_is_proved_by_a_test_that_exists_or_says_that_it_waits() {
    let promises = promises(&read("docs/guarantees.md"));
    assert!(promises.len() >= 8, "the promises were found: {}", promises.len());
    let functions = functions();
    let mut wrong = Vec::new();
    for promise in &promises {
        if promise.proofs.is_empty() != promise.is_later {
            wrong.push(format!("{}: has to be either proved or marked as waiting", promise.heading));
        }
        for proof in promise.proofs.iter().filter(|proof| !functions.contains(*proof)) {
            wrong.push(format!("{}: there is no test called {proof}", promise.heading));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_promise_without_proof_is_seen() {
    let text =
        "### Kept\nProved by `a`,\n`b`.\n\nMore `words`.\n### Bare\nNothing.\n### Waits\nLater: with Postgres.\n";
    let found = promises(text);
    assert_eq!(found[0].proofs, ["a", "b"]);
    assert!(found[1].proofs.is_empty() && !found[1].is_later);
    assert!(found[2].is_later);
    assert!(functions().contains("a_promise_without_proof_is_seen"));
}
