//! Each role as a process of its own, on one Postgres.

use std::process::Stdio;
use std::time::Duration;

use foreman_client::State;
use nix::sys::signal::Signal;
use tokio::net::TcpListener;

use crate::stage::{Database, Stage, Target, call, state, until};

const ROLES: [&str; 3] = ["api", "worker", "scheduler"];

#[tokio::test(flavor = "multi_thread")]
async fn the_roles_together_run_a_job() {
    let (stage, database, target) = (Stage::new(), Database::migrated().await, Target::willing().await);
    let mut api = stage.start_role(&database, "api", &[]).await;
    let mut worker = stage.start_role(&database, "worker", &["--slots", "3"]).await;
    let mut scheduler = stage.start_role(&database, "scheduler", &[]).await;
    let job = api.client.submit(&call(&target.url)).await.unwrap();
    let done = state(&api.client, &job.id, State::Completed).await;
    assert_eq!((done.attempt, target.count()), (1, 1));

    let (status, body) = worker.get("/metrics").await;
    assert_eq!(status, 200);
    for line in [
        "foreman_jobs_claimed_total{named_by=\"order\"} 1",
        "foreman_outcomes_total{outcome=\"completed\",answer=\"now\"} 1",
        "foreman_worker_slots 3",
        "foreman_build_info{version=\"0.1.0\",role=\"worker\"} 1",
    ] {
        assert!(body.contains(line), "{line} is missing in {body}");
    }
    let (_, body) = api.get("/metrics").await;
    assert!(body.contains("foreman_jobs_submitted_total{answer=\"accepted\"} 1"), "{body}");
    assert!(!body.contains(&job.id), "no id is a label");
    assert_eq!(worker.get("/api/v1/jobs").await.0, 404, "the API runs in another role");

    for server in [&mut scheduler, &mut worker, &mut api] {
        assert_eq!(server.stop().await, Some(0), "{}", server.log());
    }
    assert!(!api.log().contains("still running at exit"), "{}", api.log());
    database.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_answers_probes_and_the_scheduler_says_whether_it_leads() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    for role in ROLES {
        let mut server = stage.start_role(&database, role, &[]).await;
        assert_eq!(server.get("/healthz").await.0, 200, "{role}");
        assert_eq!(server.get("/readyz").await.0, 200, "{role}");
        assert_eq!(server.get("/metrics").await.0, 200, "{role}");
        if role == "scheduler" {
            until("it leads", async || server.get("/readyz").await.1.contains("leads in term").then_some(())).await;
            let (_, body) = server.get("/metrics").await;
            assert!(body.contains("foreman_leader 1\n") && body.contains("foreman_leader_term 1\n"), "{body}");
            let second = stage.start_role(&database, "scheduler", &[]).await;
            assert!(second.get("/readyz").await.1.contains("follows"));
        }
        assert_eq!(server.stop().await, Some(0), "{role}: {}", server.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_a_database_names_the_command_that_needs_none() {
    let stage = Stage::new();
    for role in ROLES {
        let said = stage.foreman(&[role]).await;
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains("DATABASE_URL") && said.err.contains("`foreman dev`"), "{said:?}");
    }
    assert!(!stage.path().join(".foreman").exists(), "nothing was begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_of_a_role_is_named_with_its_own_flag() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (role, flag) in [("api", "--listen"), ("worker", "--health-listen"), ("scheduler", "--health-listen")] {
        let mut command = stage.command();
        let output = command.args([role, flag, &address]).env("DATABASE_URL", &database.url).output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{role}: {said}");
        assert!(said.contains("is already in use") && said.contains(&format!("with {flag}")), "{role}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_kills_too_soon_is_warned_of() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    for (platform, is_warned_of) in [("10s", true), ("40s", false)] {
        let set = format!("shutdown.platform_grace={platform}");
        let mut worker = stage.start_role(&database, "worker", &["--grace", "25s", "--set", &set]).await;
        assert_eq!(worker.log().contains("the platform would kill"), is_warned_of, "{}", worker.log());
        assert_eq!(worker.stop().await, Some(0));
        std::fs::remove_file(stage.path().join("log")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_schema_is_refused_and_the_command_is_named() {
    let (stage, database) = (Stage::new(), Database::empty().await);
    for role in ROLES {
        let output = stage.role(&database, role, &[]).output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{role}: {said}");
        assert!(said.contains("`foreman migrate`"), "{role}: {said}");
    }
}

/// As a newer foreman leaves it: its row says the oldest version that it still serves.
async fn newer(database: &Database, serves: i64) {
    let row = format!("INSERT INTO foreman.foreman_migrations VALUES (999, 'later', 'x', {serves})");
    database.connect().await.execute(&row, &[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_that_serves_this_version_is_run_on_and_told_of() {
    let (stage, database, target) = (Stage::new(), Database::migrated().await, Target::willing().await);
    newer(&database, foreman_postgres::migrate::LATEST).await;
    let done = database.foreman(&["migrate", "up"]).await;
    assert!(done.code == 0 && done.err.contains("nothing to do") && done.err.contains("version 999"), "{done:?}");
    let would = database.foreman(&["migrate", "up", "--dry-run"]).await;
    assert!(would.code == 0 && would.out.is_empty() && would.err.contains("version 999"), "{would:?}");
    let status = database.foreman(&["migrate", "status"]).await;
    assert!(status.code == 0 && status.out.contains("by a newer foreman"), "{status:?}");
    let doctor = database.foreman(&["doctor"]).await;
    assert!(doctor.out.contains("version 999, newer than this binary"), "{doctor:?}");

    let api = stage.start_role(&database, "api", &[]).await;
    let worker = stage.start_role(&database, "worker", &[]).await;
    let scheduler = stage.start_role(&database, "scheduler", &[]).await;
    let job = api.client.submit(&call(&target.url)).await.unwrap();
    state(&api.client, &job.id, State::Completed).await;
    for mut server in [api, worker, scheduler] {
        assert!(server.log().contains("999, newer than this binary"), "{}", server.log());
        assert_eq!(server.stop().await, Some(0), "{}", server.log());
    }
    database.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_that_no_longer_serves_is_refused_and_left_as_it_is() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    newer(&database, 999).await;
    for role in ["api", "worker", "scheduler", "dev"] {
        let output = stage.role(&database, role, &[]).output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{role}: {said}");
        assert!(
            said.contains("newer") && said.contains("999") && said.contains("upgrade this binary"),
            "{role}: {said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_says_what_it_would_do_and_changes_nothing_until_it_does() {
    let database = Database::empty().await;
    let sql = database.connect().await;
    let tables = async || {
        let query = "SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace \
                     WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')";
        sql.query_one(query, &[]).await.unwrap().get::<_, i64>(0)
    };
    let would = database.foreman(&["migrate", "--dry-run"]).await;
    assert!(would.code == 0 && would.out.contains("would apply 1"), "{would:?}");
    assert_eq!(tables().await, 0, "a dry run changes nothing");
    let status = database.foreman(&["migrate", "status"]).await;
    assert!(status.code == 0 && status.out.contains("pending"), "{status:?}");
    let done = database.foreman(&["migrate", "up"]).await;
    assert!(done.code == 0 && done.out.contains("applied 1"), "{done:?}");
    assert!(tables().await > 0);
    let again = database.foreman(&["migrate"]).await;
    assert!(again.code == 0 && again.err.contains("up to date"), "{again:?}");
    let password = database.url.split(':').nth(2).and_then(|rest| rest.split('@').next()).unwrap();
    assert!(!again.err.contains(password) && again.err.contains("hidden"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_on_a_database_migrates_by_itself_and_runs_every_role() {
    let (stage, database) = (Stage::new(), Database::empty().await);
    let mut server = stage.start_role(&database, "dev", &["--allow-commands"]).await;
    assert!(server.greeting.contains("postgres://") && server.greeting.contains("hidden"), "{}", server.greeting);
    let said = server.foreman(&["submit", "--command", "echo hello", "--wait"]).await;
    assert_eq!((said.code, said.out.trim()), (0, "hello"), "{said:?}");
    let later = server.foreman(&["submit", "--task", "foreman.noop", "--delay", "200ms", "--wait"]).await;
    assert_eq!(later.code, 0, "{later:?}");
    let workers = server.foreman(&["workers", "-o", "json"]).await;
    assert!(workers.out.contains("\"live\""), "{workers:?}");
    assert!(server.get("/readyz").await.1.contains("leads in term"));
    assert_eq!(server.stop().await, Some(0), "{}", server.log());
    let mut files: Vec<_> =
        std::fs::read_dir(stage.path().join(".foreman")).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    let keys = [".gitignore", "admin.key", "secret.key"];
    assert_eq!(files, keys, "what is kept is in the database, and its keys are not");
    database.assert_clean().await;
}

/// Stands where a database will be, later.
async fn nobody() -> (TcpListener, Database) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://u:sesame@{}/d", listener.local_addr().unwrap());
    (listener, Database { url })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_at_the_start_is_waited_for() {
    let stage = Stage::new();
    for role in ROLES {
        let (listener, database) = nobody().await;
        // Somebody answers, and hangs up.
        let accept = foreman_runtime::Tasks::new().spawn("nobody", async move {
            while let Ok((stream, _)) = listener.accept().await {
                drop(stream);
            }
        });
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
        let listen = if role == "api" { "FOREMAN_LISTEN" } else { "FOREMAN_HEALTH_LISTEN" };
        let mut command = stage.command();
        command.arg(role).env("DATABASE_URL", &database.url).env(listen, &address).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        until("it serves", async || tokio::net::TcpStream::connect(&address).await.ok()).await;
        let get = async |path: &str| crate::stage::get(&address, path, Duration::from_secs(10)).await;
        assert_eq!(get("/healthz").await.0, 200);
        let body = until("it has tried the database", async || {
            let (status, body) = get("/readyz").await;
            assert_eq!(status, 503, "{role}: {body}");
            (!body.contains("not open yet")).then_some(body)
        })
        .await;
        assert!(body.contains("database does not respond"), "{role}: {body}");
        assert_eq!(get("/api/v1/jobs").await.0, 503, "{role}");
        assert!(child.try_wait().unwrap().is_none(), "{role} goes on");
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
        nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
        let output = tokio::time::timeout(crate::stage::LONG, child.wait_with_output()).await.unwrap().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{role}: {said}");
        assert!(said.contains("waiting for the database") && !said.contains("sesame"), "{said}");
        accept.abort();
    }
}
