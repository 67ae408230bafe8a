//! A server for jobs to call. It remembers every request, and answers as it is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_runtime::Tasks;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub struct Call {
    pub job: String,
    pub fence: String,
    pub attempt: u32,
}

/// What is answered to the nth call: a status, after so long.
type Answer = dyn Fn(usize) -> (u16, Duration) + Send + Sync;

#[derive(Clone)]
pub struct Target {
    pub url: String,
    calls: Arc<Mutex<Vec<Call>>>,
    gate: watch::Sender<bool>,
}

impl Target {
    /// Answers at once with 200.
    pub async fn willing() -> Self {
        Self::answering(|_| (200, Duration::ZERO)).await
    }

    pub async fn answering(answer: impl Fn(usize) -> (u16, Duration) + Send + Sync + 'static) -> Self {
        Self::start(true, Arc::new(answer)).await
    }

    /// Lets every caller wait until [`Target::open`].
    pub async fn holding() -> Self {
        Self::start(false, Arc::new(|_| (200, Duration::ZERO))).await
    }

    async fn start(is_open: bool, answer: Arc<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let target = Self { url, calls: Arc::default(), gate: watch::Sender::new(is_open) };
        let (tasks, shared) = (Tasks::new(), target.clone());
        drop(tasks.clone().spawn("target", async move {
            while let Ok((stream, _)) = listener.accept().await {
                drop(tasks.spawn("caller", serve(stream, shared.clone(), Arc::clone(&answer))));
            }
        }));
        target
    }

    pub fn open(&self) {
        self.gate.send_replace(true);
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// One TCP request per attempt: none was made twice under one number.
    pub fn assert_one_call_per_attempt(&self) {
        let mut seen: HashMap<(String, String), usize> = HashMap::new();
        for call in self.calls() {
            *seen.entry((call.job, call.fence)).or_default() += 1;
        }
        let doubled: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
        assert!(doubled.is_empty(), "called twice under one claim: {doubled:?}");
    }
}

/// Requests of one connection, one after the other, until the caller goes away.
async fn serve(stream: TcpStream, target: Target, answer: Arc<Answer>) {
    let mut stream = BufReader::new(stream);
    let mut gate = target.gate.subscribe();
    while let Some(headers) = read_request(&mut stream).await {
        let number = {
            let mut calls = target.calls.lock().unwrap();
            calls.push(Call {
                job: headers["foreman-job-id"].clone(),
                fence: headers["foreman-fence"].clone(),
                attempt: headers["foreman-attempt"].parse().unwrap(),
            });
            calls.len() - 1
        };
        let (status, delay) = answer(number);
        tokio::time::sleep(delay).await;
        if gate.wait_for(|is_open| *is_open).await.is_err() {
            return;
        }
        let said = format!("HTTP/1.1 {status} So\r\ncontent-length: 2\r\n\r\nok");
        if stream.write_all(said.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<HashMap<String, String>> {
    let mut headers = HashMap::new();
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.trim().split_once(": ") {
            headers.insert(name.to_lowercase(), value.to_owned());
        }
    }
    let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(headers)
}

/// A plain GET, read to its end: status and body.
pub async fn get(address: &str, path: &str, patience: Duration) -> (u16, String) {
    let asked = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    };
    let text = tokio::time::timeout(patience, asked).await.expect("an answer");
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    (status, body)
}
