//! The two counters, and the record of every try.

use super::Subject;
use super::given::{SECOND, Scene, a_job, by_order, completed, failed, interrupted, jobs, retry, tenant};
use foreman_core::id::{JobId, TenantId};
use foreman_core::outcome::{AttemptOutcome, CommandReport, Report, Verdict};
use foreman_core::ports::{
    ATTEMPTS_KEPT, ATTEMPTS_ON_A_PAGE, ATTEMPTS_PAGE_BYTES, AttemptPage, CancelAnswer, FIRST_ATTEMPTS, RedriveAnswer,
    Settled,
};
use foreman_core::state::State;

const ANSWERS: &str = "the store answers";

pub async fn an_attempt_is_counted_when_it_is_claimed(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let held = scene.claim_next(session).await;
    assert_eq!((held.attempt, held.spent), (1, 1), "the worker is told");
    assert_eq!(scene.counters(id).await, (1, 1, 0), "a worker that dies now has spent it");
}

pub async fn the_attempt_number_never_falls(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let verdicts = [
        interrupted(),
        Verdict::Released,
        retry(SECOND),
        interrupted(),
        interrupted(),
        retry(SECOND),
        Verdict::Released,
        completed(),
    ];
    for (number, verdict) in (1..).zip(verdicts) {
        let held = scene.claim_next(session).await;
        assert_eq!(held.attempt, number);
        scene.settle_all(session, &[held.settle(verdict)]).await;
        assert_eq!(scene.view(id).await.attempt, number);
        scene.wait(SECOND * 2).await;
    }
}

pub async fn only_refunded_tries_do_not_count_against_the_limit(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let mut spent = 0;
    for verdict in [retry(SECOND), interrupted(), retry(SECOND), Verdict::Released, retry(SECOND)] {
        spent += u32::from(!verdict.refunds());
        scene.run(session, id, verdict).await;
        assert_eq!(scene.view(id).await.spent, spent);
        scene.wait(SECOND * 2).await;
    }
    assert_eq!(scene.counters(id).await, (5, 3, 0));
}

pub async fn a_try_is_refunded_once_however_often_it_is_said(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    let proof = scene.run(session, id, interrupted()).await;
    for _ in 0..3 {
        assert_eq!(scene.settle(proof, interrupted()).await, Settled::Before);
    }
    assert_eq!(scene.counters(id).await, (2, 1, 0));
}

pub async fn a_given_up_claim_is_refunded_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let request = by_order(session, 1);
    scene.ask(&request).await;
    for _ in 0..3 {
        assert_eq!(scene.beat(session, &[request.token]).await, []);
    }
    assert_eq!(scene.counters(id).await, (1, 0, 0));
}

pub async fn a_lapse_keeps_the_try_spent_and_adds_a_crash(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    scene.crash(id).await;
    assert_eq!(scene.counters(id).await, (1, 1, 1));
    assert_eq!(scene.outcomes(id).await, [Some(AttemptOutcome::Lapsed)]);
    assert_eq!(scene.state(id).await, State::Pending);
}

pub async fn every_try_is_on_record_in_order(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    let first = scene.session_of("host-1").await;
    scene.run(first, id, retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    scene.crash(id).await;
    let second = scene.session_of("host-2").await;
    scene.run(second, id, interrupted()).await;
    scene.run(second, id, failed("no")).await;
    let view = scene.view(id).await;
    let seen: Vec<_> = view.attempts.records.iter().map(|attempt| (attempt.number, attempt.outcome)).collect();
    let expected = [
        (1, Some(AttemptOutcome::Retry)),
        (2, Some(AttemptOutcome::Lapsed)),
        (3, Some(AttemptOutcome::Interrupted)),
        (4, Some(AttemptOutcome::Failed)),
    ];
    assert_eq!(seen, expected);
    let workers: Vec<_> =
        view.attempts.records.iter().map(|attempt| attempt.worker.as_deref().unwrap_or("?")).collect();
    assert_eq!(workers, ["host-1", "mortal", "host-2", "host-2"]);
    assert!(view.attempts.records.is_sorted_by_key(|attempt| attempt.fence), "fences rise with the tries");
    for attempt in &view.attempts.records {
        let (start, end) = (attempt.started_at.expect("it started"), attempt.finished_at.expect("it ended"));
        assert!(start <= end);
    }
}

/// A report of about so many bytes.
fn printed(bytes: usize) -> Report {
    let output = CommandReport { stdout: "x".repeat(bytes), ..CommandReport::default() };
    Report { output: Some(output), ..Report::default() }
}

pub async fn attempts_come_page_by_page(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (session, of) = (scene.session().await, TenantId::default());
    let id = scene.submit(a_job()).await;
    for _ in 0..ATTEMPTS_ON_A_PAGE + 4 {
        scene.run(session, id, interrupted()).await;
    }
    scene.run(session, id, completed()).await;
    let total = ATTEMPTS_ON_A_PAGE + 5;
    let numbers = |page: &AttemptPage| page.records.iter().map(|record| record.number as usize).collect::<Vec<_>>();
    let view = scene.store.get(&of, id).await.expect(ANSWERS).expect("it is there");
    assert_eq!(numbers(&view.attempts), (6..=total).collect::<Vec<_>>(), "the latest, in their order");
    assert_eq!((view.attempts.kept, view.attempts.may_lack_some()), (total, false));
    let page = async |skip| scene.store.attempts(&of, id, skip).await.expect(ANSWERS).expect("it is there");
    assert_eq!(page(0).await, view.attempts);
    let older = page(ATTEMPTS_ON_A_PAGE).await;
    assert_eq!((numbers(&older), older.kept), ((1..=5).collect(), total));
    assert!(page(total).await.records.is_empty());
    assert_eq!(scene.store.attempts(&tenant("theirs"), id, 0).await.expect(ANSWERS), None);
    assert_eq!(scene.store.attempts(&of, JobId::fresh(), 0).await.expect(ANSWERS), None);
}

pub async fn jobs_that_ended_at_once_are_read_together_as_each_would_be_alone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut ended = Vec::new();
    for verdict in [completed(), failed("no"), Verdict::Dead(Report::error("spent"))] {
        let id = scene.submit(a_job()).await;
        scene.run(session, id, verdict).await;
        ended.push(id);
    }
    let theirs = scene.submit(a_job().of("theirs")).await;
    scene.store.cancel(&tenant("theirs"), &[theirs]).await.expect(ANSWERS);
    ended.push(theirs);
    let (tried_twice, again) = (scene.submit(a_job()).await, scene.submit(a_job()).await);
    scene.run(session, tried_twice, interrupted()).await;
    scene.run(session, tried_twice, completed()).await;
    scene.run(session, again, failed("no")).await;
    scene.redrive(again).await;
    let waiting = scene.submit(a_job()).await;
    let mut asked = vec![tried_twice, waiting, JobId::fresh(), again];
    asked.extend(&ended);
    let read = scene.store.ended_at_once(&asked).await.expect(ANSWERS);
    let mut found: Vec<JobId> = read.iter().map(|view| view.job.id).collect();
    found.sort_unstable();
    ended.sort_unstable();
    assert_eq!(found, ended);
    for view in read {
        let alone = scene.store.get(&view.job.tenant, view.job.id).await.expect(ANSWERS).expect("it is there");
        assert_eq!(format!("{view:?}"), format!("{alone:?}"));
        assert_eq!((view.attempts.records.len(), view.attempts.kept), (1, 1));
    }
    assert!(scene.store.ended_at_once(&[]).await.expect(ANSWERS).is_empty());
}

pub async fn a_page_of_attempts_has_so_many_bytes(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    for bytes in [10, ATTEMPTS_PAGE_BYTES / 2, ATTEMPTS_PAGE_BYTES / 2 + 1, ATTEMPTS_PAGE_BYTES + 1] {
        scene.run(session, id, Verdict::Interrupted(printed(bytes))).await;
    }
    let sizes = async |skip: usize| {
        let page = scene.store.attempts(&TenantId::default(), id, skip).await.expect(ANSWERS).expect("it is there");
        page.records.iter().map(|record| record.number).collect::<Vec<_>>()
    };
    assert_eq!(sizes(0).await, [4], "one, however large");
    assert_eq!(sizes(1).await, [2, 3]);
    assert_eq!(sizes(3).await, [1]);
}

pub async fn of_very_many_attempts_the_first_and_the_latest_are_kept(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let rounds = u32::try_from(ATTEMPTS_KEPT + 5).expect("few");
    for _ in 0..rounds {
        scene.run(session, id, interrupted()).await;
    }
    let proof = scene.claim_job(session, id).await;
    let view = scene.view(id).await;
    let first = u32::try_from(FIRST_ATTEMPTS).expect("few");
    let numbers: Vec<u32> = view.attempts.records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, (1..=first).chain(first + 7..=rounds + 1).collect::<Vec<_>>());
    assert_eq!((view.attempts.kept, view.attempt), (ATTEMPTS_KEPT, rounds + 1), "and the count goes on");
    assert!(view.attempts.may_lack_some());
    // The latest are there: what was recorded is known when it is sent again.
    assert_eq!(scene.settle(proof, interrupted()).await, Settled::Now);
    assert_eq!(scene.settle(proof, interrupted()).await, Settled::Before);
}

pub async fn a_job_cancelled_and_run_again_very_often_keeps_so_many_endings(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    for _ in 0..ATTEMPTS_KEPT + 5 {
        scene.cancel(id).await.expect("it is there");
        assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven));
    }
    assert_eq!(scene.view(id).await.attempts.kept, ATTEMPTS_KEPT - 1);
}

pub async fn a_cancelled_try_is_on_record(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    assert_eq!(scene.cancel(id).await, Some(CancelAnswer::WasHeld(session)));
    let view = scene.view(id).await;
    assert_eq!(view.attempts.records.len(), 1);
    let attempt = &view.attempts.records[0];
    assert_eq!((attempt.number, attempt.fence), (1, Some(proof.fence)));
    assert_eq!(attempt.outcome, Some(AttemptOutcome::Cancelled));
    assert!(attempt.finished_at.is_some());
}

pub async fn a_job_that_ended_while_it_waited_shows_how_without_a_try(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.job_in(State::Cancelled, a_job()).await;
    let view = scene.view(id).await;
    assert_eq!((view.attempt, view.started_at), (0, None));
    assert!(view.finished_at.is_some());
    let seen: Vec<_> =
        view.attempts.records.iter().map(|attempt| (attempt.number, attempt.outcome, attempt.fence)).collect();
    assert_eq!(seen, [(0, Some(AttemptOutcome::Cancelled), None)]);
}

pub async fn counters_of_neighbours_in_one_claim_are_their_own(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(3, &a_job())).await;
    scene.run(session, came[0], retry(SECOND)).await;
    scene.run(session, came[1], interrupted()).await;
    scene.wait(SECOND * 2).await;
    let held = scene.claim(session, 3).await;
    let told = |id| held.iter().find(|held| held.job.id == id).map(|held| (held.attempt, held.spent));
    assert_eq!(told(came[0]), Some((2, 2)));
    assert_eq!(told(came[1]), Some((2, 1)));
    assert_eq!(told(came[2]), Some((1, 1)));
}

pub async fn attempts_go_on_counting_after_a_redrive(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    scene.run(session, id, failed("no")).await;
    assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven));
    assert_eq!(scene.counters(id).await, (2, 0, 0));
    let held = scene.claim_next(session).await;
    assert_eq!((held.attempt, held.spent), (3, 1));
}
