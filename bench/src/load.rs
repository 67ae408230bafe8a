//! The load on a server that runs somewhere, and what its workers say they have done.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

use crate::http::{Answer, Connection};
use crate::jobs::{BATCH, NOOP, SENDERS, UNSERVED, batch_json, task_json};

const PATIENCE: Duration = Duration::from_mins(5);

pub fn per_second(jobs: usize, took: Duration) -> f64 {
    jobs as f64 / took.as_secs_f64()
}

/// Jobs per second, one job per request on so many connections.
pub async fn submit_single(address: &str, jobs: usize, connections: usize) -> Result<f64> {
    let job = task_json(UNSERVED);
    let took = send(address, "/api/v1/jobs", job.as_bytes(), jobs, connections, 202).await?;
    Ok(per_second(jobs, took))
}

/// Jobs per second, in batches.
pub async fn submit_batches(address: &str, jobs: usize) -> Result<f64> {
    let took = submit(address, &task_json(UNSERVED), jobs).await?;
    Ok(per_second(jobs / BATCH * BATCH, took))
}

/// From the first submission to the last settlement, as the processes that settle count it.
pub async fn end_to_end(address: &str, workers: &[&str], jobs: usize) -> Result<f64> {
    end_to_end_of(&task_json(NOOP), address, workers, jobs).await
}

/// The same of such jobs.
pub async fn end_to_end_of(job: &str, address: &str, workers: &[&str], jobs: usize) -> Result<f64> {
    let start = Instant::now();
    submit(address, job, jobs).await?;
    // Not before: a connection that asks nothing for ten seconds is closed, and a submission may take that long.
    let mut counters = Counters::open(workers).await?;
    counters.until(jobs as u64, start).await?;
    Ok(per_second(jobs, start.elapsed()))
}

/// Such batches for so long, never more than a few seconds' worth waiting: how many jobs per second were done.
pub async fn steady(address: &str, workers: &[&str], batch: &str, how_long: Duration) -> Result<f64> {
    let most_waiting = 20 * BATCH as u64;
    let mut counters = Counters::open(workers).await?;
    let submitted = Rc::new(Cell::new(0));
    let done = Rc::new(Cell::new(0));
    let start = Instant::now();
    let local = LocalSet::new();
    let mut senders: JoinSet<Result<()>> = JoinSet::new();
    for _ in 0..SENDERS {
        let (submitted, done, address) = (submitted.clone(), done.clone(), address.to_owned());
        let body = batch.to_owned();
        senders.spawn_local_on(
            async move {
                let mut connection = Connection::open(&address).await?;
                while start.elapsed() < how_long {
                    if submitted.get() >= done.get() + most_waiting {
                        sleep(Duration::from_millis(2)).await;
                        continue;
                    }
                    submitted.set(submitted.get() + BATCH as u64);
                    expect(&connection.post("/api/v1/jobs/batch", body.as_bytes()).await?, 200)?;
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

/// No-op jobs at this rate in small batches, until it is dropped.
pub async fn background(address: &str, jobs_per_second: f64) -> Result<()> {
    const AT_ONCE: usize = 100;
    let body = batch_json(&task_json(NOOP), AT_ONCE);
    let mut connection = Connection::open(address).await?;
    let mut pace = tokio::time::interval(Duration::from_secs_f64(AT_ONCE as f64 / jobs_per_second.max(1.0)));
    loop {
        pace.tick().await;
        expect(&connection.post("/api/v1/jobs/batch", body.as_bytes()).await?, 200)?;
    }
}

async fn submit(address: &str, job: &str, jobs: usize) -> Result<Duration> {
    let body = batch_json(job, BATCH);
    send(address, "/api/v1/jobs/batch", body.as_bytes(), jobs / BATCH, SENDERS, 200).await
}

/// What the workers say they have settled. Asking the store instead would be work for what is measured.
pub struct Counters(Vec<Connection>);

impl Counters {
    pub async fn open(workers: &[&str]) -> Result<Self> {
        let mut connections = Vec::new();
        for address in workers {
            connections.push(Connection::open(address).await?);
        }
        Ok(Self(connections))
    }

    pub async fn completed(&mut self) -> Result<u64> {
        Ok(self.of_each().await?.iter().sum())
    }

    pub async fn of_each(&mut self) -> Result<Vec<u64>> {
        let mut counts = Vec::new();
        for connection in &mut self.0 {
            let answer = connection.get("/metrics").await?;
            counts.push(completed(std::str::from_utf8(&answer.body)?)?);
        }
        Ok(counts)
    }

    pub async fn until(&mut self, jobs: u64, start: Instant) -> Result<()> {
        loop {
            let done = self.completed().await?;
            if done >= jobs {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                bail!("{done} of {jobs} jobs were done after {PATIENCE:?}");
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

fn completed(metrics: &str) -> Result<u64> {
    let lines = metrics.lines().filter(|line| line.starts_with("foreman_outcomes_total{"));
    let mut sum = 0;
    for line in lines.filter(|line| line.contains(r#"outcome="completed""#)) {
        sum += line.rsplit(' ').next().unwrap_or_default().parse::<u64>().context("a count")?;
    }
    Ok(sum)
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
                    expect(&connection.post(&path, &body).await?, expected)?;
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

pub fn expect(answer: &Answer, expected: u16) -> Result<()> {
    if answer.status != expected {
        bail!("{} instead of {expected}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn completed_outcomes_are_counted_over_all_kinds() {
        let metrics = "# TYPE foreman_outcomes counter\n\
                       foreman_outcomes_total{kind=\"a\",outcome=\"completed\"} 3\n\
                       foreman_outcomes_total{kind=\"b\",outcome=\"completed\"} 4\n\
                       foreman_outcomes_total{kind=\"b\",outcome=\"failed\"} 5\n";
        assert_eq!(super::completed(metrics).expect("counts"), 7);
    }
}
