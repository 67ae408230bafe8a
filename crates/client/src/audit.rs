//! The audit log: who did what to which object. For an operator's key.

use foreman_protocol::document::{AuditDocument, ListDocument};
use serde::Serialize;

use crate::{CALL_TIMEOUT, Client, Error};

#[derive(Serialize)]
struct AuditQuery<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
}

impl Client {
    /// One page, the newest first, of one tenant or of all; `after` is `next` of the page before.
    pub async fn audit(
        &self,
        tenant: Option<&str>,
        limit: usize,
        after: Option<&str>,
    ) -> Result<ListDocument<AuditDocument>, Error> {
        self.get_json(&["audit"], &AuditQuery { tenant, limit, cursor: after }, CALL_TIMEOUT).await
    }
}
