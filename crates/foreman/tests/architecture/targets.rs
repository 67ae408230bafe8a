//! A kind of target is one file in `core` and one in the engine: no other room knows which kinds there are.

use crate::metadata::root;
use crate::rooms::all_sources;

/// Where the variants may be named: the two rooms of targets, and what makes jobs to try things with.
const BELONGS_IN: [&str; 4] = ["crates/core/src/target/", "crates/engine/src/target/", "crates/conformance/", "bench/"];

/// Lines of `text` that name a variant of `Target` or `TargetOutline`. Comments may, and so may tests.
fn naming_a_kind(text: &str) -> Vec<&str> {
    let is_variant = |rest: &str| rest.starts_with(|first: char| first.is_ascii_uppercase() || first == '*');
    let names = |line: &str, path: &str| line.split(path).skip(1).any(is_variant);
    text.lines()
        .take_while(|line| !line.starts_with("mod tests"))
        .filter(|line| !line.trim_start().starts_with("//"))
        .filter(|line| names(line, "Target::") || names(line, "TargetOutline::"))
        .collect()
}

#[test]
fn only_the_rooms_of_targets_know_which_kinds_there_are() {
    let mut wrong = Vec::new();
    for (file, text) in all_sources() {
        if BELONGS_IN.iter().any(|place| file.starts_with(place)) || file.contains("/tests") {
            continue;
        }
        wrong.extend(naming_a_kind(&text).iter().map(|line| format!("{file}: {}", line.trim())));
    }
    assert!(
        wrong.is_empty(),
        "ask the target: a method of `Target`, answered in the file of each kind, instead of a match here:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_match_on_the_kind_is_seen() {
    for line in [
        "    Target::Command(_) => may_submit(app, caller),",
        "if let Some(target::Target::Http(http)) = target {",
        "matches!(outline.target, TargetOutline::Command(_))",
        "use foreman_core::Target::*;",
    ] {
        assert_eq!(naming_a_kind(line), [line]);
    }
    for line in
        ["target.map(Target::defaults)", "// Target::Http is one of them", "let target: &Target = work.target();"]
    {
        assert!(naming_a_kind(line).is_empty(), "{line}");
    }
}

#[test]
fn every_kind_has_its_file_in_core_and_in_the_engine() {
    let root = root();
    let text = std::fs::read_to_string(root.join("crates/core/src/target/mod.rs")).expect("the room of targets");
    let (_, variants) = text.split_once("pub enum Target {\n").expect("the enum");
    let (variants, _) = variants.split_once("\n}").expect("its end");
    let kinds: Vec<String> = variants
        .lines()
        .filter_map(|line| line.trim().split_once('('))
        .filter(|(name, _)| name.chars().all(char::is_alphanumeric))
        .map(|(name, _)| name.to_lowercase())
        .collect();
    assert!(kinds.len() >= 4, "the kinds were found: {kinds:?}");
    for kind in kinds {
        for room in ["crates/core/src/target", "crates/engine/src/target"] {
            let file = format!("{room}/{kind}.rs");
            assert!(root.join(&file).is_file(), "{file} is missing: a kind of target has one file in each room");
        }
    }
}
