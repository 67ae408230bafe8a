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

/// Without what the doctor says of every database of the tests: it does not sync.
fn alarming(findings: &[Value]) -> Vec<&Value> {
    findings.iter().filter(|finding| finding["ok"] == false && finding["about"] != "fsync").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_holds_the_horizon_is_named_with_what_to_do() {
    let database = Database::migrated().await;
    let idle = database.connect().await;
    let pid: i32 = idle.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    // Other tests have transactions on the same server, and some of them take their time.
    let named = format!("pid {pid},");
    let mine = |findings: &[Value]| {
        about(findings, "long transaction").into_iter().filter(|it| it["found"].to_string().contains(&named)).count()
    };
    let before = database.foreman(&["doctor", "-o", "json", "--set", "horizon.limit=100ms"]).await;
    assert_eq!(mine(&findings(&before)), 0, "{before:?}");

    idle.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await.unwrap();
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
    for part in ["idle in transaction", "of \\\"a test\\\"", "open since 20", "last query at 20"] {
        assert!(found["found"].to_string().contains(part), "{part}: {found}");
    }
    assert!(found["advice"].to_string().contains(&format!("pg_terminate_backend({pid})")), "{found}");
    let table = database.foreman(&["doctor", "--set", "horizon.limit=100ms"]).await;
    assert!(table.code == 1 && table.out.contains("To do:") && table.out.contains(&pid.to_string()), "{table:?}");
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
    // In the log as text, whose quotes may be escaped.
    let parts = ["a test", "idle in transaction", "last query at 20", "open since 20"];
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
        scheduler
            .log()
            .lines()
            .any(|line| line.contains(&named) && line.contains("no longer blocks vacuum"))
            .then_some(())
    })
    .await;
    let log = scheduler.log();
    let warnings: Vec<&str> =
        log.lines().filter(|line| line.contains(&named) && line.contains("has blocked vacuum")).collect();
    let [warning] = warnings.as_slice() else { panic!("once: {log}") };
    assert!(parts.iter().all(|part| warning.contains(part)), "{warning}");
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

/// Planted where a real server tells of it; what follows from each number is tested beside the numbers.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_wait_workers_that_are_gone_and_settings_that_lose_jobs_are_found() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    let api = stage.start_role(&database, "api", &[]).await;
    api.client.submit(&call("http://127.0.0.1:9/")).await.unwrap();
    let sql = database.connect().await;
    sql.batch_execute(
        "UPDATE foreman.ready SET run_at = now() - interval '1 hour';
         INSERT INTO foreman.sessions
         SELECT gen_random_uuid(), 'gone', 1, '0', 1, '{}', '15 seconds', 'live', 1, at, at, at, NULL
         FROM (SELECT now() - interval '1 hour' AS at) AS past;
         INSERT INTO foreman.leases VALUES ('scheduler', 7, 'gone', now() - interval '1 hour')",
    )
    .await
    .unwrap();
    let name = database.url.rsplit_once('/').unwrap().1;
    sql.batch_execute(&format!("ALTER DATABASE {name} SET synchronous_commit = off")).await.unwrap();
    let said = database.foreman(&["doctor", "-o", "json", "--set", "horizon.limit=10m"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    let findings = findings(&said);
    for (what, found, advice) in [
        ("oldest due job", "waiting for 1h", "more workers"),
        ("sessions", "1 expired", "start a worker"),
        ("leader", "no leader", "start one"),
        ("synchronous_commit", "off", "synchronous_commit = on"),
    ] {
        let one = about(&findings, what)[0];
        assert!(one["found"].to_string().contains(found), "{what}: {one}");
        assert!(one["advice"].to_string().contains(advice), "{what}: {one}");
    }
    assert_eq!(alarming(&findings).len(), 4, "and nothing else: {said:?}");
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
