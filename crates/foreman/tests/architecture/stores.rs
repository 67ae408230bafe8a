//! The two SQL stores have the same file for the same thing, so that a diff shows only what differs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::metadata::root;

/// Files that only one store has, and why the other has none.
const ONLY_SQLITE: [(&str, &str); 22] = [
    ("bare.rs", "tests count what a question costs in steps of the machine inside the process"),
    ("disabled.rs", "the one process that changes tenants remembers which are disabled; Postgres asks the table"),
    ("filesystem.rs", "a data file lies on a file system, and not every kind will do"),
    ("jobs/claim/closed.rs", "whom a claim leaves alone is asked tenant by tenant; on Postgres by the statement"),
    ("jobs/claim/cycle.rs", "a claim walks from line to line; on Postgres one statement does (sql/claim/look.sql)"),
    ("jobs/claim/find.rs", "as jobs/claim/cycle.rs"),
    ("jobs/claim/line.rs", "as jobs/claim/cycle.rs"),
    ("jobs/claim/lines.rs", "as jobs/claim/cycle.rs"),
    ("jobs/claim/rotation.rs", "where that walk goes on with the next claim"),
    ("jobs/claim/scope.rs", "what a claim may take, job by job; on Postgres the statement says so"),
    ("jobs/claim/skipped.rs", "what that walk passes over; on Postgres a claim keeps near V (jobs/claim/floor.rs)"),
    ("jobs/claim/tests.rs", "as bare.rs"),
    ("jobs/claim/tests/bounds.rs", "as bare.rs"),
    ("jobs/claimed.rs", "the one process that claims remembers what it took; on Postgres the claim's row has it"),
    ("lock.rs", "one process per data file"),
    (
        "queues.rs",
        "a reader finds unused queues for the one writer; on Postgres one statement does (sql/cut_queues.sql)",
    ),
    ("readers.rs", "many readers beside one writer; on Postgres every connection of the pool does both"),
    ("schedules/bare.rs", "as bare.rs"),
    ("schedules/open.rs", "open jobs are looked up one by one; on Postgres by a statement of schedules/fire.rs"),
    ("schedules/prune.rs", "as queues.rs, for ticks (sql/cut_ticks.sql)"),
    ("claim_info.rs", "a claim is looked up by itself; on Postgres it is part of the statement that locks it"),
    ("writer.rs", "many readers beside one writer; on Postgres every connection of the pool does both"),
];

const ONLY_POSTGRES: [(&str, &str); 23] = [
    ("announce.rs", "a broker stands between several processes; a data file has one process"),
    ("announce/mark.rs", "as announce.rs"),
    ("announce/parked.rs", "as announce.rs"),
    ("indexes.rs", "indexes are built while other processes work"),
    ("jobs/claim/among.rs", "as announce.rs: some claims leave to the broker what it carries"),
    ("jobs/claim/choice.rs", "the choice is made between two statements; on SQLite it is made while lines are walked"),
    ("jobs/claim/expected.rs", "a look is a round trip; on SQLite a call within the process"),
    ("jobs/claim/floor.rs", "dead entries of an index are not walked over again; SQLite has none"),
    ("jobs/claim/look.rs", "a look without locks comes before the taking; SQLite has one writer"),
    ("jobs/claim/taken.rs", "what was taken is put into the claim by a statement of its own"),
    ("jobs/known_claims.rs", "settling names jobs by their place in a claim that is remembered"),
    ("jobs/settle/columns.rs", "a settlement is sent as columns"),
    ("jobs/submit/at_once.rs", "new jobs take one round trip; on SQLite a statement is a call within the process"),
    ("jobs/submit/columns.rs", "a statement takes a batch in arrays; on SQLite it takes a row"),
    ("jobs/submit/judged.rs", "what is left of jobs/submit.rs without at_once.rs"),
    ("leases.rs", "several processes agree on a leader; a data file has one process"),
    ("lines.rs", "lines without use are looked through bit by bit, by one of many processes"),
    ("outlived.rs", "old jobs are looked for partition by partition"),
    ("partitions.rs", "jobs and outcomes are kept in weekly partitions"),
    ("statements.rs", "a server checks a statement only when it is prepared, so a test prepares all of them"),
    ("tls.rs", "the server is reached over a network"),
    ("value.rs", "how values look on the wire"),
    ("wakeups.rs", "other processes are woken by NOTIFY; within one process a channel of core does"),
];

fn files(below: &Path, room: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(below).expect("the directory can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            files(&path, &format!("{room}{name}/"), found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(format!("{room}{name}"));
        }
    }
}

fn files_of(store: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    files(&root().join("crates").join(store).join("src"), "", &mut found);
    assert!(found.len() > 40, "the sources of {store} were found: {}", found.len());
    found
}

/// What is wrong with the files of a store, as compared with those of the other.
fn mismatched(store: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>, only: &[(&str, &str)]) -> Vec<String> {
    let is_listed = |file: &str| only.iter().any(|(listed, why)| *listed == file && !why.is_empty());
    let strangers = ours.difference(theirs).filter(|file| !is_listed(file)).map(|file| {
        format!("only {store} has {file}: give it the name that it has in the other store, or say why there is none")
    });
    let stale = only.iter().filter(|(file, _)| !ours.contains(*file) || theirs.contains(*file));
    strangers.chain(stale.map(|(file, _)| format!("{file} is not a file that only {store} has"))).collect()
}

#[test]
fn both_stores_have_the_same_file_for_the_same_thing() {
    let (sqlite, postgres) = (files_of("sqlite"), files_of("postgres"));
    let mut wrong = mismatched("sqlite", &sqlite, &postgres, &ONLY_SQLITE);
    wrong.extend(mismatched("postgres", &postgres, &sqlite, &ONLY_POSTGRES));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn another_name_and_a_reason_that_is_gone_are_noticed() {
    let set = |files: &[&str]| -> BTreeSet<String> { files.iter().map(|file| (*file).to_owned()).collect() };
    let (ours, theirs) = (set(&["both.rs", "here.rs"]), set(&["both.rs", "there.rs"]));
    assert_eq!(mismatched("ours", &ours, &theirs, &[("here.rs", "a reason")]), [""; 0]);
    assert_eq!(mismatched("ours", &ours, &theirs, &[]).len(), 1, "another name");
    assert_eq!(mismatched("ours", &ours, &theirs, &[("here.rs", "")]).len(), 1, "no reason");
    let listed = [("here.rs", "a reason"), ("both.rs", "a reason"), ("gone.rs", "a reason")];
    assert_eq!(mismatched("ours", &ours, &theirs, &listed).len(), 2, "in both stores, and in none");
}
