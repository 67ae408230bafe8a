//! The files, from the root of the tree.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

pub fn root() -> PathBuf {
    fs::canonicalize("../..").expect("tests run in crates/foreman, two below the root")
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of a directory whose names end so, in order.
pub fn files(directory: &str, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(directory)).unwrap_or_else(|error| panic!("{directory}: {error}"));
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(ending))
        .collect();
    names.sort();
    names.iter().map(|name| format!("{directory}/{name}")).collect()
}

/// Every file below a directory.
pub fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// A file of one YAML document, which has no keys but those of `T`.
pub fn yaml<T: DeserializeOwned>(path: &str) -> T {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
