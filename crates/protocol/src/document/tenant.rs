//! Tenants and their keys as the API tells of them. A key's secret and a signing secret are each told once, when they are made.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::duration::Span;
use crate::scope::Scopes;
use crate::tenant::{LimitOverrides, Programs, TenantLimits, Variables, Weight};
use crate::time::Timestamp;

/// A tenant: its settings, and the limits that result from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TenantDocument {
    pub id: String,
    /// Increases with every edit; the `ETag` is this number in quotes.
    pub version: i64,
    /// Its keys are rejected, and none of its jobs, schedules or deliveries run until it is enabled again. Waiting jobs are kept.
    pub disabled: bool,
    /// Where it differs from the server's default limits: a number, or `unlimited`.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, LimitDocument>))]
    pub limits: LimitOverrides,
    /// The limits in force.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, LimitDocument>))]
    pub limits_in_force: TenantLimits,
    /// The programs its jobs may run: absolute paths, `sh` for shell commands, `*` for everything.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub commands: Programs,
    /// Environment variables that its jobs may set for these programs: names, prefixes such as `REPORT_*`, or `*`. If
    /// `commands` has `sh` or `*`, all may be set.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub variables: Variables,
    /// Its share if jobs of several tenants wait in one queue and lane.
    #[cfg_attr(feature = "openapi", schema(value_type = u32, minimum = 1, maximum = 1000))]
    pub weight: Weight,
    /// Whether its pushes and callbacks are signed.
    pub signs: bool,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
}

/// A number, or `unlimited`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum LimitDocument {
    Number(u64),
    Text(Unlimited),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unlimited {
    Unlimited,
}

/// A tenant to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewTenantDocument {
    /// 1 to 63 of a-z, 0-9 and the hyphen, with a letter or digit first and last. Ids are never reused.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"))]
    pub id: String,
    /// Its keys are rejected, and none of its jobs, schedules or deliveries run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(default, deserialize_with = "crate::object::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<std::collections::BTreeMap<String, LimitDocument>>))]
    pub limits: Option<LimitOverrides>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub commands: Option<Programs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub variables: Option<Variables>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1, maximum = 1000))]
    pub weight: Option<Weight>,
}

/// Changes to a tenant: a JSON merge patch. `null` resets a field to the default, also inside `limits`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TenantPatchDocument {
    /// `true` stops the tenant: none of its jobs, schedules or deliveries are started from now on, and within five
    /// seconds its keys are rejected and its running attempts are stopped without counting. `false` enables it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(default, deserialize_with = "crate::object::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<std::collections::BTreeMap<String, LimitDocument>>))]
    pub limits: Option<LimitOverrides>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub commands: Option<Programs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub variables: Option<Variables>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1, maximum = 1000))]
    pub weight: Option<Weight>,
}

/// A key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyDocument {
    /// The part of the key between its underscores.
    pub id: String,
    pub tenant: String,
    pub name: String,
    pub state: KeyState,
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<crate::scope::Scope>))]
    pub scopes: Scopes,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub revoked_at: Option<Timestamp>,
    /// Accurate to about a minute; `null` if it was never used.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last_used_at: Option<Timestamp>,
    /// The key that replaces it.
    pub replaced_by: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    Live,
    Expired,
    Revoked,
}

impl KeyState {
    pub const fn as_str(self) -> &'static str {
        match self {
            KeyState::Live => "live",
            KeyState::Expired => "expired",
            KeyState::Revoked => "revoked",
        }
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A newly created key. It is shown only in this response.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MadeKeyDocument {
    /// The complete key, for `Authorization: Bearer …`.
    pub key: String,
    #[serde(flatten)]
    pub about: KeyDocument,
    /// The key it replaces, and how long that one stays valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<KeyDocument>,
}

impl fmt::Debug for MadeKeyDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeKeyDocument").field("key", &"***").field("about", &self.about).finish_non_exhaustive()
    }
}

/// A key to create.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewKeyDocument {
    /// A name for people; up to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 100))]
    pub name: Option<String>,
    /// At least one; `jobs:*` and `schedules:*` stand for read and write.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>, example = json!(["jobs:read", "jobs:write"]), min_items = 1))]
    pub scopes: Scopes,
    /// The key is not valid from this time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// The same, relative to now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "720h"))]
    pub expires_in: Option<Span>,
}

/// How to replace a key.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RotateKeyDocument {
    /// How long the old key stays valid, at most `720h`. Defaults to `24h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "24h"))]
    pub grace: Option<Span>,
    /// The expiry of the new key. Without `expires_at` and `expires_in`, its lifetime is the same as the old key's was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "720h"))]
    pub expires_in: Option<Span>,
}

/// How to rotate a signing secret.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RotateSecretDocument {
    /// How long the old secret also signs, at most `720h`. Defaults to `24h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "24h"))]
    pub overlap: Option<Span>,
}

/// A newly created signing secret. It is shown only in this response.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecretDocument {
    /// `whsec_…`. Signs both pushes and callbacks until version 1.0, for receivers that already verify with it.
    pub secret: String,
    /// `whsec_…`, for targets: signs pushes only. Derived from `secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_secret: Option<String>,
    /// `whsec_…`, for receivers of callbacks: signs callbacks only. Derived from `secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_secret: Option<String>,
}

impl fmt::Debug for SecretDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDocument(***)")
    }
}

/// Who the caller is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WhoamiDocument {
    /// The tenant that the caller's requests apply to.
    pub tenant: String,
    /// The id of the caller's key; `bootstrap` for the configured admin key, `null` if the server requires none.
    pub key: Option<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<crate::scope::Scope>))]
    pub scopes: Scopes,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// The tenant's limits in force.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, LimitDocument>))]
    pub limits: TenantLimits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_once_is_not_shown_by_accident() {
        let secret = SecretDocument {
            secret: "whsec_hush".into(),
            push_secret: Some("whsec_hush".into()),
            callback_secret: None,
        };
        assert!(!format!("{secret:?}").contains("hush"));
        assert_eq!(
            serde_json::to_string(&secret).expect("plain"),
            r#"{"secret":"whsec_hush","push_secret":"whsec_hush"}"#
        );
    }

    #[test]
    fn a_limit_is_written_as_the_document_says() {
        for (limit, expected) in [("7", true), ("\"unlimited\"", true), ("\"7\"", false), ("-1", false)] {
            assert_eq!(serde_json::from_str::<LimitDocument>(limit).is_ok(), expected, "{limit}");
            assert_eq!(serde_json::from_str::<crate::tenant::Limit>(limit).is_ok(), expected, "{limit}");
        }
    }
}
