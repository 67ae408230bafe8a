//! From what was typed to the schedule, or to what of it shall change.

use std::collections::BTreeMap;

use foreman_client::{ScheduleDocument, ScheduleFields, ScheduleSpec};
use serde_json::value::RawValue;

use crate::cli::{JobFlags, PolicyFlags, Update, WhenFlags, Whole};
use crate::commands::job;
use crate::exit::usage;

/// A JSON object by its fields, each to the letter.
type Fields = BTreeMap<String, Box<RawValue>>;

/// A schedule from its name to its job.
pub fn whole(whole: Whole) -> anyhow::Result<ScheduleSpec> {
    let fields = fields(whole.when, whole.policy, whole.job)?;
    if let Some(file) = whole.file {
        if serde_json::to_string(&fields)? != r#"{"job":{}}"# {
            return Err(usage("--file contains the whole schedule and cannot be combined with other flags"));
        }
        return from_file(&file, whole.name.as_deref());
    }
    Ok(ScheduleSpec { name: whole.name.unwrap_or_default(), ..fields.into() })
}

pub fn fields(when: WhenFlags, policy: PolicyFlags, flags: JobFlags) -> anyhow::Result<ScheduleFields> {
    Ok(ScheduleFields {
        missed: policy.missed,
        missed_max: policy.missed_max,
        overlap: policy.overlap,
        jitter: policy.jitter,
        paused: policy.paused.then_some(true),
        job: Some(job::spec(flags)?),
        ..of_time(when)
    })
}

pub fn of_time(when: WhenFlags) -> ScheduleFields {
    ScheduleFields {
        cron: when.cron,
        every: when.every,
        at: when.at,
        timezone: when.timezone,
        dst_gap: when.dst_gap,
        dst_overlap: when.dst_overlap,
        start_at: when.start_at,
        end_at: when.end_at,
        ..ScheduleFields::default()
    }
}

/// What the server told may be handed back to it: what it tells beside what was written is left out.
fn from_file(file: &str, name: Option<&str>) -> anyhow::Result<ScheduleSpec> {
    let given = if file == "-" { "-".to_owned() } else { format!("@{file}") };
    let text = job::contents(given, "--file")?;
    let wrong = |error: serde_json::Error| usage(format!("{file} is not a schedule: {error}"));
    let mut fields: Fields = serde_json::from_str(&text).map_err(wrong)?;
    fields.retain(|name, _| !ScheduleDocument::TOLD.contains(&name.as_str()));
    if let Some(name) = name {
        let name = serde_json::value::to_raw_value(name)?;
        if let Some(other) = fields.get("name").filter(|given| given.get() != name.get()) {
            return Err(usage(format!("{file} contains the schedule {other}, not {name}")));
        }
        fields.insert("name".into(), name);
    }
    serde_json::from_str(&serde_json::to_string(&fields)?).map_err(wrong)
}

/// Only what was typed. A new time takes the place of the old one, and a new target that of the old one.
pub fn patch(update: Update) -> anyhow::Result<Fields> {
    let Update { when, policy, job, unset, .. } = update;
    let typed = fields(when, policy, job)?;
    let mut patch: Fields = serde_json::from_str(&serde_json::to_string(&typed)?)?;
    let job = patch.remove("job").unwrap_or_else(null);
    let mut job: Fields = serde_json::from_str(job.get())?;
    one_of(&mut patch, &["cron", "every", "at"]);
    one_of(&mut job, &["url", "command", "task"]);
    for field in &unset {
        let (fields, name) = match field.strip_prefix("job.") {
            Some(name) => (&mut job, name),
            None => (&mut patch, field.as_str()),
        };
        if fields.insert(name.into(), null()).is_some() {
            return Err(usage(format!("{field} is both set and unset")));
        }
    }
    if !job.is_empty() {
        patch.insert("job".into(), serde_json::value::to_raw_value(&job)?);
    }
    if patch.is_empty() {
        return Err(usage("nothing to change: give at least one flag, or --unset FIELD"));
    }
    Ok(patch)
}

/// Where one of them is given, the others go.
fn one_of(fields: &mut Fields, names: &[&str]) {
    if names.iter().any(|name| fields.contains_key(*name)) {
        for name in names {
            fields.entry((*name).to_owned()).or_insert_with(null);
        }
    }
}

fn null() -> Box<RawValue> {
    RawValue::from_string("null".into()).expect("null is JSON")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::{Cli, Command, SchedulesCommand};

    fn typed(words: &[&str]) -> anyhow::Result<Value> {
        let cli = Cli::try_parse_from([&["foreman", "schedules"], words].concat())?;
        let Command::Schedules(command) = cli.command else { panic!("another command") };
        Ok(match command {
            SchedulesCommand::Create(typed) | SchedulesCommand::Replace(typed) => serde_json::to_value(whole(*typed)?)?,
            SchedulesCommand::Update(update) => serde_json::to_value(patch(*update)?)?,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn what_is_typed_becomes_the_schedule() {
        let words = [
            "create",
            "daily",
            "--cron",
            "0 9 * * *",
            "--timezone",
            "Europe/Berlin",
            "--url",
            "http://127.0.0.1/",
            "--payload",
            r#"{"n":1.0}"#,
            "--queue",
            "mail",
            "--missed",
            "all",
            "--missed-max",
            "5",
            "--overlap",
            "skip",
            "--dst-gap",
            "next_valid",
            "--dst-overlap",
            "both",
            "--jitter",
            "30s",
            "--start-at",
            "2026-11-15T09:00:00Z",
            "--paused",
        ];
        let expected = json!({
            "name": "daily", "cron": "0 9 * * *", "timezone": "Europe/Berlin",
            "job": {"url": "http://127.0.0.1/", "payload": {"n": 1.0}, "queue": "mail"},
            "missed": "all", "missed_max": 5, "overlap": "skip", "dst_gap": "next_valid", "dst_overlap": "both",
            "jitter": "30s", "start_at": "2026-11-15T09:00:00.000000Z", "paused": true,
        });
        assert_eq!(typed(&words).expect("valid"), expected);
        let argv = typed(&["create", "a", "--every", "5m", "--", "echo", "--every"]).expect("valid");
        assert_eq!(argv, json!({"name": "a", "every": "5m", "job": {"command": ["echo", "--every"]}}));
    }

    #[test]
    fn only_what_is_typed_is_changed() {
        for (words, expected) in [
            (vec!["--jitter", "5s"], json!({"jitter": "5s"})),
            (
                vec!["--every", "5m", "--unset", "timezone"],
                json!({"every": "5m", "cron": null, "at": null, "timezone": null}),
            ),
            (
                vec!["--url", "http://a/", "--unset", "job.queue"],
                json!({"job": {"url": "http://a/", "command": null, "task": null, "queue": null}}),
            ),
        ] {
            assert_eq!(typed(&[&["update", "daily"], &words[..]].concat()).expect("valid"), expected);
        }
        for wrong in [&[][..], &["--jitter", "5s", "--unset", "jitter"], &["--cron", "@daily", "--every", "5m"]] {
            assert!(typed(&[&["update", "daily"], wrong].concat()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_schedule_has_one_time_and_one_target() {
        for wrong in [
            &["create", "a", "--cron", "@daily"][..],
            &["create", "a", "--url", "http://a/"],
            &["create", "--cron", "@daily", "--url", "http://a/"],
            &["create", "a", "--cron", "@daily", "--every", "5m", "--url", "http://a/"],
            &["create", "a", "--cron", "@daily", "--url", "http://a/", "--task", "t"],
            &["create", "a", "--file", "x", "--url", "http://a/"],
            &["create", "a", "--cron", "@daily", "--url", "http://a/", "--missed", "never"],
        ] {
            assert!(typed(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_the_server_told_can_be_handed_back() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let told = json!({
            "id": "1", "version": 3, "state": "active", "description": "d", "next_fire_at": null, "held_for": null,
            "last_tick": null, "created_at": "2026-11-15T09:00:00Z", "updated_at": "2026-11-15T09:00:00Z",
            "name": "daily", "cron": "@daily", "job": {"url": "http://a/"},
        });
        std::fs::write(file.path(), told.to_string()).expect("written");
        let path = file.path().to_str().expect("a path");
        let expected = json!({"name": "daily", "cron": "@daily", "job": {"url": "http://a/"}});
        assert_eq!(typed(&["replace", "--file", path]).expect("valid"), expected);
        assert_eq!(typed(&["replace", "daily", "--file", path]).expect("valid"), expected);
        for more in [["--jitter", "5s"], ["--queue", "mail"], ["--timezone", "UTC"]] {
            assert!(
                typed(&[&["replace", "--file", path], &more[..]].concat()).is_err(),
                "not silently left out: {more:?}"
            );
        }
        let said = typed(&["replace", "other", "--file", path]).expect_err("another").to_string();
        assert!(said.contains("\"daily\", not \"other\""), "{said}");
    }
}
