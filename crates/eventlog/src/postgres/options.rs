//! What a worker can be told, with what it does untold.

use std::sync::Arc;
use std::time::Duration;

use crate::observer::{Observer, Unobserved};
use crate::postgres::assign::{Assign, Sticky};

/// How a worker learns that there is something new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Dispatcher {
    /// Asks for the frontier every `dispatcher_interval`.
    #[default]
    Poll,
    /// Listens, and asks every second besides, because a notification may be lost.
    Notify {
        /// The address of a direct connection: a pooler in transaction mode does not pass notifications on.
        connection_string: String,
        channel: String,
    },
}

#[derive(Clone)]
pub(crate) struct Options {
    pub batch_size: usize,
    pub poll_interval: Duration,
    pub max_poll_interval: Duration,
    pub batch_pause: Duration,
    pub batch_timeout: Duration,
    pub detached_apply_timeout: Duration,
    pub checkpoint_timeout: Duration,
    pub heartbeat_interval: Duration,
    pub heartbeat_timeout: Duration,
    pub rebalance_interval: Duration,
    pub assignment_sync: Duration,
    pub dispatcher: Dispatcher,
    pub dispatcher_interval: Duration,
    pub max_consecutive_failures: u32,
    pub shutdown_timeout: Duration,
    pub standstill_threshold: Duration,
    pub assign: Arc<dyn Assign>,
    pub observer: Arc<dyn Observer>,
}

impl Default for Options {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self {
            batch_size: 100,
            poll_interval: secs(1),
            max_poll_interval: secs(30),
            batch_pause: Duration::from_millis(200),
            batch_timeout: secs(30),
            detached_apply_timeout: secs(30),
            checkpoint_timeout: secs(5),
            heartbeat_interval: secs(5),
            heartbeat_timeout: secs(30),
            rebalance_interval: secs(5),
            assignment_sync: secs(2),
            dispatcher: Dispatcher::Poll,
            dispatcher_interval: Duration::from_millis(200),
            max_consecutive_failures: 5,
            shutdown_timeout: secs(5),
            standstill_threshold: secs(5),
            assign: Arc::new(Sticky),
            observer: Arc::new(Unobserved),
        }
    }
}
