//! Somebody who is called: it remembers every byte, and says back what it was told.
//!
//! Below `/hook` it receives webhooks. Of the others `/fail` answers 500, `/refuse` 400, `/echo-body` puts the header `x-token` into its
//! answer's body, `/echo-head` into headers of its answer.

use std::sync::{Arc, Mutex};

use foreman_runtime::Tasks;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

#[derive(Clone)]
pub struct Request {
    pub path: String,
    /// As it came, its body included.
    pub text: String,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self { url: format!("http://{}", listener.local_addr().unwrap()), seen: Arc::default() };
        let (tasks, shared) = (Tasks::new(), receiver.clone());
        drop(tasks.clone().spawn("receiver", async move {
            while let Ok((stream, _)) = listener.accept().await {
                drop(tasks.spawn("caller", shared.clone().serve(stream)));
            }
        }));
        receiver
    }

    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(request) = read(&mut stream).await {
            let token = header(&request.text, "x-token").unwrap_or_default();
            let (status, more, body) = match request.path.split('?').next().unwrap_or_default() {
                "/fail" => (500, String::new(), "no"),
                "/refuse" => (400, String::new(), "no"),
                "/echo-body" => (200, String::new(), token.as_str()),
                "/echo-head" => {
                    (200, format!("set-cookie: a={token}\r\nx-echo: {token}\r\netag: \"{token}\"\r\n"), "ok")
                }
                _ => (200, String::new(), "ok"),
            };
            let said = format!("HTTP/1.1 {status} So\r\n{more}content-length: {}\r\n\r\n{body}", body.len());
            self.seen.lock().unwrap().push(request);
            if stream.write_all(said.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut text = String::new();
    loop {
        let start = text.len();
        if stream.read_line(&mut text).await.ok()? == 0 {
            return None;
        }
        if text[start..].trim().is_empty() {
            break;
        }
    }
    let length = header(&text, "content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let path = text.split(' ').nth(1)?.to_owned();
    text.push_str(&String::from_utf8_lossy(&body));
    Some(Request { path, text })
}

fn header(text: &str, wanted: &str) -> Option<String> {
    let mut lines = text.lines().skip(1).take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
}
