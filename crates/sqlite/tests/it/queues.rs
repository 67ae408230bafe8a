//! Very many queues.

use std::collections::BTreeSet;

use foreman_conformance::given::{DAY, HOUR, PLENTY, Scene, a_job, by_order, ids, sorted, tenant};
use foreman_core::job::NewJob;
use foreman_core::ports::{ClaimRequest, Headroom, Retention};
use foreman_core::target::Route;
use foreman_core::{JobId, State};

use crate::given::Laptop;

#[tokio::test]
async fn a_job_in_any_of_twenty_thousand_queues_is_found() {
    const QUEUES: usize = 20_000;
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    let all: Vec<NewJob> = (0..QUEUES).map(|n| a_job().queued(&format!("q{n}")).build()).collect();
    let mut came = BTreeSet::new();
    for batch in all.chunks(1_000) {
        came.extend(scene.submit_all(batch).await);
    }
    let mut served: BTreeSet<JobId> = BTreeSet::new();
    // Small claims, and then large ones that have to look at several shares of the lines.
    for limit in [1, 3, 10].into_iter().cycle().take(30).chain(std::iter::repeat(900)) {
        let held = scene.claim(session, limit).await;
        assert_eq!(held.len(), limit.min(QUEUES - served.len()), "a claim is full while anything is due");
        if held.is_empty() {
            break;
        }
        served.extend(ids(&held));
    }
    assert!(served == came, "{} of {} were found", served.len(), came.len());
    laptop.store.close().await;
}

#[tokio::test]
async fn queues_that_nothing_may_be_taken_from_keep_no_other_route_waiting() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    let session = scene.session().await;
    // More than one claim passes over, for a route that is looked at before the other.
    let closed: Vec<NewJob> = (0..2_500).map(|n| a_job().of("full").queued(&format!("q{n}")).build()).collect();
    for batch in closed.chunks(500) {
        scene.submit_all(batch).await;
    }
    let mut waiting = Vec::new();
    for n in 0..8 {
        waiting.push(scene.submit(a_job().of("other").task("report").queued(&format!("z{n}"))).await);
    }
    let routes = vec![Route::http(), Route::task("report")];
    assert!(routes[0] < routes[1]);
    let rooms = vec![Headroom { tenant: tenant("full"), jobs: 0 }];
    let held = scene.take(ClaimRequest { routes, rooms, ..by_order(session, PLENTY) }).await;
    assert_eq!(sorted(ids(&held)), sorted(waiting));
    laptop.store.close().await;
}

#[tokio::test]
async fn nothing_is_left_of_a_queue_that_went() {
    let laptop = Laptop::new();
    {
        let scene = Scene::of(&laptop);
        for name in ["a", "b"] {
            for tenant in ["one", "two"] {
                scene.submit(a_job().of(tenant).queued(name)).await;
            }
        }
        let session = scene.session().await;
        for held in scene.claim(session, 4).await {
            scene.complete(session, held).await;
        }
        scene.job_in(State::Pending, a_job().of("two").queued("b")).await;
        scene.advance(DAY * 30 + HOUR).await;
        assert_eq!(scene.prune(&Retention::default(), PLENTY).await.queues, 3);
    }
    laptop.store.close().await;
    let sql = rusqlite::Connection::open(laptop.path()).unwrap();
    let rows = |table: &str| -> Vec<String> {
        let mut statement = sql.prepare(&format!("SELECT {table} ORDER BY 1")).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(rows("queue || ' ' || tenant FROM queues"), ["b two"]);
    assert_eq!(rows("queue || ' ' || tenant FROM line_shares"), ["b two"]);
    assert_eq!(rows("queue FROM line_fronts"), ["b"]);
}
