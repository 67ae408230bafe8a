//! The files of the tree, as the documents see them.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub fn root() -> PathBuf {
    fs::canonicalize("../..").expect("tests run in crates/foreman, two below the root")
}

pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below `place` whose name ends with `ending`, by its path from the root, in order.
pub fn files(place: &str, ending: &str) -> Vec<String> {
    let root = root();
    let mut found = Vec::new();
    walk(&root.join(place), &mut |path| {
        let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        if name.ends_with(ending) {
            found.push(name);
        }
    });
    found.sort();
    found
}

fn walk(below: &Path, found: &mut impl FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(below) else { return };
    for entry in entries {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found(&path);
        }
    }
}

/// The documents: those at the top, and all below docs/.
pub fn documents() -> Vec<String> {
    let mut documents = files("docs", ".md");
    for entry in fs::read_dir(root()).expect("the root can be read") {
        let name = PathBuf::from(entry.expect("the entry can be read").file_name());
        if name.extension().is_some_and(|extension| extension == "md") {
            documents.push(name.to_string_lossy().into_owned());
        }
    }
    assert!(documents.iter().any(|name| name == "README.md"), "the documents were found: {documents:?}");
    documents
}

/// The lines of all fenced blocks of one language.
pub fn code_blocks(text: &str, language: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<bool> = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), open) {
            (Some(said), None) => open = Some(said.trim() == language),
            (Some(_), Some(_)) => open = None,
            (None, Some(true)) => lines.push(line.to_owned()),
            _ => {}
        }
    }
    lines
}
