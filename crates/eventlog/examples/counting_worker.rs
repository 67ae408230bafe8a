//! A worker of its own process, for watching what happens when one is killed or frozen: six consumers write down what they see.
//!
//! `cargo run --example counting_worker -- postgres://localhost/mydb` runs until it is killed. It needs the tables of the log and
//! `CREATE TABLE seen (consumer text, stream text, version bigint, position bigint)`.

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, Pool};
use foreman_eventlog::postgres::{Consumer, Worker};
use foreman_eventlog::{Event, Failure, Shutdown};
use tokio_postgres::{NoTls, Transaction};

struct Counting(String);

#[async_trait]
impl Consumer for Counting {
    fn name(&self) -> &str {
        &self.0
    }

    async fn handle(&self, tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure> {
        let (stream, position) = (event.stream.to_string(), event.position());
        let sql = "INSERT INTO seen (consumer, stream, version, position) VALUES ($1, $2, $3, $4)";
        tx.execute(sql, &[&self.0, &stream, &event.version, &position]).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("usage: counting_worker postgres://…"))?;
    let pool = Pool::builder(Manager::new(url.parse()?, NoTls)).max_size(8).build()?;
    let millis = Duration::from_millis;
    let mut builder = Worker::builder(pool)
        .batch_size(20)
        .batch_pause(millis(5))
        .batch_timeout(Duration::from_secs(2))
        .poll_interval(millis(50))
        .max_poll_interval(millis(400))
        .dispatcher_interval(millis(20))
        .heartbeat_interval(millis(300))
        .heartbeat_timeout(Duration::from_secs(2))
        .rebalance_interval(millis(500))
        .assignment_sync(millis(100));
    for nth in 0..6 {
        builder = builder.consumer(Counting(format!("consumer{nth}")));
    }
    builder.build()?.run(Shutdown::never()).await?;
    Ok(())
}
