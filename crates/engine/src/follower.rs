//! Follows the change log: the one loop behind everybody who reads it and writes something for what it read, exactly once.
//!
//! A follower has one position in the log, kept by the store under its name. It reads on from there, hands what it read to its
//! [`Follow`], and writes what that makes of it in the transaction that moves the position ([`Followers::advance`]): what was
//! read is written, once, and what was not is read again. [`Courier`](crate::Courier) and [`Bookkeeper`](crate::Bookkeeper) are
//! two of them. Another is one file: a type that implements [`Follow`], run by [`Follower::new`].
//!
//! **Two of it.** One works at a time, the one that leads. Should two, one is overtaken at its next write: nothing of that is
//! written, and it looks again where the other is.
//!
//! **When it dies half way** its last write was made or was not, and the position tells which. A write whose answer was lost is not
//! sent again: the position is asked for instead.
//!
//! **While it is behind** each read is larger than the one before, and the next is under way while the last is written. At the end
//! of the log it rests for a moment ([`FollowerPace::nap`]): under load there is always something new, and one look at much costs
//! the database less than many at little.
//!
//! **When it is far behind** (workers write faster than it reads, or nobody led for hours) it works late and in order; [`Lag`]
//! says how late, and the log says so from [`FAR_BEHIND`] on. The store keeps what it has not read for
//! [`foreman_core::ports::UNREAD_KEPT`]; what is older is gone unread, and the log says so once.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::duration::Span;
use foreman_core::ports::{
    Advance, Advanced, Begin, Changes, Effect, FollowerName, Leader, Position, Store, StoreError, Topic, Wakeups,
};
use foreman_core::{Clock, Timestamp};
use foreman_runtime::{Lead, Shutdown, Term, Ticker, WakeReason, clock};
use futures_util::future::join;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

pub use crate::lag::Lag;
use crate::leader_only::LeaderOnly;
use crate::log_reader::LogReader;
pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};

/// A stretch of the log for which nothing is written moves the position this often, and no oftener.
const MOVE_EVERY: Duration = Duration::from_secs(1);
/// Rows of one read while it is behind, in steps ([`FollowerPace::step`]). The store bounds what they weigh
/// ([`foreman_core::ports::CHANGES_BYTES`]).
const MOST_STEPS: usize = 32;
/// So many times as long as [`FollowerPace::poll`] it waits while nothing happens, and no longer than that.
const RESTING: (u32, Duration) = (6, Duration::from_secs(30));
/// An operator should know.
pub const FAR_BEHIND: Duration = Duration::from_mins(10);

/// What a follower makes of what it reads.
#[async_trait]
pub trait Follow: Send {
    /// The same as long as its position is to be found again: in the store, in logs and in metrics.
    fn name(&self) -> &'static str;

    /// Where it begins when the store does not know it yet.
    fn begin(&self) -> Begin;

    fn pace(&self) -> FollowerPace;

    /// What people notice, for the log: that it is behind, and that a part of the log was removed before it was read.
    fn notices(&self) -> Notices;

    /// Takes in what was read, and writes through the bookmark what it makes of it, now or with what it reads next: until it
    /// advances the bookmark, a successor reads the same again.
    async fn read(&mut self, changes: &Changes, at: &mut Bookmark<'_>) -> Result<(), Stopped>;

    /// The end of the log, or the process drains: writes what it has not written yet. Answers when to come back at the latest, though
    /// nothing happens meanwhile.
    async fn caught_up(&mut self, _at: &mut Bookmark<'_>) -> Result<Option<Instant>, Stopped> {
        Ok(None)
    }

    /// Forgets what it has read and not written: it is read again, or by another.
    fn rewind(&mut self) {}

    /// This process does not lead: nothing it knew is shown any more.
    fn rest(&mut self) {}
}

/// How fast a follower goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowerPace {
    /// How often to look when no wake-up came, give or take a tenth; seldomer while nothing happens.
    pub poll: Duration,
    /// Between two looks: under load there is always something new, and one look at much costs less than many at little.
    pub nap: Duration,
    /// Rows of the log read at once, each of which is what one write of a store moved; more while it is behind.
    pub step: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

/// A follower's part in two log lines: "the courier is 12m behind the change log: {late}" and "part of the change log was deleted
/// before the courier read it: {lost}".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notices {
    pub late: &'static str,
    pub lost: &'static str,
}

/// Why a follower did not get on.
#[derive(Debug)]
pub enum Stopped {
    Store(StoreError),
    /// Another was faster: look where it is.
    Overtaken,
    /// The term is over.
    Deposed,
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Where a follower believes to be.
#[derive(Clone, Copy, Debug)]
struct Stand {
    term: Term,
    /// The position that the store keeps.
    kept: Position,
    /// Nothing is to be written for what lies between there and here.
    done: Position,
    /// So far it has read.
    read: Position,
    moved_at: Instant,
}

/// A follower's position, and the only way to move it.
pub struct Bookmark<'a> {
    store: &'a dyn Store,
    name: FollowerName,
    leader: Option<Leader>,
    call_timeout: Duration,
    stand: &'a mut Stand,
}

impl Bookmark<'_> {
    /// What a write of this term carries.
    pub fn leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    /// The end of what was read.
    pub fn read(&self) -> Position {
        self.stand.read
    }

    /// Writes without moving on: there is more to come of what was read. A successor may write the same again.
    pub async fn write(&mut self, effect: Effect) -> Result<(), Stopped> {
        self.send(self.stand.kept, effect).await
    }

    /// Writes all there is to write for the log up to `to`, and moves there. Without an effect that can wait a moment.
    pub async fn advance(&mut self, to: Position, effect: Effect) -> Result<(), Stopped> {
        self.stand.done = to;
        if effect.is_empty() && self.stand.moved_at.elapsed() < MOVE_EVERY {
            return Ok(());
        }
        self.move_to(to, effect).await
    }

    /// The same, now.
    pub async fn move_to(&mut self, to: Position, effect: Effect) -> Result<(), Stopped> {
        if effect.is_empty() && to == self.stand.kept {
            return Ok(());
        }
        self.send(to, effect).await?;
        self.stand.kept = to;
        self.stand.done = to;
        self.stand.moved_at = Instant::now();
        Ok(())
    }

    /// Moves on where that has waited long enough; otherwise answers when it has.
    async fn settle(&mut self) -> Result<Option<Instant>, Stopped> {
        if self.stand.kept == self.stand.done {
            return Ok(None);
        }
        if self.stand.moved_at.elapsed() < MOVE_EVERY {
            return Ok(Some(Instant::now() + MOVE_EVERY));
        }
        self.move_to(self.stand.done, Effect::Nothing).await.map(|()| None)
    }

    async fn send(&self, to: Position, effect: Effect) -> Result<(), Stopped> {
        let advance = Advance { follower: self.name.clone(), from: self.stand.kept, to, effect };
        match bounded(self.call_timeout, self.store.advance(self.leader.as_ref(), &advance)).await? {
            Some(Advanced::Done) => Ok(()),
            Some(Advanced::Overtaken) => Err(Stopped::Overtaken),
            None => Err(Stopped::Deposed),
        }
    }
}

/// The loop around a [`Follow`].
pub struct Follower<F> {
    follow: F,
    store: Arc<dyn Store>,
    reader: LogReader,
    wakeups: Arc<dyn Wakeups>,
    clock: Arc<dyn Clock>,
    pace: FollowerPace,
    led: LeaderOnly,
    lag: Lag,
    stand: Option<Stand>,
    /// Nothing before this position is said to be lost again.
    told: Position,
}

impl<F: Follow> Follower<F> {
    pub fn new(follow: F, store: Arc<dyn Store>, wakeups: Arc<dyn Wakeups>) -> Self {
        let (log, pace) = (Arc::clone(&store) as _, follow.pace());
        Self {
            reader: LogReader { who: follow.name(), log, call_timeout: pace.call_timeout },
            follow,
            store,
            wakeups,
            clock: Arc::new(|| Timestamp::from_micros(clock::now())),
            pace,
            led: LeaderOnly::default(),
            lag: Lag::default(),
            stand: None,
            told: Position::default(),
        }
    }

    /// Works only while `lead` says that this process holds the `office`.
    #[must_use]
    pub fn led_by(self, office: impl Into<String>, lead: Lead) -> Self {
        Self { led: LeaderOnly::by(office, lead), ..self }
    }

    /// Tells how late it is by this clock.
    #[must_use]
    pub fn timed_by(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// What runs in it.
    pub fn follow(&self) -> &F {
        &self.follow
    }

    pub fn lag(&self) -> Lag {
        self.lag.clone()
    }

    pub async fn run(mut self, shutdown: Shutdown) -> Result<(), Error> {
        let mut wake = self.wakeups.listen(Topic::Changed);
        let mut ticker = Ticker::new(self.pace.poll, 0.1).resting((self.pace.poll * RESTING.0).min(RESTING.1));
        let mut outage = Outage::new(self.follow.name());
        loop {
            if self.led.is_waiting() {
                // Who does not lead is not behind.
                self.lag.set(Duration::ZERO);
                self.follow.rest();
            }
            let Some(term) = self.led.elected(&shutdown).await else { return Ok(()) };
            if self.stand.is_some_and(|stand| stand.term != term) {
                self.lose();
            }
            let was_at = self.stand.map(|stand| stand.read);
            let Some(done) = unless_aborted(&shutdown, self.catch_up(term, &shutdown)).await else { return Ok(()) };
            let next = match done {
                Ok(next) => {
                    outage.is_over();
                    if self.stand.map(|stand| stand.read) != was_at {
                        ticker.hurry();
                    }
                    next
                }
                Err(error) => {
                    // Whether the last write was made is known from the position alone.
                    self.lose();
                    Some(Instant::now() + outage.goes_on(error)?)
                }
            };
            // Until draining; a wake-up meanwhile is heard right after.
            let _ = timeout(self.pace.nap, shutdown.draining()).await;
            if ticker.next_until(next, &mut wake, &shutdown).await == WakeReason::Draining {
                return Ok(());
            }
        }
    }

    /// Forgets where it is, and what it has read and not written.
    fn lose(&mut self) {
        self.stand = None;
        self.follow.rewind();
    }

    /// Until nothing is left to read, the term is over, or until draining. Answers when to look again at the latest.
    async fn catch_up(&mut self, term: Term, shutdown: &Shutdown) -> Result<Option<Instant>, StoreError> {
        for _ in 0..4 {
            let stopped = match self.find(term).await {
                Ok(here) => match self.read_on(here, shutdown).await {
                    Ok(next) => return Ok(next),
                    Err(stopped) => stopped,
                },
                Err(stopped) => stopped,
            };
            self.lose();
            match stopped {
                Stopped::Store(error) => return Err(error),
                Stopped::Overtaken if shutdown.is_draining() => break,
                Stopped::Overtaken => {}
                Stopped::Deposed => {
                    self.led.until_deposed(term, shutdown).await;
                    break;
                }
            }
        }
        // Somebody else is faster all the time: that is no reason to spin with them.
        Ok(Some(Instant::now()))
    }

    async fn find(&mut self, term: Term) -> Result<Stand, Stopped> {
        if let Some(here) = self.stand {
            return Ok(here);
        }
        let (limit, name) = (self.pace.call_timeout, FollowerName::new(self.follow.name()));
        let leader = self.led.leader(term);
        let kept = bounded(limit, self.store.follow(leader.as_ref(), &name, self.follow.begin())).await?;
        let kept = kept.ok_or(Stopped::Deposed)?;
        let start = bounded(limit, self.store.start()).await?;
        if kept < start && self.told < start {
            warn!(
                follower = %name,
                position.from = kept.0,
                position.to = start.0,
                "part of the change log was deleted before the {name} read it: {}",
                self.follow.notices().lost
            );
            self.told = start;
        }
        Ok(Stand { term, kept, done: kept, read: kept, moved_at: Instant::now() })
    }

    /// What comes next is read while this is written.
    async fn read_on(&mut self, mut here: Stand, shutdown: &Shutdown) -> Result<Option<Instant>, Stopped> {
        let mut changes = self.reader.read(here.read, self.pace.step).await?;
        loop {
            if !self.led.holds(here.term) {
                return Err(Stopped::Deposed);
            }
            self.note_lag(&changes);
            let is_nothing = changes.position == here.read;
            here.read = changes.position;
            let mut at = Bookmark {
                store: &*self.store,
                name: FollowerName::new(self.follow.name()),
                leader: self.led.leader(here.term),
                call_timeout: self.pace.call_timeout,
                stand: &mut here,
            };
            if changes.is_full && !is_nothing && !shutdown.is_draining() {
                let rows = (2 * changes.rows.len()).clamp(self.pace.step, MOST_STEPS * self.pace.step);
                let read = self.reader.read(changes.position, rows);
                let (written, next) = join(self.follow.read(&changes, &mut at), read).await;
                written?;
                changes = next?;
                continue;
            }
            if !is_nothing {
                self.follow.read(&changes, &mut at).await?;
            }
            let next = self.follow.caught_up(&mut at).await?;
            let settled = at.settle().await?;
            self.stand = Some(here);
            // Under load there is always a little more. It is left to the next look, which comes unasked: what was on its way
            // at this one may have been announced already.
            let again = (!is_nothing).then(Instant::now);
            return Ok([next, settled, again].into_iter().flatten().min());
        }
    }

    fn note_lag(&self, changes: &Changes) {
        let oldest = changes.rows.first().map(|row| row.at);
        let (before, lag) = (self.lag.get(), oldest.map_or(Duration::ZERO, |oldest| self.clock.now().since(oldest)));
        self.lag.set(lag);
        let (name, lag_ms) = (self.follow.name(), lag.as_millis() as u64);
        if before < FAR_BEHIND && lag >= FAR_BEHIND {
            let late = self.follow.notices().late;
            warn!(follower = name, lag_ms, "the {name} is {} behind the change log: {late}", Span(lag));
        } else if before >= FAR_BEHIND && lag < FAR_BEHIND {
            info!(follower = name, lag_ms, "the {name} has caught up with the change log");
        }
    }
}
