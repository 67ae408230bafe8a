//! The audit log: who did what to which object, and when. Never what with: a key's id, not the key.

use serde::{Deserialize, Serialize};

use crate::id::{EntryId, TenantId};
use crate::key::KeyId;
use crate::time::Timestamp;

/// One act, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: EntryId,
    /// By the store's clock.
    pub at: Timestamp,
    pub act: Act,
}

/// One act, as it is told to the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// Whose object it is.
    pub tenant: TenantId,
    pub actor: Actor,
    /// Such as `key.revoke`.
    pub action: String,
    /// Such as `key/3f9…`, or the queue's name; what the request named.
    pub object: String,
    /// The HTTP status of the response.
    pub status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The address it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    Key(KeyId),
    /// The key of the configuration, `FOREMAN_ADMIN_KEY`.
    Bootstrap,
    /// Whoever can reach the loopback of a server without keys.
    Nobody,
    /// Somebody with the database in hand: `foreman … --direct`.
    Direct,
    /// Foreman itself.
    System,
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Actor::Key(id) => write!(f, "key/{id}"),
            Actor::Bootstrap => f.write_str("bootstrap"),
            Actor::Nobody => f.write_str("nobody"),
            Actor::Direct => f.write_str("direct"),
            Actor::System => f.write_str("system"),
        }
    }
}
