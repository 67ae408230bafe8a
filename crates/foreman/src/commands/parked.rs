//! `foreman parked`: messages of a broker that could not be read.

use comfy_table::Cell;
use foreman_client::Client;

use super::gather::gather;
use crate::cli::ListParked;
use crate::exit::Exit;
use crate::render::{Screen, Table, age, now};

pub async fn run(asked: &ListParked, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let wanted = if asked.all { usize::MAX } else { asked.limit.get() };
    let found = gather(wanted, async |limit, after| Ok(client.parked(limit, after).await?)).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk("no messages are parked");
    } else {
        let now = now();
        let mut table = Table::new(screen, &["number", "parked", "topic", "partition", "offset", "bytes", "reason"]);
        for message in &found.items {
            table.row(vec![
                Cell::new(message.number),
                Cell::new(format!("{} ago", age(message.parked_at, now))),
                Cell::new(&message.topic),
                Cell::new(message.partition),
                Cell::new(message.offset),
                Cell::new(message.size),
                Cell::new(&message.reason),
            ]);
        }
        screen.line(table)?;
        if found.next.is_some() {
            screen.talk(format!("showing the latest {}; --all shows all", found.items.len()));
        }
    }
    Ok(Exit::Done)
}
