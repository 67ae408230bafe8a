//! One secret, a key for each thing that is signed with it.
//!
//! A tenant has one signing secret, for what its jobs send to targets and for what Foreman tells callbacks. Were both signed with the
//! same key, who may submit a job could send a target a body that verifies as a callback. So each has a key of its own, derived from the
//! secret, which is all that has to be kept.
//!
//! Receivers that verify with the secret itself, as all did before, go on: it signs too, until 1.0. A receiver that verifies with
//! the key of its purpose is told nothing else.

use super::SigningSecret;
use crate::sealed::DerivedKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningPurpose {
    /// The request of a job.
    Push,
    /// How a job ended, to its `callback_url`.
    Callback,
}

impl SigningPurpose {
    /// What is signed under the secret to derive the key: `foreman push`, `foreman callback`.
    const fn label(self) -> &'static str {
        match self {
            SigningPurpose::Push => "push",
            SigningPurpose::Callback => "callback",
        }
    }
}

impl SigningSecret {
    /// The key for one purpose.
    #[must_use]
    pub fn for_purpose(&self, purpose: SigningPurpose) -> Self {
        Self(zeroize::Zeroizing::new(DerivedKey::of(&self.0, purpose.label()).bytes().to_vec()))
    }
}

/// What to sign with, the newest first: the keys of the purpose, then the secrets themselves.
pub fn for_purpose(secrets: Vec<SigningSecret>, purpose: SigningPurpose) -> Vec<SigningSecret> {
    let mut all: Vec<SigningSecret> = secrets.iter().map(|secret| secret.for_purpose(purpose)).collect();
    all.extend(secrets);
    all
}

#[cfg(test)]
mod tests {
    use super::super::{MessageId, Received, TOLERANCE, sign, verify};
    use super::*;
    use crate::Timestamp;

    #[test]
    fn a_push_does_not_verify_as_a_callback() {
        let secret = SigningSecret::fresh();
        let (push, callback) = (secret.for_purpose(SigningPurpose::Push), secret.for_purpose(SigningPurpose::Callback));
        let (id, now, body) = ("msg_1".parse::<MessageId>().expect("an id"), Timestamp::from_micros(5_000_000), b"{}");
        let signed = |purpose| {
            let keys = for_purpose(vec![secret.clone()], purpose);
            sign(&keys[0], &keys[1..], &id, now, body)
        };
        let verifies = |signed: &super::super::Signed, key: &SigningSecret| {
            let timestamp = signed.timestamp.to_string();
            let received = Received { id: id.as_str(), timestamp: &timestamp, signature: &signed.signature };
            verify(std::slice::from_ref(key), received, body, now, TOLERANCE).is_ok()
        };
        let (pushed, called) = (signed(SigningPurpose::Push), signed(SigningPurpose::Callback));
        assert!(verifies(&pushed, &push) && !verifies(&pushed, &callback));
        assert!(verifies(&called, &callback) && !verifies(&called, &push));
        assert!(verifies(&pushed, &secret) && verifies(&called, &secret), "who has the secret itself goes on");
    }

    #[test]
    fn the_keys_are_those_that_the_documentation_derives() {
        // printf 'foreman push' | openssl dgst -sha256 -mac HMAC -macopt key:AAAAAAAAAAAAAAAAAAAAAAAA -binary | base64
        let secret: SigningSecret = "whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB".parse().expect("a secret");
        assert_eq!(
            secret.for_purpose(SigningPurpose::Push).text().reveal(),
            "whsec_ZnXs6WGVp5u2RdAQBeN06D2ALY0Fvls7Gj3vah0Zn3o="
        );
        assert_eq!(
            secret.for_purpose(SigningPurpose::Callback).text().reveal(),
            "whsec_GrmgJNZq/T+nwmiBeIqqyr/hOooU7zFQOUyyqnU1h5M="
        );
    }
}
