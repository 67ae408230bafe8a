//! `ETag`, `If-Match` and `If-None-Match`: which version a request is about.
//!
//! A tag is a version in quotes, `"3"`. That of a schedule has a part of the schedule's id behind it
//! (`schedules/tag.rs`).

use std::fmt;

use axum::response::Response;
use http::header::{CACHE_CONTROL, ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::problem::{Kind, Problem};

/// What a write is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Anything,
    /// `If-Match: *`
    Existing,
    /// `If-Match: "3"`, or with the part of an id.
    Version(i64, Option<u64>),
    /// `If-None-Match: *`
    Nothing,
}

impl Expected {
    pub fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let expected = match one(headers, &IF_MATCH)? {
            None => Self::Anything,
            Some("*") => Self::Existing,
            Some(text) => {
                let (version, of) = version(text).ok_or_else(|| malformed(&IF_MATCH, text))?;
                Self::Version(version, of)
            }
        };
        match (one(headers, &IF_NONE_MATCH)?, expected) {
            (None, expected) => Ok(expected),
            (Some("*"), Self::Anything) => Ok(Self::Nothing),
            (Some(_), Self::Anything) => {
                Err(Problem::invalid_request("the header If-None-Match of a write must be `*`: create only"))
            }
            (Some(_), _) => Err(Problem::invalid_request("use If-Match or If-None-Match, not both")),
        }
    }

    /// The same for a write that needs something to write to.
    pub fn of_existing(headers: &HeaderMap) -> Result<Self, Problem> {
        match Self::of(headers)? {
            Self::Nothing => Err(Problem::invalid_request("the header If-None-Match works with PUT only")),
            expected => Ok(expected),
        }
    }

    pub fn only_if(self) -> Option<i64> {
        match self {
            Self::Version(version, _) => Some(version),
            Self::Anything | Self::Existing | Self::Nothing => None,
        }
    }

    /// By the version alone, whatever is behind it in the tag.
    pub fn by_version(self) -> Self {
        match self {
            Self::Version(version, _) => Self::Version(version, None),
            expected => expected,
        }
    }

    /// Whether a write may change what is at this version. Not for schedules, whose tags have more in them.
    pub fn check(self, what: impl fmt::Display, version: i64) -> Result<(), Problem> {
        let is_meant = match self {
            Self::Anything | Self::Existing => true,
            Self::Version(expected, of) => expected == version && of.is_none(),
            Self::Nothing => false,
        };
        if is_meant {
            return Ok(());
        }
        let detail = format!("{what} is at version {version}; read it again before you change it");
        Err(Problem { version: Some(version), ..Problem::new(Kind::PreconditionFailed, detail) })
    }
}

/// Does the client have this version already?
pub(crate) fn has_it_already(headers: &HeaderMap, tag: &str) -> bool {
    let mut given = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    given.any(|list| {
        // The comparison of a read is the weak one.
        list.split(',').map(|given| given.trim().trim_start_matches("W/")).any(|given| given == "*" || given == tag)
    })
}

pub(crate) fn tagged(mut response: Response, tag: String) -> Response {
    let tag = HeaderValue::try_from(tag).expect("digits in quotes are visible characters");
    response.headers_mut().insert(ETAG, tag);
    // The version is that of what was written. A browser that kept the answer by it would
    // miss that a schedule has fired since.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A version, and the part of an id where there is one.
fn version(text: &str) -> Option<(i64, Option<u64>)> {
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    let (digits, of) = match text.split_once('-') {
        Some((digits, of)) => (digits, Some(of)),
        None => (text, None),
    };
    let version = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let is_part = |of: &&str| of.len() == 16 && of.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let of = of.map(|of| u64::from_str_radix(of, 16).ok().filter(|_| is_part(&of)).ok_or(())).transpose().ok()?;
    Some((version, of))
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
        "the header {name} is {text:?}; use the ETag of a response, a version in quotes, such as \"3\", or *"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_bound_to_the_version_it_expects() {
        for (expected, is_meant) in [
            (Expected::Anything, true),
            (Expected::Existing, true),
            (Expected::Version(3, None), true),
            (Expected::Version(2, None), false),
            (Expected::Version(3, Some(7)), false),
            (Expected::Version(3, Some(7)).by_version(), true),
            (Expected::Nothing, false),
        ] {
            let checked = expected.check("the tenant acme", 3);
            assert_eq!(checked.is_ok(), is_meant, "{expected:?}");
            assert!(checked.is_ok() || checked.is_err_and(|problem| problem.version == Some(3)), "{expected:?}");
        }
    }

    fn headers(given: &[(HeaderName, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_condition_is_a_version_in_quotes_or_a_star() {
        for (given, expected) in [
            (vec![], Expected::Anything),
            (vec![(IF_MATCH, "\"3\"")], Expected::Version(3, None)),
            (vec![(IF_MATCH, "\"3-9fbfe8da7817a116\"")], Expected::Version(3, Some(0x9fbf_e8da_7817_a116))),
            (vec![(IF_MATCH, " * ")], Expected::Existing),
            (vec![(IF_NONE_MATCH, "*")], Expected::Nothing),
        ] {
            assert_eq!(Expected::of(&headers(&given)).expect("valid"), expected);
        }
        for wrong in [
            "3",
            "\"\"",
            "\"a\"",
            "\"+3\"",
            "\"-3\"",
            "W/\"3\"",
            "\"3\", \"4\"",
            "",
            "\"99999999999999999999\"",
            "\"3-\"",
            "\"3-9fbf\"",
            "\"3-+fbfe8da7817a116\"",
            "\"3-9FBFE8DA7817A116\"",
            "\"-9fbfe8da7817a116\"",
        ] {
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
            [("\"3-f\"", true), ("W/\"3-f\"", true), ("\"2\", \"3-f\"", true), ("*", true), ("\"3\"", false)]
        {
            assert_eq!(has_it_already(&headers(&[(IF_NONE_MATCH, given)]), "\"3-f\""), expected, "{given}");
        }
    }
}
