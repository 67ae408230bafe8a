//! The promises of the ports, as tests every store must pass.
//!
//! Each promise is a plain async function that takes a fresh [`Subject`] and panics when the promise is broken. The
//! macro at the end of this file stamps all of them onto a store, so each reports by name for each backend.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::ports::{Store, Wakeups};

/// A fresh, empty store, and its clock in the test's hands.
#[async_trait]
pub trait Subject: Send + Sync {
    fn store(&self) -> Arc<dyn Store>;

    /// What the store rings after its commits.
    fn wakeups(&self) -> Arc<dyn Wakeups>;

    /// Lets time pass on the store's clock.
    async fn advance(&self, by: Duration);
}
