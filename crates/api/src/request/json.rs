//! JSON in, with errors that say where, and JSON out.
//!
//! What fits is read in one pass. Only what does not is read again, field by field, to tell everything that is wrong
//! with it in the words of whoever wrote it: up to [`MOST_MISTAKES`], so that a body of nothing but mistakes costs no
//! more than another.

mod words;

use std::borrow::Cow;
use std::fmt;

use axum::body::Body;
use axum::response::Response;
use foreman_core::spec::{Invalid, Mistake};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::problem::{Kind, MOST_MISTAKES, Problem};
use crate::request::buffers::{SMALL, Short};
pub(crate) use words::in_words;

/// So many fields of an object that does not fit are looked at.
const MOST_FIELDS: usize = 1_000;
/// So deep in an object every mistake is looked for.
const DEEPEST: usize = 4;

/// Reads the object in `text`; JSON that does not fit is a problem of the kind `misfit`.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8], misfit: Kind) -> Result<T, Problem> {
    read(text, misfit).map_err(Unread::problem)
}

/// The same, of something that may be judged without the fields that do not fit.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8], misfit: Kind) -> Result<T, Unread<T>> {
    let value = serde_json::from_slice(text).map_err(|error| match problem_of(text, &error, misfit) {
        Some(problem) => Unread::Problem(problem),
        None => Unread::Misfit(Misfit::explain(text, &error, misfit)),
    })?;
    // serde also takes an array for a struct, with its fields in the order of their declaration. People do not.
    if is_object(text) { Ok(value) } else { Err(Unread::Problem(not_an_object(misfit))) }
}

/// The same, of something that keeps parts of the text; the first mistake is told.
pub(crate) fn parse_in_place<'a, T: Deserialize<'a>>(text: &'a [u8], misfit: Kind) -> Result<T, Problem> {
    let value = serde_json::from_slice(text).map_err(|error| {
        problem_of(text, &error, misfit).unwrap_or_else(|| {
            let mut misfit = Misfit::<()>::new(misfit);
            let mut deserializer = serde_json::Deserializer::from_slice(text);
            if let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
                misfit.add(&error);
            }
            misfit.problem()
        })
    })?;
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

/// What is wrong with text that is not JSON, or not an object.
#[cold]
fn problem_of(text: &[u8], error: &serde_json::Error, misfit: Kind) -> Option<Problem> {
    // A field that does not fit may come before the place where the text stops being JSON.
    let syntax = match error.classify() {
        Category::Data => serde_json::from_slice::<IgnoredAny>(text).err().map(|error| error.to_string()),
        _ if text.iter().all(u8::is_ascii_whitespace) => {
            Some("the body is empty, but a JSON object is expected (line 1 column 1)".to_owned())
        }
        _ => Some(error.to_string()),
    };
    match syntax {
        Some(detail) => Some(Problem::new(Kind::BadJson, detail)),
        None => (!is_object(text)).then(|| not_an_object(misfit)),
    }
}

/// A response with `value` as its body.
pub(crate) fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    answer_text(status, text(value))
}

/// How many bytes it takes to write it down.
pub(crate) fn size(value: &impl Serialize) -> usize {
    text(value).len()
}

fn text(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("documents are plain data with text keys")
}

fn answer_text(status: StatusCode, text: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response with one field, a list, of which each item is written down as it comes and then let go of: a thousand documents at
/// once take a megabyte, and each is somewhere else.
pub(crate) struct ListAnswer(Vec<u8>);

impl ListAnswer {
    /// `bytes`: how long it will be, about.
    pub fn new(field: &'static str, bytes: usize) -> Self {
        let mut text = Vec::with_capacity(bytes);
        text.extend_from_slice(format!(r#"{{"{field}":["#).as_bytes());
        Self(text)
    }

    pub fn push(&mut self, item: &impl Serialize) {
        if self.0.last() != Some(&b'[') {
            self.0.push(b',');
        }
        serde_json::to_writer(&mut self.0, item).expect("documents are plain data with text keys");
    }

    pub fn answer(mut self, status: StatusCode) -> Response {
        self.0.extend_from_slice(b"]}");
        answer_text(status, self.0)
    }
}

/// The same for something that was changed. Where there is no room for all of it any more, the client gets what `shorten` leaves: a
/// change that was made is never answered with a refusal.
pub(crate) fn answer_change<T: Serialize>(status: StatusCode, value: T, shorten: impl FnOnce(T) -> T) -> Response {
    let whole = text(&value);
    let short = (whole.len() > SMALL).then(|| text(&shorten(value)));
    let mut response = answer_text(status, whole);
    if let Some(short) = short {
        response.extensions_mut().insert(Short(short.into()));
    }
    response
}

/// Why something was not read.
pub(crate) enum Unread<T> {
    Problem(Problem),
    Misfit(Misfit<T>),
}

impl<T> Unread<T> {
    pub fn problem(self) -> Problem {
        match self {
            Unread::Problem(problem) => problem,
            Unread::Misfit(misfit) => misfit.problem(),
        }
    }

    /// Together with what is wrong with the fields that could be read.
    pub fn judged(self, judge: impl FnOnce(T) -> Result<(), Invalid>) -> Problem {
        match self {
            Unread::Problem(problem) => problem,
            Unread::Misfit(misfit) => misfit.judged(judge).problem(),
        }
    }
}

/// JSON whose fields are not those that are expected.
pub(crate) struct Misfit<T> {
    kind: Kind,
    mistakes: Vec<Mistake>,
    /// The first unknown name, and the known ones where it stands.
    unknown: Vec<String>,
    known: Vec<String>,
    /// What is left without the fields that do not fit.
    rest: Option<T>,
}

impl<T> Misfit<T> {
    fn new(kind: Kind) -> Self {
        Self { kind, mistakes: Vec::new(), unknown: Vec::new(), known: Vec::new(), rest: None }
    }

    fn is_full(&self) -> bool {
        self.mistakes.len() >= MOST_MISTAKES
    }

    fn add(&mut self, error: &serde_path_to_error::Error<serde_json::Error>) {
        let (pointer, message) = (pointer(error.path()), without_position(&error.inner().to_string()));
        let Some(unknown) = UnknownField::read(&message) else {
            self.mistakes.push(Mistake { pointer, detail: in_words(&message) });
            return;
        };
        let key = format!("/{}", escaped(unknown.name));
        let parent = pointer.strip_suffix(key.as_str()).unwrap_or(&pointer);
        let near = unknown.nearest();
        if near.is_empty() && self.known.is_empty() {
            self.known = unknown.known.iter().map(|name| (*name).to_owned()).collect();
        }
        self.unknown.push(unknown.name.to_owned());
        self.mistakes.push(Mistake { pointer: format!("{parent}{key}"), detail: format!("is not a field{near}") });
    }

    fn judged(mut self, judge: impl FnOnce(T) -> Result<(), Invalid>) -> Self {
        let Some(Err(invalid)) = self.rest.take().map(judge) else { return self };
        for mistake in invalid.mistakes {
            // That there is nothing to do, say, may be because of what does not fit.
            let is_new = self.mistakes.iter().all(|known| known.pointer != mistake.pointer);
            if is_new && !mistake.pointer.is_empty() {
                self.mistakes.push(mistake);
            }
        }
        self
    }

    fn problem(self) -> Problem {
        let Self { kind, mistakes, unknown, known, .. } = self;
        let there_are =
            if known.is_empty() { String::new() } else { format!("; the fields are: `{}`", known.join("`, `")) };
        let detail = match (mistakes.as_slice(), unknown.as_slice()) {
            ([only], [name]) => {
                format!("there is no field `{name}`{}{there_are}", only.detail.trim_start_matches("is not a field"))
            }
            ([only], _) => only.to_string(),
            (all, names) if all.len() == names.len() => {
                format!("there are no fields `{}`{there_are}", names.join("`, `"))
            }
            (all, _) => format!("there are {} mistakes; `errors` lists them{there_are}", all.len()),
        };
        let kind = if unknown.is_empty() { kind } else { Kind::UnknownField };
        Problem::new(kind, detail).with_errors(mistakes)
    }
}

impl<T: DeserializeOwned> Misfit<T> {
    #[cold]
    fn explain(text: &[u8], error: &serde_json::Error, kind: Kind) -> Self {
        let mut found = Self::new(kind);
        let fields = serde_json::from_slice::<ObjectFields<'_>>(text).map(|fields| fields.0).unwrap_or_default();
        let mut good = Vec::new();
        for (name, value) in &fields {
            if found.is_full() {
                break;
            }
            let before = found.mistakes.len();
            found.probe(&Wrap::default().inside(name), value);
            if found.mistakes.len() == before {
                good.push(format!("{}:{}", quoted(name), value.get()));
            }
        }
        if !found.is_full() {
            let rest = format!("{{{}}}", good.join(","));
            let mut deserializer = serde_json::Deserializer::from_str(&rest);
            match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
                Ok(rest) => found.rest = Some(rest),
                // Something is missing, or given twice. What was given and does not fit is not missing.
                Err(error) => {
                    let said = without_position(&error.inner().to_string());
                    let is_given = |name: &str| fields.iter().any(|(given, _)| given == name);
                    let missing = said.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
                    if !missing.is_some_and(is_given) {
                        found.add(&error);
                    }
                }
            }
        }
        if found.mistakes.is_empty() {
            let detail = in_words(&without_position(&error.to_string()));
            found.mistakes.push(Mistake { pointer: String::new(), detail });
        }
        found
    }

    /// Looks at one field by itself, as if there were no other.
    fn probe(&mut self, wrap: &Wrap, value: &RawValue) {
        let text = wrap.around(value.get());
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else { return };
        let depth = error.path().iter().count();
        let is_about_others = depth < wrap.depth && error.inner().to_string().starts_with("missing field");
        if is_about_others {
            return;
        }
        let before = self.mistakes.len();
        if depth > wrap.depth && wrap.depth < DEEPEST && is_object(value.get().as_bytes()) {
            let fields =
                serde_json::from_str::<ObjectFields<'_>>(value.get()).map(|fields| fields.0).unwrap_or_default();
            for (name, value) in &fields {
                if !self.is_full() {
                    self.probe(&wrap.inside(name), value);
                }
            }
        }
        if self.mistakes.len() == before {
            self.add(&error);
        }
    }
}

/// The objects around a field.
#[derive(Default)]
struct Wrap {
    before: String,
    depth: usize,
}

impl Wrap {
    fn inside(&self, name: &str) -> Self {
        Self { before: format!("{}{{{}:", self.before, quoted(name)), depth: self.depth + 1 }
    }

    fn around(&self, value: &str) -> String {
        format!("{}{value}{}", self.before, "}".repeat(self.depth))
    }
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// The first fields of an object, unread.
struct ObjectFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for ObjectFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keep;
        impl<'de> Visitor<'de> for Keep {
            type Value = ObjectFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectFields<'de>, A::Error> {
                let mut fields = Vec::new();
                while fields.len() < MOST_FIELDS {
                    let Some(field) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? else { break };
                    fields.push(field);
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(ObjectFields(fields))
            }
        }
        deserializer.deserialize_map(Keep)
    }
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
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

    /// The nearest known names, if any is near.
    fn nearest(&self) -> String {
        let mut near: Vec<(usize, &str)> = self
            .known
            .iter()
            .map(|known| (distance(self.name, known), *known))
            .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
            .collect();
        near.sort_unstable();
        let names: Vec<&str> = near.into_iter().take(3).map(|(_, known)| known).collect();
        if names.is_empty() { String::new() } else { format!("; did you mean `{}`?", names.join("` or `")) }
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
    use std::collections::BTreeMap;

    use super::*;
    use foreman_core::spec::{JobSpec, Validate as _};

    fn refused(text: &str) -> Problem {
        parse::<JobSpec>(text.as_bytes(), Kind::InvalidJob).expect_err("refused")
    }

    #[tokio::test]
    async fn a_list_is_written_item_by_item() {
        for items in [vec![], vec![vec![1]], vec![vec![], vec![2, 3]]] {
            let mut list = ListAnswer::new("results", 10);
            for item in &items {
                list.push(item);
            }
            let body = axum::body::to_bytes(list.answer(StatusCode::OK).into_body(), 1_000).await.expect("a body");
            let whole = serde_json::to_vec(&serde_json::json!({ "results": items })).expect("plain data");
            assert_eq!(body, whole);
        }
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
        assert_eq!(refused(r#"{"urll":"http://a","max_attempts":"x""#).kind, Kind::BadJson, "wrong fields or not");
    }

    #[test]
    fn every_unknown_field_is_named_with_the_nearest_known_one() {
        let problem = refused(r#"{"urll":"http://a","prioritty":"high","zzzzzzzz":1}"#);
        assert_eq!(problem.kind, Kind::UnknownField);
        let errors: BTreeMap<_, _> = problem.errors.iter().map(|e| (e.pointer.as_str(), e.detail.as_str())).collect();
        assert!(errors["/urll"].contains("did you mean `url`"), "{errors:?}");
        assert!(errors["/prioritty"].contains("did you mean `priority`"), "{errors:?}");
        assert_eq!(errors["/zzzzzzzz"], "is not a field");
        assert_eq!(problem.detail.matches("the fields are: `url`, `command`").count(), 1, "{}", problem.detail);
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
    fn a_body_of_nothing_but_mistakes_is_answered_by_a_few() {
        let fields: Vec<String> = (0..100_000).map(|n| format!("\"f{n}\":0")).collect();
        let problem = refused(&format!("{{{}}}", fields.join(",")));
        assert_eq!(problem.errors.len(), MOST_MISTAKES);
        let written = serde_json::to_string(&problem.document(None)).expect("plain data");
        assert!(written.len() < 4_000, "{} bytes: {written}", written.len());
        let long = format!(r#"{{"{}":0,"url":7}}"#, "x".repeat(100_000));
        let written = serde_json::to_string(&refused(&long).document(None)).expect("plain data");
        assert!(written.len() < 8_000, "{} bytes", written.len());
    }

    #[test]
    fn a_value_that_does_not_fit_is_pointed_at_in_the_users_words() {
        for (text, pointer, words) in [
            (r#"{"url":"http://a","delay":"soon"}"#, "/delay", "not a duration"),
            (r#"{"url":"http://a","run_at":"tomorrow"}"#, "/run_at", "RFC 3339"),
            (r#"{"url":7}"#, "/url", "must be a string"),
            (r#"{"url":"http://a","tags":["a",7]}"#, "/tags/1", "must be a string"),
            (r#"{"url":"http://a","tags":"a"}"#, "/tags", "must be an array"),
            (r#"{"url":"http://a","headers":[]}"#, "/headers", "must be an object"),
            (r#"{"url":"http://a","max_attempts":"abc"}"#, "/max_attempts", "must be a whole number"),
            (r#"{"url":"http://a","max_attempts":1.5}"#, "/max_attempts", "must be a whole number"),
            (
                r#"{"url":"http://a","max_attempts":-5}"#,
                "/max_attempts",
                "must be a whole number between 0 and 4294967295",
            ),
            (r#"{"url":"http://a","backoff":{"base":"x"}}"#, "/backoff/base", "not a duration"),
            (r#"{"url":"http://a","backoff":{"factor":"x"}}"#, "/backoff/factor", "must be a number"),
            (r#"{"command":7}"#, "/command", "array of strings"),
            (
                r#"{"url":"http://a","priority":"urgent"}"#,
                "/priority",
                "`urgent` is not one of `high`, `normal`, `low`",
            ),
            ("[]", "", "object"),
            (r#"["http://a"]"#, "", "object"),
            ("7", "", "a job is a JSON object"),
            ("null", "", "a job is a JSON object"),
            (r#""http://a""#, "", "a job is a JSON object"),
            (r#"{"url":"http://a","backoff":["1s"]}"#, "/backoff", "must be a JSON object"),
            (r#"{"url":"http://a","backoff":7}"#, "/backoff", "must be a JSON object"),
            (r#"{"command":"true","exit_codes":[[0],[1]]}"#, "/exit_codes", "must be a JSON object"),
            (r#"{"url":"http://a","url":"http://b"}"#, "", "`url` is given twice"),
        ] {
            let problem = refused(text);
            assert_eq!(problem.kind, Kind::InvalidJob, "{text}");
            assert_eq!(problem.errors[0].pointer, pointer, "{text}");
            assert!(problem.detail.contains(words), "{text}: {}", problem.detail);
            for rust in ["u32", "sequence", "a map", "variant", "invalid type", "expected"] {
                assert!(!problem.detail.contains(rust), "{text}: {}", problem.detail);
            }
        }
    }

    #[test]
    fn every_mistake_is_told_at_once_however_deep() {
        let problem = refused(
            r#"{"url":7,"priority":"urgent","max_attempts":"abc","backoff":{"base":"x","factor":"y","oops":1},"tags":"a"}"#,
        );
        let pointers: Vec<&str> = problem.errors.iter().map(|mistake| mistake.pointer.as_str()).collect();
        let all = ["/url", "/priority", "/max_attempts", "/backoff/base", "/backoff/factor", "/backoff/oops", "/tags"];
        assert_eq!(pointers, all);
        assert_eq!(problem.kind, Kind::UnknownField, "the type that it had when only the first was told");
        assert!(problem.detail.contains("7 mistakes"), "{}", problem.detail);
    }

    #[test]
    fn what_is_missing_is_told_with_the_rest() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only read")]
        struct Needs {
            one: u8,
            two: Inner,
        }
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only read")]
        struct Inner {
            three: bool,
        }
        let told = |text: &str| {
            let problem = parse::<Needs>(text.as_bytes(), Kind::InvalidRequest).expect_err("refused");
            problem.errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(told("{}"), ["`one` is missing"]);
        assert_eq!(told(r#"{"one":1,"two":{}}"#), ["/two: `three` is missing"]);
        assert_eq!(told(r#"{"two":{"three":7}}"#)[0], "/two/three: must be `true` or `false`");
        assert_eq!(told(r#"{"one":300,"two":{"three":true}}"#)[0], "/one: must be a whole number between 0 and 255");
    }

    #[test]
    fn the_fields_that_can_be_read_are_judged_too() {
        let text = r#"{"url":"ftp://a","queue":"a b","max_attempts":"abc","delay":"soon"}"#;
        let Err(unread) = read::<JobSpec>(text.as_bytes(), Kind::InvalidJob) else { panic!("refused") };
        let judged = unread.judged(|spec| {
            let now = foreman_core::Timestamp::from_micros(1);
            spec.validate(&foreman_core::TenantId::default(), &foreman_core::limits::Limits::default(), now).map(drop)
        });
        let mut pointers: Vec<&str> = judged.errors.iter().map(|mistake| mistake.pointer.as_str()).collect();
        pointers.sort_unstable();
        assert_eq!(pointers, ["/delay", "/max_attempts", "/queue", "/url"]);
        assert_eq!(judged.kind, Kind::InvalidJob);
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
