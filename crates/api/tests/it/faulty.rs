//! The reference store with a switch: while a fault is set, every verb fails with it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use foreman_core::ports::intercept::{Call, Hook, Intercepted, Verb};
use foreman_core::ports::{
    Cursor, JobFilter, JobStore, JobSummary, Labels, Page, ScheduleView, Settlement, StateCounts, StoreError,
};
use foreman_core::schedule::ScheduleKey;
use foreman_core::{JobId, SessionId, State, TenantId, memory};

/// The store, with the switches of [`Faults`].
pub type Faulty = Intercepted<memory::Store, Faults>;

#[derive(Clone)]
pub enum Fault {
    Error(StoreError),
    Panic,
    /// It never answers.
    Hang,
}

pub struct Faults {
    store: memory::Store,
    fault: Mutex<Option<Fault>>,
    /// Calls that succeed in spite of the fault.
    spared: AtomicUsize,
    met: AtomicUsize,
    /// What a schedule says cannot be read; where it stands can.
    spoilt: AtomicBool,
    /// Nobody learns what jobs are called.
    nameless: AtomicBool,
    /// How often jobs were counted by their states.
    looks: AtomicUsize,
    moves: Mutex<Vec<Move>>,
}

/// What a worker reports just before the jobs of a state are listed.
struct Move {
    before: State,
    session: SessionId,
    settlements: Vec<Settlement>,
}

type Answer<T> = Result<T, StoreError>;

/// The store, with no fault yet.
pub fn faulty(store: memory::Store) -> Faulty {
    let faults = Faults {
        store: store.clone(),
        fault: Mutex::default(),
        spared: AtomicUsize::new(0),
        met: AtomicUsize::new(0),
        spoilt: AtomicBool::new(false),
        nameless: AtomicBool::new(false),
        looks: AtomicUsize::new(0),
        moves: Mutex::default(),
    };
    Intercepted::new(Arc::new(store), faults)
}

impl Faults {
    pub fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// As if a later version had written every schedule.
    pub fn spoil_schedules(&self, is_spoilt: bool) {
        self.spoilt.store(is_spoilt, Ordering::SeqCst);
    }

    /// Only the question for labels fails.
    pub fn fail_labels(&self, is_failing: bool) {
        self.nameless.store(is_failing, Ordering::SeqCst);
    }

    /// The same, but the next so many calls succeed.
    pub fn set_after(&self, calls: usize, fault: Option<Fault>) {
        self.spared.store(calls, Ordering::SeqCst);
        self.set(fault);
    }

    fn is_spared(&self) -> bool {
        self.spared.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }

    /// Once, before the jobs in the state `before` are listed, the worker reports this.
    pub fn settle_before_listing(&self, before: State, session: SessionId, settlements: Vec<Settlement>) {
        self.moves.lock().unwrap().push(Move { before, session, settlements });
    }

    async fn make_the_moves(&self, listed: Option<State>) {
        let due: Vec<Move> = self.moves.lock().unwrap().extract_if(.., |one| Some(one.before) == listed).collect();
        for one in due {
            self.store.settle(one.session, &one.settlements).await.unwrap();
        }
    }

    /// How many calls have failed so far.
    pub fn faults_met(&self) -> usize {
        self.met.load(Ordering::SeqCst)
    }

    /// How often somebody asked how many jobs are in each state.
    pub fn looks(&self) -> usize {
        self.looks.load(Ordering::SeqCst)
    }

    async fn check(&self) -> Answer<()> {
        let fault = self.fault.lock().unwrap().clone().filter(|_| !self.is_spared());
        if fault.is_some() {
            self.met.fetch_add(1, Ordering::SeqCst);
        }
        match fault {
            None => Ok(()),
            Some(Fault::Error(error)) => Err(error),
            Some(Fault::Panic) => panic!("the store panicked, as it was told to"),
            Some(Fault::Hang) => std::future::pending().await,
        }
    }
}

impl Hook for Faults {
    async fn around<T: Send>(&self, _: Verb, call: impl Call<T>) -> Answer<T> {
        self.check().await?;
        call.await
    }

    async fn list(
        &self,
        _: &TenantId,
        filter: &JobFilter,
        _: Option<&Cursor>,
        _: usize,
        call: impl Call<Page<JobSummary>>,
    ) -> Answer<Page<JobSummary>> {
        self.make_the_moves(filter.state).await;
        self.around(Verb::List, call).await
    }

    async fn states(&self, _: &TenantId, _: u64, call: impl Call<StateCounts>) -> Answer<StateCounts> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.around(Verb::States, call).await
    }

    async fn labels(&self, _: &[JobId], call: impl Call<Vec<Labels>>) -> Answer<Vec<Labels>> {
        if self.nameless.load(Ordering::SeqCst) {
            self.met.fetch_add(1, Ordering::SeqCst);
            return Err(StoreError::Unavailable("nobody knows".into()));
        }
        self.around(Verb::Labels, call).await
    }

    async fn schedule(
        &self,
        _: &TenantId,
        _: &ScheduleKey,
        call: impl Call<Option<ScheduleView>>,
    ) -> Answer<Option<ScheduleView>> {
        if self.spoilt.load(Ordering::SeqCst) {
            return Err(StoreError::Damaged("secret: moon".into()));
        }
        self.around(Verb::Schedule, call).await
    }
}
