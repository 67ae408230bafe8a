//! A database that is failed over while the fleet runs.

use foreman_client::State;

use crate::stage::{Answer, Cluster, Database, Fleet, Forwarder, Pace, Plan, Role, Target, beside, call, state, until};

const ONE_OF_EACH: Plan = Plan { api: 1, worker: 1, scheduler: 1 };

/// Until the standby has all that the primary has written.
async fn caught_up(primary: &Cluster, standby: &Cluster) {
    let (ahead, behind) = (Database { url: primary.url.clone() }, Database { url: standby.url.clone() });
    let (ahead, behind) = (ahead.connect("primary").await, behind.connect("standby").await);
    let written: String = ahead.query_one("SELECT pg_current_wal_lsn()::text", &[]).await.unwrap().get(0);
    until("the standby has caught up", async || {
        let sql = "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn";
        behind.query_one(sql, &[&written]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_through_a_standby_needs_no_restart() {
    let _turn = beside().await;
    let (primary, target) = (Cluster::start(&[]).await, Target::start().await);
    let database = Database::on(&primary).await;
    let standby = primary.standby().await;
    let forwarder = Forwarder::start(primary.address()).await;
    let through = Database { url: database.url.replace(primary.address(), &forwarder.address) };
    let mut fleet = Fleet::start(&through, ONE_OF_EACH, Pace::Defaults).await;
    let client = fleet.client();
    let api = fleet.places(Role::Api)[0];
    let job = client.submit(&call(&target.url(Answer::Ok))).await.unwrap();
    state(&client, &job.id, State::Completed).await;

    // The address leads to the standby for a while, and every process asks for new connections there.
    forwarder.lead_to(standby.address());
    let body = r#"{"task":"x"}"#;
    for _ in 0..20 {
        let answer = fleet.processes[api].post("/api/v1/jobs", body).await.unwrap();
        assert_eq!(answer.status, 503, "a standby takes nothing in: {answer:?}");
    }
    for place in 0..fleet.processes.len() {
        until("it is not ready", async || {
            fleet.processes[place].get("/readyz").await.ok().filter(|answer| answer.status == 503)
        })
        .await;
    }

    // Back to the primary: the first call is answered, and all go on.
    forwarder.lead_to(primary.address());
    let answer = fleet.processes[api].post("/api/v1/jobs", body).await.unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    for place in 0..fleet.processes.len() {
        fleet.processes[place].ready().await;
    }
    let job = client.submit(&call(&target.url(Answer::Ok))).await.unwrap();
    state(&client, &job.id, State::Completed).await;

    // The primary is gone, and the standby takes its place.
    caught_up(&primary, &standby).await;
    primary.crash().await;
    forwarder.lead_to(standby.address());
    standby.promote().await;
    let answer = fleet.processes[api].post("/api/v1/jobs", body).await.unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    let job = client.submit(&call(&target.url(Answer::Ok))).await.unwrap();
    state(&client, &job.id, State::Completed).await;
    fleet.assert_alive();
    through.assert_clean().await;
}
