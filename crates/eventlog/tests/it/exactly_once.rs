//! Eight writers, slow and rolled-back transactions: every consumer handles each event once and in the order of its stream.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use foreman_eventlog::postgres::{BatchConsumer, ConsumerOptions, Migrations, Worker};
use foreman_eventlog::{Cursor, Event, Expected, Failure, NewEvent, Scope, Stream};
use foreman_runtime::Tasks;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

use crate::given::{Given, Running, is_torture, pool, quick};

struct InBatches(&'static str);

#[async_trait]
impl BatchConsumer for InBatches {
    fn name(&self) -> &'static str {
        self.0
    }

    async fn handle(&self, tx: &mut Transaction<'_>, events: &[Event]) -> Result<(), Failure> {
        let streams: Vec<String> = events.iter().map(|event| event.stream.to_string()).collect();
        let versions: Vec<i64> = events.iter().map(|event| event.version).collect();
        let positions: Vec<i64> = events.iter().map(Event::position).collect();
        let sql = "INSERT INTO seen SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[])";
        let of = [
            (&self.0 as _, Type::TEXT),
            (&streams as _, Type::TEXT_ARRAY),
            (&versions as _, Type::INT8_ARRAY),
            (&positions as _, Type::INT8_ARRAY),
        ];
        tx.execute_typed(sql, &of).await?;
        Ok(())
    }
}

/// Appends until `target` events are committed; some transactions are slow, some are rolled back, some lose a conflict.
async fn write(url: String, log: foreman_eventlog::postgres::EventLog, seed: u64, target: u64, count: Arc<AtomicU64>) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut client = crate::given::connect(&url).await;
    while count.load(Ordering::Acquire) < target {
        let tx = client.transaction().await.unwrap();
        let mut events = 0;
        for _ in 0..rng.random_range(1..=2) {
            // Few streams, taken in order, so that writers meet and do not lock each other out.
            let stream = Stream::new("order", rng.random_range(0..400_u32).to_string());
            let many: Vec<NewEvent> = (0..rng.random_range(1..=20)).map(|_| NewEvent::new("happened", "{}")).collect();
            if log.append(&tx, &stream, Expected::Any, &many).await.is_err() {
                // A deadlock with another writer: its victim begins again.
                events = 0;
                break;
            }
            events += many.len() as u64;
        }
        if rng.random_range(0..40) == 0 {
            tokio::time::sleep(Duration::from_millis(rng.random_range(1..80))).await;
        }
        if events == 0 || rng.random_range(0..10) == 0 {
            tx.rollback().await.unwrap();
        } else {
            tx.commit().await.unwrap();
            count.fetch_add(events, Ordering::AcqRel);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_fifty_thousand_events_and_every_consumer_handles_each_once_and_in_order() {
    let target = if is_torture() { 5_000_000 } else { 50_000 };
    let given = Given::new().await;
    let tasks = Tasks::new();
    let count = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..8)
        .map(|seed| {
            tasks.spawn("writer", write(given.url.clone(), given.log.clone(), seed, target, Arc::clone(&count)))
        })
        .collect();
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let builder = given.worker().batch_size(1_000);
            let split = ConsumerOptions::new().shards(3);
            Running::start(
                builder
                    .batch_consumer(InBatches("whole"), ConsumerOptions::new())
                    .batch_consumer(InBatches("split"), split),
            )
        })
        .collect();
    // The query that everyone writes first, beside them.
    let (reader, is_over) = (given.client().await, Arc::new(AtomicBool::new(false)));
    let over = Arc::clone(&is_over);
    let naive = tasks.spawn("naive reader", async move {
        let (mut last, mut seen) = (0_i64, 0_u64);
        loop {
            let was_over = over.load(Ordering::Acquire);
            let sql = "SELECT global_position FROM events WHERE global_position > $1 ORDER BY 1 LIMIT 1000";
            let rows = reader.query_typed(sql, &[(&last, Type::INT8)]).await.unwrap();
            seen += rows.len() as u64;
            last = rows.last().map_or(last, |row| row.get(0));
            if rows.is_empty() && was_over {
                return seen;
            }
        }
    });
    for writer in writers {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::Release);
    let written = i64::try_from(count.load(Ordering::Acquire)).unwrap();
    assert_eq!(given.number("SELECT count(*) FROM events").await, written);
    for consumer in ["whole", "split"] {
        given.seen_by(consumer, written).await;
        given.assert_seen_exactly_once(consumer).await;
    }
    let naive = i64::try_from(naive.await.unwrap()).unwrap();
    assert!(naive < written, "the naive query lost nothing of {written} events: this test is blind");
    let positions = given.number("SELECT max(global_position) FROM events").await;
    assert!(positions > written, "some transactions were rolled back");
    for worker in workers {
        worker.stop().await;
    }
}

/// What a stream's events come to, and in which order.
type Fold = BTreeMap<String, Vec<i64>>;

async fn folded_from(given: &Given) -> Fold {
    let client = given.client().await;
    let (mut fold, mut after) = (Fold::new(), Cursor::START);
    loop {
        let page = given.log.read(&client, after, 7, &Scope::all()).await.unwrap();
        for event in &page.events {
            fold.entry(event.stream.to_string()).or_default().push(event.version);
        }
        after = page.next;
        if page.is_end {
            return fold;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Up to four transactions are open at a time, and end in any order.
    #[test]
    fn random_appends_rollbacks_and_late_commits_read_as_what_was_committed(
        steps in proptest::collection::vec((0..4_usize, 0..3_u8, 0..5_u8, 1..4_usize), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let given = Given::blank().await;
            Migrations::new(given.tables.clone()).up(&mut given.client().await).await.unwrap();
            let mut clients = Vec::new();
            for _ in 0..4 {
                clients.push(given.client().await);
            }
            let mut committed = Fold::new();
            let mut open: Vec<Option<Vec<(String, i64)>>> = vec![None; 4];
            let reader = given.client().await;
            let mut incremental: Vec<i64> = Vec::new();
            let mut after = Cursor::START;
            for (who, what, stream, many) in steps {
                let client = &clients[who];
                match (what, open[who].take()) {
                    (0, Some(_)) => client.batch_execute("ROLLBACK").await.unwrap(),
                    (1, Some(wrote)) => {
                        client.batch_execute("COMMIT").await.unwrap();
                        for (stream, version) in wrote {
                            committed.entry(stream).or_default().push(version);
                        }
                    }
                    (_, wrote) => {
                        if wrote.is_none() {
                            client.batch_execute("BEGIN").await.unwrap();
                        }
                        let mut wrote = wrote.unwrap_or_default();
                        // Each transaction has streams of its own, or it would wait for another that never goes on.
                        let stream = Stream::new("s", format!("{who}-{stream}"));
                        let events: Vec<NewEvent> = (0..many).map(|_| NewEvent::new("e", "")).collect();
                        let appended = given.log.append(client, &stream, Expected::Any, &events).await.unwrap();
                        let versions = appended.first_version..=appended.last_version();
                        wrote.extend(versions.map(|version| (stream.to_string(), version)));
                        open[who] = Some(wrote);
                    }
                }
                let page = given.log.read(&reader, after, 100, &Scope::all()).await.unwrap();
                incremental.extend(page.events.iter().map(Event::position));
                after = page.next;
            }
            for client in &clients {
                client.batch_execute("ROLLBACK").await.unwrap();
            }
            let page = given.log.read(&reader, after, 10_000, &Scope::all()).await.unwrap();
            incremental.extend(page.events.iter().map(Event::position));
            assert_eq!(folded_from(&given).await, committed);
            let total: usize = committed.values().map(Vec::len).sum();
            assert_eq!(incremental.len(), total, "read bit by bit");
            assert!(incremental.windows(2).all(|pair| pair[0] < pair[1]));
        });
    }
}

#[tokio::test]
async fn everything_works_behind_a_pooler_in_transaction_mode() {
    let given = Given::new().await;
    let builder = quick(Worker::builder(pool(&given.pooled_url, 8))).log(given.log.clone());
    let worker = Running::start(builder.batch_consumer(InBatches("whole"), ConsumerOptions::new()));
    let mut client = crate::given::connect(&given.pooled_url).await;
    for nth in 0..20 {
        let tx = client.transaction().await.unwrap();
        given
            .log
            .append(&tx, &Stream::new("order", nth.to_string()), Expected::NoStream, &[NewEvent::new("e", "")])
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
    given.seen_by("whole", 20).await;
    given.assert_seen_exactly_once("whole").await;
    worker.stop().await;
    assert_eq!(given.number("SELECT count(*) FROM worker_nodes").await, 0);
}
