//! Where work runs: a fixed number of slots, and an end that loses nothing.
//!
//! ```text
//!   accepting ──shutdown──▶ draining ──deadline──▶ aborted
//! ```
//!
//! *Accepting*: a slot first, then the work, so what is taken can always be started. *Draining*: no slot is given out and
//! work that is offered comes back to the one who offered it, who can hand it on; what runs goes on. *Aborted*: running
//! work is told to stop and has a second, bounded time to put itself in order; what does not return in it is dropped.
//!
//! Work that panics ends alone: its slot is freed, its neighbours notice nothing.
//!
//! The pool sleeps and spawns nothing by itself: both are handed in, so that the same code runs under a scheduler that
//! tries many interleavings. It lives in memory alone; what its death means for the work is for the owner of the work.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_runtime::Tasks;
use foreman_runtime::tasks::panic_message;
use futures_util::FutureExt;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::error;

/// How work is started.
pub trait Spawn: Send + Sync + 'static {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);
}

impl Spawn for Tasks {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // The pool itself waits for its work, and the tracker still counts it.
        drop(Tasks::spawn(self, "attempt", work));
    }
}

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEnd {
    Finished,
    /// It was stopped, and somebody else may do it.
    HandedBack,
}

/// What became of the work that was running when the pool was told to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    pub finished: usize,
    pub handed_back: usize,
    /// Panicked, or did not return in the time given: nobody knows how far it came.
    pub abandoned: usize,
}

impl Drained {
    /// Nothing was left behind.
    pub fn is_complete(&self) -> bool {
        self.abandoned == 0
    }
}

/// The pool; clones share it.
pub struct Pool<S: Spawn> {
    inner: Arc<Inner<S>>,
}

impl<S: Spawn> Clone for Pool<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

struct Inner<S> {
    size: usize,
    spawner: S,
    state: Mutex<PoolState>,
    /// A slot was freed, work ended, or the phase changed.
    changed: Notify,
    /// Work must stop.
    stop: CancellationToken,
    /// Work that did not stop is dropped.
    kill: CancellationToken,
}

#[derive(Debug)]
struct PoolState {
    is_accepting: bool,
    free: usize,
    running: usize,
    /// So many free slots somebody waits for. Until there are, nobody is woken: under load every end would be a wake-up.
    wanted_free: usize,
    /// What is still running was counted as abandoned.
    is_killed: bool,
    /// Counted from the moment of shutdown.
    drained: Drained,
}

impl<S: Spawn> Pool<S> {
    pub fn new(slots: usize, spawner: S) -> Self {
        let size = slots.max(1);
        let state = PoolState {
            is_accepting: true,
            free: size,
            running: 0,
            wanted_free: usize::MAX,
            is_killed: false,
            drained: Drained::default(),
        };
        let inner = Inner {
            size,
            spawner,
            state: Mutex::new(state),
            changed: Notify::new(),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Waits for a free slot and takes as many as are free, at most `most`. `None` once the pool takes no more work.
    /// Safe to drop and call again, as in `select!`.
    pub async fn slots(&self, most: usize) -> Option<Slots<S>> {
        self.when(|state| {
            if !state.is_accepting {
                return Some(None);
            }
            let count = state.free.min(most.max(1));
            state.free -= count;
            if count == 0 {
                state.want(1);
                return None;
            }
            Some(Some(Slots { pool: self.clone(), count }))
        })
        .await
    }

    /// Returns when at least `count` slots are free (or all of them, if there are fewer), or the pool takes no more work.
    pub async fn has_free(&self, count: usize) {
        let count = count.min(self.inner.size);
        self.when(|state| {
            if state.free < count && state.is_accepting {
                state.want(count);
                return None;
            }
            Some(())
        })
        .await;
    }

    /// Returns when nothing is running.
    pub async fn idle(&self) {
        self.when(|state| (state.running == 0).then_some(())).await;
    }

    pub fn size(&self) -> usize {
        self.inner.size
    }

    pub fn free(&self) -> usize {
        self.inner.lock().free
    }

    pub fn running(&self) -> usize {
        self.inner.lock().running
    }

    pub fn is_idle(&self) -> bool {
        self.running() == 0
    }

    /// Cancelled when running work must stop: each piece of work takes a child of it.
    pub fn stop(&self) -> &CancellationToken {
        &self.inner.stop
    }

    /// Takes no more work, waits for what runs until `deadline`, then tells it to stop and waits until `grace`, which
    /// begins only then, is over; what is left is dropped. Called twice, both calls end the same pool.
    pub async fn shutdown<G>(&self, deadline: impl Future<Output = ()>, grace: impl FnOnce() -> G) -> Drained
    where
        G: Future<Output = ()>,
    {
        self.inner.lock().is_accepting = false;
        self.inner.changed.notify_waiters();
        if !self.ends_before(deadline).await {
            self.inner.stop.cancel();
            if !self.ends_before(grace()).await {
                self.inner.kill.cancel();
                // Work that can be dropped is gone at its next step. Work that blocks its thread is beyond reach: it
                // stays counted as abandoned, and as running.
                let mut state = self.inner.lock();
                if !state.is_killed {
                    state.is_killed = true;
                    state.drained.abandoned += state.running;
                }
                return state.drained;
            }
        }
        self.inner.lock().drained
    }

    async fn ends_before(&self, moment: impl Future<Output = ()>) -> bool {
        tokio::select! {
            biased;
            () = self.idle() => true,
            () = moment => false,
        }
    }

    /// Registers for changes before it looks, so that none is missed.
    async fn when<T>(&self, mut look: impl FnMut(&mut PoolState) -> Option<T>) -> T {
        loop {
            let changed = self.inner.changed.notified();
            if let Some(found) = look(&mut self.inner.lock()) {
                return found;
            }
            changed.await;
        }
    }
}

impl PoolState {
    /// Said again at every look, for whoever is woken begins anew.
    fn want(&mut self, free: usize) {
        self.wanted_free = self.wanted_free.min(free);
    }

    /// Whether somebody waits for what has just happened. Who wants more than there is says so again.
    fn is_awaited(&mut self) -> bool {
        let is_awaited = self.free >= self.wanted_free || self.running == 0;
        if is_awaited {
            self.wanted_free = usize::MAX;
        }
        is_awaited
    }
}

impl<S> Inner<S> {
    /// The counts are whole after every line that holds the lock, so one that a panic poisoned is still true.
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Slots taken and not yet used. Dropped, they are free again.
pub struct Slots<S: Spawn> {
    pool: Pool<S>,
    count: usize,
}

impl<S: Spawn> Slots<S> {
    pub fn count(&self) -> usize {
        self.count
    }

    /// Starts work on `subject` in one of the slots. The subject comes back when the pool takes no more work, or when no
    /// slot is left: nothing was begun, and it can be handed on.
    pub fn run<T, W>(&mut self, subject: T, work: impl FnOnce(T) -> W) -> Result<(), T>
    where
        W: Future<Output = WorkEnd> + Send + 'static,
    {
        if self.count == 0 {
            return Err(subject);
        }
        {
            // Under one lock with the phase: work is either refused, or counted before shutdown looks.
            let mut state = self.pool.inner.lock();
            if !state.is_accepting {
                return Err(subject);
            }
            state.running += 1;
        }
        self.count -= 1;
        let running = RunningWork { inner: Arc::clone(&self.pool.inner), fate: None };
        // Boxed, for every layer that a future goes through on its way to its task copies it.
        self.pool.inner.spawner.spawn(running.see_through(Box::pin(work(subject))));
        Ok(())
    }
}

impl<S: Spawn> Drop for Slots<S> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.pool.inner.lock().free += self.count;
            self.pool.inner.changed.notify_waiters();
        }
    }
}

/// One piece of running work. Its slot is freed when this is dropped, however the work ends, even unpolled.
struct RunningWork<S> {
    inner: Arc<Inner<S>>,
    /// `None`: it panicked, or was dropped.
    fate: Option<WorkEnd>,
}

impl<S: Spawn> RunningWork<S> {
    async fn see_through(mut self, work: impl Future<Output = WorkEnd>) {
        let killed = self.inner.kill.clone();
        let ended = tokio::select! {
            biased;
            ended = AssertUnwindSafe(work).catch_unwind() => ended,
            () = killed.cancelled() => return,
        };
        match ended {
            Ok(fate) => self.fate = Some(fate),
            Err(panic) => error!("an attempt panicked: {}", panic_message(panic.as_ref())),
        }
    }
}

impl<S> Drop for RunningWork<S> {
    fn drop(&mut self) {
        let is_awaited = {
            let mut state = self.inner.lock();
            state.running -= 1;
            state.free += 1;
            if !state.is_accepting && !state.is_killed {
                match self.fate {
                    Some(WorkEnd::Finished) => state.drained.finished += 1,
                    Some(WorkEnd::HandedBack) => state.drained.handed_back += 1,
                    None => state.drained.abandoned += 1,
                }
            }
            state.is_awaited()
        };
        if is_awaited {
            self.inner.changed.notify_waiters();
        }
    }
}
