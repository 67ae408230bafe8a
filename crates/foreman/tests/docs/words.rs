//! What people read is plain English: help, problems, logs, the API's description, the dashboard and the documents.
//!
//! The list below has phrases that were once written here and that readers stumbled over, each with what to write
//! instead. Comments, names in code and test sources are not looked at. A phrase in quotes or backticks is a value, not
//! prose, and is left alone.

use std::process::Command;

use serde_json::Value;

use crate::tree::{documents, files, read};

/// What not to write, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("whoever", "anyone who; or name them: the operator, the client, the receiver"),
    ("whosever", "whose"),
    ("somebody", "someone; or name them"),
    ("nobody", "no one; or name what does not happen: \"is not fired in time\""),
    ("anew", "again"),
    ("manieth", "which number"),
    ("undertaking", "related jobs"),
    ("opens nothing", "is not valid; is revoked; is rejected"),
    ("is told", "is notified; receives"),
    ("are told", "are notified; receive"),
    ("was told", "was notified; received"),
    ("were told", "were notified; were sent"),
    ("be told", "be notified"),
    ("told nothing", "receives no messages"),
    ("is sent nothing", "receives no messages"),
    ("so much", "this much; or name the duration"),
    ("so many", "this many; or give the limit"),
    ("so long as", "as long as"),
    ("nothing any more", "no longer"),
    ("nowhere any more", "no longer anywhere"),
    ("not there any more", "no longer exists"),
    ("has not the", "lacks the"),
    ("have not the", "lack the"),
    ("is good for", "allows; has the scopes; is valid for"),
    ("not good for", "does not allow"),
    ("where it stands", "its state; its location"),
    ("where they stand", "their states"),
    ("how things stand", "the current state"),
    ("as they stand", "in their current state"),
    ("stand here", "are listed here"),
    ("stands here", "is listed here"),
    ("what became of", "what happened to; the result of"),
    ("what becomes of", "what happens to"),
    ("under way", "running; in progress"),
    ("lies in the past", "is in the past"),
    ("must lie between", "must be between"),
    ("as many as it may", "its limit of"),
    ("as it may have", "its limit of"),
    ("as many as may", "the limit"),
    ("further try", "retry; further attempt"),
    ("every try", "every attempt"),
    ("next try", "next attempt"),
    ("latest try", "latest attempt"),
    ("first try", "first attempt"),
    ("all tries", "all attempts"),
    ("its tries", "its attempts"),
    ("is tried again", "is retried"),
    ("are tried again", "are retried"),
    ("to the letter", "exactly; byte for byte"),
    ("clock is put", "clocks go"),
    ("clocks are put", "clocks go"),
    ("the page before", "the previous page"),
    ("how to put it right", "how to fix it"),
    ("asks for no key", "requires no key"),
    ("keep as it is", "cancel"),
    ("comes into being", "is created"),
    ("is no failure", "is not a failure"),
    ("is no hindrance", "does no harm"),
];

/// The banned phrases of a text, each with its surroundings.
fn found_in(text: &str) -> Vec<String> {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = plain.to_ascii_lowercase();
    let mut found = Vec::new();
    for (phrase, instead) in BANNED {
        for (at, _) in lower.match_indices(phrase).filter(|(at, _)| is_prose(&lower, *at, phrase.len())) {
            let from = plain.floor_char_boundary(at.saturating_sub(50));
            let to = plain.ceil_char_boundary((at + phrase.len() + 40).min(plain.len()));
            found.push(format!("\"{phrase}\" (write: {instead}) in: …{}…", &plain[from..to]));
        }
    }
    found
}

/// Whole words; not the name of a function, and not a single word in quotes, which is a value.
fn is_prose(text: &str, at: usize, length: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), text[at + length..].chars().next());
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_quote = |c: Option<char>| c.is_some_and(|c| "`\"'".contains(c));
    let is_value = !text[at..at + length].contains(' ') && is_quote(before) && is_quote(after);
    !is_part(before) && !is_part(after) && after != Some('(') && !is_value
}

/// Fails with every place at once: one run is enough to mend them all.
fn assert_plain(texts: impl IntoIterator<Item = (String, String)>) {
    let mut seen = 0;
    let mut found = Vec::new();
    for (place, text) in texts {
        seen += 1;
        found.extend(found_in(&text).into_iter().map(|what| format!("{place}: {what}")));
    }
    assert!(seen > 10, "the texts were found: {seen}");
    assert!(found.is_empty(), "{} phrases are not plain English:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_documents_are_in_plain_english() {
    assert_plain(documents().into_iter().map(|name| (name.clone(), read(&name))));
}

#[test]
fn the_help_is_in_plain_english() {
    let mut helps = Vec::new();
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = commands.pop() {
        let output = Command::new(env!("CARGO_BIN_EXE_foreman")).args(&command).arg("--help").output();
        let help = String::from_utf8(output.expect("the binary runs").stdout).expect("the help is text");
        commands.extend(subcommands(&help).into_iter().map(|name| [command.as_slice(), &[name]].concat()));
        helps.push((format!("foreman {} --help", command.join(" ")), help));
    }
    assert_plain(helps);
}

/// The names below `Commands:`, without `help`, which repeats the others.
fn subcommands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_description_of_the_api_is_in_plain_english() {
    let document: Value = serde_json::from_str(&read("docs/openapi.json")).expect("the document is JSON");
    let mut texts = Vec::new();
    describe("", &document, &mut texts);
    assert_plain(texts);
}

fn describe(place: &str, value: &Value, texts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let place = format!("{place}/{name}");
                match value {
                    Value::String(text) if name == "description" || name == "summary" => {
                        texts.push((place, text.clone()));
                    }
                    other => describe(&place, other, texts),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| describe(place, item, texts)),
        _ => {}
    }
}

#[test]
fn the_dashboard_is_in_plain_english() {
    let shown = files("dashboard/src", ".ts").into_iter().chain(files("dashboard/src", ".tsx"));
    let shown = shown.filter(|file| !file.contains(".test.") && !file.ends_with("schema.d.ts"));
    assert_plain(shown.map(|file| (file.clone(), without_comments(&read(&file)))));
}

fn without_comments(source: &str) -> String {
    let mut kept = String::new();
    let mut is_comment = false;
    for line in source.lines().map(str::trim) {
        is_comment |= line.starts_with("/*") || line.starts_with("{/*");
        if !is_comment && !line.starts_with("//") && !line.starts_with("import ") {
            kept.push_str(line.split(" // ").next().unwrap_or(line));
            kept.push('\n');
        }
        is_comment &= !line.contains("*/");
    }
    kept
}

/// Problems, answers of the commands, and log lines.
#[test]
fn what_the_program_says_is_in_plain_english() {
    let sources = files("crates", ".rs")
        .into_iter()
        .filter(|file| file.contains("/src/") && !file.contains("conformance") && !file.ends_with("tests.rs"));
    assert_plain(sources.flat_map(|file| {
        let source = read(&file);
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&source).to_owned();
        literals(&source).into_iter().map(move |text| (file.clone(), text)).collect::<Vec<_>>()
    }));
}

/// The string literals of a Rust source that have several words, without those that only a panic shows.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        at += match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '\'' if rest.starts_with("'\"'") => 3,
            '\'' if rest.starts_with("'\\") => 3,
            '"' => {
                let length = literal(rest);
                let before = source[..at].trim_end();
                let is_for_panics = [".expect(", "reason =", "panic!(", "unreachable!("];
                let text = rest[..length].trim_matches('"').replace("\\\n", " ");
                if !is_for_panics.iter().any(|call| before.ends_with(call)) && text.split_whitespace().count() > 1 {
                    found.push(text);
                }
                length
            }
            other => other.len_utf8(),
        };
    }
    found
}

/// How long the literal is that the text begins with.
fn literal(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

#[test]
fn a_phrase_is_found_in_prose_and_nowhere_else() {
    assert_eq!(found_in("The key has\n  not the scope, whoever asks.").len(), 2);
    for fine in ["the user `nobody`", "user = \"nobody\"", "anew(key)", "nobodys", "so manyfold"] {
        assert!(found_in(fine).is_empty(), "{fine}: {:?}", found_in(fine));
    }
    let source =
        "// whoever\nlet a = b.expect(\"nobody else has it\");\nsay(\"one \\\"two\\\" \\\n    three\", 'x', '\"');";
    assert_eq!(literals(source), ["one \\\"two\\\"      three"]);
    let help = "Usage: foreman\n\nCommands:\n  jobs   Manage\n           jobs\n  help   Print\n\nOptions:\n  -h\n";
    assert_eq!(subcommands(help), ["jobs"]);
}
