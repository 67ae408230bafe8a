//! The cookie that a browser keeps a session in.
//!
//! `HttpOnly`, so that no script reads it; `SameSite=Strict`, so that no other site's page sends it. Where the browser speaks
//! https it is also `Secure` and has the prefix `__Host-`, which nobody but this very host can set.

use foreman_core::ports::PassKind;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::gate::passes::{PassText, keep};

const PLAIN: &str = "foreman_session";
const SECURE: &str = "__Host-foreman_session";

/// Whether the browser speaks https, as the proxy in front says.
///
/// Anybody may say so; who does so wrongly gets a cookie that their own browser does not send.
pub(super) fn is_secure(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(proto) = text("x-forwarded-proto") {
        // The first is the one that the browser met.
        return proto.split(',').next().is_some_and(|first| first.trim().eq_ignore_ascii_case("https"));
    }
    let first = text("forwarded").and_then(|forwarded| forwarded.split(',').next());
    first.is_some_and(|first| {
        let parts = first.split(';').filter_map(|part| part.trim().split_once('='));
        parts
            .filter(|(name, _)| name.eq_ignore_ascii_case("proto"))
            .any(|(_, value)| value.trim_matches('"').eq_ignore_ascii_case("https"))
    })
}

/// The session that a request shows. One that shows two shows none: somebody else may have set the other.
pub(crate) fn shown(headers: &HeaderMap) -> Option<PassText> {
    let name = name(is_secure(headers));
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut found = cookies
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(given, _)| *given == name)
        .map(|(_, value)| value);
    let value = found.next()?;
    if found.next().is_some() { None } else { PassText::read(PassKind::Session, value) }
}

/// Keeps it.
pub(super) fn set(text: &PassText, headers: &HeaderMap) -> HeaderValue {
    written(text.reveal(), keep(text.kind()).as_secs(), is_secure(headers))
}

/// Forgets it.
pub(super) fn cleared(headers: &HeaderMap) -> HeaderValue {
    written("", 0, is_secure(headers))
}

fn written(value: &str, secs: u64, is_secure: bool) -> HeaderValue {
    let (name, secure) = (name(is_secure), if is_secure { "; Secure" } else { "" });
    let text = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={secs}{secure}");
    let mut value = HeaderValue::from_str(&text).expect("letters, digits and what stands above");
    value.set_sensitive(true);
    value
}

const fn name(is_secure: bool) -> &'static str {
    if is_secure { SECURE } else { PLAIN }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn https_is_what_the_first_proxy_met() {
        for (pairs, expected) in [
            (&[][..], false),
            (&[("x-forwarded-proto", "https")], true),
            (&[("x-forwarded-proto", "HTTPS, http")], true),
            (&[("x-forwarded-proto", "http, https")], false),
            (&[("forwarded", "for=1.2.3.4;proto=https;host=a, proto=http")], true),
            (&[("forwarded", "for=1.2.3.4; Proto=\"https\"")], true),
            (&[("forwarded", "for=1.2.3.4")], false),
            (&[("x-forwarded-proto", "http"), ("forwarded", "proto=https")], false),
        ] {
            assert_eq!(is_secure(&headers(pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_cookie_that_was_set_is_shown_again() {
        let text = PassText::fresh(PassKind::Session);
        for is_https in [false, true] {
            let proto = ("x-forwarded-proto", if is_https { "https" } else { "http" });
            let set = set(&text, &headers(&[proto]));
            let set = set.to_str().expect("text");
            assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"), "{set}");
            assert_eq!((set.contains("; Secure"), set.starts_with("__Host-")), (is_https, is_https), "{set}");
            let pair = set.split(';').next().expect("a pair");
            let sent = format!("theme=dark; {pair}; x=y=z");
            let found = shown(&headers(&[proto, ("cookie", &sent)])).expect("shown");
            assert_eq!(found.hash(), text.hash());
            // A page of another scheme, or of another name, is another's.
            let other = ("x-forwarded-proto", if is_https { "http" } else { "https" });
            assert!(shown(&headers(&[other, ("cookie", &sent)])).is_none());
            let twice = format!("{pair}; {pair}");
            assert!(shown(&headers(&[proto, ("cookie", &twice)])).is_none(), "two are none");
            let cleared = cleared(&headers(&[proto]));
            let cleared = cleared.to_str().expect("text");
            assert!(cleared.contains("_session=;") && cleared.contains("Max-Age=0"), "{cleared}");
        }
        for strange in ["", "foreman_session", "foreman_session=", "foreman_session=nonsense", "=;=;"] {
            assert!(shown(&headers(&[("cookie", strange)])).is_none(), "{strange}");
        }
    }
}
