//! What announcing costs: it is bounded by what is announced, whatever waits, and without a broker nothing costs more. Counted in
//! pages and bytes of the write-ahead log, not in time.

use std::time::Duration;

use foreman_conformance::given::{a_job, by_ids, by_order, jobs, routes, session_info, taken};
use foreman_core::lane::LanePlan;
use foreman_core::ports::{AnnounceRequest, AnnounceStore, AnnouncedBatch, JobStore, Queues, SessionStore};
use foreman_core::{JobId, SessionId};
use tokio_postgres::Client;

use crate::given::Team;

/// So many pages one call may touch at most, however much there is.
const ENOUGH: i64 = 8_000;

struct Costs {
    team: Team,
    client: Client,
}

fn up_to(limit: usize) -> AnnounceRequest {
    AnnounceRequest { plan: LanePlan::strict(limit), limit, queues: Queues::All, routes: routes(), rooms: Vec::new() }
}

impl Costs {
    async fn new() -> Self {
        let team = Team::new().await;
        let client = team.database.client().await;
        client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public").await.unwrap();
        Self { team, client }
    }

    /// How many pages all statements have touched that read or mark what waits.
    async fn pages(&self) -> i64 {
        let sql = "SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint FROM public.pg_stat_statements
                   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                     AND (query LIKE '%announce%' OR query LIKE '%after_tenant%')";
        self.client.query_one(sql, &[]).await.unwrap().get(0)
    }

    async fn announce(&self, limit: usize) -> (Option<AnnouncedBatch>, i64) {
        let before = self.pages().await;
        let batch = self.team.store.announce(&up_to(limit)).await.unwrap();
        (batch, self.pages().await - before)
    }

    /// Jobs that wait, of one tenant and made by hand: so many in each of so many lines, numbered from one key on.
    async fn fill(&self, name: &str, lines: i64, each: i64, more: &str) {
        let text = format!(
            "INSERT INTO queues (queue, tenant, used_at)
             SELECT '{name}' || n, 'default', now() FROM generate_series(1, {lines}) AS n;
             INSERT INTO line_shares (queue, lane, route, tenant, last_key, given, given_at)
             SELECT '{name}' || n, 1, 'http', 'default', {each} * 1000000::bigint, 1, now() FROM generate_series(1, {lines}) AS n;
             CREATE TEMPORARY TABLE made ON COMMIT DROP AS
             SELECT gen_random_uuid() AS id, '{name}' || n AS queue, k * 1000000::bigint AS key
             FROM generate_series(1, {lines}) AS n, generate_series(1, {each}) AS k;
             INSERT INTO ready (job, tenant, queue, route, lane, key, run_at, attempt, spent, crashes, moves)
             SELECT id, 'default', queue, 'http', 1, key, now() - interval '1 day', 0, 0, 0, 1 FROM made; {more}"
        );
        self.client
            .batch_execute(&format!("BEGIN; {text}; COMMIT; ANALYZE ready, line_shares, queues, announcements"))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn announcing_is_bounded_with_three_hundred_thousand_lines() {
    let costs = Costs::new().await;
    costs.fill("q", 300_000, 1, "").await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let (batch, pages) = costs.announce(100).await;
        seen.push((batch.map_or(0, |batch| batch.jobs.len()), pages));
    }
    assert!(seen.iter().all(|(jobs, pages)| *jobs > 0 && *pages < ENOUGH), "jobs and pages: {seen:?}");
    let single = a_job().of("single").queued("zz").build();
    costs.team.store.submit(std::slice::from_ref(&single)).await.unwrap();
    let (first, second) = (costs.announce(4).await.0, costs.announce(4).await.0);
    let announced = first.into_iter().chain(second).flat_map(|batch| batch.jobs);
    assert!(announced.map(|one| one.job).any(|id| id == single.id), "it waits behind 300,000 lines");
}

/// As many as the largest window: they stand in front of what comes next, in one line.
#[tokio::test]
async fn what_is_announced_is_not_walked_over_by_every_look() {
    let costs = Costs::new().await;
    let marked = "UPDATE ready SET announced = 1 + key / 1000000 / 500;
                  INSERT INTO announcements (number, at, acknowledged, jobs, tenants, lanes)
                  SELECT announced, now(), true, array_agg(job), array_agg(tenant), array_agg(lane) FROM ready
                  WHERE announced IS NOT NULL GROUP BY announced;
                  SELECT setval('announcement_numbers', 1000);
                  INSERT INTO line_fronts (queue, lane, route, v) VALUES ('q1', 1, 'http', 100000 * 1000000::bigint)";
    costs.fill("q", 1, 100_000, marked).await;
    let more: Vec<_> = (0..500).map(|_| a_job().queued("q1").build()).collect();
    costs.team.store.submit(&more).await.unwrap();
    // The first looks find out where the line stands.
    for _ in 0..2 {
        assert!(costs.announce(10).await.0.is_some());
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    let mut looks = Vec::new();
    for _ in 0..5 {
        let (batch, pages) = costs.announce(10).await;
        assert_eq!(batch.map_or(0, |batch| batch.jobs.len()), 10);
        looks.push(pages);
    }
    looks.sort_unstable();
    assert!(looks[2] < 1_000, "{looks:?} pages");
    let before = costs.pages().await;
    let counts = costs.team.store.outstanding().await.unwrap();
    let pages = costs.pages().await - before;
    assert!(counts.normal.abs_diff(100_000) < 5_000, "{counts:?}");
    // Some 4,096 of them are looked up, a few pages each.
    assert!(pages < 40_000, "{pages} pages for a count of 100,000");
}

/// What was claimed leaves entries in the index that nobody may remove while an old snapshot is open.
#[tokio::test]
async fn dead_entries_are_not_walked_over_by_every_look() {
    let costs = Costs::new().await;
    let old = costs.team.database.client().await;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ready").await.unwrap();
    let dead = "DELETE FROM ready;
                INSERT INTO line_fronts (queue, lane, route, v) VALUES ('q1', 1, 'http', 200000 * 1000000::bigint)";
    costs.fill("q", 1, 200_000, dead).await;
    let more: Vec<_> = (0..500).map(|_| a_job().queued("q1").build()).collect();
    costs.team.store.submit(&more).await.unwrap();
    for _ in 0..2 {
        assert!(costs.announce(10).await.0.is_some());
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    let mut looks = Vec::new();
    for _ in 0..5 {
        looks.push(costs.announce(10).await.1);
    }
    looks.sort_unstable();
    assert!(looks[2] < ENOUGH, "{looks:?} pages");
    old.batch_execute("COMMIT").await.unwrap();
}

/// Beside any backlog.
#[tokio::test]
async fn a_claim_by_ids_costs_what_it_names() {
    let costs = Costs::new().await;
    costs.fill("q", 100, 2_000, "").await;
    let session = SessionId::fresh();
    costs.team.store.register(&session_info(session, "worker", Duration::from_hours(1))).await.unwrap();
    let due = jobs(300, &a_job());
    costs.team.store.submit(&due).await.unwrap();
    let pages = async || -> i64 {
        let sql = "SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint FROM public.pg_stat_statements
                   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                     AND (query LIKE '%other_worker%' OR query LIKE '%FROM outcomes%')";
        costs.client.query_one(sql, &[]).await.unwrap().get(0)
    };
    let named: Vec<JobId> = due.iter().map(|job| job.id).chain((0..300).map(|_| JobId::fresh())).collect();
    let before = pages().await;
    let held = taken(costs.team.store.claim(&by_ids(session, &named)).await.unwrap());
    assert_eq!(held.len(), 300);
    let touched = pages().await - before;
    assert!(touched < 20 * 600, "{touched} pages for 600 ids");
}

/// Without a broker a row of `ready` has no byte and no index more.
#[tokio::test]
async fn without_a_broker_rows_are_as_wide_as_they_were() {
    let costs = Costs::new().await;
    costs.team.store.submit(&jobs(50, &a_job())).await.unwrap();
    let sizes = "SELECT max(pg_column_size(ready.*)),
                        max(pg_column_size(ROW(job, tenant, queue, route, lane, key, run_at, expires_at, attempt, spent,
                                               crashes, kind, moves)))
                 FROM ready";
    let row = costs.client.query_one(sizes, &[]).await.unwrap();
    let (now, before): (i32, i32) = (row.get(0), row.get(1));
    assert_eq!(now, before);
    let indexed = "SELECT count(*) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
                   WHERE indrelid = 'ready'::regclass AND attname IN ('announced', 'refusals', 'announce_at')";
    assert_eq!(costs.client.query_one(indexed, &[]).await.unwrap().get::<_, i64>(0), 0, "a mark would not be HOT");
    let indexes = "SELECT count(*) FROM pg_index WHERE indrelid = 'ready'::regclass";
    assert_eq!(costs.client.query_one(indexes, &[]).await.unwrap().get::<_, i64>(0), 6);
    let session = SessionId::fresh();
    costs.team.store.register(&session_info(session, "worker", Duration::from_hours(1))).await.unwrap();
    assert_eq!(taken(costs.team.store.claim(&by_order(session, 50)).await.unwrap()).len(), 50);
    let row = costs.client.query_one("SELECT count(*) FROM announcements", &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
}

/// A mark is one more version of its row: within its page as long as there is room.
#[tokio::test]
async fn what_a_mark_writes_is_bounded() {
    const JOBS: usize = 5_000;
    let costs = Costs::new().await;
    for _ in 0..5 {
        costs.team.store.submit(&jobs(1_000, &a_job())).await.unwrap();
    }
    // Once over all pages, so that none is written whole in between.
    for step in ["UPDATE ready SET refusals = NULL", "VACUUM ready", "CHECKPOINT"] {
        costs.client.batch_execute(step).await.unwrap();
    }
    costs.client.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    let wal = async || -> i64 {
        let sql = "SELECT coalesce(sum(wal_bytes - wal_fpi * 8192), 0)::bigint FROM public.pg_stat_statements
                   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                     AND (query LIKE '%SET announced%' OR query LIKE '%INTO announcements%')";
        costs.client.query_one(sql, &[]).await.unwrap().get(0)
    };
    let (before, mut announced) = (wal().await, 0);
    while let Some(batch) = costs.team.store.announce(&up_to(250)).await.unwrap() {
        announced += batch.jobs.len();
    }
    assert_eq!(announced, JOBS);
    let bytes = (wal().await - before) / JOBS as i64;
    eprintln!("{bytes} bytes of the log per mark");
    assert!(bytes < 700, "{bytes} bytes of the log per mark");
}
