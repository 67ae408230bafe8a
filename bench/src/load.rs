//! The load on a server that runs somewhere.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::http::Connection;

/// 200 bytes of payload, as in the measurements behind the design.
pub const PAYLOAD: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
                       0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
pub const BATCH: usize = 1_000;
/// Batches on their way at once.
pub const SENDERS: usize = 4;
const PATIENCE: Duration = Duration::from_mins(5);

/// What nobody serves, so that only accepting is measured.
const UNSERVED: &str = "bench.unserved";
/// What does nothing, and is done.
const NOOP: &str = "foreman.noop";

pub struct Load {
    pub jobs: usize,
    pub connections: usize,
    pub slots: usize,
}

impl Load {
    /// One job per request, many connections.
    pub async fn single(&self, address: &str) -> Result<f64> {
        let job = job(UNSERVED);
        let took = send(address, "/api/v1/jobs", job.as_bytes(), self.jobs, self.connections, 202).await?;
        Ok(self.jobs as f64 / took.as_secs_f64())
    }

    pub async fn batch(&self, address: &str) -> Result<f64> {
        let took = self.submit(address, UNSERVED).await?;
        Ok(self.jobs as f64 / took.as_secs_f64())
    }

    /// From the first submission to the last settlement.
    pub async fn end_to_end(&self, address: &str) -> Result<f64> {
        let start = Instant::now();
        self.submit(address, NOOP).await?;
        let mut connection = Connection::open(address).await?;
        loop {
            let left = left(&mut connection).await?;
            if left == 0 {
                break;
            }
            if start.elapsed() > PATIENCE {
                bail!("{left} jobs were left after {PATIENCE:?}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let took = start.elapsed();
        let answer = connection.get("/api/v1/jobs?state=completed&limit=1").await?;
        let completed: serde_json::Value = serde_json::from_slice(&answer.body)?;
        if completed["items"].as_array().is_none_or(Vec::is_empty) {
            bail!("nothing was completed");
        }
        Ok(self.jobs as f64 / took.as_secs_f64())
    }

    /// No-op jobs for so long, never more than a few seconds' worth waiting: how many per second were done.
    pub async fn steady(&self, address: &str, how_long: Duration) -> Result<f64> {
        let most_waiting = 20 * BATCH as u64;
        let body = batch(NOOP);
        let mut submitter = Connection::open(address).await?;
        let mut watcher = Connection::open(address).await?;
        let start = Instant::now();
        let mut submitted = 0;
        while start.elapsed() < how_long {
            if left(&mut watcher).await? >= most_waiting {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            for _ in 0..SENDERS {
                expect(submitter.post("/api/v1/jobs/batch", body.as_bytes()).await?, 200)?;
                submitted += BATCH as u64;
            }
        }
        let took = start.elapsed();
        let done = submitted - left(&mut watcher).await?;
        Ok(done as f64 / took.as_secs_f64())
    }

    async fn submit(&self, address: &str, task: &str) -> Result<Duration> {
        send(address, "/api/v1/jobs/batch", batch(task).as_bytes(), self.jobs / BATCH, SENDERS, 200).await
    }
}

/// Jobs that are not final yet.
async fn left(connection: &mut Connection) -> Result<u64> {
    let answer = connection.get("/api/v1/queues").await?;
    let queues: serde_json::Value = serde_json::from_slice(&answer.body)?;
    let states = ["pending", "running", "scheduled", "retrying"];
    let of = |queue: &serde_json::Value| states.iter().map(|state| queue[state].as_u64().unwrap_or(0)).sum::<u64>();
    Ok(queues["items"].as_array().into_iter().flatten().map(of).sum())
}

async fn send(
    address: &str,
    path: &str,
    body: &[u8],
    requests: usize,
    connections: usize,
    expected: u16,
) -> Result<Duration> {
    let left = Rc::new(Cell::new(requests));
    let start = Instant::now();
    let local = LocalSet::new();
    let mut senders: tokio::task::JoinSet<Result<()>> = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let (left, path, body, address) = (left.clone(), path.to_owned(), body.to_owned(), address.to_owned());
        senders.spawn_local_on(
            async move {
                let mut connection = Connection::open(&address).await?;
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    expect(connection.post(&path, &body).await?, expected)?;
                }
                Ok(())
            },
            &local,
        );
    }
    local
        .run_until(async {
            while let Some(sender) = senders.join_next().await {
                sender??;
            }
            Ok::<(), anyhow::Error>(())
        })
        .await?;
    Ok(start.elapsed())
}

fn expect(answer: crate::http::Answer, expected: u16) -> Result<()> {
    if answer.status != expected {
        bail!("{} instead of {expected}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
    Ok(())
}

fn job(task: &str) -> String {
    format!(r#"{{"task":"{task}","payload":"{PAYLOAD}"}}"#)
}

fn batch(task: &str) -> String {
    format!(r#"{{"jobs":[{}]}}"#, vec![job(task); BATCH].join(","))
}

/// What the server keeps of such a job.
pub fn work(task: &str) -> String {
    format!(
        r#"{{"target":{{"task":{{"name":"{task}","payload":{{"json":"{PAYLOAD}"}}}}}},"kind":"{task}","queue":"default","lane":"normal","max_attempts":25,"backoff":{{"base":"5s","factor":2.0,"cap":"1h"}},"timeout":"10m"}}"#
    )
}
