//! The floor: a process that writes as many events of the same size to as many sockets, and does nothing else.
//!
//! It is this program, started again with `--bare-stream`: what it costs is then a process's own, as that of the server is. It begins
//! to write when somebody connects and asks for `/begin`.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use foreman_core::Timestamp;
use foreman_runtime::{Tasks, clock};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, broadcast};
use tokio::time::interval;

use super::Plan;
use crate::process::cpu_time_of;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub struct Bare {
    child: Child,
    pub address: String,
}

impl Bare {
    pub async fn start(plan: &Plan) -> Result<Self> {
        let between = plan.between_jobs().as_micros().to_string();
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--bare-stream", &between])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("its output")?;
        let address = BufReader::new(stdout).lines().next_line().await?.context("it says where it is")?;
        Ok(Self { child, address })
    }

    pub fn cpu_time(&self) -> Result<Duration> {
        cpu_time_of(self.child.id().context("the bare loop has ended")?)
    }

    pub async fn begin(&self) -> Result<()> {
        let mut stream = TcpStream::connect(&self.address).await?;
        stream.write_all(b"GET /begin HTTP/1.1\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.read_buf(&mut answer).await?;
        Ok(())
    }
}

/// The process itself, until it is killed. A job every so many microseconds.
pub async fn serve(between: Duration) -> Result<()> {
    super::raise_open_files();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let tasks = Tasks::new();
    let (tell, _) = broadcast::channel::<Arc<[u8]>>(1024);
    let begun = Arc::new(Notify::new());
    drop(tasks.spawn("ticker", tick(tell.clone(), Arc::clone(&begun), between)));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        drop(tasks.spawn("client", follow(stream, tell.subscribe(), Arc::clone(&begun))));
    }
}

/// The three changes of a job, one after the other, as they come from a server.
async fn tick(tell: broadcast::Sender<Arc<[u8]>>, begun: Arc<Notify>, between: Duration) {
    begun.notified().await;
    let mut pace = interval(between);
    for number in 0_u64.. {
        pace.tick().await;
        for (sequence, state) in [(1, "pending"), (2, "running"), (3, "completed")] {
            let at = Timestamp::from_micros(clock::now());
            let event = format!(
                "event: job\nid: 1-{number:x}\ndata: {{\"id\":\"01a1df86-ff03-77a2-90f0-{number:012x}\",\"state\":\"{state}\",\"queue\":\"bench\",\"attempt\":1,\"at\":\"{at}\",\"sequence\":{sequence}}}\n\n"
            );
            // Nobody may be there yet.
            let _ = tell.send(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes().into());
        }
    }
}

async fn follow(mut stream: TcpStream, mut told: broadcast::Receiver<Arc<[u8]>>, begun: Arc<Notify>) {
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        if !matches!(stream.read_buf(&mut request).await, Ok(read) if read > 0) {
            return;
        }
    }
    if request.starts_with(b"GET /begin") {
        begun.notify_one();
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
        return;
    }
    let hello = "event: heartbeat\ndata: {}\n\n";
    let greeting = format!("{HEAD}{:x}\r\n{hello}\r\n", hello.len());
    if stream.write_all(greeting.as_bytes()).await.is_err() {
        return;
    }
    while let Ok(event) = told.recv().await {
        if stream.write_all(&event).await.is_err() {
            return;
        }
    }
}
