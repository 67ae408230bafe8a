//! Keeps messages that cannot be read, so that a person can see what they were.
//!
//! The bytes of a message are kept first and its offset is committed after that: when the process dies between the two, the same message
//! arrives again and is kept in the same place. While keeping fails it is tried again, and nothing is skipped; the topics stop when
//! enough wait ([`crate::inbox`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::ports::{AnnounceStore, PARKED_BYTES, ParkedMessage, StoreError};
use foreman_runtime::{Backoff, Shutdown};
use rdkafka::Message;
use rdkafka::message::BorrowedMessage;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::feed::Arrivals;
use crate::message::Undecodable;

/// Of each key at most so much is kept.
const KEY_KEPT: usize = 1024;

/// So many are kept with one call.
const AT_ONCE: usize = 50;

/// Where messages are kept that cannot be read. Kept again under the same topic, partition and offset, a message changes nothing.
#[async_trait]
pub trait Parking: Send + Sync {
    async fn park(&self, messages: &[ParkedMessage]) -> Result<(), StoreError>;
}

/// In the store.
pub struct ParkInStore(pub Arc<dyn AnnounceStore>);

#[async_trait]
impl Parking for ParkInStore {
    async fn park(&self, messages: &[ParkedMessage]) -> Result<(), StoreError> {
        self.0.park(messages).await
    }
}

/// A message as it is kept: cut here already, for it may have to wait for the store.
pub(crate) fn parked(message: &BorrowedMessage<'_>, why: &Undecodable) -> ParkedMessage {
    let bytes = message.payload().unwrap_or_default();
    let cut = |bytes: &[u8], most: usize| bytes[..bytes.len().min(most)].to_vec();
    ParkedMessage {
        topic: message.topic().to_owned(),
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(|key| cut(key, KEY_KEPT)),
        bytes: cut(bytes, PARKED_BYTES),
        size: bytes.len() as u64,
        reason: why.to_string(),
    }
}

/// Until everything is parked and the feed is closing.
pub(crate) async fn run(arrivals: Arc<Arrivals>, parking: Arc<dyn Parking>, shutdown: Shutdown) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    let mut unreadable = arrivals.unreadable();
    loop {
        unreadable.mark_unchanged();
        let messages = arrivals.inbox().unreadable(AT_ONCE);
        if messages.is_empty() {
            tokio::select! {
                biased;
                () = shutdown.draining() => return,
                rung = unreadable.changed() => if rung.is_err() { return },
            }
            continue;
        }
        match parking.park(&messages).await {
            Ok(()) => {
                if backoff.failures() > 0 {
                    info!("messages that cannot be read can be kept again");
                }
                backoff.reset();
                arrivals.inbox().parked(messages.len());
                arrivals.health.parked.fetch_add(messages.len() as u64, Ordering::Relaxed);
            }
            Err(error) => {
                if backoff.failures() == 0 {
                    warn!("could not keep {} messages that cannot be read, trying again: {error}", messages.len());
                }
                tokio::select! {
                    biased;
                    () = shutdown.draining() => return,
                    () = sleep(backoff.next()) => {}
                }
            }
        }
    }
}
