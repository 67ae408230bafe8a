//! Removing what has outlived its retention, and nothing else.

use std::time::Duration;

use super::Subject;
use super::given::{DAY, HOUR, PLENTY, SECOND, Scene, a_job, by_order, completed, jobs, queue, retry, tenant};
use foreman_core::id::{JobId, TenantId};
use foreman_core::lane::Lane;
use foreman_core::ports::{ClaimRequest, Heartbeat, JobFilter, Pruned, RedriveAnswer, Retention, USE_IS_NOTED_EVERY};
use foreman_core::state::State;
use foreman_core::target::Route;

/// Keeps everything for ever.
pub fn for_ever() -> Retention {
    let long = DAY * 100_000;
    Retention {
        completed: None,
        failed: None,
        cancelled: None,
        dead: None,
        changes: long,
        sessions: long,
        queues: long,
        ticks: long,
        deliveries: long,
        audit: long,
        statistics: long,
        parked: long,
    }
}

/// One job in every state.
async fn one_of_each(scene: &Scene<'_>) -> Vec<(State, JobId)> {
    let mut all = Vec::new();
    for state in State::ALL {
        all.push((state, scene.job_in(state, a_job()).await));
    }
    all
}

async fn left(scene: &Scene<'_>, all: &[(State, JobId)]) -> Vec<State> {
    let mut left = Vec::new();
    for (state, id) in all {
        if scene.find(*id).await.is_some() {
            left.push(*state);
        }
    }
    left
}

pub async fn each_final_state_has_its_own_retention(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let keep = Some(HOUR);
    for (state, retention) in [
        (State::Completed, Retention { completed: keep, ..for_ever() }),
        (State::Failed, Retention { failed: keep, ..for_ever() }),
        (State::Cancelled, Retention { cancelled: keep, ..for_ever() }),
        (State::Dead, Retention { dead: keep, ..for_ever() }),
    ] {
        let all = one_of_each(&scene).await;
        assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 0, "none is old enough");
        scene.advance(HOUR + SECOND).await;
        assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 1, "{state}");
        let expected: Vec<State> = State::ALL.into_iter().filter(|other| *other != state).collect();
        assert_eq!(left(&scene, &all).await, expected);
        for (_, id) in all {
            scene.cancel(id).await;
            scene.remove(id).await;
        }
    }
}

pub async fn dead_jobs_are_kept_unless_someone_says_otherwise(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let all = one_of_each(&scene).await;
    scene.advance(DAY * 8).await;
    scene.prune(&Retention::default(), PLENTY).await;
    assert!(!left(&scene, &all).await.contains(&State::Completed), "seven days");
    assert!(left(&scene, &all).await.contains(&State::Failed), "thirty days");
    scene.advance(DAY * 400).await;
    scene.prune(&Retention::default(), PLENTY).await;
    assert_eq!(
        left(&scene, &all).await,
        [State::Scheduled, State::Pending, State::Running, State::Retrying, State::Dead]
    );
}

pub async fn a_job_that_is_not_final_is_never_pruned(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let all = one_of_each(&scene).await;
    scene.advance(DAY * 1_000).await;
    let now = Some(Duration::ZERO);
    let nothing = Retention { completed: now, failed: now, cancelled: now, dead: now, ..for_ever() };
    assert_eq!(scene.prune(&nothing, PLENTY).await.jobs, 4);
    assert_eq!(left(&scene, &all).await, [State::Scheduled, State::Pending, State::Running, State::Retrying]);
    let session = scene.session().await;
    scene.wait(SECOND).await;
    assert_eq!(scene.claim(session, 10).await.len(), 3, "what waited can still run");
}

pub async fn retention_counts_from_the_end_not_from_the_beginning(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.advance(DAY).await;
    scene.run(session, id, completed()).await;
    let retention = Retention { completed: Some(HOUR), ..for_ever() };
    assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 0);
    scene.advance(HOUR + SECOND).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.jobs, 1);
}

pub async fn at_most_so_many_are_pruned_in_one_step(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job())).await;
    for held in scene.claim(session, 5).await {
        scene.complete(session, held).await;
    }
    scene.advance(HOUR).await;
    let retention = Retention { completed: Some(SECOND), ..for_ever() };
    let mut pruned = Vec::new();
    for _ in 0..4 {
        let step = scene.prune(&retention, 2).await;
        assert_eq!(step.was_busy(2), step.jobs == 2);
        pruned.push(step.jobs);
    }
    assert_eq!(pruned, [2, 2, 1, 0]);
    assert_eq!(scene.count(&JobFilter::default()).await, 0);
}

pub async fn an_old_store_with_nothing_to_prune_is_left_alone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    one_of_each(&scene).await;
    scene.advance(DAY * 1_000).await;
    assert_eq!(scene.prune(&for_ever(), PLENTY).await, Pruned::default());
}

pub async fn old_changes_are_pruned_and_the_log_goes_on(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    scene.submit(a_job()).await;
    scene.submit(a_job()).await;
    let retention = Retention { changes: DAY, ..for_ever() };
    assert_eq!(scene.prune(&retention, PLENTY).await.changes, 0);
    scene.advance(DAY + SECOND).await;
    let head = scene.head().await;
    assert!(scene.prune(&retention, PLENTY).await.changes >= 2);
    assert_eq!(scene.head().await, head, "positions are not taken back");
    let late = scene.submit(a_job()).await;
    let moved = scene.moved_since(start).await;
    assert_eq!(moved.iter().map(|moved| moved.id).collect::<Vec<_>>(), [late]);
    assert_eq!(scene.moved_since(head).await.len(), 1, "a reader at the end misses nothing");
}

pub async fn old_sessions_are_pruned_and_living_ones_kept(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let living = scene.session().await;
    let ended = scene.session().await;
    scene.end(ended).await;
    let lapsed = scene.mortal().await;
    scene.lapse(lapsed).await;
    let retention = Retention { sessions: DAY, ..for_ever() };
    assert_eq!(scene.prune(&retention, PLENTY).await.sessions, 0);
    scene.advance(DAY + SECOND).await;
    assert_eq!(scene.prune(&retention, PLENTY).await.sessions, 2);
    let seen: Vec<_> = scene.store.sessions().await.expect("the store answers").iter().map(|view| view.id).collect();
    assert_eq!(seen, [living]);
    assert_eq!(scene.heartbeat(living, &[]).await, Heartbeat::Renewed { held: Vec::new() });
    assert_eq!(scene.heartbeat(ended, &[]).await, Heartbeat::Gone, "over for ever, known or not");
}

pub async fn pruning_a_session_keeps_the_record_of_its_attempts(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.run(session, id, completed()).await;
    scene.end(session).await;
    scene.advance(DAY * 2).await;
    assert_eq!(scene.prune(&Retention { sessions: DAY, ..for_ever() }, PLENTY).await.sessions, 1);
    let attempts = scene.view(id).await.attempts.records;
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].number, attempts[0].fence), (1, Some(proof.fence)));
}

pub async fn a_pruned_job_leaves_no_key_behind(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.job_in(State::Completed, a_job().keyed("k", 1)).await;
    scene.advance(HOUR + SECOND).await;
    assert_eq!(scene.prune(&Retention { completed: Some(HOUR), ..for_ever() }, PLENTY).await.jobs, 1);
    // The key would stand for a job that nobody can read.
    scene.submit(a_job().keyed("k", 2)).await;
}

/// Keeps everything but queues, which go when they were not used for a day.
fn queues_for_a_day() -> Retention {
    Retention { queues: DAY, ..for_ever() }
}

/// When a queue used now is certainly gone under [`queues_for_a_day`].
const GONE: Duration = Duration::from_secs(DAY.as_secs() + USE_IS_NOTED_EVERY.as_secs() + SECOND.as_secs());

async fn names(scene: &Scene<'_>, of: &TenantId) -> Vec<String> {
    let views = scene.store.queues(of).await.expect("the store answers");
    let mut names: Vec<String> = views.into_iter().map(|view| view.queue.to_string()).collect();
    names.sort();
    names
}

pub async fn a_queue_that_nobody_uses_goes(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.job_in(State::Completed, a_job().queued("old")).await;
    scene.advance(HOUR * 23).await;
    assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 0, "not before its day is over");
    scene.job_in(State::Completed, a_job().queued("new")).await;
    scene.advance(USE_IS_NOTED_EVERY + HOUR + SECOND).await;
    let pruned = scene.prune(&queues_for_a_day(), PLENTY).await;
    assert_eq!(pruned, Pruned { queues: 1, ..Pruned::default() });
    assert_eq!(names(&scene, &TenantId::default()).await, ["new"]);
    assert_eq!(scene.count(&JobFilter { queue: Some(queue("old")), ..JobFilter::default() }).await, 1, "its job stays");
}

pub async fn a_queue_that_is_used_stays(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..5 {
        scene.job_in(State::Completed, a_job().queued("mail")).await;
        scene.advance(HOUR * 23).await;
        assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 0);
    }
    assert_eq!(names(&scene, &TenantId::default()).await, ["mail"]);
}

pub async fn a_queue_with_something_in_it_stays(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let held = scene.submit(a_job().queued("held")).await;
    let proof = scene.claim_job(session, held).await;
    let retried = scene.submit(a_job().queued("retried")).await;
    scene.run(session, retried, retry(DAY * 90)).await;
    scene.submit(a_job().queued("due")).await;
    scene.submit(a_job().queued("later").after(DAY * 90)).await;
    scene.job_in(State::Completed, a_job().queued("done")).await;
    for queues in [1, 0, 0] {
        scene.advance(GONE).await;
        assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, queues);
    }
    assert_eq!(names(&scene, &TenantId::default()).await, ["due", "held", "later", "retried"]);
    scene.end_attempt(proof, completed()).await;
    scene.advance(GONE).await;
    assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 1, "nothing is held there any more");
    assert_eq!(names(&scene, &TenantId::default()).await, ["due", "later", "retried"]);
}

pub async fn a_paused_queue_stays_paused(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.pause("mail").await;
    scene.advance(GONE).await;
    assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 0);
    scene.submit(a_job().queued("mail")).await;
    assert!(scene.claim(session, 1).await.is_empty(), "it is paused still");
    assert!(scene.resume("mail").await);
    let held = scene.claim_next(session).await;
    scene.complete(session, held).await;
    scene.advance(GONE).await;
    assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 1, "paused no more, it goes like any other");
}

pub async fn one_tenants_queue_goes_and_anothers_of_that_name_stays(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job().of("idle"))).await;
    for held in scene.claim(session, 5).await {
        scene.complete(session, held).await;
    }
    scene.submit_all(&jobs(20, &a_job().of("busy"))).await;
    scene.advance(GONE).await;
    assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 1);
    assert!(names(&scene, &tenant("idle")).await.is_empty());
    assert_eq!(names(&scene, &tenant("busy")).await, ["default"]);
    let back = scene.submit(a_job().of("idle")).await;
    let next = scene.claim(session, 2).await;
    assert!(next.iter().any(|held| held.job.id == back), "it is among the first two, as ever");
}

pub async fn a_queue_that_comes_back_starts_its_order_anew(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for lane in Lane::ALL {
        scene.submit_all(&jobs(10, &a_job().queued("mail").of("burst").lane(lane))).await;
    }
    for held in scene.claim(session, 30).await {
        scene.complete(session, held).await;
    }
    scene.advance(GONE).await;
    assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 1);
    for lane in Lane::ALL {
        scene.submit_all(&jobs(10, &a_job().queued("mail").of("burst").lane(lane))).await;
        let single = scene.submit(a_job().queued("mail").of("single").lane(lane)).await;
        // A queue that never went counts from its own beginning, and neither goes ahead of the other.
        let elsewhere = scene.submit(a_job().queued("other").of("single").lane(lane)).await;
        let next = scene.claim(session, 3).await;
        assert_eq!(next.len(), 3);
        for id in [single, elsewhere] {
            assert!(next.iter().any(|held| held.job.id == id), "{lane}: the first of each of three lines");
        }
        assert_eq!(scene.claim(session, 100).await.len(), 9);
    }
}

pub async fn the_order_of_a_task_that_nobody_uses_goes_and_that_of_others_stays(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let routes: Vec<Route> = ["old", "new", "due"].map(Route::task).into();
    let claim = async |limit| {
        let request = ClaimRequest { routes: routes.clone(), ..by_order(session, limit) };
        let held = scene.take(request).await;
        let ids: Vec<JobId> = held.iter().map(|held| held.job.id).collect();
        for held in held {
            scene.complete(session, held).await;
        }
        ids
    };
    scene.submit_all(&jobs(3, &a_job().task("old"))).await;
    assert_eq!(claim(3).await.len(), 3);
    scene.submit(a_job().task("due")).await;
    scene.pause("default").await;
    scene.advance(GONE).await;
    scene.submit(a_job().task("new")).await;
    scene.resume("default").await;
    // The queue itself is in use.
    let pruned = scene.prune(&queues_for_a_day(), PLENTY).await;
    assert_eq!(pruned, Pruned { lines: 1, ..Pruned::default() }, "one is due, one was used a moment ago");
    assert_eq!(claim(10).await.len(), 2);
    let (first, second) =
        (scene.submit(a_job().task("old").of("a")).await, scene.submit(a_job().task("old").of("b")).await);
    assert_eq!(claim(10).await, [first, second], "the order of the line begins again");
    scene.advance(GONE).await;
    assert_eq!(scene.prune(&Retention { queues: DAY * 9, ..for_ever() }, PLENTY).await.lines, 0, "kept for longer");
}

pub async fn a_job_of_a_queue_that_went_can_be_redriven(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.job_in(State::Dead, a_job().queued("mail")).await;
    scene.advance(GONE).await;
    assert_eq!(scene.prune(&queues_for_a_day(), PLENTY).await.queues, 1);
    assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven));
    assert_eq!(names(&scene, &TenantId::default()).await, ["mail"]);
    let session = scene.session().await;
    scene.run(session, id, completed()).await;
}

pub async fn at_most_so_many_queues_are_pruned_in_one_step(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit(a_job().queued("a-waits")).await;
    for name in ["b", "c", "d"] {
        scene.job_in(State::Completed, a_job().queued(name)).await;
    }
    scene.advance(GONE).await;
    let mut pruned = Vec::new();
    for _ in 0..3 {
        pruned.push(scene.prune(&queues_for_a_day(), 2).await.queues);
    }
    assert_eq!(pruned.iter().sum::<usize>(), 3, "one that stays does not stand in the way: {pruned:?}");
    assert!(pruned.iter().all(|count| *count <= 2));
    assert_eq!(names(&scene, &TenantId::default()).await, ["a-waits"]);
}
