//! Every move of a job has its number, counted from 1, and says how long what it ended took.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Subject;
use super::given::{
    HOUR, MINUTE, Proof, SECOND, Scene, TTL, a_job, alone, at_once, by_ids, by_order, completed, dead, failed,
    interrupted, jobs, retry, taken,
};
use foreman_core::id::JobId;
use foreman_core::outcome::Verdict;
use foreman_core::ports::{Moved, Position, Step};
use foreman_core::state::State;

async fn steps(scene: &Scene<'_>, id: JobId) -> Vec<Step> {
    let moved = scene.moved_since(Position::default()).await;
    moved.into_iter().filter(|moved| moved.id == id).map(|moved| moved.step).collect()
}

async fn last_step(scene: &Scene<'_>, id: JobId) -> Step {
    *steps(scene, id).await.last().expect("it has moved")
}

fn sequences(steps: &[Step]) -> Vec<u32> {
    steps.iter().map(|step| step.sequence).collect()
}

/// Without a gap, and none twice.
fn counted(steps: &[Step]) {
    let expected: Vec<u32> = (1..).take(steps.len()).collect();
    assert_eq!(sequences(steps), expected, "{steps:?}");
}

/// The one shown is the last told.
async fn agrees(scene: &Scene<'_>, id: JobId) {
    let last = last_step(scene, id).await;
    let view = scene.view(id).await;
    assert_eq!((view.sequence, view.state), (last.sequence, last.state));
}

pub async fn the_moves_of_a_job_are_counted_without_a_gap(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let expires_at = scene.now().await.plus(HOUR * 24);
    let id = scene.submit(a_job().after(HOUR).expires(expires_at)).await;
    agrees(&scene, id).await;
    scene.wait(HOUR + SECOND).await;
    agrees(&scene, id).await;
    for verdict in [retry(HOUR), interrupted(), Verdict::Released, retry(Duration::ZERO)] {
        scene.wait(HOUR + SECOND).await;
        let proof = scene.claim_job(session, id).await;
        agrees(&scene, id).await;
        scene.end_attempt(proof, verdict).await;
        agrees(&scene, id).await;
    }
    scene.crash(id).await;
    agrees(&scene, id).await;
    let brief = scene.session().await;
    scene.claim_job(brief, id).await;
    scene.end(brief).await;
    agrees(&scene, id).await;
    scene.claim_job(session, id).await;
    scene.cancel(id).await;
    agrees(&scene, id).await;
    for verdict in [failed("no"), dead("never"), completed()] {
        scene.redrive(id).await;
        agrees(&scene, id).await;
        scene.run(session, id, verdict).await;
        agrees(&scene, id).await;
    }
    scene.redrive(id).await;
    scene.cancel(id).await;
    agrees(&scene, id).await;
    let steps = steps(&scene, id).await;
    assert_eq!(steps.len(), 28, "{steps:?}");
    counted(&steps);
}

pub async fn a_job_that_expires_or_wears_out_counts_that_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let soon = scene.now().await.plus(MINUTE);
    let expired = scene.submit(a_job().after(HOUR).expires(soon)).await;
    let worn_out = scene.submit(a_job().tries(1)).await;
    scene.crash(worn_out).await;
    scene.wait(MINUTE * 2).await;
    for (id, states) in [
        (expired, vec![State::Scheduled, State::Failed]),
        (worn_out, vec![State::Pending, State::Running, State::Dead]),
    ] {
        let steps = steps(&scene, id).await;
        assert_eq!(steps.iter().map(|step| step.state).collect::<Vec<_>>(), states);
        counted(&steps);
        agrees(&scene, id).await;
    }
}

pub async fn every_state_shows_how_often_its_job_has_moved(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for (state, moves) in [
        (State::Scheduled, 1),
        (State::Pending, 1),
        (State::Running, 2),
        (State::Retrying, 3),
        (State::Completed, 3),
        (State::Failed, 3),
        (State::Dead, 3),
        (State::Cancelled, 2),
    ] {
        let id = scene.job_in(state, a_job()).await;
        assert_eq!(scene.view(id).await.sequence, moves, "{state}");
        agrees(&scene, id).await;
    }
    let listed = scene
        .store
        .list(&foreman_core::TenantId::default(), &foreman_core::ports::JobFilter::default(), None, 100)
        .await;
    for summary in listed.expect("the store answers").items {
        assert_eq!(summary.sequence, scene.view(summary.id).await.sequence, "in a list it is the same");
    }
}

pub async fn jobs_of_one_batch_each_count_for_themselves(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let old = scene.submit(a_job()).await;
    for _ in 0..3 {
        scene.run(session, old, interrupted()).await;
    }
    let came = scene.submit_all(&jobs(3, &a_job())).await;
    let held = scene.claim(session, 4).await;
    assert_eq!(held.len(), 4);
    let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
    scene.settle_all(session, &batch).await;
    assert_eq!(last_step(&scene, old).await.sequence, 9);
    for id in came {
        assert_eq!(sequences(&steps(&scene, id).await), [1, 2, 3]);
    }
    counted(&steps(&scene, old).await);
}

pub async fn what_moves_nothing_counts_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let new = a_job().build();
    let id = new.id;
    scene.submit_all(std::slice::from_ref(&new)).await;
    scene.submit_all(std::slice::from_ref(&new)).await;
    let request = alone(by_ids(session, &[id]));
    scene.ask(&request).await;
    let held = taken(scene.ask(&request).await);
    let proof = Proof { session, fence: held[0].fence, job: id };
    scene.beat(session, &[]).await;
    scene.promote(10).await;
    scene.redrive(id).await;
    for _ in 0..2 {
        scene.settle(proof, completed()).await;
        scene.cancel(id).await;
    }
    assert_eq!(scene.view(id).await.sequence, 3);
    counted(&steps(&scene, id).await);
}

pub async fn an_id_submitted_anew_after_its_removal_counts_from_one(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let new = a_job().build();
    scene.submit_all(std::slice::from_ref(&new)).await;
    scene.run(session, new.id, completed()).await;
    scene.remove(new.id).await;
    scene.submit_all(std::slice::from_ref(&new)).await;
    assert_eq!(scene.view(new.id).await.sequence, 1);
}

/// Workers, a canceller and a promoter at once: whatever wins, each job's moves are told in order and none twice.
pub async fn moves_made_at_once_are_counted_one_after_the_other(subject: &dyn Subject) {
    const ROUNDS: usize = 12;
    let scene = Scene::of(subject);
    let came = scene.submit_all(&jobs(12, &a_job())).await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(scene.session().await);
    }
    let workers = at_once(sessions.into_iter().map(|session| {
        let store = subject.store();
        async move {
            for round in 0..ROUNDS {
                let held = taken(store.claim(&by_order(session, 4)).await.expect("the store answers"));
                let verdict = || if round % 2 == 0 { retry(Duration::ZERO) } else { interrupted() };
                let batch: Vec<_> = held.into_iter().map(|held| held.settle(verdict())).collect();
                store.settle(session, &batch).await.expect("the store answers");
            }
        }
    }));
    let (store, ids) = (subject.store(), came.clone());
    let meddler = at_once([async move {
        for _ in 0..ROUNDS {
            store.cancel(&foreman_core::TenantId::default(), &ids).await.expect("the store answers");
            store.redrive(&foreman_core::TenantId::default(), &ids).await.expect("the store answers");
            store.promote(10).await.expect("the store answers");
        }
    }]);
    tokio::join!(workers, meddler);
    let mut lives: BTreeMap<JobId, Vec<Step>> = BTreeMap::new();
    for moved in scene.moved_since(Position::default()).await {
        lives.entry(moved.id).or_default().push(moved.step);
    }
    assert_eq!(lives.len(), came.len());
    for (id, steps) in lives {
        counted(&steps);
        agrees(&scene, id).await;
    }
}

pub async fn a_start_tells_how_long_the_job_had_been_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.advance(SECOND * 5).await;
    let proof = scene.claim_job(session, id).await;
    assert_eq!(last_step(&scene, id).await.took, Some(SECOND * 5), "since it was submitted");
    scene.end_attempt(proof, retry(MINUTE)).await;
    scene.wait(MINUTE + SECOND * 7).await;
    scene.claim_job(session, id).await;
    assert_eq!(last_step(&scene, id).await.took, Some(SECOND * 7), "since the delay of its retry was over");
    let later = scene.submit(a_job().after(HOUR)).await;
    scene.wait(HOUR + SECOND * 2).await;
    scene.claim_job(session, later).await;
    assert_eq!(
        last_step(&scene, later).await.took,
        Some(SECOND * 2),
        "since it was to run, not since it was asked for"
    );
    let at_once = scene.submit(a_job()).await;
    scene.claim_job(session, at_once).await;
    assert_eq!(last_step(&scene, at_once).await.took, Some(Duration::ZERO));
    scene.cancel(at_once).await;
    scene.advance(MINUTE).await;
    scene.redrive(at_once).await;
    scene.advance(SECOND * 3).await;
    scene.claim_job(session, at_once).await;
    assert_eq!(last_step(&scene, at_once).await.took, Some(SECOND * 3), "since it was re-driven");
}

pub async fn an_end_tells_how_long_the_attempt_ran(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let ran = SECOND * 3;
    for verdict in [completed(), failed("no"), dead("never"), retry(HOUR), retry(Duration::ZERO), interrupted()] {
        let id = scene.submit(a_job()).await;
        scene.advance(MINUTE).await;
        let proof = scene.claim_job(session, id).await;
        scene.advance(ran).await;
        scene.end_attempt(proof, verdict.clone()).await;
        assert_eq!(last_step(&scene, id).await.took, Some(ran), "{verdict:?}");
    }
    let cancelled = scene.submit(a_job()).await;
    scene.claim_job(session, cancelled).await;
    scene.advance(ran).await;
    scene.cancel(cancelled).await;
    assert_eq!(last_step(&scene, cancelled).await.took, Some(ran), "cancelled while it ran");
}

pub async fn an_end_that_the_store_decides_tells_it_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let ran = TTL + SECOND;
    let lapsed = scene.submit(a_job()).await;
    scene.crash(lapsed).await;
    assert_eq!(last_step(&scene, lapsed).await.took, Some(ran));
    let worn_out = scene.submit(a_job().tries(1)).await;
    scene.crash(worn_out).await;
    let step = last_step(&scene, worn_out).await;
    assert_eq!((step.state, step.took), (State::Dead, Some(ran)));
    let session = scene.session().await;
    let handed_back = scene.submit(a_job()).await;
    scene.claim_job(session, handed_back).await;
    scene.advance(SECOND * 4).await;
    scene.end(session).await;
    assert_eq!(last_step(&scene, handed_back).await.took, Some(SECOND * 4));
    let other = scene.session().await;
    let given_up = scene.submit(a_job()).await;
    let request = alone(by_ids(other, &[given_up]));
    scene.ask(&request).await;
    scene.advance(SECOND * 2).await;
    scene.beat(other, &[request.token]).await;
    assert_eq!(last_step(&scene, given_up).await.took, Some(SECOND * 2));
}

pub async fn a_move_without_an_attempt_tells_no_time(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let soon = scene.now().await.plus(HOUR * 3);
    let cancelled = scene.submit(a_job().after(HOUR)).await;
    scene.wait(HOUR + SECOND).await;
    scene.cancel(cancelled).await;
    scene.redrive(cancelled).await;
    let expired = scene.submit(a_job().expires(soon)).await;
    scene.wait(HOUR * 4).await;
    let all: Vec<Moved> = scene.moved_since(Position::default()).await;
    assert_eq!(all.iter().filter(|moved| moved.id == expired).count(), 2);
    assert!(all.len() >= 6 && all.iter().all(|moved| moved.step.took.is_none()), "{all:?}");
}
