//! Pool, coalescer and shutdown over thousands of schedules.
//!
//! Shuttle runs the real code on a scheduler that chooses, at every await, who goes next, and repeats a failing schedule
//! from its printed seed. Neither timers nor threads exist there: lingering and deadlines are a number of turns drawn
//! from shuttle's own dice. Each file also plants a mistake and shows that it is found.
#![expect(clippy::unwrap_used, reason = "a test says what it expects, and may stop where it is wrong")]

mod coalesce;
mod pool;
mod shutdown;

use shuttle::future::yield_now;
use shuttle::rand::{Rng, thread_rng};

/// How many schedules each test tries, drawn at random and again with few, well-placed interruptions.
const SCHEDULES: usize = 1_500;

fn check(test: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(test.clone(), SCHEDULES);
    shuttle::check_pct(
        move || {
            // It measures its first schedule and refuses a test that offered it no choice; ours draw how long they dawdle, and may
            // draw nothing. Giving way to a bystander is a choice in every schedule.
            let bystander = shuttle::thread::spawn(|| {});
            shuttle::thread::yield_now();
            bystander.join().unwrap();
            test();
        },
        SCHEDULES,
        3,
    );
}

/// Lets others go first, between none and `most` times.
async fn a_while(most: usize) {
    let turns = thread_rng().gen_range(0..=most);
    for _ in 0..turns {
        yield_now().await;
    }
}
