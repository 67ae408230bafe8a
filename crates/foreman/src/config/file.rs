//! The file of settings, taken apart into paths and values with the line of each.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// `worker.slots` and where it stands.
#[derive(Debug)]
pub struct FileEntry<'a> {
    pub path: String,
    pub value: &'a DeValue<'a>,
    pub line: usize,
}

/// What is not TOML, and in which line.
#[derive(Debug, PartialEq, Eq)]
pub struct NotToml {
    pub line: usize,
    pub why: String,
}

/// Reads the text and hands every value to `visit`, in the order of the file.
///
/// `is_setting` says where a path ends: a table below it is a value.
pub fn read(text: &str, is_setting: impl Fn(&str) -> bool, mut visit: impl FnMut(FileEntry<'_>)) -> Vec<NotToml> {
    // Recoverable: what can be understood is judged too, so that all mistakes are told at once.
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut found = Vec::new();
    flatten("", table.get_ref(), &is_setting, &mut found);
    found.sort_by_key(|(_, _, span)| span.start);
    for (path, value, span) in found {
        visit(FileEntry { path, value, line: line_of(text, &span) });
    }
    errors
        .into_iter()
        .map(|error| NotToml { line: line_of(text, &error.span().unwrap_or(0..0)), why: error.message().to_owned() })
        .collect()
}

fn flatten<'a>(
    prefix: &str,
    table: &'a DeTable<'a>,
    is_setting: &impl Fn(&str) -> bool,
    found: &mut Vec<(String, &'a DeValue<'a>, Range<usize>)>,
) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        match value.get_ref() {
            DeValue::Table(inner) if !is_setting(&path) => flatten(&path, inner, is_setting, found),
            other => found.push((path, other, key.span())),
        }
    }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.char_indices().take_while(|(place, _)| *place < span.start).filter(|(_, c)| *c == '\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_found_with_its_line() {
        let text = "listen = \"a\"\n\n[worker]\n# how many\nslots = 3\nqueues = [\"a\"]\n\n[deep.er]\nx = 1\n";
        let mut seen = Vec::new();
        let errors = read(text, |_| false, |entry| seen.push((entry.path, entry.line)));
        let expected = [("listen", 1), ("worker.slots", 5), ("worker.queues", 6), ("deep.er.x", 9)];
        assert_eq!(seen, expected.map(|(path, line)| (path.to_owned(), line)));
        assert!(errors.is_empty());
    }

    #[test]
    fn what_is_not_toml_does_not_hide_the_rest() {
        let mut seen = Vec::new();
        let errors = read("slots = \nlisten = 3\n", |_| false, |entry| seen.push(entry.path));
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].line, 1);
        assert!(seen.contains(&"listen".to_owned()), "{seen:?}");
    }
}
