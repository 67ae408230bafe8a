//! Clients that follow, count what they are told, and look at how late it is.
//!
//! They do as little as they can, for they share the machine with what is measured: bytes are searched, not parsed, and only one
//! client in twenty looks at times.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use foreman_core::Timestamp;
use foreman_runtime::clock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const EVENT: &[u8] = b"event: job\n";
const END: &[u8] = b"\"state\":\"completed\"";
const AT: &[u8] = b"\"at\":\"";
const LOOKS_AT_TIMES: usize = 20;

#[derive(Clone, Debug, Default)]
pub struct Heard {
    pub events: usize,
    pub ends: usize,
    late: Vec<f64>,
}

impl Heard {
    /// In milliseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut late = self.late.clone();
        late.sort_by(f64::total_cmp);
        late.get(((late.len() as f64 - 1.0) * part).max(0.0) as usize).copied().unwrap_or(f64::NAN)
    }
}

type Ears = Vec<Rc<RefCell<Heard>>>;

/// They listen as long as this lives.
pub struct Crowd {
    ears: Ears,
    _listening: JoinSet<()>,
}

impl Crowd {
    /// Connects all of them, and waits until each is told something: then it is known to be let in.
    pub async fn gather(address: &str, path: &str, clients: usize) -> Result<Self> {
        let (mut ears, mut listening) = (Ears::new(), JoinSet::new());
        for number in 0..clients {
            let stream = open(address, path).await.with_context(|| format!("client {number}"))?;
            let ear: Rc<RefCell<Heard>> = Rc::default();
            ears.push(Rc::clone(&ear));
            listening.spawn_local(listen(stream, ear, number.is_multiple_of(LOOKS_AT_TIMES)));
        }
        Ok(Self { ears, _listening: listening })
    }

    pub fn reset(&self) {
        for ear in &self.ears {
            *ear.borrow_mut() = Heard::default();
        }
    }

    /// Waits until every client was told so many ends; together with what all of them heard.
    pub async fn heard_all(&self, ends: usize, patience: Duration) -> Result<Heard> {
        let start = Instant::now();
        while self.ears.iter().any(|ear| ear.borrow().ends < ends) {
            if start.elapsed() > patience {
                let worst = self.ears.iter().map(|ear| ear.borrow().ends).min().unwrap_or(0);
                bail!("a client was told {worst} ends of {ends}");
            }
            sleep(Duration::from_millis(20)).await;
        }
        let mut all = Heard::default();
        for ear in &self.ears {
            let ear = ear.borrow();
            all.events += ear.events;
            all.ends += ear.ends;
            all.late.extend(&ear.late);
        }
        Ok(all)
    }
}

async fn open(address: &str, path: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    // The head, and the first event: before that a client is not yet let in.
    while !head.windows(6).any(|window| window == b"event:") {
        if stream.read_buf(&mut head).await? == 0 {
            bail!("closed at its head: {}", String::from_utf8_lossy(&head));
        }
    }
    if !head.starts_with(b"HTTP/1.1 200") {
        bail!("{}", String::from_utf8_lossy(&head));
    }
    Ok(stream)
}

async fn listen(mut stream: TcpStream, ear: Rc<RefCell<Heard>>, looks_at_times: bool) {
    let mut bytes = Vec::with_capacity(64 * 1024);
    loop {
        match stream.read_buf(&mut bytes).await {
            Ok(read) if read > 0 => {}
            // It misses what comes now, and that is seen.
            _ => return,
        }
        // Up to the last event that is whole.
        let Some(whole) = last(&bytes, b"\n\n").map(|end| end + 2) else { continue };
        let now = clock::now();
        let mut heard = ear.borrow_mut();
        heard.events += count(&bytes[..whole], EVENT);
        heard.ends += count(&bytes[..whole], END);
        if looks_at_times {
            let late = times(&bytes[..whole]).map(|at| (now - at.as_micros()) as f64 / 1_000.0);
            heard.late.extend(late);
        }
        drop(heard);
        bytes.drain(..whole);
    }
}

fn last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

fn count(bytes: &[u8], wanted: &[u8]) -> usize {
    finds(bytes, wanted).count()
}

fn finds<'a>(bytes: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = wanted[0];
    bytes
        .iter()
        .enumerate()
        .filter(move |(_, byte)| **byte == first)
        .map(|(place, _)| place)
        .filter(move |place| bytes[*place..].starts_with(wanted))
}

/// Of the events about jobs.
fn times(bytes: &[u8]) -> impl Iterator<Item = Timestamp> {
    finds(bytes, EVENT).filter_map(|place| {
        let event = &bytes[place..];
        let start = finds(event, AT).next()? + AT.len();
        let end = start + event[start..].iter().position(|byte| *byte == b'"')?;
        std::str::from_utf8(&event[start..end]).ok()?.parse().ok()
    })
}
