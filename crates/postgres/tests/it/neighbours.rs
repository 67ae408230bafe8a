//! What others on the same database, and callers who give up, can do to the store.

use std::time::Duration;

use foreman_conformance::Subject;
use foreman_conformance::given::{a_job, by_order, completed, jobs, session_info, taken};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{
    ClaimAnswer, ClaimRequest, Heartbeat, JobFilter, JobQuery, JobStore, SessionStore, Settled, Settlement, StoreError,
    Submitted,
};
use foreman_core::{SessionId, State, TenantId, Verdict};
use tokio::time::timeout;

use crate::given::Team;

async fn session(team: &Team) -> SessionId {
    let id = SessionId::fresh();
    team.store.register(&session_info(id, "worker", Duration::from_hours(1))).await.unwrap();
    id
}

#[tokio::test]
async fn a_caller_that_gives_up_half_way_leaves_no_transaction_behind() {
    let team = Team::with(|config| config.data_connections = 2).await;
    let session = session(&team).await;
    for n in 0..40 {
        let batch = jobs(3, &a_job());
        // Cut at any point: before the connection, between the statements, during the commit.
        let cut = Duration::from_micros(100 * n);
        let _ = timeout(cut, team.store.submit(&batch)).await;
        let answers = team.store.submit(&batch).await.unwrap();
        assert!(answers.iter().all(Submitted::is_accepted), "sent again it is found or done");
        let request = by_order(session, 2);
        let _ = timeout(cut, team.store.claim(&request)).await;
        let again = ClaimRequest { ..request.clone() };
        let held = taken(team.store.claim(&again).await.unwrap());
        assert_eq!(held.len(), 2, "the same call takes one batch, however often it is sent");
        let settled: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
        let _ = timeout(cut, team.store.settle(session, &settled)).await;
        for answer in team.store.settle(session, &settled).await.unwrap() {
            assert_ne!(answer, Settled::Fenced, "it is the very attempt");
        }
    }
    let audit = team.store.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert_eq!((audit.jobs, audit.outcomes, audit.held), (120, 80, 0));
}

#[tokio::test]
async fn when_every_connection_is_in_use_the_store_says_so_and_heartbeats_go_on() {
    let team = Team::with(|config| {
        config.data_connections = 1;
        config.acquire_timeout = Duration::from_millis(200);
        config.lock_timeout = Duration::from_secs(8);
    })
    .await;
    let session = session(&team).await;
    let job = a_job().build();
    team.store.submit(std::slice::from_ref(&job)).await.unwrap();
    let neighbour = team.database.client().await;
    neighbour.batch_execute("BEGIN; SELECT * FROM ready FOR UPDATE").await.unwrap();
    let store = team.store.clone();
    let stuck = async { store.cancel(&TenantId::default(), &[job.id]).await };
    let meanwhile = async {
        // As soon as the other call has the only connection.
        let refused = loop {
            match team.store.submit(&[a_job().build()]).await {
                Err(error) => break error,
                Ok(_) => tokio::task::yield_now().await,
            }
        };
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        assert!(refused.is_transient());
        let beat = team.store.heartbeat(session, &[]).await.unwrap();
        assert!(matches!(beat, Heartbeat::Renewed { .. }), "heartbeats have connections of their own");
        neighbour.batch_execute("COMMIT").await.unwrap();
    };
    let (cancelled, ()) = tokio::join!(stuck, meanwhile);
    assert!(cancelled.unwrap()[0].is_some());
    team.store.submit(&[a_job().build()]).await.unwrap();
}

#[tokio::test]
async fn a_lock_that_is_not_given_up_is_not_waited_for_for_ever() {
    let team = Team::with(|config| config.lock_timeout = Duration::from_millis(100)).await;
    let job = a_job().build();
    team.store.submit(std::slice::from_ref(&job)).await.unwrap();
    let neighbour = team.database.client().await;
    neighbour.batch_execute("BEGIN; SELECT * FROM ready FOR UPDATE").await.unwrap();
    let error = team.store.cancel(&TenantId::default(), &[job.id]).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    neighbour.batch_execute("COMMIT").await.unwrap();
    assert!(team.store.cancel(&TenantId::default(), &[job.id]).await.unwrap()[0].is_some());
}

#[tokio::test]
async fn connections_that_the_server_ended_are_replaced_unnoticed() {
    let team = Team::new().await;
    let client = team.database.client().await;
    for _ in 0..5 {
        team.store.submit(&jobs(2, &a_job())).await.unwrap();
        client
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
                &[],
            )
            .await
            .unwrap();
        team.store.submit(&jobs(2, &a_job())).await.unwrap();
        team.store.ping().await.unwrap();
    }
    assert_eq!(team.store.census().await.unwrap().ready, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_passes_by_what_a_neighbour_has_locked() {
    let team = Team::new().await;
    let session = session(&team).await;
    team.store.submit(&jobs(10, &a_job())).await.unwrap();
    let neighbour = team.database.client().await;
    neighbour.batch_execute("BEGIN; SELECT * FROM ready ORDER BY key LIMIT 4 FOR UPDATE").await.unwrap();
    let held = taken(team.store.claim(&by_order(session, 10)).await.unwrap());
    assert_eq!(held.len(), 6);
    neighbour.batch_execute("COMMIT").await.unwrap();
    assert_eq!(taken(team.store.claim(&by_order(session, 10)).await.unwrap()).len(), 4);
}

#[tokio::test]
async fn work_that_cannot_be_read_is_put_aside_and_its_neighbours_run() {
    let team = Team::new().await;
    let session = session(&team).await;
    let batch = jobs(3, &a_job());
    team.store.submit(&batch).await.unwrap();
    let client = team.database.client().await;
    client.execute("UPDATE jobs SET work = 'scribbled over' WHERE id = $1", &[&batch[1].id.0]).await.unwrap();
    let held = taken(team.store.claim(&by_order(session, 3)).await.unwrap());
    assert_eq!(held.iter().map(|held| held.job.id).collect::<Vec<_>>(), [batch[0].id, batch[2].id]);
    let audit = team.store().census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert_eq!((audit.held, audit.outcomes), (2, 1));
}

#[tokio::test]
async fn work_that_cannot_be_put_aside_yet_keeps_none_of_its_neighbours() {
    let team = Team::new().await;
    let session = session(&team).await;
    let batch = jobs(3, &a_job());
    team.store.submit(&batch).await.unwrap();
    let client = team.database.client().await;
    client.execute("UPDATE jobs SET work = 'scribbled over' WHERE id = $1", &[&batch[1].id.0]).await.unwrap();
    client.batch_execute("ALTER TABLE outcomes ADD CONSTRAINT nothing CHECK (state = 'nothing')").await.unwrap();
    let held = taken(team.store.claim(&by_order(session, 3)).await.unwrap());
    assert_eq!(held.iter().map(|held| held.job.id).collect::<Vec<_>>(), [batch[0].id, batch[2].id]);
    let Heartbeat::Renewed { held } = team.store.heartbeat(session, &[]).await.unwrap() else { panic!("it lives") };
    let unknown = held.into_iter().find(|open| open.job == batch[1].id).expect("it is still held");

    // As the worker does when its heartbeats miss it.
    client.batch_execute("ALTER TABLE outcomes DROP CONSTRAINT nothing").await.unwrap();
    let release = Settlement { fence: unknown.fence, job: unknown.job, verdict: Verdict::Released };
    assert_eq!(team.store.settle(session, &[release]).await.unwrap(), [Settled::Now]);
    let again = team.store.claim(&by_order(session, 3)).await.unwrap();
    assert!(matches!(again, ClaimAnswer::Nothing { .. }), "it is put aside this time: {again:?}");
    let audit = team.store().census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert_eq!((audit.held, audit.outcomes), (2, 1));
}

#[tokio::test]
async fn a_server_that_can_only_be_read_is_not_ready() {
    let team = Team::new().await;
    team.store.ping().await.unwrap();
    let client = team.database.client().await;
    let name = &team.database.name;
    client.batch_execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await.unwrap();
    client
        .execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
            &[],
        )
        .await
        .unwrap();
    let error = team.store.ping().await.unwrap_err();
    client
        .batch_execute(&format!("SET default_transaction_read_only = off; ALTER DATABASE {name} RESET ALL"))
        .await
        .unwrap();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
}

/// Its key is as old as that of a job that nobody could run while millions of others were served.
#[tokio::test]
async fn what_lies_far_behind_the_front_is_found_however_much_comes_in() {
    let team = Team::new().await;
    let session = session(&team).await;
    let old = a_job().build();
    team.store.submit(std::slice::from_ref(&old)).await.unwrap();
    let client = team.database.client().await;
    client
        .batch_execute(
            "INSERT INTO line_fronts (queue, lane, route, v) VALUES ('default', 1, 'http', 1000000000000000);
             UPDATE line_shares SET last_key = 1000000000000000",
        )
        .await
        .unwrap();
    // Claims from now on begin near the front.
    let hurry = async {
        loop {
            team.store.submit(&jobs(10, &a_job())).await.unwrap();
            let held = taken(team.store.claim(&by_order(session, 5)).await.unwrap());
            assert_eq!(held.len(), 5, "there is always more than is taken");
            if held.iter().any(|held| held.job.id == old.id) {
                return;
            }
        }
    };
    timeout(Duration::from_secs(30), hurry).await.expect("it had its turn");
}

#[tokio::test]
async fn tls_that_is_required_is_used_or_the_connection_refused() {
    let database = crate::given::Database::ready().await;
    let has_tls: String = database.client().await.query_one("SHOW ssl", &[]).await.unwrap().get(0);
    let mut config = foreman_postgres::Config::at(format!("{}?sslmode=require", database.url()));
    config.application_name = "over-tls".into();
    let opened = foreman_postgres::PostgresStore::open(config, std::sync::Arc::new(LocalWakeups::new())).await;
    if has_tls == "on" {
        let store = opened.unwrap();
        store.ping().await.unwrap();
        let plain: i64 = database
            .client()
            .await
            .query_one(
                "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                 WHERE application_name = 'over-tls' AND NOT ssl",
                &[],
            )
            .await
            .unwrap()
            .get(0);
        assert_eq!(plain, 0, "every connection is encrypted");
        store.close();
    } else {
        let error = opened.err().unwrap();
        assert!(matches!(error, foreman_postgres::OpenError::Store(StoreError::Unavailable(_))), "{error:?}");
    }
}

/// Some make every transaction of a database a stricter one. Then all statements of a sweep would see what its first one saw.
#[tokio::test]
async fn whatever_the_isolation_of_the_database_a_sweep_finds_the_claim_it_waited_for() {
    let team = Team::new().await;
    let client = team.database.client().await;
    let name = &team.database.name;
    client
        .batch_execute(&format!(
            "ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read';
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ))
        .await
        .unwrap();
    let (session, ttl) = (SessionId::fresh(), Duration::from_secs(15));
    team.store.register(&session_info(session, "worker", ttl)).await.unwrap();
    team.store.submit(&jobs(2, &a_job())).await.unwrap();
    team.advance(ttl).await;
    let pulse = team.store.pulses().await.unwrap()[0];
    // A claim on its way has the session's row, until it commits.
    client.batch_execute("BEGIN; SELECT FROM sessions FOR KEY SHARE").await.unwrap();
    let claimed = async {
        let watcher = team.database.client().await;
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'";
        while watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        client
            .execute(
                "WITH taken AS (DELETE FROM ready RETURNING *)
                 INSERT INTO claims
                 SELECT nextval('claim_numbers'), $1, gen_random_uuid(), now(), array_agg(job), array_agg(tenant),
                        array_agg(queue), array_agg(route), array_agg(lane), array_agg(kind), array_agg(run_at),
                        array_agg(expires_at), array_agg(attempt + 1), array_agg(spent + 1), array_agg(crashes), B'11'
                 FROM taken",
                &[&session.0],
            )
            .await
            .unwrap();
        client.batch_execute("COMMIT").await.unwrap();
    };
    let (lapsed, ()) = tokio::join!(team.store.lapse(pulse), claimed);
    assert_eq!(lapsed.unwrap(), Some(2), "both are returned, not held by the dead for ever");
    let audit = team.store.census().await.unwrap();
    assert!(audit.is_clean() && audit.ready == 2, "{audit:#?}");
    client.batch_execute(&format!("ALTER DATABASE {name} RESET ALL")).await.unwrap();
}

/// Postgres keeps no text with a NUL in it, so nothing is labelled with such a one.
#[tokio::test]
async fn a_label_that_no_job_can_have_finds_no_job() {
    let team = Team::new().await;
    team.store.submit(&jobs(2, &a_job())).await.unwrap();
    let odd = || Some("a\0b".to_owned());
    let filters = [
        JobFilter { kind: odd(), ..JobFilter::default() },
        JobFilter { tag: odd(), ..JobFilter::default() },
        JobFilter { correlation_id: odd(), state: Some(State::Pending), ..JobFilter::default() },
    ];
    for filter in filters {
        let tenant = TenantId::default();
        let page = team.store.list(&tenant, &filter, None, 10).await.unwrap();
        assert!(page.items.is_empty() && page.next.is_none());
        assert_eq!(team.store.count(&tenant, &filter).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_claim_that_cannot_be_released_now_does_not_cost_the_worker_its_session() {
    let team = Team::with(|config| config.lock_timeout = Duration::from_millis(100)).await;
    let session = session(&team).await;
    team.store.submit(&jobs(2, &a_job())).await.unwrap();
    let request = by_order(session, 2);
    taken(team.store.claim(&request).await.unwrap());
    let neighbour = team.database.client().await;
    neighbour.batch_execute("BEGIN; SELECT FROM claims FOR UPDATE").await.unwrap();
    let beat = team.store.heartbeat(session, &[request.token]).await.unwrap();
    assert!(matches!(beat, Heartbeat::Renewed { held } if held.len() == 2), "renewed, and nothing released yet");
    neighbour.batch_execute("COMMIT").await.unwrap();
    let beat = team.store.heartbeat(session, &[request.token]).await.unwrap();
    assert!(matches!(beat, Heartbeat::Renewed { held } if held.is_empty()), "released by the next one");
    assert_eq!(team.store.census().await.unwrap().ready, 2);
}
