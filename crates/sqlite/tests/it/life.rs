//! From open to close and back: the lock, what survives, what a dead process leaves behind.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::given::{Scene, a_job, completed, jobs, retry};
use foreman_core::memory::ManualClock;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{JobQuery, JobStore, SessionState, SessionStore, StoreError};
use foreman_core::{JobId, State, TenantId};
use foreman_sqlite::{Config, OpenError, census_of_file, check_file, migrate};

use crate::given::{Laptop, open, open_at};

#[tokio::test]
async fn a_second_store_on_the_same_file_is_refused_and_told_who_holds_it() {
    let laptop = Laptop::new();
    let error = open_at(&laptop.path()).err().unwrap();
    assert!(matches!(&error, OpenError::Locked { pid: Some(pid), .. } if *pid == std::process::id()), "{error}");
    let text = error.to_string();
    for word in [format!("process {}", std::process::id()), "foreman.db".into(), "--data-dir".into()] {
        assert!(text.contains(&word), "{text}");
    }
    laptop.store.close().await;
    open_at(&laptop.path()).unwrap().close().await;
}

#[tokio::test]
async fn a_data_directory_that_is_made_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    open_at(&directory.join("foreman.db")).unwrap().close().await;
    assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn everything_is_there_after_a_close_and_an_open() {
    let laptop = Laptop::new();
    let (before, waits, retries, done);
    {
        let scene = Scene::of(&laptop);
        let session = scene.session().await;
        waits = scene.submit(a_job().tagged("blue").keyed("k", 1)).await;
        retries = scene.submit(a_job().kind("mail")).await;
        scene.run(session, retries, retry(Duration::from_mins(1))).await;
        done = scene.submit(a_job()).await;
        scene.run(session, done, completed()).await;
        scene.end(session).await;
        before = seen(&scene, &[waits, retries, done]).await;
    }
    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    assert_eq!(seen(&scene, &[waits, retries, done]).await, before);
    scene.census().await;
    laptop.store.close().await;
}

async fn seen(scene: &Scene<'_>, ids: &[JobId]) -> Vec<String> {
    let mut seen = Vec::new();
    for id in ids {
        seen.push(format!("{:?}", scene.view(*id).await));
    }
    seen
}

#[tokio::test]
async fn numbers_of_claims_are_not_used_again_after_a_restart() {
    let laptop = Laptop::new();
    let mut last = 0;
    let mut laptop = Some(laptop);
    for _ in 0..3 {
        let this = laptop.take().unwrap();
        {
            let scene = Scene::of(&this);
            let session = scene.session().await;
            let id = scene.submit(a_job()).await;
            let proof = scene.run(session, id, completed()).await;
            assert!(proof.fence.0 > last, "{} after {last}", proof.fence);
            last = proof.fence.0;
        }
        laptop = Some(this.reopened().await);
    }
}

#[tokio::test]
async fn sessions_of_a_dead_process_lapse_at_once_when_the_file_is_opened() {
    let laptop = Laptop::new();
    let (id, session, draining);
    {
        let scene = Scene::of(&laptop);
        session = scene.session().await;
        draining = scene.session().await;
        id = scene.submit(a_job()).await;
        scene.claim_job(session, id).await;
        scene.drain(draining).await;
    }
    // No end, no heartbeat, and not a moment has passed on the clock.
    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempt, view.spent, view.crashes), (State::Pending, 1, 1, 1));
    assert_eq!(view.attempts.records[0].outcome, Some(AttemptOutcome::Lapsed));
    let states: Vec<SessionState> =
        laptop.store.sessions().await.unwrap().into_iter().map(|session| session.state).collect();
    assert_eq!(states, [SessionState::Dead, SessionState::Dead]);
    scene.census().await;
    laptop.store.close().await;
}

#[tokio::test]
async fn a_job_that_kills_its_process_three_times_is_poison() {
    let mut laptop = Laptop::new();
    let id = Scene::of(&laptop).submit(a_job()).await;
    for _ in 0..3 {
        {
            let scene = Scene::of(&laptop);
            let session = scene.session().await;
            scene.claim_job(session, id).await;
        }
        laptop = laptop.reopened().await;
    }
    let view = Scene::of(&laptop).view(id).await;
    assert_eq!(view.state, State::Dead);
    assert!(view.error.unwrap().contains("poison"));
    laptop.store.close().await;
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let laptop = Laptop::new();
    laptop.store.close().await;
    laptop.store.close().await;
    let submit = laptop.store.submit(&jobs(1, &a_job())).await;
    assert!(matches!(submit, Err(StoreError::Closed)), "{submit:?}");
    let get = laptop.store.get(&TenantId::default(), JobId::fresh()).await;
    assert!(matches!(get, Err(StoreError::Closed)), "{get:?}");
}

#[tokio::test]
async fn a_store_that_is_dropped_gives_the_file_free() {
    let laptop = Laptop::new();
    let (path, directory) = (laptop.path(), Arc::clone(&laptop.directory));
    drop(laptop);
    let wait = async {
        while open_at(&path).is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.unwrap();
    drop(directory);
}

#[tokio::test]
async fn a_file_is_audited_without_its_lock_whether_it_is_in_use_or_not() {
    let laptop = Laptop::new();
    assert!(census_of_file(&laptop.path()).unwrap().is_clean());
    {
        let scene = Scene::of(&laptop);
        scene.submit(a_job()).await;
        assert_eq!(census_of_file(&laptop.path()).unwrap().ready, 1, "what was answered is seen at once");
    }
    laptop.store.close().await;
    let audit = check_file(&laptop.path()).unwrap();
    assert!(audit.is_clean() && audit.jobs == 1, "{audit:?}");
    assert!(matches!(census_of_file(&laptop.path().with_file_name("none.db")), Err(OpenError::Io { .. })));
}

#[tokio::test]
async fn the_audit_finds_what_must_not_be() {
    let laptop = Laptop::new();
    let (twice, nowhere);
    {
        let scene = Scene::of(&laptop);
        let session = scene.session().await;
        twice = scene.submit(a_job()).await;
        nowhere = scene.submit(a_job()).await;
        scene.claim_job(session, twice).await;
    }
    laptop.store.close().await;
    let sql = rusqlite::Connection::open(laptop.path()).unwrap();
    sql.execute(
        "INSERT INTO ready (job, tenant, queue, route, lane, key, run_at, attempt, spent, crashes)
         SELECT job, tenant, queue, route, lane, 1, run_at, attempt, spent, crashes FROM held WHERE job = ?1",
        [twice.0],
    )
    .unwrap();
    sql.execute("DELETE FROM ready WHERE job = ?1", [nowhere.0]).unwrap();
    sql.execute("INSERT INTO claims (session, token, claimed_at) VALUES (x'00', x'01', 0)", []).unwrap();
    drop(sql);
    let audit = census_of_file(&laptop.path()).unwrap();
    assert!(!audit.is_clean());
    for sentence in [format!("job {twice} is in 2 places"), format!("job {nowhere} is in 0 places")] {
        assert!(audit.violations.contains(&sentence), "{:?}", audit.violations);
    }
    assert!(audit.violations.iter().any(|text| text.contains("holds nothing")), "{:?}", audit.violations);
    assert!(audit.violations.iter().any(|text| text.contains("not alive")), "{:?}", audit.violations);
}

#[tokio::test]
async fn migrations_are_applied_once_and_can_be_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let config = Config::at(directory.path().join("data/foreman.db"));
    let clock = ManualClock::new();
    assert!(migrate::status(&config.path).unwrap().iter().all(|migration| migration.applied_at.is_none()));
    assert_eq!(migrate::up(&config, &clock).unwrap(), (1..=migrate::LATEST).collect::<Vec<_>>());
    assert!(migrate::up(&config, &clock).unwrap().is_empty());
    assert!(migrate::status(&config.path).unwrap().iter().all(|migration| migration.applied_at.is_some()));

    let store = open_at(&config.path).unwrap();
    assert!(matches!(migrate::up(&config, &clock), Err(OpenError::Locked { .. })));
    store.close().await;
}

// --- with a second process: this binary, started again with one ignored test and a path

const PATH: &str = "FOREMAN_SQLITE_TEST_PATH";

fn child(test: &str, path: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("life::{test}"), "--ignored", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn given_path() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "how a test tells its other process where to look")]
    let path = std::env::var_os(PATH);
    path.expect("run by another test of this file").into()
}

#[tokio::test]
async fn a_second_process_is_refused() {
    let laptop = Laptop::new();
    let refused = child("as_a_second_process_it_is_refused", &laptop.path()).wait_with_output().unwrap();
    assert!(refused.status.success(), "{}", String::from_utf8_lossy(&refused.stdout));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("1 passed"), "the other process ran its test");
    laptop.store.close().await;
}

#[test]
#[ignore = "run by a_second_process_is_refused"]
fn as_a_second_process_it_is_refused() {
    let error = open_at(&given_path()).err().expect("the file is in use");
    let parent = std::os::unix::process::parent_id();
    assert!(matches!(error, OpenError::Locked { pid: Some(pid), .. } if pid == parent), "{error}");
}

#[tokio::test]
async fn what_was_answered_survives_a_kill_and_what_was_held_returns_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreman.db");
    let mut writer = child("as_a_writer_it_works_until_it_is_killed", &path);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut told: Vec<(String, JobId)> = Vec::new();
    let mut tell = |line: String| {
        if let Some((word, id)) = line.split_once(' ').filter(|(word, _)| ["accepted", "held", "done"].contains(word)) {
            told.push((word.to_owned(), id.parse().unwrap()));
        }
    };
    lines.by_ref().take(200).for_each(&mut tell);
    writer.kill().unwrap();
    // What it said before it died counts as well; a line may be cut short by the kill.
    lines.filter(|line| line.len() > 40 || line.starts_with("held")).for_each(|line| {
        if line.rsplit(' ').next().is_some_and(|id| id.parse::<JobId>().is_ok()) {
            tell(line);
        }
    });
    writer.wait().unwrap();

    let store = open(&path, &Arc::new(ManualClock::new())).unwrap();
    assert!(store.census().await.unwrap().is_clean());
    let mut done = 0;
    for (word, id) in &told {
        let view = store.get(&TenantId::default(), *id).await.unwrap();
        let view = view.unwrap_or_else(|| panic!("{word} {id}, and then it was gone"));
        assert_ne!(view.state, State::Running, "{id}: its process is dead");
        if word == "done" {
            assert_eq!(view.state, State::Completed, "{id}");
            done += 1;
        }
    }
    assert!(done > 0, "it got as far as settling");
    assert!(store.pulses().await.unwrap().is_empty(), "no session is alive");
    store.close().await;
}

#[tokio::test]
#[ignore = "run by what_was_answered_survives_a_kill_and_what_was_held_returns_at_once"]
async fn as_a_writer_it_works_until_it_is_killed() {
    let clock = Arc::new(ManualClock::new());
    let laptop = Laptop {
        store: open(&given_path(), &clock).unwrap(),
        clock,
        wakeups: Arc::default(),
        directory: Arc::new(tempfile::tempdir().unwrap()),
    };
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    loop {
        for id in scene.submit_all(&jobs(3, &a_job())).await {
            println!("accepted {id}");
        }
        for held in scene.claim(session, 2).await {
            println!("held {}", held.job.id);
            let id = held.job.id;
            scene.complete(session, held).await;
            println!("done {id}");
        }
    }
}

#[tokio::test]
async fn nobody_but_the_owner_reads_the_files_whatever_the_directory_says() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).expect("changed");
    let path = directory.path().join("foreman.db");
    let modes = || {
        let mut found: Vec<(String, u32)> = std::fs::read_dir(directory.path())
            .expect("a directory")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let mode = entry.metadata().expect("it is there").permissions().mode() & 0o777;
                (entry.file_name().to_string_lossy().into_owned(), mode)
            })
            .collect();
        found.sort();
        found
    };
    let alone = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 0o600)).collect::<Vec<_>>();
    let files = ["foreman.db", "foreman.db-shm", "foreman.db-wal", "foreman.lock"];
    for _ in 0..2 {
        let store = open_at(&path).unwrap();
        assert_eq!(modes(), alone(&files));
        store.close().await;
        // As a version before left them.
        for name in modes().into_iter().map(|(name, _)| name) {
            let open = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(directory.path().join(name), open).expect("changed");
        }
    }
}
