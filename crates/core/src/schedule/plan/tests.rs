use super::*;
use crate::schedule::{Judge as _, ScheduleSpec};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

fn time(text: &str) -> Timestamp {
    text.parse().expect(text)
}

fn start() -> Timestamp {
    time("2026-01-01T00:00:00Z")
}

/// Every minute from the start, unless the fields say otherwise.
fn rule(fields: &str) -> ScheduleRule {
    let when = if fields.contains("\"cron\"") || fields.contains("\"at\"") { "" } else { r#""every": "1m", "# };
    let json = format!(
        r#"{{"name": "n", {when}{fields}{}"job": {{"task": "t"}}}}"#,
        if fields.is_empty() { "" } else { ", " }
    );
    let spec: ScheduleSpec = serde_json::from_str(&json).expect(&json);
    spec.rule(start()).expect(&json)
}

/// What is planned, in minutes since the start.
#[derive(Debug, PartialEq)]
enum PlannedMinutes {
    Fire(u64),
    Skip(u64, u64, Option<u32>),
}
use PlannedMinutes::{Fire, Skip};

fn minutes(at: Timestamp) -> u64 {
    at.since(start()).as_secs() / 60
}

fn told(planned: &Planned) -> Vec<PlannedMinutes> {
    let one = |tick: &PlannedTick| match *tick {
        PlannedTick::Fire { nominal } => Fire(minutes(nominal)),
        PlannedTick::Skip { first, last, count } => Skip(minutes(first), minutes(last), count),
    };
    planned.ticks.iter().map(one).collect()
}

/// Looked at so many minutes and a half after the start, with the tick of minute one due.
fn after(rule: &ScheduleRule, late: u32) -> Planned {
    plan(rule, start().plus(MINUTE), start().plus(MINUTE * late + MINUTE / 2), MINUTE)
}

#[test]
fn what_is_due_fires_and_the_next_is_the_one_after_it() {
    let planned = after(&rule(""), 1);
    assert_eq!(told(&planned), [Fire(1)]);
    assert_eq!(planned.next, Some(start().plus(MINUTE * 2)));
}

#[test]
fn each_policy_takes_a_late_start_as_it_says() {
    for (fields, expected) in [
        (r#""missed": "skip""#, vec![Skip(1, 4, Some(4)), Fire(5)]),
        (r#""missed": "latest""#, vec![Skip(1, 3, Some(3)), Fire(4), Fire(5)]),
        ("", vec![Skip(1, 3, Some(3)), Fire(4), Fire(5)]),
        (r#""missed": "all""#, vec![Fire(1), Fire(2), Fire(3), Fire(4), Fire(5)]),
        (r#""missed": "all", "missed_max": 2"#, vec![Skip(1, 2, Some(2)), Fire(3), Fire(4), Fire(5)]),
        (r#""missed": "all", "missed_max": 4"#, vec![Fire(1), Fire(2), Fire(3), Fire(4), Fire(5)]),
        (r#""missed": "latest", "missed_max": 4"#, vec![Skip(1, 3, Some(3)), Fire(4), Fire(5)]),
    ] {
        let planned = after(&rule(fields), 5);
        assert_eq!(told(&planned), expected, "{fields}");
        assert_eq!(planned.next, Some(start().plus(MINUTE * 6)));
    }
}

#[test]
fn a_single_missed_tick_is_fired_or_skipped_alone() {
    assert_eq!(told(&after(&rule(r#""missed": "skip""#), 2)), [Skip(1, 1, Some(1)), Fire(2)]);
    assert_eq!(told(&after(&rule(r#""missed": "latest""#), 2)), [Fire(1), Fire(2)]);
}

#[test]
fn a_tick_is_missed_when_it_is_later_than_the_limit_and_not_at_it() {
    let rule = rule(r#""missed": "skip""#);
    let due = start().plus(MINUTE);
    let in_time = plan(&rule, due, due.plus(MINUTE).minus(TINY), MINUTE);
    assert_eq!(told(&in_time), [Fire(1)]);
    let at_the_limit = plan(&rule, due, due.plus(MINUTE), MINUTE);
    assert_eq!(told(&at_the_limit), [Fire(1), Fire(2)]);
    let too_late = plan(&rule, due, due.plus(MINUTE).plus(TINY), MINUTE);
    assert_eq!(told(&too_late), [Skip(1, 1, Some(1)), Fire(2)]);
}

#[test]
fn every_time_is_planned_once_however_often_one_looks() {
    for fields in [r#""missed": "skip""#, r#""missed": "latest""#, r#""missed": "all", "missed_max": 7"#] {
        let rule = rule(fields);
        let mut counted = 0;
        let (mut next, mut now) = (Some(start().plus(MINUTE)), start());
        for seconds in [30, 61, 7, 3_000, 1, 59, 86_400, 60, 600] {
            now = now.plus(Duration::from_secs(seconds));
            let Some(due) = next.filter(|next| *next <= now) else { continue };
            let planned = plan(&rule, due, now, MINUTE);
            for tick in &planned.ticks {
                counted += match tick {
                    PlannedTick::Fire { .. } => 1,
                    PlannedTick::Skip { count, .. } => u64::from(count.expect("few enough")),
                };
            }
            next = planned.next;
            assert!(next > Some(now), "all that is due is planned");
        }
        assert_eq!(counted, minutes(now), "{fields}");
    }
}

#[test]
fn what_is_left_of_very_many_is_due_at_the_next_look() {
    let rule = rule(r#""cron": "* * * * * *""#);
    let due = start().plus(Duration::from_secs(1));
    let planned = plan(&rule, due, start().plus(DAY), DAY * 2);
    assert_eq!(planned.ticks.len(), MOST);
    assert_eq!(planned.next, Some(start().plus(Duration::from_secs(1_001))));
    assert_eq!(planned.ticks.last(), Some(&PlannedTick::Fire { nominal: start().plus(Duration::from_secs(1_000)) }));
}

#[test]
fn the_late_ones_count_among_the_most_that_fire_at_once() {
    let rule = rule(r#""cron": "* * * * * *", "missed": "all", "missed_max": 1000"#);
    let planned = plan(&rule, start().plus(Duration::from_secs(1)), start().plus(DAY), MINUTE);
    let fired = planned.ticks.iter().filter(|tick| matches!(tick, PlannedTick::Fire { .. })).count();
    assert_eq!(fired, 1_000);
    let too_late = start().plus(DAY).minus(MINUTE);
    assert_eq!(planned.next, Some(too_late), "those in time are due at the next look");
    let rest = plan(&rule, too_late, start().plus(DAY), MINUTE);
    assert_eq!(rest.ticks.len(), 61);
}

#[test]
fn a_year_without_a_scheduler_is_one_row_and_not_counted_one_by_one() {
    let rule = rule(r#""cron": "* * * * * *", "missed": "latest""#);
    let due = start().plus(Duration::from_secs(1));
    let now = start().plus(DAY * 365);
    let planned = plan(&rule, due, now, MINUTE);
    let latest = now.minus(MINUTE).minus(Duration::from_secs(1));
    let skipped = PlannedTick::Skip { first: due, last: latest.minus(Duration::from_secs(1)), count: None };
    assert_eq!(planned.ticks[..2], [skipped, PlannedTick::Fire { nominal: latest }]);
    assert_eq!(planned.ticks.len(), 2 + 61, "and the last minute fires");
}

#[test]
fn ten_thousand_are_counted_and_one_more_are_not() {
    let rule = rule(r#""cron": "* * * * * *", "missed": "skip""#);
    let due = start().plus(Duration::from_secs(1));
    for (missed, count) in [(COUNTED, Some(COUNTED)), (COUNTED + 1, None)] {
        // The last that is missed is the one just before the limit.
        let now = start().plus(Duration::from_secs(u64::from(missed) + 1)).plus(MINUTE);
        let planned = plan(&rule, due, now, MINUTE);
        let last = start().plus(Duration::from_secs(u64::from(missed)));
        assert_eq!(planned.ticks[0], PlannedTick::Skip { first: due, last, count });
    }
}

#[test]
fn after_its_end_nothing_is_planned() {
    let ends = rule(r#""end_at": "2026-01-01T00:03:30Z""#);
    let planned = after(&ends, 5);
    assert_eq!((told(&planned), planned.next), (vec![Skip(1, 2, Some(2)), Fire(3)], None));
    let on_time = plan(&ends, start().plus(MINUTE * 3), start().plus(MINUTE * 3), MINUTE);
    assert_eq!((told(&on_time), on_time.next), (vec![Fire(3)], None), "that was the last");
    let at_its_end = rule(r#""end_at": "2026-01-01T00:03:00Z""#);
    assert_eq!(told(&after(&at_its_end, 3)).last(), Some(&Fire(3)), "the end belongs to it");
}

#[test]
fn a_single_moment_fires_late_or_not_at_all_and_is_over() {
    let at = |missed: &str| rule(&format!(r#""at": "2026-01-01T00:01:00Z", "missed": "{missed}""#));
    for (missed, expected) in [("skip", Skip(1, 1, Some(1))), ("latest", Fire(1)), ("all", Fire(1))] {
        let planned = after(&at(missed), 600);
        assert_eq!((told(&planned), planned.next), (vec![expected], None), "{missed}");
    }
}

#[test]
fn a_gap_of_the_clocks_inside_an_outage_is_planned_like_any_other_day() {
    let rule = rule(r#""cron": "30 2 * * *", "timezone": "Europe/Berlin", "missed": "all""#);
    let due = time("2026-03-28T01:30:00Z");
    let planned = plan(&rule, due, time("2026-03-31T00:30:00Z"), MINUTE);
    let fired: Vec<_> = planned
        .ticks
        .iter()
        .map(|tick| if let PlannedTick::Fire { nominal } = tick { nominal.to_string() } else { "skipped".into() })
        .collect();
    let expected = ["2026-03-28T01:30:00", "2026-03-29T01:00:00", "2026-03-30T00:30:00", "2026-03-31T00:30:00"];
    assert_eq!(fired, expected.map(|text| format!("{text}.000000Z")));
}

#[test]
fn the_latest_of_many_are_the_same_wherever_they_are_looked_for_from() {
    for (when, wanted) in [
        (r#""cron": "@every 7s""#, 50),
        (r#""cron": "*/5 * * * *""#, 100),
        // Sparse, then in bursts.
        (r#""cron": "*/10 0-2 9 * * *""#, 40),
        (r#""cron": "0 0 1 * *""#, 1_000),
        (r#""end_at": "2026-01-02T12:00:30Z""#, 10),
    ] {
        let rule = rule(&format!(r#"{when}, "missed": "all", "missed_max": {wanted}"#));
        let due = rule.next_after(start()).expect("a first");
        let now = due.plus(DAY * 3);
        let each = std::iter::successors(Some(due), |nominal| rule.next_after(*nominal));
        let missed: Vec<Timestamp> = each.take_while(|nominal| *nominal < now.minus(MINUTE)).collect();
        let expected = &missed[missed.len().saturating_sub(wanted)..];
        let planned = plan(&rule, due, now, MINUTE);
        let fired: Vec<Timestamp> = planned
            .ticks
            .iter()
            .filter_map(|tick| match tick {
                PlannedTick::Fire { nominal } => Some(*nominal).filter(|nominal| *nominal < now.minus(MINUTE)),
                PlannedTick::Skip { .. } => None,
            })
            .collect();
        assert_eq!(fired, expected, "{when}");
        let skipped = missed.len() - expected.len();
        let first = planned.ticks.first().filter(|_| skipped > 0).copied();
        let run = (skipped > 0).then(|| PlannedTick::Skip {
            first: due,
            last: missed[skipped - 1],
            count: u32::try_from(skipped).ok().filter(|count| *count <= COUNTED),
        });
        assert_eq!(first, run, "{when}");
    }
}

#[test]
fn what_is_put_off_is_what_is_due_next() {
    let whole = after(&rule(r#""missed": "all", "missed_max": 2"#), 5);
    assert_eq!(told(&whole), [Skip(1, 2, Some(2)), Fire(3), Fire(4), Fire(5)]);
    for (most, kept, next) in [(0, 0, 1), (1, 1, 3), (2, 2, 4), (4, 4, 6), (9, 4, 6)] {
        let mut planned = whole.clone();
        planned.put_off_after(most);
        assert_eq!(planned.ticks, whole.ticks[..kept], "at most {most}");
        assert_eq!(planned.next, Some(start().plus(MINUTE * next)), "at most {most}");
    }
}
