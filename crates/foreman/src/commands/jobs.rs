//! `foreman jobs list`, `foreman jobs groups` and `foreman jobs show`.

use foreman_client::{Client, JobDocument, ListDocument};

use crate::cli::{Groups, List};
use crate::exit::Exit;
use crate::render::{Screen, group_list, job_list, job_page, now};

/// The most the server gives at once.
const PAGE: usize = 500;

pub async fn list(list: &List, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let now = now();
    let found = gather(list, client, now).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk("no jobs match");
    } else {
        screen.line(job_list(screen, &found.items, now))?;
        if found.next.is_some() {
            screen.talk(format!("showing the first {}; --all shows all", found.items.len()));
        }
    }
    Ok(Exit::Done)
}

/// Page by page, as many as were asked for.
async fn gather(
    list: &List,
    client: &Client,
    now: foreman_core::Timestamp,
) -> anyhow::Result<ListDocument<JobDocument>> {
    let filter = list.filter.document(now);
    let wanted = if list.all { usize::MAX } else { list.limit };
    let mut found = ListDocument { items: Vec::new(), next: None };
    while found.items.len() < wanted {
        let limit = (wanted - found.items.len()).min(PAGE);
        let page = client.list(&filter, limit, found.next.as_deref()).await?;
        found.items.extend(page.items);
        found.next = page.next;
        if found.next.is_none() {
            break;
        }
    }
    Ok(found)
}

pub async fn groups(asked: &Groups, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let found = client.failure_groups(asked.state).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk(match asked.state {
            Some(state) => format!("no job is {state}"),
            None => "no job is failed or dead".into(),
        });
    } else {
        screen.line(group_list(screen, &found.items, now()))?;
        if !found.complete {
            screen.talk("not all errors are shown, only the most frequent recent ones");
        }
    }
    Ok(Exit::Done)
}

pub async fn show(id: &str, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let job = client.get(id).await?;
    if screen.is_json() {
        screen.json(&job)?;
    } else {
        screen.line(job_page(screen, &job, now()))?;
    }
    Ok(Exit::Done)
}
