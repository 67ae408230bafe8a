//! Which keys this server asks for, and the one a request shows.

use foreman_core::key::KeyHash;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::problem::{Kind, Problem};

/// What must be shown to reach `/api`.
#[derive(Clone, Debug)]
pub enum KeyPolicy {
    /// Nothing: only who can reach the loopback of this machine gets here. A key of the store that is shown all the same
    /// is taken at its word, so that tenants can be tried out.
    None,
    /// A key of the store, or the one of the configuration (`FOREMAN_ADMIN_KEY`), which always opens: whatever happens to
    /// tenants and keys, its holder is not locked out.
    Asked(KeyHash),
    /// Nothing: the requests are made inside this process, with the database in hand, and never come from a socket
    /// (`foreman … --direct`). The audit log records them as done by `direct`.
    Direct,
}

impl KeyPolicy {
    /// Asks for keys; this is the one of the configuration.
    pub fn asked(admin: &str) -> Self {
        KeyPolicy::Asked(KeyHash::of(admin.as_bytes()))
    }
}

/// The key of a request. One that shows two is up to something: whoever stands between might judge by the other.
pub(crate) fn shown(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(Problem::new(Kind::Unauthorized, "the header Authorization is given more than once"));
    }
    let Some((scheme, key)) = value.as_bytes().split_at_checked(7) else { return Ok(None) };
    Ok(scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii()).filter(|key| !key.is_empty()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const KEY: &str = "a-key-that-is-long-enough";

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (AUTHORIZATION, HeaderValue::from_str(value).expect("a header"))).collect()
    }

    #[test]
    fn a_key_is_shown_as_a_bearer_of_it() {
        for right in [format!("Bearer {KEY}"), format!("bearer {KEY}"), format!("BEARER  {KEY} ")] {
            assert_eq!(shown(&headers(&[&right])).expect("one"), Some(KEY.as_bytes()), "{right:?}");
        }
        for none in ["", "Bearer", "Bearer ", "Bearer   ", KEY, "Basic eDp5", "Bearer\u{a0}x"] {
            let value = HeaderValue::from_bytes(none.as_bytes()).expect("a header");
            let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
            assert_eq!(shown(&headers).expect("none"), None, "{none:?}");
        }
        assert_eq!(shown(&HeaderMap::new()).expect("none"), None);
        let two = shown(&headers(&["Bearer a", "Bearer b"])).expect_err("two");
        assert_eq!(two.kind, Kind::Unauthorized);
    }

    #[test]
    fn a_key_is_never_shown() {
        assert!(!format!("{:?}", KeyPolicy::asked(KEY)).contains(KEY));
    }
}
