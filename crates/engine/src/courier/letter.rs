//! A delivery in the making: its job, its message, and an id that says what is told to whom.

use std::collections::HashSet;

use foreman_core::ports::NewDelivery;
use foreman_core::target::Addressee;
use foreman_core::webhook::{Dispatch, Message, Wish};
use foreman_core::{EntryId, JobId, Lane, TenantId, Timestamp, WebhookId, Work};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Config;

/// What a delivery has beside its message.
const ENVELOPE: usize = 512;

/// One message, to be sent to any number of addressees.
pub(super) struct Letter {
    tenant: TenantId,
    message: Message,
    /// What happened, so that the same is told once: made again from the same row of the log it is the same.
    occasion: Vec<u8>,
    about: Option<JobId>,
    lane: Lane,
    correlation_id: Option<String>,
}

impl Letter {
    pub(super) fn new(tenant: TenantId, message: Message, occasion: Vec<u8>) -> Self {
        Self { tenant, message, occasion, about: None, lane: Lane::default(), correlation_id: None }
    }

    /// What it tells of a job goes out as urgently as the job did, and is found by the same correlation.
    pub(super) fn about(self, job: JobId, work: &Work) -> Self {
        Self { about: Some(job), lane: work.lane, correlation_id: work.correlation_id.clone(), ..self }
    }

    fn to(&self, to: Addressee, wish: Wish) -> NewDelivery {
        let (about, lane, correlation_id) = (self.about, self.lane, self.correlation_id.clone());
        let dispatch = Dispatch { about, lane, correlation_id, wish, ..Dispatch::to(to) };
        let mut delivery =
            self.message.deliver(&self.tenant, dispatch).expect("a message is plain data with text keys");
        delivery.job.id = JobId(self.id(delivery.webhook));
        delivery
    }

    /// The same for the same news to the same addressee, and of the time it happened, so that it sorts and is kept with its
    /// contemporaries.
    fn id(&self, webhook: Option<WebhookId>) -> Uuid {
        let to = webhook.map_or([0; 16], |id| id.0.into_bytes());
        named(self.message.timestamp, &[self.tenant.as_str().as_bytes(), &self.occasion, &to])
    }
}

/// The entry of the audit log about what happened then.
pub(super) fn entry_id(at: Timestamp, occasion: &[u8]) -> EntryId {
    EntryId(named(at, &[b"audit", occasion]))
}

/// A UUID of version 7 that is made of what it names. Each part is hashed with its length before it, so that no two lists of
/// parts read the same.
fn named(at: Timestamp, parts: &[&[u8]]) -> Uuid {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    let mut bytes: [u8; 10] = hash[..10].try_into().expect("a hash has more than ten bytes");
    let micros = u64::try_from(at.as_micros()).unwrap_or(0);
    // What a millisecond is too long for goes into the twelve bits that follow it (RFC 9562, section 6.2, method 3).
    bytes[..2].copy_from_slice(&(u16::try_from(micros % 1_000).unwrap_or(0) * 4).to_be_bytes());
    uuid::Builder::from_unix_timestamp_millis(micros / 1_000, &bytes).into_uuid()
}

/// Deliveries that are not written yet.
#[derive(Default)]
pub(super) struct Bag {
    deliveries: Vec<NewDelivery>,
    /// Two slices of one round may both tell that an endpoint was disabled.
    ids: HashSet<JobId>,
    bytes: usize,
}

impl Bag {
    pub(super) fn put(&mut self, letter: &Letter, to: Addressee, wish: Wish) {
        let delivery = letter.to(to, wish);
        if !self.ids.insert(delivery.job.id) {
            return;
        }
        self.bytes += delivery.job.work.target.content_bytes() + ENVELOPE;
        self.deliveries.push(delivery);
    }

    pub(super) fn is_full(&self, config: &Config) -> bool {
        self.deliveries.len() >= config.most_deliveries.max(1) || self.bytes >= config.most_bytes
    }

    pub(super) fn take(&mut self) -> Vec<NewDelivery> {
        self.bytes = 0;
        self.ids.clear();
        std::mem::take(&mut self.deliveries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_news_to_the_same_addressee_has_one_name() {
        let at = Timestamp::from_micros(1_800_000_000_123_456);
        let name = named(at, &[b"a", b"b"]);
        assert_eq!(name, named(at, &[b"a", b"b"]));
        for other in [named(at, &[b"ab", b""]), named(at, &[b"", b"ab"]), named(at, &[b"b", b"a"]), named(at, &[b"a"])]
        {
            assert_ne!(name, other);
        }
        assert_eq!(name.get_version_num(), 7);
        let (seconds, nanos) = name.get_timestamp().expect("of version 7").to_unix();
        assert_eq!((seconds, nanos), (1_800_000_000, 123_000_000));
        let later = |micros: i64| named(Timestamp::from_micros(1_800_000_000_123_456 + micros), &[b"a", b"b"]);
        assert!(name < later(1) && later(1) < later(543) && later(543) < later(544), "it sorts by when it happened");
    }
}
