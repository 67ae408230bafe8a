//! Tenants and keys in the reference store, with a count of the questions, a switch for faults and a gate before changes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use foreman_core::audit::Act;
use foreman_core::key::{KeyHash, KeyId};
use foreman_core::ports::intercept::{Call, Hook, Intercepted, Verb};
use foreman_core::ports::{AtTheDoor, Pass, StoreError, TenantUpdate, UpdateTenantAnswer};
use foreman_core::{EntryId, memory};
use tokio::sync::Semaphore;

type Answer<T> = Result<T, StoreError>;

/// The store, with the counts and switches of [`Watch`].
pub type Registry = Intercepted<memory::Store, Watch>;

pub struct Watch {
    looked_up: AtomicUsize,
    pub noted: AtomicUsize,
    passes: AtomicUsize,
    /// Changes of tenants that have begun.
    pub changes: AtomicUsize,
    /// Closed: a change of a tenant waits before it is made.
    pub gate: Semaphore,
    fault: Mutex<Option<StoreError>>,
    trail_fault: Mutex<Option<StoreError>>,
}

/// The store, with an open gate and no fault yet.
pub fn registry(store: memory::Store) -> Registry {
    let watch = Watch {
        looked_up: AtomicUsize::new(0),
        noted: AtomicUsize::new(0),
        passes: AtomicUsize::new(0),
        changes: AtomicUsize::new(0),
        gate: Semaphore::new(1_000),
        fault: Mutex::default(),
        trail_fault: Mutex::default(),
    };
    Intercepted::new(Arc::new(store), watch)
}

impl Watch {
    pub fn set(&self, fault: Option<StoreError>) {
        *self.fault.lock().unwrap() = fault;
    }

    pub fn set_trail(&self, fault: Option<StoreError>) {
        *self.trail_fault.lock().unwrap() = fault;
    }

    pub fn looked_up(&self) -> usize {
        self.looked_up.load(Ordering::SeqCst)
    }

    /// How often somebody asked whose a session is.
    pub fn passes_asked(&self) -> usize {
        self.passes.load(Ordering::SeqCst)
    }

    fn check(&self) -> Answer<()> {
        self.fault.lock().unwrap().clone().map_or(Ok(()), Err)
    }
}

impl Hook for Watch {
    async fn around<T: Send>(&self, _: Verb, call: impl Call<T>) -> Answer<T> {
        self.check()?;
        call.await
    }

    async fn update_tenant(&self, _: &TenantUpdate, call: impl Call<UpdateTenantAnswer>) -> Answer<UpdateTenantAnswer> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        let _open = self.gate.acquire().await.unwrap();
        self.around(Verb::UpdateTenant, call).await
    }

    async fn look_up_key(&self, _: &KeyId, call: impl Call<Option<AtTheDoor>>) -> Answer<Option<AtTheDoor>> {
        self.looked_up.fetch_add(1, Ordering::SeqCst);
        self.around(Verb::LookUpKey, call).await
    }

    async fn note_keys_used(&self, ids: &[KeyId], call: impl Call<()>) -> Answer<()> {
        self.noted.fetch_add(ids.len(), Ordering::SeqCst);
        self.around(Verb::NoteKeysUsed, call).await
    }

    async fn pass(&self, _: &KeyHash, call: impl Call<Option<Pass>>) -> Answer<Option<Pass>> {
        self.passes.fetch_add(1, Ordering::SeqCst);
        self.around(Verb::Pass, call).await
    }

    async fn record(&self, _: EntryId, _: &Act, call: impl Call<()>) -> Answer<()> {
        self.check()?;
        if let Some(error) = self.trail_fault.lock().unwrap().clone() {
            return Err(error);
        }
        call.await
    }
}
