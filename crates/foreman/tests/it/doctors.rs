//! `foreman doctor` finds what was planted.

use serde_json::Value;

use crate::stage::{Database, Said, Stage, call, until};

fn findings(said: &Said) -> Vec<Value> {
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    document["findings"].as_array().unwrap().clone()
}

fn about<'a>(findings: &'a [Value], what: &str) -> Vec<&'a Value> {
    findings.iter().filter(|finding| finding["about"] == what).collect()
}

/// What every database of the tests is told off for: it does not sync.
fn alarming(findings: &[Value]) -> Vec<&Value> {
    findings.iter().filter(|finding| finding["ok"] == false && finding["about"] != "fsync").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_holds_the_horizon_is_named_with_what_to_do() {
    let database = Database::migrated().await;
    let before = database.foreman(&["doctor", "-o", "json", "--set", "horizon.limit=100ms"]).await;
    let mine = |findings: &[Value]| {
        about(findings, "long transaction").into_iter().filter(|it| it["found"].to_string().contains("a test")).count()
    };
    assert_eq!(mine(&findings(&before)), 0, "{before:?}");

    let idle = database.connect().await;
    idle.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
    let pid: i32 = idle.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let said = until("it is found", async || {
        let said = database.foreman(&["doctor", "-o", "json", "--set", "horizon.limit=100ms"]).await;
        (mine(&findings(&said)) > 0).then_some(said)
    })
    .await;
    assert_eq!(said.code, 1, "{said:?}");
    let findings = findings(&said);
    let found = about(&findings, "long transaction")
        .into_iter()
        .find(|it| it["found"].to_string().contains(&format!("pid {pid}")))
        .unwrap_or_else(|| panic!("{said:?}"));
    assert!(found["found"].to_string().contains("idle in transaction"), "{found}");
    assert!(found["advice"].to_string().contains(&format!("pg_terminate_backend({pid})")), "{found}");
    let table = database.foreman(&["doctor", "--set", "horizon.limit=100ms"]).await;
    assert!(table.code == 1 && table.out.contains("What to do:") && table.out.contains(&pid.to_string()), "{table:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_names_it_too_and_once() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    let idle = database.connect().await;
    idle.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
    let pid: i32 = idle.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let words = ["--set", "horizon.limit=100ms", "--set", "horizon.every=100ms"];
    let scheduler = stage.start_role(&database, "scheduler", &words).await;
    let named = format!("pid {pid},");
    until("it is named", async || scheduler.log().contains(&named).then_some(())).await;
    until("it is counted", async || {
        let (_, body) = scheduler.get("/metrics").await;
        let holders =
            body.lines().find_map(|line| line.strip_prefix("foreman_xmin_horizon_holders ")).map(str::to_owned);
        holders.filter(|count| count != "0")
    })
    .await;
    idle.batch_execute("ROLLBACK").await.unwrap();
    until("its end is told", async || {
        scheduler.log().lines().any(|line| line.contains(&named) && line.contains("no longer keeps")).then_some(())
    })
    .await;
    let warnings = scheduler.log().lines().filter(|line| line.contains(&named) && line.contains("for over")).count();
    assert_eq!(warnings, 1, "{}", scheduler.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_order_needs_no_attention() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    let _dev = stage.start_role(&database, "dev", &[]).await;
    let said = until("somebody leads", async || {
        let said = database.foreman(&["doctor", "-o", "json", "--set", "horizon.limit=10m"]).await;
        about(&findings(&said), "leader")[0]["found"].to_string().contains("term").then_some(said)
    })
    .await;
    let findings = findings(&said);
    assert_eq!(alarming(&findings), Vec::<&Value>::new(), "{said:?}");
    for expected in ["version", "synchronous_commit", "connections", "clock", "schema", "change log", "sessions"] {
        assert_eq!(about(&findings, expected).len(), 1, "{expected}: {said:?}");
    }
    let password = database.url.split(':').nth(2).and_then(|rest| rest.split('@').next()).unwrap();
    assert!(!said.out.contains(password), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_not_migrated_and_one_that_is_away_are_told_apart() {
    let database = Database::empty().await;
    let said = database.foreman(&["doctor", "-o", "json"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(about(&findings(&said), "schema")[0]["advice"].to_string().contains("foreman migrate"), "{said:?}");
    let away = Database { url: "postgres://u:sesame@127.0.0.1:1/d".into() };
    let said = away.foreman(&["doctor"]).await;
    assert!(said.code == 1 && !said.err.contains("sesame") && said.err.contains("database"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_looked_at_too_beside_its_server() {
    let stage = Stage::new();
    let server = stage.start(&["--queues", "other"]).await;
    server.client.submit(&call("http://127.0.0.1:9/")).await.unwrap();
    let data = stage.data();
    let said = stage.foreman(&["doctor", "-o", "json", "--data-dir", data.to_str().unwrap()]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let findings = findings(&said);
    assert_eq!(about(&findings, "jobs")[0]["found"], "1 waiting, 0 held");
    assert_eq!(about(&findings, "in use by")[0]["found"], format!("process {}", server.pid()));
    let nowhere = stage.foreman(&["doctor", "--data-dir", "nowhere"]).await;
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
}
