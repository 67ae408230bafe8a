//! How much may wait in the broker.
//!
//! A partition of a broker is served in the order in which it was filled, so whatever lies there has lost its claim to a fair
//! turn: a tenant that comes later queues behind all of it. The relay therefore keeps a window of announced jobs per lane
//! that are not claimed yet, and announces no more while it is full.
//!
//! Twice the slots of all workers is enough where jobs take a while. Where they take no time, a message is under way for
//! longer than a job runs, and the window would be what limits the throughput: so it is also as large as what was claimed of
//! that lane within [`REACH`]. However fast the fleet is, a newcomer then waits about that long for what was announced before it.
//!
//! What lies in the broker is counted by the store, for all relays together. Between two counts each relay adds what it
//! announced itself. Two of them that count at the same moment may both fill the same room: the window is exceeded by what
//! they announce until the next count, [`COUNT_AGAIN`] later.

use std::time::Duration;

use foreman_core::Lane;
use foreman_core::lane::{LanePlan, Pick};
use foreman_core::ports::LaneCounts;
use tokio::time::Instant;

/// For so long a count is believed.
const COUNT_AGAIN: Duration = Duration::from_millis(50);
/// So much of what is claimed may lie in the broker.
const REACH: Duration = Duration::from_millis(200);
/// However fast the fleet is.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct LaneWindows {
    /// Per lane, before the rate counts.
    base: usize,
    /// It was set, and is kept to.
    is_fixed: bool,
    counted: LaneCounts,
    counted_at: Option<Instant>,
    /// By this relay since then.
    announced: LaneCounts,
    claimed_since: Option<Instant>,
    /// Of each lane since then: for about as long as [`REACH`].
    claimed: [usize; 3],
    /// Jobs per second, of each lane.
    rates: [f64; 3],
}

impl LaneWindows {
    /// `None`: twice as much as there are slots.
    pub fn new(fixed: Option<usize>) -> Self {
        Self { base: fixed.unwrap_or_default(), is_fixed: fixed.is_some(), ..Self::default() }
    }

    pub fn set_slots(&mut self, slots: usize) {
        if !self.is_fixed {
            self.base = slots.saturating_mul(2);
        }
    }

    /// Whether the store is to be asked before anything is announced.
    pub fn is_count_due(&self, now: Instant) -> bool {
        self.counted_at.is_none_or(|at| now.duration_since(at) >= COUNT_AGAIN) || self.is_full()
    }

    pub fn counted(&mut self, counts: LaneCounts, now: Instant) {
        if let Some(before) = self.counted_at.replace(now) {
            let seconds = now.duration_since(before).as_secs_f64();
            let since = *self.claimed_since.get_or_insert(before);
            // A few that are claimed between two counts say nothing about a second: a full window is counted all the time.
            let span = now.duration_since(since).max(REACH).as_secs_f64();
            for lane in Lane::ALL {
                let claimed = &mut self.claimed[place(lane)];
                *claimed += (self.counted.of(lane) + self.announced.of(lane)).saturating_sub(counts.of(lane));
                let rate = &mut self.rates[place(lane)];
                #[expect(clippy::cast_precision_loss, reason = "a window holds thousands")]
                let current = *claimed as f64 / span;
                // Up as it is seen, or a burst would wait for the average; down by and by.
                *rate = current.max(*rate * (-seconds).exp());
            }
            if now.duration_since(since) >= REACH {
                (self.claimed, self.claimed_since) = ([0; 3], Some(now));
            }
        }
        (self.counted, self.announced) = (counts, LaneCounts::default());
    }

    pub fn announced(&mut self, lane: Lane) {
        self.announced.add(lane, 1);
    }

    /// What lies in the broker, as far as this relay knows.
    pub fn waiting(&self) -> LaneCounts {
        let mut waiting = self.counted;
        for lane in Lane::ALL {
            waiting.add(lane, self.announced.of(lane));
        }
        waiting
    }

    pub fn size(&self, lane: Lane) -> usize {
        if self.is_fixed {
            return self.base;
        }
        let rate = self.rates[place(lane)];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is not negative")]
        let reach = (rate * REACH.as_secs_f64()) as usize;
        self.base.max(reach.min(MOST))
    }

    fn room(&self, lane: Lane) -> usize {
        self.size(lane).saturating_sub(self.waiting().of(lane))
    }

    fn is_full(&self) -> bool {
        Lane::ALL.into_iter().any(|lane| self.room(lane) == 0)
    }

    /// What to announce next: of each lane no more than has room, and at most `most`; nothing of those that are dry. `None`: there is
    /// no room at all.
    pub fn plan(&self, most: usize, dry: &[Lane]) -> Option<(LanePlan, usize)> {
        let picks: Vec<Pick> = Lane::ALL
            .into_iter()
            .filter(|lane| !dry.contains(lane))
            .map(|lane| Pick { lane, up_to: self.room(lane).min(most) })
            .filter(|pick| pick.up_to > 0)
            .collect();
        // A lane never waits for room of another, so that a flood of one does not hold up the others.
        let limit = picks.iter().map(|pick| pick.up_to).sum();
        (limit > 0).then_some((LanePlan(picks), limit))
    }
}

fn place(lane: Lane) -> usize {
    match lane {
        Lane::High => 0,
        Lane::Normal => 1,
        Lane::Low => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(high: usize, normal: usize, low: usize) -> LaneCounts {
        LaneCounts { high, normal, low }
    }

    fn plan(window: &LaneWindows) -> Vec<(Lane, usize)> {
        window
            .plan(500, &[])
            .map_or_else(Vec::new, |(plan, _)| plan.0.iter().map(|pick| (pick.lane, pick.up_to)).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn each_lane_has_a_window_of_its_own() {
        let mut window = LaneWindows::new(None);
        assert_eq!(plan(&window), [], "nobody has slots");
        window.set_slots(8);
        window.counted(counts(0, 10, 16), Instant::now());
        assert_eq!(plan(&window), [(Lane::High, 16), (Lane::Normal, 6)]);
        (0..6).for_each(|_| window.announced(Lane::Normal));
        assert_eq!(plan(&window), [(Lane::High, 16)]);
        assert_eq!(window.waiting(), counts(0, 16, 16));
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_is_believed_for_a_moment_and_asked_for_where_a_lane_seems_full() {
        let mut window = LaneWindows::new(Some(4));
        assert!(window.is_count_due(Instant::now()), "never counted");
        window.counted(counts(0, 0, 0), Instant::now());
        assert!(!window.is_count_due(Instant::now()));
        (0..4).for_each(|_| window.announced(Lane::Low));
        assert!(window.is_count_due(Instant::now()), "it may have been claimed meanwhile");
        window.counted(counts(0, 0, 0), Instant::now());
        tokio::time::advance(COUNT_AGAIN).await;
        assert!(window.is_count_due(Instant::now()), "another relay may have filled it");
    }

    #[tokio::test(start_paused = true)]
    async fn the_window_grows_with_what_is_claimed_and_shrinks_again() {
        let mut window = LaneWindows::new(None);
        window.set_slots(10);
        window.counted(counts(0, 0, 0), Instant::now());
        // 100 jobs of one lane every 20 ms: 5,000 a second.
        for _ in 0..10 {
            (0..100).for_each(|_| window.announced(Lane::Normal));
            tokio::time::advance(Duration::from_millis(20)).await;
            window.counted(counts(0, 0, 0), Instant::now());
        }
        assert_eq!((window.size(Lane::Normal), window.size(Lane::High)), (1_000, 20));
        tokio::time::advance(Duration::from_secs(10)).await;
        window.counted(counts(0, 0, 0), Instant::now());
        assert_eq!(window.size(Lane::Normal), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_claims_between_two_counts_do_not_widen_the_window() {
        let mut window = LaneWindows::new(None);
        window.set_slots(4);
        window.counted(counts(0, 8, 0), Instant::now());
        tokio::time::advance(Duration::from_millis(1)).await;
        window.counted(counts(0, 3, 0), Instant::now());
        assert_eq!(window.size(Lane::Normal), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_that_was_set_is_kept_to_however_fast_the_fleet_is() {
        let mut window = LaneWindows::new(Some(7));
        window.set_slots(1_000);
        window.counted(counts(0, 0, 0), Instant::now());
        (0..7).for_each(|_| window.announced(Lane::High));
        tokio::time::advance(Duration::from_millis(1)).await;
        window.counted(counts(0, 0, 0), Instant::now());
        assert_eq!(window.size(Lane::High), 7);
    }
}
