//! Queues, and the workers that serve them.

use foreman_protocol::document::{ListDocument, QueueDocument, WorkerDocument};
use reqwest::Method;

use crate::{CALL_TIMEOUT, Client, Error};

impl Client {
    pub async fn queues(&self) -> Result<ListDocument<QueueDocument>, Error> {
        self.get_json(&["queues"], &(), CALL_TIMEOUT).await
    }

    /// Stops a queue's jobs from being started; what is running goes on.
    pub async fn pause(&self, queue: &str) -> Result<(), Error> {
        self.call_blind(Method::POST, &["queues", queue, "pause"]).await
    }

    pub async fn resume(&self, queue: &str) -> Result<(), Error> {
        self.call_blind(Method::POST, &["queues", queue, "resume"]).await
    }

    /// Worker sessions: the living first, then the newest.
    pub async fn workers(&self) -> Result<ListDocument<WorkerDocument>, Error> {
        self.get_json(&["workers"], &(), CALL_TIMEOUT).await
    }
}
