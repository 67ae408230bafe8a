//! Every promise names the tests that prove it, each in the file where it is.

use std::collections::BTreeMap;

use crate::tree::{files, read, root};

/// A promise: its heading, and what is listed below its `Proved by`. One that waits says `Later` instead.
struct Promise {
    heading: String,
    proofs: Vec<Proof>,
    is_later: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Proof {
    /// From the root of the tree; empty when none was named.
    file: String,
    test: String,
}

/// A proof is an item `- [name](../path): \`test\`, \`test\`` and its lines.
fn promises(text: &str) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    let mut in_proofs = false;
    let mut file = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            promises.push(Promise { heading: heading.to_owned(), proofs: Vec::new(), is_later: false });
            (in_proofs, file) = (false, String::new());
        } else if let Some(promise) = promises.last_mut() {
            in_proofs = line.starts_with("Proved by") || (in_proofs && !line.trim().is_empty());
            promise.is_later |= line.starts_with("Later");
            if !in_proofs {
                continue;
            }
            if let Some((_, rest)) = line.split_once("](../") {
                rest.split(')').next().unwrap_or_default().clone_into(&mut file);
            }
            let named = line.split('`').skip(1).step_by(2);
            promise.proofs.extend(named.map(|test| Proof { file: file.clone(), test: test.to_owned() }));
        }
    }
    promises
}

/// The tests of a file: functions with an attribute that says so or, in a conformance suite, which a macro stamps onto every
/// store, those that all can see.
fn tests(file: &str) -> Vec<String> {
    let text = read(file);
    let is_suite = file.starts_with("crates/conformance/src/");
    let mut found = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        let is_attribute = line.starts_with("#[");
        is_test |= is_attribute && (line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
        if let Some(name) = function(line)
            && (is_test || (is_suite && line.starts_with("pub ")))
        {
            found.push(name);
        }
        // Between an attribute and its function there are only attributes and comments.
        is_test &= is_attribute || line.starts_with("//");
    }
    found
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

/// What is wrong with a page of promises.
fn mistakes(text: &str) -> Vec<String> {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for Promise { heading, proofs, is_later } in promises(text) {
        if proofs.is_empty() != is_later {
            wrong.push(format!("{heading}: has to be either proved or marked as waiting"));
        }
        for Proof { file, test } in proofs {
            if !root().join(&file).is_file() {
                wrong.push(format!("{heading}: {test} is not in a file that exists: {file:?}"));
            } else if !known.entry(file.clone()).or_insert_with(|| tests(&file)).contains(&test) {
                wrong.push(format!("{heading}: there is no test called {test} in {file}"));
            }
        }
    }
    wrong
}

#[test]
fn every_promise_is_proved_by_tests_that_are_where_it_says_or_says_that_it_waits() {
    let text = read("docs/guarantees.md");
    let found = promises(&text);
    assert!(found.len() >= 20, "the promises were found: {}", found.len());
    assert!(found.iter().map(|promise| promise.proofs.len()).sum::<usize>() > 80, "and so were their proofs");
    let wrong = mistakes(&text);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What was written to be proof of something is named as such.
#[test]
fn every_test_of_the_whole_fleet_proves_a_promise() {
    let proofs: Vec<Proof> = promises(&read("docs/guarantees.md")).into_iter().flat_map(|it| it.proofs).collect();
    let mut unnamed = Vec::new();
    for file in files("crates/foreman/tests/team", ".rs") {
        let of_none = |test: &String| !proofs.iter().any(|proof| proof.file == file && proof.test == *test);
        unnamed.extend(tests(&file).into_iter().filter(of_none).map(|test| format!("{file}: {test}")));
    }
    assert!(unnamed.is_empty(), "docs/guarantees.md does not name\n{}", unnamed.join("\n"));
}

#[test]
fn a_promise_without_proof_is_seen() {
    let here = "crates/foreman/tests/docs/guarantees.rs";
    let own = "a_promise_without_proof_is_seen";
    let text = format!(
        "### Kept\nSo.\n\nProved by\n- [here](../{here}): `{own}`,\n  `no_such_test`\n- [nowhere](../gone.rs): `a`\n\n\
         More `words`.\n### Bare\nNothing.\n### Waits\nLater: with Postgres.\n### Loose\nProved by `{own}`.\n\
         ### No test\nProved by\n- [here](../{here}): `promises`\n"
    );
    let found = promises(&text);
    assert_eq!(found[0].proofs[0], Proof { file: here.to_owned(), test: own.to_owned() });
    assert_eq!(found[0].proofs.len(), 3);
    assert!(found[1].proofs.is_empty() && !found[1].is_later && found[2].is_later);
    let wrong = mistakes(&text);
    let expected = ["no_such_test in crates", "\"gone.rs\"", "Bare: has to be", "Loose:", "called promises in"];
    assert_eq!(wrong.len(), expected.len(), "{wrong:#?}");
    for (wrong, expected) in wrong.iter().zip(expected) {
        assert!(wrong.contains(expected), "{wrong}");
    }
    let suite = tests("crates/conformance/src/claim.rs");
    assert!(suite.iter().any(|test| test == "thirty_claimers_never_share_a_job"), "{suite:?}");
}
