//! Settings, as the real binary reads and shows them.

use std::os::unix::fs::PermissionsExt as _;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_in_the_settings_is_told_at_once() {
    let stage = Stage::new();
    std::fs::write(stage.path().join("foreman.toml"), "[worker]\nslots = \"many\"\nqueus = []\n").unwrap();
    let mut command = stage.command();
    command.args(["dev", "--grace", "soon"]).env("FOREMAN_WORKER_POLL", "now");
    let output = command.output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for expected in [
        "4 errors",
        "foreman.toml, line 2: worker.slots",
        "foreman.toml, line 3: there is no setting \"worker.queus\"; did you mean worker.queues?",
        "the variable FOREMAN_WORKER_POLL: worker.poll",
        "--grace: shutdown.grace",
    ] {
        assert!(said.contains(expected), "{expected:?} is missing in {said}");
    }
    assert!(!stage.path().join(".foreman").exists(), "nothing was begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_shows_what_is_in_force_and_where_it_came_from() {
    let stage = Stage::new();
    std::fs::write(stage.path().join("foreman.toml"), "[worker]\nslots = 7\nheartbeat = \"14s\"\n").unwrap();
    let mut command = stage.command();
    command.args(["check", "--grace", "30s", "-o", "json"]).env("FOREMAN_WORKER_POLL", "2s");
    let shown: serde_json::Value = serde_json::from_slice(&command.output().await.unwrap().stdout).unwrap();
    let row = |path: &str| (shown["settings"][path]["value"].clone(), shown["settings"][path]["from"].clone());
    assert_eq!(row("worker.slots"), ("7".into(), "foreman.toml, line 2".into()));
    assert_eq!(row("worker.poll"), ("\"2s\"".into(), "the variable FOREMAN_WORKER_POLL".into()));
    assert_eq!(row("shutdown.grace"), ("\"30s\"".into(), "--grace".into()));
    assert_eq!(row("listen"), ("\"127.0.0.1:8080\"".into(), "default".into()));
    let notes = shown["notes"].to_string();
    assert!(
        notes.contains("submit_per_second 1000") && notes.contains("limits the tenant `default` only to"),
        "{notes}"
    );
    let warnings = shown["warnings"].to_string();
    assert!(warnings.contains("half of worker.session_ttl"), "{warnings}");
    let table = stage.foreman(&["check"]).await;
    assert!(table.code == 0 && table.out.contains("worker.slots") && table.err.contains("warning: "), "{table:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_says_what_it_would_do_does_it_and_says_that_it_did() {
    let stage = Stage::new();
    let data = stage.data();
    let data = data.to_str().unwrap();
    let would = stage.foreman(&["migrate", "--dry-run", "--data-dir", data]).await;
    assert!(would.code == 0 && would.out.contains("would apply 1"), "{would:?}");
    assert!(!stage.database().exists(), "a dry run makes no file");
    let done = stage.foreman(&["migrate", "--data-dir", data]).await;
    assert!(done.code == 0 && done.out.contains("applied 1"), "{done:?}");
    let again = stage.foreman(&["migrate", "--data-dir", data, "up"]).await;
    assert!(again.code == 0 && again.err.contains("up to date"), "{again:?}");
    let status = stage.foreman(&["migrate", "--data-dir", data, "status", "-o", "json"]).await;
    assert!(status.out.contains("applied_at"), "{status:?}");
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_check_finds_a_job_that_is_nowhere() {
    let stage = Stage::new();
    let mut server = stage.start(&["--queues", "other"]).await;
    let job = server.client.submit(&crate::stage::call("http://127.0.0.1:9/")).await.unwrap();
    assert_eq!(server.stop().await, Some(0));
    stage.assert_clean().await;
    rusqlite::Connection::open(stage.database()).unwrap().execute_batch("DELETE FROM ready").unwrap();
    let data = stage.data();
    let said = stage.foreman(&["check", "--deep", "--data-dir", data.to_str().unwrap()]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains(&job.id), "{said:?}");
    let nowhere = stage.foreman(&["check", "--deep", "--data-dir", "nowhere"]).await;
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_settings_that_cannot_be_read_is_a_mistake() {
    let stage = Stage::new();
    let file = stage.path().join("there.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:0\"").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything; then the file is simply read.
    let expected = if std::fs::read(&file).is_ok() { 0 } else { 2 };
    assert_eq!(stage.foreman(&["check", "--config", "there.toml"]).await.code, expected);
    let said = stage.foreman(&["check", "--config", "missing.toml"]).await;
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("missing.toml"), "{said:?}");
}
