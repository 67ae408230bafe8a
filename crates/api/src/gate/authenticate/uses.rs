//! Notes when keys were used, in the background: at most once a minute for each, many together.
//!
//! What cannot be written is dropped, and noted again with a later use: nobody waits for it and nothing depends on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::key::{KeyId, KeyRecord};
use foreman_core::ports::Tenancy;
use foreman_runtime::Tasks;
use tokio::time::Instant;

const EVERY: Duration = Duration::from_mins(1);

/// Keys remembered as noted, and keys waiting to be: beyond that a use goes unnoted.
const MOST: usize = 10_000;
const MOST_WAITING: usize = 1_000;

pub(super) struct Uses {
    tenancy: Arc<dyn Tenancy>,
    tasks: Tasks,
    state: Mutex<KeyUses>,
}

#[derive(Default)]
struct KeyUses {
    noted: HashMap<KeyId, Instant>,
    waiting: Vec<KeyId>,
    is_writing: bool,
}

impl Uses {
    pub fn new(tenancy: Arc<dyn Tenancy>, tasks: Tasks) -> Arc<Self> {
        Arc::new(Self { tenancy, tasks, state: Mutex::default() })
    }

    /// The key was used at `now`, by the store's clock.
    pub fn note(self: &Arc<Self>, key: &KeyRecord, now: Timestamp) {
        // Another process may have noted it.
        if key.last_used_at.is_some_and(|noted| now.since(noted) < EVERY) {
            return;
        }
        let mut state = self.lock();
        if state.noted.get(&key.id).is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        if state.noted.len() >= MOST {
            state.noted.retain(|_, at| at.elapsed() < EVERY);
        }
        if state.noted.len() >= MOST || state.waiting.len() >= MOST_WAITING {
            return;
        }
        state.noted.insert(key.id.clone(), Instant::now());
        state.waiting.push(key.id.clone());
        if !state.is_writing {
            state.is_writing = true;
            drop(self.tasks.spawn("note keys used", Arc::clone(self).write()));
        }
    }

    /// Until nothing waits. A store that panics leaves the flag up: then no use is noted any more, which nobody misses as
    /// much as a process that tries it at every request.
    async fn write(self: Arc<Self>) {
        loop {
            let waiting = {
                let mut state = self.lock();
                state.is_writing = !state.waiting.is_empty();
                if !state.is_writing {
                    return;
                }
                std::mem::take(&mut state.waiting)
            };
            if let Err(error) = self.tenancy.note_keys_used(&waiting).await {
                tracing::debug!("cannot record that {} keys were used: {error}", waiting.len());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeyUses> {
        // Nothing in here can panic half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
