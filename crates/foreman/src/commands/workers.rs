//! `foreman workers`.

use comfy_table::Cell;
use foreman_client::Client;

use crate::exit::Exit;
use crate::render::{Screen, Table, age, now};

pub async fn run(client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let workers = client.workers().await?;
    if screen.is_json() {
        screen.json(&workers)?;
        return Ok(Exit::Done);
    }
    if workers.items.is_empty() {
        screen.talk("no workers");
        return Ok(Exit::Done);
    }
    let now = now();
    let mut table =
        Table::new(screen, &["session", "worker", "state", "running", "slots", "queues", "up", "heartbeat", "version"]);
    for worker in &workers.items {
        let queues = if worker.queues.is_empty() { "all".into() } else { worker.queues.join(",") };
        table.row(vec![
            Cell::new(&worker.id),
            Cell::new(format!("{}/{}", worker.worker, worker.pid)),
            Cell::new(worker.state.as_str()),
            Cell::new(worker.running),
            Cell::new(worker.slots),
            Cell::new(queues),
            Cell::new(age(worker.started_at, now)),
            Cell::new(format!("{} ago", age(worker.heartbeat_at, now))),
            Cell::new(&worker.version),
        ]);
    }
    screen.line(table)?;
    Ok(Exit::Done)
}
