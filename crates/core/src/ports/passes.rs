//! Passes: what a browser shows instead of a key. A session is good for hours, a ticket once and for seconds.
//!
//! Kept in the store, so that every API process of a team knows them, and by their hash, never themselves. A pass is worth
//! no more than what it was made from: whoever lets it in looks at the key behind it, and a key that is revoked takes its passes
//! along.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::id::TenantId;
use crate::key::{KeyHash, KeyId};
use crate::time::Timestamp;

#[async_trait]
pub trait PassStore: Send + Sync {
    /// Sent again with the same hash it changes nothing. Answers until when it is good, by the store's clock.
    async fn issue_pass(&self, pass: &NewPass) -> Result<Timestamp, StoreError>;

    /// A pass that is good now.
    async fn pass(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError>;

    /// Takes a ticket away: of two who show it, one is answered it. A session is not taken by this.
    async fn spend_ticket(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError>;

    /// From now on it opens nothing. `false` when it did not before.
    async fn revoke_pass(&self, hash: &KeyHash) -> Result<bool, StoreError>;
}

#[derive(Clone, Debug)]
pub struct NewPass {
    pub hash: KeyHash,
    pub kind: PassKind,
    pub holder: PassHolder,
    /// What it is about.
    pub tenant: TenantId,
    /// Good for so long.
    pub keep: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassKind {
    Session,
    Ticket,
}

impl PassKind {
    pub const ALL: [PassKind; 2] = [PassKind::Session, PassKind::Ticket];

    pub const fn as_str(self) -> &'static str {
        match self {
            PassKind::Session => "session",
            PassKind::Ticket => "ticket",
        }
    }

    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Who got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassHolder {
    /// Somebody on a server that asks for no key.
    Nobody,
    /// The holder of the configured key, as long as this can be computed from that key and the pass.
    Bootstrap(KeyHash),
    Key(KeyId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    pub kind: PassKind,
    pub holder: PassHolder,
    pub tenant: TenantId,
    pub expires_at: Timestamp,
}
