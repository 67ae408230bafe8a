//! Tenants that have no room for another running job: what they have waiting is in nobody's way.

use std::time::Duration;

use foreman_conformance::given::{a_job, by_order, completed, jobs, session_info, taken, tenant};
use foreman_core::fair::UNIT;
use foreman_core::ports::{ClaimRequest, Headroom, JobQuery, JobStore, SessionStore};
use foreman_core::{JobId, SessionId};
use foreman_postgres::{Config, statements};
use tokio::time::{Instant, sleep};

use crate::given::{Database, Team};

const BACKLOG: usize = 5_000;

async fn session(team: &Team) -> SessionId {
    let id = SessionId::fresh();
    team.store.register(&session_info(id, "worker", Duration::from_hours(1))).await.unwrap();
    id
}

/// A claim call that passes `full` over.
fn passing_over(session: SessionId, limit: usize) -> ClaimRequest {
    ClaimRequest { rooms: vec![Headroom { tenant: tenant("full"), jobs: 0 }], ..by_order(session, limit) }
}

async fn claimed(team: &Team, request: &ClaimRequest) -> Vec<JobId> {
    let held = taken(team.store.claim(request).await.unwrap());
    let ids = held.iter().map(|held| held.job.id).collect();
    let settlements: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
    team.store.settle(request.session, &settlements).await.unwrap();
    ids
}

#[tokio::test]
async fn a_newcomer_is_claimed_at_once_beside_the_backlog_of_a_full_tenant() {
    let team = Team::new().await;
    let session = session(&team).await;
    team.store.submit(&jobs(BACKLOG, &a_job().of("full"))).await.unwrap();
    assert_eq!(claimed(&team, &passing_over(session, 10)).await, [], "it has no room");
    for round in 0..5 {
        let batch = jobs(20, &a_job().of("free"));
        team.store.submit(&batch).await.unwrap();
        let mut found = claimed(&team, &passing_over(session, 20)).await;
        found.sort_unstable();
        let mut expected: Vec<JobId> = batch.iter().map(|job| job.id).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "round {round}");
    }
    let waiting = team.store.waiting(&tenant("full"), u64::MAX).await.unwrap();
    assert_eq!(waiting, BACKLOG as u64);
}

#[tokio::test]
async fn a_job_far_behind_the_backlog_of_a_full_tenant_is_found_in_a_while() {
    let team = Team::new().await;
    let session = session(&team).await;
    team.store.submit(&jobs(BACKLOG, &a_job().of("full"))).await.unwrap();
    let batch = jobs(BACKLOG, &a_job().of("free"));
    team.store.submit(&batch).await.unwrap();
    let (last, others) = batch.split_last().unwrap();
    let others: Vec<JobId> = others.iter().map(|job| job.id).collect();
    team.store.cancel(&tenant("free"), &others).await.unwrap();
    // Looked for from the very beginning at first, and then once in a while.
    let start = Instant::now();
    let found = loop {
        let found = claimed(&team, &passing_over(session, 1)).await;
        if !found.is_empty() {
            break found;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it is not found");
        sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(found, [last.id]);
}

/// A tenant that paused its queue while another was served thousands of jobs there is far behind where claims begin to look.
#[tokio::test]
async fn a_backlog_that_was_left_far_behind_is_served_by_every_claim_once_it_is_found() {
    let team = Team::new().await;
    let session = session(&team).await;
    let (left, queue) = (tenant("left"), a_job().build().work.queue.clone());
    team.store.submit(&jobs(300, &a_job().of("left"))).await.unwrap();
    team.store.pause(&left, &queue).await.unwrap();
    for _ in 0..BACKLOG / 1_000 {
        team.store.submit(&jobs(1_000, &a_job().of("free"))).await.unwrap();
        assert_eq!(claimed(&team, &by_order(session, 1_000)).await.len(), 1_000);
    }
    team.store.resume(&left, &queue).await.unwrap();
    let start = Instant::now();
    while claimed(&team, &by_order(session, 20)).await.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(30), "it is not found");
        sleep(Duration::from_millis(20)).await;
    }
    // One claim a second would take as many seconds.
    for round in 0..14 {
        assert_eq!(claimed(&team, &by_order(session, 20)).await.len(), 20, "round {round}");
    }
    assert!(claimed(&team, &by_order(session, 20)).await.is_empty());
}

#[tokio::test]
async fn the_backlog_of_a_full_tenant_is_not_walked_over() {
    let database = Database::ready().await.spoil();
    let team = Team::on(database, |_| {}).await;
    team.store.submit(&jobs(BACKLOG, &a_job().of("full"))).await.unwrap();
    team.store.submit(&jobs(1, &a_job().of("free"))).await.unwrap();
    let client = team.database.client().await;
    client.batch_execute(&statements::settings(&Config::at(team.database.url()))).await.unwrap();
    let (text, ..) = statements::IN_ORDER.into_iter().find(|(text, ..)| text.contains("after_tenant")).unwrap();
    let body = text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    client.batch_execute(&format!("PREPARE planned AS {body}")).await.unwrap();
    let walked = async |full: &str, beyond: &str| {
        let below = if beyond == "NULL" { "NULL".into() } else { (512 * UNIT).to_string() };
        let sql = format!(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE planned
             ('{{default}}', '{{http}}', '{{1}}', 5, {below}, '{full}', {beyond}, '{{}}', '{{}}', '{{}}', '{{}}',
              '{{}}', '{{}}', '{{}}', '{{}}', 0, false, '{{}}', '{{}}', '{{}}', '{{}}', 256)"
        );
        let rows = client.query(&sql, &[]).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let removed = plan.iter().filter_map(|line| line.trim().strip_prefix("Rows Removed by Filter: "));
        removed.map(|count| count.parse::<usize>().unwrap()).sum::<usize>()
    };
    assert!(walked("{}", "NULL").await < 10, "nobody is passed over");
    assert!(walked("{full}", "NULL").await >= BACKLOG, "from end to end it is");
    let near = walked("{full}", &(522 * UNIT).to_string()).await;
    assert!((1..1_100).contains(&near), "near V there is little of it: {near}");
}

/// With everything of a queue in the hands of tenants without room, the queue is not looked into at all.
#[tokio::test]
async fn a_queue_in_which_nobody_has_room_is_not_looked_into() {
    let team = Team::new().await;
    let session = session(&team).await;
    team.store.submit(&jobs(3, &a_job().of("full"))).await.unwrap();
    assert_eq!(claimed(&team, &passing_over(session, 10)).await, []);
    assert_eq!(claimed(&team, &by_order(session, 10)).await.len(), 3, "with room they are taken");
}
