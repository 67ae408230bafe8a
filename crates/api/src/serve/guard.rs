//! A connection that does not wait for ever.
//!
//! hyper's one timer runs from the end of a request to the head of the next and so cannot tell a slow client from an idle
//! one; and before it knows whether a client speaks HTTP/1 or HTTP/2 it has no timer at all. Therefore the socket itself
//! watches:
//!
//! | while | patience |
//! |---|---|
//! | the first request's head is awaited | `header_timeout` from the connection |
//! | a later head has begun to arrive | `header_timeout` from its first byte |
//! | nothing is asked | `idle_timeout` |
//! | a request is being answered | none here: its body has its own, and a long poll may take its time |
//! | the client takes nothing of its answer | `write_timeout`; less where the answer is a stream |
//! | an answer waits for the client's window (HTTP/2) | the longer of the last two, from the last piece it took |
//!
//! A patience that ends is an I/O error to hyper, which then closes the connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Config;

const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Which requests and answers are under way on a connection.
#[derive(Clone, Default)]
pub(super) struct Activity(Arc<ActivityCounters>);

#[derive(Default)]
struct ActivityCounters {
    begun: AtomicUsize,
    ended: AtomicUsize,
    queued: AtomicUsize,
    sent: AtomicUsize,
    /// How long the client may take nothing, in milliseconds; 0: as long as the configuration says.
    patience_ms: AtomicU64,
}

impl Activity {
    pub fn new() -> Self {
        Self::default()
    }

    /// A request begins; it ends when there is an answer to send.
    pub fn begin(&self) -> InFlight {
        self.0.begun.fetch_add(1, Ordering::AcqRel);
        InFlight(self.clone())
    }

    /// There is something to send; it is sent, or not wanted any more, when this is dropped.
    pub fn send(&self) -> Unsent {
        self.0.queued.fetch_add(1, Ordering::AcqRel);
        Unsent(self.clone())
    }

    /// What is being sent now is sent to a client that takes it, or not at all.
    pub fn hurry(&self, patience: Duration) {
        let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX).max(1);
        self.0.patience_ms.store(millis, Ordering::Release);
    }

    /// Nothing is asked, and nothing is to be sent.
    pub fn is_idle(&self) -> bool {
        let sample = self.sample();
        !sample.is_busy() && !sample.is_sending()
    }

    /// Something was asked once.
    pub fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::Acquire) > 0
    }

    fn write_timeout(&self, usual: Duration) -> Duration {
        match self.0.patience_ms.load(Ordering::Acquire) {
            0 => usual,
            millis => usual.min(Duration::from_millis(millis)),
        }
    }

    fn sample(&self) -> ActivitySample {
        // The ends first: read the other way round, a request that begins and ends in between would look like a negative one.
        let (ended, sent) = (self.0.ended.load(Ordering::Acquire), self.0.sent.load(Ordering::Acquire));
        let (begun, queued) = (self.0.begun.load(Ordering::Acquire), self.0.queued.load(Ordering::Acquire));
        ActivitySample { begun, ended, queued, sent }
    }
}

/// How many requests had begun and ended at one look, and how many pieces of answers had been queued and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ActivitySample {
    begun: usize,
    ended: usize,
    queued: usize,
    sent: usize,
}

impl ActivitySample {
    fn is_busy(self) -> bool {
        self.begun != self.ended
    }

    fn is_sending(self) -> bool {
        self.queued != self.sent
    }
}

pub(super) struct InFlight(Activity);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.0.ended.fetch_add(1, Ordering::AcqRel);
    }
}

pub(super) struct Unsent(Activity);

impl Drop for Unsent {
    fn drop(&mut self) {
        self.0.0.sent.fetch_add(1, Ordering::AcqRel);
    }
}

pub(super) struct Guarded {
    stream: TcpStream,
    activity: Activity,
    header_timeout: Duration,
    idle_timeout: Duration,
    write_timeout: Duration,
    /// How much of the HTTP/2 preface has been seen; `None` once it is another protocol.
    preface: Option<usize>,
    /// The requests at the last look.
    sample: ActivitySample,
    /// Since when nothing is asked, and nothing more was taken of an answer.
    idle_since: Instant,
    /// Since when a head is arriving.
    head_since: Option<Instant>,
    reading: PatienceTimer,
    writing: PatienceTimer,
}

impl Guarded {
    pub fn new(stream: TcpStream, config: &Config, activity: Activity) -> Self {
        let now = Instant::now();
        Self {
            stream,
            activity,
            header_timeout: config.header_timeout,
            idle_timeout: config.idle_timeout,
            write_timeout: config.write_timeout,
            preface: Some(0),
            sample: ActivitySample::default(),
            idle_since: now,
            // The first head is awaited from the start: whoever connects has something to say.
            head_since: Some(now),
            reading: PatienceTimer::default(),
            writing: PatienceTimer::default(),
        }
    }

    fn speaks_http2(&self) -> bool {
        self.preface == Some(HTTP2_PREFACE.len())
    }

    fn note_read(&mut self, bytes: &[u8]) {
        if let Some(seen) = self.preface.filter(|seen| *seen < HTTP2_PREFACE.len()) {
            let compared = bytes.len().min(HTTP2_PREFACE.len() - seen);
            let fits = bytes[..compared] == HTTP2_PREFACE[seen..seen + compared];
            self.preface = fits.then_some(seen + compared);
        }
        self.note_requests();
        if !self.sample.is_busy() && !self.sample.is_sending() && !bytes.is_empty() && self.head_since.is_none() {
            self.head_since = Some(Instant::now());
        }
    }

    /// A request that began since the last look ends the wait for its head; one that ended, and each piece of an answer
    /// that was taken, begins the idle time.
    fn note_requests(&mut self) {
        let sample = self.activity.sample();
        if sample != self.sample {
            if sample.begun != self.sample.begun {
                self.head_since = None;
            }
            self.sample = sample;
            self.idle_since = Instant::now();
        }
    }

    fn read_deadline(&mut self) -> Option<Instant> {
        self.note_requests();
        if self.sample.is_busy() {
            return None;
        }
        if self.sample.is_sending() {
            // hyper reads no further head meanwhile, so none can be late. Between two pieces there may be a wait for the
            // socket, which `watch_write` sees, or for the client's window, which only this does.
            let patience = self.idle_timeout.max(self.write_timeout);
            return Some(self.idle_since + patience);
        }
        let mut idle = self.idle_since + self.idle_timeout;
        if let Some(timer) = &self.writing.timer {
            // How long the client may leave its answer lying is for `write_timeout` to say.
            idle = idle.max(timer.deadline());
        }
        match self.head_since {
            // Frames of HTTP/2 come without a request too: an answer to a ping is not the start of a head.
            Some(since) if !self.speaks_http2() => Some(idle.min(since + self.header_timeout)),
            _ => Some(idle),
        }
    }
}

/// A deadline that is armed while there is something to wait for.
#[derive(Default)]
struct PatienceTimer {
    timer: Option<Pin<Box<Sleep>>>,
}

impl PatienceTimer {
    fn poll_over(&mut self, deadline: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = deadline else {
            self.timer = None;
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }

    /// The deadline armed before, or a new one from now.
    fn deadline_or(&self, patience: Duration) -> Instant {
        self.timer.as_ref().map_or_else(|| Instant::now() + patience, |timer| timer.deadline())
    }
}

fn timed_out(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl AsyncRead for Guarded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                self.note_read(&buf.filled()[before..]);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                let deadline = self.read_deadline();
                self.reading.poll_over(deadline, cx).map(|()| Err(timed_out("the client sent no request in time")))
            }
        }
    }
}

impl Guarded {
    fn watch_write<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.writing.timer.take().is_some() {
                // The client goes on taking an answer whose handler is long done: that is not idle. What is written without
                // a wait does not count, or the pings of HTTP/2 would keep their own connection alive.
                self.idle_since = Instant::now();
            }
            return written;
        }
        let deadline = self.writing.deadline_or(self.activity.write_timeout(self.write_timeout));
        self.writing.poll_over(Some(deadline), cx).map(|()| Err(timed_out("the client did not read its response")))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch_write(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch_write(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
