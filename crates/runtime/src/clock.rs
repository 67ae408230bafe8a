//! The wall clock, read in one place.
//!
//! Wall time is for what is written down: when a job was made, when it is due, when it ended. How long something takes, or
//! has taken, is measured with `tokio::time::Instant`, which no operator and no time server moves, and which tests pause.
//!
//! Where a database is shared by several machines, *its* clock decides and this one is only written into logs. On a laptop
//! the process and its SQLite file have one clock between them, which is this one.

/// Microseconds since the Unix epoch.
///
/// Cut, not rounded, to microseconds at birth: a finer value would not equal itself once it has been through a database,
/// and every comparison on it would quietly miss. May go backwards when the machine's clock is set.
pub fn now() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "this is the one room that reads the system clock")]
    let now = jiff::Timestamp::now();
    now.as_microsecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_tells_microseconds_of_this_century() {
        let start_of_2024 = 1_704_067_200_000_000;
        let start_of_2100 = 4_102_444_800_000_000;
        let now = now();
        assert!((start_of_2024..start_of_2100).contains(&now), "{now} is not in microseconds since 1970");
    }
}
