//! Who runs beside whom.
//!
//! A promise about time is measured with nothing else on the machine that this suite has put there; everything else may
//! run side by side.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static STAGE: RwLock<()> = RwLock::const_new(());

/// For a test that measures time.
pub async fn alone() -> RwLockWriteGuard<'static, ()> {
    STAGE.write().await
}

/// For every other test.
pub async fn beside() -> RwLockReadGuard<'static, ()> {
    STAGE.read().await
}
