//! The load on a server that runs somewhere.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

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

    /// From the first submission to the last settlement, as the processes that settle count it.
    pub async fn end_to_end(&self, address: &str, workers: &[&str]) -> Result<f64> {
        let start = Instant::now();
        self.submit(address, NOOP).await?;
        // Not before: whoever connects and asks nothing for ten seconds is shown the door, and so long a submission may take.
        let mut counters = Counters::open(workers).await?;
        loop {
            let done = counters.completed().await?;
            if done >= self.jobs as u64 {
                break;
            }
            if start.elapsed() > PATIENCE {
                bail!("{done} of {} jobs were done after {PATIENCE:?}", self.jobs);
            }
            sleep(Duration::from_millis(10)).await;
        }
        Ok(self.jobs as f64 / start.elapsed().as_secs_f64())
    }

    /// No-op jobs for so long, never more than a few seconds' worth waiting: how many per second were done.
    pub async fn steady(&self, address: &str, workers: &[&str], how_long: Duration) -> Result<f64> {
        let most_waiting = 20 * BATCH as u64;
        let mut counters = Counters::open(workers).await?;
        let submitted = Rc::new(Cell::new(0));
        let done = Rc::new(Cell::new(0));
        let start = Instant::now();
        let local = LocalSet::new();
        let mut senders: JoinSet<Result<()>> = JoinSet::new();
        for _ in 0..SENDERS {
            let (submitted, done, address) = (submitted.clone(), done.clone(), address.to_owned());
            let body = batch(NOOP);
            senders.spawn_local_on(
                async move {
                    let mut connection = Connection::open(&address).await?;
                    while start.elapsed() < how_long {
                        if submitted.get() >= done.get() + most_waiting {
                            sleep(Duration::from_millis(2)).await;
                            continue;
                        }
                        submitted.set(submitted.get() + BATCH as u64);
                        expect(connection.post("/api/v1/jobs/batch", body.as_bytes()).await?, 200)?;
                    }
                    Ok(())
                },
                &local,
            );
        }
        local
            .run_until(async {
                while start.elapsed() < how_long {
                    done.set(counters.completed().await?);
                    sleep(Duration::from_millis(10)).await;
                }
                let rate = counters.completed().await? as f64 / start.elapsed().as_secs_f64();
                while let Some(sender) = senders.join_next().await {
                    sender??;
                }
                Ok(rate)
            })
            .await
    }

    async fn submit(&self, address: &str, task: &str) -> Result<Duration> {
        send(address, "/api/v1/jobs/batch", batch(task).as_bytes(), self.jobs / BATCH, SENDERS, 200).await
    }
}

/// What the workers say they have settled. Asking the store instead would be work for what is measured.
struct Counters(Vec<Connection>);

impl Counters {
    async fn open(workers: &[&str]) -> Result<Self> {
        let mut connections = Vec::new();
        for address in workers {
            connections.push(Connection::open(address).await?);
        }
        Ok(Self(connections))
    }

    async fn completed(&mut self) -> Result<u64> {
        let mut sum = 0;
        for connection in &mut self.0 {
            let answer = connection.get("/metrics").await?;
            let text = std::str::from_utf8(&answer.body)?;
            let lines = text.lines().filter(|line| line.starts_with("foreman_outcomes_total{"));
            for line in lines.filter(|line| line.contains(r#"outcome="completed""#)) {
                sum += line.rsplit(' ').next().unwrap_or_default().parse::<u64>().context("a count")?;
            }
        }
        Ok(sum)
    }
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
    let mut senders: JoinSet<Result<()>> = JoinSet::new();
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
