//! How many jobs are in each state, counted no further than enough.

use super::Subject;
use super::given::{HOUR, MINUTE, Scene, a_job, completed, jobs, tenant};
use foreman_core::id::TenantId;
use foreman_core::ports::{Counted, StateCounts};
use foreman_core::state::State;

const ENOUGH: u64 = 1_000;

async fn states(scene: &Scene<'_>, of: &str, enough: u64) -> StateCounts {
    scene.store.states(&tenant(of), enough).await.expect("the store answers")
}

fn exactly(count: u64) -> Counted {
    Counted { count, is_estimate: false }
}

pub async fn an_empty_store_has_none_in_any_state(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert_eq!(states(&scene, "default", ENOUGH).await, StateCounts::default());
}

pub async fn each_job_is_counted_in_its_state(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for (more, state) in State::ALL.into_iter().enumerate() {
        for _ in 0..=more {
            scene.job_in(state, a_job().of("acme")).await;
        }
    }
    let counts = states(&scene, "acme", ENOUGH).await;
    for (more, state) in State::ALL.into_iter().enumerate() {
        assert_eq!(counts.get(state), exactly(more as u64 + 1), "{state}");
    }
    assert_eq!(states(&scene, TenantId::default().as_str(), ENOUGH).await, StateCounts::default(), "another's");
}

pub async fn a_state_is_counted_no_further_than_enough(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL {
        for _ in 0..3 {
            scene.job_in(state, a_job()).await;
        }
    }
    for (enough, expected) in [
        (2, Counted { count: 2, is_estimate: true }),
        (3, exactly(3)),
        (4, exactly(3)),
        (0, Counted { count: 0, is_estimate: true }),
    ] {
        let counts = states(&scene, "default", enough).await;
        for state in State::ALL {
            assert_eq!(counts.get(state), expected, "{state}, {enough} are enough");
        }
    }
}

pub async fn another_tenants_crowd_does_not_fill_the_count(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(20, &a_job().of("crowd"))).await;
    scene.submit_all(&jobs(20, &a_job().of("crowd").after(HOUR))).await;
    for state in State::ALL {
        scene.job_in(state, a_job().of("acme")).await;
    }
    let counts = states(&scene, "acme", 2).await;
    for state in State::ALL {
        assert_eq!(counts.get(state), exactly(1), "{state}");
    }
}

pub async fn a_job_is_counted_where_it_is_now(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job().after(MINUTE)).await;
    let is_in = async |state: State| {
        let counts = states(&scene, "default", ENOUGH).await;
        for other in State::ALL {
            assert_eq!(counts.get(other), exactly(u64::from(other == state)), "it is {state}; {other}");
        }
    };
    is_in(State::Scheduled).await;
    scene.advance(MINUTE).await;
    is_in(State::Pending).await;
    scene.promote(10).await;
    is_in(State::Pending).await;
    let proof = scene.claim_job(session, id).await;
    is_in(State::Running).await;
    scene.end_attempt(proof, super::given::retry(MINUTE)).await;
    is_in(State::Retrying).await;
    scene.wait(MINUTE).await;
    is_in(State::Pending).await;
    scene.run(session, id, completed()).await;
    is_in(State::Completed).await;
    scene.redrive(id).await;
    is_in(State::Pending).await;
    scene.cancel(id).await;
    is_in(State::Cancelled).await;
}

pub async fn deliveries_are_not_counted_among_the_jobs(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL {
        scene.job_in(state, a_job()).await;
        for _ in 0..3 {
            scene.job_in(state, a_job().queued(foreman_core::webhook::QUEUE)).await;
        }
    }
    let counts = states(&scene, "default", 2).await;
    for state in State::ALL {
        assert_eq!(counts.get(state), exactly(1), "{state}");
    }
}

pub async fn what_ended_lately_is_counted_while_it_stays_so(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let counted = async |state, since, enough| {
        let counted = scene.store.ended_since(&TenantId::default(), state, since, enough).await;
        counted.expect("the store answers")
    };
    scene.job_in(State::Failed, a_job()).await;
    scene.advance(HOUR).await;
    let lately = scene.now().await;
    let again = scene.job_in(State::Failed, a_job()).await;
    for _ in 0..2 {
        scene.job_in(State::Failed, a_job()).await;
        scene.job_in(State::Failed, a_job().of("acme")).await;
        scene.job_in(State::Failed, a_job().queued(foreman_core::webhook::QUEUE)).await;
        scene.job_in(State::Dead, a_job()).await;
    }
    assert_eq!(counted(State::Failed, lately, ENOUGH).await, exactly(3), "from the moment itself on");
    assert_eq!(counted(State::Dead, lately, ENOUGH).await, exactly(2));
    assert_eq!(counted(State::Failed, lately.plus(MINUTE), ENOUGH).await, exactly(0));
    for (enough, expected) in [(2, Counted { count: 2, is_estimate: true }), (3, exactly(3))] {
        assert_eq!(counted(State::Failed, lately, enough).await, expected);
    }
    scene.redrive(again).await;
    assert_eq!(counted(State::Failed, lately, ENOUGH).await, exactly(2), "one was run again");
}

pub async fn tasks_that_jobs_wait_for_are_told_with_their_queues(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let told = async |limit, enough| {
        let tasks = scene.store.waiting_tasks(&TenantId::default(), limit, enough).await.expect("the store answers");
        tasks.into_iter().map(|one| (one.task, one.queue.to_string(), one.counted)).collect::<Vec<_>>()
    };
    assert_eq!(told(10, ENOUGH).await, []);
    scene.submit_all(&jobs(3, &a_job().task("send"))).await;
    scene.submit_all(&jobs(2, &a_job().task("send").queued("mail"))).await;
    scene.submit(a_job().task("print: all")).await;
    // Of these nobody waits for a worker that knows a task.
    scene.submit(a_job()).await;
    scene.submit(a_job().task("later").after(HOUR)).await;
    scene.submit(a_job().task("theirs").of("acme")).await;
    let over = scene.submit(a_job().task("over")).await;
    scene.cancel(over).await;
    let one = |task: &str, queue: &str, count| (task.to_owned(), queue.to_owned(), exactly(count));
    let all = [one("send", "default", 3), one("send", "mail", 2), one("print: all", "default", 1)];
    assert_eq!(told(10, ENOUGH).await, all, "those with most jobs first");
    assert_eq!(told(2, ENOUGH).await, all[..2], "no more than asked for");
    assert!(told(10, 3).await.iter().all(|(_, _, counted)| counted.is_estimate), "there may be more");
}
