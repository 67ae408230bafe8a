use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::*;
use crate::duration::Span;
use crate::spec::Mistake;

const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

fn parsed(json: &str) -> ScheduleSpec {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// With a name, a time and a job, unless the fields bring their own.
fn spec(fields: &str) -> ScheduleSpec {
    let mut all: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(r#"{"name": "daily", "job": {"task": "t"}}"#).expect("fields");
    let given: BTreeMap<String, serde_json::Value> = serde_json::from_str(&format!("{{{fields}}}")).expect(fields);
    if !["cron", "every", "at"].iter().any(|name| given.contains_key(*name)) {
        all.insert("cron".into(), "@daily".into());
    }
    all.extend(given);
    parsed(&serde_json::to_string(&all).expect("json"))
}

fn judge(spec: &ScheduleSpec) -> Result<Judged, Invalid> {
    spec.judge(&TenantId::default(), &Limits::default(), NOW, NOW)
}

fn mistakes(spec: &ScheduleSpec) -> Vec<String> {
    let invalid = judge(spec).expect_err("a mistake");
    assert!(invalid.mistakes.iter().all(|mistake| !mistake.detail.is_empty()));
    invalid.mistakes.into_iter().map(|mistake| mistake.pointer).collect()
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let judged = judge(&spec("")).expect("valid");
    let ScheduleRule { missed, missed_max, overlap, jitter, start_at, end_at, .. } = judged.rule;
    assert_eq!((missed, missed_max, overlap, jitter), (Missed::Latest, 100, Overlap::Allow, Duration::ZERO));
    assert_eq!((start_at, end_at), (None, None));
    assert_eq!(judged.rule.timing.zone().to_string(), "UTC");
    assert!(judged.work.occasion.is_none());
}

#[test]
fn each_field_names_its_own_mistake() {
    for (fields, pointer) in [
        (r#""name": "a b""#, "/name"),
        (r#""name": "preview""#, "/name"),
        (r#""cron": "0 9 * *""#, "/cron"),
        (r#""cron": "0 0 31 2 *""#, "/cron"),
        (r#""cron": "@every 90s", "timezone": "Europe/Berlin""#, "/timezone"),
        (r#""cron": "TZ=Asia/Kolkata @daily", "timezone": "Europe/Berlin""#, "/timezone"),
        (r#""timezone": "Mars/Olympus_Mons""#, "/timezone"),
        (r#""every": "900ms""#, "/every"),
        (r#""every": "1m", "timezone": "Europe/Berlin""#, "/timezone"),
        (r#""every": "1m", "dst_gap": "skip""#, "/dst_gap"),
        (r#""at": "2027-01-01T00:00:00Z", "dst_overlap": "both""#, "/dst_overlap"),
        (r#""cron": "@daily", "every": "1m""#, ""),
        (r#""cron": "@daily", "at": "2027-01-01T00:00:00Z""#, ""),
        (r#""missed_max": 0"#, "/missed_max"),
        (r#""missed_max": 1001"#, "/missed_max"),
        (r#""jitter": "25h""#, "/jitter"),
        (r#""start_at": "2027-01-02T00:00:00Z", "end_at": "2027-01-01T00:00:00Z""#, "/end_at"),
        (r#""job": {"task": "t", "run_at": "2027-01-01T00:00:00Z"}"#, "/job/run_at"),
        (r#""job": {"task": "t", "delay": "1s"}"#, "/job/delay"),
        (r#""job": {"task": "t", "expires_at": "2027-01-01T00:00:00Z"}"#, "/job/expires_at"),
        (r#""job": {"task": "t", "idempotency_key": "k"}"#, "/job/idempotency_key"),
        (r#""job": {"task": "t", "queue": "a b"}"#, "/job/queue"),
        (r#""job": {"url": "http://a.example/", "headers": {"Host": "b"}}"#, "/job/headers/Host"),
        (r#""job": {}"#, "/job"),
    ] {
        assert_eq!(mistakes(&spec(fields)), [pointer], "{fields}");
    }
    assert_eq!(mistakes(&ScheduleSpec { cron: None, ..spec("") }), [""], "no time at all");
}

#[test]
fn every_mistake_is_reported_at_once() {
    let bad = spec(
        r#""name": "/", "every": "1ms", "timezone": "UTC", "missed_max": 0, "jitter": "9d", "job": {"task": "t", "delay": "1s", "queue": "?"}"#,
    );
    let found = mistakes(&bad);
    for pointer in ["/name", "/every", "/timezone", "/missed_max", "/jitter", "/job/delay", "/job/queue"] {
        assert!(found.iter().any(|found| found == pointer), "{pointer} not in {found:?}");
    }
}

#[test]
fn a_field_that_nobody_knows_and_a_job_that_is_no_object_are_refused() {
    for json in [
        r#"{"name": "n", "cron": "@daily", "job": {"task": "t"}, "timezon": "UTC"}"#,
        r#"{"name": "n", "cron": "@daily", "job": {"task": "t", "quue": "x"}}"#,
        r#"{"name": "n", "cron": "@daily", "job": ["t"]}"#,
        r#"{"name": "n", "cron": "@daily", "job": null}"#,
        r#"{"name": "n", "cron": "@daily"}"#,
        r#"{"cron": "@daily", "job": {"task": "t"}}"#,
        r#"{"name": "n", "cron": "@daily", "job": {"task": "t"}, "missed": "sometimes"}"#,
    ] {
        serde_json::from_str::<ScheduleSpec>(json).expect_err(json);
    }
}

#[test]
fn what_was_judged_is_read_again_as_the_same_rule() {
    for fields in [
        r#""cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "missed": "all", "missed_max": 5, "jitter": "10s""#,
        r#""every": "90s", "start_at": "2026-02-01T00:00:00Z", "end_at": "2026-03-01T00:00:00Z", "overlap": "queue""#,
        r#""at": "2027-01-01T00:00:00Z""#,
        r#""cron": "@every 5m""#,
    ] {
        let spec = spec(fields);
        let judged = judge(&spec).expect(fields).rule;
        let kept: ScheduleSpec = parsed(&serde_json::to_string(&spec).expect("json"));
        let again = kept.rule(NOW).expect(fields);
        assert_eq!(format!("{judged:?}"), format!("{again:?}"));
        assert_eq!(judged.first_after(NOW), again.first_after(NOW));
    }
}

#[test]
fn an_interval_counts_from_its_start_or_from_when_it_was_made() {
    let later = NOW.plus(Duration::from_secs(100));
    let rule = spec(r#""every": "1m""#).rule(NOW).expect("valid");
    assert_eq!(rule.first_after(later), Some(NOW.plus(Duration::from_mins(2))));
    let rule = spec(r#""every": "1m", "start_at": "2026-01-02T00:00:30Z""#).rule(NOW).expect("valid");
    let start = "2026-01-02T00:00:30Z".parse().expect("a time");
    assert_eq!(rule.first_after(later), Some(start), "its start is its first tick");
    assert_eq!(rule.first_after(start), Some(start.plus(Duration::from_mins(1))));
}

#[test]
fn nothing_fires_before_the_start_or_after_the_end() {
    let rule =
        spec(r#""start_at": "2026-01-03T00:00:00Z", "end_at": "2026-01-04T00:00:00Z""#).rule(NOW).expect("valid");
    let (third, fourth) =
        ("2026-01-03T00:00:00Z".parse().expect("a time"), "2026-01-04T00:00:00Z".parse().expect("a time"));
    assert_eq!(rule.first_after(NOW), Some(third), "both ends belong to it");
    assert_eq!((rule.next_after(third), rule.next_after(fourth)), (Some(fourth), None));
    let never = NOW.plus(Duration::from_hours(24 * 1_000));
    assert_eq!(rule.last_before(never, third), Some(fourth));
}

fn patched(before: &ScheduleSpec, patch: &str) -> Result<ScheduleSpec, Invalid> {
    before.patched(&RawValue::from_string(patch.into()).expect(patch))
}

fn text(spec: &ScheduleSpec) -> String {
    serde_json::to_string(spec).expect("json")
}

#[test]
fn a_patch_replaces_what_it_names_and_null_removes_it() {
    let before = spec(r#""timezone": "Europe/Berlin", "missed": "skip", "jitter": "5s""#);
    let after =
        patched(&before, r#"{"missed": "all", "jitter": null, "overlap": "queue", "end_at": null}"#).expect("valid");
    assert_eq!((after.missed, after.jitter, after.overlap), (Some(Missed::All), None, Some(Overlap::Queue)));
    assert_eq!((&after.timezone, &after.cron), (&before.timezone, &before.cron), "the rest stays");
    let after = patched(&before, r#"{"cron": null, "timezone": null, "every": "1m"}"#).expect("valid");
    assert_eq!((after.cron, after.every), (None, Some(Span(Duration::from_mins(1)))));
    assert_eq!(text(&patched(&before, "{}").expect("valid")), text(&before));
}

#[test]
fn a_patch_reaches_into_the_job_and_no_deeper() {
    let before =
        spec(r#""job": {"url": "http://a.example/", "queue": "mail", "payload": {"a": 1, "b": 2}, "tags": ["x"]}"#);
    let after = patched(&before, r#"{"job": {"queue": null, "payload": {"c": 3}, "timeout": "9s"}}"#).expect("valid");
    assert_eq!((after.job.queue.as_deref(), after.job.url.as_deref()), (None, Some("http://a.example/")));
    assert_eq!(after.job.payload.as_ref().map(|payload| payload.get()), Some(r#"{"c": 3}"#), "replaced whole");
    assert_eq!((after.job.timeout, after.job.tags), (Some(Span(Duration::from_secs(9))), before.job.tags.clone()));
    let after = patched(&before, r#"{"job": {"url": null, "task": "t"}}"#).expect("valid");
    assert_eq!((after.job.url, after.job.task.as_deref()), (None, Some("t")));
}

#[test]
fn what_a_patch_does_not_name_is_kept_to_the_letter() {
    let json = r#"{"name":"n","cron":"@daily","job":{"task":"t","payload":{ "n" : 123456789012345678901234567890.10, "e": 1E400 }}}"#;
    let after = patched(&parsed(json), r#"{"paused": true}"#).expect("valid");
    let payload = r#"{ "n" : 123456789012345678901234567890.10, "e": 1E400 }"#;
    assert_eq!(after.job.payload.as_ref().map(|payload| payload.get()), Some(payload));
    let big = r#"{"job": {"payload": 10000000000000000000000000000000001}}"#;
    let after = patched(&after, big).expect("valid");
    assert_eq!(after.job.payload.as_ref().map(|payload| payload.get()), Some("10000000000000000000000000000000001"));
    assert_eq!(after.paused, Some(true));
}

#[test]
fn a_patch_that_is_none_is_refused() {
    let before = spec("");
    for patch in [
        "[]",
        "null",
        "3",
        r#"{"job": null}"#,
        r#"{"job": 3}"#,
        r#"{"name": null}"#,
        r#"{"timezon": "UTC"}"#,
        r#"{"missed": "sometimes"}"#,
        r#"{"job": {"quue": 1}}"#,
    ] {
        let invalid = patched(&before, patch).expect_err(patch);
        assert_eq!(invalid.mistakes.len(), 1, "{patch}");
    }
    let after = patched(&before, r#"{"job": {"run_at": "2027-01-01T00:00:00Z"}}"#).expect("a shape");
    assert_eq!(mistakes(&after), ["/job/run_at"], "what has a shape is judged like any other");
}

fn schedule(name: &str) -> Schedule {
    let spec = spec(&format!(r#""name": "{name}""#));
    let judged = judge(&spec).expect("valid");
    Schedule {
        id: ScheduleId::fresh(),
        tenant: TenantId::new("ours"),
        name: judged.name,
        spec: Arc::new(spec),
        work: Arc::new(judged.work),
        created_at: NOW,
    }
}

fn delay(schedule: &Schedule, nominal: Timestamp, jitter: Duration) -> Duration {
    match schedule.job_at(nominal, jitter).start {
        Start::At(at) => at.since(nominal),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_job_of_a_tick_knows_its_occasion_and_whose_it_is() {
    let schedule = schedule("daily");
    let (first, second) = (schedule.job_at(NOW, Duration::ZERO), schedule.job_at(NOW, Duration::ZERO));
    assert_ne!(first.id, second.id, "each try to fire has a job of its own to offer");
    assert_eq!(first.work.occasion, Some(Occasion { schedule: "daily".into(), nominal: NOW }));
    assert_eq!((first.tenant, first.start, first.idempotency), (TenantId::new("ours"), Start::At(NOW), None));
    assert_eq!(schedule.job_now(NOW).start, Start::Now);
}

#[test]
fn jitter_is_the_same_whoever_asks_and_lies_within_its_window() {
    let (schedule, window) = (schedule("daily"), Duration::from_secs(30));
    for minute in 0..500 {
        let nominal = NOW.plus(Duration::from_mins(minute));
        let delayed = delay(&schedule, nominal, window);
        assert!(delayed < window, "{delayed:?}");
        assert_eq!(delayed, delay(&schedule.clone(), nominal, window));
    }
    assert_eq!(delay(&schedule, NOW, Duration::ZERO), Duration::ZERO);
    assert_eq!(delay(&schedule, NOW, Duration::from_micros(10)), Duration::ZERO, "finer than a millisecond is none");
}

#[test]
fn jitter_is_spread_over_ticks_and_over_schedules() {
    let window = Duration::from_secs(30);
    let over_ticks = schedule("daily");
    let ticks = (0..3_000).map(|minute| delay(&over_ticks, NOW.plus(Duration::from_mins(minute)), window));
    let schedules = (0..3_000).map(|_| delay(&schedule("daily"), NOW, window));
    for delays in [ticks.collect::<Vec<_>>(), schedules.collect()] {
        let mut tenths = [0; 10];
        for delay in delays {
            tenths[(delay.as_millis() / 3_000) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (200..=400).contains(count)), "{tenths:?}");
    }
}

#[test]
fn mistakes_are_told_with_their_places_if_they_have_one() {
    let mistake = |pointer: &str| Mistake { pointer: pointer.into(), detail: "is odd".into() };
    let invalid = Invalid { mistakes: vec![mistake(""), mistake("/cron")] };
    assert_eq!(invalid.to_string(), "is odd; /cron: is odd");
}
