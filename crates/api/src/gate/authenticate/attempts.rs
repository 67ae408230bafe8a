//! How often somebody showed a key that is none, by the address they came from.
//!
//! After ten in a minute the address is told to wait. What is known to be a good key is let in all the same, and what has the
//! form of a key is still looked up, a few in a second ([`LOOK_UPS`]): a process that has just started knows nobody, and one
//! stranger behind an address must not lock out everyone else behind it. No number of addresses guesses 256 random bits: this is
//! against noise, and keeps it away from the store.
//!
//! The address is that of the connection. Behind a proxy that is the proxy's: limit there too. Each process counts for
//! itself. The table is bounded; when it is full the oldest go.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

const MOST_ADDRESSES: usize = 10_000;

/// How many keys are looked up in a second for an address that is told to wait.
const LOOK_UPS: u32 = 5;

pub(super) struct Attempts {
    patience: Patience,
    most: usize,
    seen: Mutex<HashMap<IpAddr, AddressAttempts>>,
}

#[derive(Clone, Copy)]
struct AddressAttempts {
    since: Instant,
    count: u32,
    /// Looked up in the second that began then, though it waits.
    second: Instant,
    looked_up: u32,
}

impl AddressAttempts {
    fn first(now: Instant) -> Self {
        Self { since: now, count: 0, second: now, looked_up: 0 }
    }
}

impl Attempts {
    pub fn new(patience: Patience) -> Self {
        Self { patience, most: MOST_ADDRESSES, seen: Mutex::default() }
    }

    /// How long the address has to wait, if it has.
    pub fn wait(&self, address: IpAddr) -> Option<Duration> {
        let seen = *self.lock().get(&whole(address))?;
        let left = self.patience.within.saturating_sub(seen.since.elapsed());
        (seen.count >= self.patience.attempts && !left.is_zero()).then_some(left)
    }

    /// Whether one more key of an address that waits may be looked up. It then counts as looked up.
    pub fn may_look_up(&self, address: IpAddr) -> bool {
        let mut all = self.lock();
        let Some(seen) = all.get_mut(&whole(address)) else { return true };
        if seen.second.elapsed() >= Duration::from_secs(1) {
            (seen.second, seen.looked_up) = (Instant::now(), 0);
        }
        seen.looked_up = seen.looked_up.saturating_add(1);
        seen.looked_up <= LOOK_UPS
    }

    pub fn failed(&self, address: IpAddr) {
        let mut all = self.lock();
        if all.len() >= self.most {
            make_room(&mut all, self.patience.within, self.most);
        }
        let now = Instant::now();
        let seen = all.entry(whole(address)).or_insert(AddressAttempts::first(now));
        if now.duration_since(seen.since) >= self.patience.within {
            *seen = AddressAttempts::first(now);
        }
        seen.count = seen.count.saturating_add(1);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, AddressAttempts>> {
        // Nothing in here can panic half way through a change.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

fn make_room(all: &mut HashMap<IpAddr, AddressAttempts>, within: Duration, most: usize) {
    all.retain(|_, seen| seen.since.elapsed() < within);
    if all.len() >= most {
        let mut ages: Vec<Instant> = all.values().map(|seen| seen.since).collect();
        let (_, limit, _) = ages.select_nth_unstable(most / 8);
        let limit = *limit;
        all.retain(|_, seen| seen.since > limit);
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
    use tokio::time::advance;

    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    #[tokio::test(start_paused = true)]
    async fn ten_wrong_keys_in_a_minute_are_enough() {
        let attempts = Attempts::new(Patience::default());
        let (here, there) = (at("192.0.2.1"), at("192.0.2.2"));
        for _ in 0..9 {
            attempts.failed(here);
        }
        assert_eq!(attempts.wait(here), None);
        advance(Duration::from_secs(20)).await;
        attempts.failed(here);
        assert_eq!((attempts.wait(here), attempts.wait(there)), (Some(Duration::from_secs(40)), None));
        // To go on trying does not make it longer, and does not make it shorter.
        attempts.failed(here);
        advance(Duration::from_secs(39)).await;
        assert_eq!(attempts.wait(here), Some(Duration::from_secs(1)));
        advance(Duration::from_secs(1)).await;
        assert_eq!(attempts.wait(here), None);
        attempts.failed(here);
        assert_eq!(attempts.wait(here), None, "it is counted from the beginning");
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_keys_are_looked_up_though_their_address_waits() {
        let attempts = Attempts::new(Patience { attempts: 1, ..Patience::default() });
        let here = at("192.0.2.1");
        attempts.failed(here);
        for _ in 0..3 {
            let looked_up = (0..100).filter(|_| attempts.may_look_up(here)).count();
            assert_eq!(looked_up, LOOK_UPS as usize);
            advance(Duration::from_secs(1)).await;
        }
        assert!(attempts.wait(here).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_what_one_party_has() {
        let attempts = Attempts::new(Patience { attempts: 1, ..Patience::default() });
        attempts.failed(at("2001:db8:1:2::1"));
        attempts.failed(at("::ffff:192.0.2.1"));
        for (address, is_counted) in [
            ("2001:db8:1:2:ffff::7", true),
            ("2001:db8:1:3::1", false),
            ("192.0.2.1", true),
            ("192.0.2.2", false),
            ("::1", false),
        ] {
            assert_eq!(attempts.wait(at(address)).is_some(), is_counted, "{address}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_addresses_do_not_fill_the_memory() {
        let mut attempts = Attempts::new(Patience { attempts: 1, ..Patience::default() });
        attempts.most = 64;
        for number in 0..1_000_u32 {
            attempts.failed(IpAddr::V4(number.into()));
            advance(Duration::from_micros(1)).await;
            assert!(attempts.lock().len() <= 64);
        }
        assert!(attempts.wait(IpAddr::V4(999.into())).is_some());
        advance(Duration::from_mins(1)).await;
        for number in 0..64_u32 {
            attempts.failed(IpAddr::V4(number.into()));
        }
        assert!(attempts.lock().len() <= 64, "what is over makes room first");
    }
}
