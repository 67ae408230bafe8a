//! Claims beside very much that waits: what all statements of a claim touch, in pages, and whether they are full.

use std::time::Duration;

use foreman_conformance::given::{a_job, by_order, jobs, queue, taken, tenant};
use foreman_core::fair::UNIT;
use foreman_core::ports::{ClaimRequest, Headroom, Held, JobStore};
use tokio::time::sleep;

use crate::claim_costs::{Costs, ENOUGH};

/// So many pages a claim may touch for each job it takes: the row in line, its entry, the row of what was asked.
const OF_EACH: i64 = 24;

/// Jobs that wait for their turn; each is an expression over `n`, which counts from 1.
struct Backlog<'a> {
    count: i64,
    tenant: &'a str,
    queue: &'a str,
    key: &'a str,
}

impl Costs {
    /// Waiting jobs as submissions would have left them.
    async fn wait(&self, backlog: Backlog<'_>) {
        let like = a_job().of("like").queued("like").build();
        self.team.store.submit(std::slice::from_ref(&like)).await.unwrap();
        let (like, Backlog { count, tenant, queue, key }) = (like.id, backlog);
        let sql = format!(
            "BEGIN;
             CREATE TEMPORARY TABLE made ON COMMIT DROP AS
             SELECT gen_random_uuid() AS id, {tenant} AS tenant, {queue} AS queue, ({key})::bigint AS key
             FROM generate_series(1, {count}::bigint) AS n;
             INSERT INTO queues (queue, tenant, used_at) SELECT DISTINCT queue, tenant, now() FROM made;
             INSERT INTO line_shares (queue, lane, route, tenant, last_key, given, given_at)
             SELECT queue, 1, 'http', tenant, max(key), 1, now() FROM made GROUP BY queue, tenant;
             INSERT INTO jobs (id, tenant, queue, route, lane, max_attempts, created_at, first_run_at, work)
             SELECT made.id, made.tenant, made.queue, jobs.route, jobs.lane, jobs.max_attempts, jobs.created_at,
                    jobs.first_run_at, jobs.work
             FROM made CROSS JOIN jobs WHERE jobs.id = '{like}';
             INSERT INTO ready (job, tenant, queue, route, lane, key, run_at, attempt, spent, crashes, moves)
             SELECT id, tenant, queue, 'http', 1, key, now() - interval '1 day', 0, 0, 0, 1 FROM made;
             DELETE FROM ready WHERE job = '{like}';
             COMMIT;
             ANALYZE ready, line_shares, queues"
        );
        self.client.batch_execute(&sql).await.unwrap();
    }

    /// V of all lines there are.
    async fn served_up_to(&self, v: i64) {
        let sql = format!(
            "INSERT INTO line_fronts (queue, lane, route, v)
             SELECT DISTINCT queue, lane, route, {v} FROM line_shares WHERE queue <> 'like'
             ON CONFLICT (queue, lane, route) DO UPDATE SET v = {v}"
        );
        self.client.batch_execute(&sql).await.unwrap();
    }

    async fn request(&self, request: &ClaimRequest) -> Vec<Held> {
        taken(self.team.store.claim(request).await.unwrap())
    }

    /// How many pages all statements of this claim touched.
    async fn whole_claim(&self, limit: usize) -> (usize, i64) {
        let before = self.all_pages().await;
        let held = self.claim(limit).await;
        let pages = self.all_pages().await - before;
        let jobs = held.len();
        self.complete(held).await;
        (jobs, pages)
    }

    async fn all_pages(&self) -> i64 {
        let sql = "SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint FROM public.pg_stat_statements
                   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                     AND query NOT LIKE '%pg_stat_statements%'";
        self.client.query_one(sql, &[]).await.unwrap().get(0)
    }
}

#[tokio::test]
async fn a_claim_is_full_and_bounded_where_ten_thousand_tenants_have_work() {
    let costs = Costs::new().await;
    let shared = Backlog {
        count: 20_000,
        tenant: "'tenant-' || n % 10000",
        queue: "'shared'",
        key: &format!("1 + n / 10000 * {UNIT}"),
    };
    costs.wait(shared).await;
    // And each in a queue of its own.
    costs.wait(Backlog { count: 10_000, tenant: "'tenant-' || n", queue: "'of-' || n", key: "1" }).await;
    for round in 0..6 {
        let (jobs, pages) = costs.whole_claim(512).await;
        assert_eq!(jobs, 512, "round {round}");
        assert!(pages < 2 * ENOUGH + 512 * OF_EACH, "round {round}: {pages} pages");
    }
}

#[tokio::test]
async fn a_hundred_thousand_jobs_that_were_paused_are_served_by_full_claims() {
    const PAUSED: i64 = 100_000;
    let costs = Costs::new().await;
    let key = format!("n * {UNIT}");
    costs.wait(Backlog { count: PAUSED, tenant: "'paused'", queue: "'shared'", key: &key }).await;
    costs.team.store.pause(&tenant("paused"), &queue("shared")).await.unwrap();
    // The others went on meanwhile.
    costs.served_up_to(2 * PAUSED * UNIT).await;
    for _ in 0..5 {
        costs.team.store.submit(&jobs(200, &a_job().of("busy").queued("shared"))).await.unwrap();
        assert_eq!(costs.whole_claim(200).await.0, 200);
    }
    costs.team.store.resume(&tenant("paused"), &queue("shared")).await.unwrap();
    let mut looks = 0;
    while costs.whole_claim(200).await.0 == 0 {
        assert!(looks < 250, "nobody finds it");
        looks += 1;
        sleep(Duration::from_millis(20)).await;
    }
    let mut short = Vec::new();
    for round in 0..40 {
        let (jobs, pages) = costs.whole_claim(200).await;
        if jobs < 200 {
            short.push((round, jobs));
        }
        assert!(pages < ENOUGH + 200 * OF_EACH, "round {round}: {pages} pages");
    }
    assert!(short.len() <= 1, "claims that were not full: {short:?}");
}

/// A tenant that may run ten jobs, with a backlog beside that of one that may run them all.
#[tokio::test]
async fn a_tenant_near_its_limit_is_served_up_to_it_by_every_claim_beside_a_busy_one() {
    let costs = Costs::new().await;
    let key = format!("(n + 1) / 2 * {UNIT}");
    let who = "CASE n % 2 WHEN 0 THEN 'small' ELSE 'busy' END";
    costs.wait(Backlog { count: 40_000, tenant: who, queue: "'shared'", key: &key }).await;
    for round in 0..40 {
        let rooms = vec![Headroom { tenant: tenant("small"), jobs: 10 }];
        let held = costs.request(&ClaimRequest { rooms, ..by_order(costs.session, 64) }).await;
        let small = held.iter().filter(|held| held.job.tenant == tenant("small")).count();
        assert_eq!(small, 10, "round {round}: of {} in all", held.len());
        assert!(held.len() >= 32, "round {round}: {} in all, the busy one has its part", held.len());
        costs.complete(held).await;
    }
}

/// What was served leaves entries that nobody may remove while an old snapshot is open, in more lines than a look goes into.
#[tokio::test]
async fn two_hundred_thousand_dead_entries_of_three_hundred_queues_are_passed_once() {
    let costs = Costs::new().await;
    let key = format!("(n + 299) / 300 * {UNIT}");
    costs.wait(Backlog { count: 200_100, tenant: "'one'", queue: "'q' || n % 300", key: &key }).await;
    let old = costs.team.database.client().await;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ready").await.unwrap();
    let served = 657 * UNIT;
    costs.client.batch_execute(&format!("DELETE FROM ready WHERE key <= {served}")).await.unwrap();
    costs.served_up_to(served).await;
    // Until where the first of each line stands is trusted: every line is seen twice, half a second apart.
    for _ in 0..3 {
        costs.pages_of(2, 8).await;
        sleep(Duration::from_millis(600)).await;
    }
    let mut looks = Vec::new();
    for _ in 0..5 {
        looks.push(costs.pages_of(1, 8).await.1);
    }
    looks.sort_unstable();
    assert!(looks[2] < ENOUGH, "{looks:?} pages");
    old.batch_execute("COMMIT").await.unwrap();
}
