//! A plain request, for what the client hides: headers, and servers that are not there.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// No answer in this time is none.
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn get(address: &str, path: &str) -> io::Result<Answer> {
    ask(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")).await
}

/// As somebody who shows this key.
#[allow(dead_code, reason = "the tests of Redis show keys")]
pub async fn get_with_key(address: &str, path: &str, key: &str) -> io::Result<Answer> {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}");
    ask(address, &format!("{head}\r\n\r\n")).await
}

pub async fn post(address: &str, path: &str, json: &str) -> io::Result<Answer> {
    let length = json.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json");
    ask(address, &format!("{head}\r\ncontent-length: {length}\r\n\r\n{json}")).await
}

async fn ask(address: &str, request: &str) -> io::Result<Answer> {
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok::<_, io::Error>(text)
    };
    let text = timeout(PATIENCE, asked).await.map_err(|_| io::ErrorKind::TimedOut)??;
    parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, format!("half an answer: {text:?}")))
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Some(Answer { status, headers, body: body.to_owned() })
}
