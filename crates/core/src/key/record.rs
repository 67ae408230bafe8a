//! A key as it is kept, and what it is good for at a moment.

use std::sync::LazyLock;

use super::{ApiKey, KeyHash, KeyId, Scope, Scopes};
use crate::id::TenantId;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub id: KeyId,
    /// Whose data it opens.
    pub tenant: TenantId,
    /// For people; it need not be the only one of its name.
    pub name: String,
    pub hash: KeyHash,
    pub scopes: Scopes,
    pub created_at: Timestamp,
    /// The key is not valid from this time on.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// To the minute or so; none when it never was.
    pub last_used_at: Option<Timestamp>,
    /// The key that replaces it.
    pub replaced_by: Option<KeyId>,
}

/// Why a key that is known does not open this door.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefused {
    /// Get another one.
    #[error("the key was revoked at {0}")]
    Revoked(Timestamp),
    /// Get another one.
    #[error("the key expired at {0}")]
    Expired(Timestamp),
    /// Ask for a key that is good for it.
    #[error("the key lacks the scope `{0}`")]
    Scope(Scope),
}

impl KeyRecord {
    /// Whether it opens anything now.
    pub fn is_live(&self, now: Timestamp) -> Result<(), KeyRefused> {
        // Said first: who revoked a key wants to see that, even when its time is over too.
        if let Some(at) = self.revoked_at {
            return Err(KeyRefused::Revoked(at));
        }
        match self.expires_at {
            Some(at) if at <= now => Err(KeyRefused::Expired(at)),
            _ => Ok(()),
        }
    }

    pub fn may(&self, scope: Scope, now: Timestamp) -> Result<(), KeyRefused> {
        self.is_live(now)?;
        if self.scopes.allow(scope) { Ok(()) } else { Err(KeyRefused::Scope(scope)) }
    }
}

/// The hash of a key that nobody was ever given.
static NOBODY: LazyLock<KeyHash> = LazyLock::new(|| ApiKey::fresh().hash());

/// The record, if the key that was shown is the one that was kept. A key that nobody knows takes as long as one with a
/// wrong secret, so that ids cannot be found out by asking.
pub fn admit(shown: &ApiKey, kept: Option<KeyRecord>) -> Option<KeyRecord> {
    let expected = kept.as_ref().map_or(*NOBODY, |record| record.hash);
    let is_same = shown.hash() == expected;
    kept.filter(|record| is_same && record.id == *shown.id())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

    fn record(key: &ApiKey) -> KeyRecord {
        KeyRecord {
            id: key.id().clone(),
            tenant: TenantId::new("acme"),
            name: "ci".into(),
            hash: key.hash(),
            scopes: "jobs:*".parse().expect("scopes"),
            created_at: NOW,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            replaced_by: None,
        }
    }

    #[test]
    fn a_key_is_good_for_its_scopes() {
        let record = record(&ApiKey::fresh());
        assert_eq!(record.may(Scope::JobsRead, NOW), Ok(()));
        assert_eq!(record.may(Scope::JobsWrite, NOW), Ok(()));
        assert_eq!(record.may(Scope::Admin, NOW), Err(KeyRefused::Scope(Scope::Admin)));
        assert_eq!(record.may(Scope::ExecCommand, NOW), Err(KeyRefused::Scope(Scope::ExecCommand)));
    }

    #[test]
    fn a_key_opens_nothing_from_the_moment_it_expires() {
        let microsecond = Duration::from_micros(1);
        let end = NOW.plus(Duration::from_hours(1));
        let record = KeyRecord { expires_at: Some(end), ..record(&ApiKey::fresh()) };
        assert_eq!(record.may(Scope::JobsRead, end.minus(microsecond)), Ok(()));
        assert_eq!(record.may(Scope::JobsRead, end), Err(KeyRefused::Expired(end)));
        assert_eq!(record.may(Scope::JobsRead, end.plus(microsecond)), Err(KeyRefused::Expired(end)));
    }

    #[test]
    fn a_revoked_key_opens_nothing_whatever_the_clock_says() {
        let later = NOW.plus(Duration::from_hours(1));
        let revoked = KeyRecord { revoked_at: Some(later), expires_at: Some(NOW), ..record(&ApiKey::fresh()) };
        for now in [NOW.minus(Duration::from_secs(1)), NOW, later, later.plus(Duration::from_secs(1))] {
            assert_eq!(revoked.may(Scope::JobsRead, now), Err(KeyRefused::Revoked(later)), "at {now}");
        }
    }

    #[test]
    fn only_the_key_itself_is_admitted() {
        let (key, other) = (ApiKey::fresh(), ApiKey::fresh());
        let kept = record(&key);
        assert_eq!(admit(&key, Some(kept.clone())), Some(kept.clone()));
        assert_eq!(admit(&key, None), None);
        assert_eq!(admit(&other, Some(kept.clone())), None);
        let same_id_other_secret = KeyRecord { hash: other.hash(), ..kept.clone() };
        assert_eq!(admit(&key, Some(same_id_other_secret)), None);
        // A record under the wrong id, as a damaged store might hand out.
        let misplaced = KeyRecord { id: other.id().clone(), ..kept };
        assert_eq!(admit(&key, Some(misplaced)), None);
    }
}
