//! Secrets at rest: what a store keeps of a webhook's secret or of a target's header.
//!
//! XChaCha20-Poly1305 under a master key that the store never sees (`FOREMAN_SECRET_KEY`), with a nonce of its own for each
//! value. The text is `fmsec1.<key id>.<base64 of nonce and ciphertext>`. It is bound to the tenant and the place it was
//! made for: a value copied into another row does not open there, so whoever can write to the database cannot have one
//! tenant's secret used for another.
//!
//! There may be several master keys: the first seals, all of them open. To change one: put the new one in front, restart
//! every process, [`Keyring::reseal`] what is kept, take the old one away. Two processes in different states of that read
//! each other's values as long as both know both keys. One that dies half way leaves values under either key; the next
//! goes on.

mod derived;
mod master_key;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::XNonce;
use chacha20poly1305::aead::{Aead, Payload};
use rand::Rng as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::TenantId;
use crate::secret::Secret;

pub use derived::DerivedKey;
use master_key::KEY_ID_LETTERS;
pub use master_key::MasterKey;

const FORM: &str = "fmsec1";
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// Where a secret is kept, such as `webhook/0198…/secret`: it opens nowhere else.
#[derive(Clone, Copy, Debug)]
pub struct SealedFor<'a> {
    pub tenant: &'a TenantId,
    pub name: &'a str,
}

/// A secret as it is kept. It tells which key opens it and nothing else.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Sealed(String);

/// What was read as a sealed value has not the form of one: it was never sealed. The text is not repeated, for it may be
/// a secret in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value is not encrypted")]
pub struct NotSealed;

impl Sealed {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Which master key it was sealed with.
    pub fn key_id(&self) -> &str {
        self.parts().map_or("", |(key_id, _)| key_id)
    }

    fn parts(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix(FORM)?.strip_prefix('.')?.split_once('.')
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        let (_, encoded) = self.parts()?;
        URL_SAFE_NO_PAD.decode(encoded).ok().filter(|bytes| bytes.len() >= NONCE_BYTES + TAG_BYTES)
    }
}

impl FromStr for Sealed {
    type Err = NotSealed;

    fn from_str(text: &str) -> Result<Self, NotSealed> {
        let sealed = Self(text.into());
        let is_key_id = |id: &str| id.len() == KEY_ID_LETTERS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let fits = sealed.parts().is_some_and(|(key_id, _)| is_key_id(key_id)) && sealed.bytes().is_some();
        if fits { Ok(sealed) } else { Err(NotSealed) }
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{FORM}.{}.…", self.key_id())
    }
}

/// Why some text is not a ring of master keys. The text itself is never repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAKeyring {
    #[error("it contains no key")]
    Empty,
    #[error("a key is 32 random bytes as base64 or hexadecimal, such as `openssl rand -base64 32` prints")]
    Form,
    #[error("a key is 32 random bytes; all bytes of this one are the same")]
    NotRandom,
    #[error("the key {0} is listed twice")]
    Twice(String),
}

/// The master keys in force: the first seals, all of them open.
#[derive(Clone, Debug)]
pub struct Keyring {
    first: MasterKey,
    others: Vec<MasterKey>,
}

/// Why a sealed value did not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Give the key back: the value itself may be well.
    #[error("the value was encrypted with the key {key_id}, which is not configured ({known})")]
    UnknownKey { key_id: String, known: String },
    /// The right key, and still it does not open: changed since it was sealed, or made for another place.
    #[error("the value encrypted with the key {key_id} is damaged or was moved here from another place")]
    Damaged { key_id: String },
}

/// Sealing does not do what it is there for; nothing may be kept until it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("encrypting secrets does not work: {0}")]
pub struct SelfTestFailed(&'static str);

impl Keyring {
    pub fn new(key: MasterKey) -> Self {
        Self { first: key, others: Vec::new() }
    }

    /// Which key seals from now on.
    pub fn sealing_key_id(&self) -> &str {
        self.first.id()
    }

    /// Keys for one purpose, one of each master key; the first is of the one that seals.
    pub fn derive(&self, purpose: &str) -> Vec<DerivedKey> {
        self.all().map(|key| DerivedKey::of(&*key.bytes, purpose)).collect()
    }

    fn all(&self) -> impl Iterator<Item = &MasterKey> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub fn seal(&self, place: SealedFor<'_>, secret: &Secret) -> Sealed {
        // 24 random bytes do not come twice, however many values one key seals.
        let mut nonce = [0; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        let bound = bound_to(self.first.id(), place);
        let payload = Payload { msg: secret.reveal().as_bytes(), aad: &bound };
        let sealed = self.first.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("it is far shorter than the 256 GiB that would be refused");
        Sealed(format!("{FORM}.{}.{}", self.first.id(), URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat())))
    }

    pub fn open(&self, place: SealedFor<'_>, sealed: &Sealed) -> Result<Secret, OpenError> {
        let key_id = sealed.key_id();
        let key = self.all().find(|key| key.id() == key_id).ok_or_else(|| OpenError::UnknownKey {
            key_id: key_id.into(),
            known: self.all().map(MasterKey::id).collect::<Vec<_>>().join(", "),
        })?;
        unlock(key, place, sealed).ok_or_else(|| OpenError::Damaged { key_id: key_id.into() })
    }

    /// The same secret under the first key; `None` when it is already.
    pub fn reseal(&self, place: SealedFor<'_>, sealed: &Sealed) -> Result<Option<Sealed>, OpenError> {
        if sealed.key_id() == self.first.id() {
            return Ok(None);
        }
        Ok(Some(self.seal(place, &self.open(place, sealed)?)))
    }

    /// Seals and opens something before anything depends on it: a build in which sealing is a no-op must not start.
    pub fn self_test(&self) -> Result<(), SelfTestFailed> {
        let (tenant, marker) = (TenantId::default(), Secret::new("a secret that must not be readable"));
        let (here, elsewhere) =
            (SealedFor { tenant: &tenant, name: "self test" }, SealedFor { tenant: &tenant, name: "another place" });
        let sealed = self.seal(here, &marker);
        let kept = sealed.bytes().ok_or(SelfTestFailed("what is sealed has not its form"))?;
        let readable = |window: &[u8]| window == marker.reveal().as_bytes();
        if kept.windows(marker.reveal().len()).any(readable) {
            return Err(SelfTestFailed("what is sealed can be read"));
        }
        if sealed == self.seal(here, &marker) {
            return Err(SelfTestFailed("the same secret is sealed the same way twice"));
        }
        if self.open(here, &sealed).as_ref() != Ok(&marker) {
            return Err(SelfTestFailed("what was sealed does not open"));
        }
        if self.open(elsewhere, &sealed).is_ok() {
            return Err(SelfTestFailed("what was sealed opens in another place"));
        }
        Ok(())
    }
}

fn unlock(key: &MasterKey, place: SealedFor<'_>, sealed: &Sealed) -> Option<Secret> {
    let bytes = sealed.bytes()?;
    let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_BYTES>()?;
    let bound = bound_to(key.id(), place);
    let opened = key.cipher().decrypt(&XNonce::from(*nonce), Payload { msg: ciphertext, aad: &bound }).ok()?;
    String::from_utf8(opened).ok().map(Secret::new)
}

/// Each part with its length before it, so that no two places read the same.
fn bound_to(key_id: &str, place: SealedFor<'_>) -> Vec<u8> {
    let mut bound = Vec::new();
    for part in [FORM, key_id, place.tenant.as_str(), place.name] {
        bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bound.extend_from_slice(part.as_bytes());
    }
    bound
}

impl FromStr for Keyring {
    type Err = NotAKeyring;

    /// Keys separated by commas, the sealing one first.
    fn from_str(text: &str) -> Result<Self, NotAKeyring> {
        let mut keys: Vec<MasterKey> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let key: MasterKey = part.parse()?;
            if keys.iter().any(|known| known.id() == key.id()) {
                return Err(NotAKeyring::Twice(key.id().to_owned()));
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        let first = keys.next().ok_or(NotAKeyring::Empty)?;
        Ok(Self { first, others: keys.collect() })
    }
}
