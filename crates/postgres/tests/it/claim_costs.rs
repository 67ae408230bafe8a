//! What a claim costs: it is bounded by what it takes, whatever others have waiting. Counted in pages of the database that its
//! look touches, not in time.

use foreman_conformance::given::{a_job, by_order, completed, jobs, session_info, taken};
use foreman_core::SessionId;
use foreman_core::ports::{Held, JobStore, SessionStore};
use std::time::Duration;
use tokio_postgres::Client;

use crate::given::Team;

/// So many pages a look may touch at most, however much there is.
pub const ENOUGH: i64 = 8_000;

pub struct Costs {
    pub team: Team,
    pub client: Client,
    pub session: SessionId,
}

impl Costs {
    pub async fn new() -> Self {
        let team = Team::new().await;
        let client = team.database.client().await;
        client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public").await.unwrap();
        let session = SessionId::fresh();
        team.store.register(&session_info(session, "worker", Duration::from_hours(1))).await.unwrap();
        Self { team, client, session }
    }

    /// Jobs of one tenant, one in each of so many queues, as submissions would have left them.
    async fn fill(&self, tenant: &str, queues: i64, name: &str) {
        let text = format!(
            "INSERT INTO queues (queue, tenant, used_at)
             SELECT '{name}' || n, '{tenant}', now() FROM generate_series(1, {queues}) AS n;
             INSERT INTO lanes (queue, lane, v) SELECT '{name}' || n, 1, 0 FROM generate_series(1, {queues}) AS n;
             INSERT INTO line_shares (queue, lane, route, tenant, last_key, given, given_at)
             SELECT '{name}' || n, 1, 'http', '{tenant}', 1, 1, now() FROM generate_series(1, {queues}) AS n;
             CREATE TEMPORARY TABLE made ON COMMIT DROP AS
             SELECT gen_random_uuid() AS id, '{name}' || n AS queue FROM generate_series(1, {queues}) AS n;"
        );
        let like = a_job().of(tenant).queued("a-first").build();
        self.team.store.submit(std::slice::from_ref(&like)).await.unwrap();
        let like = like.id;
        let rows = format!(
            "INSERT INTO jobs
             SELECT (jsonb_populate_record(jobs, jsonb_build_object('id', made.id, 'queue', made.queue))).*
             FROM made CROSS JOIN jobs WHERE jobs.id = '{like}';
             INSERT INTO ready (job, tenant, queue, route, lane, key, run_at, attempt, spent, crashes, moves)
             SELECT id, '{tenant}', queue, 'http', 1, 1, now() - interval '1 day', 0, 0, 0, 1 FROM made;"
        );
        self.client
            .batch_execute(&format!("BEGIN; {text} {rows} COMMIT; ANALYZE ready, line_shares, queues"))
            .await
            .unwrap();
    }

    pub async fn claim(&self, limit: usize) -> Vec<Held> {
        taken(self.team.store.claim(&by_order(self.session, limit)).await.unwrap())
    }

    pub async fn complete(&self, held: Vec<Held>) {
        let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
        self.team.store.settle(self.session, &batch).await.unwrap();
    }

    /// How many pages the looks of these claims touched, of all that touched most.
    pub async fn pages_of(&self, claims: usize, limit: usize) -> (usize, i64) {
        let (mut jobs, mut most) = (0, 0);
        for _ in 0..claims {
            let before = self.pages().await;
            let held = self.claim(limit).await;
            most = most.max(self.pages().await - before);
            jobs += held.len();
            self.complete(held).await;
        }
        (jobs, most)
    }

    async fn pages(&self) -> i64 {
        let sql = "SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint FROM public.pg_stat_statements
                   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                     AND query LIKE '%after_tenant%'";
        self.client.query_one(sql, &[]).await.unwrap().get(0)
    }
}

#[tokio::test]
async fn a_look_is_bounded_with_up_to_three_hundred_thousand_lines() {
    let costs = Costs::new().await;
    let mut seen = Vec::new();
    let mut made = 0;
    for lines in [1, 100, 10_000, 300_000] {
        costs.fill("burst", lines - made, &format!("q{lines}-")).await;
        made = lines;
        let (_, pages) = costs.pages_of(4, 1).await;
        assert!(pages > 0, "the looks were counted");
        seen.push((lines, pages));
    }
    assert!(seen.iter().all(|(_, pages)| *pages < ENOUGH), "lines and pages: {seen:?}");
    // And somebody else's single job is in one of the next two claims.
    let single = a_job().of("single").queued("zz").build();
    costs.team.store.submit(std::slice::from_ref(&single)).await.unwrap();
    let (first, second) = (costs.claim(4).await, costs.claim(4).await);
    assert!(first.iter().chain(&second).any(|held| held.job.id == single.id), "it waits behind 300,000 lines");
}

#[tokio::test]
async fn every_line_has_its_turn_where_there_are_very_many() {
    let costs = Costs::new().await;
    costs.fill("burst", 3_000, "q").await;
    let mut jobs = 0;
    for _ in 0..200 {
        let held = costs.claim(64).await;
        jobs += held.len();
        costs.complete(held).await;
        if jobs >= 3_000 {
            return;
        }
    }
    panic!("{jobs} of 3,000 were served by 200 claims of 64");
}

#[tokio::test]
async fn a_look_is_bounded_with_ten_thousand_tenants() {
    let costs = Costs::new().await;
    let rows = "INSERT INTO queues (queue, tenant, used_at)
                SELECT 'shared', 'tenant-' || n, now() FROM generate_series(1, 10000) AS n;
                INSERT INTO line_shares (queue, lane, route, tenant, last_key, given, given_at)
                SELECT 'shared', 1, 'http', 'tenant-' || n, 1, 1, now() FROM generate_series(1, 10000) AS n";
    costs.client.batch_execute(rows).await.unwrap();
    let batch: Vec<_> = (0..200).map(|n| a_job().of(&format!("tenant-{}", n * 37)).queued("shared").build()).collect();
    costs.team.store.submit(&batch).await.unwrap();
    let (jobs, pages) = costs.pages_of(5, 32).await;
    assert_eq!(jobs, 160, "each claim is full");
    assert!(pages < ENOUGH, "{pages} pages");
}

#[tokio::test]
async fn jobs_that_are_not_due_cost_a_look_nothing() {
    let costs = Costs::new().await;
    let rows = "INSERT INTO ready (job, tenant, queue, route, lane, run_at, attempt, spent, crashes, moves)
                SELECT lpad(to_hex(n), 32, '0')::uuid, 'default', 'default', 'http', 1, now() + interval '1 day', 0, 0, 0, 1
                FROM generate_series(1, 1000000) AS n";
    costs.client.batch_execute(rows).await.unwrap();
    costs.team.store.submit(&jobs(100, &a_job())).await.unwrap();
    let (jobs, pages) = costs.pages_of(3, 32).await;
    assert_eq!(jobs, 96);
    assert!(pages < 500, "{pages} pages");
}

/// Many tenants that came together stand at the same place: where a line begins at V, it is taken in order like any other.
#[tokio::test]
async fn a_line_that_begins_at_v_is_not_read_before_it_is_taken() {
    let costs = Costs::new().await;
    let batch: Vec<_> = (0..1_000).map(|n| a_job().of(&format!("tenant-{n}")).build()).collect();
    costs.team.store.submit(&batch).await.unwrap();
    let mut looks = Vec::new();
    for _ in 0..5 {
        // What the last claim took is out of the way.
        costs.client.batch_execute("VACUUM ready").await.unwrap();
        let (jobs, pages) = costs.pages_of(1, 200).await;
        assert_eq!(jobs, 200);
        looks.push(pages);
    }
    assert!(looks.iter().all(|pages| (1..150).contains(pages)), "{looks:?} pages");
}

/// What was claimed leaves entries in the index that nobody may remove while an old snapshot is open.
#[tokio::test]
async fn dead_entries_are_not_walked_over_by_every_look() {
    let costs = Costs::new().await;
    let old = costs.team.database.client().await;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ready").await.unwrap();
    // One after the other, so that the jobs of a line lie on pages of their own.
    for _ in 0..15 {
        let batch: Vec<_> = (0..1_000).map(|n| a_job().queued(&format!("q{}", n % 100)).build()).collect();
        costs.team.store.submit(&batch).await.unwrap();
    }
    let (dead, _) = costs.pages_of(60, 200).await;
    assert_eq!(dead, 12_000, "each of them leaves an entry, and a page to look at");
    // Until where they stood is trusted.
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(600)).await;
        costs.pages_of(1, 8).await;
    }
    let mut looks = Vec::new();
    for _ in 0..5 {
        looks.push(costs.pages_of(1, 8).await.1);
    }
    looks.sort_unstable();
    assert!(looks[2] < 5_000, "{looks:?} pages");
    old.batch_execute("COMMIT").await.unwrap();
}

/// A tenant that resumes after a pause while others went on is served by full claims, one after the other.
#[tokio::test]
async fn a_backlog_that_was_paused_is_served_by_full_claims() {
    let costs = Costs::new().await;
    let tenant = foreman_core::TenantId::new("paused");
    let queue = foreman_core::job::QueueName::default();
    costs.team.store.submit(&jobs(5_000, &a_job().of("paused"))).await.unwrap();
    costs.team.store.pause(&tenant, &queue).await.unwrap();
    for _ in 0..8 {
        costs.team.store.submit(&jobs(1_000, &a_job().of("busy"))).await.unwrap();
        for _ in 0..5 {
            let held = costs.claim(200).await;
            costs.complete(held).await;
        }
    }
    costs.team.store.resume(&tenant, &queue).await.unwrap();
    // A look from the very beginning finds it, which is made every now and then.
    let mut looks = 0;
    loop {
        assert!(looks < 100, "nobody finds it");
        let held = costs.claim(32).await;
        if !held.is_empty() {
            break costs.complete(held).await;
        }
        looks += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (mut served, mut short) = (0, 0);
    for _ in 0..50 {
        let held = costs.claim(32).await;
        short += usize::from(held.len() < 32);
        served += held.len();
        costs.complete(held).await;
    }
    // One where what lies near V has ended, and what lies further back is about to be found.
    assert!(short <= 1, "{short} claims were not full; {served} jobs in all");
}
