//! Tick or wake: when a loop looks for work again.
//!
//! A wake-up says "look now", and may be lost: its sender may die between the commit and the wake. A tick comes anyway, so a
//! lost wake-up costs at most one period. Periods are drawn around their nominal length, so that processes started together
//! do not ask the database together for ever.
//!
//! **Register before you look.** A wake-up that arrives while the loop is looking must not be lost, or work that the look
//! just missed waits a whole period. [`Ticker::next`] therefore marks the receiver seen at the moment it *returns*, before
//! its caller looks: whatever arrives after that makes the following `next` return at once. A loop reads
//!
//! ```
//! # use foreman_runtime::{Shutdown, WakeReason, Ticker};
//! # async fn look_for_work() {}
//! # async fn run(mut wake: tokio::sync::watch::Receiver<u64>, shutdown: Shutdown) {
//! let mut ticker = Ticker::new(std::time::Duration::from_secs(2), 0.1);
//! loop {
//!     look_for_work().await;
//!     if ticker.next(&mut wake, &shutdown).await == WakeReason::Draining {
//!         break;
//!     }
//! }
//! # }
//! ```
//!
//! The first look needs no tick. A receiver handed over by clone may carry an unseen wake-up; that costs one idle look.
//!
//! **While nothing happens** a loop may look less and less often ([`Ticker::resting`]): wake-ups are lost only when a process
//! dies between its commit and its message, or cannot send it. Whoever finds something at a tick, where a wake-up should have
//! come, says so ([`Ticker::hurry`]) and looks often again.

use std::{future::pending, time::Duration};

use rand::{SeedableRng, rngs::SmallRng};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{jitter, shutdown::Shutdown};

/// Below this, a period that was configured as nothing would become a busy loop.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);

/// Why the wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The period is over, or the earlier moment that was asked for has come.
    Due,
    /// Somebody said that there is something to see.
    Woken,
    /// Take nothing new: leave the loop.
    Draining,
}

/// A period with jitter, and the moment of the next tick.
#[derive(Debug)]
pub struct Ticker {
    shortest: Duration,
    longest: Duration,
    /// The one that is under way.
    period: Duration,
    jitter: f64,
    next: Instant,
    rng: SmallRng,
}

impl Ticker {
    /// Ticks once per `period`, give or take `jitter_fraction` of it (0.1: between 0.9 and 1.1 periods). The first tick is
    /// one period from now: look before you wait.
    pub fn new(period: Duration, jitter_fraction: f64) -> Self {
        Self::with_rng(period, jitter_fraction, rand::make_rng())
    }

    /// The same, with jitter that repeats: for tests and simulations.
    pub fn seeded(period: Duration, jitter_fraction: f64, seed: u64) -> Self {
        Self::with_rng(period, jitter_fraction, SmallRng::seed_from_u64(seed))
    }

    fn with_rng(period: Duration, jitter_fraction: f64, rng: SmallRng) -> Self {
        let jitter = if jitter_fraction.is_finite() { jitter_fraction.clamp(0.0, 1.0) } else { 0.0 };
        let period = period.max(SHORTEST_PERIOD);
        let mut ticker = Self { shortest: period, longest: period, period, jitter, next: Instant::now(), rng };
        ticker.restart();
        ticker
    }

    /// Every tick makes the next period twice as long, up to `longest`; a wake-up makes it short again.
    #[must_use]
    pub fn resting(self, longest: Duration) -> Self {
        Self { longest: longest.max(self.shortest), ..self }
    }

    /// There is something to do, or there soon will be: the next tick is one short period from now.
    pub fn hurry(&mut self) {
        self.period = self.shortest;
        self.restart();
    }

    /// Ticks so often from now on.
    pub fn set_period(&mut self, period: Duration) {
        self.shortest = period.max(SHORTEST_PERIOD);
        self.longest = self.longest.max(self.shortest);
        self.hurry();
    }

    /// Waits for the tick, a wake-up or the end, whichever is first. Safe to drop and call again, as in `select!`.
    pub async fn next(&mut self, wake: &mut watch::Receiver<u64>, shutdown: &Shutdown) -> WakeReason {
        self.next_until(None, wake, shutdown).await
    }

    /// The same, but no later than `at`: for a loop that knows when its next work falls due. A moment that is past already
    /// is due at once.
    pub async fn next_until(
        &mut self,
        at: Option<Instant>,
        wake: &mut watch::Receiver<u64>,
        shutdown: &Shutdown,
    ) -> WakeReason {
        let until = at.map_or(self.next, |at| at.min(self.next));
        tokio::select! {
            // The end goes first, or a loop that always finds work would never leave. The tick goes before the wake-up, or
            // what is done only on a tick would starve while wake-ups rain.
            biased;
            () = shutdown.draining() => WakeReason::Draining,
            () = sleep_until(until) => {
                wake.mark_unchanged();
                if self.next <= Instant::now() {
                    self.period = (self.period * 2).min(self.longest);
                    self.restart();
                }
                WakeReason::Due
            }
            () = woken(wake) => {
                if self.period > self.shortest {
                    self.hurry();
                }
                WakeReason::Woken
            }
        }
    }

    /// Counts the next period from now, as after work that made an early tick pointless. Missed ticks are not made up for.
    pub fn restart(&mut self) {
        let low = self.period.mul_f64(1.0 - self.jitter).max(SHORTEST_PERIOD);
        let high = self.period.mul_f64(1.0 + self.jitter);
        self.next = Instant::now() + jitter::between(&mut self.rng, low, high);
    }
}

/// Returns at a wake-up, having marked it seen. Nobody left to wake us means never: the tick alone goes on.
async fn woken(wake: &mut watch::Receiver<u64>) {
    if wake.changed().await.is_err() {
        pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shutdown::Stop;

    const PERIOD: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_tick_comes_once_per_period_without_any_wake_up() {
        let (_waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
        }
        assert_eq!(start.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn jitter_keeps_every_period_in_its_bounds_and_makes_them_differ() {
        let (_waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::seeded(PERIOD, 0.2, 7);
        let mut periods = Vec::new();
        for _ in 0..50 {
            let start = Instant::now();
            assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
            periods.push(start.elapsed());
        }
        let (low, high) = (Duration::from_secs(8), Duration::from_millis(12_001));
        assert!(periods.iter().all(|period| (low..=high).contains(period)), "{periods:?}");
        assert!(periods.iter().any(|period| *period < PERIOD) && periods.iter().any(|period| *period > PERIOD));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wake_up_is_heard_at_once_and_leaves_the_tick_in_place() {
        let (waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        let start = Instant::now();
        let shutdown = Shutdown::never();
        let (tick, ()) = tokio::join!(ticker.next(&mut wake, &shutdown), async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            waker.send_modify(|count| *count += 1);
        });
        assert_eq!(tick, WakeReason::Woken);
        assert_eq!(start.elapsed().as_secs(), 4);
        assert_eq!(ticker.next(&mut wake, &shutdown).await, WakeReason::Due);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wake_up_during_the_look_is_not_lost() {
        let (waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        let start = Instant::now();
        waker.send_modify(|count| *count += 1);
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Woken);
        // Here the caller looks, and just then more work arrives.
        waker.send_modify(|count| *count += 1);
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Woken);
        assert!(start.elapsed().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn many_wake_ups_before_a_look_are_one_look() {
        let (waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        for _ in 0..100 {
            waker.send_modify(|count| *count += 1);
        }
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Woken);
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
    }

    #[tokio::test(start_paused = true)]
    async fn wake_ups_that_rain_do_not_starve_the_tick() {
        let (waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        let mut ticks = 0;
        for _ in 0..30 {
            tokio::time::advance(Duration::from_secs(1)).await;
            waker.send_modify(|count| *count += 1);
            ticks += usize::from(ticker.next(&mut wake, &Shutdown::never()).await == WakeReason::Due);
        }
        assert_eq!(ticks, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_last_waker_is_gone_the_tick_goes_on_alone() {
        let (waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        waker.send_modify(|count| *count += 1);
        drop(waker);
        let start = Instant::now();
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Woken, "the last word counts");
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
        assert_eq!(start.elapsed().as_secs(), 20, "no busy loop");
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_moment_is_due_without_moving_the_tick() {
        let (_waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        let start = Instant::now();
        let early = Some(start + Duration::from_secs(3));
        assert_eq!(ticker.next_until(early, &mut wake, &Shutdown::never()).await, WakeReason::Due);
        assert_eq!(start.elapsed().as_secs(), 3);
        let late = Some(start + Duration::from_mins(5));
        assert_eq!(ticker.next_until(late, &mut wake, &Shutdown::never()).await, WakeReason::Due);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticker_that_may_rest_ticks_less_and_less_often_until_it_is_woken_or_hurried() {
        let (waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0).resting(PERIOD * 5);
        let shutdown = Shutdown::never();
        let periods = async |wake: &mut watch::Receiver<u64>, ticker: &mut Ticker| {
            let mut seen = Vec::new();
            for _ in 0..4 {
                let start = Instant::now();
                assert_eq!(ticker.next(wake, &shutdown).await, WakeReason::Due);
                seen.push(start.elapsed().as_secs());
            }
            seen
        };
        assert_eq!(periods(&mut wake, &mut ticker).await, [10, 20, 40, 50]);
        waker.send_modify(|count| *count += 1);
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Woken);
        assert_eq!(periods(&mut wake, &mut ticker).await, [10, 20, 40, 50], "from the beginning");
        ticker.hurry();
        assert_eq!(periods(&mut wake, &mut ticker).await, [10, 20, 40, 50]);
    }

    #[tokio::test(start_paused = true)]
    async fn ticks_missed_while_the_loop_was_busy_are_not_made_up_for() {
        let (_waker, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(PERIOD, 0.0);
        tokio::time::advance(Duration::from_secs(95)).await;
        let start = Instant::now();
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
        assert!(start.elapsed().is_zero());
        assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn draining_ends_the_wait_and_goes_before_everything_else() {
        let (waker, mut wake) = watch::channel(0);
        let stop = Stop::new();
        let shutdown = stop.shutdown();
        let mut ticker = Ticker::new(PERIOD, 0.0);
        let (tick, ()) = tokio::join!(ticker.next(&mut wake, &shutdown), async { stop.drain() });
        assert_eq!(tick, WakeReason::Draining);

        waker.send_modify(|count| *count += 1);
        tokio::time::advance(PERIOD * 2).await;
        assert_eq!(ticker.next(&mut wake, &shutdown).await, WakeReason::Draining, "woken and due as well");
    }

    #[tokio::test(start_paused = true)]
    async fn a_period_of_nothing_is_not_a_busy_loop() {
        let (_waker, mut wake) = watch::channel(0);
        for jitter in [0.0, 0.5, f64::NAN] {
            let mut ticker = Ticker::new(Duration::ZERO, jitter);
            let start = Instant::now();
            assert_eq!(ticker.next(&mut wake, &Shutdown::never()).await, WakeReason::Due);
            assert!(start.elapsed() >= SHORTEST_PERIOD);
        }
    }
}
