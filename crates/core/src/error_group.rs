//! Which errors are the same: ten thousand jobs that failed in one way are one line to whoever looks.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// So much of an error decides.
const LOOKED_AT: usize = 400;

/// The name of all errors that differ only in what differs between any two: numbers, ids, addresses. 16 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ErrorGroup(String);

impl ErrorGroup {
    pub fn of(error: &str) -> Self {
        let digest = Sha256::digest(shape(error).as_bytes());
        let digits = digest[..8].iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Self(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The error with whatever has a digit in it put aside, and spaces and case made even.
fn shape(error: &str) -> String {
    let mut shape = String::new();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut word = String::new();
    let end_word = |word: &mut String, shape: &mut String| {
        if word.chars().any(char::is_numeric) {
            // A run of them, such as the parts of an id or an address, is one.
            if !shape.ends_with('#') {
                shape.push('#');
            }
        } else {
            shape.push_str(word);
        }
        word.clear();
    };
    for letter in error.chars().take(LOOKED_AT).flat_map(char::to_lowercase) {
        if is_part(letter) {
            word.push(letter);
            continue;
        }
        end_word(&mut word, &mut shape);
        match letter {
            letter if letter.is_whitespace() => {
                if !shape.ends_with(' ') {
                    shape.push(' ');
                }
            }
            '-' | ':' | '.' if shape.ends_with('#') => {}
            letter => shape.push(letter),
        }
    }
    end_word(&mut word, &mut shape);
    shape.trim().to_owned()
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an error group: use `group` from the list of error groups")]
pub struct NotAGroup;

impl FromStr for ErrorGroup {
    type Err = NotAGroup;

    fn from_str(text: &str) -> Result<Self, NotAGroup> {
        let is_one =
            text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_one.then(|| Self(text.to_owned())).ok_or(NotAGroup)
    }
}

impl TryFrom<String> for ErrorGroup {
    type Error = NotAGroup;

    fn try_from(text: String) -> Result<Self, NotAGroup> {
        text.parse()
    }
}

impl From<ErrorGroup> for String {
    fn from(group: ErrorGroup) -> Self {
        group.0
    }
}

impl fmt::Display for ErrorGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_differ_in_numbers_and_ids_are_one_group() {
        for (one, other) in [
            ("connect to 127.0.0.1:8081: refused", "connect to 10.20.30.40:9: refused"),
            (
                "order 0190a8f1-7c3e-7aaa-8bbb-0123456789ab is gone",
                "order 0190a8f1-7c3e-7aaa-9ccc-ba9876543210 is gone",
            ),
            ("timed out after 1500 ms", "timed out  after 30 ms\n"),
            ("HTTP 503", "http 502"),
            ("exit code 1", "exit code 137"),
        ] {
            assert_eq!(ErrorGroup::of(one), ErrorGroup::of(other), "{one} | {other}: {}", shape(one));
        }
    }

    #[test]
    fn other_words_are_another_group() {
        assert_ne!(ErrorGroup::of("connection refused"), ErrorGroup::of("connection reset"));
        assert_ne!(ErrorGroup::of("no such user"), ErrorGroup::of("no such order"));
    }

    #[test]
    fn an_endless_error_is_looked_at_for_a_while() {
        let long = "x".repeat(1_000_000);
        assert_eq!(ErrorGroup::of(&long), ErrorGroup::of(&format!("{long} and more")));
    }

    #[test]
    fn a_name_survives_text_and_nothing_else_is_one() {
        let group = ErrorGroup::of("boom");
        assert_eq!(group.as_str().parse(), Ok(group));
        for text in ["", "boom", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0"] {
            assert_eq!(text.parse::<ErrorGroup>(), Err(NotAGroup), "{text}");
        }
    }
}
