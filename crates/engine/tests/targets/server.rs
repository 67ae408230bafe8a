//! A server that does what its script says, however rude, and counts what it was sent.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use foreman_runtime::{Task, Tasks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Default)]
pub struct Seen {
    pub connections: AtomicUsize,
    /// Requests of which at least one byte arrived.
    pub requests: AtomicUsize,
    pub bytes_sent: AtomicU64,
    pub received: Mutex<Vec<Received>>,
}

impl Seen {
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn last(&self) -> Received {
        self.received.lock().unwrap().last().cloned().expect("a request has arrived")
    }
}

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Received {
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(given, _)| given == name);
        let (_, value) = values.next()?;
        assert!(values.next().is_none(), "{name} was sent twice");
        Some(value)
    }
}

pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    accepting: Task<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    /// Runs `script` for each connection; when it returns, the connection is closed.
    pub async fn start<F, Fut>(script: F) -> Self
    where
        F: Fn(Peer) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::behind(TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    pub fn behind<F, Fut>(listener: TcpListener, script: F) -> Self
    where
        F: Fn(Peer) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let (tasks, noted) = (Tasks::new(), Arc::clone(&seen));
        let peers = tasks.clone();
        let accepting = tasks.spawn("test server", async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                noted.connections.fetch_add(1, Ordering::SeqCst);
                let peer = Peer { stream, seen: Arc::clone(&noted), ahead: Vec::new() };
                drop(peers.spawn("test connection", script(peer)));
            }
        });
        Self { address, seen, accepting }
    }

    /// Gives every request the same answer, on connections that are kept.
    pub async fn answering(answer: &'static [u8]) -> Self {
        Self::start(move |mut peer| async move {
            while peer.request().await.is_some() {
                peer.send(answer).await;
            }
        })
        .await
    }

    /// Gives every connection this answer and closes it.
    pub async fn answering_once(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<[u8]> = answer.into().into();
        Self::start(move |mut peer| {
            let answer = Arc::clone(&answer);
            async move {
                peer.request().await;
                peer.send(&answer).await;
            }
        })
        .await
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

pub struct Peer {
    pub stream: TcpStream,
    seen: Arc<Seen>,
    ahead: Vec<u8>,
}

impl Peer {
    /// The next request with its body; `None` when the other side closed.
    pub async fn request(&mut self) -> Option<Received> {
        if self.ahead.is_empty() {
            self.more().await?;
        }
        self.seen.requests.fetch_add(1, Ordering::SeqCst);
        let end = loop {
            match self.ahead.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                Some(end) => break end,
                None => self.more().await?,
            }
        };
        let head = String::from_utf8(self.ahead.drain(..end + 4).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().unwrap().to_owned();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").expect("a header"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut received = Received { line, headers, body: Vec::new() };
        assert_eq!(received.header("transfer-encoding"), None, "the length is known");
        let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
        while self.ahead.len() < length {
            self.more().await?;
        }
        received.body = self.ahead.drain(..length).collect();
        self.seen.received.lock().unwrap().push(received.clone());
        Some(received)
    }

    async fn more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.ahead).await.unwrap_or(0);
        (read > 0).then_some(())
    }

    /// False when the other side is gone.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        let sent = self.stream.write_all(bytes).await.is_ok();
        if sent {
            self.seen.bytes_sent.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        }
        sent
    }

    /// Returns when the other side closes.
    pub async fn until_closed(&mut self) {
        while self.more().await.is_some() {}
    }
}
