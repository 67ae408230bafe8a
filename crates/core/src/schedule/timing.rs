//! When a schedule fires: by cron, by interval, or once.
//!
//! All of it is arithmetic. The next fire is asked for by the one before it, never by the time of day, so a scheduler that
//! died goes on where it stopped and two of them compute the same.

use std::time::Duration;

use super::calendar;
use super::cron::{Cron, CronOrInterval, DstGap, DstOverlap, NotACron};
use super::fire::Fire;
use super::zone::Zone;
use crate::duration;
use crate::time::Timestamp;

const SHORTEST: Duration = Duration::from_secs(1);
/// A hundred years: as far as cron is looked ahead.
const LONGEST: Duration = Duration::from_hours(36_600 * 24);
static UTC: Zone = Zone::UTC;
const TINY: Duration = Duration::from_micros(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    Cron(Cron),
    /// At `from` and so much real time apart ever after. No zone and no summer time touch it.
    Every {
        every: Duration,
        from: Timestamp,
    },
    /// Once.
    At(Timestamp),
}

/// The same as a client writes it.
#[derive(Clone, Copy, Debug)]
pub enum TimingSpec<'a> {
    /// An expression; `@every 90s` is one too.
    Cron(&'a str),
    Every(Duration),
    At(Timestamp),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an interval must be between 1s and a hundred years, and {} is not", duration::format(*.every))]
pub struct NotAnInterval {
    pub every: Duration,
}

impl Timing {
    /// Makes sense of what a client wrote; a mistake names the field that has to be changed.
    /// `from`: since when an interval counts.
    pub fn read(
        spec: TimingSpec<'_>,
        zone: Option<Zone>,
        gap: Option<DstGap>,
        overlap: Option<DstOverlap>,
        from: Timestamp,
    ) -> Result<Self, (&'static str, String)> {
        match spec {
            TimingSpec::At(at) => Ok(Timing::At(at)),
            TimingSpec::Every(every) => Timing::every(every, from).map_err(|error| ("/every", error.to_string())),
            TimingSpec::Cron(text) => {
                let zone_is_given = zone.is_some();
                match CronOrInterval::parse(text, zone, gap, overlap) {
                    Ok(CronOrInterval::Cron(cron)) => Ok(Timing::Cron(cron)),
                    Ok(CronOrInterval::Every(every)) => {
                        let given = [
                            ("/timezone", zone_is_given),
                            ("/dst_gap", gap.is_some()),
                            ("/dst_overlap", overlap.is_some()),
                        ];
                        if let Some((pointer, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                            return Err((pointer, "does not work with @every: an interval has no time zone".into()));
                        }
                        Timing::every(every, from).map_err(|error| ("/cron", error.to_string()))
                    }
                    Err(error @ NotACron::TwoZones { .. }) => Err(("/timezone", error.to_string())),
                    Err(error) => Err(("/cron", error.to_string())),
                }
            }
        }
    }

    pub fn every(every: Duration, from: Timestamp) -> Result<Self, NotAnInterval> {
        if (SHORTEST..=LONGEST).contains(&every) {
            Ok(Timing::Every { every, from })
        } else {
            Err(NotAnInterval { every })
        }
    }

    /// The zone it is read in.
    pub fn zone(&self) -> &Zone {
        match self {
            Timing::Cron(cron) => cron.zone(),
            Timing::Every { .. } | Timing::At(_) => &UTC,
        }
    }

    /// The first fire after an instant, not at it. None: it will not fire again, or not within a hundred years.
    pub fn next_after(&self, after: Timestamp) -> Option<Fire> {
        match self {
            Timing::Cron(cron) => calendar::next_after(cron, after),
            Timing::Every { every, from } => next_of_interval(*every, *from, after).map(plain),
            Timing::At(at) => (*at > after).then(|| plain(*at)),
        }
    }

    /// The latest fire before `end` that is not before `not_before`.
    pub fn last_before(&self, end: Timestamp, not_before: Timestamp) -> Option<Fire> {
        // Whether something fires after an instant and before the end changes once, from yes to no: halve towards it.
        let next = |after| self.next_after(after).filter(|fire| fire.at < end);
        let mut found = next(not_before.minus(TINY))?;
        let mut too_late = end;
        while found.at < too_late {
            let between = too_late.as_micros().saturating_sub(found.at.as_micros()) / 2;
            let middle = Timestamp::from_micros(found.at.as_micros() + between);
            match next(middle) {
                Some(later) => found = later,
                None if between == 0 => break,
                None => too_late = middle,
            }
        }
        // Asked from just before, so that the note is that of the last step and not of a long one.
        self.next_after(found.at.minus(Duration::from_secs(1))).filter(|fire| fire.at == found.at).or(Some(found))
    }

    /// The latest fire up to `instant` that is not before `not_before`.
    pub fn last_at_or_before(&self, instant: Timestamp, not_before: Timestamp) -> Option<Fire> {
        self.last_before(instant.plus(TINY), not_before)
    }

    /// In words: "At 09:00, on Monday, in Europe/Berlin".
    pub fn describe(&self) -> String {
        match self {
            Timing::Cron(cron) => cron.describe(),
            Timing::Every { every, from } => format!("Every {}, counted from {from}", duration::format(*every)),
            Timing::At(at) => format!("Once, at {at}"),
        }
    }
}

fn plain(at: Timestamp) -> Fire {
    Fire { at, note: None }
}

fn next_of_interval(every: Duration, from: Timestamp, after: Timestamp) -> Option<Timestamp> {
    if after < from {
        return Some(from);
    }
    let every = i128::try_from(every.as_micros()).ok()?.max(1);
    let (from, after) = (i128::from(from.as_micros()), i128::from(after.as_micros()));
    let next = from + ((after - from) / every + 1) * every;
    let next = i64::try_from(next).ok()?;
    jiff::Timestamp::from_microsecond(next).ok().map(|_| Timestamp::from_micros(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    fn cron(text: &str, zone: &str) -> Timing {
        Timing::Cron(Cron::parse(text, Some(zone.parse().expect(zone)), None, None).expect(text))
    }

    #[test]
    fn an_interval_fires_at_its_start_and_so_much_apart() {
        let from = time("2026-01-01T00:00:00.5Z");
        let timing = Timing::every(Duration::from_secs(90), from).expect("an interval");
        let next = |after: Timestamp| timing.next_after(after).expect("there is always another").at;
        assert_eq!(next(from.minus(Duration::from_hours(1))), from);
        assert_eq!(next(from), from.plus(Duration::from_secs(90)));
        assert_eq!(next(from.plus(Duration::from_secs(89))), from.plus(Duration::from_secs(90)));
        assert_eq!(next(from.plus(Duration::from_hours(25_000_000))), from.plus(Duration::from_secs(90_000_000_090)));
        assert_eq!(timing.next_after(Timestamp::from_micros(i64::MAX - 1)), None);
        assert_eq!(
            timing.last_before(from.plus(Duration::from_mins(3)), from).expect("two of them").at,
            from.plus(Duration::from_secs(90))
        );
    }

    #[test]
    fn an_interval_is_at_least_a_second() {
        for every in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
            Timing::every(every, Timestamp::default()).expect_err("no interval");
        }
    }

    #[test]
    fn a_moment_fires_once() {
        let at = time("2026-01-01T00:00:00Z");
        let timing = Timing::At(at);
        assert_eq!(timing.next_after(at.minus(TINY)).expect("it is ahead").at, at);
        assert_eq!(timing.next_after(at), None);
        assert_eq!(timing.last_at_or_before(at, Timestamp::default()).expect("it is there").at, at);
        assert_eq!(timing.last_before(at, Timestamp::default()), None);
    }

    #[test]
    fn the_latest_fire_is_the_last_of_all_that_lie_between() {
        for (text, zone, from, end) in [
            ("*/7 * * * *", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T03:01:00Z"),
            ("30 2 * * *", "Europe/Berlin", "2026-03-20T00:00:00Z", "2026-03-29T01:00:00Z"),
            ("30 2 * * *", "Europe/Berlin", "2026-03-20T00:00:00Z", "2026-03-29T01:00:01Z"),
            ("* * * * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00.5Z"),
            ("0 0 29 2 *", "UTC", "1999-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ] {
            let (timing, from, end) = (cron(text, zone), time(from), time(end));
            let all = std::iter::successors(timing.next_after(from.minus(TINY)), |fire| timing.next_after(fire.at));
            let last = all.take_while(|fire| fire.at < end).last().map(|fire| fire.at);
            assert_eq!(timing.last_before(end, from).map(|fire| fire.at), last, "{text} in {zone}");
            assert!(last.is_some());
        }
        let daily = cron("@daily", "UTC");
        assert_eq!(daily.last_before(time("2026-01-01T23:00:00Z"), time("2026-01-01T01:00:00Z")), None);
    }

    #[test]
    fn the_rarest_date_is_found() {
        let timing = cron("0 0 29 2 */7", "UTC");
        assert_eq!(
            timing.next_after(time("2088-02-29T00:00:00Z")).map(|fire| fire.at),
            Some(time("2128-02-29T00:00:00Z"))
        );
    }

    #[test]
    fn the_ends_of_time_are_no_trouble() {
        let timing = cron("* * * * * *", "Europe/Berlin");
        assert!(timing.next_after(Timestamp::from_micros(i64::MIN)).is_some());
        assert_eq!(timing.next_after(Timestamp::from_micros(i64::MAX)), None);
        let (first, last) = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
        assert!(timing.last_before(last, first).is_some());
    }

    #[test]
    fn a_mistake_names_the_field_that_has_to_be_changed() {
        let read = |spec, zone: Option<&str>| {
            let zone = zone.map(|zone| zone.parse().expect(zone));
            Timing::read(spec, zone, None, None, Timestamp::default()).expect_err("a mistake").0
        };
        assert_eq!(read(TimingSpec::Cron("0 9 * *"), None), "/cron");
        assert_eq!(read(TimingSpec::Cron("TZ=Asia/Kolkata 0 9 * * *"), Some("Europe/Berlin")), "/timezone");
        assert_eq!(read(TimingSpec::Cron("@every 90s"), Some("Europe/Berlin")), "/timezone");
        assert_eq!(read(TimingSpec::Cron("@every 90ms"), None), "/cron");
        assert_eq!(read(TimingSpec::Every(Duration::ZERO), None), "/every");
    }

    #[test]
    fn a_timing_can_be_put_into_words() {
        for (timing, words) in [
            (
                cron("0 9 * * mon-fri", "Europe/Berlin"),
                "At 09:00, on Monday, Tuesday, Wednesday, Thursday, and Friday, in Europe/Berlin",
            ),
            (Timing::At(time("2026-01-01T00:00:00Z")), "Once, at 2026-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(timing.describe(), words);
        }
    }
}
