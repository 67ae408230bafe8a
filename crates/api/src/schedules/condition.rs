//! `ETag`, `If-Match` and `If-None-Match`: which version of a schedule a request is about.

use axum::response::Response;
use foreman_core::document::ScheduleDocument;
use foreman_core::ports::ScheduleView;
use http::header::{CACHE_CONTROL, ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::json;
use crate::problem::Problem;

/// What a write is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Anything,
    /// `If-Match: *`
    Existing,
    /// `If-Match: "3"`
    Version(i64),
    /// `If-None-Match: *`
    Nothing,
}

impl Expected {
    pub fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let expected = match one(headers, &IF_MATCH)? {
            None => Self::Anything,
            Some("*") => Self::Existing,
            Some(text) => Self::Version(version(text).ok_or_else(|| malformed(&IF_MATCH, text))?),
        };
        match (one(headers, &IF_NONE_MATCH)?, expected) {
            (None, expected) => Ok(expected),
            (Some("*"), Self::Anything) => Ok(Self::Nothing),
            (Some(_), Self::Anything) => {
                Err(Problem::invalid_request("the header If-None-Match of a write is `*`: only if there is none yet"))
            }
            (Some(_), _) => Err(Problem::invalid_request("If-Match and If-None-Match do not go together")),
        }
    }

    /// The same for a write that needs a schedule to write to.
    pub fn of_existing(headers: &HeaderMap) -> Result<Self, Problem> {
        match Self::of(headers)? {
            Self::Nothing => Err(Problem::invalid_request("the header If-None-Match goes with PUT only")),
            expected => Ok(expected),
        }
    }

    pub fn only_if(self) -> Option<i64> {
        match self {
            Self::Version(version) => Some(version),
            Self::Anything | Self::Existing | Self::Nothing => None,
        }
    }
}

/// Does the client have this version already?
pub(super) fn has_it_already(headers: &HeaderMap, version: i64) -> bool {
    let mut given = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    given.any(|list| {
        // The comparison of a read is the weak one.
        list.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == "*" || tag == etag(version))
    })
}

/// A schedule as the answer, with its version.
pub(super) fn answer(status: StatusCode, view: ScheduleView) -> Response {
    let version = view.seen.version;
    tagged(json::answer(status, &ScheduleDocument::from(view)), version)
}

pub(super) fn tagged(mut response: Response, version: i64) -> Response {
    let tag = HeaderValue::try_from(etag(version)).expect("digits in quotes are visible characters");
    response.headers_mut().insert(ETAG, tag);
    // The version is that of what was written. A browser that kept the answer by it would miss that the schedule has fired since.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn etag(version: i64) -> String {
    format!("\"{version}\"")
}

fn version(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('"')?.strip_suffix('"')?;
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    let mut given = headers.get_all(name).iter();
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(Problem::invalid_request(format!("the header {name} is given more than once")));
    }
    value.to_str().map(|text| Some(text.trim())).map_err(|_| malformed(name, "?"))
}

fn malformed(name: &HeaderName, text: &str) -> Problem {
    Problem::invalid_request(format!(
        "the header {name} is {text:?}; it is a version in quotes, such as \"3\", as the ETag of an answer, or *"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(HeaderName, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_condition_is_a_version_in_quotes_or_a_star() {
        for (given, expected) in [
            (vec![], Expected::Anything),
            (vec![(IF_MATCH, "\"3\"")], Expected::Version(3)),
            (vec![(IF_MATCH, " * ")], Expected::Existing),
            (vec![(IF_NONE_MATCH, "*")], Expected::Nothing),
        ] {
            assert_eq!(Expected::of(&headers(&given)).expect("valid"), expected);
        }
        for wrong in
            ["3", "\"\"", "\"a\"", "\"+3\"", "\"-3\"", "W/\"3\"", "\"3\", \"4\"", "", "\"99999999999999999999\""]
        {
            let problem = Expected::of(&headers(&[(IF_MATCH, wrong)])).expect_err(wrong);
            assert!(problem.detail.contains("version in quotes"), "{}", problem.detail);
        }
        assert!(Expected::of(&headers(&[(IF_NONE_MATCH, "\"3\"")])).is_err());
        assert!(Expected::of(&headers(&[(IF_MATCH, "*"), (IF_NONE_MATCH, "*")])).is_err());
        assert!(Expected::of_existing(&headers(&[(IF_NONE_MATCH, "*")])).is_err());
    }

    #[test]
    fn a_client_that_has_the_version_is_recognised() {
        for (given, expected) in
            [("\"3\"", true), ("W/\"3\"", true), ("\"2\", \"3\"", true), ("*", true), ("\"4\"", false)]
        {
            assert_eq!(has_it_already(&headers(&[(IF_NONE_MATCH, given)]), 3), expected, "{given}");
        }
    }
}
