//! A server for jobs to call. It remembers every request, and answers as the path asks.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_runtime::Tasks;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How a call is answered; the last part of its path says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 200, at once.
    Ok,
    /// 200, after so many milliseconds.
    Slow(u64),
    /// 500 for the first try that gets here, then 200.
    Flaky,
    /// 200, once [`Target::open`] was called.
    Held,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub job: String,
    pub attempt: u32,
    pub fence: i64,
    pub at: Instant,
}

#[derive(Clone)]
pub struct Target {
    base: String,
    calls: Arc<Mutex<Vec<Call>>>,
    gate: watch::Sender<bool>,
}

impl Target {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let target = Self { base, calls: Arc::default(), gate: watch::Sender::new(false) };
        let (tasks, shared) = (Tasks::new(), target.clone());
        drop(tasks.clone().spawn("target", async move {
            while let Ok((stream, _)) = listener.accept().await {
                drop(tasks.spawn("caller", serve(stream, shared.clone())));
            }
        }));
        target
    }

    /// Where a job gets this answer.
    pub fn url(&self, answer: Answer) -> String {
        let base = &self.base;
        match answer {
            Answer::Ok => format!("{base}/ok"),
            Answer::Slow(millis) => format!("{base}/slow/{millis}"),
            Answer::Flaky => format!("{base}/flaky"),
            Answer::Held => format!("{base}/held"),
        }
    }

    /// Whoever is held is answered, and whoever comes later too.
    pub fn open(&self) {
        self.gate.send_replace(true);
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// What a job that was deleted had called; answers how often that was.
    pub fn forget(&self, job: &str) -> usize {
        let mut calls = self.calls.lock().unwrap();
        let before = calls.len();
        calls.retain(|call| call.job != job);
        before - calls.len()
    }

    /// Notes the call and answers whether this job was never here before.
    fn note(&self, headers: &HashMap<String, String>) -> bool {
        let call = Call {
            job: headers["foreman-job-id"].clone(),
            attempt: headers["foreman-attempt"].parse().unwrap(),
            fence: headers["foreman-fence"].parse().unwrap(),
            at: Instant::now(),
        };
        let mut calls = self.calls.lock().unwrap();
        let is_first = calls.iter().rev().all(|earlier| earlier.job != call.job);
        calls.push(call);
        is_first
    }
}

/// How often each try of each job was heard of.
pub fn per_claim(calls: &[Call]) -> BTreeMap<(&str, i64), usize> {
    let mut seen = BTreeMap::new();
    for call in calls {
        *seen.entry((call.job.as_str(), call.fence)).or_default() += 1;
    }
    seen
}

/// Requests of one connection, one after the other, until the caller goes away.
async fn serve(stream: TcpStream, target: Target) {
    let mut stream = BufReader::new(stream);
    let mut gate = target.gate.subscribe();
    while let Some((path, headers)) = read_request(&mut stream).await {
        let is_first = target.note(&headers);
        let mut parts = path.trim_start_matches('/').split('/');
        let status = match (parts.next(), parts.next()) {
            (Some("slow"), Some(millis)) => {
                sleep(Duration::from_millis(millis.parse().unwrap())).await;
                200
            }
            (Some("flaky"), None) if is_first => 500,
            (Some("held"), None) => {
                if gate.wait_for(|is_open| *is_open).await.is_err() {
                    return;
                }
                200
            }
            _ => 200,
        };
        let said = format!("HTTP/1.1 {status} So\r\ncontent-length: 2\r\n\r\nok");
        if stream.write_all(said.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<(String, HashMap<String, String>)> {
    let mut path = None;
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
        if path.is_none() {
            path = Some(line.split(' ').nth(1)?.to_owned());
        } else if let Some((name, value)) = line.trim().split_once(": ") {
            headers.insert(name.to_lowercase(), value.to_owned());
        }
    }
    let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((path?, headers))
}
