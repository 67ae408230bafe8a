//! How often somebody showed a key that is none, by the address they came from.
//!
//! Ten at once are let pass, and then one every six seconds: after that the address is told to wait. What is known to be a
//! good key is let in all the same, and what has the form of a key is still looked up, a few in a second ([`LOOK_UPS`]): a
//! process that has just started knows nobody, and one stranger behind an address must not lock out everyone else behind
//! it. No number of addresses guesses 256 random bits: this is against noise, and keeps it away from the store.
//!
//! The address is that of the connection. Behind a proxy that is the proxy's: limit there too. What is counted lies in the
//! limiter, which several processes may share; each asks it only for keys that it does not know.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::ports::{LimitKey, Limiter};
use foreman_core::tenant::Rate;
use tokio::time::Instant;

/// How many wrong keys one address may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub attempts: u32,
    pub within: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { attempts: 10, within: Duration::from_mins(1) }
    }
}

impl Patience {
    /// What one attempt takes of the bucket: a rate is of whole tokens in a second, and attempts are fewer.
    fn cost(self) -> u64 {
        self.within.as_secs().max(1)
    }

    fn rate(self) -> Rate {
        let attempts = u64::from(self.attempts);
        Rate { per_second: attempts, burst: attempts * self.cost() }
    }
}

/// How many keys are looked up in a second for an address that is told to wait.
const LOOK_UPS: Rate = Rate { per_second: 5, burst: 5 };

pub(super) struct Attempts {
    patience: Patience,
    limiter: Arc<dyn Limiter>,
}

impl Attempts {
    pub fn new(patience: Patience, limiter: Arc<dyn Limiter>) -> Self {
        Self { patience, limiter }
    }

    /// How long the address has to wait, if it has.
    pub async fn wait(&self, address: IpAddr) -> Option<Duration> {
        let (rate, cost) = (self.patience.rate(), self.patience.cost());
        let quota = self.limiter.take(wrong_keys(address), rate, 0).await.quota();
        if quota.remaining >= cost {
            return None;
        }
        // Until there is room for one more: what then still lacks from a full bucket need not be waited for.
        let rest = rate.burst.saturating_sub(cost).saturating_mul(1_000_000) / rate.per_second.max(1);
        Some(quota.full_in.saturating_sub(Duration::from_micros(rest)))
    }

    /// Whether one more key of an address that waits may be looked up. It then counts as looked up.
    pub async fn may_look_up(&self, address: IpAddr) -> bool {
        self.limiter.take(LimitKey::of("look-up", whole(address).to_string()), LOOK_UPS, 1).await.is_allowed()
    }

    /// To go on trying does not make the wait longer, and does not make it shorter.
    pub async fn failed(&self, address: IpAddr) {
        self.limiter.take(wrong_keys(address), self.patience.rate(), self.patience.cost()).await;
    }
}

fn wrong_keys(address: IpAddr) -> LimitKey<'static> {
    LimitKey::of("wrong-key", whole(address).to_string())
}

/// From which addresses the key of the configuration was shown lately.
#[derive(Default)]
pub(super) struct Operators(Mutex<HashMap<IpAddr, Instant>>);

/// How long an operator is known for.
const LATELY: Duration = Duration::from_mins(10);
const MOST_OPERATORS: usize = 1_000;

impl Operators {
    pub fn came(&self, address: IpAddr) {
        let mut all = self.lock();
        if all.len() >= MOST_OPERATORS {
            all.retain(|_, at| at.elapsed() < LATELY);
        }
        if all.len() < MOST_OPERATORS {
            all.insert(whole(address), Instant::now());
        }
    }

    pub fn was_here(&self, address: IpAddr) -> bool {
        self.lock().get(&whole(address)).is_some_and(|at| at.elapsed() < LATELY)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Instant>> {
        // Nothing in here can panic half way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who has an address of IPv6 has the 2^64 around it.
fn whole(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::memory::{LocalLimiter, ManualClock};

    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    fn with(patience: Patience) -> (Arc<ManualClock>, Attempts) {
        let clock = Arc::new(ManualClock::new());
        let limiter = Arc::new(LocalLimiter::new(clock.clone()));
        (clock, Attempts::new(patience, limiter))
    }

    #[tokio::test]
    async fn ten_wrong_keys_at_once_are_enough_and_then_one_every_six_seconds() {
        let (clock, attempts) = with(Patience::default());
        let (here, there) = (at("192.0.2.1"), at("192.0.2.2"));
        for _ in 0..10 {
            assert_eq!(attempts.wait(here).await, None);
            attempts.failed(here).await;
        }
        assert_eq!(attempts.wait(here).await, Some(Duration::from_secs(6)));
        assert_eq!(attempts.wait(there).await, None);
        clock.advance(Duration::from_secs(4));
        attempts.failed(here).await;
        assert_eq!(attempts.wait(here).await, Some(Duration::from_secs(2)), "to go on trying changes nothing");
        clock.advance(Duration::from_secs(2));
        assert_eq!(attempts.wait(here).await, None);
        attempts.failed(here).await;
        assert_eq!(attempts.wait(here).await, Some(Duration::from_secs(6)));
        clock.advance(Duration::from_mins(1));
        for _ in 0..9 {
            attempts.failed(here).await;
        }
        assert_eq!(attempts.wait(here).await, None, "a minute later it is counted from the beginning");
    }

    #[tokio::test]
    async fn a_few_keys_are_looked_up_though_their_address_waits() {
        let (clock, attempts) = with(Patience { attempts: 1, ..Patience::default() });
        let here = at("192.0.2.1");
        attempts.failed(here).await;
        for _ in 0..3 {
            let mut looked_up = 0;
            for _ in 0..100 {
                looked_up += u64::from(attempts.may_look_up(here).await);
            }
            assert_eq!(looked_up, LOOK_UPS.burst);
            clock.advance(Duration::from_secs(1));
        }
        assert!(attempts.wait(here).await.is_some());
    }

    #[tokio::test]
    async fn an_address_is_what_one_party_has() {
        let (_, attempts) = with(Patience { attempts: 1, ..Patience::default() });
        attempts.failed(at("2001:db8:1:2::1")).await;
        attempts.failed(at("::ffff:192.0.2.1")).await;
        for (address, is_counted) in [
            ("2001:db8:1:2:ffff::7", true),
            ("2001:db8:1:3::1", false),
            ("192.0.2.1", true),
            ("192.0.2.2", false),
            ("::1", false),
        ] {
            assert_eq!(attempts.wait(at(address)).await.is_some(), is_counted, "{address}");
        }
    }
}
