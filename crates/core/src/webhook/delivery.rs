//! A delivery: the job that carries a message.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{KIND, Message, QUEUE};
use crate::id::{JobId, TenantId};
use crate::job::{NewJob, QueueName, Start, Work};
use crate::lane::Lane;
use crate::ports::NewDelivery;
use crate::retry::{Backoff, DELIVERY_WAITS};
use crate::target::{Addressee, WebhookTarget};

/// Of one try: long enough for a receiver that wakes up first, short enough to hold no worker.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// How a message travels.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub to: Addressee,
    pub lane: Lane,
    /// The job the message is about.
    pub about: Option<JobId>,
    pub correlation_id: Option<String>,
    pub max_attempts: u32,
    pub wish: Wish,
}

/// Whether an endpoint wants to hear of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wish {
    /// It did when the delivery was made.
    #[default]
    Known,
    /// Whoever made the delivery could not read the endpoint. The worker that can asks it before it sends.
    Unknown,
}

impl Wish {
    pub fn is_known(&self) -> bool {
        *self == Wish::Known
    }
}

impl Dispatch {
    /// Tried as often as there are waits, and once before them.
    pub fn to(to: Addressee) -> Self {
        let max_attempts = u32::try_from(DELIVERY_WAITS.len() + 1).expect("a short list");
        Self { to, lane: Lane::default(), about: None, correlation_id: None, max_attempts, wish: Wish::Known }
    }
}

impl Message {
    /// The delivery that carries it, as a job of its own with a fresh id.
    pub fn deliver(&self, tenant: &TenantId, dispatch: Dispatch) -> serde_json::Result<NewDelivery> {
        let Dispatch { to, lane, about, correlation_id, max_attempts, wish } = dispatch;
        let webhook = to.endpoint();
        let body = RawValue::from_string(serde_json::to_string(self)?)?;
        let work = Work {
            target: WebhookTarget { to, event: self.event, wish, body }.into(),
            kind: Some(KIND.into()),
            queue: QueueName::from_stored(QUEUE),
            lane,
            max_attempts,
            // For show: the waits of a delivery are listed, see `Target::pace`.
            backoff: Backoff { base: DELIVERY_WAITS[0], factor: 1.0, cap: DELIVERY_WAITS[DELIVERY_WAITS.len() - 1] },
            timeout: TIMEOUT,
            expires_at: None,
            callback_url: None,
            correlation_id,
            tags: Vec::new(),
            idempotency_key: None,
            occasion: None,
        };
        let job = NewJob {
            id: JobId::fresh(),
            tenant: tenant.clone(),
            work: Arc::new(work),
            start: Start::Now,
            idempotency: None,
        };
        Ok(NewDelivery { job, webhook, event: self.event, about })
    }
}
