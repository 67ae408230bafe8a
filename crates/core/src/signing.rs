//! Signatures on what Foreman sends, by Standard Webhooks (<https://www.standardwebhooks.com>), version `v1`.
//!
//! A message carries `webhook-id` (the same over all retries), `webhook-timestamp` (seconds, of this attempt) and
//! `webhook-signature`: HMAC-SHA256 over `id.timestamp.body`, one signature for each secret in force, so that a receiver
//! goes on verifying while a secret is changed for another. [`verify`] is for receivers written in Rust and for our own
//! tests; `scripts/check-webhook-signatures` holds both against the official libraries of other languages.
//!
//! Nothing here is kept or sent: secrets rest sealed ([`crate::sealed`]), and whoever sends picks the moment.

mod keys;
mod purpose;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use rand::Rng as _;
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::id::JobId;
use crate::secret::Secret;
use crate::time::Timestamp;

pub use keys::{CannotSign, SigningKeys};
pub use purpose::{SigningPurpose, for_purpose};

pub const ID: &str = "webhook-id";
pub const TIMESTAMP: &str = "webhook-timestamp";
pub const SIGNATURE: &str = "webhook-signature";

/// How far a receiver's clock and the sender's may be apart.
pub const TOLERANCE: Duration = Duration::from_mins(5);

const PREFIX: &str = "whsec_";
const VERSION: &str = "v1";

/// What signer and receiver share: 24 to 64 bytes, written as `whsec_` and base64.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<Vec<u8>>);

/// Why some text is not a signing secret. The text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASigningSecret {
    #[error("a signing secret begins with whsec_")]
    Prefix,
    #[error("what follows whsec_ is not base64")]
    Base64,
    #[error("a signing secret has 24 to 64 bytes, this one {0}")]
    Length(usize),
}

impl SigningSecret {
    /// 32 bytes that nobody has seen before.
    pub fn fresh() -> Self {
        let mut bytes = Zeroizing::new(vec![0; 32]);
        rand::rng().fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// As it is shown to its owner once, and sealed.
    pub fn text(&self) -> Secret {
        Secret::new(format!("{PREFIX}{}", STANDARD.encode(&*self.0)))
    }

    fn mac(&self, id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl FromStr for SigningSecret {
    type Err = NotASigningSecret;

    fn from_str(text: &str) -> Result<Self, NotASigningSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(NotASigningSecret::Prefix)?;
        let bytes = Zeroizing::new(STANDARD.decode(encoded).map_err(|_| NotASigningSecret::Base64)?);
        match bytes.len() {
            24..=64 => Ok(Self(bytes)),
            other => Err(NotASigningSecret::Length(other)),
        }
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whsec_***")
    }
}

/// What a message is called over all its retries. It has no full stop: that is what ends it in the signed text, and an
/// id with one could take over the timestamp's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageId(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a message id: use 1 to 256 visible ASCII characters without a period")]
pub struct NotAMessageId;

impl MessageId {
    /// A delivery is a job, and the job's id stays.
    pub fn of_job(id: JobId) -> Self {
        Self(format!("msg_{}", id.0.simple()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MessageId {
    type Err = NotAMessageId;

    fn from_str(text: &str) -> Result<Self, NotAMessageId> {
        if is_message_id(text) { Ok(Self(text.into())) } else { Err(NotAMessageId) }
    }
}

fn is_message_id(text: &str) -> bool {
    (1..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'.')
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The three headers of a signed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    pub id: MessageId,
    /// Seconds since 1970.
    pub timestamp: i64,
    pub signature: String,
}

impl Signed {
    /// All of it visible ASCII.
    pub fn headers(&self) -> [(&'static str, String); 3] {
        [(ID, self.id.0.clone()), (TIMESTAMP, self.timestamp.to_string()), (SIGNATURE, self.signature.clone())]
    }
}

/// Signs a body as it will be sent, byte for byte. `previous` are the secrets that `current` takes over from and that
/// receivers may still hold.
pub fn sign<'a>(
    current: &'a SigningSecret,
    previous: impl IntoIterator<Item = &'a SigningSecret>,
    id: &MessageId,
    at: Timestamp,
    body: &[u8],
) -> Signed {
    let timestamp = seconds(at);
    let text = timestamp.to_string();
    let signatures: Vec<String> = std::iter::once(current)
        .chain(previous)
        .map(|secret| format!("{VERSION},{}", STANDARD.encode(secret.mac(id.as_str(), &text, body))))
        .collect();
    Signed { id: id.clone(), timestamp, signature: signatures.join(" ") }
}

fn seconds(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(1_000_000)
}

/// The three headers of a message as they came.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    pub id: &'a str,
    pub timestamp: &'a str,
    pub signature: &'a str,
}

impl<'a> Received<'a> {
    /// Each header must be there once: of two, one reader may take the first and another the last.
    pub fn from_headers(headers: &'a HeaderMap) -> Result<Self, NotVerified> {
        let one = |name| {
            let mut values = headers.get_all(name).into_iter();
            match (values.next().and_then(|value| value.to_str().ok()), values.next()) {
                (Some(value), None) => Ok(value),
                _ => Err(NotVerified::Header(name)),
            }
        };
        Ok(Self { id: one(ID)?, timestamp: one(TIMESTAMP)?, signature: one(SIGNATURE)? })
    }
}

/// Why a message is not to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotVerified {
    /// Missing, there twice, or not what such a header looks like.
    #[error("the header {0} is missing or malformed")]
    Header(&'static str),
    #[error("the message is too old")]
    TooOld,
    #[error("the message is from the future")]
    TooNew,
    #[error("no signature matches")]
    NoMatch,
}

/// Whether a message was signed by who holds one of `secrets`, less than `tolerance` ago. Every signature is compared
/// with every secret's in full and in constant time; one of another version, length or form counts for nothing.
pub fn verify(
    secrets: &[SigningSecret],
    received: Received<'_>,
    body: &[u8],
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), NotVerified> {
    if !is_message_id(received.id) {
        return Err(NotVerified::Header(ID));
    }
    let sent = timestamp(received.timestamp).ok_or(NotVerified::Header(TIMESTAMP))?;
    let tolerance = i64::try_from(tolerance.as_secs()).unwrap_or(i64::MAX);
    match seconds(now).saturating_sub(sent) {
        age if age > tolerance => return Err(NotVerified::TooOld),
        age if age < -tolerance => return Err(NotVerified::TooNew),
        _ => {}
    }
    let expected: Vec<[u8; 32]> =
        secrets.iter().map(|secret| secret.mac(received.id, received.timestamp, body)).collect();
    let mut matches = Choice::from(0);
    for given in received.signature.split(' ').filter_map(digest) {
        for mac in &expected {
            matches |= given.ct_eq(mac);
        }
    }
    if matches.into() { Ok(()) } else { Err(NotVerified::NoMatch) }
}

/// Digits only, written in one way: it is signed as text.
fn timestamp(text: &str) -> Option<i64> {
    let seconds: i64 = text.parse().ok()?;
    (seconds >= 0 && seconds.to_string() == text).then_some(seconds)
}

/// All 32 bytes of a signature or none: comparing as far as the shorter goes would let `v1,` pass for anything
/// (RUSTSEC-2024-0010).
fn digest(signature: &str) -> Option<[u8; 32]> {
    let (version, encoded) = signature.split_once(',')?;
    if version != VERSION {
        return None;
    }
    STANDARD.decode(encoded).ok()?.try_into().ok()
}
