//! Text that must not be seen: not in a log, not in an error, not in a panic.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Text that shows itself only to who asks by name, and leaves nothing behind in memory when it goes.
///
/// It cannot be serialised: what is kept is [`Sealed`](crate::sealed::Sealed), and what is answered once is revealed by
/// whoever answers.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How long it takes tells at most that the lengths differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_only_when_asked_by_name() {
        #[derive(Debug)]
        #[expect(dead_code, reason = "it is there to be printed")]
        struct Around {
            inner: Option<Secret>,
        }
        let secret = Secret::new("open sesame");
        let shown = format!("{secret} {secret:?} {secret:#?} {:?}", Around { inner: Some(secret.clone()) });
        assert!(!shown.contains("sesame") && shown.contains("***"), "{shown}");
        assert_eq!(secret.reveal(), "open sesame");
    }

    #[test]
    fn secrets_are_equal_by_their_text() {
        let secret = Secret::new("open sesame");
        assert_eq!(secret, Secret::new("open sesame"));
        for other in ["", "open sesam", "open sesame!", "open Sesame"] {
            assert_ne!(secret, Secret::new(other), "{other}");
        }
    }
}
