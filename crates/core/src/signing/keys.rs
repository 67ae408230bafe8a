//! The signing secrets of one webhook or tenant, as they are kept: sealed, the newest first.
//!
//! While a secret is changed for another both sign, so that a receiver that knows either goes on verifying. The old one
//! ends by itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{NotASigningSecret, SigningSecret};
use crate::sealed::{Keyring, OpenError, Sealed, SealedFor};
use crate::time::Timestamp;

/// Changing it more often than the old ones end drops the oldest.
const MOST: usize = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SigningKeys(Vec<SigningKey>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SigningKey {
    secret: Sealed,
    /// It signs no more from then on; the newest has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
}

/// Why what is kept cannot sign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotSign {
    /// An operator gives the master key back.
    #[error("the signing secret cannot be decrypted: {0}")]
    Sealed(#[from] OpenError),
    #[error("the decrypted value is not a signing secret: {0}")]
    NotASecret(#[from] NotASigningSecret),
}

impl SigningKeys {
    pub fn one(secret: Sealed) -> Self {
        Self(vec![SigningKey { secret, until: None }])
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many sign now.
    pub fn count(&self, now: Timestamp) -> usize {
        self.in_force(now).count()
    }

    fn in_force(&self, now: Timestamp) -> impl Iterator<Item = &SigningKey> {
        self.0.iter().filter(move |key| key.until.is_none_or(|until| now < until))
    }

    /// A new secret takes over; those in force go on for `overlap` at most.
    #[must_use]
    pub fn rotated(&self, new: Sealed, now: Timestamp, overlap: Duration) -> Self {
        let end = now.plus(overlap);
        let ending = |key: &SigningKey| SigningKey {
            secret: key.secret.clone(),
            until: Some(key.until.map_or(end, |until| until.min(end))),
        };
        let old = self.in_force(now).take(MOST - 1).map(ending).filter(|key| key.until > Some(now));
        Self(std::iter::once(SigningKey { secret: new, until: None }).chain(old).collect())
    }

    /// What signs now, the newest first.
    pub fn open(&self, ring: &Keyring, place: SealedFor<'_>, now: Timestamp) -> Result<Vec<SigningSecret>, CannotSign> {
        self.in_force(now).map(|key| Ok(ring.open(place, &key.secret)?.reveal().parse()?)).collect()
    }

    /// The same secrets under the first master key; `None` when all of them are already.
    pub fn resealed(&self, ring: &Keyring, place: SealedFor<'_>) -> Result<Option<Self>, OpenError> {
        let mut has_changed = false;
        let keys = self.0.iter().map(|key| {
            let fresh = ring.reseal(place, &key.secret)?;
            has_changed |= fresh.is_some();
            Ok(SigningKey { secret: fresh.unwrap_or_else(|| key.secret.clone()), until: key.until })
        });
        let keys = keys.collect::<Result<Vec<_>, OpenError>>()?;
        Ok(has_changed.then_some(Self(keys)))
    }
}
