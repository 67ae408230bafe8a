//! The load on a running server.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::http::Connection;
use crate::server::Server;

/// 200 bytes of payload, as in the measurements behind the design.
pub const PAYLOAD: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
                       0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
pub const BATCH: usize = 1_000;
const PATIENCE: Duration = Duration::from_mins(5);

pub struct Load {
    pub jobs: usize,
    pub connections: usize,
    pub slots: usize,
}

impl Load {
    /// One job per request, many connections. Nothing serves the queue, so only accepting is measured.
    pub async fn single(&self) -> Result<f64> {
        let server = Server::start(&[]).await?;
        let job = job("bench.unserved");
        let took = self.send("/api/v1/jobs", job.as_bytes(), self.jobs, self.connections, 202, &server).await?;
        server.stop().await?;
        Ok(self.jobs as f64 / took.as_secs_f64())
    }

    pub async fn batch(&self) -> Result<f64> {
        let server = Server::start(&[]).await?;
        let batch = batch("bench.unserved");
        let took = self.send("/api/v1/jobs/batch", batch.as_bytes(), self.jobs / BATCH, 4, 200, &server).await?;
        server.stop().await?;
        Ok(self.jobs as f64 / took.as_secs_f64())
    }

    /// From the first submission to the last settlement.
    pub async fn end_to_end(&self) -> Result<f64> {
        let slots = self.slots.to_string();
        let server = Server::start(&["--slots", &slots]).await?;
        let batch = batch("foreman.noop");
        let start = Instant::now();
        self.send("/api/v1/jobs/batch", batch.as_bytes(), self.jobs / BATCH, 4, 200, &server).await?;
        let mut connection = Connection::open(&server.address).await?;
        loop {
            let answer = connection.get("/api/v1/queues").await?;
            let queues: serde_json::Value = serde_json::from_slice(&answer.body)?;
            let left: u64 = queues["items"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|queue| {
                    ["pending", "running", "scheduled", "retrying"].map(|state| queue[state].as_u64().unwrap_or(0))
                })
                .sum();
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
        server.stop().await?;
        Ok(self.jobs as f64 / took.as_secs_f64())
    }

    async fn send(
        &self,
        path: &str,
        body: &[u8],
        requests: usize,
        connections: usize,
        expected: u16,
        server: &Server,
    ) -> Result<Duration> {
        let left = Rc::new(Cell::new(requests));
        let start = Instant::now();
        let local = LocalSet::new();
        let mut senders = tokio::task::JoinSet::new();
        for _ in 0..connections {
            let (left, path, body, address) = (left.clone(), path.to_owned(), body.to_owned(), server.address.clone());
            senders.spawn_local_on(
                async move {
                    let mut connection = Connection::open(&address).await?;
                    while left.get() > 0 {
                        left.set(left.get() - 1);
                        let answer = connection.post(&path, &body).await?;
                        if answer.status != expected {
                            bail!("{} instead of {expected}: {}", answer.status, String::from_utf8_lossy(&answer.body));
                        }
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
}

fn job(task: &str) -> String {
    format!(r#"{{"task":"{task}","payload":"{PAYLOAD}"}}"#)
}

fn batch(task: &str) -> String {
    format!(r#"{{"jobs":[{}]}}"#, vec![job(task); BATCH].join(","))
}
