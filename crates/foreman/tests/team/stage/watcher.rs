//! Somebody who watches, and writes down how every job ended.
//!
//! It starts where its server is and goes on, after every break, at the next one of its list with the cursor it has. What it saw is
//! compared in the end with what the jobs say themselves: one final state that it was not told fails the test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_client::{Client, Event, Follow, JobDocument, State, StreamItem};
use foreman_runtime::{Task, Tasks};
use tokio::time::sleep;

use super::until;

#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Of each job: the latest move that was told.
    pub jobs: BTreeMap<String, (u32, State)>,
    /// Where it would go on.
    pub cursor: Option<String>,
    pub events: usize,
    pub breaks: usize,
    pub resets: usize,
    /// Moves that were told after a later one of the same job.
    pub backwards: Vec<String>,
}

pub struct Watcher {
    seen: Arc<Mutex<Seen>>,
    task: Task<()>,
}

impl Watcher {
    /// Watches at the first of these, and after each break at the next. Returns when it does.
    pub async fn start(addresses: &[String]) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let clients: Vec<Client> =
            addresses.iter().map(|address| Client::new(&format!("http://{address}"), None).unwrap()).collect();
        let task = Tasks::new().spawn("watcher", watch(clients, Arc::clone(&seen)));
        let watcher = Self { seen, task };
        until("it watches", async || watcher.seen().cursor).await;
        watcher
    }

    pub async fn crowd(count: usize, addresses: &[String]) -> Vec<Self> {
        let mut crowd = Vec::new();
        for _ in 0..count {
            crowd.push(Self::start(addresses).await);
        }
        crowd
    }

    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    /// Every one of these ended, and it was told how; nothing was told out of order, and nothing was given up.
    pub async fn assert_saw(&self, jobs: &BTreeMap<String, JobDocument>) {
        until("it has heard of every end", async || {
            let seen = self.seen.lock().unwrap();
            jobs.iter().all(|(id, job)| seen.jobs.get(id).is_some_and(|(_, state)| *state == job.state)).then_some(())
        })
        .await;
        let seen = self.seen();
        assert_eq!((seen.resets, seen.backwards.len()), (0, 0), "{:?}", seen.backwards);
        assert!(!self.task.is_finished(), "it still watches");
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(clients: Vec<Client>, seen: Arc<Mutex<Seen>>) {
    for client in clients.iter().cycle() {
        let cursor = seen.lock().unwrap().cursor.clone();
        let follow = match cursor {
            Some(cursor) => Follow::everything().after(cursor),
            None => Follow::everything(),
        };
        let Ok(mut stream) = client.stream(follow).await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        loop {
            // With one server it comes back by itself; with several the next one is asked.
            match stream.next().await {
                Ok(StreamItem::Event(told)) => note(&mut seen.lock().unwrap(), told),
                Ok(StreamItem::Resumed) => {}
                Ok(StreamItem::Broken { .. }) => {
                    seen.lock().unwrap().breaks += 1;
                    if clients.len() > 1 {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
    }
}

fn note(seen: &mut Seen, told: foreman_client::StreamEvent) {
    seen.cursor = told.cursor.or(seen.cursor.take());
    match told.event {
        Event::Job(job) => {
            seen.events += 1;
            let before = seen.jobs.insert(job.id.clone(), (job.sequence, job.state));
            if before.is_some_and(|(sequence, _)| sequence >= job.sequence) {
                seen.backwards.push(format!("{job:?} after {before:?}"));
            }
        }
        Event::Reset(_) => seen.resets += 1,
        _ => {}
    }
}
