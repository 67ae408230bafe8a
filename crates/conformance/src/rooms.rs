//! A tenant that is near its limit of running jobs gets no more than it has room for, and holds nobody else up.
//!
//! Who claims counts what is held and says how much room there is left; a store only obeys. See [`super::counts`].

use super::Subject;
use super::given::{
    Scene, a_job, alone, by_ids, by_order, completed, ids, jobs, open, queue, routes, sorted, taken, tenant,
};
use foreman_core::id::{JobId, SessionId};
use foreman_core::lane::{Lane, LanePlan};
use foreman_core::ports::{ClaimAnswer, ClaimRequest, Headroom, Held, Queues, WantedJobs};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::target::Route;

/// The same call with so much room for these.
fn within(rooms: &[(&str, u32)], request: ClaimRequest) -> ClaimRequest {
    let rooms = rooms.iter().map(|(name, jobs)| Headroom { tenant: tenant(name), jobs: *jobs }).collect();
    ClaimRequest { rooms, ..request }
}

fn count_of(held: &[Held], name: &str) -> usize {
    held.iter().filter(|held| held.job.tenant == tenant(name)).count()
}

/// A job whose next crash would be its last.
async fn fragile(scene: &Scene<'_>, of: &str) -> JobId {
    let id = scene.submit(a_job().of(of)).await;
    for _ in 1..MAX_CRASHES {
        scene.crash(id).await;
    }
    id
}

pub async fn a_tenant_without_room_is_passed_over_and_others_are_served(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let full = scene.submit_all(&jobs(30, &a_job().of("full"))).await;
    let single = scene.submit(a_job().of("single")).await;
    assert_eq!(ids(&scene.take(within(&[("full", 0)], by_order(session, 10))).await), [single]);
    let answer = scene.ask(&within(&[("full", 0)], by_order(session, 10))).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
    let rest = scene.claim(session, 100).await;
    assert_eq!(sorted(ids(&rest)), full, "with room again it goes on where it was");
}

pub async fn a_claim_takes_no_more_of_a_tenant_than_there_is_room_for(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(20, &a_job().of("near"))).await;
    scene.submit_all(&jobs(20, &a_job().of("free"))).await;
    let held = scene.take(within(&[("near", 3)], by_order(session, 20))).await;
    assert_eq!(count_of(&held, "near"), 3, "its turns come early enough for all of its room");
    assert!(count_of(&held, "free") >= 7, "and the others have at least theirs: {}", held.len());
    let none = scene.take(within(&[("near", 0), ("free", 1)], by_order(session, 20))).await;
    assert_eq!((count_of(&none, "near"), count_of(&none, "free")), (0, 1));
    let one = scene.take(within(&[("near", 1), ("free", 0)], by_order(session, 1))).await;
    assert_eq!((count_of(&one, "near"), one.len()), (1, 1));
}

/// A claim may come back smaller than it could be. Those who ask again, with what they now know, get the rest.
pub async fn whoever_asks_again_gets_what_others_left(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(40, &a_job().of("near").lane(Lane::High))).await;
    scene.submit_all(&jobs(10, &a_job().of("free").lane(Lane::Low))).await;
    let (mut room, mut near, mut free) = (2, 0, 0);
    for _ in 0..20 {
        let held = scene.take(within(&[("near", room)], by_order(session, 8))).await;
        if held.is_empty() {
            break;
        }
        near += count_of(&held, "near");
        free += count_of(&held, "free");
        room -= u32::try_from(count_of(&held, "near")).expect("few");
    }
    assert_eq!((near, free, room), (2, 10, 0));
}

pub async fn rooms_count_over_lanes_queues_and_routes(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for lane in Lane::ALL {
        for name in ["mail", "video"] {
            scene.submit_all(&jobs(2, &a_job().of("near").queued(name).lane(lane))).await;
            scene.submit_all(&jobs(2, &a_job().of("near").queued(name).lane(lane).command())).await;
            scene.submit_all(&jobs(2, &a_job().of("near").queued(name).lane(lane).task("resize"))).await;
        }
    }
    let all = |limit| ClaimRequest {
        routes: [routes(), vec![Route::task("resize")]].concat(),
        wanted: WantedJobs::ByOrder { plan: LanePlan::strict(limit), limit },
        ..by_order(session, limit)
    };
    for room in [1, 2, 5] {
        let held = scene.take(within(&[("near", room)], all(30))).await;
        assert_eq!(held.len(), room as usize, "in all lanes, queues and routes together");
        for held in held {
            scene.complete(session, held).await;
        }
    }
    let named = ClaimRequest { queues: Queues::Named(vec![queue("mail"), queue("video")]), ..all(30) };
    assert_eq!(scene.take(within(&[("near", 4)], named)).await.len(), 4);
}

pub async fn a_tenant_without_room_frees_no_lane_for_itself(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job().of("full").lane(Lane::High))).await;
    scene.submit_all(&jobs(5, &a_job().of("full").lane(Lane::Low))).await;
    let low = scene.submit(a_job().of("single").lane(Lane::Low)).await;
    let normal = scene.submit(a_job().of("single").lane(Lane::Normal)).await;
    let held = scene.take(within(&[("full", 0)], by_order(session, 1))).await;
    assert_eq!(ids(&held), [normal], "the first lane with something to take");
    assert_eq!(ids(&scene.take(within(&[("full", 0)], by_order(session, 5))).await), [low]);
}

pub async fn rooms_are_obeyed_by_ids_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let near = scene.submit_all(&jobs(3, &a_job().of("near"))).await;
    let free = scene.submit_all(&jobs(2, &a_job().of("free"))).await;
    let all = [&near[..], &free].concat();
    let answer = scene.ask(&within(&[("near", 0), ("free", 0)], by_ids(session, &all))).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { .. }), "{answer:?}");
    let held = scene.take(within(&[("near", 1)], by_ids(session, &all))).await;
    assert_eq!(sorted(ids(&held)), sorted([near[0], free[0], free[1]]), "the oldest of those named");
    let held = scene.take(within(&[("near", 5)], by_ids(session, &all))).await;
    assert_eq!(sorted(ids(&held)), near[1..]);
}

pub async fn a_job_that_must_run_alone_waits_for_room_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let alone_id = fragile(&scene, "near").await;
    let innocent = scene.submit(a_job().of("free")).await;
    let full = &[("near", 0)];
    // Who is told that one waits lets its work run out, and finds nothing to take then.
    let answer = scene.ask(&within(full, by_ids(session, &[alone_id]))).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
    let answer = scene.ask(&within(full, alone(by_ids(session, &[alone_id])))).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
    let ClaimAnswer::Claimed(claim) = scene.ask(&within(full, alone(by_order(session, 5)))).await else {
        panic!("there is one to take")
    };
    assert_eq!((ids(&claim.jobs), claim.fragile_waiting), (vec![innocent], false), "it holds nobody up");
    for held in claim.jobs {
        scene.complete(session, held).await;
    }
    let held = scene.take(within(&[("near", 1)], alone(by_order(session, 5)))).await;
    assert_eq!(ids(&held), [alone_id]);
}

pub async fn of_two_that_must_run_alone_the_one_with_room_runs(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    fragile(&scene, "full").await;
    let other = fragile(&scene, "free").await;
    let answer = scene.ask(&within(&[("full", 0)], by_order(session, 5))).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: true, .. }), "{answer:?}");
    let held = scene.take(within(&[("full", 0)], alone(by_order(session, 5)))).await;
    assert_eq!(ids(&held), [other]);
}

pub async fn a_paused_queue_stays_paused_beside_a_full_tenant(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(3, &a_job().of("full").queued("mail"))).await;
    scene.submit_all(&jobs(3, &a_job().of("free").queued("mail"))).await;
    let open = scene.submit_all(&jobs(3, &a_job().of("free").queued("video"))).await;
    scene.store.pause(&tenant("free"), &queue("mail")).await.expect("the store answers");
    let held = scene.take(within(&[("full", 0)], by_order(session, 20))).await;
    assert_eq!(sorted(ids(&held)), open);
    scene.store.resume(&tenant("free"), &queue("mail")).await.expect("the store answers");
    let held = scene.take(within(&[("full", 2)], by_order(session, 20))).await;
    assert_eq!((count_of(&held, "full"), count_of(&held, "free")), (2, 3));
}

/// The answer was lost, and by the time the call is sent again the tenant is full: of those very jobs.
pub async fn a_claim_sent_again_is_the_same_claim_whatever_room_there_is(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job().of("near"))).await;
    let request = within(&[("near", 2)], by_order(session, 5));
    let first = scene.take(request.clone()).await;
    assert_eq!(first.len(), 2);
    for rooms in [&[("near", 2)][..], &[("near", 0)], &[]] {
        let again = scene.take(within(rooms, request.clone())).await;
        assert_eq!(again.iter().map(open).collect::<Vec<_>>(), first.iter().map(open).collect::<Vec<_>>());
    }
    assert_eq!(scene.census().await.held, 2);
}

pub async fn room_for_tenants_with_nothing_waiting_changes_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let nobody = &[("nobody", 0), ("idle", 7), ("it's \"odd\"", 3)];
    let answer = scene.ask(&within(nobody, by_order(session, 5))).await;
    assert!(matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. }), "{answer:?}");
    let came = scene.submit_all(&jobs(5, &a_job().of("free"))).await;
    assert_eq!(sorted(ids(&scene.take(within(nobody, by_order(session, 5))).await)), came);
    let more = scene.submit_all(&jobs(3, &a_job().of("free"))).await;
    let held = scene.take(within(&[("free", u32::MAX)], by_order(session, 5))).await;
    assert_eq!(sorted(ids(&held)), more, "more room than there are jobs");
}

/// As many tenants near their limits as there may be: one claim still serves whoever has room.
pub async fn a_single_job_is_found_behind_very_many_full_tenants(subject: &dyn Subject) {
    const FULL: usize = 300;
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let names: Vec<String> = (0..FULL).map(|number| format!("full-{number}")).collect();
    let backlog: Vec<_> = names.iter().flat_map(|name| jobs(2, &a_job().of(name))).collect();
    scene.submit_all(&backlog).await;
    let single = scene.submit(a_job().of("single")).await;
    let rooms: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 0)).collect();
    assert_eq!(ids(&scene.take(within(&rooms, by_order(session, 4))).await), [single]);
    let rooms: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let mut seen: Vec<Held> = Vec::new();
    for _ in 0..3 {
        seen.extend(scene.take(within(&rooms, by_order(session, 100))).await);
    }
    assert!(seen.len() >= FULL / 2, "many at once, one of each in a claim: {}", seen.len());
}

/// Workers that each see room for two hold at most two each: together they may go over, by what the last look had not seen.
pub async fn claims_at_once_each_keep_to_their_own_room(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(60, &a_job().of("near"))).await;
    let mut sessions: Vec<SessionId> = Vec::new();
    for _ in 0..6 {
        sessions.push(scene.session().await);
    }
    let counts = super::given::at_once(sessions.into_iter().map(|session| {
        let store = subject.store();
        async move {
            let request = within(&[("near", 2)], by_order(session, 10));
            let held = taken(store.claim(&request).await.expect("the store answers"));
            let count = held.len();
            let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
            store.settle(session, &batch).await.expect("the store answers");
            count
        }
    }))
    .await;
    assert!(counts.iter().all(|count| *count <= 2) && counts.iter().sum::<usize>() >= 2, "{counts:?}");
}
