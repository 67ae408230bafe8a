//! Follows a server's changes over its stream, and goes on where it was after every break.
//!
//! A [`Stream`] holds one connection. When that ends, fails, or falls silent for longer than the server's heartbeats allow, it is
//! made again with the id of the last event that arrived, and the server goes on after it: nothing is missed, however
//! often that happens. Each break and each return is told, for somebody may want to say so. A refusal that no second
//! question would change (400, 401, 403, 404) ends it.
//!
//! A snapshot that was cut is begun anew by the server: the ids within it say that it was not told to its end.
//! [`Stream::next`] may be dropped at any moment, as `select!` does: nothing that arrived is lost.

mod event;
mod follow;
mod pause;
mod sse;

use std::collections::VecDeque;
use std::time::Duration;

use foreman_protocol::document::TicketDocument;
use reqwest::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, Response};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

pub use event::{Event, StreamEvent};
pub use follow::Follow;

use crate::call::{bad, refusal};
use crate::{Client, Error};
use pause::Pauses;
use sse::{Frame, Parser};

/// What the answer's first line may take.
const ANSWER: Duration = Duration::from_secs(15);
/// A connection that lived for so long was a good one, even if nothing happened on it.
const GOOD: Duration = Duration::from_secs(5);

/// What [`Stream::next`] has to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamItem {
    Event(StreamEvent),
    /// The connection is gone. It is made again after `pause`, and then as often as it takes; until then nothing is told.
    Broken {
        why: String,
        pause: Duration,
    },
    /// It is there again. What happened meanwhile comes now.
    Resumed,
}

/// A stream that is followed.
#[derive(Debug)]
pub struct Stream {
    client: Client,
    follow: Follow,
    link: Link,
    frames: VecDeque<Frame>,
    /// Where to resume.
    resume: Option<String>,
    /// Where the caller is.
    cursor: Option<String>,
    pauses: Pauses,
    retry: Option<Duration>,
    away_since: Option<Instant>,
}

#[derive(Debug)]
enum Link {
    Open(Box<OpenConnection>),
    Away { until: Instant },
}

#[derive(Debug)]
struct OpenConnection {
    response: Response,
    parser: Parser,
    since: Instant,
    heard: Instant,
}

/// Why there is no connection.
enum ConnectFailure {
    /// It may be another matter in a while.
    Passing {
        error: Error,
        asked: Option<Duration>,
    },
    Final(Error),
}

impl Client {
    /// Follows what changes. A server that is away at the first call is an error; later it is waited for.
    pub async fn stream(&self, follow: Follow) -> Result<Stream, Error> {
        let mut stream = Stream {
            client: self.clone(),
            link: Link::Away { until: Instant::now() },
            frames: VecDeque::new(),
            resume: follow.after.clone(),
            cursor: follow.after.clone(),
            follow,
            pauses: Pauses::default(),
            retry: None,
            away_since: None,
        };
        match stream.connect().await {
            Ok(open) => stream.link = Link::Open(Box::new(open)),
            Err(ConnectFailure::Passing { error, .. } | ConnectFailure::Final(error)) => return Err(error),
        }
        Ok(stream)
    }

    /// A ticket: in the query of a stream's address it stands for the key, once and for 30 s. For those who can send no header.
    pub async fn stream_ticket(&self) -> Result<TicketDocument, Error> {
        self.post(&["stream", "tickets"]).await
    }
}

impl Stream {
    /// What comes next. Waits as long as it takes; heartbeats are told too. After an error there is nothing more to hope for.
    pub async fn next(&mut self) -> Result<StreamItem, Error> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Ok(StreamItem::Event(self.deliver(frame)));
            }
            match &mut self.link {
                Link::Open(open) => {
                    let late = open.heard + self.follow.silence;
                    match timeout_at(late, open.response.chunk()).await {
                        Ok(Ok(Some(bytes))) => self.hear(&bytes)?,
                        Ok(Ok(None)) => return Ok(self.broken("the server closed the stream".into())),
                        Ok(Err(error)) => {
                            let error = Error::of_transport(&self.client.url(&["stream"]), &error);
                            return Ok(self.broken(error.to_string()));
                        }
                        Err(_) => {
                            let silence = foreman_protocol::duration::Span(self.follow.silence);
                            return Ok(self.broken(format!("no data received for {silence}")));
                        }
                    }
                }
                Link::Away { until } => {
                    sleep_until(*until).await;
                    match self.connect().await {
                        Ok(open) => {
                            self.link = Link::Open(Box::new(open));
                            self.away_since = None;
                            return Ok(StreamItem::Resumed);
                        }
                        Err(ConnectFailure::Final(error)) => return Err(error),
                        Err(ConnectFailure::Passing { error, asked }) => self.wait_on(error, asked)?,
                    }
                }
            }
        }
    }

    /// The next event; breaks pass unmentioned.
    pub async fn next_event(&mut self) -> Result<StreamEvent, Error> {
        loop {
            if let StreamItem::Event(event) = self.next().await? {
                return Ok(event);
            }
        }
    }

    /// After the last event that was told: [`Follow::after`] goes on from here, today or tomorrow.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    fn deliver(&mut self, frame: Frame) -> StreamEvent {
        let event = StreamEvent::from(frame);
        if event.cursor.is_some() {
            self.cursor.clone_from(&event.cursor);
        }
        event
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Link::Open(open) = &mut self.link else { return Ok(()) };
        open.heard = Instant::now();
        let before = self.frames.len();
        if open.parser.feed(bytes, &mut self.frames).is_err() {
            let why = format!("an event is longer than {} KiB", sse::MOST / 1024);
            return Err(bad(&self.client.url(&["stream"]), why));
        }
        self.retry = open.parser.retry().or(self.retry);
        if let Some(id) = open.parser.last_id() {
            self.resume = Some(id.to_owned());
        }
        let has_news = self.frames.range(before..).any(|frame| frame.name != "heartbeat");
        if has_news || open.since.elapsed() >= GOOD {
            self.pauses.reset();
        }
        Ok(())
    }

    fn broken(&mut self, why: String) -> StreamItem {
        let pause = self.pauses.next(self.retry, None);
        self.link = Link::Away { until: Instant::now() + pause };
        self.away_since = Some(Instant::now());
        StreamItem::Broken { why, pause }
    }

    fn wait_on(&mut self, error: Error, asked: Option<Duration>) -> Result<(), Error> {
        let since = *self.away_since.get_or_insert_with(Instant::now);
        if self.follow.patience.is_some_and(|patience| since.elapsed() >= patience) {
            return Err(error);
        }
        self.link = Link::Away { until: Instant::now() + self.pauses.next(self.retry, asked) };
        Ok(())
    }

    async fn connect(&self) -> Result<OpenConnection, ConnectFailure> {
        if self.client.transport.is_some() {
            return Err(ConnectFailure::Final(Error::Setup("an event stream needs a connection to a server".into())));
        }
        let mut query = self.follow.query().map_err(ConnectFailure::Final)?;
        if self.follow.snapshot {
            query.push(("snapshot", "true".into()));
        }
        let url = self.client.url(&["stream"]);
        let mut request = self.client.request(Method::GET, &url).query(&query).header(ACCEPT, "text/event-stream");
        if let Some(id) = &self.resume {
            request = request.header("last-event-id", id);
        }
        let response = match timeout(ANSWER, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_builder() => {
                return Err(ConnectFailure::Final(Error::Setup(format!("could not create the request: {error}"))));
            }
            Ok(Err(error)) => {
                return Err(ConnectFailure::Passing { error: Error::of_transport(&url, &error), asked: None });
            }
            Err(_) => {
                let (url, why) = (url.origin().ascii_serialization(), "timed out".into());
                return Err(ConnectFailure::Passing { error: Error::Away { url, why }, asked: None });
            }
        };
        if !response.status().is_success() {
            return Err(refused(&url, response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(ConnectFailure::Final(bad(&url, format!("expected an event stream, got {kind:?}"))));
        }
        let now = Instant::now();
        Ok(OpenConnection { response, parser: Parser::default(), since: now, heard: now })
    }
}

async fn refused(url: &url::Url, response: Response) -> ConnectFailure {
    let status = response.status();
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    // A refusal is a refusal, even if the rest of it is lost.
    let body = match timeout(ANSWER, response.bytes()).await {
        Ok(Ok(body)) => body.to_vec(),
        _ => Vec::new(),
    };
    let error = refusal(url, status, &body);
    match status.as_u16() {
        408 | 425 | 429 | 500..=599 => ConnectFailure::Passing { error, asked: asked.map(Duration::from_secs) },
        _ => ConnectFailure::Final(error),
    }
}
