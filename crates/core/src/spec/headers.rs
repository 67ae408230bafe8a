//! Which headers a client may send along: none that change how the request is framed or routed, and none of ours.

use std::collections::BTreeMap;

use super::fields::Mistakes;

const MAX_HEADERS: usize = 32;
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 4 * 1024;
const MAX_TOTAL: usize = 8 * 1024;

/// Lower case. Those that end in `-` stand for every header that starts so.
const RESERVED: [&str; 18] = [
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
    let mut kept = BTreeMap::new();
    for (name, value) in headers {
        let pointer = format!("/headers/{name}");
        let lower = name.to_ascii_lowercase();
        if name.len() > MAX_NAME || http::HeaderName::try_from(name.as_str()).is_err() {
            mistakes.add(pointer, "is not a header name");
        } else if is_reserved(&lower) {
            mistakes.add(pointer, "is set by Foreman and cannot be given");
        } else if value.len() > MAX_VALUE || !value.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t') {
            mistakes.add(pointer, format!("must be at most {MAX_VALUE} visible ASCII characters"));
        } else if kept.insert(lower, value).is_some() {
            mistakes.add(pointer, "is given twice in different spellings");
        }
    }
    kept
}

fn is_reserved(lower: &str) -> bool {
    RESERVED.iter().any(|reserved| lower == *reserved || (reserved.ends_with('-') && lower.starts_with(reserved)))
}
