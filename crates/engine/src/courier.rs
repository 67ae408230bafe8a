//! Tells those who asked how jobs ended: a follower of the change log that makes a delivery of every ending.
//!
//! It makes one job for each endpoint that wants to hear of an ending and one for a job's `callback_url`, and they are written in
//! the transaction that moves its position ([`crate::follower`]): what was read is told, once, and what was not is read again. The
//! jobs it makes are run by the workers ([`crate::target::webhook`]), which is where the network begins; the courier itself calls
//! nobody.
//!
//! It also reads how the deliveries went and notes it with their endpoints, so that one that is gone, or has failed for days, is
//! disabled; its tenant's other endpoints are told, and so is the audit log.
//!
//! **When it dies half way** what it did before its write (noting health, the audit entry) may be done twice; it is the same the
//! second time. Every delivery has an id made from what it tells and whom, so that even a round that is too large for one
//! transaction, and is written in several, makes each of them once.

mod endings;
mod health;
mod letter;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::ports::{Begin, COURIER, Changes, Effect, JobQuery, Moved, StoreError, Tenancy};
use futures_util::future::{join, try_join};
use tracing::debug;

use self::endings::Ended;
use self::health::Tried;
use self::letter::Bag;
use crate::follower::{Bookmark, Follow, FollowerPace, Notices, Stopped};

/// Between two looks.
const NAP: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look when no wake-up came, give or take a tenth.
    pub poll: Duration,
    /// Rows of the log read at once; each is what one write of a store moved.
    pub step: usize,
    /// Moves that are looked into together.
    pub slice: usize,
    /// Jobs read at the same time.
    pub loads: usize,
    /// Deliveries written in one transaction, and bytes of them, give or take one.
    pub most_deliveries: usize,
    pub most_bytes: usize,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(5),
            step: 100,
            slice: 1_000,
            loads: 4,
            most_deliveries: 1_000,
            most_bytes: 16 * 1024 * 1024,
            call_timeout: Duration::from_secs(10),
        }
    }
}

/// What it has done since it started, for whoever counts.
#[derive(Clone, Debug, Default)]
pub struct CourierTally {
    deliveries: Arc<AtomicU64>,
    disabled: Arc<AtomicU64>,
}

impl CourierTally {
    /// Deliveries made.
    pub fn deliveries(&self) -> u64 {
        self.deliveries.load(Ordering::Relaxed)
    }

    /// Endpoints disabled.
    pub fn disabled(&self) -> u64 {
        self.disabled.load(Ordering::Relaxed)
    }
}

/// Some of the moves that were read, and what is known of their jobs.
struct Slice<'a> {
    ended: Ended<'a>,
    tried: Tried<'a>,
}

/// Looks into what was read and makes deliveries of it.
pub struct Courier {
    jobs: Arc<dyn JobQuery>,
    tenancy: Arc<dyn Tenancy>,
    config: Config,
    tally: CourierTally,
}

impl Courier {
    pub fn new(jobs: Arc<dyn JobQuery>, tenancy: Arc<dyn Tenancy>, config: Config) -> Self {
        Self { jobs, tenancy, config, tally: CourierTally::default() }
    }

    pub fn tally(&self) -> CourierTally {
        self.tally.clone()
    }

    /// Reads what is to be known of some moves.
    async fn look_into<'a>(&self, moved: &[&'a Moved]) -> Result<Slice<'a>, StoreError> {
        let (ended, tried) = try_join(self.ended(moved), self.tried(moved)).await?;
        Ok(Slice { ended, tried })
    }

    /// Writes what has come together when it is as much as one transaction takes, without moving on: there is more to come of
    /// what was read.
    async fn empty_if_full(&self, bag: &mut Bag, at: &mut Bookmark<'_>) -> Result<(), Stopped> {
        if !bag.is_full(&self.config) {
            return Ok(());
        }
        let deliveries = bag.take();
        let count = deliveries.len();
        at.write(Effect::Deliveries(deliveries)).await?;
        self.count(count);
        Ok(())
    }

    fn count(&self, deliveries: usize) {
        if deliveries > 0 {
            self.tally.deliveries.fetch_add(deliveries as u64, Ordering::Relaxed);
            debug!(deliveries.count = deliveries, "created {deliveries} deliveries");
        }
    }
}

#[async_trait]
impl Follow for Courier {
    fn name(&self) -> &'static str {
        COURIER
    }

    /// What ended before there was a courier is told to nobody.
    fn begin(&self) -> Begin {
        Begin::End
    }

    fn pace(&self) -> FollowerPace {
        let Config { poll, step, call_timeout, .. } = self.config;
        FollowerPace { poll, nap: NAP, step, call_timeout }
    }

    fn notices(&self) -> Notices {
        Notices {
            late: "webhooks are notified late",
            lost: "webhooks are not notified of jobs that ended in that time",
        }
    }

    /// Tells what there is to tell of it, and moves on.
    async fn read(&mut self, changes: &Changes, at: &mut Bookmark<'_>) -> Result<(), Stopped> {
        let mut bag = Bag::default();
        let mut has_noted = false;
        let moved: Vec<&Moved> =
            changes.moved().filter(|moved| endings::is_one(moved) || health::is_one(moved)).collect();
        let mut slices = moved.chunks(self.config.slice.max(1));
        let mut slice = match slices.next() {
            Some(moved) => Some(self.look_into(moved).await?),
            None => None,
        };
        while let Some(Slice { ended, tried }) = slice {
            self.tell_endings(ended, &mut bag, at).await?;
            has_noted |= self.note_health(tried, at.leader(), &mut bag).await?;
            slice = match slices.next() {
                // The next slice is read while this one is written.
                Some(moved) => {
                    let (written, next) = join(self.empty_if_full(&mut bag, at), self.look_into(moved)).await;
                    written?;
                    Some(next?)
                }
                None => None,
            };
        }
        let deliveries = bag.take();
        let count = deliveries.len();
        let effect = Effect::Deliveries(deliveries);
        if has_noted {
            at.move_to(changes.position, effect).await?;
        } else {
            at.advance(changes.position, effect).await?;
        }
        self.count(count);
        Ok(())
    }
}
