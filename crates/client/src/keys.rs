//! A tenant's keys. A key is told once, in the answer that made it.

use foreman_protocol::document::{KeyDocument, ListDocument, MadeKeyDocument, NewKeyDocument, RotateKeyDocument};
use reqwest::Method;

use crate::call::PageQuery;
use crate::{CALL_TIMEOUT, Client, Error};

impl Client {
    pub async fn create_key(&self, tenant: &str, key: &NewKeyDocument) -> Result<MadeKeyDocument, Error> {
        self.post_json(&["tenants", tenant, "keys"], key, CALL_TIMEOUT).await
    }

    pub async fn key(&self, tenant: &str, id: &str) -> Result<KeyDocument, Error> {
        self.get_json(&["tenants", tenant, "keys", id], &(), CALL_TIMEOUT).await
    }

    /// One page, by id, with those that open nothing any more; `after` is `next` of the page before.
    pub async fn keys(
        &self,
        tenant: &str,
        limit: usize,
        after: Option<&str>,
    ) -> Result<ListDocument<KeyDocument>, Error> {
        self.get_json(&["tenants", tenant, "keys"], &PageQuery { limit, cursor: after }, CALL_TIMEOUT).await
    }

    /// It opens nothing any more, on every process within five seconds.
    pub async fn revoke_key(&self, tenant: &str, id: &str) -> Result<(), Error> {
        self.call_blind(Method::DELETE, &["tenants", tenant, "keys", id]).await
    }

    /// Makes a key that is good for the same; the old one goes on for a while.
    pub async fn rotate_key(&self, tenant: &str, id: &str, how: &RotateKeyDocument) -> Result<MadeKeyDocument, Error> {
        self.post_json(&["tenants", tenant, "keys", id, "rotate"], how, CALL_TIMEOUT).await
    }
}
