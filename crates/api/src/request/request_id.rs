//! The name of one request: given by the client or made here, answered, logged, and the `instance` of a problem.

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

const MAX_LENGTH: usize = 128;

#[derive(Clone)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    /// The one the client gave, if it is at most 128 visible characters; otherwise a fresh one. It ends up in logs, so what
    /// could break a line is not taken.
    pub fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(HEADER).filter(|value| {
            (1..=MAX_LENGTH).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic)
        });
        Self(given.cloned().unwrap_or_else(fresh))
    }

    pub fn as_str(&self) -> &str {
        self.0.to_str().expect("checked or made of visible ASCII")
    }

    pub fn into_header(self) -> HeaderValue {
        self.0
    }
}

fn fresh() -> HeaderValue {
    let mut buffer = Uuid::encode_buffer();
    let text = Uuid::now_v7().simple().encode_lower(&mut buffer);
    HeaderValue::from_str(text).expect("hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(given: &[u8]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(given).expect("a header value"));
        RequestId::of(&headers).as_str().to_owned()
    }

    #[test]
    fn a_decent_id_is_taken_and_any_other_replaced() {
        assert_eq!(id_for(b"build-42/step:7"), "build-42/step:7");
        assert_eq!(id_for(&[b'a'; 128]).len(), 128);
        for given in [b"".as_slice(), b"two words", b"tab\there", "ü".as_bytes(), &[b'a'; 129]] {
            assert_eq!(id_for(given).len(), 32, "{given:?}");
        }
        assert_ne!(RequestId::of(&HeaderMap::new()).as_str(), RequestId::of(&HeaderMap::new()).as_str());
    }
}
