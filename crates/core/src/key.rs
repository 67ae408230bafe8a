//! API keys: `fm_<id>_<secret>`, shown once, kept as a hash.
//!
//! The id is public: it finds the key's record and stands in logs. The secret has 256 random bits, so a plain SHA-256 is
//! enough to keep, and asking costs no more than that. Its last letters are a checksum over the whole key: one that was
//! mistyped or cut short is told from one that nobody knows, without asking the store. The checksum guards nothing.

mod record;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rand::RngExt as _;
use rand::distr::Alphanumeric;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

use crate::sealed::DerivedKey;
use crate::secret::Secret;

pub use foreman_protocol::scope::{NotAScope, Scope, Scopes};
pub use record::{KeyRecord, KeyRefused, admit};

const PREFIX: &str = "fm_";
const ID_LETTERS: usize = 12;
/// 62^43 > 2^256.
const SECRET_LETTERS: usize = 43;
const CHECK_LETTERS: usize = 6;
/// No letter that can be read as another, and one case only: ids are read out and typed.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What a key is called: in lists, in logs, in the audit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct KeyId(Arc<str>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a key id: it has 12 letters and digits, the part of the key between the underscores")]
pub struct NotAKeyId;

impl KeyId {
    pub fn fresh() -> Self {
        let mut rng = rand::rng();
        let letters: String =
            (0..ID_LETTERS).map(|_| char::from(ID_ALPHABET[rng.random_range(0..ID_ALPHABET.len())])).collect();
        Self(letters.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads back what a store kept, without judging it again.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }
}

impl FromStr for KeyId {
    type Err = NotAKeyId;

    fn from_str(text: &str) -> Result<Self, NotAKeyId> {
        let fits = text.len() == ID_LETTERS && text.bytes().all(|byte| ID_ALPHABET.contains(&byte));
        if fits { Ok(Self(text.into())) } else { Err(NotAKeyId) }
    }
}

impl<'de> Deserialize<'de> for KeyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A whole key, as its holder shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    id: KeyId,
    text: Secret,
}

/// Why some text is not a key. The text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAKey {
    #[error("the key does not begin with fm_")]
    Prefix,
    #[error("the key is incomplete: it has the form fm_<12 characters>_<49 characters>, letters and digits only")]
    Form,
    #[error("the key is mistyped: its checksum does not match")]
    Checksum,
}

impl ApiKey {
    /// A key that nobody has seen before. This is the one moment in which it can be shown.
    pub fn fresh() -> Self {
        let id = KeyId::fresh();
        let secret: String = rand::rng().sample_iter(Alphanumeric).take(SECRET_LETTERS).map(char::from).collect();
        let bare = format!("{PREFIX}{id}_{secret}");
        let text = Secret::new(format!("{bare}{}", checksum(&bare)));
        Self { id, text }
    }

    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// All of it, for its owner.
    pub fn text(&self) -> &Secret {
        &self.text
    }

    pub fn hash(&self) -> KeyHash {
        KeyHash::of(self.text.reveal().as_bytes())
    }
}

impl FromStr for ApiKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let rest = text.strip_prefix(PREFIX).ok_or(NotAKey::Prefix)?;
        let (id, secret) = rest.split_once('_').ok_or(NotAKey::Form)?;
        let id: KeyId = id.parse().map_err(|_| NotAKey::Form)?;
        let fits =
            secret.len() == SECRET_LETTERS + CHECK_LETTERS && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !fits {
            return Err(NotAKey::Form);
        }
        // Only ASCII so far, so that it can be cut anywhere.
        let (bare, check) = text.split_at(text.len() - CHECK_LETTERS);
        if checksum(bare) != check {
            return Err(NotAKey::Checksum);
        }
        Ok(Self { id, text: Secret::new(text) })
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_***", self.id)
    }
}

/// The first 32 bits of its SHA-256, in six letters: what a typing mistake survives once in four thousand million times.
fn checksum(bare: &str) -> String {
    let hash: [u8; 32] = Sha256::digest(bare).into();
    let mut rest = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) as usize;
    let mut letters = [b'0'; CHECK_LETTERS];
    for letter in letters.iter_mut().rev() {
        *letter = BASE62[rest % BASE62.len()];
        rest /= BASE62.len();
    }
    letters.into_iter().map(char::from).collect()
}

/// What is kept of a key. Compared in constant time, and of no use to who reads it.
#[derive(Clone, Copy)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Of anything long and random: the key that the configuration names is kept the same way.
    pub fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// This under a secret, without which nobody can try out what it might be of.
    #[must_use]
    pub fn under(&self, secret: &[u8]) -> Self {
        Self(DerivedKey::of(secret, "key hash").mac(&self.0))
    }

    /// Reads back what a store kept.
    pub fn from_stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for KeyHash {}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fresh_key_is_read_back_as_itself() {
        let mut seen = HashSet::new();
        for _ in 0..1_000 {
            let key = ApiKey::fresh();
            let text = key.text().reveal();
            let read: ApiKey = text.parse().expect("a key");
            assert_eq!((read.id(), read.hash()), (key.id(), key.hash()));
            assert!(text.starts_with(&format!("fm_{}_", key.id())) && text.len() == 3 + 12 + 1 + 49, "{text}");
            assert!(seen.insert(key.id().clone()), "never twice the same");
        }
    }

    #[test]
    fn a_known_key_stays_readable() {
        // Keys live longer than versions: this one has the form of the first.
        let known = "fm_0123456789ab_AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEE2b4n1Q";
        assert_eq!(known.parse::<ApiKey>().map(|key| key.id), Ok(KeyId::from_stored("0123456789ab")));
    }

    #[test]
    fn what_is_not_a_key_says_why_and_is_not_repeated() {
        let key = ApiKey::fresh();
        let text = key.text().reveal();
        let (form, prefix) = (NotAKey::Form, NotAKey::Prefix);
        for (wrong, why) in [
            (String::new(), prefix),
            ("sesame".into(), prefix),
            (text.to_uppercase(), prefix),
            (format!(" {text}"), prefix),
            ("fm_".into(), form),
            ("fm__".into(), form),
            (text.replacen('_', "-", 2), prefix),
            (text[..text.len() - 1].into(), form),
            (format!("{text}a"), form),
            (format!("{text} "), form),
            (format!("fm_{}_{}", key.id(), "ä".repeat(24) + "a"), form),
            (format!("fm_{}U_{}", &key.id().as_str()[1..], &text[16..]), form),
        ] {
            let refused = wrong.parse::<ApiKey>().expect_err("not a key");
            assert_eq!(refused, why, "{wrong:?}");
            assert!(!refused.to_string().contains("sesame"));
        }
    }

    #[test]
    fn neither_a_key_nor_its_hash_is_shown() {
        let key = ApiKey::fresh();
        let secret = &key.text().reveal()[16..];
        let shown = format!("{key:?} {:?} {} {:?}", key.text(), key.text(), key.hash());
        assert!(shown.contains(key.id().as_str()) && !shown.contains(secret), "{shown}");
    }

    #[test]
    fn a_hash_is_of_the_whole_key() {
        // `printf %s KEY | sha256sum` says the same.
        let hash = KeyHash::of(b"abc");
        assert_eq!(hash.as_bytes()[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(KeyHash::from_stored(*hash.as_bytes()), hash);
        assert_ne!(KeyHash::of(b"abd"), hash);
    }

    proptest! {
        #[test]
        fn a_typing_mistake_is_told_from_an_unknown_key(at: prop::sample::Index, to in "[0-9a-zA-Z]") {
            let key = ApiKey::fresh();
            let text = key.text().reveal();
            let at = 16 + at.index(text.len() - 16);
            let mut wrong = text.to_owned();
            wrong.replace_range(at..=at, &to);
            prop_assume!(wrong != text);
            prop_assert_eq!(wrong.parse::<ApiKey>(), Err(NotAKey::Checksum));
        }

        #[test]
        fn two_letters_in_the_wrong_order_are_a_typing_mistake(at: prop::sample::Index) {
            let key = ApiKey::fresh();
            let mut bytes = key.text().reveal().as_bytes().to_vec();
            let at = 16 + at.index(bytes.len() - 17);
            prop_assume!(bytes[at] != bytes[at + 1]);
            bytes.swap(at, at + 1);
            let wrong = String::from_utf8(bytes).expect("ASCII");
            prop_assert_eq!(wrong.parse::<ApiKey>(), Err(NotAKey::Checksum));
        }

        #[test]
        fn no_text_makes_the_reader_fall_over(text in "\\PC{0,80}", tail in "fm_[0-9a-z_]{0,70}") {
            prop_assert!(text.parse::<ApiKey>().is_err());
            prop_assert!(tail.parse::<ApiKey>().is_err());
        }
    }
}
