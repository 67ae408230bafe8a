//! A claim by ids says of each job that it did not take why not.

use super::Subject;
use super::given::{
    HOUR, MINUTE, SECOND, Scene, a_job, alone, by_ids, by_order, completed, ids, jobs, queue, sorted, tenant,
};
use foreman_core::id::JobId;
use foreman_core::ports::{ClaimAnswer, ClaimRequest, Headroom, Queues, Refusal, RefusedJob, WaitsFor};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::state::State;
use foreman_core::target::Route;

/// Which jobs a claim took, and why it did not take others that it named.
pub(super) async fn said(scene: &Scene<'_>, request: &ClaimRequest) -> (Vec<JobId>, Vec<RefusedJob>) {
    match scene.ask(request).await {
        ClaimAnswer::Claimed(claim) => (sorted(ids(&claim.jobs)), claim.refused),
        ClaimAnswer::Nothing { refused, .. } => (Vec::new(), refused),
        ClaimAnswer::SessionGone => panic!("the session is live"),
    }
}

/// Why a claim of this one job did not take it.
async fn why(scene: &Scene<'_>, request: ClaimRequest, job: JobId) -> Refusal {
    let (taken, refused) = said(scene, &request).await;
    assert_eq!((taken, refused.len()), (vec![], 1), "{refused:?}");
    assert_eq!(refused[0].job, job);
    refused[0].why
}

async fn fragile(scene: &Scene<'_>, of: &str) -> JobId {
    let id = scene.submit(a_job().of(of)).await;
    for _ in 1..MAX_CRASHES {
        scene.crash(id).await;
    }
    id
}

pub async fn what_was_taken_is_not_refused(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let due = scene.submit_all(&jobs(3, &a_job())).await;
    assert_eq!(said(&scene, &by_ids(session, &due)).await, (due, vec![]));
}

/// Each once, in the order of their ids, however they were named.
pub async fn each_job_that_was_not_taken_is_refused_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let later = scene.submit_all(&jobs(3, &a_job().after(HOUR))).await;
    let due = scene.submit(a_job()).await;
    let named = [later[2], due, later[0], later[2], later[1], due];
    let (taken, refused) = said(&scene, &by_ids(session, &named)).await;
    assert_eq!(taken, [due]);
    assert_eq!(refused.iter().map(|one| one.job).collect::<Vec<_>>(), later);
}

pub async fn a_final_job_and_an_unknown_one_are_gone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let unknown = JobId::fresh();
    assert_eq!(why(&scene, by_ids(session, &[unknown]), unknown).await, Refusal::Gone);
    for state in [State::Completed, State::Failed, State::Dead, State::Cancelled] {
        let job = scene.job_in(state, a_job()).await;
        assert_eq!(why(&scene, by_ids(session, &[job]), job).await, Refusal::Gone, "{state}");
    }
}

pub async fn a_job_that_an_attempt_has_is_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    let held = scene.claim(session, 1).await;
    assert_eq!(why(&scene, by_ids(session, &[job]), job).await, Refusal::Held, "by the one who asks");
    let other = scene.session().await;
    assert_eq!(why(&scene, by_ids(other, &[job]), job).await, Refusal::Held);
    for held in held {
        scene.complete(session, held).await;
    }
    assert_eq!(why(&scene, by_ids(other, &[job]), job).await, Refusal::Gone);
}

/// A claim that takes one of them says of the others what one that takes nothing says.
pub async fn beside_a_job_that_is_taken_a_held_one_is_held_and_a_final_one_gone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let gone = scene.job_in(State::Completed, a_job()).await;
    let held = scene.submit(a_job()).await;
    assert_eq!(scene.claim(session, 1).await.len(), 1);
    let due = scene.submit(a_job()).await;
    let (taken, refused) = said(&scene, &by_ids(session, &[gone, held, due])).await;
    assert_eq!(taken, [due]);
    let refused: Vec<_> = refused.iter().map(|one| (one.job, one.why)).collect();
    assert_eq!(refused, [(gone, Refusal::Gone), (held, Refusal::Held)]);
}

pub async fn a_job_before_its_time_waits_for_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let at = scene.now().await.plus(HOUR);
    let job = scene.submit(a_job().at(at)).await;
    assert_eq!(why(&scene, by_ids(session, &[job]), job).await, Refusal::Waits(WaitsFor::Time(at)));
}

pub async fn a_job_past_its_start_by_waits_for_its_end(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let job = scene.submit(a_job().expires(scene.now().await.plus(MINUTE))).await;
    scene.advance(MINUTE).await;
    assert_eq!(why(&scene, by_ids(session, &[job]), job).await, Refusal::Waits(WaitsFor::Expiry));
}

pub async fn a_job_that_this_worker_does_not_serve_waits_for_another(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    let elsewhere = Queues::Named(vec![queue("mail")]);
    let request = ClaimRequest { queues: elsewhere, ..by_ids(session, &[job]) };
    assert_eq!(why(&scene, request, job).await, Refusal::Waits(WaitsFor::OtherWorker));
    for routes in [vec![Route::command()], vec![]] {
        let request = ClaimRequest { routes, ..by_ids(session, &[job]) };
        assert_eq!(why(&scene, request, job).await, Refusal::Waits(WaitsFor::OtherWorker));
    }
}

pub async fn a_job_in_a_paused_queue_waits_for_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    scene.pause("default").await;
    assert_eq!(why(&scene, by_ids(session, &[job]), job).await, Refusal::Waits(WaitsFor::Queue));
    scene.resume("default").await;
    assert_eq!(said(&scene, &by_ids(session, &[job])).await, (vec![job], vec![]));
}

pub async fn a_job_of_a_tenant_at_its_limit_waits_for_room(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let near = scene.submit_all(&jobs(3, &a_job().of("near"))).await;
    let within = |jobs: u32, named: &[JobId]| ClaimRequest {
        rooms: vec![Headroom { tenant: tenant("near"), jobs }],
        ..by_ids(session, named)
    };
    assert_eq!(why(&scene, within(0, &near[..1]), near[0]).await, Refusal::Waits(WaitsFor::Room));
    let (taken, refused) = said(&scene, &within(1, &near)).await;
    let room = |job: &JobId| RefusedJob { job: *job, why: Refusal::Waits(WaitsFor::Room) };
    assert_eq!((taken, refused), (vec![near[0]], near[1..].iter().map(room).collect()));
}

pub async fn a_job_that_must_run_alone_waits_for_solitude(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let job = fragile(&scene, "default").await;
    let innocent = scene.submit(a_job()).await;
    let (taken, refused) = said(&scene, &by_ids(session, &[job, innocent])).await;
    assert_eq!(taken, [innocent], "beside others it is passed over");
    assert_eq!(refused, [RefusedJob { job, why: Refusal::Waits(WaitsFor::Solitude) }]);
}

pub async fn beside_one_that_runs_alone_the_others_wait_for_its_end(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let first = fragile(&scene, "default").await;
    let second = fragile(&scene, "default").await;
    let innocent = scene.submit(a_job()).await;
    let (taken, refused) = said(&scene, &alone(by_ids(session, &[innocent, second, first]))).await;
    assert_eq!(taken.len(), 1);
    let waits = |job: JobId| RefusedJob { job, why: Refusal::Waits(WaitsFor::Neighbour) };
    let others = [first, second, innocent].into_iter().filter(|id| *id != taken[0]);
    assert_eq!(refused, sorted(others).into_iter().map(waits).collect::<Vec<_>>());
    assert!(taken[0] == first || taken[0] == second);
}

/// What would keep it anyway is said first, so that it is the same in every store.
pub async fn of_several_reasons_the_first_is_said(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let at = scene.now().await.plus(HOUR);
    let later = scene.submit(a_job().of("near").at(at).expires(at.plus(HOUR))).await;
    let due = scene.submit(a_job().of("near")).await;
    scene.store.pause(&tenant("near"), &queue("default")).await.expect("the store answers");
    let rooms = vec![Headroom { tenant: tenant("near"), jobs: 0 }];
    let full = |job: JobId| ClaimRequest { rooms: rooms.clone(), ..by_ids(session, &[job]) };
    let elsewhere = |job: JobId| ClaimRequest { routes: vec![Route::command()], ..full(job) };
    assert_eq!(why(&scene, elsewhere(later), later).await, Refusal::Waits(WaitsFor::Time(at)));
    assert_eq!(why(&scene, elsewhere(due), due).await, Refusal::Waits(WaitsFor::OtherWorker));
    assert_eq!(why(&scene, full(due), due).await, Refusal::Waits(WaitsFor::Queue));
}

/// The answer was lost: what the call took is answered again, and of the rest nothing is said.
pub async fn a_claim_sent_again_says_nothing_of_the_others(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let (due, later) = (scene.submit(a_job()).await, scene.submit(a_job().after(HOUR)).await);
    let request = by_ids(session, &[due, later]);
    assert_eq!(said(&scene, &request).await.1.len(), 1);
    assert_eq!(said(&scene, &request).await, (vec![due], vec![]));
}

pub async fn a_claim_by_order_refuses_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit(a_job().after(HOUR)).await;
    assert_eq!(said(&scene, &by_order(session, 5)).await, (vec![], vec![]));
    let due = scene.submit(a_job()).await;
    assert_eq!(said(&scene, &by_order(session, 5)).await, (vec![due], vec![]));
}

/// As many as a worker takes out of a broker at once, with every kind of reason among them.
pub async fn hundreds_are_answered_in_one_call(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let due = scene.submit_all(&jobs(200, &a_job())).await;
    let later = scene.submit_all(&jobs(100, &a_job().after(SECOND))).await;
    let ended = scene.submit_all(&jobs(100, &a_job().queued("mail"))).await;
    let mail = ClaimRequest { queues: Queues::Named(vec![queue("mail")]), ..by_order(session, 100) };
    for held in scene.take(mail).await {
        let batch = [held.settle(completed())];
        scene.settle_all(session, &batch).await;
    }
    let named = [&later[..], &ended, &due].concat();
    let (taken, refused) = said(&scene, &by_ids(session, &named)).await;
    assert_eq!(taken, due);
    let of = |jobs: &[JobId]| refused.iter().filter(|one| jobs.contains(&one.job)).count();
    assert_eq!((refused.len(), of(&later), of(&ended)), (200, 100, 100));
    let gone = refused.iter().filter(|one| one.why == Refusal::Gone).count();
    assert_eq!(gone, 100);
}
