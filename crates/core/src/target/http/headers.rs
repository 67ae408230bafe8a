//! Which headers a client may send along: none that change how the request is framed or routed, and none of ours.

use std::collections::{BTreeMap, BTreeSet};

use crate::spec::Mistakes;

const MAX_HEADERS: usize = 32;
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 4 * 1024;
const MAX_TOTAL: usize = 8 * 1024;

/// Lower case. Those that end in `-` stand for every header that starts so. The last four name the caller or the path to a server
/// behind a proxy, which believes its proxy alone.
const RESERVED: [&str; 22] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "proxy-",
    "forwarded",
    "x-forwarded-",
    "cookie",
    "via",
    "foreman-",
    "webhook-",
    "idempotency-key",
    "traceparent",
    "x-real-ip",
    "x-client-ip",
    "x-original-",
    "x-rewrite-url",
];

/// Header names are kept in lower case, so that two spellings of one header cannot both be sent.
pub(super) fn judge(headers: BTreeMap<String, String>, mistakes: &mut Mistakes) -> BTreeMap<String, String> {
    if headers.len() > MAX_HEADERS {
        mistakes.add("/headers", format!("has {} entries, more than the {MAX_HEADERS} allowed", headers.len()));
        return BTreeMap::new();
    }
    let total: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if total > MAX_TOTAL {
        mistakes.add("/headers", format!("has {total} bytes, more than the {MAX_TOTAL} allowed"));
        return BTreeMap::new();
    }
    let (mut kept, mut read) = (BTreeMap::new(), BTreeSet::new());
    for (name, value) in headers {
        let pointer = format!("/headers/{name}");
        let lower = name.to_ascii_lowercase();
        if name.len() > MAX_NAME || http::HeaderName::try_from(name.as_str()).is_err() {
            mistakes.add(pointer, "is not a header name");
        } else if is_reserved(&as_read(&lower)) {
            mistakes.add(pointer, "is set by Foreman or by proxies and cannot be given");
        } else if value.len() > MAX_VALUE || !value.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t') {
            mistakes.add(pointer, format!("must be at most {MAX_VALUE} visible ASCII characters"));
        } else if !read.insert(as_read(&lower)) {
            mistakes.add(pointer, "is given twice in different spellings");
        } else {
            kept.insert(lower, value);
        }
    }
    kept
}

/// As a target may read it: to CGI, WSGI and PHP `X_Thing` and `X-Thing` are one variable.
fn as_read(lower: &str) -> String {
    lower.replace('_', "-")
}

fn is_reserved(lower: &str) -> bool {
    RESERVED.iter().any(|reserved| lower == *reserved || (reserved.ends_with('-') && lower.starts_with(reserved)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(names: &[&str]) -> Vec<String> {
        let mut mistakes = Mistakes::default();
        judge(names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect(), &mut mistakes);
        mistakes.into_invalid().mistakes.into_iter().map(|mistake| mistake.pointer).collect()
    }

    #[test]
    fn an_underscore_is_read_as_a_hyphen() {
        for name in [
            "Content_Length",
            "Transfer_Encoding",
            "Foreman_Job_Id",
            "X_Forwarded_For",
            "x_forwarded-host",
            "Idempotency_Key",
            "Webhook_Signature",
            "X-Real-IP",
            "X_Real_IP",
            "X-Original-URL",
            "X_Original_Host",
            "X-Rewrite-URL",
            "Forwarded",
        ] {
            assert_eq!(refused(&[name]), [format!("/headers/{name}")]);
        }
        assert_eq!(refused(&["X_Thing", "Real-IP", "X-Originals", "X_"]), [""; 0]);
    }

    #[test]
    fn one_header_is_not_given_twice_in_two_spellings() {
        assert_eq!(refused(&["X-Thing", "X_Thing"]), ["/headers/X_Thing"]);
        assert_eq!(refused(&["X-Thing", "x-thing"]), ["/headers/x-thing"]);
    }
}
