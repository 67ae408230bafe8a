//! The one list of what is hidden in text that nobody judged: lines of the log, panics, errors of the command line.
//!
//! What is known to be secret is a [`Secret`](crate::secret::Secret) and never becomes text. This is the net below it, for what
//! comes along inside other text: a library's error that quotes a URL, an address that somebody put a password into. It goes
//! by names and shapes, so it finds what looks like a secret and nothing else; too much hidden is no harm.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::secret::Secret;
use crate::secret_map::MASK;

/// A parameter of a URL is hidden when its name holds one of these …
const INSIDE: [&str; 7] = ["token", "secret", "password", "passwd", "signature", "credential", "apikey"];
/// … or has one of these among its words.
const WORDS: [&str; 5] = ["key", "sig", "auth", "pwd", "jwt"];
/// Headers whose values are hidden, in lower case.
const HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "webhook-signature"];
/// What is followed by credentials in a header.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];
/// Shorter than this after a scheme it is a word of a sentence.
const SHORTEST_CREDENTIALS: usize = 8;

/// The text with everything hidden that the list names.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut spans = Vec::new();
    userinfo(text, &mut spans);
    parameters(text, &mut spans);
    own(text, &mut spans);
    // Lower case in ASCII alone keeps every byte in its place.
    let lower = text.to_ascii_lowercase();
    credentials(text, &lower, &mut spans);
    headers(text, &lower, &mut spans);
    hide(text, spans)
}

/// Whether the value of a parameter with this name is hidden.
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    INSIDE.iter().any(|part| lower.contains(part))
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Values that are known to be secret, to be hidden where somebody says them back: what a target answers and what a command prints
/// is kept in the clear.
#[derive(Debug, Default)]
pub struct KnownSecrets(Vec<Secret>);

/// A shorter value may stand in any text by chance.
const SHORTEST_KNOWN: usize = 8;

impl KnownSecrets {
    /// Of headers or variables those whose names are on the list. Others (`Accept`, `LANG`) are no secrets, though they are sealed, and
    /// to hide them would spoil the answer.
    pub fn of(named: &BTreeMap<String, String>) -> Self {
        let mut known = Vec::new();
        for (name, value) in named {
            if is_secret_name(name) || HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                // After the scheme of credentials, which a target may take off.
                let bare = value.split_once(' ').map(|(_, bare)| bare);
                known.extend([Some(value.as_str()), bare].into_iter().flatten());
            }
        }
        known.retain(|value| value.len() >= SHORTEST_KNOWN);
        // The whole before its parts.
        known.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
        Self(known.into_iter().map(Secret::new).collect())
    }

    pub fn hide(&self, text: &mut String) {
        for secret in &self.0 {
            if text.contains(secret.reveal()) {
                *text = text.replace(secret.reveal(), MASK);
            }
        }
    }
}

/// `scheme://user:password@host`: the password; of `scheme://token@host` all of it.
fn userinfo(text: &str, spans: &mut Vec<Range<usize>>) {
    for (place, mark) in text.match_indices("://") {
        let start = place + mark.len();
        let authority = &text[start..start + length(&text[start..], |c| ends_word(c) || "/?#".contains(c))];
        if let Some(at) = authority.rfind('@') {
            let password = authority[..at].find(':').map_or(0, |colon| colon + 1);
            spans.push(start + password..start + at);
        }
    }
}

/// `?name=value&name=value`.
fn parameters(text: &str, spans: &mut Vec<Range<usize>>) {
    for (place, _) in text.match_indices(['?', '&', ';']) {
        let start = place + 1;
        let name =
            &text[start..start + length(&text[start..], |c| !(c.is_ascii_alphanumeric() || "_-.%[]".contains(c)))];
        let value = start + name.len() + 1;
        if text[start + name.len()..].starts_with('=') && is_secret_name(name) {
            spans.push(value..value + length(&text[value..], |c| ends_word(c) || "&#".contains(c)));
        }
    }
}

/// Foreman's own keys and signing secrets, wherever they stand. The id of a key is public.
fn own(text: &str, spans: &mut Vec<Range<usize>>) {
    for (place, mark) in text.match_indices("fm_") {
        let id = place + mark.len();
        let secret = id + length(&text[id..], |c| !c.is_ascii_alphanumeric());
        if text[secret..].starts_with('_') {
            let secret = secret + 1;
            spans.push(secret..secret + length(&text[secret..], |c| !c.is_ascii_alphanumeric()));
        }
    }
    for (place, mark) in text.match_indices("whsec_") {
        let start = place + mark.len();
        spans.push(start..start + length(&text[start..], |c| !(c.is_ascii_alphanumeric() || "+/=-_".contains(c))));
    }
}

/// `Bearer …`, `Basic …`.
fn credentials(text: &str, lower: &str, spans: &mut Vec<Range<usize>>) {
    for scheme in SCHEMES {
        for (place, _) in lower.match_indices(scheme) {
            let start = place + scheme.len();
            let length = length(&text[start..], |c| !(c.is_ascii_alphanumeric() || "-._~+/=".contains(c)));
            if length >= SHORTEST_CREDENTIALS {
                spans.push(start..start + length);
            }
        }
    }
}

/// `name: value` as it is sent, and `"name": "value"` as it is printed for people who debug.
fn headers(text: &str, lower: &str, spans: &mut Vec<Range<usize>>) {
    for header in HEADERS {
        for (place, _) in lower.match_indices(header) {
            let after = &text[place + header.len()..];
            let rest = after.trim_start_matches(['\\', '"']);
            let Some(rest) = rest.strip_prefix(':') else { continue };
            let value = rest.trim_start_matches([' ', '\\', '"']);
            let start = text.len() - value.len();
            let length = length(value, |c| matches!(c, '"' | '`' | '\\' | '\r' | '\n'));
            // Our own advice, `Authorization: Bearer …`, gives nothing away.
            if !value[..length].ends_with('…') {
                spans.push(start..start + length);
            }
        }
    }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "\"'`<>\\".contains(c)
}

fn length(text: &str, ends: impl Fn(char) -> bool) -> usize {
    text.find(ends).unwrap_or(text.len())
}

fn hide(text: &str, mut spans: Vec<Range<usize>>) -> Cow<'_, str> {
    spans.retain(|span| !span.is_empty());
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_unstable_by_key(|span| span.start);
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for span in spans {
        if span.start >= end {
            shown.push_str(&text[end..span.start]);
            shown.push_str(MASK);
        }
        end = end.max(span.end);
    }
    shown.push_str(&text[end..]);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{KnownSecrets, text};

    #[test]
    fn what_is_known_to_be_secret_is_hidden_where_it_is_said_back() {
        let named = [
            ("Authorization", "Bearer hush-hush"),
            ("x-api-key", "hush+hush/hush"),
            ("DB_PASSWORD", "hush"),
            ("Accept", "application/json"),
            ("X-Mode", "something-long"),
        ];
        let named = BTreeMap::from(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut said = "Bearer hush-hush, hush-hush; hush+hush/hush, something-long as application/json".to_owned();
        KnownSecrets::of(&named).hide(&mut said);
        assert_eq!(said, "***, ***; ***, something-long as application/json");
        assert!(!format!("{:?}", KnownSecrets::of(&named)).contains("hush"));
        let mut short = "hush".to_owned();
        KnownSecrets::of(&named).hide(&mut short);
        assert_eq!(short, "hush", "too short to tell from a word");
    }

    #[test]
    fn what_looks_like_a_secret_is_hidden_and_what_is_around_it_stays() {
        for (given, shown) in [
            (
                "cannot reach https://ann:hush@host:8/p?x=1#y, trying",
                "cannot reach https://ann:***@host:8/p?x=1#y, trying",
            ),
            ("https://hush@host/", "https://***@host/"),
            ("https://a:b@c:hush@host", "https://a:***@host"),
            ("GET /p?token=hush&page=2&api_key=hush HTTP/1.1", "GET /p?token=***&page=2&api_key=*** HTTP/1.1"),
            ("https://s3/x?X-Amz-Signature=hush&X-Amz-Date=1", "https://s3/x?X-Amz-Signature=***&X-Amz-Date=1"),
            (r#"{"url":"http://h/?sig=hush"}"#, r#"{"url":"http://h/?sig=***"}"#),
            ("key fm_0123456789ab_Hush9hush is unknown", "key fm_0123456789ab_*** is unknown"),
            ("whsec_aHVzaA+/== was given", "whsec_*** was given"),
            ("Authorization: Bearer hush-hush.hush", "Authorization: ***"),
            ("sent `bearer hush-hush.hush` twice", "sent `bearer ***` twice"),
            (r#"{"cookie": "a=hush; b=hush", "host": "h"}"#, r#"{"cookie": "***", "host": "h"}"#),
            (r#"{\"Set-Cookie\":\"hush\"}"#, r#"{\"Set-Cookie\":\"***\"}"#),
            ("x-api-key: hush\r\nhost: h", "x-api-key: ***\r\nhost: h"),
        ] {
            assert_eq!(text(given), shown);
            assert!(!text(given).to_lowercase().contains("hush"), "{given}");
            assert_eq!(text(&text(given)), shown, "twice is as once");
        }
    }

    #[test]
    fn ordinary_lines_are_left_as_they_are() {
        for line in [
            "serving as dev on http://127.0.0.1:8080",
            "send it as `Authorization: Bearer …`",
            "the bearer of it",
            "GET /api/v1/jobs?state=dead&limit=5&monkey=banana",
            "mail to a@example.com, see https://example.com/a@b?q=a@b",
            "task_key=5 claim.token=01 fm_ fm_x whsec",
            "?=&=;=",
            "",
        ] {
            assert_eq!(text(line), line);
        }
    }

    /// Every cut of a line is a line, and none of them is a panic.
    #[test]
    fn no_text_is_too_strange() {
        let line = "ä://ü:ö@ß?tökén=ä&kéy=1;sig=ü fm_é_ü whsec_é authorization:é bearer éééééééééé \u{0}";
        for (start, _) in line.char_indices() {
            for (end, _) in line.char_indices().filter(|(end, _)| *end >= start) {
                let once = text(&line[start..end]).into_owned();
                assert_eq!(text(&once), once);
            }
        }
    }
}
