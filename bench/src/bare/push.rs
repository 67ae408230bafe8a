//! A bare client loop: so many tasks, each with a connection, send one request after the other.
//!
//! The client is the one that workers use, hyper's for HTTP/1.1, driven by the task that awaits the answer as theirs is, and
//! the request has as many bytes and headers. What is missing is Foreman: no job is claimed, judged, signed or settled.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use bytes::Bytes;
use foreman_runtime::Tasks;
use http::header;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use uuid::Uuid;

use crate::jobs::PAYLOAD;
use crate::process::cpu_time_of;

pub async fn run(address: &str, requests: usize, at_once: usize) -> Result<()> {
    let (tasks, sent) = (Tasks::new(), Arc::new(AtomicUsize::new(0)));
    let mut wires = Vec::new();
    for _ in 0..at_once {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        wires.push(http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?);
    }
    let body = Bytes::from(format!("\"{PAYLOAD}\""));
    let start = Instant::now();
    let mut running = Vec::new();
    for (mut sender, connection) in wires {
        let (sent, body, address) = (Arc::clone(&sent), body.clone(), address.to_owned());
        running.push(tasks.spawn("push", async move {
            let mut wire = Some(connection);
            while sent.fetch_add(1, Ordering::Relaxed) < requests {
                let mut exchange = std::pin::pin!(async {
                    let answer = sender.send_request(request(&address, &body)?).await?;
                    let status = answer.status();
                    answer.into_body().collect().await?;
                    ensure!(status == 200, "the target answered {status}");
                    // At rest again, before the next one is given to it.
                    sender.ready().await?;
                    anyhow::Ok(())
                });
                poll_fn(|cx| {
                    // How a connection ended is told to the exchange.
                    if let Some(living) = &mut wire
                        && std::pin::Pin::new(living).poll(cx).is_ready()
                    {
                        wire = None;
                    }
                    exchange.as_mut().poll(cx)
                })
                .await?;
            }
            anyhow::Ok(())
        }));
    }
    for wire in running {
        wire.await??;
    }
    let took = start.elapsed();
    let cpu = cpu_time_of(std::process::id())?.as_secs_f64() * 1e6 / requests as f64;
    println!("{} {cpu}", requests as f64 / took.as_secs_f64());
    Ok(())
}

/// With the headers that a job's request has.
fn request(host: &str, body: &Bytes) -> Result<http::Request<Full<Bytes>>> {
    let id = Uuid::now_v7();
    Ok(http::Request::post("/")
        .header(header::USER_AGENT, "foreman/bench")
        .header(header::ACCEPT, "*/*")
        .header(header::ACCEPT_ENCODING, "identity")
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, "application/json")
        .header("idempotency-key", id.to_string())
        .header("foreman-job-id", id.to_string())
        .header("foreman-attempt", "1")
        .header("foreman-fence", "1")
        .header("traceparent", format!("00-{}-0000000000000001-01", id.simple()))
        .body(Full::new(body.clone()))?)
}
