//! From a request that submits one job to the call of its target, with nothing else to do.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use super::steps::Steps;
use crate::http::Connection;

/// In milliseconds.
pub struct Took {
    pub p50: f64,
    pub p99: f64,
}

/// Far beyond any poll: what comes later was lost.
const PATIENCE: Duration = Duration::from_secs(30);

pub async fn millis(api: &str, picks: usize) -> Result<Took> {
    let target = TcpListener::bind("127.0.0.1:0").await?;
    let job = format!(r#"{{"url":"http://{}/","payload":1}}"#, target.local_addr()?);
    let mut connection = Connection::open(api).await?;
    let (mut took, mut steps) = (Vec::with_capacity(picks), Steps::default());
    for pick in 0..picks {
        // So that no poll of anybody keeps step with us, and everything is quiet again.
        sleep(Duration::from_millis(40 + pick as u64 * 37 % 100)).await;
        let (sent, sent_at) = (Instant::now(), Steps::now());
        let submit = async { (connection.post("/api/v1/jobs", job.as_bytes()).await, Steps::now()) };
        let ((answer, answered_at), called) = tokio::join!(submit, timeout(PATIENCE, call(&target)));
        let answer = answer?;
        if answer.status != 202 {
            bail!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        let (at, mut stream) = called??;
        let took_now = at.duration_since(sent);
        took.push(took_now.as_secs_f64() * 1_000.0);
        let called_at = sent_at + i64::try_from(took_now.as_micros())?;
        steps.add(&answer, sent_at, answered_at, called_at)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
    }
    sleep(Duration::from_secs(1)).await;
    eprintln!("{}", steps.summary(&mut connection).await?);
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() as f64 * share) as usize).min(took.len() - 1)];
    Ok(Took { p50: at(0.5), p99: at(0.99) })
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
