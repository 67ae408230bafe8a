//! Schedules from the command line, on a real server, through real crashes.

use std::collections::BTreeSet;
use std::time::Duration;

use foreman_client::{Client, FilterDocument, ScheduleState, TickDocument, TickReason, TickState};
use serde_json::Value;

use crate::stage::{Said, Server, Stage, Target, all_ended, torture, until};

fn document(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{said:?}");
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// All ticks, the latest first.
async fn ticks(client: &Client, name: &str) -> Vec<TickDocument> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = client.ticks(name, 500, after.as_deref()).await.unwrap();
        found.extend(page.items);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

async fn until_ticks(server: &Server, name: &str, count: usize) {
    until(&format!("{name} has fired {count} times"), async || {
        (ticks(&server.client, name).await.len() >= count).then_some(())
    })
    .await;
}

/// How many jobs there are that a schedule made, by the tick they belong to.
async fn jobs_of(client: &Client, schedule: &str) -> Vec<(String, String)> {
    let mut pages = client.pages(FilterDocument::default());
    let mut jobs = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        let own = page.into_iter().filter(|job| job.schedule.as_deref() == Some(schedule));
        jobs.extend(own.map(|job| (job.scheduled_for.unwrap().to_string(), job.id)));
    }
    jobs
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_fires_every_tick_once_through_kill_nine() {
    let kills = if torture() { 30 } else { 4 };
    let stage = Stage::new();
    let target = Target::answering(|_| (200, Duration::ZERO)).await;
    let mut server = stage.start(&[]).await;
    let said = server.foreman(&["schedules", "create", "beat", "--every", "1s", "--url", &target.url]).await;
    assert_eq!((said.code, said.out.as_str()), (0, "beat\n"), "{said:?}");
    let mut seen = 0;
    for round in 0..kills {
        until_ticks(&server, "beat", seen + 1).await;
        // At another moment of the second each time.
        tokio::time::sleep(Duration::from_millis(round * 271 % 1_000)).await;
        server.kill_nine().await;
        server = stage.start(&[]).await;
        seen = ticks(&server.client, "beat").await.len();
    }
    until_ticks(&server, "beat", seen + 2).await;
    let paused = server.client.pause_schedule("beat").await.unwrap();
    assert_eq!(paused.state, ScheduleState::Paused);

    let ticks = ticks(&server.client, "beat").await;
    for pair in ticks.windows(2) {
        let apart = pair[0].nominal.since(pair[1].nominal);
        assert_eq!(apart, Duration::from_secs(1), "a tick is missing or double: {pair:?}");
    }
    assert!(ticks.iter().all(|tick| tick.state == TickState::Fired && tick.reason.is_none()), "{ticks:#?}");
    let jobs: BTreeSet<&String> = ticks.iter().map(|tick| tick.job.as_ref().unwrap()).collect();
    assert_eq!(jobs.len(), ticks.len(), "each tick has a job of its own");
    let made = jobs_of(&server.client, "beat").await;
    let made_for: BTreeSet<&String> = made.iter().map(|(nominal, _)| nominal).collect();
    assert_eq!((made.len(), made_for.len()), (ticks.len(), ticks.len()), "and there are no other jobs");
    all_ended(&server.client).await;
    target.assert_one_call_per_attempt();
    assert_eq!(server.stop().await, Some(0), "{}", server.log());
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_paused_resumed_run_by_hand_and_deleted() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let line = "echo for $FOREMAN_SCHEDULE";
    let words = ["schedules", "create", "beat", "--every", "1s", "--overlap", "skip", "--command", line];
    assert_eq!(server.foreman(&words).await.code, 0);
    let again = server.foreman(&words).await;
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.err.contains("beat already"), "{again:?}");
    until_ticks(&server, "beat", 2).await;

    assert_eq!(server.foreman(&["schedules", "pause", "beat"]).await.code, 0);
    let count = ticks(&server.client, "beat").await.len();
    let shown = server.foreman(&["schedules", "get", "beat"]).await;
    assert!(shown.out.contains("paused") && shown.out.contains("Every 1s"), "{shown:?}");
    let listed = server.foreman(&["schedules", "list"]).await;
    assert!(listed.out.starts_with("NAME") && listed.out.contains("beat"), "{listed:?}");

    let run = server.foreman(&["schedules", "run", "beat", "--wait"]).await;
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.out, "for beat\n", "{run:?}");
    let after = ticks(&server.client, "beat").await;
    assert_eq!(after.len(), count + 1, "nothing fired by itself while it was paused");
    assert_eq!(after[0].reason, Some(TickReason::ByHand));
    let table = server.foreman(&["schedules", "ticks", "beat", "--limit", "2"]).await;
    assert_eq!(table.out.lines().count(), 3, "{table:?}");
    assert!(table.out.contains("fired, job completed (run manually)"), "{table:?}");

    for (verb, state) in [("pause", "paused"), ("resume", "active")] {
        let said = document(&server.foreman(&["schedules", verb, "beat", "--output", "json"]).await);
        assert_eq!((&said["name"], &said["state"]), (&"beat".into(), &state.into()), "{said}");
    }
    for none in [["schedules", "list", "--limit", "0"].as_slice(), &["schedules", "ticks", "beat", "--limit", "0"]] {
        let said = server.foreman(none).await;
        assert_eq!(said.code, 2, "that none were asked for does not mean that there are none: {said:?}");
    }
    until_ticks(&server, "beat", count + 2).await;
    assert_eq!(server.foreman(&["schedules", "delete", "beat"]).await.code, 0);
    assert_eq!(server.foreman(&["schedules", "get", "beat"]).await.code, 1);
    assert!(!jobs_of(&server.client, "beat").await.is_empty(), "its jobs stay");

    let (status, metrics) = server.get("/metrics").await;
    assert_eq!(status, 200);
    let fired = metrics.lines().find_map(|line| line.strip_prefix("foreman_schedules_fired_total ")).unwrap();
    assert!(fired.parse::<u64>().unwrap() >= 4, "{fired}");
    assert!(metrics.contains("foreman_scheduler_lag_seconds"), "{metrics}");
    let (status, ready) = server.get("/readyz").await;
    assert_eq!(status, 200, "{ready}");
    assert!(ready.contains(r#"{"name":"schedules","ok":true}"#), "{ready}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_changed_by_flags_and_by_file_and_by_one_at_a_time() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let echo = format!("{}/dev/echo", server.url);
    let words = ["schedules", "create", "daily", "--cron", "0 9 * * *", "--timezone", "Europe/Berlin", "--url", &echo];
    assert_eq!(server.foreman(&words).await.code, 0);
    let changed = server.foreman(&["schedules", "update", "daily", "--jitter", "5s", "--queue", "mail", "-o", "json"]);
    let changed = document(&changed.await);
    assert_eq!((&changed["jitter"], &changed["job"]["queue"]), (&"5s".into(), &"mail".into()));
    assert_eq!((&changed["version"], &changed["job"]["url"]), (&2.into(), &echo.as_str().into()));
    let words = ["schedules", "update", "daily", "--every", "1h", "--unset", "timezone", "--unset", "job.queue"];
    let changed = document(&server.foreman(&[&words[..], &["-o", "json"]].concat()).await);
    assert_eq!((changed.get("cron"), changed["job"].get("queue")), (None, None), "{changed}");

    std::fs::write(stage.path().join("daily.json"), changed.to_string()).unwrap();
    let stale = server.foreman(&["schedules", "replace", "--file", "daily.json", "--if-version", "2"]).await;
    assert_eq!(stale.code, 1, "{stale:?}");
    assert!(stale.err.contains("version 3"), "{stale:?}");
    let said = server.foreman(&["schedules", "replace", "--file", "daily.json", "--if-version", "3"]).await;
    assert_eq!(said.code, 0, "{said:?}");

    let wrong = server.foreman(&["schedules", "create", "x", "--cron", "0 9 31 2 *", "--url", &echo]).await;
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.err.contains("cron"), "it says why: {wrong:?}");
    let refused = server.foreman(&["schedules", "create", "x", "--every", "1h", "--command", "true"]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("--allow-commands"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_what_the_clocks_of_berlin_do() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let echo = format!("{}/dev/echo", server.url);
    let words = ["schedules", "create", "daily", "--cron", "0 9 * * *", "--timezone", "Europe/Berlin", "--url", &echo];
    assert_eq!(server.foreman(&words).await.code, 0);
    let from = ["--n", "2", "--from", "2026-10-24T00:00:00Z"];
    let said = server.foreman(&[&["schedules", "preview", "daily"], &from[..]].concat()).await;
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<Vec<&str>> = said.out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines,
        [["2026-10-24T09:00:00+02:00", "2026-10-24T07:00:00Z"], ["2026-10-25T09:00:00+01:00", "2026-10-25T08:00:00Z"]],
        "nine on the wall, before and after: {said:?}"
    );

    let night = ["schedules", "preview", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--n", "1"];
    let said = server.foreman(&[&night[..], &["--from", "2026-03-28T12:00:00Z"]].concat()).await;
    let expected = "02:30 does not exist on 2026-03-29: moved to 03:00";
    assert!(said.code == 0 && said.out.contains(expected) && said.out.contains("2026-03-29T01:00:00Z"), "{said:?}");
    let shown = document(&server.foreman(&[&night[..], &["-o", "json"]].concat()).await);
    assert_eq!(shown["items"].as_array().unwrap().len(), 1);
    assert_eq!(server.foreman(&["schedules", "preview", "daily", "--timezone", "UTC"]).await.code, 2);
    assert_eq!(server.foreman(&["schedules", "preview"]).await.code, 2);
}

/// What a page tells people to type, with the output it promises.
fn examples(text: &str) -> Vec<(String, Vec<String>)> {
    let lines: Vec<&str> = text.lines().collect();
    let end = |from: usize| from + lines[from..].iter().position(|line| *line == "```").expect("the block ends");
    let mut found = Vec::new();
    for place in (0..lines.len()).filter(|place| lines[*place] == "```sh") {
        let script = lines[place + 1..end(place)].join("\n");
        if !script.contains("foreman schedules ") {
            continue;
        }
        // The next block, unless it is one more to type.
        let printed = (end(place) + 1..lines.len()).find(|place| lines[*place].starts_with("```"));
        let printed = printed.filter(|place| lines[*place] == "```text");
        let printed = printed.map(|place| lines[place + 1..end(place)].iter().map(|line| (*line).to_owned()).collect());
        found.push((script, printed.unwrap_or_default()));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_walkthrough_prints_what_its_page_says() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    std::fs::write(stage.path().join("crontab"), CRONTAB).unwrap();
    let page = std::fs::read_to_string("../../docs/schedules.md").unwrap();
    let (_, walkthrough) = page.split_once("\n## Quick start\n").expect("the page has a walkthrough");
    let examples = examples(walkthrough.split("\n## ").next().unwrap_or_default());
    assert!(examples.len() >= 3, "{examples:?}");
    for (script, printed) in examples {
        // The examples name the usual address; this server has one of its own.
        let script = script.replace("http://127.0.0.1:8080", &server.url);
        let direct = server.command(&[]);
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-ec", &format!("foreman() {{ \"$0\" \"$@\"; }}\n{script}")]);
        shell.arg(direct.as_std().get_program()).current_dir(stage.path());
        shell.env("FOREMAN_API_URL", &server.url).env("FOREMAN_DATA_DIR", stage.data());
        let output = shell.output().await.unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{script}: {out} {}", String::from_utf8_lossy(&output.stderr));
        let said: Vec<&str> = out.lines().map(str::trim_end).collect();
        assert!(said.ends_with(&printed.iter().map(String::as_str).collect::<Vec<_>>()), "{script}: {out}");
    }
    let schedule = server.client.schedule("daily-report").await.unwrap();
    assert_eq!(schedule.state, ScheduleState::Paused, "the last example pauses it");
    assert_eq!(schedule.last_tick.unwrap().reason, Some(TickReason::ByHand));
}

const CRONTAB: &str = "\
# what the old machine did
MAILTO=ops@example.com
CRON_TZ=Europe/Berlin
GREETING=hello
0 9 * * 1-5  /opt/report.sh --daily
*/10 * * * * date +\\%F
@hourly cat%one%two
@reboot /opt/start.sh
";

#[tokio::test(flavor = "multi_thread")]
async fn a_crontab_is_imported_and_imported_again() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    std::fs::write(stage.path().join("crontab"), CRONTAB).unwrap();
    let dry = server.foreman(&["schedules", "import", "crontab", "--dry-run"]).await;
    assert_eq!(dry.code, 0, "{dry:?}");
    assert_eq!(dry.out.lines().count(), 4, "{dry:?}");
    for part in ["report.sh-daily-", "09:00", "Europe/Berlin", "/opt/report.sh --daily", "date +%F"] {
        assert!(dry.out.contains(part), "{part}: {dry:?}");
    }
    for part in ["line 2: MAILTO", "line 8: @reboot is not supported"] {
        assert!(dry.err.contains(part), "{part}: {dry:?}");
    }
    assert!(server.client.schedules(10, None).await.unwrap().items.is_empty(), "nothing was written");

    let first = server.foreman(&["schedules", "import", "crontab"]).await;
    assert_eq!((first.code, first.out.matches(" created").count()), (0, 3), "{first:?}");
    let again = server.foreman_reading(&["schedules", "import", "-"], &CRONTAB.replace("0 9", "30 9")).await;
    assert_eq!((again.code, again.out.matches(" replaced").count()), (0, 3), "{again:?}");
    let schedules = server.client.schedules(10, None).await.unwrap().items;
    assert_eq!(schedules.len(), 3, "the same names");
    let report = schedules.iter().find(|schedule| schedule.name.starts_with("report.sh")).unwrap();
    assert_eq!((report.cron.as_deref(), report.timezone.as_deref()), (Some("30 9 * * 1-5"), Some("Europe/Berlin")));
    assert_eq!(report.job.env.as_ref().unwrap()["GREETING"], "***", "a variable may be a secret");
    let cat = schedules.iter().find(|schedule| schedule.name.starts_with("cat")).unwrap();
    let run = server.foreman(&["schedules", "run", &cat.name, "--wait"]).await;
    assert_eq!((run.code, run.out.as_str()), (0, "one\ntwo\n"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crontab_with_a_wrong_line_writes_nothing_unless_told_to() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let text = "0 9 * * * good\n0 25 * * * late\n0 9 * *\nCRON_TZ=Europe/Berln\n0 9 * * * lost\n";
    let said = server.foreman_reading(&["schedules", "import", "-"], text).await;
    assert_eq!(said.code, 2, "{said:?}");
    for part in ["line 2: ", "line 3: only 4 fields", "line 5: ", "Europe/Berlin", "nothing was written"] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    assert!(server.client.schedules(10, None).await.unwrap().items.is_empty());
    let said = server.foreman_reading(&["schedules", "import", "-", "--keep-going"], text).await;
    assert_eq!(said.code, 1, "{said:?}");
    let made = server.client.schedules(10, None).await.unwrap().items;
    assert_eq!(made.len(), 1, "{said:?}");
    assert!(made[0].name.starts_with("good-"), "{made:?}");
}
