//! What the usual submission asks of the database, and what it does where it is refused.

use std::time::Duration;

use foreman_conformance::given::{a_job, by_order, jobs, session_info, taken};
use foreman_core::SessionId;
use foreman_core::ports::{JobQuery, JobStore, SessionStore, StoreError, Submitted};
use foreman_runtime::Tasks;
use tokio_postgres::Client;

use crate::given::Team;
use crate::wire::{Meter, behind};

async fn accepted(team: &Team, count: usize) {
    let answers = team.store.submit(&jobs(count, &a_job())).await.unwrap();
    assert!(answers.iter().all(Submitted::is_accepted), "{answers:?}");
}

async fn last_key(client: &Client) -> i64 {
    client.query_one("SELECT last_key FROM line_shares", &[]).await.unwrap().get(0)
}

/// The keys that wait, as steps from the first of them.
async fn steps(client: &Client) -> Vec<i64> {
    let sql = "SELECT (key - min(key) OVER ()) / (1 << 20) FROM ready ORDER BY key";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn new_jobs_are_accepted_in_one_round_trip_and_seven_messages() {
    let tasks = Tasks::new();
    let (meter, address) = Meter::gathering(&tasks).await;
    let team = Team::with(|config| {
        config.url = config.url.replace(&behind(), &address);
        config.data_connections = 1;
    })
    .await;
    // The first opens the queue, the second makes the statements known.
    accepted(&team, 3).await;
    accepted(&team, 3).await;
    let mut least = usize::MAX;
    for _ in 0..5 {
        meter.take();
        meter.take_trips();
        accepted(&team, 50).await;
        least = least.min(meter.take_trips());
        assert_eq!(meter.take(), (7, 0), "a reservation, the batch and its change row, in two transactions");
    }
    assert_eq!(least, 1, "round trips");
    assert_eq!(
        steps(&team.database.client().await).await,
        (0..256).collect::<Vec<_>>(),
        "no place twice, and none left out"
    );
}

/// Behind a pooler the batch may be on another connection than its reservation: it then takes its keys along.
#[tokio::test]
async fn without_prepared_statements_new_jobs_take_the_same_places() {
    let team = Team::with(|config| config.prepare = false).await;
    for count in [3, 20, 7] {
        accepted(&team, count).await;
    }
    assert_eq!(steps(&team.database.client().await).await, (0..30).collect::<Vec<_>>());
}

/// What an earlier reservation left on the connection is nobody's any more.
#[tokio::test]
async fn a_batch_whose_reservation_fails_is_not_written() {
    let team = Team::with(|config| {
        config.data_connections = 1;
        config.lock_timeout = Duration::from_millis(200);
    })
    .await;
    accepted(&team, 3).await;
    accepted(&team, 3).await;
    let neighbour = team.database.client().await;
    neighbour.batch_execute("BEGIN; SELECT FROM line_shares FOR UPDATE").await.unwrap();
    let refused = team.store.submit(&jobs(3, &a_job())).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    neighbour.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(steps(&neighbour).await, (0..6).collect::<Vec<_>>(), "nothing of it");
    accepted(&team, 3).await;
    assert_eq!(steps(&neighbour).await, (0..9).collect::<Vec<_>>());
    assert!(team.store.census().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_batch_with_a_job_that_is_there_already_gives_its_place_back() {
    let team = Team::new().await;
    accepted(&team, 3).await;
    let (client, batch) = (team.database.client().await, jobs(5, &a_job()));
    team.store.submit(&batch[..1]).await.unwrap();
    let before = last_key(&client).await;
    let answers = team.store.submit(&batch).await.unwrap();
    assert!(answers.iter().all(Submitted::is_accepted), "{answers:?}");
    assert_eq!(last_key(&client).await - before, 4 << 20, "four were new");
    assert_eq!(steps(&client).await, (0..8).collect::<Vec<_>>());
}

/// As the pruner does with a queue that nobody has used for weeks.
#[tokio::test]
async fn a_queue_that_was_removed_is_opened_again_by_the_next_job() {
    let team = Team::new().await;
    accepted(&team, 2).await;
    let client = team.database.client().await;
    for removed in
        ["DELETE FROM queues; DELETE FROM lanes", "DELETE FROM lanes", "UPDATE queues SET used_at = '2020-01-01'"]
    {
        client.batch_execute(removed).await.unwrap();
        accepted(&team, 2).await;
        let open = "SELECT EXISTS (SELECT FROM queues WHERE used_at > '2020-01-02') AND EXISTS (SELECT FROM lanes)";
        assert!(client.query_one(open, &[]).await.unwrap().get::<_, bool>(0), "after {removed}");
    }
    let session = SessionId::fresh();
    team.store.register(&session_info(session, "worker", Duration::from_hours(1))).await.unwrap();
    assert_eq!(taken(team.store.claim(&by_order(session, 100)).await.unwrap()).len(), 8);
}
