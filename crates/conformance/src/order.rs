//! In which order jobs are taken: lanes first, then tenants in turn.

use super::Subject;
use super::given::{HOUR, SECOND, Scene, a_job, alone, by_order, completed, ids, interrupted, jobs, queue, retry};
use foreman_core::id::{JobId, SessionId};
use foreman_core::lane::{Lane, LanePlan, Pick, StarvationGuard};
use foreman_core::ports::{ClaimRequest, Queues, WantedJobs};

/// The next `count` jobs, claimed one by one and completed, with the tenant of each.
async fn serve(scene: &Scene<'_>, session: SessionId, count: usize) -> Vec<(JobId, String)> {
    let mut served = Vec::with_capacity(count);
    for _ in 0..count {
        let held = scene.claim_next(session).await;
        served.push((held.job.id, held.job.tenant.to_string()));
        scene.complete(session, held).await;
    }
    served
}

fn share(served: &[(JobId, String)], tenant: &str) -> usize {
    served.iter().filter(|(_, of)| of == tenant).count()
}

fn planned(session: SessionId, plan: LanePlan, limit: usize) -> ClaimRequest {
    ClaimRequest { wanted: WantedJobs::ByOrder { plan, limit }, ..by_order(session, limit) }
}

pub async fn jobs_of_one_tenant_run_in_the_order_they_came(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut came = scene.submit_all(&jobs(5, &a_job())).await;
    came.extend(scene.submit_all(&jobs(5, &a_job())).await);
    let served: Vec<JobId> = serve(&scene, session, 10).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(served, came);
}

pub async fn high_goes_before_normal_goes_before_low(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for lane in [Lane::Low, Lane::Normal, Lane::High] {
        scene.submit_all(&jobs(2, &a_job().lane(lane))).await;
    }
    let mut lanes = Vec::new();
    for _ in 0..6 {
        let held = scene.claim_next(session).await;
        lanes.push(held.job.work.lane);
    }
    assert_eq!(lanes, [Lane::High, Lane::High, Lane::Normal, Lane::Normal, Lane::Low, Lane::Low]);
}

pub async fn one_claim_over_several_lanes_fills_up_from_the_highest(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for lane in [Lane::Low, Lane::Normal, Lane::High] {
        scene.submit_all(&jobs(3, &a_job().lane(lane))).await;
    }
    let held = scene.claim(session, 5).await;
    let of = |lane| held.iter().filter(|held| held.job.work.lane == lane).count();
    assert_eq!((of(Lane::High), of(Lane::Normal), of(Lane::Low)), (3, 2, 0));
}

pub async fn a_plan_gives_a_lower_lane_its_pick(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for lane in Lane::ALL {
        scene.submit_all(&jobs(10, &a_job().lane(lane))).await;
    }
    let mut plan = vec![Pick { lane: Lane::Low, up_to: 1 }, Pick { lane: Lane::Normal, up_to: 2 }];
    plan.extend(LanePlan::strict(8).0);
    let held = scene.take(planned(session, LanePlan(plan), 8)).await;
    let of = |lane| held.iter().filter(|held| held.job.work.lane == lane).count();
    assert_eq!((of(Lane::High), of(Lane::Normal), of(Lane::Low)), (5, 2, 1));
}

pub async fn a_favoured_lane_that_is_empty_costs_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(4, &a_job().lane(Lane::High))).await;
    let mut plan = vec![Pick { lane: Lane::Low, up_to: 2 }];
    plan.extend(LanePlan::strict(4).0);
    assert_eq!(scene.take(planned(session, LanePlan(plan), 4)).await.len(), 4);
}

pub async fn a_plan_that_asks_one_lane_takes_from_no_other(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit(a_job().lane(Lane::High)).await;
    let low = scene.submit(a_job().lane(Lane::Low)).await;
    let plan = LanePlan(vec![Pick { lane: Lane::Low, up_to: 5 }]);
    assert_eq!(ids(&scene.take(planned(session, plan, 5)).await), [low]);
}

pub async fn the_low_lane_is_not_starved_by_a_flood_of_high(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(60, &a_job().lane(Lane::High))).await;
    scene.submit_all(&jobs(60, &a_job().lane(Lane::Low))).await;
    let mut guard = StarvationGuard::new(4);
    let mut low = 0;
    for _ in 0..40 {
        let held = scene.take(planned(session, guard.plan(1), 1)).await;
        guard.picked(held.len());
        low += held.iter().filter(|held| held.job.work.lane == Lane::Low).count();
    }
    assert_eq!(low, 10, "one pick in four");
}

pub async fn a_single_job_goes_ahead_of_another_tenants_burst(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(100, &a_job().of("burst"))).await;
    serve(&scene, session, 3).await;
    scene.submit(a_job().of("single")).await;
    let served = serve(&scene, session, 2).await;
    assert_eq!(share(&served, "single"), 1, "it is among the next two: {served:?}");
}

pub async fn a_burst_in_the_same_batch_does_not_delay_a_neighbour(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut batch = jobs(50, &a_job().of("burst"));
    batch.push(a_job().of("single").build());
    scene.submit_all(&batch).await;
    let served = serve(&scene, session, 2).await;
    assert_eq!(share(&served, "single"), 1, "{served:?}");
}

pub async fn tenants_share_a_lane_evenly(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for tenant in ["a", "b", "c"] {
        scene.submit_all(&jobs(30, &a_job().of(tenant))).await;
    }
    let served = serve(&scene, session, 30).await;
    for tenant in ["a", "b", "c"] {
        let share = share(&served, tenant);
        assert!((9..=11).contains(&share), "{tenant} got {share} of 30");
    }
}

pub async fn a_tenant_that_was_idle_saves_nothing_up(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for queue in ["default", "mail"] {
        let of = |tenant| a_job().of(tenant).queued(queue);
        scene.submit_all(&jobs(30, &of("busy"))).await;
        serve(&scene, session, 30).await;
        scene.submit_all(&jobs(30, &of("idle"))).await;
        scene.submit(of("busy")).await;
        let served = serve(&scene, session, 3).await;
        assert_eq!(share(&served, "busy"), 1, "what was served before is not held against it: {served:?}");
        serve(&scene, session, 28).await;
    }
}

pub async fn parked_jobs_do_not_jump_the_line_when_they_fall_due(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(40, &a_job().of("parker").after(HOUR))).await;
    scene.submit_all(&jobs(60, &a_job().of("other"))).await;
    serve(&scene, session, 60).await;
    scene.wait(HOUR + SECOND).await;
    scene.submit(a_job().of("other")).await;
    let served = serve(&scene, session, 3).await;
    assert_eq!(share(&served, "other"), 1, "a key is taken when a job falls due, not when it is parked: {served:?}");
}

pub async fn service_in_one_queue_is_not_held_against_a_tenant_in_another(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(40, &a_job().of("a").queued("first"))).await;
    serve(&scene, session, 40).await;
    scene.submit_all(&jobs(20, &a_job().of("b").queued("second"))).await;
    scene.submit(a_job().of("a").queued("second")).await;
    let served = serve(&scene, session, 3).await;
    assert_eq!(share(&served, "a"), 1, "{served:?}");
}

/// Each queue and lane has a time of its own: with one for all, a newcomer in a slow queue would land as far back as the
/// fast one has come.
pub async fn a_busy_queue_does_not_push_a_newcomer_back_in_another(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(20, &a_job().of("burst").queued("slow"))).await;
    scene.submit_all(&jobs(20, &a_job().of("burst").queued("slow").lane(Lane::Low))).await;
    let served = {
        scene.submit_all(&jobs(60, &a_job().of("burst").queued("fast"))).await;
        let fast = || ClaimRequest { queues: Queues::Named(vec![queue("fast")]), ..by_order(session, 60) };
        scene.take(fast()).await
    };
    assert_eq!(served.len(), 60);
    for lane in [Lane::Normal, Lane::Low] {
        let newcomer = scene.submit(a_job().of("newcomer").queued("slow").lane(lane)).await;
        let plan = LanePlan(vec![Pick { lane, up_to: 2 }]);
        let next = scene.take(planned(session, plan, 2)).await;
        assert!(ids(&next).contains(&newcomer), "among the first two of {lane}");
    }
}

/// Each queue counts its own service, so keys of two queues compare only by how far they lie behind their own front.
pub async fn a_new_queue_does_not_go_ahead_of_one_that_has_served_much(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(60, &a_job().queued("old"))).await;
    serve(&scene, session, 40).await;
    scene.submit_all(&jobs(20, &a_job().queued("new"))).await;
    let next = scene.take(by_order(session, 10)).await;
    let of_old = next.iter().filter(|held| held.job.work.queue == queue("old")).count();
    assert_eq!(of_old, 5, "two queues that both have work take turns");
}

pub async fn jobs_that_do_different_things_keep_their_order(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut came = Vec::new();
    for _ in 0..4 {
        came.push(scene.submit(a_job().command()).await);
        came.push(scene.submit(a_job()).await);
    }
    let served: Vec<JobId> = serve(&scene, session, 8).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(served, came);
}

pub async fn a_retry_queues_behind_what_was_waiting(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(4, &a_job())).await;
    scene.run(session, came[0], retry(SECOND)).await;
    scene.wait(SECOND * 2).await;
    let served: Vec<JobId> = serve(&scene, session, 4).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(served, [came[1], came[2], came[3], came[0]]);
}

pub async fn a_tenant_whose_jobs_all_fail_does_not_starve_the_others(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(10, &a_job().of("failing"))).await;
    scene.submit_all(&jobs(10, &a_job().of("working"))).await;
    let mut working = 0;
    for _ in 0..20 {
        let held = scene.claim_next(session).await;
        if held.job.tenant.as_str() == "working" {
            working += 1;
            scene.complete(session, held).await;
        } else {
            scene.settle_all(session, &[held.settle(retry(SECOND))]).await;
        }
        scene.wait(SECOND * 2).await;
    }
    assert!(working >= 9, "{working} of the working tenant's ten jobs ran among twenty");
}

pub async fn an_interrupted_job_goes_to_the_front(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(6, &a_job())).await;
    let mut held = scene.claim(session, 3).await;
    let stopped = held.remove(1);
    let id = stopped.job.id;
    scene.settle_all(session, &[stopped.settle(interrupted())]).await;
    let newcomer = scene.submit(a_job().of("newcomer")).await;
    assert_eq!(scene.claim_next(session).await.job.id, id, "it was not its fault");
    assert_eq!(scene.claim_next(session).await.job.id, newcomer);
    assert!(came.contains(&scene.claim_next(session).await.job.id));
}

pub async fn a_lapsed_job_goes_to_the_front(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(4, &a_job())).await;
    scene.crash(came[0]).await;
    let next = scene.take(alone(by_order(session, 1))).await;
    assert_eq!(ids(&next), [came[0]]);
}

pub async fn what_a_paused_tenant_left_waiting_does_not_block_the_lane(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(50, &a_job())).await;
    let other = scene.submit(a_job().of("other")).await;
    assert!(scene.pause("default").await);
    let held = scene.claim_next(session).await;
    assert_eq!(held.job.id, other);
    scene.settle_all(session, &[held.settle(completed())]).await;
    assert!(scene.claim(session, 1).await.is_empty());
}

/// More than a store may care to look at in one claim.
const MANY: usize = 600;

pub async fn a_job_in_any_of_many_queues_has_its_turn(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let in_queue = |name: &str| a_job().queued(name).build();
    let all: Vec<_> = (0..MANY).map(|n| in_queue(&format!("q{n}"))).collect();
    scene.submit_all(&all).await;
    let last = scene.submit(a_job().queued("z")).await;
    // The others are never empty: where one is taken, one comes.
    for _ in 0..MANY / 10 {
        let held = scene.claim(session, 40).await;
        assert_eq!(held.len(), 40);
        if ids(&held).contains(&last) {
            return;
        }
        let refill: Vec<_> = held.iter().map(|held| in_queue(held.job.work.queue.as_str())).collect();
        scene.submit_all(&refill).await;
    }
    panic!("four times as many as came before it were served, and it was not");
}

pub async fn high_goes_first_however_many_queues_have_jobs(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let all: Vec<_> = (0..MANY).map(|n| a_job().queued(&format!("q{n}")).build()).collect();
    scene.submit_all(&all).await;
    for name in ["a", "q5", "z"] {
        scene.claim(session, 1).await;
        let high = scene.submit(a_job().queued(name).lane(Lane::High)).await;
        assert_eq!(ids(&scene.claim(session, 1).await), [high], "{name}");
    }
}
