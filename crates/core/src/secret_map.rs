//! Names with values that may be secret: headers sent to a target, variables given to a command.
//!
//! In the clear from the client's request to the moment before it is written, and again while a try is under way; sealed wherever
//! it is kept. The names stay readable, for people must see which headers a job sends. What an earlier version kept in the
//! clear is still read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sealed::{Keyring, OpenError, Sealed, SealedFor};
use crate::secret::Secret;

/// What is shown instead of a value; given back in an edit it stands for the value that is kept.
pub const MASK: &str = "***";

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SecretMap {
    Sealed(SealedMap),
    Clear(BTreeMap<String, String>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedMap {
    names: Vec<String>,
    sealed: Sealed,
}

/// Why the values cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    /// An operator sets `FOREMAN_SECRET_KEY` here as it is set where the job was accepted.
    #[error("this process has no FOREMAN_SECRET_KEY to decrypt them with")]
    NoKey,
    #[error(transparent)]
    Sealed(#[from] OpenError),
    #[error("the decrypted value is not a list of names and values")]
    Malformed,
}

impl SecretMap {
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }

    pub fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            SecretMap::Sealed(map) => Box::new(map.names.iter().map(String::as_str)),
            SecretMap::Clear(map) => Box::new(map.keys().map(String::as_str)),
        }
    }

    pub fn is_sealed(&self) -> bool {
        matches!(self, SecretMap::Sealed(_))
    }

    /// Whether it may be written as it is.
    pub fn is_safe_to_keep(&self) -> bool {
        self.is_sealed() || self.is_empty()
    }

    /// For people: every value hidden.
    pub fn masked(&self) -> BTreeMap<String, String> {
        self.names().map(|name| (name.to_owned(), MASK.to_owned())).collect()
    }

    #[must_use]
    pub fn sealed(self, ring: &Keyring, place: SealedFor<'_>) -> Self {
        match self {
            SecretMap::Clear(map) if !map.is_empty() => {
                let text = serde_json::to_string(&map).expect("text with text as keys");
                let sealed = ring.seal(place, &Secret::new(text));
                SecretMap::Sealed(SealedMap { names: map.into_keys().collect(), sealed })
            }
            other => other,
        }
    }

    /// The same values under the first key of the ring, what was in the clear too; `None` when there is nothing to do.
    pub fn resealed(&self, ring: &Keyring, place: SealedFor<'_>) -> Result<Option<Self>, OpenError> {
        match self {
            SecretMap::Clear(map) if map.is_empty() => Ok(None),
            SecretMap::Clear(_) => Ok(Some(self.clone().sealed(ring, place))),
            SecretMap::Sealed(map) => {
                let fresh = ring.reseal(place, &map.sealed)?;
                Ok(fresh.map(|sealed| SecretMap::Sealed(SealedMap { names: map.names.clone(), sealed })))
            }
        }
    }

    pub fn open(
        &self,
        ring: Option<&Keyring>,
        place: SealedFor<'_>,
    ) -> Result<Cow<'_, BTreeMap<String, String>>, CannotOpen> {
        match self {
            SecretMap::Clear(map) => Ok(Cow::Borrowed(map)),
            SecretMap::Sealed(map) => {
                let text = ring.ok_or(CannotOpen::NoKey)?.open(place, &map.sealed)?;
                serde_json::from_str(text.reveal()).map(Cow::Owned).map_err(|_| CannotOpen::Malformed)
            }
        }
    }
}

impl Default for SecretMap {
    fn default() -> Self {
        SecretMap::Clear(BTreeMap::new())
    }
}

impl From<BTreeMap<String, String>> for SecretMap {
    fn from(map: BTreeMap<String, String>) -> Self {
        SecretMap::Clear(map)
    }
}

/// Names only.
impl fmt::Debug for SecretMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::TenantId;

    fn ring() -> Keyring {
        "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".parse().expect("a ring")
    }

    fn headers() -> BTreeMap<String, String> {
        BTreeMap::from([("authorization".into(), "Bearer hush".into()), ("names".into(), "plain".into())])
    }

    #[test]
    fn what_is_kept_has_the_names_and_not_the_values() {
        let tenant = TenantId::new("acme");
        let place = SealedFor { tenant: &tenant, name: "headers" };
        let clear = SecretMap::from(headers());
        assert!(!clear.is_safe_to_keep());
        let sealed = clear.sealed(&ring(), place);
        assert!(sealed.is_safe_to_keep());
        let kept = serde_json::to_string(&sealed).expect("plain");
        assert!(kept.contains("authorization") && !kept.contains("hush"), "{kept}");
        let read: SecretMap = serde_json::from_str(&kept).expect("as it was written");
        assert_eq!(*read.open(Some(&ring()), place).expect("opens"), headers());
        assert_eq!(read.open(None, place).expect_err("no key"), CannotOpen::NoKey);
        let elsewhere = SealedFor { tenant: &tenant, name: "env" };
        assert!(matches!(read.open(Some(&ring()), elsewhere), Err(CannotOpen::Sealed(_))));
        assert_eq!(read.masked()["authorization"], MASK);
        assert!(!format!("{read:?} {:?}", SecretMap::from(headers())).contains("hush"));
    }

    #[test]
    fn what_was_sealed_with_an_old_key_opens_with_the_new_one_alone_once_it_is_sealed_anew() {
        let tenant = TenantId::new("acme");
        let place = SealedFor { tenant: &tenant, name: "headers" };
        let old = SecretMap::from(headers()).sealed(&ring(), place);
        let new = "NTQzMjEwOTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2NTQ=";
        let both: Keyring = format!("{new},MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=").parse().expect("a ring");
        let fresh = old.resealed(&both, place).expect("opens").expect("it was under the old key");
        let alone: Keyring = new.parse().expect("a ring");
        assert_eq!(*fresh.open(Some(&alone), place).expect("opens"), headers());
        assert!(fresh.resealed(&both, place).expect("opens").is_none(), "nothing is left to do");
        assert!(old.resealed(&alone, place).is_err());
        let clear = SecretMap::from(headers()).resealed(&alone, place).expect("sealed").expect("it was in the clear");
        assert!(clear.is_safe_to_keep());
        assert!(SecretMap::default().resealed(&alone, place).expect("empty").is_none());
    }

    #[test]
    fn what_an_earlier_version_kept_in_the_clear_is_read() {
        let read: SecretMap = serde_json::from_str(r#"{"names":"a","sealed":"b"}"#).expect("two headers");
        assert_eq!(
            read.open(None, SealedFor { tenant: &TenantId::default(), name: "headers" }).expect("clear").len(),
            2
        );
        assert!(SecretMap::default().is_safe_to_keep());
    }
}
