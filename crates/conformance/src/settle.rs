//! Recording how an attempt ended: by the attempt that holds the job, and once.

use super::Subject;
use super::given::{
    HOUR, Proof, SECOND, Scene, a_job, at_once, completed, dead, failed, ids, interrupted, jobs, retry,
};
use foreman_core::id::{Fence, JobId, SessionId};
use foreman_core::outcome::{AttemptOutcome, CommandReport, HttpReport, Report, Verdict};
use foreman_core::ports::Settled;
use foreman_core::state::State;

fn every_verdict() -> [Verdict; 6] {
    [completed(), failed("no"), dead("never"), retry(HOUR), interrupted(), Verdict::Released]
}

pub async fn a_completed_job_is_final_with_what_it_left_behind(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session_of("host-1").await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    scene.advance(SECOND * 3).await;
    let report = Report {
        error: None,
        duration_ms: Some(2_987),
        response: Some(HttpReport {
            status: 201,
            headers: vec![("content-type".into(), "text/plain".into()), ("x".into(), "ü".into())],
            body: "sch\u{f6}n\n\"quoted\" \u{0}".into(),
            truncated: true,
        }),
        output: None,
    };
    scene.end_attempt(proof, Verdict::Completed(report.clone())).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempt, view.spent, view.error.as_deref()), (State::Completed, 1, 1, None));
    let (started, finished) = (view.started_at.expect("it started"), view.finished_at.expect("it finished"));
    assert!(finished >= started.plus(SECOND * 3));
    assert_eq!(view.attempts.records.len(), 1);
    let attempt = &view.attempts.records[0];
    assert_eq!((attempt.number, attempt.outcome), (1, Some(AttemptOutcome::Completed)));
    assert_eq!((attempt.fence, attempt.worker.as_deref()), (Some(proof.fence), Some("host-1")));
    assert_eq!((attempt.started_at, attempt.finished_at), (Some(started), Some(finished)));
    assert_eq!(attempt.report, report);
}

pub async fn a_failed_job_is_final_with_its_error(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().command()).await;
    let report = Report {
        error: Some("exited with 127".into()),
        output: Some(CommandReport {
            exit_code: Some(127),
            stderr: "sh: 1: nope: not found\n".into(),
            stdout_truncated: true,
            ..CommandReport::default()
        }),
        ..Report::default()
    };
    scene.run(session, id, Verdict::Failed(report.clone())).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.error.as_deref()), (State::Failed, Some("exited with 127")));
    assert_eq!(view.attempts.records[0].report, report);
    assert!(scene.claim(session, 10).await.is_empty());
}

pub async fn a_dead_job_is_kept_with_its_error(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, dead("503 eight times")).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.error.as_deref()), (State::Dead, Some("503 eight times")));
    assert_eq!(scene.outcomes(id).await, [Some(AttemptOutcome::Dead)]);
}

pub async fn a_retry_waits_for_its_delay(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let before = scene.now().await;
    scene.run(session, id, retry(HOUR)).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempt, view.spent), (State::Retrying, 1, 1));
    assert!(view.run_at >= before.plus(HOUR) && view.run_at <= scene.now().await.plus(HOUR));
    assert_eq!(view.finished_at, None);
    assert_eq!(scene.outcomes(id).await, [Some(AttemptOutcome::Retry)]);
    assert_eq!(view.attempts.records[0].report.error.as_deref(), Some("it did not work"));
    scene.wait(HOUR + SECOND).await;
    assert_eq!(scene.state(id).await, State::Pending);
}

pub async fn an_interrupted_job_is_pending_at_once_and_the_try_is_not_spent(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().tries(1)).await;
    scene.run(session, id, interrupted()).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempt, view.spent, view.crashes), (State::Pending, 1, 0, 0));
    assert_eq!(scene.outcomes(id).await, [Some(AttemptOutcome::Interrupted)]);
    assert_eq!(ids(&scene.claim(session, 1).await), [id]);
}

pub async fn a_released_job_is_pending_at_once_and_nothing_says_it_ran(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().tries(1)).await;
    scene.run(session, id, Verdict::Released).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.spent, view.crashes), (State::Pending, 0, 0));
    let ran = view.attempts.records.iter().any(|attempt| attempt.outcome != Some(AttemptOutcome::Released));
    assert!(!ran, "{:?}", view.attempts.records);
}

pub async fn another_session_cannot_settle_what_is_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (holder, other) = (scene.session().await, scene.session().await);
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(holder, id).await;
    for session in [other, SessionId::fresh()] {
        for verdict in every_verdict() {
            assert_eq!(scene.settle(Proof { session, ..proof }, verdict).await, Settled::Fenced);
        }
    }
    assert_eq!(scene.state(id).await, State::Running);
    scene.end_attempt(proof, completed()).await;
}

pub async fn a_wrong_number_settles_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(2, &a_job())).await;
    let first = scene.claim_job(session, came[0]).await;
    let second = scene.claim_job(session, came[1]).await;
    for fence in [Fence(0), Fence(-1), Fence(second.fence.0 + 1), Fence(i64::MAX), second.fence] {
        assert_eq!(scene.settle(Proof { fence, ..first }, completed()).await, Settled::Fenced, "{fence}");
    }
    assert_eq!(scene.state(came[0]).await, State::Running);
}

pub async fn a_job_that_is_not_in_the_claim_is_not_settled_by_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let held = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, held).await;
    let waiting = scene.submit(a_job()).await;
    for job in [waiting, JobId::fresh()] {
        assert_eq!(scene.settle(Proof { job, ..proof }, completed()).await, Settled::Fenced);
    }
    assert_eq!(scene.state(waiting).await, State::Pending);
}

pub async fn a_lost_answer_is_resolved_by_sending_the_same_settlement_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for verdict in every_verdict() {
        let id = scene.submit(a_job()).await;
        let proof = scene.claim_job(session, id).await;
        scene.end_attempt(proof, verdict.clone()).await;
        let (state, counters, outcomes) = (scene.state(id).await, scene.counters(id).await, scene.outcomes(id).await);
        for _ in 0..2 {
            assert_eq!(scene.settle(proof, verdict.clone()).await, Settled::Before, "{verdict:?}");
        }
        assert_eq!((scene.state(id).await, scene.counters(id).await), (state, counters), "{verdict:?}");
        assert_eq!(scene.outcomes(id).await, outcomes, "recorded once: {verdict:?}");
        scene.cancel(id).await;
    }
}

pub async fn a_second_opinion_of_the_same_attempt_is_not_recorded(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.run(session, id, completed()).await;
    for verdict in [failed("no"), dead("never"), retry(HOUR), interrupted(), Verdict::Released] {
        assert_ne!(scene.settle(proof, verdict).await, Settled::Now);
    }
    assert_eq!(scene.state(id).await, State::Completed);
    assert_eq!(scene.outcomes(id).await, [Some(AttemptOutcome::Completed)]);
}

pub async fn a_late_repeat_does_not_touch_the_next_attempt(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (first, second) = (scene.session().await, scene.session().await);
    let id = scene.submit(a_job()).await;
    let old = scene.run(first, id, retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    let new = scene.claim_job(second, id).await;
    assert_eq!(scene.settle(old, retry(SECOND)).await, Settled::Before, "it was recorded, long ago");
    assert_eq!(scene.state(id).await, State::Running);
    scene.end_attempt(new, completed()).await;
    assert_eq!(scene.settle(old, retry(SECOND)).await, Settled::Before);
    assert_eq!(scene.state(id).await, State::Completed);
}

pub async fn a_zombie_is_fenced(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let zombie = scene.mortal().await;
    let id = scene.submit(a_job()).await;
    let old = scene.claim_job(zombie, id).await;
    scene.lapse(zombie).await;
    for verdict in every_verdict() {
        assert_eq!(scene.settle(old, verdict).await, Settled::Fenced, "while it waits again");
    }
    let session = scene.session().await;
    let new = scene.claim_job(session, id).await;
    assert_eq!(scene.settle(old, completed()).await, Settled::Fenced, "while another runs it");
    scene.end_attempt(new, failed("no")).await;
    assert_eq!(scene.settle(old, completed()).await, Settled::Fenced, "after another ended it");
    assert_eq!(scene.state(id).await, State::Failed);
}

pub async fn a_zombie_whose_lapse_ended_the_job_is_fenced(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job().tries(1)).await;
    let zombie = scene.mortal().await;
    let old = scene.claim_job(zombie, id).await;
    scene.lapse(zombie).await;
    assert_eq!(scene.state(id).await, State::Dead);
    for verdict in every_verdict() {
        assert_eq!(scene.settle(old, verdict).await, Settled::Fenced, "its own word was never recorded");
    }
    assert_eq!(scene.state(id).await, State::Dead);
}

pub async fn a_session_that_ended_settles_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    assert_eq!(scene.end(session).await, 1);
    for verdict in every_verdict() {
        assert_eq!(scene.settle(proof, verdict).await, Settled::Fenced, "it handed the job back");
    }
    assert_eq!(scene.state(id).await, State::Pending);
}

pub async fn a_worker_that_gave_its_claim_up_settles_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let request = super::given::by_ids(session, &[id]);
    let held = scene.take(request.clone()).await;
    let proof = Proof { session, fence: held[0].fence, job: id };
    scene.beat(session, &[request.token]).await;
    for verdict in every_verdict() {
        assert_eq!(scene.settle(proof, verdict).await, Settled::Fenced, "it gave the job up");
    }
    assert_eq!(scene.counters(id).await, (1, 0, 0));
}

pub async fn a_draining_session_settles_what_it_holds(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    assert!(scene.drain(session).await);
    scene.end_attempt(proof, completed()).await;
    assert_eq!(scene.state(id).await, State::Completed);
}

pub async fn a_batch_is_answered_one_by_one_in_order(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (session, other) = (scene.session().await, scene.session().await);
    let came = scene.submit_all(&jobs(4, &a_job())).await;
    let settled = scene.run(session, came[0], completed()).await;
    let foreign = scene.claim_job(other, came[1]).await;
    let (one, two) = (scene.claim_job(session, came[2]).await, scene.claim_job(session, came[3]).await);
    let batch = [
        two.with(failed("no")),
        settled.with(completed()),
        foreign.with(completed()),
        one.with(retry(HOUR)),
        two.with(failed("no")),
    ];
    let answers = scene.settle_all(session, &batch).await;
    assert_eq!(answers, [Settled::Now, Settled::Before, Settled::Fenced, Settled::Now, Settled::Before]);
    assert_eq!(scene.state(came[1]).await, State::Running);
    assert_eq!(scene.state(came[2]).await, State::Retrying);
    assert_eq!(scene.state(came[3]).await, State::Failed);
    assert_eq!(scene.settle_all(session, &[]).await, []);
}

pub async fn settling_part_of_a_claim_leaves_the_rest_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job())).await;
    let mut held = scene.claim(session, 5).await;
    let two: Vec<_> = held.drain(..2).map(|held| held.settle(completed())).collect();
    assert_eq!(scene.settle_all(session, &two).await, [Settled::Now, Settled::Now]);
    let rest: Vec<_> = held.iter().map(super::given::open).collect();
    assert_eq!(scene.held(session).await, super::given::sorted(rest));
    for held in held {
        scene.complete(session, held).await;
    }
    assert_eq!(scene.held(session).await, []);
    assert_eq!(scene.census().await.outcomes, 5);
}

/// As a worker hands back a job that it finds held and knows nothing of.
pub async fn one_job_of_a_claim_is_released_under_its_fence_and_the_rest_stays_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (session, other) = (scene.session().await, scene.session().await);
    scene.submit_all(&jobs(3, &a_job())).await;
    let held = scene.claim(session, 3).await;
    let forgotten = Proof { session, fence: held[1].fence, job: held[1].job.id };
    assert_eq!(scene.settle(forgotten, Verdict::Released).await, Settled::Now);
    let rest = [super::given::open(&held[0]), super::given::open(&held[2])];
    assert_eq!(scene.held(session).await, super::given::sorted(rest));
    assert_eq!((scene.state(forgotten.job).await, scene.counters(forgotten.job).await), (State::Pending, (1, 0, 0)));
    let again = scene.claim_job(other, forgotten.job).await;
    assert_ne!(scene.settle(forgotten, Verdict::Released).await, Settled::Now, "its fence is over");
    assert_eq!(scene.held(other).await.len(), 1, "another's is not touched");
    scene.end_attempt(again, completed()).await;
}

pub async fn of_many_settlements_at_once_one_is_recorded(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for _ in 0..20 {
        let id = scene.submit(a_job()).await;
        let proof = scene.claim_job(session, id).await;
        let answers = at_once((0..6).map(|_| {
            let store = subject.store();
            async move { store.settle(session, &[proof.with(completed())]).await.expect("the store answers")[0] }
        }))
        .await;
        let now = answers.iter().filter(|answer| **answer == Settled::Now).count();
        let before = answers.iter().filter(|answer| **answer == Settled::Before).count();
        assert_eq!((now, before), (1, 5), "{answers:?}");
        assert_eq!(scene.outcomes(id).await, [Some(AttemptOutcome::Completed)]);
    }
}
