//! One consumer, or one shard of it, at work: batch after batch, with pauses that fit.
//!
//! It looks when the frontier moves, when its worker says that its checkpoint may have been changed, and seldom by itself. Nothing that
//! a handler does ends it but a pause; a pause, a stop and a lost ownership do, and the worker starts it again when that is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use foreman_runtime::Shutdown;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{debug, info};

use super::batch::{Outcome, UnitState};
use super::consumer::Registered;
use super::worker::Inner;

/// Where a consumer believes its checkpoint to be. Its worker compares, and wakes it when someone has moved it.
#[derive(Default)]
pub(crate) struct CheckpointWatch {
    position: AtomicI64,
    moved: Notify,
}

impl CheckpointWatch {
    pub fn note(&self, position: i64) {
        self.position.store(position, Ordering::Release);
    }

    /// A batch that has just ended looks moved too, and is looked at once in vain.
    pub fn compare(&self, stored: i64) {
        if self.position.load(Ordering::Acquire) != stored {
            self.moved.notify_one();
        }
    }
}

pub(crate) async fn run(
    inner: Arc<Inner>,
    consumer: Arc<Registered>,
    shard: i32,
    epoch: i64,
    look: Arc<CheckpointWatch>,
    shutdown: Shutdown,
) {
    info!(consumer = consumer.name, shard, epoch, "consumer started");
    let mut frontier = inner.frontier.subscribe();
    let (base, longest) = (inner.options.poll_interval, inner.options.max_poll_interval);
    let mut pace = base;
    let mut state = UnitState::new(Arc::clone(&inner), Arc::clone(&consumer), shard, epoch, Arc::clone(&look));
    while !shutdown.is_draining() {
        let bound = frontier.borrow_and_update().position;
        let outcome = tokio::select! {
            biased;
            // What the batch has written is rolled back with its connection, which is closed.
            () = shutdown.aborting() => break,
            outcome = state.batch(bound) => outcome,
        };
        let (pause, can_be_woken) = match outcome {
            Outcome::Advanced { is_full: true } => {
                pace = base;
                (inner.options.batch_pause, false)
            }
            Outcome::Advanced { is_full: false } => {
                pace = base;
                (pace, true)
            }
            Outcome::Idle => {
                pace = (pace * 2).min(longest);
                (pace, true)
            }
            Outcome::Again => (Duration::ZERO, false),
            Outcome::Failed { pause } => (pause, false),
            Outcome::Stopped => break,
        };
        if pause.is_zero() {
            // The other tasks of this thread have their turn.
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            biased;
            () = shutdown.draining() => break,
            changed = frontier.changed(), if can_be_woken => if changed.is_err() { break },
            () = look.moved.notified(), if can_be_woken => debug!(consumer = consumer.name, shard, "looking at the checkpoint"),
            () = sleep(pause) => {}
        }
    }
    info!(consumer = consumer.name, shard, "consumer stopped");
}
