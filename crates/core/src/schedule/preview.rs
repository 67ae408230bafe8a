//! What a schedule will do, shown before it does it.

use std::time::Duration;

pub use foreman_protocol::schedule::PreviewItem;

use super::timing::Timing;
use crate::time::Timestamp;

/// The most that one preview shows.
pub const MOST_SHOWN: usize = 1_000;

/// The first `n` fires that are not before `from` and `start_at`, and not after `end_at`.
pub fn preview(
    timing: &Timing,
    from: Timestamp,
    n: usize,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
) -> Vec<PreviewItem> {
    let from = start_at.map_or(from, |start| start.max(from));
    let mut after = from.minus(Duration::from_micros(1));
    let mut items = Vec::new();
    while items.len() < n.min(MOST_SHOWN)
        && let Some(fire) = timing.next_after(after)
        && end_at.is_none_or(|end| fire.at <= end)
    {
        let note = fire.note.map(|note| note.to_string());
        items.push(PreviewItem { at: fire.at, local: local(timing, fire.at), note });
        after = fire.at;
    }
    items
}

fn local(timing: &Timing, at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(instant) => instant.display_with_offset(timing.zone().tz().to_offset(instant)).to_string(),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::cron::{Cron, DstGap, DstOverlap};
    use super::*;

    const UNSET: (Option<DstGap>, Option<DstOverlap>) = (None, None);

    fn cron(text: &str, zone: &str, policy: (Option<DstGap>, Option<DstOverlap>)) -> Timing {
        let zone = zone.parse().expect(zone);
        Timing::Cron(Cron::parse(text, Some(zone), policy.0, policy.1).expect(text))
    }

    fn time(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    /// Local times as they would be shown, with the note behind a bar.
    fn shown(timing: &Timing, from: &str, n: usize) -> Vec<String> {
        preview(timing, time(from), n, None, None)
            .into_iter()
            .map(|item| match item.note {
                Some(note) => format!("{} | {note}", item.local),
                None => item.local,
            })
            .collect()
    }

    const SPRING: &str = "2026-03-28T12:00:00+01:00";
    const AUTUMN: &str = "2026-10-25T00:00:00+02:00";

    #[test]
    fn nine_in_berlin_is_nine_on_the_wall_in_summer_and_winter() {
        assert_eq!(
            preview(&cron("0 9 * * *", "Europe/Berlin", UNSET), time(SPRING), 2, None, None),
            [
                PreviewItem { at: time("2026-03-29T07:00:00Z"), local: "2026-03-29T09:00:00+02:00".into(), note: None },
                PreviewItem { at: time("2026-03-30T07:00:00Z"), local: "2026-03-30T09:00:00+02:00".into(), note: None },
            ]
        );
        assert_eq!(
            shown(&cron("0 9 * * *", "Europe/Berlin", UNSET), "2026-10-24T00:00:00Z", 2),
            ["2026-10-24T09:00:00+02:00", "2026-10-25T09:00:00+01:00"]
        );
    }

    #[test]
    fn a_fixed_time_that_does_not_exist_fires_at_the_first_instant_after_the_gap() {
        assert_eq!(
            shown(&cron("30 2 * * *", "Europe/Berlin", UNSET), SPRING, 2),
            [
                "2026-03-29T03:00:00+02:00 | 02:30 does not exist on 2026-03-29: moved to 03:00",
                "2026-03-30T02:30:00+02:00"
            ]
        );
    }

    #[test]
    fn several_fixed_times_of_one_gap_make_one_fire() {
        assert_eq!(
            shown(&cron("0,20,40 2 * * *", "Europe/Berlin", UNSET), SPRING, 2),
            [
                "2026-03-29T03:00:00+02:00 | 3 times from 02:00 to 02:40 do not exist on 2026-03-29: merged into one \
                 fire at 03:00",
                "2026-03-30T02:00:00+02:00"
            ]
        );
        assert_eq!(
            shown(&cron("0 2,3 * * *", "Europe/Berlin", UNSET), SPRING, 2),
            [
                "2026-03-29T03:00:00+02:00 | 02:00 does not exist on 2026-03-29: merged with 03:00",
                "2026-03-30T02:00:00+02:00"
            ]
        );
    }

    #[test]
    fn a_fixed_time_that_comes_twice_fires_in_the_first_pass() {
        assert_eq!(
            shown(&cron("30 2 * * *", "Europe/Berlin", UNSET), AUTUMN, 2),
            [
                "2026-10-25T02:30:00+02:00 | 02:30 comes twice on 2026-10-25: fires the first time only",
                "2026-10-26T02:30:00+01:00"
            ]
        );
    }

    #[test]
    fn an_expression_with_a_star_follows_real_time() {
        let half_hourly = cron("*/30 * * * *", "Europe/Berlin", UNSET);
        assert_eq!(
            shown(&half_hourly, "2026-03-29T01:30:00+01:00", 3),
            [
                "2026-03-29T01:30:00+01:00",
                "2026-03-29T03:00:00+02:00 | 2 times from 02:00 to 02:30 do not exist on 2026-03-29: skipped before \
                 this fire",
                "2026-03-29T03:30:00+02:00"
            ]
        );
        assert_eq!(
            shown(&half_hourly, "2026-10-25T01:30:00+02:00", 6),
            [
                "2026-10-25T01:30:00+02:00",
                "2026-10-25T02:00:00+02:00 | 02:00 comes twice on 2026-10-25: this is the first",
                "2026-10-25T02:30:00+02:00 | 02:30 comes twice on 2026-10-25: this is the first",
                "2026-10-25T02:00:00+01:00 | 02:00 comes twice on 2026-10-25: this is the second",
                "2026-10-25T02:30:00+01:00 | 02:30 comes twice on 2026-10-25: this is the second",
                "2026-10-25T03:00:00+01:00"
            ]
        );
        assert_eq!(
            shown(&cron("*/30 2 * * *", "Europe/Berlin", UNSET), SPRING, 1),
            ["2026-03-30T02:00:00+02:00 | 2 times from 02:00 to 02:30 do not exist on 2026-03-29: skipped before \
                 this fire"],
            "nothing is made up for the hour that is missing"
        );
    }

    #[test]
    fn a_gap_that_is_to_be_skipped_fires_nothing_and_says_so() {
        assert_eq!(
            shown(&cron("30 2 * * *", "Europe/Berlin", (Some(DstGap::Skip), None)), SPRING, 2),
            [
                "2026-03-30T02:30:00+02:00 | 02:30 does not exist on 2026-03-29: skipped before this fire",
                "2026-03-31T02:30:00+02:00"
            ]
        );
    }

    #[test]
    fn a_policy_that_is_set_binds_expressions_with_a_star_too() {
        let made_up = (Some(DstGap::NextValid), None);
        assert_eq!(
            shown(&cron("*/30 2 * * *", "Europe/Berlin", made_up), SPRING, 2),
            [
                "2026-03-29T03:00:00+02:00 | 2 times from 02:00 to 02:30 do not exist on 2026-03-29: merged into one \
                 fire at 03:00",
                "2026-03-30T02:00:00+02:00"
            ]
        );
        assert_eq!(
            shown(&cron("*/30 * * * *", "Europe/Berlin", made_up), "2026-03-29T01:30:00+01:00", 3),
            [
                "2026-03-29T01:30:00+01:00",
                "2026-03-29T03:00:00+02:00 | 2 times from 02:00 to 02:30 do not exist on 2026-03-29: merged with 03:00",
                "2026-03-29T03:30:00+02:00"
            ]
        );
        assert_eq!(
            shown(
                &cron("*/30 * * * *", "Europe/Berlin", (None, Some(DstOverlap::First))),
                "2026-10-25T02:30:00+02:00",
                2
            ),
            [
                "2026-10-25T02:30:00+02:00 | 02:30 comes twice on 2026-10-25: fires the first time only",
                "2026-10-25T03:00:00+01:00"
            ]
        );
    }

    #[test]
    fn a_fixed_time_fires_in_both_passes_when_told_to() {
        assert_eq!(
            shown(
                &cron("30 1 * * *", "America/New_York", (None, Some(DstOverlap::Both))),
                "2026-11-01T00:00:00-04:00",
                3
            ),
            [
                "2026-11-01T01:30:00-04:00 | 01:30 comes twice on 2026-11-01: this is the first",
                "2026-11-01T01:30:00-05:00 | 01:30 comes twice on 2026-11-01: this is the second",
                "2026-11-02T01:30:00-05:00"
            ]
        );
    }

    #[test]
    fn lord_howe_moves_its_clocks_by_half_an_hour() {
        assert_eq!(
            shown(&cron("15 2 * * *", "Australia/Lord_Howe", UNSET), "2026-10-03T12:00:00+10:30", 2),
            [
                "2026-10-04T02:30:00+11:00 | 02:15 does not exist on 2026-10-04: moved to 02:30",
                "2026-10-05T02:15:00+11:00"
            ]
        );
        assert_eq!(
            shown(&cron("45 1 * * *", "Australia/Lord_Howe", UNSET), "2026-04-04T12:00:00+11:00", 2),
            [
                "2026-04-05T01:45:00+11:00 | 01:45 comes twice on 2026-04-05: fires the first time only",
                "2026-04-06T01:45:00+10:30"
            ]
        );
    }

    #[test]
    fn a_day_that_does_not_exist_is_a_gap_of_a_day() {
        assert_eq!(
            shown(&cron("0 9 * * *", "Pacific/Apia", UNSET), "2011-12-29T00:00:00-10:00", 3),
            [
                "2011-12-29T09:00:00-10:00",
                "2011-12-31T00:00:00+14:00 | 09:00 does not exist on 2011-12-30: moved to 2011-12-31 00:00",
                "2011-12-31T09:00:00+14:00"
            ]
        );
    }

    #[test]
    fn a_midnight_that_comes_twice_fires_once() {
        // Until 2011 St John's put its clocks back at 00:01, so that the last hour of the day before came again.
        assert_eq!(
            shown(&cron("0 0 * * *", "America/St_Johns", UNSET), "2010-11-06T12:00:00-02:30", 2),
            [
                "2010-11-07T00:00:00-02:30 | 00:00 comes twice on 2010-11-07: fires the first time only",
                "2010-11-08T00:00:00-03:30"
            ]
        );
    }

    #[test]
    fn casablanca_puts_its_clocks_back_for_ramadan() {
        assert_eq!(
            shown(&cron("30 2 * * *", "Africa/Casablanca", UNSET), "2026-02-15T00:00:00+01:00", 2),
            [
                "2026-02-15T02:30:00+01:00 | 02:30 comes twice on 2026-02-15: fires the first time only",
                "2026-02-16T02:30:00+00:00"
            ]
        );
        assert_eq!(
            shown(&cron("30 2 * * *", "Africa/Casablanca", UNSET), "2026-03-22T00:00:00+00:00", 1),
            ["2026-03-22T03:00:00+01:00 | 02:30 does not exist on 2026-03-22: moved to 03:00"]
        );
    }

    #[test]
    fn a_preview_begins_and_ends_where_the_schedule_does() {
        let hourly = cron("@hourly", "UTC", UNSET);
        let (start, end) = (time("2026-01-01T10:00:00Z"), time("2026-01-01T12:00:00Z"));
        let shown: Vec<Timestamp> = preview(&hourly, time("2026-01-01T00:00:00Z"), 20, Some(start), Some(end))
            .into_iter()
            .map(|item| item.at)
            .collect();
        assert_eq!(shown, [start, time("2026-01-01T11:00:00Z"), end]);
        assert_eq!(preview(&Timing::At(start), time("2026-01-01T00:00:00Z"), 20, None, None).len(), 1);
        assert_eq!(preview(&hourly, start, usize::MAX, None, None).len(), MOST_SHOWN);
    }
}
