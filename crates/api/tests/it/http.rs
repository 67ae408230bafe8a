//! A client of a few lines, so that a test decides about every byte and every pause.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Long enough for a loaded machine, short enough to end a hanging test.
pub const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// The same where it is no text.
    pub bytes: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The body, after a check that the status is the expected one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// The problem document, after a check that it is one of this type.
    #[track_caller]
    pub fn problem(self, status: u16, slug: &str) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.expect(status);
        assert_eq!(body["type"], format!("/errors/{slug}"), "{body}");
        assert_eq!(body["status"], status, "{body}");
        body
    }
}

pub struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    pub async fn open(addr: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(addr).await.unwrap(), unread: Vec::new() }
    }

    pub async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Sends as far as the server takes it: it may answer and close before it has everything.
    pub async fn try_send(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    pub async fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Reply {
        self.try_send(&written(method, path, headers, body)).await;
        self.reply(method == "HEAD").await
    }

    /// The same on a connection that the server may have closed.
    pub async fn try_request(&mut self, method: &str, path: &str) -> Option<Reply> {
        self.try_send(&written(method, path, &[], None)).await;
        timeout(PATIENCE, self.read_reply(method == "HEAD")).await.expect("an answer or an end in time")
    }

    pub async fn reply(&mut self, is_head: bool) -> Reply {
        timeout(PATIENCE, self.read_reply(is_head)).await.expect("an answer in time").expect("an answer")
    }

    /// Takes so many bytes of the answer, or a little more, and leaves the rest where it is.
    pub async fn read_some(&mut self, bytes: usize) {
        let enough = self.unread.len() + bytes;
        while self.unread.len() < enough && timeout(PATIENCE, self.read_more()).await.expect("bytes in time").is_some()
        {
        }
    }

    /// Waits until the server closes, and tells what it said before.
    pub async fn closed(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.unread);
        let read = timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await.expect("closed in time");
        // A reset is a close too.
        drop(read);
        String::from_utf8_lossy(&rest).into_owned()
    }

    async fn read_reply(&mut self, is_head: bool) -> Option<Reply> {
        let head_end = loop {
            if let Some(end) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            self.read_more().await?;
        };
        let head: Vec<u8> = self.unread.drain(..head_end + 4).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        // What follows here is endless: `feed.rs` reads it.
        let is_stream = headers.get("content-type").is_some_and(|media| media == "text/event-stream");
        let length = if is_head || is_stream || matches!(status, 204 | 304) {
            0
        } else {
            headers.get("content-length")?.parse().unwrap()
        };
        while self.unread.len() < length {
            self.read_more().await?;
        }
        let bytes: Vec<u8> = self.unread.drain(..length).collect();
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Some(Reply { status, headers, body, bytes })
    }

    /// The next chunk of an answer without an end; `None` at its end, and where it is cut off.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line_end = loop {
            if let Some(end) = self.unread.windows(2).position(|bytes| bytes == b"\r\n") {
                break end;
            }
            self.read_more().await?;
        };
        let length =
            std::str::from_utf8(&self.unread[..line_end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok())?;
        while self.unread.len() < line_end + 2 + length + 2 {
            self.read_more().await?;
        }
        let chunk = self.unread[line_end + 2..line_end + 2 + length].to_vec();
        self.unread.drain(..line_end + 2 + length + 2);
        (!chunk.is_empty()).then_some(chunk)
    }

    async fn read_more(&mut self) -> Option<()> {
        let mut buffer = vec![0; 64 * 1024];
        let read = self.stream.read(&mut buffer).await.ok()?;
        self.unread.extend_from_slice(&buffer[..read]);
        (read > 0).then_some(())
    }
}

pub fn written(method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text.push_str("host: localhost\r\n");
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    match body {
        Some(body) => text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len())),
        None => text.push_str("\r\n"),
    }
    text
}
