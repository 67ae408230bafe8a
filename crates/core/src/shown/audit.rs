//! The audit log.

use crate::audit::{Actor, AuditEntry};
use crate::document::AuditDocument;

impl From<AuditEntry> for AuditDocument {
    fn from(entry: AuditEntry) -> Self {
        let AuditEntry { id, at, act } = entry;
        let actor = match act.actor {
            Actor::Key(key) => key.to_string(),
            other => other.to_string(),
        };
        Self {
            id: id.to_string(),
            at,
            tenant: act.tenant.to_string(),
            actor,
            action: act.action,
            object: act.object,
            status: act.status,
            request: act.request,
            peer: act.peer,
        }
    }
}
