//! JSON in, with errors that say where, and JSON out.
//!
//! What fits is read in one pass. Only what does not is read a second time, to learn the path of the mistake and every
//! unknown field, not just the first.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use foreman_core::spec::Mistake;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_path_to_error::Segment;

use crate::problem::{Kind, Problem};

/// Reads the object in `text`; JSON that does not fit is a problem of the kind `misfit`.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a [u8], misfit: Kind) -> Result<T, Problem> {
    let value = serde_json::from_slice(text).map_err(|error| explain::<T>(text, &error, misfit))?;
    // serde also takes an array for a struct, with its fields in the order of their declaration. People do not.
    if is_object(text) { Ok(value) } else { Err(not_an_object(misfit)) }
}

/// Of text that is known to be JSON.
fn is_object(text: &[u8]) -> bool {
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

#[cold]
fn not_an_object(misfit: Kind) -> Problem {
    let mistake = Mistake { pointer: String::new(), detail: "is not an object".into() };
    let what = match misfit {
        Kind::InvalidJob => "a job is a JSON object",
        Kind::InvalidSchedule => "a schedule is a JSON object",
        _ => "a JSON object is expected here",
    };
    Problem::new(misfit, what).with_errors(vec![mistake])
}

/// A response with `value` as its body.
pub(crate) fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    let body = serde_json::to_vec(value).expect("documents are plain data with text keys");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cold]
fn explain<'a, T: Deserialize<'a>>(text: &'a [u8], error: &serde_json::Error, misfit: Kind) -> Problem {
    if error.classify() != Category::Data {
        let detail = if text.iter().all(u8::is_ascii_whitespace) {
            "the body is empty, where a JSON object is expected (line 1 column 1)".to_owned()
        } else {
            error.to_string()
        };
        return Problem::new(Kind::BadJson, detail);
    }
    if !is_object(text) {
        return not_an_object(misfit);
    }
    let pointer = pointer_of::<T>(text);
    let message = without_value(without_position(&error.to_string()));
    if let Some(unknown) = UnknownField::read(&message) {
        return unknown.problem(text, &pointer);
    }
    let detail = if pointer.is_empty() { message.clone() } else { format!("{pointer}: {message}") };
    Problem::new(misfit, detail).with_errors(vec![Mistake { pointer, detail: message }])
}

/// Where in the document reading stopped.
fn pointer_of<'a, T: Deserialize<'a>>(text: &'a [u8]) -> String {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else { return String::new() };
    let mut pointer = String::new();
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&format!("/{}", escaped(key))),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

/// RFC 6901.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn without_position(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(before, _)| before).to_owned()
}

/// serde repeats text that is not what it expected. Text may be a secret: `headers` given as one string, say.
fn without_value(message: String) -> String {
    for what in ["invalid type", "invalid value"] {
        let given = message.strip_prefix(what).and_then(|rest| rest.strip_prefix(": string \""));
        if let Some((_, expected)) = given.and_then(|given| given.rsplit_once("\", expected ")) {
            return format!("{what}: a string, expected {expected}");
        }
    }
    message
}

/// What serde says of a field it does not know, taken apart.
struct UnknownField<'m> {
    name: &'m str,
    known: Vec<&'m str>,
}

impl<'m> UnknownField<'m> {
    fn read(message: &'m str) -> Option<Self> {
        let rest = message.strip_prefix("unknown field `")?;
        let (name, expected) = rest.split_once("`, ")?;
        Some(Self { name, known: expected.split('`').skip(1).step_by(2).collect() })
    }

    fn problem(&self, text: &[u8], pointer: &str) -> Problem {
        let key = format!("/{}", escaped(self.name));
        let parent = pointer.strip_suffix(key.as_str()).unwrap_or(pointer);
        let mut names = vec![self.name.to_owned()];
        if parent.is_empty()
            && let Ok(all) = serde_json::from_slice::<BTreeMap<String, serde_json::Value>>(text)
        {
            names = all.into_keys().filter(|name| !self.known.contains(&name.as_str())).collect();
        }
        let errors: Vec<Mistake> = names
            .iter()
            .map(|name| Mistake {
                pointer: format!("{parent}/{}", escaped(name)),
                detail: format!("is not a field{}", self.did_you_mean(name)),
            })
            .collect();
        let detail = match names.as_slice() {
            [only] => format!("there is no field `{only}`{}", self.did_you_mean(only)),
            several => format!("there are no fields `{}`", several.join("`, `")),
        };
        Problem::new(Kind::UnknownField, detail).with_errors(errors)
    }

    /// The nearest known names, or, where none is near, all of them.
    fn did_you_mean(&self, name: &str) -> String {
        let mut near: Vec<(usize, &str)> = self
            .known
            .iter()
            .map(|known| (distance(name, known), *known))
            .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
            .collect();
        near.sort_unstable();
        let names: Vec<&str> = near.into_iter().take(3).map(|(_, known)| known).collect();
        match names.as_slice() {
            [] if self.known.is_empty() => String::new(),
            [] => format!("; there are: `{}`", self.known.join("`, `")),
            names => format!("; did you mean `{}`?", names.join("` or `")),
        }
    }
}

/// How many letters must be changed, added or taken away.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    // Names are short; a name that is not costs no more than one that is.
    for (i, a) in left.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let cost = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use foreman_core::spec::JobSpec;

    fn refused(text: &str) -> Problem {
        parse::<JobSpec>(text.as_bytes(), Kind::InvalidJob).expect_err("refused")
    }

    #[test]
    fn bad_json_is_reported_with_line_and_column() {
        let problem = refused("{\n  \"url\": \"http://a\",\n  oops\n}");
        assert_eq!(problem.kind, Kind::BadJson);
        assert!(problem.detail.contains("line 3 column 3"), "{}", problem.detail);
        for empty in ["", "  \n "] {
            let problem = refused(empty);
            assert_eq!(problem.kind, Kind::BadJson);
            assert!(problem.detail.contains("line 1 column 1"), "{}", problem.detail);
        }
        assert_eq!(refused(r#"{"url":"http://a"} {}"#).kind, Kind::BadJson, "what follows is not ignored");
        assert_eq!(refused(r#"{"url":"http://a""#).kind, Kind::BadJson);
    }

    #[test]
    fn every_unknown_field_is_named_with_the_nearest_known_one() {
        let problem = refused(r#"{"urll":"http://a","prioritty":"high","zzzzzzzz":1}"#);
        assert_eq!(problem.kind, Kind::UnknownField);
        let errors: BTreeMap<_, _> = problem.errors.iter().map(|e| (e.pointer.as_str(), e.detail.as_str())).collect();
        assert!(errors["/urll"].contains("did you mean `url`"), "{errors:?}");
        assert!(errors["/prioritty"].contains("did you mean `priority`"), "{errors:?}");
        assert!(errors["/zzzzzzzz"].contains("there are: `url`"), "{errors:?}");
        for name in ["urll", "prioritty", "zzzzzzzz"] {
            assert!(problem.detail.contains(name), "{}", problem.detail);
        }
    }

    #[test]
    fn an_unknown_field_further_in_is_pointed_at() {
        let problem = refused(r#"{"url":"http://a","backoff":{"bas":"1s"}}"#);
        assert_eq!(problem.kind, Kind::UnknownField);
        assert_eq!(problem.errors[0].pointer, "/backoff/bas");
        assert!(problem.errors[0].detail.contains("`base`"), "{}", problem.errors[0].detail);
    }

    #[test]
    fn a_value_that_does_not_fit_is_pointed_at() {
        for (text, pointer, word) in [
            (r#"{"url":"http://a","delay":"soon"}"#, "/delay", "not a duration"),
            (r#"{"url":"http://a","run_at":"tomorrow"}"#, "/run_at", "RFC 3339"),
            (r#"{"url":7}"#, "/url", "expected a string"),
            (r#"{"url":"http://a","tags":["a",7]}"#, "/tags/1", "expected a string"),
            (r#"{"url":"http://a","backoff":{"base":"x"}}"#, "/backoff/base", "not a duration"),
            (r#"{"command":7}"#, "/command", "array of strings"),
            (r#"{"url":"http://a","priority":"urgent"}"#, "/priority", "high"),
            ("[]", "", "object"),
            (r#"["http://a"]"#, "", "object"),
            ("7", "", "a job is a JSON object"),
            ("null", "", "a job is a JSON object"),
            (r#""http://a""#, "", "a job is a JSON object"),
            (r#"{"url":"http://a","backoff":["1s"]}"#, "/backoff", "expected a JSON object"),
            (r#"{"url":"http://a","backoff":7}"#, "/backoff", "expected a JSON object"),
            (r#"{"command":"true","exit_codes":[[0],[1]]}"#, "/exit_codes", "expected a JSON object"),
        ] {
            let problem = refused(text);
            assert_eq!(problem.kind, Kind::InvalidJob, "{text}");
            assert_eq!(problem.errors[0].pointer, pointer, "{text}");
            assert!(problem.detail.contains(word), "{text}: {}", problem.detail);
        }
    }

    #[test]
    fn text_that_does_not_fit_is_not_repeated() {
        for text in [
            r#"{"url":"http://a","headers":"x-token: hush"}"#,
            r#"{"url":"http://a","headers":"\", expected hush"}"#,
            r#"{"command":"true","env":"A=hush"}"#,
            r#"{"url":"http://a","max_attempts":"hush"}"#,
        ] {
            let problem = refused(text);
            assert!(problem.detail.contains("a string, expected "), "{}", problem.detail);
            assert!(!format!("{problem:?}").contains("hush"), "{problem:?}");
        }
    }

    #[test]
    fn the_distance_counts_letters() {
        for (left, right, expected) in [("url", "url", 0), ("urll", "url", 1), ("", "abc", 3), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }
}
