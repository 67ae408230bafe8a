//! The smallest HTTP client that keeps a connection busy: the load must not cost more than what it measures.

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Connection {
    stream: TcpStream,
    host: String,
    received: Vec<u8>,
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Connection {
    pub async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: address.to_owned(), received: Vec::with_capacity(16 * 1024) })
    }

    pub async fn post(&mut self, path: &str, body: &[u8]) -> Result<Answer> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        self.stream.write_all(&request).await?;
        self.answer().await
    }

    pub async fn get(&mut self, path: &str) -> Result<Answer> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes()).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> Result<Answer> {
        let head_end = loop {
            if let Some(end) = self.received.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let head = std::str::from_utf8(&self.received[..head_end])?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).context("no status")?.parse()?;
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .context("an answer without a length")?
            .trim()
            .parse()?;
        while self.received.len() < head_end + length {
            self.more().await?;
        }
        let body = self.received[head_end..head_end + length].to_vec();
        self.received.drain(..head_end + length);
        Ok(Answer { status, body })
    }

    async fn more(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.received).await? == 0 {
            bail!("the server closed the connection");
        }
        Ok(())
    }
}
