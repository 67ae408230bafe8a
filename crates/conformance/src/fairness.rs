//! A tenant's burst does not delay another tenant's single job by more than two claims of its lane.
//!
//! Whatever the burst is made of (many batches, many queues, jobs of several kinds), however the single job comes to wait
//! (submitted, retried, again and again), and however few jobs a claim takes.

use super::Subject;
use super::given::{
    Ask, HOUR, SECOND, Scene, a_job, alone, at_once, by_ids, by_order, completed, jobs, queue, retry, sorted,
};
use foreman_core::id::{JobId, SessionId};
use foreman_core::lane::Lane;
use foreman_core::ports::{ClaimRequest, Held, Queues};
use foreman_core::target::Route;

/// Enough that whoever queues behind it is found out at once.
const BURST: usize = 3_000;

/// How many jobs a claim may take, from a worker with one slot to a large one.
const CLAIMS: [usize; 3] = [64, 4, 1];

async fn burst(scene: &Scene<'_>, count: usize, ask: &Ask) {
    for start in (0..count).step_by(1_000) {
        scene.submit_all(&jobs((count - start).min(1_000), ask)).await;
    }
}

async fn complete(scene: &Scene<'_>, session: SessionId, held: Vec<Held>) {
    let settlements: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
    scene.settle_all(session, &settlements).await;
}

/// Claims and completes so many jobs, a claim after the other.
async fn serve(scene: &Scene<'_>, session: SessionId, count: usize, a_claim: usize) -> Vec<String> {
    let mut tenants = Vec::with_capacity(count);
    while tenants.len() < count {
        let held = scene.claim(session, a_claim.min(count - tenants.len())).await;
        assert!(!held.is_empty(), "{} were served, and more wait", tenants.len());
        tenants.extend(held.iter().map(|held| held.job.tenant.to_string()));
        complete(scene, session, held).await;
    }
    tenants
}

/// The job is in one of the next two claims.
async fn is_soon(scene: &Scene<'_>, session: SessionId, job: JobId, a_claim: usize, what: &str) {
    for _ in 0..2 {
        let held = scene.claim(session, a_claim).await;
        let is_there = held.iter().any(|held| held.job.id == job);
        complete(scene, session, held).await;
        if is_there {
            return;
        }
    }
    panic!("{what}: not in one of the next two claims of {a_claim}");
}

pub async fn a_single_job_is_in_one_of_the_next_two_claims(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    for a_claim in CLAIMS {
        serve(&scene, session, 5 * a_claim, a_claim).await;
        let job = scene.submit(a_job().of("single")).await;
        is_soon(&scene, session, job, a_claim, "in the middle of a burst").await;
    }
}

pub async fn a_single_job_in_another_queue_is_as_soon(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    for a_claim in CLAIMS {
        serve(&scene, session, 3 * a_claim, a_claim).await;
        let job = scene.submit(a_job().of("single").queued("another")).await;
        is_soon(&scene, session, job, a_claim, "in a queue of its own").await;
    }
}

/// Each is the only one that waits, and comes when the one before it has been claimed.
pub async fn single_jobs_one_after_another_are_each_as_soon(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    for a_claim in CLAIMS {
        for name in ["default", "another", "default"] {
            let single = a_job().of("single").queued(name);
            for turn in 0..6 {
                let job = scene.submit(single.clone()).await;
                is_soon(&scene, session, job, a_claim, &format!("number {turn} in {name}")).await;
            }
        }
    }
}

/// And they in turn do not starve the burst.
pub async fn single_jobs_one_after_another_leave_the_burst_its_half(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    burst(&scene, 100, &a_job().of("burst")).await;
    for name in ["default", "another"] {
        let single = a_job().of("single").queued(name);
        let (mut of_burst, mut is_waiting) = (0, false);
        for _ in 0..40 {
            if !is_waiting {
                scene.submit(single.clone()).await;
            }
            is_waiting = serve(&scene, session, 1, 1).await == ["burst"];
            of_burst += usize::from(is_waiting);
        }
        assert!((19..=21).contains(&of_burst), "{of_burst} of 40 claims, with the others in {name}");
        if is_waiting {
            serve(&scene, session, 2, 1).await;
        }
    }
}

pub async fn a_single_retry_is_as_soon(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for a_claim in CLAIMS {
        let job = scene.submit(a_job().of("single")).await;
        scene.run(session, job, retry(SECOND * 5)).await;
        burst(&scene, BURST / 3, &a_job().of("burst")).await;
        serve(&scene, session, 3 * a_claim, a_claim).await;
        scene.wait(SECOND * 6).await;
        is_soon(&scene, session, job, a_claim, "a retry").await;
    }
}

pub async fn a_single_job_that_fell_due_is_as_soon(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let job = scene.submit(a_job().of("single").after(HOUR)).await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    serve(&scene, session, 200, 64).await;
    scene.wait(HOUR + SECOND).await;
    is_soon(&scene, session, job, 1, "for later, and due now").await;
}

/// A process that promotes is one of several, and what the others were too late for is not the tenant's burden.
pub async fn a_job_that_many_promoters_see_is_charged_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let parked = scene.submit_all(&jobs(20, &a_job().of("single").after(SECOND))).await;
    scene.advance(SECOND * 2).await;
    let promoted = at_once((0..8).map(|_| {
        let store = subject.store();
        async move { store.promote(100).await.expect("the store answers").promoted }
    }))
    .await;
    assert_eq!(promoted.iter().sum::<usize>(), parked.len(), "each was promoted once: {promoted:?}");
    complete(&scene, session, scene.claim(session, 20).await).await;
    burst(&scene, 300, &a_job().of("burst")).await;
    let job = scene.submit(a_job().of("single")).await;
    is_soon(&scene, session, job, 1, "after what was promoted").await;
}

pub async fn a_burst_over_many_queues_delays_no_more(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let all: Vec<_> = (0..BURST).map(|n| a_job().of("burst").queued(&format!("q{}", n % 50)).build()).collect();
    for batch in all.chunks(1_000) {
        scene.submit_all(batch).await;
    }
    for a_claim in CLAIMS {
        for name in ["q7", "mine", "q7", "q33"] {
            serve(&scene, session, 2 * a_claim, a_claim).await;
            let single = a_job().of("single").queued(name);
            for turn in 0..8 {
                let job = scene.submit(single.clone()).await;
                is_soon(&scene, session, job, a_claim, &format!("number {turn} in {name}")).await;
            }
        }
    }
}

/// So many that a store may not care to look into all of them in one claim.
pub async fn a_burst_over_very_many_queues_delays_no_more(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let all: Vec<_> = (0..1_200).map(|n| a_job().of("burst").queued(&format!("q{}", n % 600)).build()).collect();
    scene.submit_all(&all).await;
    for (turn, name) in ["a", "q300", "z", "q300", "a", "q300", "q300"].into_iter().enumerate() {
        for a_claim in [4, 1] {
            let job = scene.submit(a_job().of("single").queued(name)).await;
            is_soon(&scene, session, job, a_claim, &format!("number {turn} in {name}")).await;
        }
    }
}

pub async fn a_burst_of_many_batches_at_once_delays_no_more(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    at_once((0..50).map(|_| {
        let (store, batch) = (subject.store(), jobs(BURST / 50, &a_job().of("burst")));
        async move { store.submit(&batch).await.expect("the store answers") }
    }))
    .await;
    for a_claim in CLAIMS {
        serve(&scene, session, 2 * a_claim, a_claim).await;
        let job = scene.submit(a_job().of("single")).await;
        is_soon(&scene, session, job, a_claim, "after fifty batches").await;
    }
}

pub async fn a_tenant_that_was_idle_for_long_is_as_soon(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let single = a_job().of("single");
    burst(&scene, 50, &single).await;
    serve(&scene, session, 50, 64).await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    serve(&scene, session, 1_500, 500).await;
    scene.wait(HOUR * 24).await;
    let job = scene.submit(single).await;
    is_soon(&scene, session, job, 1, "after a day").await;
}

/// The burst's one command was claimed at once; its pushes all wait.
pub async fn what_is_claimed_by_other_workers_pushes_no_newcomer_back(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    let commands = || ClaimRequest { routes: vec![Route::command()], ..by_order(session, 64) };
    burst(&scene, 20, &a_job().of("burst").command()).await;
    assert_eq!(scene.take(commands()).await.len(), 20);
    for a_claim in CLAIMS {
        let job = scene.submit(a_job().of("single")).await;
        is_soon(&scene, session, job, a_claim, "after a command of the burst").await;
    }
    // Nor does the queue whose commands were served go before the others.
    let job = scene.submit(a_job().of("single").queued("another")).await;
    is_soon(&scene, session, job, 1, "in another queue").await;
}

pub async fn what_is_claimed_by_its_id_pushes_no_newcomer_back(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    let last = scene.submit(a_job().of("burst")).await;
    assert_eq!(scene.take(by_ids(session, &[last])).await.len(), 1);
    let job = scene.submit(a_job().of("single")).await;
    is_soon(&scene, session, job, 1, "after the last of the burst").await;
}

/// A job that has to run alone is taken before its turn.
pub async fn what_runs_alone_pushes_no_newcomer_back(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let poison = scene.submit(a_job().of("burst")).await;
    scene.crash(poison).await;
    scene.crash(poison).await;
    burst(&scene, BURST, &a_job().of("burst")).await;
    scene.run(session, poison, retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    let held = scene.take(alone(by_order(session, 1))).await;
    assert_eq!(held[0].job.id, poison, "it goes first, alone");
    complete(&scene, session, held).await;
    let job = scene.submit(a_job().of("single")).await;
    is_soon(&scene, session, job, 1, "after the last of the burst").await;
}

/// A worker that serves one queue only moves nothing in another.
pub async fn workers_of_one_queue_do_not_make_another_unfair(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for name in ["fast", "slow"] {
        burst(&scene, 1_000, &a_job().of("burst").queued(name)).await;
    }
    let fast = || ClaimRequest { queues: Queues::Named(vec![queue("fast")]), ..by_order(session, 600) };
    assert_eq!(scene.take(fast()).await.len(), 600);
    let job = scene.submit(a_job().of("single").queued("slow")).await;
    is_soon(&scene, session, job, 1, "in the slow queue").await;
}

pub async fn a_burst_in_one_lane_leaves_the_others_alone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for lane in Lane::ALL {
        burst(&scene, 300, &a_job().of("burst").lane(lane)).await;
    }
    let job = scene.submit(a_job().of("single").lane(Lane::High)).await;
    is_soon(&scene, session, job, 1, "in the high lane").await;
}

/// The tenants of a window of claims, each with how many of its jobs were in it.
fn shares(served: &[String]) -> Vec<usize> {
    let mut shares: Vec<usize> = Vec::new();
    let served = sorted(served.iter().cloned());
    for run in served.chunk_by(|one, other| one == other) {
        shares.push(run.len());
    }
    shares
}

pub async fn a_hundred_tenants_each_get_their_share(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for (n, size) in [40, 15, 90].into_iter().cycle().take(100).enumerate() {
        burst(&scene, size, &a_job().of(&format!("tenant-{n}"))).await;
    }
    let shares = shares(&serve(&scene, session, 1_000, 64).await);
    assert_eq!(shares.len(), 100, "nobody is left out");
    assert!(shares.iter().all(|share| (9..=11).contains(share)), "ten each of a thousand: {shares:?}");
}

pub async fn a_hundred_tenants_in_queues_of_their_own_each_get_their_share(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for n in 0..100 {
        // Some spread their jobs over several queues, and gain nothing by it.
        let queues = 1 + n % 3;
        for part in 0..queues {
            let ask = a_job().of(&format!("tenant-{n}")).queued(&format!("q{n}-{part}"));
            burst(&scene, 30 / queues, &ask).await;
        }
    }
    let shares = shares(&serve(&scene, session, 500, 16).await);
    assert_eq!(shares.len(), 100, "nobody is left out");
    assert!(shares.iter().all(|share| (4..=6).contains(share)), "five each of five hundred: {shares:?}");
}
