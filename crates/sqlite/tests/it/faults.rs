//! What the disk, an operator and time can do to the file.

use std::path::Path;
use std::time::Duration;

use foreman_conformance::given::{Scene, a_job, by_order, completed, dead, failed, jobs, retry, taken};
use foreman_conformance::posting::{self, Round, delivery};
use foreman_conformance::statistics::Stretch;
use foreman_core::job::NewJob;
use foreman_core::key::KeyHash;
use foreman_core::ports::{
    AuditLog, Begin, ChangeLog, ClaimAnswer, DeliveryNote, FollowerName, Followers, JobFilter, JobQuery, JobStore,
    KeyStore, NewPass, PassHolder, PassKind, PassStore, Position, Range, Retention, ScheduleStore, SessionStore,
    Settled, Settlement, StatisticsStore, StoreError, TenantStore, TenantUpdate, Upkeep, WebhookStore, Went,
};
use foreman_core::statistics::{Ledger, Slot};
use foreman_core::target::{Body, HttpTarget, Target};
use foreman_core::{JobId, State, TenantId, Timestamp, Verdict};
use foreman_sqlite::{OpenError, SqliteStore, census_of_file, check_file, migrate};

use crate::given::{Laptop, open_at};
use crate::tenants::{make_key, make_tenant};
use crate::webhooks::{an_act, make_webhook};

fn big(count: usize, bytes: usize) -> Vec<NewJob> {
    let target = Target::Http(HttpTarget {
        url: "http://127.0.0.1:9/".parse().unwrap(),
        method: "POST".into(),
        headers: std::collections::BTreeMap::default().into(),
        body: Body::Text("x".repeat(bytes)),
    });
    jobs(count, &a_job().target(target))
}

/// Opens a fresh store, closes it, and lets `spoil` at its file.
async fn spoilt(spoil: impl FnOnce(&Path)) -> (Laptop, Result<SqliteStore, OpenError>) {
    let laptop = Laptop::new();
    laptop.store.submit(&jobs(50, &a_job())).await.unwrap();
    laptop.store.close().await;
    spoil(&laptop.path());
    let opened = open_at(&laptop.path());
    (laptop, opened)
}

fn execute(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

const NEXT: i64 = migrate::LATEST + 1;

/// As a binary of the next version leaves it: a table more, a column more on the tables that this one writes, and its row.
fn migrate_to_the_next_version(path: &Path, serves: i64) {
    execute(
        path,
        &format!(
            "BEGIN;
             CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;
             ALTER TABLE jobs ADD COLUMN later INTEGER;
             ALTER TABLE ready ADD COLUMN later INTEGER NOT NULL DEFAULT 7;
             INSERT INTO schema_migrations (version, name, checksum, serves, applied_at)
             VALUES ({NEXT}, 'later', 'x', {serves}, 0);
             PRAGMA user_version = {NEXT};
             COMMIT"
        ),
    );
}

#[tokio::test]
async fn a_file_of_a_newer_version_that_no_longer_serves_is_refused_and_left_alone() {
    let (laptop, opened) = spoilt(|path| migrate_to_the_next_version(path, NEXT)).await;
    let error = opened.err().unwrap();
    assert!(matches!(error, OpenError::Newer { found: NEXT, serves: NEXT, .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("newer") && said.contains("upgrade this binary"), "{said}");
    assert!(matches!(census_of_file(&laptop.path()), Err(OpenError::Newer { .. })));
}

#[tokio::test]
async fn a_file_of_a_newer_version_that_serves_this_one_is_worked_on() {
    let (laptop, opened) = spoilt(|path| migrate_to_the_next_version(path, migrate::LATEST)).await;
    let laptop = Laptop { store: opened.unwrap(), ..laptop };
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    scene.submit_all(&jobs(3, &a_job())).await;
    let held = scene.claim(session, 60).await;
    assert_eq!(held.len(), 53, "those from before are there too");
    for held in held {
        scene.complete(session, held).await;
    }
    laptop.store.close().await;
    let audit = census_of_file(&laptop.path()).unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert_eq!((audit.jobs, audit.outcomes), (53, 53));
    let status = migrate::status(&laptop.path()).unwrap();
    let last = status.last().unwrap();
    assert_eq!((last.version, last.name.as_str(), last.is_known), (NEXT, "later", false));
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_noticed() {
    let (_laptop, opened) = spoilt(|path| execute(path, "UPDATE schema_migrations SET checksum = 'x'")).await;
    let error = opened.err().unwrap();
    assert!(matches!(error, OpenError::Changed { version: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused_and_left_alone() {
    let text = "dear diary, ".repeat(1_000);
    let (laptop, opened) = spoilt(|path| std::fs::write(path, &text).unwrap()).await;
    let error = opened.err().unwrap();
    assert!(matches!(error, OpenError::NotOurs { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(laptop.path()).unwrap(), text);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreman.db");
    execute(&path, "CREATE TABLE recipes (name TEXT)");
    let error = open_at(&path).err().unwrap();
    assert!(matches!(error, OpenError::NotOurs { .. }), "{error}");
    execute(&path, "INSERT INTO recipes VALUES ('soup')");
}

#[tokio::test]
async fn a_file_cut_in_half_is_called_damaged() {
    let (laptop, opened) = spoilt(|path| {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    })
    .await;
    // Opening reads too little of it to notice; a check, and the jobs on the missing pages, do.
    let checked = check_file(&laptop.path());
    assert!(matches!(checked, Err(OpenError::Damaged { .. })), "{checked:?}");
    match opened {
        Err(error) => assert!(matches!(error, OpenError::Damaged { .. }), "{error}"),
        Ok(store) => {
            let audit = store.census().await;
            assert!(matches!(audit, Err(StoreError::Damaged(_))), "{audit:?}");
            store.close().await;
        }
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = open_at(&file.join("foreman.db")).err().unwrap();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
}

#[tokio::test]
async fn a_full_disk_refuses_without_losing_anything_and_works_again_when_there_is_room() {
    let laptop = Laptop::with(|config| config.max_pages = Some(400));
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    let old = scene.submit_all(&big(100, 4_000)).await;
    for answer in laptop.store.cancel(&TenantId::default(), &old).await.unwrap() {
        assert!(answer.is_some());
    }
    let held = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, held).await;

    let mut accepted = 0;
    let full = loop {
        match laptop.store.submit(&big(20, 4_000)).await {
            Ok(answers) => accepted += answers.len(),
            Err(error) => break error,
        }
        assert!(accepted < 10_000, "the limit holds");
    };
    assert!(matches!(full, StoreError::Full(_)), "{full:?}");
    let audit = scene.census().await;
    assert_eq!(audit.jobs as usize, 101 + accepted, "nothing of the refused batch was kept");
    assert_eq!(scene.state(held).await, State::Running, "reads go on");

    laptop.store.remove(&TenantId::default(), &old).await.unwrap();
    scene.submit_all(&big(20, 4_000)).await;
    scene.end_attempt(proof, completed()).await;
    laptop.store.ping().await.unwrap();
    scene.census().await;
    laptop.store.close().await;
}

#[tokio::test]
async fn the_log_stays_short_however_much_is_written() {
    let laptop = Laptop::new();
    let wal = laptop.path().with_file_name("foreman.db-wal");
    let mut longest = 0;
    for _ in 0..30 {
        laptop.store.submit(&big(50, 40_000)).await.unwrap();
        longest = longest.max(std::fs::metadata(&wal).unwrap().len());
    }
    let written = std::fs::metadata(laptop.path()).unwrap().len();
    assert!(written > 40 << 20, "{written} bytes were written");
    assert!(longest < 24 << 20, "{longest} bytes of log");
    laptop.store.close().await;
    assert!(std::fs::metadata(&wal).map_or(0, |file| file.len()) == 0, "a close leaves nothing in the log");
}

#[tokio::test]
async fn a_log_that_a_reader_kept_long_is_cut_back_when_the_reader_has_left() {
    const LIMIT: u64 = 1 << 20;
    let laptop = Laptop::with(|config| config.wal_bytes = LIMIT);
    let wal = laptop.path().with_file_name("foreman.db-wal");
    let length = || std::fs::metadata(&wal).unwrap().len();
    let reader = rusqlite::Connection::open(laptop.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM jobs").unwrap();
    for _ in 0..130 {
        laptop.store.submit(&big(1, 20_000)).await.unwrap();
    }
    let grown = length();
    assert!(grown > 2 * LIMIT, "the reader holds the log, and writing goes on: {grown}");
    drop(reader);
    for _ in 0..260 {
        laptop.store.submit(&big(1, 20_000)).await.unwrap();
    }
    // Cut back at one of the looks since; the log has grown by no more than what came between two of them.
    let cut = length();
    assert!(cut < grown + 2 * LIMIT, "{cut} bytes of log after {grown}");
    laptop.store.close().await;
}

#[tokio::test]
async fn closing_does_not_wait_for_a_long_look() {
    let laptop = Laptop::new();
    for _ in 0..20 {
        laptop.store.submit(&jobs(1_000, &a_job())).await.unwrap();
    }
    let store = laptop.store.clone();
    let look = async { store.census().await };
    let close = async {
        tokio::task::yield_now().await;
        laptop.store.close().await;
    };
    let (looked, ()) = tokio::join!(look, close);
    // Either it was through already, or it was given up: it is never left behind.
    assert!(matches!(looked, Ok(_) | Err(StoreError::Unavailable(_) | StoreError::Closed)), "{looked:?}");
    open_at(&laptop.path()).unwrap().close().await;
}

#[tokio::test]
async fn pages_of_what_was_removed_are_used_again() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let retention = Retention { cancelled: Some(Duration::ZERO), changes: Duration::ZERO, ..Retention::default() };
    let mut sizes = Vec::new();
    for _ in 0..6 {
        let ids = scene.submit_all(&big(100, 10_000)).await;
        laptop.store.cancel(&TenantId::default(), &ids).await.unwrap();
        while scene.prune(&retention, 50).await.was_busy(50) {}
        assert_eq!(scene.census().await.jobs, 0);
        sizes.push(laptop.store.count(&TenantId::default(), &JobFilter::default()).await.unwrap());
    }
    laptop.store.close().await;
    let size = std::fs::metadata(laptop.path()).unwrap().len();
    assert!(size < 3 << 20, "six rounds of a megabyte each left a file of {size} bytes ({sizes:?})");
}

#[tokio::test]
async fn a_job_that_cannot_be_read_is_put_aside_and_stops_nobody() {
    let laptop = Laptop::new();
    let (broken, good) = {
        let scene = Scene::of(&laptop);
        (scene.submit(a_job()).await, scene.submit(a_job()).await)
    };
    laptop.store.close().await;
    let sql = rusqlite::Connection::open(laptop.path()).unwrap();
    sql.execute("UPDATE jobs SET work = '{\"target\":' WHERE id = ?1", [broken.0]).unwrap();
    drop(sql);
    let store = open_at(&laptop.path()).unwrap();
    let laptop = Laptop { store, ..laptop };
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    let held = scene.claim(session, 10).await;
    assert_eq!(held.iter().map(|held| held.job.id).collect::<Vec<_>>(), [good]);
    let read = laptop.store.get(&TenantId::default(), broken).await;
    match read {
        Err(StoreError::Damaged(text)) => {
            for word in ["jobs", "work", &broken.to_string()] {
                assert!(text.contains(word), "{text}");
            }
        }
        other => panic!("{other:?}"),
    }
    let dead = JobFilter { state: Some(State::Dead), ..JobFilter::default() };
    assert_eq!(scene.count(&dead).await, 1);
    scene.census().await;
    laptop.store.close().await;
}

#[tokio::test]
async fn a_given_up_claim_that_cannot_be_released_costs_no_session() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let request = by_order(session, 1);
    assert_eq!(scene.take(request.clone()).await.len(), 1);
    let sql = rusqlite::Connection::open(laptop.path()).unwrap();
    assert_eq!(sql.execute("UPDATE held SET lane = 77 WHERE job = ?1", [id.0]).unwrap(), 1);
    assert_eq!(scene.beat(session, &[request.token]).await.len(), 1, "it is renewed, and the job is still held");
    assert_eq!(sql.execute("UPDATE held SET lane = 1 WHERE job = ?1", [id.0]).unwrap(), 1);
    assert_eq!(scene.beat(session, &[request.token]).await, [], "named again, it is released");
    drop(sql);
    laptop.store.close().await;
}

#[tokio::test]
async fn a_job_that_cannot_be_put_aside_yet_keeps_none_of_its_neighbours() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let (broken, good) = (scene.submit(a_job()).await, scene.submit(a_job()).await);
    let sql = rusqlite::Connection::open(laptop.path()).unwrap();
    sql.execute("UPDATE jobs SET work = '{\"target\":' WHERE id = ?1", [broken.0]).unwrap();
    sql.execute_batch("CREATE TRIGGER no BEFORE INSERT ON outcomes BEGIN SELECT RAISE(ABORT, 'no'); END").unwrap();
    let session = scene.session().await;
    let held = scene.claim(session, 10).await;
    assert_eq!(held.iter().map(|held| held.job.id).collect::<Vec<_>>(), [good]);
    let unknown = scene.beat(session, &[]).await.into_iter().find(|open| open.job == broken).unwrap();

    // As the worker does when its heartbeats miss it.
    sql.execute_batch("DROP TRIGGER no").unwrap();
    drop(sql);
    let release = Settlement { fence: unknown.fence, job: broken, verdict: Verdict::Released };
    assert_eq!(scene.settle_all(session, &[release]).await, [Settled::Now]);
    assert!(
        matches!(scene.ask(&by_order(session, 10)).await, ClaimAnswer::Nothing { .. }),
        "it is put aside this time"
    );
    let dead = JobFilter { state: Some(State::Dead), ..JobFilter::default() };
    assert_eq!(scene.count(&dead).await, 1);
    laptop.store.close().await;
}

/// Every verb and every question once. Errors are answers; a panic is not.
async fn use_everything(store: &SqliteStore, ids: &[JobId]) -> Vec<String> {
    let tenant = TenantId::default();
    let info =
        foreman_conformance::given::session_info(foreman_core::SessionId::fresh(), "worker", Duration::from_secs(15));
    let mut errors = Vec::new();
    macro_rules! ask {
        ($call:expr) => {
            match $call.await {
                Ok(answer) => Some(answer),
                Err(error) => {
                    errors.push(error.to_string());
                    None
                }
            }
        };
    }
    ask!(store.ping());
    ask!(store.register(&info));
    ask!(store.submit(&jobs(3, &a_job().tagged("t"))));
    if let Some(answer) = ask!(store.claim(&by_order(info.id, 5))) {
        for held in taken(answer) {
            ask!(store.settle(info.id, &[held.settle(failed("no"))]));
        }
    }
    for id in ids {
        ask!(store.get(&tenant, *id));
    }
    ask!(store.cancel(&tenant, &ids[..5.min(ids.len())]));
    ask!(store.redrive(&tenant, ids));
    ask!(store.remove(&tenant, &ids[..5.min(ids.len())]));
    for state in State::ALL {
        let filter = JobFilter { state: Some(state), tag: Some("t".into()), ..JobFilter::default() };
        ask!(store.list(&tenant, &filter, None, 50));
        ask!(store.count(&tenant, &filter));
    }
    ask!(store.list(&tenant, &JobFilter::default(), None, 50));
    ask!(store.queues(&tenant));
    ask!(store.sessions());
    ask!(store.changes(Position::default(), 1_000));
    ask!(store.heartbeat(info.id, &[]));
    ask!(store.promote(100));
    ask!(store.waiting(&tenant, 10));
    ask!(store.waiting_queues(&tenant, 10));
    ask!(store.waiting_in(&tenant, &[foreman_core::job::QueueName::default()]));
    ask!(store.running());
    let acme = TenantId::new("acme");
    for tenant in ask!(store.tenants(None, 10)).unwrap_or_default().readable {
        let edit = foreman_core::EditId::fresh();
        let (id, version) = (tenant.id.clone(), tenant.version);
        ask!(store.update_tenant(&TenantUpdate { edit, tenant: tenant.id, version, settings: tenant.settings }));
        ask!(store.delete_tenant(&id, version + 1));
    }
    for key in ask!(store.keys(&acme, None, 10)).unwrap_or_default() {
        ask!(store.look_up_key(&key.id));
        ask!(store.note_keys_used(std::slice::from_ref(&key.id)));
        ask!(store.revoke_key(&acme, &key.id));
    }
    let webhooks = ask!(store.webhooks_of(&[tenant.clone(), acme.clone()])).unwrap_or_default().readable;
    for webhook in ask!(store.webhooks(&acme, None, 10)).unwrap_or_default() {
        let (tenant, at) = (webhook.tenant.clone(), webhook.created_at);
        ask!(store.note_deliveries(&[DeliveryNote { tenant, webhook: webhook.id, at, went: Went::Failed }]));
        ask!(store.deliveries(&acme, webhook.id, None, 10));
    }
    if let Some(from) = ask!(store.follow(None, &FollowerName::COURIER, Begin::End)).flatten() {
        let to = ask!(store.head()).unwrap_or(from);
        let deliveries = webhooks.iter().map(|webhook| delivery("acme", webhook.id)).collect();
        ask!(store.advance(None, &Round { from, to, deliveries }.advance()));
    }
    ask!(store.with_callback(ids));
    ask!(store.states(&tenant, 10));
    for group in ask!(store.failure_groups(&tenant, &State::FAILURES, 10, 10)).unwrap_or_default().groups {
        let filter = JobFilter { error_group: group.group, ..JobFilter::default() };
        ask!(store.list(&tenant, &filter, None, 50));
    }
    ask!(store.held_by(info.id, 10));
    ask!(store.labels(ids));
    ask!(store.overdue(&tenant, 10));
    ask!(store.start());
    ask!(store.depths());
    if let Some(from) = ask!(store.follow(None, &FollowerName::BOOKKEEPER, Begin::Start)).flatten() {
        let changes = ask!(store.changes(from, 1_000)).unwrap_or_default();
        let mut ledger = Ledger::default();
        for moved in changes.moved() {
            ledger.count(moved);
        }
        let stretch = Stretch { from, to: from.max(changes.position), entries: ledger.entries() };
        ask!(store.advance(None, &stretch.advance()));
    }
    let (from, to) = (Timestamp::from_micros(0), Timestamp::from_micros(i64::MAX));
    let range = Range { slot: Slot::Minute, from, to, queue: None };
    ask!(store.statistics(&tenant, &range, 10));
    ask!(store.statistics_by_queue(&tenant, &range, 10));
    let hash = KeyHash::of(b"shown");
    ask!(store.pass(&hash));
    ask!(store.spend_ticket(&hash));
    ask!(store.revoke_pass(&hash));
    ask!(store.record(foreman_core::EntryId::fresh(), &an_act("acme", "queue.pause")));
    ask!(store.audit_log(None, None, 10));
    ask!(store.audit_log(Some(&acme), None, 10));
    ask!(store.prune(&Retention::default(), 100));
    ask!(store.end(info.id));
    ask!(store.census());
    errors
}

#[tokio::test]
async fn random_damage_is_answered_and_never_a_panic() {
    let laptop = Laptop::new();
    let ids = {
        let scene = Scene::of(&laptop);
        let session = scene.session().await;
        let ids = scene.submit_all(&jobs(60, &a_job().tagged("t").kind("k"))).await;
        for held in scene.claim(session, 20).await {
            let verdict = if held.fence.0 % 2 == 0 { completed() } else { retry(Duration::from_secs(9)) };
            scene.settle_all(session, &[held.settle(verdict)]).await;
        }
        scene.claim(session, 10).await;
        make_tenant(&laptop, "acme").await;
        make_key(&laptop, "acme").await;
        let dying = scene.submit(a_job()).await;
        scene.run(session, dying, dead("boom")).await;
        let mut ledger = Ledger::default();
        for moved in &scene.moved_since(Position(0)).await {
            ledger.count(moved);
        }
        let (from, to) = (Position(0), scene.head().await);
        laptop.store.advance(None, &Stretch { from, to, entries: ledger.entries() }.advance()).await.unwrap();
        let pass = NewPass {
            hash: KeyHash::of(b"shown"),
            kind: PassKind::Ticket,
            holder: PassHolder::Nobody,
            tenant: TenantId::default(),
            keep: Duration::from_hours(1),
        };
        laptop.store.issue_pass(&pass).await.unwrap();
        let webhook = make_webhook(&laptop, "acme").await;
        posting::courier(&laptop.store).await;
        posting::posted(&laptop, (0..5).map(|_| delivery("acme", webhook.id)).collect()).await;
        laptop.store.record(foreman_core::EntryId::fresh(), &an_act("acme", "queue.pause")).await.unwrap();
        ids
    };
    laptop.store.close().await;
    let whole = std::fs::read(laptop.path()).unwrap();
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut damaged = 0;
    for round in 0..40 {
        let mut bytes = whole.clone();
        let page = random(bytes.len() / 4_096) * 4_096;
        for _ in 0..=random(40) {
            let place = page + random(4_096);
            bytes[place] = random(256) as u8;
        }
        std::fs::write(laptop.path(), &bytes).unwrap();
        for beside in ["foreman.db-wal", "foreman.db-shm"] {
            let _ = std::fs::remove_file(laptop.path().with_file_name(beside));
        }
        match open_at(&laptop.path()) {
            Err(error) => {
                assert!(!error.to_string().contains("panic"), "round {round}: {error}");
                damaged += 1;
            }
            Ok(store) => {
                let errors = use_everything(&store, &ids).await;
                damaged += usize::from(!errors.is_empty());
                let panics: Vec<_> = errors.iter().filter(|error| error.contains("panic")).collect();
                assert!(panics.is_empty(), "round {round}: {panics:?}");
                store.close().await;
            }
        }
    }
    assert!(damaged > 5, "the damage was real: {damaged} rounds of 40 noticed it");
}
