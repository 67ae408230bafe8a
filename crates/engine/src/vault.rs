//! What a runner may open of a tenant's secrets, and what it signs with in the tenant's name.
//!
//! Values are opened at each attempt and live as long as it. What cannot be opened here (the master key is missing, or is not
//! the one it was sealed with) is no fault of the job: an operator gives the key back, and the next try opens it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use foreman_core::ports::StoreError;
use foreman_core::sealed::{Keyring, SealedFor};
use foreman_core::secret_map::{CannotOpen, SecretMap};
use foreman_core::signing::{self, CannotSign, SigningKeys, SigningPurpose, SigningSecret};
use foreman_core::tenant::SIGNING_PLACE;
use foreman_core::{TenantId, Timestamp};

use crate::tenants::Tenants;

/// Cheap to clone. One that is empty opens nothing and signs nothing.
#[derive(Clone, Default)]
pub struct Vault {
    ring: Option<Arc<Keyring>>,
    tenants: Option<Arc<Tenants>>,
}

/// Why nothing is signed though it should be. Each of these may have passed by the next try.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotSigned {
    #[error("cannot load the signing secret of the tenant: {0}")]
    Store(#[from] StoreError),
    #[error("this process has no FOREMAN_SECRET_KEY to decrypt the signing secret")]
    NoKey,
    #[error(transparent)]
    Sealed(#[from] CannotSign),
}

impl Vault {
    /// `tenants`: without them, nothing is signed in the name of one.
    pub fn new(ring: Option<Arc<Keyring>>, tenants: Option<Arc<Tenants>>) -> Self {
        Self { ring, tenants }
    }

    pub(crate) fn open<'a>(
        &self,
        values: &'a SecretMap,
        place: SealedFor<'_>,
    ) -> Result<Cow<'a, BTreeMap<String, String>>, CannotOpen> {
        values.open(self.ring.as_deref(), place)
    }

    /// What these keys sign with now, the newest first; nothing when there are none.
    pub(crate) fn secrets(
        &self,
        keys: &SigningKeys,
        place: SealedFor<'_>,
        now: Timestamp,
    ) -> Result<Vec<SigningSecret>, NotSigned> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ring = self.ring.as_deref().ok_or(NotSigned::NoKey)?;
        Ok(keys.open(ring, place, now)?)
    }

    /// What is sent in this tenant's name for a purpose is signed with; nothing when it has no secret.
    pub(crate) async fn secrets_of(
        &self,
        tenant: &TenantId,
        purpose: SigningPurpose,
        now: Timestamp,
    ) -> Result<Vec<SigningSecret>, NotSigned> {
        let Some(tenants) = &self.tenants else { return Ok(Vec::new()) };
        let Some(settings) = tenants.settings(tenant).await? else { return Ok(Vec::new()) };
        let secrets = self.secrets(&settings.signing, SealedFor { tenant, name: SIGNING_PLACE }, now)?;
        Ok(signing::for_purpose(secrets, purpose))
    }
}
