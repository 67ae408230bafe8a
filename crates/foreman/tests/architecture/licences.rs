//! Every licence in the tree is one that lets a user ship Foreman.

use crate::metadata::Metadata;

const ALLOWED: [&str; 10] = [
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression can be met with what is allowed. Exceptions (`WITH …`) only ever add freedom.
fn is_allowed(expression: &str) -> bool {
    // The old way of writing OR, still found in the registry.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    words.reverse();
    let met = any_of(&mut words);
    met && words.is_empty()
}

fn any_of(words: &mut Vec<&str>) -> bool {
    let mut met = all_of(words);
    while words.last() == Some(&"OR") {
        words.pop();
        met |= all_of(words);
    }
    met
}

fn all_of(words: &mut Vec<&str>) -> bool {
    let mut met = one(words);
    while words.last() == Some(&"AND") {
        words.pop();
        met &= one(words);
    }
    met
}

fn one(words: &mut Vec<&str>) -> bool {
    match words.pop() {
        Some("(") => {
            let met = any_of(words);
            words.pop() == Some(")") && met
        }
        Some(licence) => {
            if words.last() == Some(&"WITH") {
                words.truncate(words.len() - 2);
            }
            ALLOWED.contains(&licence)
        }
        None => false,
    }
}

#[test]
fn every_licence_in_the_tree_is_allowed() {
    let metadata = Metadata::read();
    let refused: Vec<String> = metadata
        .packages
        .iter()
        .filter(|package| !package.license.as_deref().is_some_and(is_allowed))
        .map(|package| format!("{} {}: {:?}", package.name, package.version, package.license))
        .collect();
    assert!(refused.is_empty(), "not on the list of allowed licences:\n{}", refused.join("\n"));
}

#[test]
fn our_own_crates_are_apache_or_mit() {
    for package in Metadata::read().ours() {
        assert_eq!(package.license.as_deref(), Some("Apache-2.0 OR MIT"), "{}", package.name);
    }
}

#[test]
fn an_expression_is_read_as_it_is_meant() {
    for allowed in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND SSPL-1.0", "", "(MIT", "MIT AND"] {
        assert!(!is_allowed(refused), "{refused}");
    }
}
