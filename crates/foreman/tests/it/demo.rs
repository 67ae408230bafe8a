//! `foreman dev --demo`: a server that has something to show.

use std::collections::BTreeMap;

use foreman_client::{Client, FilterDocument, ScheduleState, State};
use foreman_core::Timestamp;
use foreman_core::document::StatisticsDocument;
use foreman_core::statistics::Slot;

use crate::stage::{Server, Stage, until};

/// How many jobs are in each state, up to a page.
async fn states(client: &Client) -> BTreeMap<State, usize> {
    let mut counts = BTreeMap::new();
    for state in State::ALL {
        let filter = FilterDocument { state: Some(state), ..FilterDocument::default() };
        counts.insert(state, client.list(&filter, 500, None).await.unwrap().items.len());
    }
    counts
}

/// The hours of the last day in which anything was counted.
async fn hours(server: &Server) -> Vec<Timestamp> {
    let (status, text) = server.get("/api/v1/statistics?step=hour").await;
    assert_eq!(status, 200, "{text}");
    let document: StatisticsDocument = serde_json::from_str(&text).unwrap();
    document.items.iter().map(|hour| hour.at).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_has_every_state_within_seconds_and_is_set_up_once() {
    let stage = Stage::new();
    let first_hour = Slot::Hour.of(Timestamp::from_micros(foreman_runtime::clock::now()));
    let mut server = stage.start(&["--demo", "--demo-seed", "7"]).await;
    let client = &server.client;
    until("there is a job in every state", async || {
        states(client).await.values().all(|count| *count > 0).then_some(())
    })
    .await;

    let queues = client.queues().await.unwrap().items;
    let names: Vec<_> = queues.iter().map(|queue| queue.name.as_str()).collect();
    for name in ["mail", "billing", "media", "reports", "imports"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let imports = queues.iter().find(|queue| queue.name == "imports").unwrap();
    assert_eq!((imports.paused, imports.pending), (true, 48));
    let schedules = client.schedules(10, None).await.unwrap().items;
    let paused = schedules.iter().filter(|schedule| schedule.state == ScheduleState::Paused).count();
    assert_eq!((schedules.len(), paused), (3, 1));
    until("the one that fires every few seconds has fired", async || {
        let schedule = client.schedule("check-health").await.unwrap();
        schedule.last_tick.is_some().then_some(())
    })
    .await;
    until("jobs died of several things", async || {
        (client.failure_groups(None).await.unwrap().items.len() >= 3).then_some(())
    })
    .await;
    until("its jobs are counted", async || (!hours(&server).await.is_empty()).then_some(())).await;
    let counted = hours(&server).await;
    assert!(counted.iter().all(|hour| *hour >= first_hour), "the charts begin when it begins: {counted:?}");
    assert_eq!(client.webhooks(10, None).await.unwrap().items.len(), 1);
    assert!(server.log().contains("demo: "), "it says what it is: {}", server.log());

    // Again on the same file.
    assert_eq!(server.stop().await, Some(0), "{}", server.log());
    let first = keyed(&stage);
    let server = stage.start(&["--demo"]).await;
    let client = &server.client;
    let total = || async { client.list(&FilterDocument::default(), 500, None).await.unwrap().items.len() };
    let before = total().await;
    until("the trickle goes on", async || (total().await > before).then_some(())).await;
    assert_eq!(client.schedules(10, None).await.unwrap().items.len(), 3);
    assert_eq!(client.webhooks(10, None).await.unwrap().items.len(), 1);
    let queues = client.queues().await.unwrap().items;
    assert_eq!(queues.iter().find(|queue| queue.name == "imports").unwrap().pending, 48, "no second backlog");
    drop(server);
    assert_eq!(keyed(&stage), first, "no second set of first jobs");
}

/// How many jobs of the first set there are.
fn keyed(stage: &Stage) -> i64 {
    let sql = rusqlite::Connection::open(stage.database()).unwrap();
    sql.query_row("SELECT count(*) FROM idempotency", [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_dev_has_a_demo() {
    let stage = Stage::new();
    let said = stage.foreman(&["api", "--demo"]).await;
    assert_eq!(said.code, 2, "{said:?}");
    let said = stage.foreman(&["dev", "--demo-seed", "1"]).await;
    assert_eq!(said.code, 2, "a seed of what? {said:?}");
}
