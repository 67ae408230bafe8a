//! Tenants, their keys and their signing secrets.

use crate::document::{KeyDocument, KeyState, SecretDocument, TenantDocument};
use crate::key::{KeyRecord, KeyRefused};
use crate::signing::{SigningPurpose, SigningSecret};
use crate::tenant::{Tenant, TenantLimits};
use crate::time::Timestamp;

impl Tenant {
    /// `defaults` are the limits of every tenant.
    pub fn document(self, defaults: &TenantLimits) -> TenantDocument {
        let Tenant { id, settings, version, created_at, edited_at } = self;
        TenantDocument {
            id: id.to_string(),
            version,
            disabled: settings.is_disabled,
            limits_in_force: defaults.with(&settings.limits),
            limits: settings.limits,
            commands: settings.commands,
            variables: settings.variables,
            weight: settings.weight,
            signs: !settings.signing.is_empty(),
            created_at,
            updated_at: edited_at,
        }
    }
}

impl KeyRecord {
    /// Without its secret, which is not kept.
    pub fn document(self, now: Timestamp) -> KeyDocument {
        let state = match self.is_live(now) {
            Err(KeyRefused::Revoked(_)) => KeyState::Revoked,
            Err(KeyRefused::Expired(_)) => KeyState::Expired,
            Ok(()) | Err(KeyRefused::Scope(_)) => KeyState::Live,
        };
        KeyDocument {
            id: self.id.to_string(),
            tenant: self.tenant.to_string(),
            name: self.name,
            state,
            scopes: self.scopes,
            created_at: self.created_at,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
            last_used_at: self.last_used_at,
            replaced_by: self.replaced_by.map(|id| id.to_string()),
        }
    }
}

impl SigningSecret {
    /// The secret itself, in the clear: for the one response that shows it.
    pub fn document(&self) -> SecretDocument {
        let text = |secret: &SigningSecret| secret.text().reveal().to_owned();
        SecretDocument {
            secret: text(self),
            push_secret: Some(text(&self.for_purpose(SigningPurpose::Push))),
            callback_secret: Some(text(&self.for_purpose(SigningPurpose::Callback))),
        }
    }
}
