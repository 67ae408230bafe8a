//! Whose page sends a request.
//!
//! A browser sends a cookie along whichever page made the request; only the browser itself says which page that was, in
//! `Sec-Fetch-Site`, and where it does not (an older one, or no https) in `Origin`. A page can forge neither.

use http::HeaderMap;
use http::header::ORIGIN;

use super::cookie::is_secure;

/// Surely from a page of this server: what a request that changes something has to be. One that says nothing is not: a program
/// sends its key.
pub(crate) fn is_of_this_page(headers: &HeaderMap, host: Option<&str>) -> bool {
    match text(headers, "sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => text(headers, ORIGIN.as_str()).is_some_and(|origin| is_here(origin, headers, host)),
    }
}

/// Surely from somebody else's page.
pub(crate) fn is_of_a_stranger(headers: &HeaderMap, host: Option<&str>) -> bool {
    match text(headers, "sec-fetch-site") {
        // `none`: a person typed it.
        Some(site) => !matches!(site, "same-origin" | "none"),
        None => text(headers, ORIGIN.as_str()).is_some_and(|origin| !is_here(origin, headers, host)),
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// The scheme and the host that the browser asked for; a proxy may have changed the latter, and then says so.
fn is_here(origin: &str, headers: &HeaderMap, host: Option<&str>) -> bool {
    let Some((scheme, page)) = origin.split_once("://") else { return false };
    let expected = if is_secure(headers) { "https" } else { "http" };
    let forwarded = text(headers, "x-forwarded-host").and_then(|hosts| hosts.split(',').next()).map(str::trim);
    let port = if expected == "https" { ":443" } else { ":80" };
    let plain = |host: &str| host.strip_suffix(port).unwrap_or(host).to_ascii_lowercase();
    scheme == expected && [host, forwarded].into_iter().flatten().any(|host| plain(host) == plain(page))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_page_is_known_by_what_the_browser_says_of_it() {
        // Headers, whether it surely is ours, whether it surely is not.
        for (pairs, is_ours, is_strange) in [
            (&[][..], false, false),
            (&[("sec-fetch-site", "same-origin")], true, false),
            (&[("sec-fetch-site", "same-site")], false, true),
            (&[("sec-fetch-site", "cross-site")], false, true),
            (&[("sec-fetch-site", "none")], false, false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "http://foreman.lan:8080")], false, true),
            (&[("origin", "http://foreman.lan:8080")], true, false),
            (&[("origin", "http://FOREMAN.lan:8080")], true, false),
            (&[("origin", "https://foreman.lan:8080")], false, true),
            (&[("origin", "http://foreman.lan")], false, true),
            (&[("origin", "http://evil.example")], false, true),
            (&[("origin", "http://foreman.lan:8080.evil.example")], false, true),
            (&[("origin", "null")], false, true),
            (&[("origin", "")], false, true),
            (&[("origin", "https://foreman.lan:8080"), ("x-forwarded-proto", "https")], true, false),
            (
                &[
                    ("origin", "https://ui.example"),
                    ("x-forwarded-proto", "https"),
                    ("x-forwarded-host", "ui.example:443"),
                ],
                true,
                false,
            ),
            (
                &[
                    ("origin", "https://evil.example"),
                    ("x-forwarded-proto", "https"),
                    ("x-forwarded-host", "ui.example"),
                ],
                false,
                true,
            ),
        ] {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let headers: HeaderMap = pairs.iter().map(pair).collect();
            let host = Some("foreman.lan:8080");
            assert_eq!(
                (is_of_this_page(&headers, host), is_of_a_stranger(&headers, host)),
                (is_ours, is_strange),
                "{pairs:?}"
            );
        }
    }
}
