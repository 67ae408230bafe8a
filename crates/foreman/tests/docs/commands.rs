//! What the documents tell people to type exists.

use std::process::Command;

use crate::tree::{code_blocks, documents, files, read};

/// The commands of a document's shell blocks that begin with `program`, as words, comments and pipes cut off.
fn calls(text: &str, program: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    for line in code_blocks(text, "sh") {
        for part in line.split(" #").next().unwrap_or_default().split(['|', ';']).flat_map(|part| part.split("&&")) {
            let words: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
            if words.first().is_some_and(|first| first == program) {
                calls.push(words);
            }
        }
    }
    calls
}

#[test]
fn every_make_target_in_the_documents_exists() {
    let makefile = read("Makefile");
    let mut seen = 0;
    for document in documents() {
        for call in calls(&read(&document), "make") {
            for target in call[1..].iter().filter(|word| !word.contains('=') && !word.contains('\'')) {
                seen += 1;
                let exists = makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
                assert!(exists, "{document}: make {target}");
            }
        }
    }
    assert!(seen > 3, "the documents speak of make: {seen}");
}

#[test]
fn every_foreman_command_in_the_documents_exists() {
    let mut seen = 0;
    for document in documents() {
        for call in calls(&read(&document), "foreman") {
            // The words before the first flag or value name the command; the flags must be known to it.
            let command: Vec<&str> =
                call[1..].iter().map(String::as_str).take_while(|word| is_command_word(word)).collect();
            let help = Command::new(env!("CARGO_BIN_EXE_foreman"))
                .args(&command)
                .arg("--help")
                .output()
                .expect("the binary runs");
            let said = String::from_utf8_lossy(&help.stdout);
            let complaint = String::from_utf8_lossy(&help.stderr);
            assert!(help.status.success(), "{document}: foreman {}: {complaint}", call[1..].join(" "));
            for flag in call.iter().filter(|word| word.starts_with("--")) {
                let flag = flag.split('=').next().unwrap_or(flag);
                assert!(said.contains(flag), "{document}: `foreman {}` does not know {flag}", command.join(" "));
            }
            seen += 1;
        }
    }
    assert!(seen > 5, "the documents speak of foreman: {seen}");
}

/// `jobs`, `list`: not a flag, an id or a placeholder in capitals.
fn is_command_word(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

#[test]
fn a_shell_block_is_read_as_commands() {
    let text = "```sh\nmake run   # starts\nforeman jobs list --state dead ; foreman jobs show ID\n```\n```text\nmake nothing\n```\n";
    assert_eq!(calls(text, "make"), [["make", "run"]]);
    assert_eq!(calls(text, "foreman").len(), 2);
    assert!(is_command_word("list") && !is_command_word("ID") && !is_command_word("--state"));
}

/// A test that runs longer under `FOREMAN_TORTURE` is in a program that `make torture` runs.
#[test]
fn make_torture_runs_everything_that_can_be_longer() {
    let makefile = read("Makefile");
    let recipe = makefile.lines().skip_while(|line| !line.starts_with("torture:")).nth(1).unwrap_or_default();
    assert!(recipe.contains("scripts/torture"), "{recipe}");
    let script = read("scripts/torture");
    assert!(script.contains("export FOREMAN_TORTURE=1"), "{script}");
    let tests = script.lines().find(|line| line.contains(" cargo test ")).unwrap_or_default();
    assert!(tests.contains(" --workspace "), "every package: {tests}");
    // In two pieces, so that this file does not match itself.
    let question = format!("(\"FOREMAN_{}\")", "TORTURE");
    let asks = |file: &String| file.contains("/tests/") && read(file).contains(&question);
    let mut seen = 0;
    for file in files("crates", ".rs").iter().filter(|file| asks(file)) {
        let parts: Vec<&str> = file.split('/').collect();
        let [_, _, _, program, ..] = parts.as_slice() else { panic!("{file} is not part of a test program") };
        let program = format!(" --test {program} ");
        assert!(format!("{tests} ").contains(&program), "make torture omits {file}: {tests}");
        seen += 1;
    }
    assert!(seen >= 3, "the tests that can be longer were found: {seen}");
}
