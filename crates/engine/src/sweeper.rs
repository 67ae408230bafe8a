//! Notices dead workers: lapses their sessions, and their jobs run elsewhere.
//!
//! A session is lapsed only after this sweeper has *itself* watched it stand still for a full TTL, on its own monotonic
//! clock, while the store answered. A stamp in the store would not do: after an outage every stamp is old, and every
//! living worker would be swept before it could say so. A read that fails, and a pause longer than a few periods (ours
//! or the store's), begin the watch anew. A session whose lapse failed comes after the others
//! the next time.
//!
//! It looks about three times in a TTL, and at the very moment when a session that stands still will have done so for all of it:
//! looking oftener would notice a death no sooner.
//!
//! Any number may run: the store looks again under the session's lock, so a session is lapsed once, and one that was
//! renewed meanwhile is left alone. A sweeper that dies is replaced by any other after one TTL of watching.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::SessionId;
use foreman_core::ports::{Pulse, SessionStore, StoreError};
use foreman_runtime::{Shutdown, Ticker, WakeReason};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{error, warn};

pub use crate::outage::Error;
use crate::outage::{Outage, bounded, unless_aborted};

/// So many periods longer than planned between two answers are still one watch.
const LONGEST_BLINK: u32 = 2;
/// Sessions are looked at after so much of the shortest of their TTLs: a death is noticed within one and a third of it.
const PART_OF_TTL: f64 = 0.3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look at most, give or take a tenth; about three times in the shortest TTL is enough.
    pub every: Duration,
    /// How long one store call may take.
    pub call_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { every: Duration::from_secs(2), call_timeout: Duration::from_secs(5) }
    }
}

pub struct Sweeper {
    store: Arc<dyn SessionStore>,
    config: Config,
    vigil: Vigil,
}

impl Sweeper {
    pub fn new(store: Arc<dyn SessionStore>, config: Config) -> Self {
        Self { store, config, vigil: Vigil::default() }
    }

    pub async fn run(mut self, shutdown: Shutdown) -> Result<(), Error> {
        // Nobody rings for a death.
        let (_bell, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(self.config.every, JITTER);
        let mut outage = Outage::new("sweeper");
        loop {
            let Some(swept) = unless_aborted(&shutdown, self.sweep(&shutdown)).await else { return Ok(()) };
            let next = match swept {
                Ok(plan) => {
                    outage.is_over();
                    ticker.set_period(plan.every);
                    self.vigil.longest_blink = plan.every.mul_f64(1.0 + JITTER) + self.config.every * LONGEST_BLINK;
                    plan.at
                }
                Err(error) => Some(Instant::now() + outage.goes_on(error)?),
            };
            if ticker.next_until(next, &mut wake, &shutdown).await == WakeReason::Draining {
                return Ok(());
            }
        }
    }

    /// Answers when to look again.
    async fn sweep(&mut self, shutdown: &Shutdown) -> Result<NextSweep, StoreError> {
        let asked = Instant::now();
        let pulses = match bounded(self.config.call_timeout, self.store.pulses()).await {
            Ok(pulses) => pulses,
            Err(error) => {
                self.vigil.begin_anew();
                return Err(error);
            }
        };
        for pulse in self.vigil.observe(&pulses, asked, Instant::now()) {
            if shutdown.is_draining() {
                break;
            }
            let id = pulse.session;
            let lapsed = bounded(self.config.call_timeout, self.store.lapse(pulse)).await;
            self.vigil.tried(id, lapsed.is_ok());
            match lapsed {
                // It was renewed, or had ended, just in time.
                Ok(None) => {}
                Ok(Some(jobs)) => {
                    warn!(session.id = %id, jobs.count = jobs, "session {id} has lapsed: {jobs} jobs will run elsewhere");
                }
                // One that cannot be read is no reason to leave the rest to nobody.
                Err(StoreError::Damaged(why)) => error!(session.id = %id, "could not lapse session {id}: {why}"),
                Err(error) => return Err(error),
            }
        }
        Ok(self.vigil.plan(&pulses, self.config.every, Instant::now()))
    }
}

/// How much periods vary.
const JITTER: f64 = 0.1;

/// When to look again.
#[derive(Debug, PartialEq, Eq)]
struct NextSweep {
    every: Duration,
    /// A session that goes on standing still will then have done so for its TTL.
    at: Option<Instant>,
}

/// What has been seen of every session, since when.
#[derive(Debug, Default)]
struct Vigil {
    longest_blink: Duration,
    last_answer: Option<Instant>,
    seen: HashMap<SessionId, SeenBeats>,
    /// Those that could not be lapsed, the latest at the end.
    last: Vec<SessionId>,
}

#[derive(Debug)]
struct SeenBeats {
    beats: i64,
    /// When the answer that first showed this beat had arrived.
    since: Instant,
}

impl Vigil {
    /// Takes in one reading, asked for at `asked` and answered at `answered`; gives those who stood still for their TTL.
    fn observe(&mut self, pulses: &[Pulse], asked: Instant, answered: Instant) -> Vec<Pulse> {
        let blinked = self.last_answer.is_some_and(|last| answered.duration_since(last) > self.longest_blink);
        if blinked {
            self.begin_anew();
        }
        self.last_answer = Some(answered);
        self.seen.retain(|id, _| pulses.iter().any(|pulse| pulse.session == *id));
        self.last.retain(|id| self.seen.contains_key(id));
        let mut still = Vec::new();
        for pulse in pulses {
            let seen = self.seen.entry(pulse.session).or_insert(SeenBeats { beats: pulse.beats, since: answered });
            if seen.beats != pulse.beats {
                *seen = SeenBeats { beats: pulse.beats, since: answered };
            }
            // From the first answer to this question: both ends err on the side of the living.
            let watched = asked.saturating_duration_since(seen.since);
            if watched >= pulse.ttl && pulse.is_overdue {
                still.push(*pulse);
            }
        }
        // Of those never tried, `None` comes first.
        still.sort_by_key(|pulse| self.last.iter().position(|id| *id == pulse.session));
        still
    }

    /// Often enough to see every session move, and in time for those that do not.
    fn plan(&self, pulses: &[Pulse], every: Duration, now: Instant) -> NextSweep {
        let shortest = pulses.iter().map(|pulse| pulse.ttl.mul_f64(PART_OF_TTL)).min().unwrap_or_default();
        let due = pulses.iter().filter_map(|pulse| Some(self.seen.get(&pulse.session)?.since + pulse.ttl)).min();
        // One that is past could not be lapsed, or is not overdue by the store's clock.
        NextSweep { every: every.max(shortest), at: due.map(|due| due.max(now + every)) }
    }

    fn begin_anew(&mut self) {
        self.seen.clear();
        self.last_answer = None;
    }

    /// Its lapse worked, or it did not: somebody may keep a row of it locked, and the next sweep is to get to the others first.
    fn tried(&mut self, id: SessionId, worked: bool) {
        self.last.retain(|known| *known != id);
        if worked {
            self.seen.remove(&id);
        } else {
            self.last.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(15);

    fn vigil() -> Vigil {
        Vigil { longest_blink: Duration::from_secs(6), ..Vigil::default() }
    }

    fn pulse(beats: i64) -> Pulse {
        Pulse { session: SessionId(uuid::Uuid::nil()), beats, is_overdue: true, ttl: TTL }
    }

    /// Readings every two seconds, from `from` to `to` seconds after `start`; when was it first found still?
    fn watch_on(vigil: &mut Vigil, start: Instant, from: u64, to: u64) -> Option<u64> {
        (from..=to).step_by(2).find(|second| {
            let now = start + Duration::from_secs(*second);
            !vigil.observe(&[pulse(7)], now, now).is_empty()
        })
    }

    #[tokio::test]
    async fn a_session_is_lapsed_after_a_full_ttl_of_watching_however_old_its_stamp() {
        assert_eq!(watch_on(&mut vigil(), Instant::now(), 0, 60), Some(16));
    }

    #[tokio::test]
    async fn a_beat_begins_the_watch_anew() {
        let (mut vigil, start) = (vigil(), Instant::now());
        assert_eq!(watch_on(&mut vigil, start, 0, 14), None);
        let beat = start + Duration::from_secs(15);
        assert_eq!(vigil.observe(&[pulse(8)], beat, beat), []);
        let later = start + Duration::from_secs(16);
        assert_eq!(vigil.observe(&[pulse(8)], later, later), []);
    }

    #[tokio::test]
    async fn a_gap_in_the_answers_begins_the_watch_anew() {
        let (mut vigil, start) = (vigil(), Instant::now());
        assert_eq!(watch_on(&mut vigil, start, 0, 14), None);
        // Nothing for ten seconds: the sweeper, or the store, was held up, and so may the worker have been.
        assert_eq!(watch_on(&mut vigil, start, 24, 60), Some(40));
    }

    #[tokio::test]
    async fn a_slow_answer_does_not_count_as_watching() {
        let (mut vigil, start) = (vigil(), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        assert_eq!(vigil.observe(&[pulse(7)], at(0), at(4)), []);
        for second in [8, 12, 16] {
            assert_eq!(vigil.observe(&[pulse(7)], at(second), at(second)), []);
        }
        assert_eq!(vigil.observe(&[pulse(7)], at(18), at(20)), [], "asked 14 seconds after it was first seen");
        assert_eq!(vigil.observe(&[pulse(7)], at(20), at(20)).len(), 1);
    }

    #[tokio::test]
    async fn it_looks_three_times_in_a_ttl_and_when_a_session_will_have_stood_still_for_all_of_it() {
        let (mut vigil, every, start) = (vigil(), Duration::from_secs(2), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        let plan = |vigil: &Vigil, ttl, now| vigil.plan(&[Pulse { ttl, ..pulse(7) }], every, now);
        vigil.observe(&[pulse(7)], at(0), at(0));
        let seldom = Duration::from_millis(4_500);
        assert_eq!(plan(&vigil, TTL, at(0)), NextSweep { every: seldom, at: Some(at(15)) });
        assert_eq!(plan(&vigil, TTL, at(14)).at, Some(at(16)), "never at once: the store may see it otherwise");
        assert_eq!(plan(&vigil, TTL / 15, at(0)).every, every, "never oftener than it may");
        assert_eq!(vigil.plan(&[], every, at(0)), NextSweep { every, at: None });
    }

    #[tokio::test]
    async fn a_session_the_store_does_not_call_overdue_is_left_alone() {
        let (mut vigil, start) = (vigil(), Instant::now());
        for second in (0..60).step_by(2) {
            let now = start + Duration::from_secs(second);
            let fresh = Pulse { is_overdue: false, ..pulse(7) };
            assert_eq!(vigil.observe(&[fresh], now, now), []);
        }
    }
}
