//! `foreman queues`.

use comfy_table::Cell;
use foreman_client::Client;

use crate::cli::QueuesCommand;
use crate::exit::Exit;
use crate::render::{Screen, Table, elapsed};

pub async fn run(command: QueuesCommand, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    match command {
        QueuesCommand::List => list(client, screen).await,
        QueuesCommand::Pause { queue } => {
            client.pause(&queue).await?;
            screen.talk(format!("queue {queue} is paused; running jobs continue"));
            Ok(Exit::Done)
        }
        QueuesCommand::Resume { queue } => {
            client.resume(&queue).await?;
            screen.talk(format!("queue {queue} is resumed"));
            Ok(Exit::Done)
        }
    }
}

async fn list(client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let queues = client.queues().await?;
    if screen.is_json() {
        screen.json(&queues)?;
        return Ok(Exit::Done);
    }
    if queues.items.is_empty() {
        screen.talk("no queues yet; the first job creates one");
        return Ok(Exit::Done);
    }
    let headers = ["queue", "status", "pending", "running", "retrying", "scheduled", "oldest", "per second"];
    let mut table = Table::new(screen, &headers);
    for queue in &queues.items {
        table.row(vec![
            Cell::new(&queue.name),
            Cell::new(if queue.paused { "paused" } else { "active" }),
            Cell::new(queue.pending),
            Cell::new(queue.running),
            Cell::new(queue.retrying),
            Cell::new(queue.scheduled),
            Cell::new(queue.oldest_age.map_or_else(|| "-".into(), |age| elapsed(age.0))),
            Cell::new(format!("{:.1}", queue.rate)),
        ]);
    }
    screen.line(table)?;
    Ok(Exit::Done)
}
