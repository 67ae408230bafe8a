//! The floor: the same rows, written by hand-made SQL in batches on as many connections as the load has.
//!
//! "Our shape, all rules" means what Foreman writes: the fair keys reserved in a short transaction of their own; the job,
//! its row in `ready` and a row of the change log in one; a claim under its session's lock, with its number, its jobs in
//! arrays and a change row; V moved; the outcomes under the claim's lock, with a change row. What is missing is what
//! Foreman is: HTTP, JSON, validation, work, the coalescers between them, and answers to whoever asks.

use std::fmt::Write as _;
use std::rc::Rc;

use anyhow::{Result, ensure};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::server::{Database, Server};
use crate::load::{BATCH, SENDERS, work};

pub struct Raw {
    /// Jobs per second.
    pub inserts: f64,
    /// Jobs per second from insert to outcome.
    pub life: f64,
    pub wal_per_job: f64,
}

const TASK: &str = "bench.raw";

const RESERVE: &str =
    "INSERT INTO shares AS known (queue, lane, tenant, last_key, given) VALUES ('default', 1, 'default', $1, $1)
    ON CONFLICT (queue, lane, tenant) DO UPDATE SET last_key = known.last_key + excluded.given, given = excluded.given
    RETURNING last_key";

const INSERT: &str = "WITH asked AS MATERIALIZED (
        SELECT * FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, work, place)
    ),
    written AS (
        INSERT INTO jobs (id, tenant, queue, route, lane, kind, max_attempts, created_at, first_run_at, work)
        SELECT id, 'default', 'default', 'task:bench.raw', 1, 'bench.raw', 25, now(), now(), work FROM asked
    ),
    waiting AS (
        INSERT INTO ready (job, tenant, queue, route, lane, kind, key, run_at, attempt, spent, crashes)
        SELECT id, 'default', 'default', 'task:bench.raw', 1, 'bench.raw', $3::bigint + place, now(), 0, 0, 0 FROM asked
    )
    INSERT INTO changes (at, moved) VALUES (now(), $4)";

const CLAIM: &str = "WITH session AS MATERIALIZED (
        SELECT id FROM sessions WHERE id = $1 AND state = 'live' FOR KEY SHARE
    ),
    taken AS (
        DELETE FROM ready USING session WHERE ready.ctid = ANY (ARRAY(
            SELECT ctid FROM ready
            WHERE queue = 'default' AND route = 'task:bench.raw' AND lane = 1 AND key IS NOT NULL
            ORDER BY key, job LIMIT $3 FOR UPDATE SKIP LOCKED
        )) RETURNING ready.*
    ),
    claim AS (
        INSERT INTO claims (number, session, token, claimed_at, jobs, tenants, queues, routes, lanes, kinds, run_at,
                            expires_at, attempt, spent, crashes, open)
        SELECT nextval('claim_numbers'), $1, $2, now(), array_agg(job), array_agg(tenant), array_agg(queue),
               array_agg(route), array_agg(lane), array_agg(kind), array_agg(run_at), array_agg(expires_at),
               array_agg(attempt + 1), array_agg(spent + 1), array_agg(crashes), repeat('1', count(*)::integer)::bit varying
        FROM taken HAVING count(*) > 0
        RETURNING number
    )
    SELECT claim.number, taken.job, taken.key, jobs.work FROM claim CROSS JOIN taken JOIN jobs ON jobs.id = taken.job";

const MOVED: &str = "INSERT INTO changes (at, moved) VALUES (now(), $1)";

const ADVANCE: &str = "INSERT INTO lanes (queue, lane, v) VALUES ('default', 1, $1)
    ON CONFLICT (queue, lane) DO UPDATE SET v = greatest(lanes.v, excluded.v)";

const SETTLE: &str = "WITH asked AS MATERIALIZED (
        SELECT * FROM unnest($3::uuid[], $4::text[]) AS asked (job, report)
    ),
    locked AS MATERIALIZED (
        SELECT * FROM claims WHERE number = $1 AND session = $2 FOR UPDATE
    ),
    closing AS MATERIALIZED (
        SELECT locked.number, locked.session, locked.claimed_at, member.*, asked.report
        FROM locked CROSS JOIN LATERAL unnest(locked.jobs, locked.run_at, locked.attempt, locked.spent, locked.crashes)
             WITH ORDINALITY AS member (job, run_at, attempt, spent, crashes, place)
        JOIN asked ON asked.job = member.job
        WHERE get_bit(locked.open, member.place::integer - 1) = 1
    ),
    gone AS (
        DELETE FROM claims USING locked WHERE claims.number = locked.number
    ),
    finished AS (
        INSERT INTO outcomes (job, tenant, state, queue, kind, finished_at, attempt, spent, crashes, run_at, claim, settled,
                              session, worker, started_at, report)
        SELECT job, 'default', 'completed', 'default', 'bench.raw', now(), attempt, spent, crashes, run_at, number, true,
               session, 'bench', claimed_at, report
        FROM closing
    ),
    noted AS (
        INSERT INTO changes (at, moved) VALUES (now(), $5)
    )
    SELECT count(*) FROM closing";

pub async fn measure(server: &Server, jobs: usize) -> Result<Raw> {
    let database = server.database().await?;
    let inserts = on_each_connection(&database, jobs, async |hand| hand.insert().await, async |_| Ok(())).await?;
    database.remove().await?;
    let database = server.database().await?;
    let before = database.wal_position().await?;
    let one_batch = async |hand: &mut Hand| {
        hand.insert().await?;
        // Perhaps not all of it: what others inserted since is not in our snapshot, and they may have taken what is.
        hand.claim_and_settle().await?;
        Ok(())
    };
    let rest = async |hand: &mut Hand| {
        while hand.claim_and_settle().await? > 0 {}
        Ok(())
    };
    let life = on_each_connection(&database, jobs, one_batch, rest).await?;
    let wal_per_job = (database.wal_position().await? - before) as f64 / jobs as f64;
    let left: i64 = database.connect().await?.query_one("SELECT count(*) FROM ready", &[]).await?.get(0);
    ensure!(left == 0, "{left} jobs were left: what was measured is not the whole life");
    database.remove().await?;
    Ok(Raw { inserts, life, wal_per_job })
}

/// The median of one-row transactions, one after the other: what a commit costs here, in milliseconds.
pub async fn commit_millis(database: &Database, rounds: usize) -> Result<f64> {
    let sql = database.connect().await?;
    let insert = sql.prepare(MOVED).await?;
    let mut took = Vec::new();
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        sql.execute(&insert, &[&"[]"]).await?;
        took.push(start.elapsed().as_secs_f64() * 1_000.0);
    }
    took.sort_by(f64::total_cmp);
    Ok(took[took.len() / 2])
}

/// Does the same, batch after batch, on each connection, until `jobs` are through, and then the rest. Jobs per second.
async fn on_each_connection(
    database: &Database,
    jobs: usize,
    one_batch: impl AsyncFn(&mut Hand) -> Result<()> + 'static,
    rest: impl AsyncFn(&mut Hand) -> Result<()> + 'static,
) -> Result<f64> {
    let steps = Rc::new((one_batch, rest));
    let left = Rc::new(std::cell::Cell::new(jobs / BATCH));
    let mut hands = Vec::new();
    for _ in 0..SENDERS {
        hands.push(Hand::new(database.connect().await?).await?);
    }
    let local = LocalSet::new();
    let mut running = JoinSet::new();
    let start = Instant::now();
    for mut hand in hands {
        let (left, steps) = (left.clone(), steps.clone());
        running.spawn_local_on(
            async move {
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    steps.0(&mut hand).await?;
                }
                steps.1(&mut hand).await
            },
            &local,
        );
    }
    local
        .run_until(async {
            while let Some(hand) = running.join_next().await {
                hand??;
            }
            Ok::<(), anyhow::Error>(())
        })
        .await?;
    Ok((jobs / BATCH * BATCH) as f64 / start.elapsed().as_secs_f64())
}

/// A connection that writes by hand.
struct Hand {
    sql: Client,
    session: Uuid,
    work: String,
    reserve: Statement,
    insert: Statement,
    claim: Statement,
    moved: Statement,
    advance: Statement,
    settle: Statement,
}

impl Hand {
    async fn new(sql: Client) -> Result<Self> {
        let session = Uuid::now_v7();
        sql.execute(
            "INSERT INTO sessions (id, worker, pid, version, slots, queues, ttl, state, beats, started_at, renewed_at, expires_at)
             VALUES ($1, 'bench', 1, '0', 1, '{}', '1 hour', 'live', 0, now(), now(), now() + interval '1 hour')",
            &[&session],
        )
        .await?;
        Ok(Self {
            session,
            work: work(TASK),
            reserve: sql.prepare(RESERVE).await?,
            insert: sql.prepare(INSERT).await?,
            claim: sql.prepare(CLAIM).await?,
            moved: sql.prepare(MOVED).await?,
            advance: sql.prepare(ADVANCE).await?,
            settle: sql.prepare(SETTLE).await?,
            sql,
        })
    }

    async fn insert(&mut self) -> Result<()> {
        let ids: Vec<Uuid> = (0..BATCH).map(|_| Uuid::now_v7()).collect();
        let works = vec![self.work.as_str(); BATCH];
        let moved = moved("pending", &ids, 0)?;
        // Lost with a crash it only wastes keys, so it does not wait for the disk.
        let short = self.sql.transaction().await?;
        short.batch_execute("SET LOCAL synchronous_commit = off").await?;
        let last: i64 = short.query_one(&self.reserve, &[&(BATCH as i64)]).await?.get(0);
        short.commit().await?;
        self.sql.execute(&self.insert, &[&ids, &works, &(last - BATCH as i64), &moved]).await?;
        Ok(())
    }

    /// Answers how many there were.
    async fn claim_and_settle(&mut self) -> Result<usize> {
        let claiming = self.sql.transaction().await?;
        let rows = claiming.query(&self.claim, &[&self.session, &Uuid::new_v4(), &(BATCH as i64)]).await?;
        let Some(first) = rows.first() else { return Ok(0) };
        let number: i64 = first.get(0);
        let ids: Vec<Uuid> = rows.iter().map(|row| row.get(1)).collect();
        let works: usize = rows.iter().map(|row| row.get::<_, &str>(3).len()).sum();
        ensure!(works > ids.len(), "the work was not read");
        claiming.execute(&self.moved, &[&moved("running", &ids, 1)?]).await?;
        claiming.commit().await?;
        let highest: i64 = rows.iter().map(|row| row.get::<_, i64>(2)).max().unwrap_or(0);
        self.sql.execute(&self.advance, &[&highest]).await?;
        let reports = vec![r#"{"duration_ms":0}"#; ids.len()];
        let done = moved("completed", &ids, 1)?;
        let settled = self.sql.query_one(&self.settle, &[&number, &self.session, &ids, &reports, &done]).await?;
        ensure!(settled.get::<_, i64>(0) == ids.len() as i64, "not all were settled");
        Ok(ids.len())
    }
}

/// A row of the change log, as Foreman writes it.
fn moved(state: &str, ids: &[Uuid], attempt: u32) -> Result<String> {
    let mut text = format!(r#"[{{"tenant":"default","queue":"default","state":"{state}","jobs":["#);
    for (place, id) in ids.iter().enumerate() {
        write!(text, "{}[\"{id}\",{attempt}]", if place == 0 { "" } else { "," })?;
    }
    text.push_str("]}]");
    Ok(text)
}
