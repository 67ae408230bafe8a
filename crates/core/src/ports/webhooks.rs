//! Webhooks as they are kept, and what is listed of their deliveries.
//!
//! Endpoints are changed like tenants: by the version that was seen, under an id of the edit. Their health is none of that: it
//! is noted by the courier and raises no version, so that a failing endpoint can be edited.
//!
//! The courier is a follower of the change log: its deliveries are an effect of its move ([`super::Effect::Deliveries`]).

use async_trait::async_trait;

use super::StoreError;
use super::upkeep::Leader;
use crate::id::{EditId, JobId, TenantId, WebhookId};
use crate::job::NewJob;
use crate::signing::SigningKeys;
use crate::time::Timestamp;
use crate::webhook::{Event, Webhook, WebhookSettings};

#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Sent again with the same id it answers [`CreateWebhookAnswer::Created`] again and changes nothing.
    async fn create_webhook(&self, new: &NewWebhook) -> Result<CreateWebhookAnswer, StoreError>;

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError>;

    /// By id, those after `after`, at most `limit`.
    async fn webhooks(
        &self,
        tenant: &TenantId,
        after: Option<WebhookId>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError>;

    /// All that are enabled, of all these tenants: whom the courier has to tell. One that cannot be read is named beside them.
    async fn webhooks_of(&self, tenants: &[TenantId]) -> Result<Endpoints, StoreError>;

    /// Changes an endpoint, only while it is at the version that was seen. Enabling it begins its health anew. Sent again it
    /// answers [`UpdateWebhookAnswer::Updated`] again, unless another change came after it.
    async fn update_webhook(&self, update: &WebhookUpdate) -> Result<UpdateWebhookAnswer, StoreError>;

    /// Removes an endpoint and what is listed of its deliveries; their jobs stay, and fail for want of an endpoint. `false` when
    /// there is none.
    async fn delete_webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<bool, StoreError>;

    /// Notes how deliveries went, in the order given. Answers the endpoints that this disabled, as they stand now; one that is
    /// disabled already, or gone, is passed by. Disabling is a change like any other: it raises the version.
    ///
    /// Notes come twice and out of order, and the times of the tries decide. A try that ended no later than the latest
    /// arrival noted, or than the moment its endpoint was last enabled, says nothing any more. An arrival ends the failing
    /// unless all of that came after it; a failure from before the first one known moves the beginning back.
    ///
    /// An endpoint that cannot be read is passed by too.
    async fn note_deliveries(&self, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, StoreError>;

    /// The same by a leader: `None`, and nothing is noted, when its term is over. A store that one process has for itself has no
    /// terms.
    async fn note_deliveries_as(
        &self,
        _leader: &Leader,
        notes: &[DeliveryNote],
    ) -> Result<Option<Vec<Webhook>>, StoreError> {
        self.note_deliveries(notes).await.map(Some)
    }

    /// Makes one delivery beside the courier, as for a test. Sent again with the same ids it is made once.
    async fn post_one(&self, delivery: &NewDelivery) -> Result<(), StoreError>;

    /// Which of these jobs asked for a callback; of whatever tenant.
    async fn with_callback(&self, jobs: &[JobId]) -> Result<Vec<JobId>, StoreError>;

    /// An endpoint's deliveries, the newest first, those before `before`, at most `limit`.
    async fn deliveries(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError>;

    /// One of an endpoint's deliveries.
    async fn delivery(&self, tenant: &TenantId, webhook: WebhookId, job: JobId)
    -> Result<Option<Delivery>, StoreError>;
}

/// The endpoints of some tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    pub readable: Vec<Webhook>,
    /// Written by a later version, as in the middle of an upgrade.
    pub unreadable: Vec<(TenantId, WebhookId)>,
}

#[derive(Clone, Debug)]
pub struct NewWebhook {
    pub id: WebhookId,
    pub tenant: TenantId,
    pub settings: WebhookSettings,
    pub signing: SigningKeys,
    /// So many may the tenant have.
    pub at_most: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateWebhookAnswer {
    /// As it stands now.
    Created(Webhook),
    TooMany,
}

/// The whole of it as it shall be from now on.
#[derive(Clone, Debug)]
pub struct WebhookUpdate {
    pub edit: EditId,
    pub tenant: TenantId,
    pub webhook: WebhookId,
    /// The version that was seen.
    pub version: i64,
    pub settings: WebhookSettings,
    pub signing: SigningKeys,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateWebhookAnswer {
    Updated(Webhook),
    /// It is at another version: look again, decide again.
    Stale,
    Gone,
}

/// How one try of a delivery went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryNote {
    pub tenant: TenantId,
    pub webhook: WebhookId,
    /// When the try ended.
    pub at: Timestamp,
    pub went: Went,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    Arrived,
    /// It is disabled when it has failed for [`crate::webhook::PATIENCE`] without an arrival, by the times of the tries.
    Failed,
    /// It answered 410: it is disabled at once.
    Gone,
}

/// A delivery: its job, and what is listed of it.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    pub job: NewJob,
    /// None for a callback: that is listed nowhere but among the jobs.
    pub webhook: Option<WebhookId>,
    pub event: Event,
    /// The job the message is about.
    pub about: Option<JobId>,
}

/// A delivery as it is listed; how it goes is a matter of its job, which may be gone already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The delivery's own.
    pub job: JobId,
    pub webhook: WebhookId,
    pub event: Event,
    pub about: Option<JobId>,
    pub created_at: Timestamp,
}
