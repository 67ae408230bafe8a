//! Projects orders into a view, exactly once: the program of the README.
//!
//! `cargo run --example orders -- postgres://localhost/mydb` makes the tables of the log and of the view, appends three events
//! and waits until the view shows them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, Pool};
use foreman_eventlog::postgres::{Consumer, EventLog, Migrations, TableNames, Worker};
use foreman_eventlog::{Event, Expected, Failure, NewEvent, Scope, Shutdown, Stream};
use serde_json::json;
use tokio_postgres::{NoTls, Transaction};

struct OrdersView;

#[async_trait]
impl Consumer for OrdersView {
    fn name(&self) -> &'static str {
        "orders_view"
    }

    fn scope(&self) -> Scope {
        Scope::all().stream_types(["order"])
    }

    // The view and the checkpoint commit together, or not at all.
    async fn handle(&self, tx: &mut Transaction<'_>, event: &Event) -> Result<(), Failure> {
        let id = &event.stream.id;
        match event.event_type.as_str() {
            "order.placed" => {
                let total =
                    event.json()?["total"].as_i64().ok_or_else(|| Failure::permanent("an order without a total"))?;
                tx.execute("INSERT INTO orders_view VALUES ($1, 'placed', $2)", &[id, &total]).await?;
            }
            "order.paid" => {
                tx.execute("UPDATE orders_view SET state = 'paid' WHERE id = $1", &[id]).await?;
            }
            _ => {}
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("usage: orders postgres://…"))?;
    let pool = Pool::builder(Manager::new(url.parse()?, NoTls)).max_size(8).build()?;
    let tables = TableNames::default();
    let log = EventLog::new(&tables)?;

    let mut client = pool.get().await?;
    Migrations::new(tables).up(&mut client).await?;
    client
        .batch_execute("CREATE TABLE IF NOT EXISTS orders_view (id text PRIMARY KEY, state text, total bigint)")
        .await?;

    // Append in a transaction of your own, beside your other writes. `NoStream`: the order must be new.
    let tx = client.build_transaction().start().await?;
    let first = [NewEvent::json("order.placed", &json!({"total": 30})), NewEvent::json("order.paid", &json!({}))];
    log.append(&*tx, &Stream::new("order", "1"), Expected::NoStream, &first).await?;
    let second = [NewEvent::json("order.placed", &json!({"total": 5}))];
    log.append(&*tx, &Stream::new("order", "2"), Expected::NoStream, &second).await?;
    tx.commit().await?;

    // Any number of processes may run this worker: each consumer runs on one of them at a time.
    let worker = Arc::new(Worker::builder(pool.clone()).log(log).consumer(OrdersView).build()?);
    let shows_all = async {
        loop {
            let rows = client.query("SELECT id, state, total FROM orders_view ORDER BY id", &[]).await?;
            if rows.len() == 2 {
                for row in rows {
                    let (id, state, total): (String, String, i64) = (row.get(0), row.get(1), row.get(2));
                    println!("order {id}: {state}, {total}");
                }
                worker.stop();
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (ran, shown) = tokio::join!(worker.run(Shutdown::never()), shows_all);
    ran?;
    shown
}
