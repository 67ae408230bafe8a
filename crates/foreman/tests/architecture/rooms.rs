//! Which room a line belongs to, where clippy cannot see it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::metadata::root;

/// One kind of line, the places where it belongs, and why it does.
struct Room {
    words: &'static [&'static str],
    belongs_in: &'static [&'static str],
    why: &'static str,
}

const ROOMS: [Room; 3] = [
    Room {
        words: &["FOR UPDATE", "SKIP LOCKED", "BEGIN IMMEDIATE", "INSERT INTO", "DELETE FROM"],
        belongs_in: &["crates/sqlite/", "crates/postgres/", "crates/eventlog/", "crates/foreman/src/check", "bench/"],
        why: "SQL lives in the store that speaks it",
    },
    Room {
        words: &["SIGTERM", "SIGKILL", "signal::"],
        belongs_in: &[
            "crates/foreman/src/lifecycle",
            "crates/foreman/src/main.rs",
            "crates/engine/src/target",
            "bench/",
        ],
        why: "only foreman/lifecycle has heard of signals to us, and only the command target sends them to others",
    },
    Room {
        words: &["FOREMAN_LISTEN", "FOREMAN_DATA_DIR", "DATABASE_URL", "FOREMAN_API_URL", "FOREMAN_API_KEY"],
        belongs_in: &["crates/foreman/src/", "bench/"],
        why: "only the binary has heard of environment variables",
    },
];

/// Names that say nothing about what is inside.
const NO_ROOMS: [&str; 8] = ["common", "util", "utils", "types", "shared", "helpers", "manager", "misc"];

fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).expect("the directory can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "sql") {
            found.push(path);
        }
    }
}

/// The source files of all crates, by their path from the root.
pub(crate) fn all_sources() -> Vec<(String, String)> {
    let root = root();
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join("crates")).expect("crates/ can be read") {
        sources(&entry.expect("the entry can be read").path().join("src"), &mut paths);
    }
    sources(&root.join("bench/src"), &mut paths);
    paths.sort();
    assert!(paths.len() > 20, "the sources were found");
    let by_name = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).expect("sources are UTF-8"))
    };
    paths.into_iter().map(by_name).collect()
}

/// Lines of `text` that are in the wrong room when they stand in `file`. Comments may speak of anything, and so may tests.
fn misplaced<'a>(room: &Room, file: &str, text: &'a str) -> Vec<&'a str> {
    if room.belongs_in.iter().any(|place| file.starts_with(place)) || file.contains("/tests") {
        return Vec::new();
    }
    text.lines()
        .take_while(|line| !line.starts_with("mod tests"))
        .filter(|line| !line.trim_start().starts_with("//"))
        .filter(|line| room.words.iter().any(|word| line.contains(word)))
        .collect()
}

#[test]
fn every_line_stands_in_its_room() {
    let mut wrong = Vec::new();
    for (file, text) in all_sources() {
        for room in &ROOMS {
            wrong.extend(
                misplaced(room, &file, &text).iter().map(|line| format!("{file}: {}: {}", room.why, line.trim())),
            );
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_line_in_the_wrong_room_is_seen() {
    let [sql, signals, _] = &ROOMS;
    let statement = "let claim = \"SELECT 1 FOR UPDATE SKIP LOCKED\";";
    assert_eq!(misplaced(sql, "crates/engine/src/relay.rs", statement), [statement]);
    assert!(misplaced(sql, "crates/sqlite/src/claim.rs", statement).is_empty());
    assert!(misplaced(sql, "crates/core/src/job.rs", "//! like FOR UPDATE in a store").is_empty());
    assert_eq!(misplaced(signals, "crates/api/src/server.rs", "tokio::signal::ctrl_c()").len(), 1);
}

#[test]
fn no_room_is_called_after_nothing() {
    let nameless = |file: &str| file.split('/').any(|part| NO_ROOMS.contains(&part.trim_end_matches(".rs")));
    assert!(nameless("crates/core/src/utils.rs") && nameless("crates/api/src/common/mod.rs"), "the rule can fail");
    let wrong: Vec<String> = all_sources().into_iter().map(|(file, _)| file).filter(|file| nameless(file)).collect();
    assert!(wrong.is_empty(), "would a line of code know that it belongs there? {wrong:?}");
}

#[test]
fn every_source_file_opens_by_saying_what_it_is_for() {
    let silent: Vec<String> = all_sources()
        .into_iter()
        .filter(|(file, _)| !file.ends_with("tests.rs") && Path::new(file).extension().is_some_and(|it| it == "rs"))
        .filter(|(_, text)| !text.trim_start().starts_with("//!"))
        .map(|(file, _)| file)
        .collect();
    assert!(silent.is_empty(), "no `//!` at the top of: {silent:#?}");
}

#[test]
fn it_is_spelt_cancelled() {
    let one_l = |line: &str| {
        let line = line.to_lowercase();
        // Other people's names keep their spelling.
        (line.contains("canceled") || line.contains("canceling")) && !line.contains("is_canceled")
    };
    assert!(one_l("the job was canceled"), "the rule can fail");
    let mut wrong = Vec::new();
    for (file, text) in all_sources() {
        wrong.extend(text.lines().filter(|line| one_l(line)).map(|line| format!("{file}: {}", line.trim())));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
