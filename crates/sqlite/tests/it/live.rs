//! What the stream and the dashboard read from the file: what a migration makes of an older one, what an older binary leaves
//! behind, what a clock set back does to the log, what must not be.

use foreman_conformance::TenancySubject;
use foreman_conformance::given::{DAY, HOUR, PLENTY, Proof, Scene, a_job, completed, dead, failed};
use foreman_conformance::statistics::{Stretch, position};
use foreman_core::error_group::ErrorGroup;
use foreman_core::key::KeyHash;
use foreman_core::ports::{
    Advanced, CHANGES_BYTES, ChangeLog, Counted, Followers, JobFilter, JobQuery, JobStore, NewPass, Note, PassHolder,
    PassKind, PassStore, Position, RedriveAnswer, Retention, SessionState, Settlement, StatisticsStore, Upkeep,
};
use foreman_core::statistics::Ledger;
use foreman_core::{Fence, JobId, SessionId, State, TenantId};
use foreman_sqlite::{census_of_file, check_file, migrate};
use rusqlite::Connection;

use crate::given::{Laptop, back_to};

fn execute(laptop: &Laptop, sql: &str) -> usize {
    Connection::open(laptop.path()).unwrap().execute(sql, []).unwrap()
}

/// As the version before wrote the log: no numbers, no times.
const UNCOUNTED: &str = "UPDATE changes SET moved = (
    SELECT json_group_array(json_remove(run.value, '$.sequences', '$.took_us')) FROM json_each(moved) AS run)";

/// The numbers of a job's moves, as they are told.
async fn told(scene: &Scene<'_>, id: JobId) -> Vec<u32> {
    let moved = scene.moved_since(Position::default()).await;
    moved.iter().filter(|moved| moved.id == id).map(|moved| moved.step.sequence).collect()
}

#[tokio::test]
async fn a_file_from_before_the_stream_goes_on() {
    let laptop = Laptop::new();
    let (waits, held, done, died, later);
    {
        let scene = Scene::of(&laptop);
        let session = scene.session().await;
        done = scene.submit(a_job()).await;
        scene.run(session, done, completed()).await;
        died = scene.submit(a_job().queued("mail")).await;
        scene.run(session, died, dead("boom 1")).await;
        held = scene.submit(a_job()).await;
        scene.claim_job(session, held).await;
        waits = scene.submit(a_job()).await;
        later = scene.submit(a_job().after(HOUR)).await;
    }
    laptop.store.close().await;
    back_to(&laptop.path(), 3);
    assert!(execute(&laptop, UNCOUNTED) >= 9);
    let waiting = migrate::status(&laptop.path()).unwrap().into_iter().find(|step| step.applied_at.is_none());
    assert_eq!(waiting.map(|step| (step.version, step.name)), Some((4, "live".into())));

    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    let store = &laptop.store;
    let states = [waits, held, done, died, later];
    let expected = [State::Pending, State::Pending, State::Completed, State::Dead, State::Scheduled];
    for (id, state) in states.into_iter().zip(expected) {
        assert_eq!(scene.state(id).await, state);
    }
    // What nobody counted has moved at least once, and its next move is not its first.
    assert_eq!(told(&scene, done).await, [0, 0, 0]);
    assert_eq!(scene.view(done).await.sequence, 1);
    assert_eq!(told(&scene, held).await, [0, 0, 2], "it came back when the file was opened");
    let session = scene.session().await;
    scene.run(session, waits, completed()).await;
    assert_eq!(told(&scene, waits).await, [0, 2, 3]);
    assert_eq!(scene.redrive(done).await, Some(RedriveAnswer::Redriven));
    scene.wait(HOUR).await;
    assert_eq!(scene.view(later).await.sequence, 2);

    // The dead of before are a group of their own, beside those that die now.
    let other = scene.submit(a_job()).await;
    scene.run(session, other, dead("boom 2")).await;
    let groups = store.failure_groups(&TenantId::default(), &State::FAILURES, PLENTY, 10).await.unwrap().groups;
    let once = Counted { count: 1, is_estimate: false };
    let mut seen: Vec<_> = groups.iter().map(|group| (group.group.clone(), group.sample, group.counted)).collect();
    seen.sort_by_key(|(group, ..)| group.clone());
    assert_eq!(seen, [(None, died, once), (Some(ErrorGroup::of("boom 3")), other, once)]);
    let old = groups.iter().find(|group| group.group.is_none()).unwrap();
    assert_eq!((old.error.as_deref(), old.queue.as_str()), (Some("boom 1"), "mail"));
    assert_eq!(store.states(&TenantId::default(), 10).await.unwrap().get(State::Dead).count, 2);

    // The bookkeeper begins at the start of the log, and takes nothing for a submission that is none.
    let mut ledger = Ledger::default();
    let from = position(store).await;
    let changes = store.changes(from, PLENTY).await.unwrap();
    for moved in changes.moved() {
        ledger.count(moved);
    }
    let all = ledger.entries().into_iter().filter(|entry| entry.queue.is_none());
    assert!(all.clone().count() > 0);
    let minutes = all.filter(|entry| entry.slot == foreman_core::statistics::Slot::Minute);
    assert_eq!(minutes.map(|entry| entry.tally.submitted).sum::<u64>(), 1, "only one was submitted since");
    let stretch = Stretch { from, to: changes.position, entries: Vec::new() };
    assert_eq!(store.advance(None, &stretch.advance()).await.unwrap(), Some(Advanced::Done));
    scene.census().await;
    store.close().await;
    assert!(check_file(&laptop.path()).unwrap().is_clean());
}

/// As a binary of the version before moves a job: it names the columns that it knows.
#[tokio::test]
async fn what_an_older_binary_moved_is_gone_on_with() {
    let laptop = Laptop::new();
    let (claimed, ended, session);
    {
        let scene = Scene::of(&laptop);
        session = scene.session().await;
        claimed = scene.submit(a_job()).await;
        ended = scene.submit(a_job()).await;
    }
    laptop.store.close().await;
    let sql = Connection::open(laptop.path()).unwrap();
    sql.execute("INSERT INTO claims (number, session, token, claimed_at) VALUES (77, ?1, ?1, 1)", [session.0]).unwrap();
    sql.execute(
        "INSERT INTO held (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, claim)
         SELECT job, tenant, queue, route, lane, kind, run_at, expires_at, 1, 1, 0, 77 FROM ready WHERE job = ?1",
        [claimed.0],
    )
    .unwrap();
    sql.execute(
        "INSERT INTO outcomes (job, tenant, state, queue, kind, finished_at, attempt, spent, crashes, run_at, settled,
                               report)
         SELECT job, tenant, 'dead', queue, kind, 1, 1, 1, 0, run_at, 0, '{\"error\":\"boom\"}' FROM ready WHERE job = ?1",
        [ended.0],
    )
    .unwrap();
    sql.execute("DELETE FROM ready", []).unwrap();
    sql.execute("INSERT INTO changes (at, moved) VALUES (1, '[]')", []).unwrap();
    drop(sql);

    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    assert_eq!((scene.view(claimed).await.sequence, scene.view(ended).await.sequence), (2, 1));
    assert_eq!(scene.state(claimed).await, State::Pending, "its worker is gone");
    let groups = laptop.store.failure_groups(&TenantId::default(), &State::FAILURES, PLENTY, 10).await.unwrap().groups;
    assert_eq!(groups.iter().map(|group| (&group.group, group.sample)).collect::<Vec<_>>(), [(&None, ended)]);
    assert_eq!(scene.redrive(ended).await, Some(RedriveAnswer::Redriven));
    assert_eq!(scene.view(ended).await.sequence, 2);
    let again = scene.session().await;
    scene.run(again, ended, dead("boom")).await;
    let by_group = JobFilter { error_group: Some(ErrorGroup::of("boom")), ..JobFilter::default() };
    assert_eq!(scene.count(&by_group).await, 1);
    assert_eq!(
        laptop.store.failure_groups(&TenantId::default(), &State::FAILURES, PLENTY, 10).await.unwrap().groups.len(),
        1,
        "in its group now"
    );
    scene.census().await;
    laptop.store.close().await;
}

#[tokio::test]
async fn workers_that_died_with_the_process_are_told_of_when_the_file_is_opened() {
    let laptop = Laptop::new();
    let (session, head) = {
        let scene = Scene::of(&laptop);
        let session = scene.session_of("laptop-1").await;
        scene.submit(a_job()).await;
        assert_eq!(scene.claim(session, 1).await.len(), 1);
        (session, scene.head().await)
    };
    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    let died = Note::Worker { session, worker: "laptop-1".into(), state: SessionState::Dead };
    assert_eq!(scene.notes_since(head).await, [died]);
    assert_eq!(scene.moved_since(head).await.len(), 1, "and what it held returns");
    laptop.store.close().await;
}

/// One row was written while the clock was wrong: it looks older than those before it.
#[tokio::test]
async fn a_clock_that_was_set_back_tears_no_hole_into_the_log() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let mut came = Vec::new();
    for _ in 0..4 {
        came.push(scene.submit(a_job()).await);
    }
    assert_eq!(execute(&laptop, "UPDATE changes SET at = 0 WHERE position = 3"), 1);
    let retention = Retention { changes: DAY, ..Retention::default() };
    assert_eq!(laptop.store.prune(&retention, PLENTY).await.unwrap().changes, 0, "what is before it is young");
    assert_eq!(laptop.store.start().await.unwrap(), Position(0));
    let ids = |moved: Vec<foreman_core::ports::Moved>| moved.iter().map(|moved| moved.id).collect::<Vec<_>>();
    assert_eq!(ids(scene.moved_since(Position(0)).await), came);
    assert_eq!(execute(&laptop, "UPDATE changes SET at = 0 WHERE position < 3"), 2);
    assert_eq!(laptop.store.prune(&retention, 2).await.unwrap().changes, 2);
    assert_eq!(laptop.store.start().await.unwrap(), Position(2));
    assert_eq!(laptop.store.prune(&retention, 2).await.unwrap().changes, 1);
    assert_eq!(ids(scene.moved_since(laptop.store.start().await.unwrap()).await), came[3..]);
    laptop.store.close().await;
}

#[tokio::test]
async fn numbers_and_passes_are_there_after_a_close_and_an_open() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    scene.submit(a_job()).await;
    let changes = laptop.store.changes(Position(0), PLENTY).await.unwrap();
    let mut ledger = Ledger::default();
    for moved in changes.moved() {
        ledger.count(moved);
    }
    let entries = ledger.entries();
    let range = foreman_core::ports::Range {
        slot: entries[0].slot,
        from: entries[0].at,
        to: entries[0].at.plus(HOUR),
        queue: entries[0].queue.clone(),
    };
    let stretch = Stretch { from: Position(0), to: changes.position, entries };
    laptop.store.advance(None, &stretch.advance()).await.unwrap();
    let before = laptop.store.statistics(&TenantId::default(), &range, 10).await.unwrap();
    let pass = a_pass();
    laptop.store.issue_pass(&pass).await.unwrap();
    let kept = laptop.store.pass(&pass.hash).await.unwrap();
    drop(scene);
    let laptop = laptop.reopened().await;
    assert_eq!(position(&laptop.store).await, changes.position);
    assert_eq!(laptop.store.statistics(&TenantId::default(), &range, 10).await.unwrap(), before);
    assert_eq!((before.len(), kept.is_some()), (1, true));
    assert_eq!(laptop.store.pass(&pass.hash).await.unwrap(), kept);
    laptop.store.close().await;
}

fn a_pass() -> NewPass {
    NewPass {
        hash: KeyHash::of(b"what the browser shows"),
        kind: PassKind::Session,
        holder: PassHolder::Bootstrap(KeyHash::of(b"what the configuration says")),
        tenant: TenantId::default(),
        keep: HOUR,
    }
}

/// Each is done to a file in order, and named for what it is.
#[tokio::test]
async fn the_audit_finds_what_must_not_be_among_numbers_and_passes() {
    let laptop = Laptop::new();
    laptop.tenancy().issue_pass(&a_pass()).await.unwrap();
    laptop.store.close().await;
    assert!(check_file(&laptop.path()).unwrap().is_clean());
    for (spoil, mend, sentence) in [
        (
            "UPDATE bookkeeper SET position = 9",
            "UPDATE bookkeeper SET position = 0",
            "the follower bookkeeper is at 9, and the log ends at 0",
        ),
        (
            "UPDATE passes SET holder = 'key'",
            "UPDATE passes SET holder = 'bootstrap'",
            "a pass of tenant default says that key holds it, and not by what",
        ),
    ] {
        assert_eq!(execute(&laptop, spoil), 1, "{spoil}");
        assert_eq!(census_of_file(&laptop.path()).unwrap().violations, [sentence], "{spoil}");
        execute(&laptop, mend);
    }
    assert!(census_of_file(&laptop.path()).unwrap().is_clean(), "all was mended");
}

#[tokio::test]
async fn a_batch_of_failures_is_grouped_job_by_job() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    let mut batch = Vec::new();
    for error in ["boom 1", "bang", "boom 2"] {
        let id = scene.submit(a_job()).await;
        let Proof { fence, job, .. } = scene.claim_job(session, id).await;
        batch.push(Settlement { fence, job, verdict: dead(error) });
    }
    let stranger = Settlement { fence: Fence(99), job: JobId::fresh(), verdict: failed("boom 3") };
    batch.push(stranger);
    laptop.store.settle(session, &batch).await.unwrap();
    let groups = laptop.store.failure_groups(&TenantId::default(), &State::FAILURES, PLENTY, 10).await.unwrap().groups;
    let counts: Vec<_> = groups.iter().map(|group| (group.group.clone().unwrap(), group.counted.count)).collect();
    assert_eq!(counts, [(ErrorGroup::of("boom 7"), 2), (ErrorGroup::of("bang"), 1)]);
    assert_eq!(laptop.store.held_by(SessionId::fresh(), 1).await.unwrap(), []);
    laptop.store.close().await;
}

/// A row of the log tells of as many jobs as one write moved.
#[tokio::test]
async fn a_page_of_long_rows_has_so_many_bytes() {
    const ROWS: usize = 9;
    let laptop = Laptop::new();
    laptop.store.close().await;
    let job = format!(r#"["{:032x}",0]"#, 1);
    let jobs = vec![job; 10_000].join(",");
    let row = format!(r#"[{{"tenant":"t","queue":"q","state":"pending","jobs":[{jobs}]}}]"#);
    for _ in 0..ROWS {
        execute(&laptop, &format!("INSERT INTO changes (at, moved) VALUES (0, '{row}')"));
    }
    let laptop = laptop.reopened().await;
    let (mut position, mut pages) = (Position::default(), Vec::new());
    loop {
        let page = laptop.store.changes(position, 1_000).await.unwrap();
        position = page.position;
        pages.push(page.rows.len());
        if !page.is_full {
            break;
        }
    }
    let most = CHANGES_BYTES.div_ceil(row.len());
    assert!(most < ROWS / 2, "several pages");
    assert!(pages.iter().all(|rows| *rows <= most), "{pages:?}");
    assert_eq!(pages.iter().sum::<usize>(), ROWS, "{pages:?}");
    laptop.store.close().await;
}
