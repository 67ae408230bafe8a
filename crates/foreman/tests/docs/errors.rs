//! Every problem type has its page, and every page its problem type.

use std::collections::BTreeSet;

use crate::tree::{files, read};

/// The names after `/errors/` in the one file of the API that lists them.
fn problem_types() -> BTreeSet<String> {
    let source = read("crates/api/src/problem/kind.rs");
    source
        .split("\"/errors/")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(name, _)| name.to_owned())
        .filter(|name| !name.is_empty() && !name.contains('{'))
        .collect()
}

#[test]
fn every_problem_type_has_a_page_and_every_page_a_type() {
    let types = problem_types();
    assert!(types.len() > 5, "the problem types were found: {types:?}");
    let pages: BTreeSet<String> = files("docs/errors", ".md")
        .iter()
        .filter_map(|file| file.strip_prefix("docs/errors/")?.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name != "README")
        .collect();
    let without_page: Vec<_> = types.difference(&pages).collect();
    let without_type: Vec<_> = pages.difference(&types).collect();
    assert!(without_page.is_empty(), "no page in docs/errors/ for {without_page:?}");
    assert!(without_type.is_empty(), "a page for a problem that is never answered: {without_type:?}");
}
