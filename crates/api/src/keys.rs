//! Who may come in: until there are tenants, whoever shows the one key.
//!
//! Only a digest of it is kept, and digests are compared in a time that does not depend on where they differ: how long a
//! refusal takes tells nothing about the key.

use std::fmt;
use std::hint::black_box;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

use crate::problem::{Kind, Problem};

/// What must be shown to reach `/api`.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Nothing: only who can reach the loopback of this machine gets here.
    None,
    Admin(AdminKey),
}

/// The key that opens everything.
#[derive(Clone)]
pub struct AdminKey {
    digest: [u8; 32],
}

impl AdminKey {
    pub fn new(key: &str) -> Self {
        Self { digest: digest(key.as_bytes()) }
    }

    fn is(&self, shown: &[u8]) -> bool {
        let shown = digest(shown);
        let differing =
            self.digest.iter().zip(&shown).fold(0, |seen, (ours, theirs)| black_box(seen | (ours ^ theirs)));
        differing == 0
    }
}

impl fmt::Debug for AdminKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminKey(hidden)")
    }
}

fn digest(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl Keys {
    /// Whether a request for `path` may go on.
    pub(crate) fn admit(&self, path: &str, headers: &HeaderMap) -> Result<(), Problem> {
        match self {
            Keys::None => Ok(()),
            Keys::Admin(_) if !is_behind_the_key(path) => Ok(()),
            Keys::Admin(key) => match bearer(headers) {
                Some(shown) if key.is(shown) => Ok(()),
                Some(_) => {
                    Err(Problem::new(Kind::Unauthorized, "the key in `Authorization` is not one of this server's"))
                }
                None => Err(Problem::new(
                    Kind::Unauthorized,
                    "this server asks for a key; send it as `Authorization: Bearer …`",
                )),
            },
        }
    }
}

/// All of `/api`, whether or not something is served there. Its document tells nothing of this server, and the page that
/// shows it has no key.
fn is_behind_the_key(path: &str) -> bool {
    (path == "/api" || path.starts_with("/api/")) && path != "/api/openapi.json"
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const KEY: &str = "a-key-that-is-long-enough";

    fn shows(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).expect("a header"))])
    }

    #[test]
    fn only_the_key_itself_opens_the_api() {
        let keys = Keys::Admin(AdminKey::new(KEY));
        let admits = |headers: HeaderMap| keys.admit("/api/v1/jobs", &headers).is_ok();
        for right in [format!("Bearer {KEY}"), format!("bearer {KEY}"), format!("BEARER  {KEY} ")] {
            assert!(admits(shows(&right)), "{right:?}");
        }
        for wrong in [
            KEY.to_owned(),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
            format!("Basic {KEY}"),
            format!("Bearer {KEY}x"),
            format!("Bearer {}", &KEY[..KEY.len() - 1]),
            format!("Bearer {}", KEY.to_uppercase()),
        ] {
            assert!(!admits(shows(&wrong)), "{wrong:?}");
        }
        assert!(!admits(HeaderMap::new()));
    }

    #[test]
    fn all_of_the_api_is_behind_the_key_and_nothing_else() {
        for path in ["/api", "/api/", "/api/v1/jobs", "/api/v1/nothing", "/api/openapi.json/x"] {
            assert!(is_behind_the_key(path), "{path}");
        }
        for path in
            ["/", "/healthz", "/readyz", "/metrics", "/docs", "/errors/internal", "/api/openapi.json", "/apiary"]
        {
            assert!(!is_behind_the_key(path), "{path}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        assert!(!format!("{:?}", Keys::Admin(AdminKey::new(KEY))).contains(KEY));
    }
}
