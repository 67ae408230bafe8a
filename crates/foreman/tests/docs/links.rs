//! Every relative link leads to a file, and its anchor to a heading.

use std::path::Path;

use crate::tree::{documents, read, root};

/// The targets of `[text](target)`, outside of code.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // Every other piece between backticks is code; a link whose text is code has its target in the piece after.
        for prose in line.split('`').step_by(2) {
            let rest = prose.split("](").skip(1);
            found.extend(rest.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// How a heading is written in an anchor.
fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn is_broken(document: &str, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return false;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() {
        root().join(document)
    } else {
        root().join(Path::new(document).parent().expect("a document is a file")).join(file)
    };
    if !file.exists() {
        return true;
    }
    let headings = || read(&file).lines().filter(|line| line.starts_with('#')).map(anchor).collect::<Vec<_>>();
    !heading.is_empty() && !headings().iter().any(|known| known == heading)
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        for target in targets(&read(&document)) {
            if is_broken(&document, &target) {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn a_broken_link_is_seen() {
    assert_eq!(targets("see [this](a.md) and `[not](b.md)` and [`code`](c.md#d)"), ["a.md", "c.md#d"]);
    assert!(is_broken("README.md", "docs/there-is-no-such-page.md"));
    assert!(is_broken("README.md", "README.md#there-is-no-such-heading"));
    assert_eq!(anchor("## Life of a job"), "life-of-a-job");
}
