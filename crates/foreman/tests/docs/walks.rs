//! The three walks of docs/architecture.md lead somewhere: every file they name is there.

use crate::tree::{read, root};

/// The files named in the tables below this sentence, which says where they lie.
fn walk(page: &str, begins: &str) -> Vec<String> {
    let rest = page.split_once(begins).unwrap_or_else(|| panic!("the page has no walk {begins:?}")).1;
    let (place, rest) = rest.split_once('`').and_then(|(_, rest)| rest.split_once('`')).expect("it says where");
    let rows = rest.lines().skip(1).skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next().map(str::to_owned));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2).map(|file| format!("{place}/{file}")).collect::<Vec<_>>())
        .collect()
}

#[test]
fn every_file_of_the_three_walks_is_there() {
    let page = read("docs/architecture.md");
    for (question, least) in [
        ("**Who may call this route?**", 8),
        ("**Why is this job not picked?**", 8),
        ("**How is a change row written?**", 8),
    ] {
        let files = walk(&page, question);
        assert!(files.len() >= least, "{question} names few files: {files:?}");
        let missing: Vec<&String> = files.iter().filter(|file| !root().join(file).is_file()).collect();
        assert!(missing.is_empty(), "{question} names what is not there: {missing:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_noticed() {
    let page = "**Why?** In `crates`:\n\n| question | file |\n|---|---|\n| a | `core/src/none.rs`, `core/src/lib.rs` |\n\n| b | `c` |";
    let files = walk(page, "**Why?**");
    assert_eq!(files, ["crates/core/src/none.rs", "crates/core/src/lib.rs"]);
    assert!(!root().join(&files[0]).exists() && root().join(&files[1]).is_file());
}
