//! The raw bound: the rows of a job and nothing else, by plain statements on the very tables, on a few connections.
//!
//! Filling is one `INSERT … SELECT FROM unnest` for `jobs` and `ready`; draining is a `DELETE … RETURNING` of `ready` and an
//! insert into `outcomes`, a commit each. There is no claim, no fence, no change log, no fairness and no check: no store that keeps this
//! history can be faster, and a feature that makes the store slower does not make this slower. The rows have what the
//! store's own have (`rows.rs`), and the store is made to claim some of them, so what is compared is jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use foreman_core::target::Route;
use foreman_runtime::Tasks;
use tokio::time::Instant;
use tokio_postgres::Client;
use uuid::Uuid;

use super::rows::Pattern;
use super::server::Database;
use crate::floor::{CLAIM, Hand, LOOPS};
use crate::jobs::{BATCH, JobMaker, SENDERS};

pub struct Raw<'d> {
    database: &'d Database,
    route: Route,
    statements: Arc<Statements>,
    /// The next place in the fair order.
    key: Arc<AtomicI64>,
}

struct Statements {
    fill: String,
    take: String,
    finish: String,
    work: String,
}

impl<'d> Raw<'d> {
    /// Learns the rows from two jobs of the store: one that waits and one that is done.
    pub async fn learn(database: &'d Database, maker: &JobMaker) -> Result<Self> {
        let (store, sql) = (database.store().await?, database.connect().await?);
        store.submit(&maker.batch(0, 2)).await?;
        let hand = Hand::new(Arc::clone(&store), maker.route()).await?;
        ensure!(hand.claim_and_settle(1).await? == 1, "the store did not claim a job that waits");
        let jobs = Pattern::of(&sql, "jobs").await?;
        let ready = Pattern::of(&sql, "ready").await?;
        let outcomes = Pattern::of(&sql, "outcomes").await?;
        let last: i64 = sql.query_one("SELECT max(key) FROM ready", &[]).await?.get(0);
        let work = sql.query_one("SELECT work::text FROM jobs LIMIT 1", &[]).await?.get(0);
        ensure!(hand.claim_and_settle(1).await? == 1, "the store did not claim a job that waits");
        hand.end().await?;
        Ok(Self {
            database,
            route: maker.route(),
            statements: Arc::new(Statements::new(&jobs, &ready, &outcomes, work)?),
            key: Arc::new(AtomicI64::new(last + 1)),
        })
    }

    /// Jobs that wait.
    pub async fn fill(&self, jobs: usize) -> Result<Duration> {
        let (tasks, next) = (Tasks::new(), Arc::new(AtomicUsize::new(0)));
        let mut connections = Vec::new();
        for _ in 0..SENDERS {
            let sql = self.database.connect().await?;
            let statement = sql.prepare(&self.statements.fill).await?;
            connections.push((sql, statement));
        }
        let start = Instant::now();
        let mut running = Vec::new();
        for (sql, statement) in connections {
            let (statements, next, key) = (Arc::clone(&self.statements), Arc::clone(&next), Arc::clone(&self.key));
            running.push(tasks.spawn("raw fill", async move {
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= jobs {
                        return anyhow::Ok(());
                    }
                    let number = BATCH.min(jobs - first);
                    let ids: Vec<Uuid> = (0..number).map(|_| Uuid::now_v7()).collect();
                    let works = vec![statements.work.as_str(); number];
                    let first_key = key.fetch_add(number as i64, Ordering::Relaxed);
                    sql.execute(&statement, &[&ids, &works, &first_key]).await?;
                }
            }));
        }
        for connection in running {
            connection.await??;
        }
        Ok(start.elapsed())
    }

    /// Takes out of `ready` and writes outcomes until so many are done.
    pub async fn drain(&self, jobs: usize) -> Result<Duration> {
        let (tasks, done) = (Tasks::new(), Arc::new(AtomicUsize::new(0)));
        let mut connections = Vec::new();
        for _ in 0..LOOPS {
            connections.push(self.database.connect().await?);
        }
        let start = Instant::now();
        let mut running = Vec::new();
        for sql in connections {
            let (statements, done) = (Arc::clone(&self.statements), Arc::clone(&done));
            running.push(tasks.spawn("raw drain", take_and_finish(sql, statements, done, jobs)));
        }
        for connection in running {
            connection.await??;
        }
        let took = start.elapsed();
        let done = done.load(Ordering::Relaxed);
        ensure!(done == jobs, "{done} rows were moved instead of {jobs}");
        Ok(took)
    }

    /// The store claims rows that were written here, and settles them: they are jobs.
    pub async fn are_jobs(&self, number: usize) -> Result<()> {
        self.fill(number).await?;
        let hand = Hand::new(self.database.store().await?, self.route.clone()).await?;
        let mut settled = 0;
        while settled < number {
            let more = hand.claim_and_settle(CLAIM).await?;
            ensure!(more > 0, "of {number} rows written by hand the store claimed {settled}: the bound is out of date");
            settled += more;
        }
        hand.end().await
    }
}

async fn take_and_finish(sql: Client, statements: Arc<Statements>, done: Arc<AtomicUsize>, jobs: usize) -> Result<()> {
    let (take, finish) = (sql.prepare(&statements.take).await?, sql.prepare(&statements.finish).await?);
    // Rows before the first of the last batch were gone, or in the hands of another: the dead are not walked over again.
    let mut from = 0_i64;
    while done.load(Ordering::Relaxed) < jobs {
        let rows = sql.query(&take, &[&from, &(CLAIM as i64)]).await?;
        let ids: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
        let Some(first) = rows.iter().map(|row| row.get::<_, i64>(1)).min() else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        from = first;
        sql.execute(&finish, &[&ids]).await?;
        done.fetch_add(ids.len(), Ordering::Relaxed);
    }
    Ok(())
}

impl Statements {
    fn new(jobs: &Pattern, ready: &Pattern, outcomes: &Pattern, work: String) -> Result<Self> {
        let asked = "asked AS MATERIALIZED (
            SELECT * FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, work, place))";
        let job = jobs.insert(&[("id", "asked.id"), ("work", "asked.work")], "asked")?;
        let waiting = ready.insert(&[("job", "asked.id"), ("key", "$3::bigint + asked.place")], "asked")?;
        let [lane, route, queue] = ["lane", "route", "queue"].map(|name| ready.literal(name).map(str::to_owned));
        let (lane, route, queue) = (lane?, route?, queue?);
        Ok(Self {
            fill: format!("WITH {asked}, written AS ({job}) {waiting}"),
            take: format!(
                "DELETE FROM ready WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM ready WHERE lane = {lane} AND route = {route} AND queue = {queue}
                      AND key IS NOT NULL AND key >= $1::bigint
                    ORDER BY key, job LIMIT $2::bigint FOR UPDATE SKIP LOCKED)) RETURNING job, key"
            ),
            finish: outcomes.insert(&[("job", "asked.id")], "unnest($1::uuid[]) AS asked (id)")?,
            work,
        })
    }
}

/// The median of one-row transactions, one after the other: what a commit costs here, in milliseconds.
pub async fn commit_millis(database: &Database, rounds: usize) -> Result<f64> {
    let sql = database.connect().await?;
    sql.batch_execute("CREATE TABLE IF NOT EXISTS bench_commits (at timestamptz)").await?;
    let insert = sql.prepare("INSERT INTO bench_commits VALUES (now())").await?;
    let mut took = Vec::new();
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        sql.execute(&insert, &[]).await?;
        took.push(start.elapsed().as_secs_f64() * 1_000.0);
    }
    sql.batch_execute("DROP TABLE bench_commits").await.context("dropping the table of commits")?;
    Ok(crate::report::median(took))
}
