//! Which hosts a request may name, and which pages of a browser it may come from.

use std::net::IpAddr;

use axum::extract::Request;
use http::header::{HOST, ORIGIN};

use crate::problem::{Kind, Problem};

/// Which `Host` a request may name.
///
/// A server without keys on loopback is reached by every page in the user's browser once an attacker's name resolves to
/// 127.0.0.1: the page is then of the same origin, and no CORS rule stands in its way. What gives it away is the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPolicy {
    Any,
    /// `localhost` and addresses, which nobody can make resolve to somewhere else.
    Local,
}

/// An address, or a name that browsers themselves keep on this machine. A request without a name came from no browser. Where the
/// address of the request names one too, both must be.
pub(super) fn names_this_machine(request: &Request) -> bool {
    let in_header = request.headers().get(HOST).map(|value| value.to_str().unwrap_or("?"));
    let in_address = request.uri().authority().map(http::uri::Authority::as_str);
    [in_header, in_address].into_iter().flatten().all(|host| match NamedHost::read(host) {
        Some(NamedHost::Address(_)) => true,
        Some(NamedHost::Name(name)) => is_localhost(name),
        None => false,
    })
}

/// A browser lets any page send a POST without a body to any address, and says in `Sec-Fetch-Site` whether the page is
/// of this very server; an older one says in `Origin` whose it was. What the page may only read it never gets to see.
pub(super) fn is_sent_by_a_stranger(request: &Request) -> bool {
    if request.method().is_safe() {
        return false;
    }
    if let Some(site) = request.headers().get("sec-fetch-site") {
        // `none`: a person typed it.
        return !matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let is_strange = |page: &str| {
        let is_here = match NamedHost::read(page) {
            Some(NamedHost::Address(address)) => address.is_loopback(),
            Some(NamedHost::Name(name)) => is_localhost(name),
            None => false,
        };
        !is_here && Some(page) != host(request)
    };
    origin(request).is_some_and(|origin| is_strange(page_host(origin)))
}

/// What a `Host` names, without its port.
#[derive(Debug, PartialEq, Eq)]
enum NamedHost<'h> {
    Address(IpAddr),
    Name(&'h str),
}

impl<'h> NamedHost<'h> {
    /// Only what is written as it must be: an address of IPv6 in brackets, a name of letters, digits, hyphens and dots, a port of
    /// digits.
    fn read(host: &'h str) -> Option<Self> {
        let (named, rest) = if let Some(inner) = host.strip_prefix('[') {
            let (address, rest) = inner.split_once(']')?;
            (NamedHost::Address(IpAddr::V6(address.parse().ok()?)), rest)
        } else {
            let (name, rest) = host.split_at(host.find(':').unwrap_or(host.len()));
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
            if name.is_empty() || !name.bytes().all(is_letter) {
                return None;
            }
            (name.parse().map_or(NamedHost::Name(name), |address| NamedHost::Address(IpAddr::V4(address))), rest)
        };
        let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok();
        (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)).then_some(named)
    }
}

fn is_localhost(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

fn origin(request: &Request) -> Option<&str> {
    request.headers().get(ORIGIN).map(|value| value.to_str().unwrap_or("?"))
}

/// Without its scheme; a page that hides where it came from says `null`, which is no name of this machine.
fn page_host(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

/// The name the server was asked by.
pub(crate) fn host(request: &Request) -> Option<&str> {
    let in_header = request.headers().get(HOST).map(|value| value.to_str().unwrap_or("?"));
    in_header.or_else(|| request.uri().authority().map(http::uri::Authority::as_str))
}

pub(super) fn host_refused(request: &Request) -> Problem {
    let detail = if names_this_machine(request) {
        let page = origin(request).unwrap_or("another site");
        format!(
            "this server listens on loopback only and rejects requests from pages of {page:?}; use a page served \
                 from this machine"
        )
    } else {
        let name = host(request).unwrap_or_default();
        format!(
            "this server listens on loopback only and does not answer for the host {name:?}; use localhost or an \
                 IP address"
        )
    };
    Problem::new(Kind::HostRefused, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_cannot_be_pointed_elsewhere_are_this_machine() {
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("a.localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("192.168.1.4", true),
            ("evil.example", false),
            ("evil.example:8080", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
            ("[::1].evil.example", false),
            ("[::1]evil.example:80", false),
            ("[::1", false),
            ("::1", false),
            ("[127.0.0.1]", false),
            ("localhost:evil.example", false),
            ("localhost:", false),
            ("localhost:+80", false),
            ("localhost:65536", false),
            ("localhost:80:80", false),
            ("localhost/", false),
            ("evil.example@localhost", false),
            ("localhost evil.example", false),
        ] {
            let request = Request::builder().header(HOST, host).body(axum::body::Body::empty()).expect("a request");
            assert_eq!(names_this_machine(&request), expected, "{host}");
        }
    }

    #[test]
    fn a_browser_says_whether_the_page_is_of_this_server() {
        let sent = |method: &str, headers: &[(&str, &str)]| {
            let mut request = Request::builder().method(method).header(HOST, "localhost:8080");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            is_sent_by_a_stranger(&request.body(axum::body::Body::empty()).expect("a request"))
        };
        for (headers, expected) in [
            (&[][..], false),
            (&[("sec-fetch-site", "same-origin")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "cross-site")], true),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "same-site"), ("origin", "http://localhost:3000")], true),
            (&[("origin", "http://localhost:3000")], false),
            (&[("origin", "http://[::1].evil.example")], true),
            (&[("origin", "null")], true),
        ] {
            assert_eq!(sent("POST", headers), expected, "{headers:?}");
            assert!(!sent("GET", headers), "{headers:?}");
        }
    }
}
