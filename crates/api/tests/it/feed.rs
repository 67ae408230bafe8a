//! A client of the stream that reads event by event.

use std::time::Duration;

use foreman_core::sealed::{DerivedKey, Keyring};
use serde_json::Value;
use tokio::time::timeout;

use crate::harness::{Api, MASTER_KEY};
use crate::http::{Connection, PATIENCE, Reply, written};

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub name: String,
    pub id: String,
    pub data: Value,
}

pub struct Feed {
    connection: Connection,
    text: String,
    /// The last `retry:` that was sent.
    pub retry: Option<u64>,
    /// The head of the answer.
    pub head: Reply,
    pub last_id: Option<String>,
}

pub const STREAM: &str = "/api/v1/stream";

impl Feed {
    /// The answer, if it is not a stream.
    pub async fn try_open(api: &Api, path: &str, headers: &[(&str, &str)]) -> Result<Self, Reply> {
        let mut connection = api.connect().await;
        connection.send(&written("GET", path, headers, None)).await;
        let head = connection.reply(false).await;
        if head.status != 200 {
            return Err(head);
        }
        Ok(Self { connection, text: String::new(), retry: None, head, last_id: None })
    }

    /// Opened, and past its first heartbeat.
    pub async fn open(api: &Api, query: &str, headers: &[(&str, &str)]) -> Self {
        let path = format!("{STREAM}{query}");
        let mut feed = Self::try_open(api, &path, headers).await.unwrap_or_else(|reply| panic!("{reply:?}"));
        assert_eq!(feed.any().await.name, "heartbeat");
        feed
    }

    pub async fn open_as(api: &Api, key: &str, query: &str) -> Self {
        Self::open(api, query, &[("authorization", &format!("Bearer {key}"))]).await
    }

    /// Whatever comes next.
    pub async fn any(&mut self) -> Event {
        timeout(PATIENCE, self.read()).await.expect("an event in time").expect("an event")
    }

    /// What comes next and is no heartbeat.
    pub async fn next(&mut self) -> Event {
        let next = async {
            loop {
                let event = self.read().await.expect("an event");
                if event.name != "heartbeat" {
                    return event;
                }
            }
        };
        timeout(PATIENCE, next).await.expect("an event in time")
    }

    pub async fn jobs(&mut self, count: usize) -> Vec<Event> {
        let mut events = Vec::new();
        while events.len() < count {
            let event = self.next().await;
            assert_eq!(event.name, "job", "{event:?}");
            events.push(event);
        }
        events
    }

    /// What is still told until the server closes.
    pub async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = timeout(PATIENCE, self.read()).await.expect("closed in time") {
            events.push(event);
        }
        events
    }

    /// What comes within a while, for what must not come.
    pub async fn within(&mut self, while_: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        while let Ok(Some(event)) = timeout(while_, self.read()).await {
            events.push(event);
        }
        events.retain(|event| event.name != "heartbeat");
        events
    }

    async fn read(&mut self) -> Option<Event> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    block.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).map(ToOwned::to_owned)
                };
                if let Some(retry) = field("retry") {
                    self.retry = Some(retry.parse().unwrap());
                }
                if let (Some(name), Some(id), Some(data)) = (field("event"), field("id"), field("data")) {
                    self.last_id = Some(id.clone());
                    return Some(Event { name, id, data: serde_json::from_str(&data).unwrap() });
                }
            }
            let chunk = self.connection.chunk().await?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// What a server of the tests hides places in the log under. Only within a test: to everybody else they are opaque.
fn cursor_key() -> DerivedKey {
    MASTER_KEY.parse::<Keyring>().unwrap().derive("stream cursor 2").remove(0)
}

/// The cursor of a client that has had everything up to here.
pub fn cursor(position: i64) -> String {
    format!("2-{}", cursor_key().hide(&format!("{position:x}")))
}

/// Where a cursor stands in the log.
pub fn position(cursor: &str) -> i64 {
    let place = cursor_key().show(cursor.strip_prefix("2-").unwrap()).unwrap();
    i64::from_str_radix(place.split('-').next().unwrap(), 16).unwrap()
}
