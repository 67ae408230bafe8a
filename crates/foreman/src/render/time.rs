//! Time as people say it.

use std::time::Duration;

use foreman_core::Timestamp;

/// `4s`, `12m`, `3h`, `9d`: the largest unit is enough.
pub fn elapsed(duration: Duration) -> String {
    let secs = duration.as_secs();
    match secs {
        0 if duration.as_millis() > 0 => format!("{}ms", duration.as_millis()),
        0..=119 => format!("{secs}s"),
        120..=7_199 => format!("{}m", secs / 60),
        7_200..=172_799 => format!("{}h", secs / 3_600),
        _ => format!("{}d", secs / 86_400),
    }
}

/// How long ago, or how long until.
pub fn age(time: Timestamp, now: Timestamp) -> String {
    if time > now { format!("in {}", elapsed(time.since(now))) } else { elapsed(now.since(time)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_is_enough() {
        for (millis, text) in
            [(0, "0s"), (12, "12ms"), (90_000, "90s"), (600_000, "10m"), (9_000_000, "2h"), (259_200_000, "3d")]
        {
            assert_eq!(elapsed(Duration::from_millis(millis)), text);
        }
        let now = Timestamp::from_micros(10_000_000);
        assert_eq!(age(now.plus(Duration::from_secs(5)), now), "in 5s");
        assert_eq!(age(now.minus(Duration::from_secs(5)), now), "5s");
    }
}
