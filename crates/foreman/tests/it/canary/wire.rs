//! Requests to the API, written by hand, so that nothing tidies them up; every byte that comes back is kept.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub struct Ask<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// Whole lines, without their ends.
    pub headers: Vec<String>,
    pub body: Option<String>,
}

impl<'a> Ask<'a> {
    pub fn new(method: &'a str, path: &'a str) -> Self {
        Self { method, path, headers: Vec::new(), body: None }
    }

    pub fn key(self, key: &str) -> Self {
        self.header(&format!("Authorization: Bearer {key}"))
    }

    pub fn header(mut self, line: &str) -> Self {
        self.headers.push(line.to_owned());
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.text(&body.to_string())
    }

    pub fn text(mut self, body: &str) -> Self {
        self.body = Some(body.to_owned());
        self.header("Content-Type: application/json")
    }
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// Head and body, as they came.
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        let (_, body) = self.text.split_once("\r\n\r\n").expect("a head and a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

pub async fn send(address: &str, ask: &Ask<'_>) -> Answer {
    let body = ask.body.as_deref().unwrap_or_default();
    let mut request = format!("{} {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n", ask.method, ask.path);
    for header in &ask.headers {
        request.push_str(&format!("{header}\r\n"));
    }
    request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let asked = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    };
    let text = tokio::time::timeout(Duration::from_mins(1), asked).await.expect("an answer");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer { status: status.unwrap_or_else(|| panic!("no status: {text:?}")), text }
}
