//! Tenants, for who runs the server: an operator's key is needed for all of it, but for [`Client::whoami`].
//!
//! Where a version can be given, the call does something only if the tenant is at that version, and is refused with status 412 otherwise.

use foreman_protocol::document::{
    ListDocument, NewTenantDocument, RotateSecretDocument, SecretDocument, TenantDocument, WhoamiDocument,
};
use reqwest::Method;
use serde::Serialize;

use crate::call::PageQuery;
use crate::{CALL_TIMEOUT, Client, Error};

impl Client {
    /// Whom the server takes this client for.
    pub async fn whoami(&self) -> Result<WhoamiDocument, Error> {
        self.get_json(&["whoami"], &(), CALL_TIMEOUT).await
    }

    /// Makes a tenant; refused with status 409 when its id is taken, or was.
    pub async fn create_tenant(&self, tenant: &NewTenantDocument) -> Result<TenantDocument, Error> {
        self.post_json(&["tenants"], tenant, CALL_TIMEOUT).await
    }

    pub async fn tenant(&self, id: &str) -> Result<TenantDocument, Error> {
        self.get_json(&["tenants", id], &(), CALL_TIMEOUT).await
    }

    /// One page, by id; `after` is `next` of the page before.
    pub async fn tenants(&self, limit: usize, after: Option<&str>) -> Result<ListDocument<TenantDocument>, Error> {
        self.get_json(&["tenants"], &PageQuery { limit, cursor: after }, CALL_TIMEOUT).await
    }

    /// Changes the fields that are given: a JSON object in which `null` sets a field back, and so inside `limits`.
    pub async fn update_tenant(
        &self,
        id: &str,
        patch: &impl Serialize,
        version: Option<i64>,
    ) -> Result<TenantDocument, Error> {
        self.send_if(Method::PATCH, &["tenants", id], Some(patch), version).await
    }

    /// Removes a tenant and its keys. It must be disabled and own no job and no schedule.
    pub async fn delete_tenant(&self, id: &str, version: Option<i64>) -> Result<(), Error> {
        self.call_blind_if(Method::DELETE, &["tenants", id], version).await
    }

    /// Makes the secret that the tenant's pushes are signed with, or another in place of the one there is. Shown once.
    pub async fn rotate_tenant_secret(&self, id: &str, how: &RotateSecretDocument) -> Result<SecretDocument, Error> {
        self.post_json(&["tenants", id, "signing-secret"], how, CALL_TIMEOUT).await
    }

    /// Nothing of the tenant's is signed any more.
    pub async fn delete_tenant_secret(&self, id: &str) -> Result<(), Error> {
        self.call_blind(Method::DELETE, &["tenants", id, "signing-secret"]).await
    }
}
