//! Many callers, few writes: what arrives while the store is busy is written together.
//!
//! Callers put their items into one shared buffer and wait. The loop takes what has gathered, writes it in one call and
//! answers each caller after the call that held its items. While one call is under way the next batch gathers, so the
//! batches grow with the load, and a lone caller waits for company only where its sink says so ([`Sink::gather`]):
//!
//! ```text
//!   caller ─┐                     ┌─ write ─▶ answers to its callers
//!   caller ─┼─▶ gathered ─ take ──┤
//!   caller ─┘   (bounded)         └─ write ─▶ …      at most `in_flight` at once
//! ```
//!
//! One mutex holds the buffer and whether it is closed, so an item that races the closing is either refused or will be
//! written: never both, never neither. A caller that goes away takes nothing back. When the loop dies half way its
//! callers are told that nobody knows what became of their items.
//!
//! Nothing in here sleeps or spawns: time belongs to the [`Sink`], so that the same code runs under a scheduler that
//! tries many interleavings.

use std::collections::VecDeque;
use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Notify, oneshot};

/// Where gathered items are written.
pub trait Sink: Send + Sync + 'static {
    type Item: Send + Sync + 'static;
    type Answer: Send + 'static;
    type Error: Clone + Send + 'static;

    /// Writes all items or none, and answers in their order. Sends again whatever is worth sending again.
    fn write(&self, items: &[Self::Item]) -> impl Future<Output = Result<Vec<Self::Answer>, Self::Error>> + Send;

    /// How long a batch may wait for company while another is being written.
    fn linger(&self) -> impl Future<Output = ()> + Send;

    /// How long a batch may wait for company while nothing is being written; as it comes, not at all. It is dropped and
    /// called again while it waits, so the wait is counted from a moment that the sink knows.
    fn gather(&self) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// Could one of the items be to blame? Then the batch is taken apart, so that its neighbours come through.
    fn blames_an_item(&self, error: &Self::Error) -> bool;

    /// The error for callers whose write did not answer for every item.
    fn miscounted(&self) -> Self::Error;
}

/// How much is gathered and written at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Items of one write. A caller's items are never divided, so a caller with more than this is written alone.
    pub batch: usize,
    /// Items that may wait; beyond it callers are refused.
    pub waiting: usize,
    /// Writes under way at once.
    pub in_flight: usize,
}

/// Why items were not taken. Nothing of them will be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoalescerRefusal {
    #[error("closed")]
    Closed,
    #[error("too much is waiting")]
    Full,
}

/// Why a caller has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered<E> {
    #[error(transparent)]
    Refused(#[from] CoalescerRefusal),
    /// The write itself said so.
    #[error("the write failed")]
    Failed(E),
    /// The loop ended before it could tell: the items may have been written or not.
    #[error("it is unknown whether it was written")]
    Unknown,
}

/// What was left when the loop ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Items that were never sent to the sink.
    pub unwritten: usize,
    /// Items whose write was under way when the loop gave up.
    pub unknown: usize,
}

/// The loop.
pub struct Coalescer<S: Sink> {
    sink: Arc<S>,
    door: Arc<Door<S>>,
    limits: BatchLimits,
}

/// The callers' end.
pub struct Handle<S: Sink> {
    door: Arc<Door<S>>,
}

impl<S: Sink> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self { door: Arc::clone(&self.door) }
    }
}

impl<S: Sink> Coalescer<S> {
    pub fn new(sink: S, limits: BatchLimits) -> (Self, Handle<S>) {
        let limits = BatchLimits { batch: limits.batch.max(1), in_flight: limits.in_flight.max(1), ..limits };
        let door = Arc::new(Door::new(limits));
        (Self { sink: Arc::new(sink), door: Arc::clone(&door), limits }, Handle { door })
    }

    /// Writes until the handle was closed and everything accepted before that is written and answered, or until
    /// `give_up` comes: then it leaves at once and says what is left.
    pub async fn run(self, give_up: impl Future<Output = ()>) -> Leftover {
        // However this ends, nobody is left waiting for an answer that cannot come.
        let _shut = ShutOnDrop(&self.door);
        let mut give_up = pin!(give_up);
        let mut writes = FuturesUnordered::new();
        let mut has_more = true;
        while has_more || !writes.is_empty() {
            let is_busy = !writes.is_empty();
            let may_take = has_more && writes.len() < self.limits.in_flight;
            tokio::select! {
                biased;
                () = &mut give_up => break,
                Some(()) = writes.next(), if is_busy => {}
                batch = self.next_batch(is_busy), if may_take => {
                    match batch {
                        Some(batch) => writes.push(write(&*self.sink, &self.door, batch)),
                        None => has_more = false,
                    }
                }
            }
        }
        self.door.shut()
    }

    /// Safe to drop and call again: nothing is awaited after the batch was taken.
    async fn next_batch(&self, is_busy: bool) -> Option<WaitingBatch<S>> {
        loop {
            let arrived = self.door.arrived.notified();
            match self.door.waiting() {
                (0, true) => return None,
                (0, false) => arrived.await,
                (waiting, is_closed) => {
                    if !is_closed && waiting < self.limits.batch {
                        tokio::select! {
                            biased;
                            () = self.door.filled(self.limits.batch) => {}
                            () = self.sink.linger(), if is_busy => {}
                            () = self.sink.gather(), if !is_busy => {}
                        }
                    }
                    return Some(self.door.take(self.limits.batch));
                }
            }
        }
    }
}

impl<S: Sink> Handle<S> {
    /// Puts items in and waits for their answers. Dropping the wait takes nothing back.
    pub async fn call(
        &self,
        items: impl IntoIterator<Item = S::Item, IntoIter: ExactSizeIterator>,
    ) -> Result<Vec<S::Answer>, Unanswered<S::Error>> {
        let items = items.into_iter();
        if items.len() == 0 {
            return Ok(Vec::new());
        }
        let (answer, answered) = oneshot::channel();
        self.door.enter(items, Some(answer))?;
        match answered.await {
            Ok(answer) => answer.map_err(Unanswered::Failed),
            Err(_) => Err(Unanswered::Unknown),
        }
    }

    /// Puts one item in; what becomes of it only the sink will know.
    pub fn send(&self, item: S::Item) -> Result<(), CoalescerRefusal> {
        self.door.enter(std::iter::once(item), None)
    }

    /// From now on everything is refused; what was accepted before is written.
    pub fn close(&self) {
        self.door.close();
    }

    /// Items accepted and not yet answered for.
    pub fn pending(&self) -> usize {
        let gathered = self.door.lock();
        gathered.items.len() + gathered.writing
    }

    /// Returns when nothing is pending.
    pub async fn idle(&self) {
        loop {
            // Registered before looking, so that the last write is not missed.
            let written = self.door.written.notified();
            if self.pending() == 0 {
                return;
            }
            written.await;
        }
    }
}

/// The buffer between callers and loop.
struct Door<S: Sink> {
    limits: BatchLimits,
    gathered: Mutex<Gathered<S>>,
    /// For the loop: something to take, a full batch, or closed.
    arrived: Notify,
    /// For those who wait until nothing is pending.
    written: Notify,
}

struct Gathered<S: Sink> {
    items: VecDeque<S::Item>,
    callers: VecDeque<WaitingCaller<S>>,
    /// Taken and not yet answered for.
    writing: usize,
    is_closed: bool,
}

struct WaitingCaller<S: Sink> {
    items: usize,
    answer: Option<AnswerSender<S>>,
}

type AnswerSender<S> = oneshot::Sender<Result<Vec<<S as Sink>::Answer>, <S as Sink>::Error>>;

struct WaitingBatch<S: Sink> {
    items: Vec<S::Item>,
    callers: Vec<WaitingCaller<S>>,
}

impl<S: Sink> Door<S> {
    fn new(limits: BatchLimits) -> Self {
        let gathered = Gathered { items: VecDeque::new(), callers: VecDeque::new(), writing: 0, is_closed: false };
        Self { limits, gathered: Mutex::new(gathered), arrived: Notify::new(), written: Notify::new() }
    }

    /// The buffer is whole after every line that holds the lock, so one that a panic poisoned is still true.
    fn lock(&self) -> MutexGuard<'_, Gathered<S>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(
        &self,
        items: impl ExactSizeIterator<Item = S::Item>,
        answer: Option<AnswerSender<S>>,
    ) -> Result<(), CoalescerRefusal> {
        let count = items.len();
        let (before, after) = {
            let mut gathered = self.lock();
            if gathered.is_closed {
                return Err(CoalescerRefusal::Closed);
            }
            let before = gathered.items.len();
            if before + count > self.limits.waiting {
                return Err(CoalescerRefusal::Full);
            }
            gathered.items.extend(items);
            gathered.callers.push_back(WaitingCaller { items: count, answer });
            (before, before + count)
        };
        // The loop need not wake for every caller: only for the first, and for the one that fills the batch.
        if before == 0 || (before < self.limits.batch && after >= self.limits.batch) {
            self.arrived.notify_one();
        }
        Ok(())
    }

    fn waiting(&self) -> (usize, bool) {
        let gathered = self.lock();
        (gathered.items.len(), gathered.is_closed)
    }

    /// Returns when a whole batch waits, or when no more can come.
    async fn filled(&self, batch: usize) {
        loop {
            let arrived = self.arrived.notified();
            let (waiting, is_closed) = self.waiting();
            if waiting >= batch || is_closed {
                return;
            }
            arrived.await;
        }
    }

    fn take(&self, most: usize) -> WaitingBatch<S> {
        let mut gathered = self.lock();
        let mut callers = Vec::with_capacity(gathered.callers.len());
        let mut count = 0;
        while let Some(next) = gathered.callers.front() {
            if count > 0 && count + next.items > most {
                break;
            }
            count += next.items;
            callers.extend(gathered.callers.pop_front());
        }
        gathered.writing += count;
        let items = gathered.items.drain(..count).collect();
        WaitingBatch { items, callers }
    }

    fn answered_for(&self, count: usize) {
        self.lock().writing -= count;
        self.written.notify_waiters();
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_one();
    }

    /// Closes, and lets go of everyone who still waits.
    fn shut(&self) -> Leftover {
        let (left, callers) = {
            let mut gathered = self.lock();
            gathered.is_closed = true;
            let left = Leftover { unwritten: gathered.items.len(), unknown: gathered.writing };
            gathered.items.clear();
            gathered.writing = 0;
            (left, std::mem::take(&mut gathered.callers))
        };
        drop(callers);
        self.written.notify_waiters();
        left
    }
}

struct ShutOnDrop<'a, S: Sink>(&'a Door<S>);

impl<S: Sink> Drop for ShutOnDrop<'_, S> {
    fn drop(&mut self) {
        self.0.shut();
    }
}

/// Writes a batch and answers its callers; takes it apart when one item may have spoilt it for all.
async fn write<S: Sink>(sink: &S, door: &Door<S>, batch: WaitingBatch<S>) {
    let WaitingBatch { items, callers } = batch;
    // Parts are worked off from left to right, so the callers come out in their own order.
    let mut parts = vec![callers.len()];
    let mut callers = VecDeque::from(callers);
    let mut start = 0;
    while let Some(part) = parts.pop() {
        let count: usize = callers.iter().take(part).map(|caller| caller.items).sum();
        let slice = &items[start..start + count];
        match sink.write(slice).await {
            Err(error) if part > 1 && sink.blames_an_item(&error) => {
                parts.push(part - part / 2);
                parts.push(part / 2);
                continue;
            }
            Err(error) => callers.drain(..part).for_each(|caller| caller.answer(Err(error.clone()))),
            Ok(answers) if answers.len() != count => {
                callers.drain(..part).for_each(|caller| caller.answer(Err(sink.miscounted())));
            }
            Ok(answers) => {
                let mut answers = answers.into_iter();
                for caller in callers.drain(..part) {
                    let own = answers.by_ref().take(caller.items).collect();
                    caller.answer(Ok(own));
                }
            }
        }
        start += count;
        door.answered_for(count);
    }
}

impl<S: Sink> WaitingCaller<S> {
    fn answer(self, answer: Result<Vec<S::Answer>, S::Error>) {
        if let Some(waiting) = self.answer {
            // The caller may have gone away; its items stay written.
            let _ = waiting.send(answer);
        }
    }
}
