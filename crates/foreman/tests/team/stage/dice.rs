//! Random moments that can be had again: the seed is printed, and `FOREMAN_TEST_SEED` sets it.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

pub struct Dice(SmallRng);

impl Dice {
    pub fn new() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is for the tests alone")]
        let given = std::env::var("FOREMAN_TEST_SEED").ok();
        let seed = given.map_or_else(|| RandomState::new().hash_one(0), |text| text.parse().unwrap());
        println!("FOREMAN_TEST_SEED={seed}");
        Self(SmallRng::seed_from_u64(seed))
    }

    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(self.0.random_range(from..to))
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }
}
