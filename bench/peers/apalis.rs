//! apalis on Postgres. Jobs that are done are kept.
//!
//! default: ten jobs at a time, as it fetches them by default. fast: large batches and many jobs at once. Both in one
//! process that uses all cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_postgres::{Config, PgPool, PostgresStorage};
use futures::stream;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPoolOptions;
use tokio::sync::mpsc;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Noop {
    data: String,
}

#[derive(Clone)]
struct Seen {
    begun: Instant,
    /// Microseconds from `begun`; 0: none yet.
    first: Arc<AtomicU64>,
    done: Arc<AtomicUsize>,
    is_timing: Arc<AtomicBool>,
    started: mpsc::UnboundedSender<Instant>,
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn noop() -> Noop {
    Noop { data: "0123456789abcdef".repeat(12)[..189].to_owned() }
}

fn storage(pool: &PgPool, batch: Option<usize>) -> PostgresStorage<Noop> {
    let config = Config::default();
    PostgresStorage::new(pool).with_config(match batch {
        Some(size) => config.batch_size(size),
        None => config,
    })
}

#[tokio::main]
async fn main() {
    let (jobs, picks, most) = (number("JOBS", 20_000), number("PICKS", 100), number("MOST_SECONDS", 20));
    let settings = std::env::var("SETTINGS").unwrap_or_else(|_| "default".into());
    let is_fast = settings == "fast";
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL");
    let pool = PgPoolOptions::new().max_connections(20).connect(&url).await.expect("a connection");
    PostgresStorage::setup(&pool).await.expect("its schema");

    let begun = Instant::now();
    for _ in 0..jobs / 1_000 {
        let mut batch = stream::iter((0..1_000).map(|_| noop()));
        storage(&pool, Some(1_000)).push_stream(&mut batch).await.expect("submitted");
    }
    let submit = jobs as f64 / begun.elapsed().as_secs_f64();
    // As autovacuum does a minute after so many jobs: without it the plans are those of an empty table.
    sqlx::query("VACUUM ANALYZE").execute(&pool).await.expect("statistics");
    sqlx::query("CHECKPOINT").execute(&pool).await.expect("a checkpoint");

    let (sender, mut started) = mpsc::unbounded_channel();
    let seen = Seen {
        begun: Instant::now(),
        first: Arc::default(),
        done: Arc::default(),
        is_timing: Arc::default(),
        started: sender,
    };
    let batch = is_fast.then_some(1_000);
    // As in its introduction: notified of new jobs, and polling now and then. Without either it looks again after half a minute.
    let poll = Strategy::new().interval(Duration::from_millis(100));
    let (backend, told) = (storage(&pool, batch).with_pubsub().poll_with_strategy(poll), seen.clone());
    tokio::spawn(async move {
        let worker = WorkerBuilder::new("bench").backend(backend).data(told);
        worker.concurrency(if is_fast { 1_000 } else { 10 }).build(work).run().await.expect("a worker");
    });
    let most = Duration::from_secs(most as u64);
    while seen.done.load(Ordering::Relaxed) < jobs && seen.begun.elapsed() < most {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let since = || seen.begun.elapsed() - Duration::from_micros(seen.first.load(Ordering::Relaxed));
    let mut drain = seen.done.load(Ordering::Relaxed) as f64 / since().as_secs_f64();
    while seen.done.load(Ordering::Relaxed) >= jobs {
        let open = "SELECT count(*) FROM apalis.jobs WHERE done_at IS NULL";
        let open: i64 = sqlx::query_scalar(open).fetch_one(&pool).await.expect("a count");
        if open == 0 {
            drain = jobs as f64 / since().as_secs_f64();
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    // Where it took too long: single jobs are not to wait for the rest.
    let rest = "DELETE FROM apalis.jobs WHERE done_at IS NULL";
    sqlx::query(rest).execute(&pool).await.expect("the rest removed");
    tokio::time::sleep(Duration::from_secs(1)).await;

    let mut took = Vec::new();
    seen.is_timing.store(true, Ordering::Relaxed);
    let mut timed = storage(&pool, batch);
    for pick in 0..picks as u64 {
        tokio::time::sleep(Duration::from_millis(15 + pick * 37 % 30)).await;
        let sent = Instant::now();
        timed.push(noop()).await.expect("submitted");
        let at = tokio::time::timeout(Duration::from_secs(10), started.recv()).await.expect("picked up").expect("a time");
        took.push(at.duration_since(sent).as_secs_f64() * 1_000.0);
    }
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() as f64 * share) as usize).min(took.len() - 1)];
    let sizes = if is_fast { "batch_size 1,000, concurrency 1,000" } else { "batch_size 10 (default), concurrency 10" };
    let said = serde_json::json!({
        "peer": "apalis", "version": std::env::var("VERSION").ok(), "settings": settings, "jobs": jobs,
        "config": format!("{sizes}, notified, poll 100 ms, one process"), "keeps_history": true,
        "drain_per_second": drain, "submit_batch_per_second": submit,
        "pick_up_ms": { "p50": at(0.5), "p99": at(0.99), "p999": at(0.999) },
    });
    println!("{said}");
    std::process::exit(0);
}

async fn work(_: Noop, seen: Data<Seen>) -> Result<(), BoxDynError> {
    if seen.is_timing.load(Ordering::Relaxed) {
        let _ = seen.started.send(Instant::now());
        return Ok(());
    }
    let now = seen.begun.elapsed().as_micros().max(1) as u64;
    // Only the first is kept.
    let _ = seen.first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    seen.done.fetch_add(1, Ordering::Relaxed);
    Ok(())
}
