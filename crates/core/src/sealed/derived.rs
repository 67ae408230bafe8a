//! Keys for one purpose each, made from a secret that has others.
//!
//! HMAC-SHA256 of the purpose under the secret: who has a derived key learns neither the secret nor its other keys. Every process with
//! the same secret derives the same, and nothing is kept.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

const TAG_BYTES: usize = 8;

/// 32 bytes for one purpose.
#[derive(Clone)]
pub struct DerivedKey(Zeroizing<[u8; 32]>);

impl DerivedKey {
    pub fn of(secret: &[u8], purpose: &str) -> Self {
        Self(Zeroizing::new(hmac(secret, &[b"foreman ", purpose.as_bytes()])))
    }

    pub fn mac(&self, text: &[u8]) -> [u8; 32] {
        hmac(&*self.0, &[text])
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Hides a short text (at most 32 bytes) from who has not the key, who cannot make or change one either: its tag, and the text under
    /// a stream that the tag begins. The same text is hidden the same way each time.
    pub fn hide(&self, text: &str) -> String {
        let mac = self.mac(text.as_bytes());
        let mut hidden = mac[..TAG_BYTES].to_vec();
        hidden.extend(self.stream(&mac[..TAG_BYTES]).iter().zip(text.as_bytes()).map(|(one, other)| one ^ other));
        URL_SAFE_NO_PAD.encode(hidden)
    }

    /// What [`DerivedKey::hide`] was given.
    pub fn show(&self, hidden: &str) -> Option<String> {
        let hidden = URL_SAFE_NO_PAD.decode(hidden).ok()?;
        let (tag, rest) = hidden.split_at_checked(TAG_BYTES)?;
        let text: Vec<u8> = self.stream(tag).iter().zip(rest).map(|(one, other)| one ^ other).collect();
        let is_ours: bool = self.mac(&text)[..TAG_BYTES].ct_eq(tag).into();
        String::from_utf8(text).ok().filter(|text| is_ours && text.len() == rest.len())
    }

    fn stream(&self, tag: &[u8]) -> [u8; 32] {
        hmac(&*self.0, &[b"stream ", tag])
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

impl fmt::Debug for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_two_purposes_have_nothing_in_common() {
        let (one, other) = (DerivedKey::of(b"secret", "a"), DerivedKey::of(b"secret", "b"));
        assert_ne!(one.bytes(), other.bytes());
        assert_eq!(one.bytes(), DerivedKey::of(b"secret", "a").bytes());
        assert_ne!(one.bytes(), DerivedKey::of(b"another", "a").bytes());
        assert_eq!(format!("{one:?}"), "***");
    }

    #[test]
    fn what_is_hidden_is_shown_by_its_key_alone_and_as_it_was() {
        let (ours, other) = (DerivedKey::of(b"secret", "a"), DerivedKey::of(b"another", "a"));
        for text in ["", "1", "1-20ea", "a text as long as a stream is!!!"] {
            let hidden = ours.hide(text);
            assert_eq!(ours.show(&hidden).as_deref(), Some(text));
            assert_eq!(ours.hide(text), hidden);
            assert_eq!(other.show(&hidden), None);
            for place in 0..hidden.len() {
                let letter = if hidden[place..].starts_with('A') { "B" } else { "A" };
                let mut changed = hidden.clone();
                changed.replace_range(place..=place, letter);
                assert_eq!(ours.show(&changed), None, "{text:?} at {place}");
            }
            assert_eq!(ours.show(&format!("{hidden}A")), None);
            assert_eq!(ours.show(&hidden[..hidden.len() - 1]), None);
        }
        for strange in ["", "A", "?", "ü", "AAAAAAAAAAA"] {
            assert_eq!(ours.show(strange), None, "{strange}");
        }
    }
}
