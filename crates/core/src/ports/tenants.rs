//! Tenants as they are kept.
//!
//! A tenant is changed only while it is at the version that was seen, so that of two administrators at once the second
//! looks again. Every change has an id of its own: one whose answer was lost is sent again and done once.
//!
//! Deleting asks for a tenant that is disabled and owns no job and no schedule any more; it takes the keys along and
//! keeps the id from being used again. A process that has not heard of it yet may still write under that id: nobody will
//! ever own it.

use async_trait::async_trait;

use super::StoreError;
use crate::id::{EditId, TenantId};
use crate::tenant::{Tenant, TenantSettings};

#[async_trait]
pub trait TenantStore: Send + Sync {
    /// Sent again under the same id of the edit it answers [`CreateTenantAnswer::Created`] again and changes nothing.
    async fn create_tenant(&self, new: &NewTenant) -> Result<CreateTenantAnswer, StoreError>;

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, StoreError>;

    /// By id, those after `after`, at most `limit` that this version can read. The default one is among them. Those that it cannot
    /// read are named beside them and do not shorten the page.
    async fn tenants(&self, after: Option<&TenantId>, limit: usize) -> Result<TenantPage, StoreError>;

    /// Changes a tenant, only while it is at the version that was seen. Sent again it answers
    /// [`UpdateTenantAnswer::Updated`] again, unless another change came after it. From then on nothing of a disabled
    /// tenant is claimed or due; when it is enabled, whoever claims and fires is woken.
    async fn update_tenant(&self, update: &TenantUpdate) -> Result<UpdateTenantAnswer, StoreError>;

    /// Removes a tenant and its keys, under the same condition. Sent again it answers [`DeleteTenantAnswer::Deleted`]
    /// again.
    async fn delete_tenant(&self, id: &TenantId, version: i64) -> Result<DeleteTenantAnswer, StoreError>;
}

/// A page of tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantPage {
    pub readable: Vec<Tenant>,
    /// Tenants between them that a later version has written, as in the middle of an upgrade.
    pub unreadable: Vec<TenantId>,
}

#[derive(Clone, Debug)]
pub struct NewTenant {
    pub edit: EditId,
    pub id: TenantId,
    pub settings: TenantSettings,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateTenantAnswer {
    /// As it stands now.
    Created(Tenant),
    /// There is one of this id, or there was.
    Taken,
}

/// The whole of its settings as they shall be from now on.
#[derive(Clone, Debug)]
pub struct TenantUpdate {
    pub edit: EditId,
    pub tenant: TenantId,
    /// The version that was seen.
    pub version: i64,
    pub settings: TenantSettings,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateTenantAnswer {
    Updated(Tenant),
    /// It is at another version: look again, decide again.
    Stale,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteTenantAnswer {
    Deleted,
    Stale,
    Gone,
    /// Disable it first.
    Enabled,
    /// It still owns a job or a schedule.
    InUse,
    /// It is the default one.
    Permanent,
}
