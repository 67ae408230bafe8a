//! Taking jobs: each by one session at a time, and only what may be taken.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Subject;
use super::given::{
    HOUR, SECOND, Scene, a_job, alone, at_once, by_ids, by_order, completed, ids, jobs, open, queue, retry, sorted,
    taken, tenant,
};
use foreman_core::id::{ClaimToken, JobId, SessionId};
use foreman_core::ports::{ClaimAnswer, ClaimRequest, Queues};
use foreman_core::state::State;
use foreman_core::target::Route;

pub async fn thirty_claimers_never_share_a_job(subject: &dyn Subject) {
    const CLAIMERS: usize = 30;
    const JOBS: usize = 1_000;
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(JOBS, &a_job())).await;
    let mut sessions = Vec::new();
    for _ in 0..CLAIMERS {
        sessions.push(scene.session().await);
    }
    let claimed = at_once(sessions.into_iter().map(|session| {
        let store = subject.store();
        async move {
            let mut mine: Vec<JobId> = Vec::new();
            loop {
                let held = taken(store.claim(&by_order(session, 7)).await.expect("the store answers"));
                if held.is_empty() {
                    return mine;
                }
                mine.extend(ids(&held));
                // Lets the others have their turn even where the store never waits.
                tokio::task::yield_now().await;
            }
        }
    }))
    .await;
    let all: Vec<JobId> = claimed.into_iter().flatten().collect();
    assert_eq!(all.len(), JOBS, "every job was handed out, and none twice");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), JOBS);
    assert_eq!(scene.census().await.held, JOBS as u64);
}

pub async fn one_job_wanted_by_many_goes_to_one(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..10 {
        let id = scene.submit(a_job()).await;
        let mut sessions = Vec::new();
        for _ in 0..8 {
            sessions.push(scene.session().await);
        }
        let got = at_once(sessions.into_iter().map(|session| {
            let store = subject.store();
            async move { taken(store.claim(&by_ids(session, &[id])).await.expect("the store answers")).len() }
        }))
        .await;
        assert_eq!(got.iter().sum::<usize>(), 1, "{got:?}");
    }
}

pub async fn a_claim_is_a_copy(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().kind("as asked")).await;
    let mut held = scene.claim_next(session).await;
    Arc::make_mut(&mut held.job.work).kind = Some("scribbled over".into());
    held.attempt = 99;
    let view = scene.view(id).await;
    assert_eq!((view.job.work.kind.as_deref(), view.attempt), (Some("as asked"), 1));
}

pub async fn a_held_job_says_everything_needed_to_run_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let asked = a_job().of("acme").queued("mail").kind("mail").build();
    scene.submit_all(std::slice::from_ref(&asked)).await;
    let held = scene.claim_next(session).await;
    assert_eq!((held.job.id, &held.job.tenant), (asked.id, &asked.tenant));
    assert_eq!((held.attempt, held.spent, held.crashes), (1, 1, 0));
    let text = |work: &foreman_core::job::Work| serde_json::to_string(work).expect("plain data");
    assert_eq!(text(&held.job.work), text(&asked.work));
}

pub async fn a_claimed_job_is_running_and_shows_who_runs_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session_of("host-1").await;
    let id = scene.submit(a_job()).await;
    let before = scene.now().await;
    let proof = scene.claim_job(session, id).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.finished_at), (State::Running, None));
    assert!(view.started_at.is_some_and(|time| time >= before));
    let attempt = view.attempts.records.last().expect("the attempt under way is shown");
    assert_eq!((attempt.number, attempt.fence), (1, Some(proof.fence)));
    assert_eq!(attempt.worker.as_deref(), Some("host-1"));
    assert_eq!((attempt.outcome, attempt.finished_at), (None, None));
    assert!(attempt.started_at.is_some());
}

pub async fn an_empty_store_has_nothing_to_take(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let answer = scene.ask(&by_order(session, 10)).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
}

pub async fn a_claim_takes_no_more_than_its_limit(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(10, &a_job())).await;
    assert_eq!(scene.claim(session, 4).await.len(), 4);
    assert_eq!(scene.claim(session, 0).await.len(), 0, "a limit of nothing takes nothing");
    assert_eq!(scene.claim(session, 100).await.len(), 6);
}

pub async fn the_jobs_of_one_claim_share_one_number(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(6, &a_job())).await;
    let first = scene.claim(session, 3).await;
    let second = scene.claim(session, 3).await;
    assert!(first.iter().all(|held| held.fence == first[0].fence));
    assert!(second.iter().all(|held| held.fence == second[0].fence));
    assert!(second[0].fence > first[0].fence);
}

pub async fn only_what_the_worker_can_run_is_taken(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let http = scene.submit(a_job()).await;
    let command = scene.submit(a_job().command()).await;
    let mail = scene.submit(a_job().task("mail.send")).await;
    let thumb = scene.submit(a_job().task("thumbnail")).await;
    let with = |routes: Vec<Route>| ClaimRequest { routes, ..by_order(session, 10) };
    assert_eq!(ids(&scene.take(with(vec![Route::task("mail.send")])).await), [mail]);
    assert!(scene.take(with(vec![Route::task("mail")])).await.is_empty(), "another task's name is another route");
    assert!(scene.take(with(Vec::new())).await.is_empty());
    assert_eq!(ids(&scene.take(with(vec![Route::command()])).await), [command]);
    let rest = scene.take(with(vec![Route::http(), Route::task("thumbnail")])).await;
    assert_eq!(sorted(ids(&rest)), sorted([http, thumb]));
}

pub async fn only_the_named_queues_are_taken(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mail = scene.submit(a_job().queued("mail")).await;
    let other = scene.submit(a_job().queued("other")).await;
    let third = scene.submit(a_job().queued("third")).await;
    let named = |names: &[&str]| ClaimRequest {
        queues: Queues::Named(names.iter().map(|name| queue(name)).collect()),
        ..by_order(session, 10)
    };
    assert!(scene.take(named(&["nobody"])).await.is_empty());
    assert_eq!(ids(&scene.take(named(&["mail"])).await), [mail]);
    let rest = scene.take(named(&["other", "third", "mail"])).await;
    assert_eq!(sorted(ids(&rest)), sorted([other, third]));
}

pub async fn a_paused_queue_is_left_alone_until_it_is_resumed(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let paused = scene.submit(a_job().queued("mail")).await;
    let other = scene.submit(a_job().queued("other")).await;
    assert!(scene.pause("mail").await);
    assert_eq!(ids(&scene.claim(session, 10).await), [other]);
    let late = scene.submit(a_job().queued("mail")).await;
    assert!(scene.claim(session, 10).await.is_empty(), "what comes later waits too");
    assert_eq!(scene.state(paused).await, State::Pending);
    assert!(scene.resume("mail").await);
    assert_eq!(sorted(ids(&scene.claim(session, 10).await)), sorted([paused, late]));
}

pub async fn pausing_and_resuming_tell_whether_they_changed_anything(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert!(!scene.resume("mail").await, "it was not paused");
    assert!(scene.pause("mail").await);
    assert!(!scene.pause("mail").await, "it was paused already");
    assert!(scene.resume("mail").await);
    assert!(!scene.resume("mail").await);
}

pub async fn one_tenants_pause_leaves_another_tenants_queue_running(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit(a_job().of("ours").queued("mail")).await;
    let theirs = scene.submit(a_job().of("theirs").queued("mail")).await;
    assert!(scene.store.pause(&tenant("ours"), &queue("mail")).await.expect("the store answers"));
    assert_eq!(ids(&scene.claim(session, 10).await), [theirs]);
}

pub async fn what_runs_in_a_paused_queue_goes_on(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    scene.pause("default").await;
    assert_eq!(scene.beat(session, &[]).await.len(), 1, "it is still held");
    scene.end_attempt(proof, completed()).await;
    assert_eq!(scene.state(id).await, State::Completed);
}

pub async fn a_claim_by_ids_takes_just_those(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(5, &a_job())).await;
    let wanted = [came[3], came[1]];
    let held = scene.take(by_ids(session, &wanted)).await;
    assert_eq!(sorted(ids(&held)), sorted(wanted));
    assert_eq!(scene.census().await.ready, 3);
}

pub async fn a_claim_by_ids_drops_what_is_not_waiting(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let running = scene.job_in(State::Running, a_job()).await;
    let finished = scene.job_in(State::Completed, a_job()).await;
    let waiting = scene.submit(a_job()).await;
    let held = scene.take(by_ids(session, &[running, finished, JobId::fresh(), waiting])).await;
    assert_eq!(ids(&held), [waiting]);
    assert!(scene.take(by_ids(session, &[running, finished])).await.is_empty());
    assert!(scene.take(by_ids(session, &[])).await.is_empty());
}

pub async fn a_claim_by_ids_takes_a_job_named_twice_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    assert_eq!(ids(&scene.take(by_ids(session, &[id, id])).await), [id]);
    assert_eq!(scene.counters(id).await, (1, 1, 0));
}

pub async fn a_claim_by_ids_obeys_pause_queue_and_route(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let paused = scene.submit(a_job().queued("paused")).await;
    let elsewhere = scene.submit(a_job().queued("elsewhere")).await;
    let task = scene.submit(a_job().queued("mail").task("unknown")).await;
    let mine = scene.submit(a_job().queued("mail")).await;
    scene.pause("paused").await;
    let request = ClaimRequest {
        queues: Queues::Named(vec![queue("mail"), queue("paused")]),
        ..by_ids(session, &[paused, elsewhere, task, mine])
    };
    assert_eq!(ids(&scene.take(request).await), [mine]);
}

pub async fn a_job_is_not_claimed_before_its_time(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().after(HOUR)).await;
    scene.wait(HOUR.checked_sub(SECOND).expect("a second is less than an hour")).await;
    assert!(scene.claim(session, 1).await.is_empty());
    assert!(scene.take(by_ids(session, &[id])).await.is_empty());
    scene.wait(SECOND * 2).await;
    assert_eq!(ids(&scene.claim(session, 1).await), [id]);
}

pub async fn a_retry_is_not_claimed_before_its_delay(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, retry(HOUR)).await;
    scene.wait(HOUR / 2).await;
    assert!(scene.claim(session, 1).await.is_empty());
    scene.wait(HOUR).await;
    assert_eq!(ids(&scene.claim(session, 1).await), [id]);
}

async fn gone(scene: &Scene<'_>, session: SessionId, id: JobId) {
    for request in [by_order(session, 10), by_ids(session, &[id]), alone(by_order(session, 1))] {
        let answer = scene.ask(&request).await;
        assert!(matches!(answer, ClaimAnswer::SessionGone), "{answer:?}");
    }
    assert_eq!(scene.state(id).await, State::Pending, "it was left where it was");
    assert_eq!(scene.counters(id).await, (0, 0, 0));
}

pub async fn a_draining_session_claims_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    assert!(scene.drain(session).await);
    gone(&scene, session, id).await;
}

pub async fn an_ended_session_claims_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.end(session).await;
    gone(&scene, session, id).await;
}

pub async fn a_lapsed_session_claims_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let id = scene.submit(a_job()).await;
    scene.lapse(session).await;
    gone(&scene, session, id).await;
}

pub async fn a_session_nobody_registered_claims_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    gone(&scene, SessionId::fresh(), id).await;
}

pub async fn a_claim_sent_again_answers_the_same_claim(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(6, &a_job())).await;
    let request = by_order(session, 3);
    let first = scene.take(request.clone()).await;
    let again = scene.take(request).await;
    let known = |held: &foreman_core::ports::Held| (open(held), held.attempt, held.spent, held.crashes);
    assert_eq!(sorted(first.iter().map(known)), sorted(again.iter().map(known)), "the same jobs, counted once");
    assert_eq!(scene.census().await.held, 3, "nothing more was taken");
}

pub async fn a_claim_sent_again_shows_what_is_still_open(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(3, &a_job())).await;
    let request = by_order(session, 3);
    let mut first = scene.take(request.clone()).await;
    let cancelled = first.remove(0).job.id;
    scene.cancel(cancelled).await;
    let again = scene.take(request).await;
    assert_eq!(sorted(ids(&again)), sorted(ids(&first)), "the cancelled one is no longer to be run");
}

pub async fn the_token_of_one_session_says_nothing_to_another(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (one, two) = (scene.session().await, scene.session().await);
    scene.submit_all(&jobs(2, &a_job())).await;
    let token = ClaimToken::fresh();
    let first = scene.take(ClaimRequest { token, ..by_order(one, 1) }).await;
    let second = scene.take(ClaimRequest { token, ..by_order(two, 1) }).await;
    assert_ne!(ids(&first), ids(&second));
    assert_ne!(first[0].fence, second[0].fence);
}

pub async fn one_claim_sent_twice_at_once_takes_one_batch(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(100, &a_job())).await;
    for round in 1..=10 {
        let request = by_order(session, 5);
        let answers = at_once((0..4).map(|_| {
            let (store, request) = (subject.store(), request.clone());
            async move { sorted(ids(&taken(store.claim(&request).await.expect("the store answers")))) }
        }))
        .await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        assert_eq!(scene.census().await.held, round * 5);
    }
}

pub async fn jobs_of_all_tenants_are_served_by_one_session(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut came = Vec::new();
    for name in ["a", "b", "c"] {
        came.push(scene.submit(a_job().of(name)).await);
    }
    assert_eq!(sorted(ids(&scene.claim(session, 10).await)), sorted(came));
}
