//! Removes what has outlived its retention, and prepares the partitions of the coming weeks.
//!
//! In small steps, so that no transaction is long and submissions never wait for it. Each [`PruneKind`] has its own time limit: a
//! kind that is slow, or fails, ends its turn, and the others have theirs. What a turn did not get to is done in the next one,
//! which begins where it stopped. Partitions are looked after beside all that: they take their time where a table is large, and
//! must not wait for anything.
//!
//! Any number may run: what one has removed the other does not find. A pruner that dies has removed less. Where many processes
//! share a store, one is enough: a pruner that was given a [`Lead`] works only while its process leads, and each of its writes
//! carries the term.
//!
//! [`Progress`] says which kinds are behind, since when and why, and which follower holds the change log back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreman_core::duration::Span;
use foreman_core::ports::{FollowerName, PruneKind, PruneStep, Retention, StoreError, UNREAD_KEPT, Upkeep};
use foreman_runtime::{Lead, Shutdown, Term, Ticker, WakeReason};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::leader_only::LeaderOnly;
pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};

/// A kind that has been behind for this long is reported: by then it is not a backlog that a few minutes of work remove.
pub const FAR_BEHIND: Duration = Duration::from_mins(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look, give or take a quarter.
    pub every: Duration,
    /// Rows of a kind removed in one transaction.
    pub step: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
    /// How long one kind may work before the others have their turn.
    pub turn: Duration,
    /// How long preparing partitions may take. Where a table without partitions has grown large, it is read once for each new
    /// partition, while everyone else goes on working.
    pub partitions_timeout: Duration,
    pub retention: Retention,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            every: Duration::from_mins(1),
            step: 500,
            call_timeout: Duration::from_secs(10),
            turn: Duration::from_secs(15),
            partitions_timeout: Duration::from_mins(15),
            retention: Retention::default(),
        }
    }
}

/// Which kinds of pruning are behind, and who holds the change log back. Clones share one answer.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<PruneProgress>>);

#[derive(Debug, Default)]
struct PruneProgress {
    delays: BTreeMap<PruneKind, Delay>,
    held_by: Option<FollowerName>,
}

#[derive(Clone, Debug)]
struct Delay {
    since: Instant,
    /// Why the last turn ended early; `None`: it took longer than a turn.
    why: Option<String>,
}

/// A kind that did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    pub kind: PruneKind,
    /// Since its first turn that did not finish.
    pub since: Duration,
    pub why: Option<String>,
}

impl Progress {
    /// How long a kind has been behind; zero when its last turn finished, and while this process does not lead.
    pub fn behind(&self, kind: PruneKind) -> Duration {
        self.lock().delays.get(&kind).map_or(Duration::ZERO, |delay| delay.since.elapsed())
    }

    /// Kinds that are behind for longer than [`FAR_BEHIND`].
    pub fn far_behind(&self) -> Vec<Behind> {
        let known = self.lock();
        let all = known.delays.iter().map(|(kind, Delay { since, why })| Behind {
            kind: *kind,
            since: since.elapsed(),
            why: why.clone(),
        });
        all.filter(|behind| behind.since >= FAR_BEHIND).collect()
    }

    /// Whether it was behind for a reason.
    fn is_done(&self, kind: PruneKind) -> Option<Duration> {
        self.lock().delays.remove(&kind).filter(|delay| delay.why.is_some()).map(|delay| delay.since.elapsed())
    }

    /// Whether this is news.
    fn is_behind(&self, kind: PruneKind, why: Option<String>) -> bool {
        let mut known = self.lock();
        let delay = known.delays.entry(kind).or_insert_with(|| Delay { since: Instant::now(), why: None });
        let is_news = why.is_some() && delay.why.is_none();
        delay.why = why;
        is_news
    }

    /// The follower for which more of the change log is kept than its retention says.
    pub fn held_by(&self) -> Option<FollowerName> {
        self.lock().held_by.clone()
    }

    /// Who it was before.
    fn is_held_by(&self, follower: Option<FollowerName>) -> Option<FollowerName> {
        std::mem::replace(&mut self.lock().held_by, follower)
    }

    fn clear(&self) {
        *self.lock() = PruneProgress::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PruneProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Pruner {
    store: Arc<dyn Upkeep>,
    config: Config,
    led: LeaderOnly,
    progress: Progress,
}

/// How a kind's turn ended.
enum Turn {
    Done,
    /// There is more than a turn removes.
    More,
    /// The term is over, or the process drains.
    Over,
    Failed(StoreError),
}

/// How a round over all kinds ended.
enum PruneRound {
    /// Each kind had its turn; some may have failed.
    Ended,
    /// Some have more to do than their turns allow.
    More,
    /// No kind got anything done.
    Failed(StoreError),
}

impl Pruner {
    pub fn new(store: Arc<dyn Upkeep>, config: Config) -> Self {
        Self { store, config, led: LeaderOnly::default(), progress: Progress::default() }
    }

    /// Works only while `lead` says that this process holds the `office`.
    #[must_use]
    pub fn led_by(self, office: impl Into<String>, lead: Lead) -> Self {
        Self { led: LeaderOnly::by(office, lead), ..self }
    }

    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    pub async fn run(self, shutdown: Shutdown) -> Result<(), Error> {
        let (first, rest) = PruneKind::ALL.split_first().expect("there are kinds");
        let partitions = self.lane(std::slice::from_ref(first), &shutdown);
        tokio::try_join!(partitions, self.lane(rest, &shutdown)).map(|_| ())
    }

    /// Prunes some kinds, one after the other.
    async fn lane(&self, kinds: &[PruneKind], shutdown: &Shutdown) -> Result<(), Error> {
        // Nothing rings when something grows old.
        let (_bell, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(self.config.every, 0.25);
        let mut outage = Outage::new("pruner");
        loop {
            if self.led.is_waiting() {
                self.progress.clear();
            }
            let Some(term) = self.led.elected(shutdown).await else { return Ok(()) };
            let Some(round) = Self::unless_cut_short(kinds, self.round(term, kinds, shutdown), shutdown).await else {
                return Ok(());
            };
            let next = match round {
                Ok(PruneRound::Ended) => {
                    outage.is_over();
                    None
                }
                Ok(PruneRound::More) => {
                    outage.is_over();
                    Some(Instant::now())
                }
                Ok(PruneRound::Failed(error)) | Err(error) => Some(Instant::now() + outage.goes_on(error)?),
            };
            if ticker.next_until(next, &mut wake, shutdown).await == WakeReason::Draining {
                return Ok(());
            }
        }
    }

    /// Draining waits for the step under way, but not for partitions: theirs may take minutes, and one that is cut short is begun
    /// again by the next leader.
    async fn unless_cut_short<T>(
        kinds: &[PruneKind],
        round: impl Future<Output = T>,
        shutdown: &Shutdown,
    ) -> Option<T> {
        if !kinds.contains(&PruneKind::Partitions) {
            return unless_aborted(shutdown, round).await;
        }
        tokio::select! {
            biased;
            () = shutdown.draining() => None,
            done = round => Some(done),
        }
    }

    /// Turn by turn until no kind has more to do, or the time of the next look has come. An error ends the loop.
    async fn round(&self, term: Term, kinds: &[PruneKind], shutdown: &Shutdown) -> Result<PruneRound, StoreError> {
        let begun = Instant::now();
        let mut due = kinds.to_vec();
        let mut failed = Vec::new();
        while !due.is_empty() {
            if begun.elapsed() >= self.config.every {
                break;
            }
            let mut left = Vec::new();
            for kind in std::mem::take(&mut due) {
                match self.turn(term, kind, shutdown).await {
                    Turn::Done => self.note_done(kind),
                    Turn::More => {
                        self.progress.is_behind(kind, None);
                        left.push(kind);
                    }
                    Turn::Over => return Ok(PruneRound::Ended),
                    Turn::Failed(StoreError::Closed) => return Err(StoreError::Closed),
                    Turn::Failed(error) => failed.push((kind, error)),
                }
            }
            due = left;
        }
        // Everything failed: that is the store, not a kind of pruning. Of partitions alone nothing can be said about the store.
        let is_all = failed.len() == kinds.len() && kinds.len() > 1;
        for (kind, error) in &failed {
            if self.progress.is_behind(*kind, Some(error.to_string())) && !is_all {
                warn!(prune.kind = %kind, "pruning {kind} did not finish: {error}; other kinds continue");
            }
        }
        let is_fatal = |error: &StoreError| matches!(error, StoreError::Damaged(_));
        if let Some(place) = failed.iter().position(|(_, error)| is_fatal(error)) {
            return Err(failed.swap_remove(place).1);
        }
        Ok(match failed.pop() {
            Some((_, error)) if is_all => PruneRound::Failed(error),
            _ if due.is_empty() => PruneRound::Ended,
            _ => PruneRound::More,
        })
    }

    /// Step by step until nothing is left to remove, or the turn is over.
    async fn turn(&self, term: Term, kind: PruneKind, shutdown: &Shutdown) -> Turn {
        let begun = Instant::now();
        let mut removed = 0;
        let ended = loop {
            match self.step(term, kind).await {
                Ok(Some(step)) => {
                    removed += step.removed;
                    if step.is_done {
                        self.note_holder(kind, step.held_by);
                        break Turn::Done;
                    }
                }
                Ok(None) => break Turn::Over,
                Err(error) => break Turn::Failed(error),
            }
            if shutdown.is_draining() {
                break Turn::Over;
            }
            if begun.elapsed() >= self.config.turn {
                break Turn::More;
            }
            yield_now().await;
        };
        if removed > 0 {
            info!(prune.kind = %kind, rows.count = removed, "pruned {removed} {kind} past their retention");
        }
        if shutdown.is_draining() { Turn::Over } else { ended }
    }

    /// One step; `None` when the term is over.
    async fn step(&self, term: Term, kind: PruneKind) -> Result<Option<PruneStep>, StoreError> {
        let Config { step, call_timeout, partitions_timeout, retention, .. } = &self.config;
        if !self.led.holds(term) {
            return Ok(None);
        }
        let limit = if kind == PruneKind::Partitions { *partitions_timeout } else { *call_timeout };
        let leader = self.led.leader(term);
        bounded(limit, self.store.prune_kind(leader.as_ref(), kind, retention, *step)).await
    }

    /// A follower that does not come back holds the change log back for a week: an operator should know before the disk is full.
    fn note_holder(&self, kind: PruneKind, holder: Option<FollowerName>) {
        if kind != PruneKind::Changes {
            return;
        }
        let before = self.progress.is_held_by(holder.clone());
        match (before, holder) {
            (before, Some(now)) if before.as_ref() != Some(&now) => warn!(
                follower = %now,
                "the change log is kept longer than its retention, because the {now} has not read it; what is not read \
                 within {} is pruned all the same",
                Span(UNREAD_KEPT)
            ),
            (Some(before), None) => {
                info!(follower = %before, "the {before} no longer holds the change log back: it is pruned as usual");
            }
            _ => {}
        }
    }

    fn note_done(&self, kind: PruneKind) {
        if let Some(behind) = self.progress.is_done(kind) {
            info!(prune.kind = %kind, "pruning {kind} finished again after {}", Span(behind));
        }
    }
}
