//! What is safe to show on a terminal.
//!
//! Jobs, targets and commands say what they like, and a terminal does what it is told: a title is set, a line above overwritten,
//! text turned round. So whatever goes to a terminal goes through here: control characters, and those that change the direction of
//! text, are shown as their code. A pipe and a file get everything to the letter. Our own colours stay; somebody else's text in the
//! same few colours says nothing that the word beside it does not.

use std::borrow::Cow;

/// The codes of `ESC [ … m` that this program prints itself: its own and those of its tables.
const COLOURS: [&str; 12] =
    ["0", "31", "32", "33", "36", "39", "90", "38;5;8", "38;5;9", "38;5;10", "38;5;11", "38;5;14"];

/// As it may be shown. Inside a JSON string it stays that string.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(colour) = colour(rest) {
            shown.push_str(colour);
            rest = &rest[colour.len()..];
            continue;
        }
        if is_harmful(letter) && !rest.starts_with("\r\n") {
            shown.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            shown.push(letter);
        }
        rest = &rest[letter.len_utf8()..];
    }
    Cow::Owned(shown)
}

fn colour(text: &str) -> Option<&str> {
    let (code, _) = text.strip_prefix("\u{1b}[")?.split_once('m')?;
    COLOURS.contains(&code).then(|| &text[..code.len() + 3])
}

fn is_harmful(letter: char) -> bool {
    let turns_text =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns_text || letter.is_control() && !matches!(letter, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use comfy_table::Cell;
    use foreman_core::State;

    use super::super::{Screen, Table};
    use super::*;

    #[test]
    fn what_moves_a_terminal_is_shown_as_its_code() {
        for (text, shown) in [
            ("plain ä 雪\n\ttext", "plain ä 雪\n\ttext"),
            ("\u{1b}]0;PWN\u{7}", "\\u001b]0;PWN\\u0007"),
            ("\u{1b}[2J", "\\u001b[2J"),
            ("\u{1b}[8mhidden", "\\u001b[8mhidden"),
            ("\u{1b}[31", "\\u001b[31"),
            ("\u{9b}2J\u{7f}\u{0}", "\\u009b2J\\u007f\\u0000"),
            ("over\rwritten", "over\\u000dwritten"),
            ("of windows\r\n", "of windows\r\n"),
            ("user\u{202e}txt.exe\u{2066}", "user\\u202etxt.exe\\u2066"),
        ] {
            assert_eq!(harmless(text), shown, "{text:?}");
            assert_eq!(harmless(shown), shown);
        }
    }

    #[test]
    fn json_stays_what_it_says() {
        let value = serde_json::json!({"a": "\u{1b}[2J \u{202e} \u{9b} \r"});
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        let shown = harmless(&text);
        assert!(!shown.contains(is_harmful), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }

    #[test]
    fn our_own_colours_stay() {
        let screen = Screen { output: crate::cli::Output::Table, is_coloured: true, can_animate: false };
        let mut table = Table::new(&screen, &["state", "error"]);
        for state in State::ALL {
            table.row(vec![table.state(state), Cell::new("plain")]);
        }
        for text in
            [table.to_string(), "\u{1b}[38;5;10mcompleted\u{1b}[39m".to_owned(), "\u{1b}[31mdead\u{1b}[0m".to_owned()]
        {
            assert_eq!(harmless(&text), text);
        }
    }
}
