//! From a request that submits one job to the call of its target, and where that time goes.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use crate::http::Connection;
use crate::load;
use crate::report::{Figure, millis};
use crate::steps::{StepTimes, Steps};

/// In milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

impl Took {
    pub fn of(mut took: Vec<f64>) -> Self {
        took.sort_by(f64::total_cmp);
        let last = took.len().saturating_sub(1);
        let at = |share: f64| took.get(((took.len() as f64 * share) as usize).min(last)).copied().unwrap_or(f64::NAN);
        Self { p50: at(0.5), p99: at(0.99), p999: at(0.999) }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct PickUp {
    pub took: Took,
    pub steps: StepTimes,
}

impl PickUp {
    /// Its lines: how long it took beside `of`, then step by step.
    pub fn figures(&self, when: &str, of: Option<&str>) -> Vec<Figure> {
        let Took { p50, p99, p999 } = self.took;
        let mut figures = vec![
            millis(format!("pick-up, {when}, p50"), p50, of),
            millis(format!("pick-up, {when}, p99"), p99, of),
            millis(format!("pick-up, {when}, p99.9"), p999, of),
        ];
        figures.extend(self.steps.lines().map(|(step, took)| millis(format!("{when}, p50: {step}"), took, None)));
        figures
    }
}

/// Far beyond any poll: a call that comes later was lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Submits single jobs to this API, one after the other, to a target in this process.
pub async fn measure(api: &str, picks: usize) -> Result<PickUp> {
    let target = TcpListener::bind("127.0.0.1:0").await?;
    let job = format!(r#"{{"url":"http://{}/","payload":1}}"#, target.local_addr()?);
    let mut connection = Connection::open(api).await?;
    let (mut took, mut steps) = (Vec::with_capacity(picks), Steps::default());
    for pick in 0..picks {
        // So that no poll keeps step with us, and everything is quiet again.
        sleep(Duration::from_millis(15 + pick as u64 * 37 % 30)).await;
        let (sent, sent_at) = (Instant::now(), Steps::now());
        let submit = async { (connection.post("/api/v1/jobs", job.as_bytes()).await, Steps::now()) };
        let ((answer, answered_at), called) = tokio::join!(submit, timeout(PATIENCE, call(&target)));
        let answer = answer?;
        load::expect(&answer, 202)?;
        let (at, mut stream) = called??;
        let took_now = at.duration_since(sent);
        took.push(took_now.as_secs_f64() * 1_000.0);
        let called_at = sent_at + i64::try_from(took_now.as_micros())?;
        steps.add(&answer, sent_at, answered_at, called_at)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
    }
    // For the last attempts to be recorded.
    sleep(Duration::from_secs(1)).await;
    Ok(PickUp { took: Took::of(took), steps: steps.medians(&mut connection).await? })
}

/// Waits for a call, and notes when its first bytes are there.
async fn call(target: &TcpListener) -> Result<(Instant, TcpStream)> {
    let (mut stream, _) = target.accept().await?;
    let mut bytes = [0; 4096];
    if stream.read(&mut bytes).await? == 0 {
        bail!("a call without a request");
    }
    Ok((Instant::now(), stream))
}

#[cfg(test)]
mod tests {
    use super::Took;

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let took = Took::of((1..=1_000).rev().map(f64::from).collect());
        assert_eq!(took, Took { p50: 501.0, p99: 991.0, p999: 1_000.0 });
    }
}
