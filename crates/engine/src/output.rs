//! What running commands print, line by line, while they run.
//!
//! One board for the process. A command's attempt opens a [`OutputFeed`] and pushes what it reads; whoever asks through
//! [`LiveOutput`] gets the last lines. The board is a window, not a record: the record is the attempt's report.
//!
//! Nothing here grows for ever: a job has so many lines and bytes, the whole board has so many bytes, and an entry goes a
//! moment after its feed was dropped, however the attempt ended. Two attempts of one job in one process (a zombie and
//! its successor) do not mix: the newer one has the board, and the older one's lines are dropped. It all dies with
//! the process, and nobody misses it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::JobId;
use foreman_core::ports::{LiveOutput, OutputChunk, OutputLine, OutputStream};
use foreman_core::redact::KnownSecrets;
use tokio::time::Instant;

use crate::target::{readable, whole_characters};

#[derive(Clone, Debug)]
pub struct Config {
    /// Of one job.
    pub lines: usize,
    /// Of one job.
    pub bytes: usize,
    /// Of all jobs together.
    pub total_bytes: usize,
    /// A line without an end is cut into pieces of this size.
    pub line_bytes: usize,
    /// How long the lines stay after the attempt, so that whoever asks every second sees the last ones.
    pub linger: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lines: 1_000,
            bytes: 256 * 1024,
            total_bytes: 64 * 1024 * 1024,
            line_bytes: 8 * 1024,
            linger: Duration::from_secs(10),
        }
    }
}

/// The board. Clones share it.
#[derive(Clone, Default)]
pub struct OutputHub {
    shared: Arc<SharedBoard>,
}

#[derive(Default)]
struct SharedBoard {
    config: Config,
    board: Mutex<Board>,
}

impl OutputHub {
    pub fn new(config: Config) -> Self {
        Self { shared: Arc::new(SharedBoard { config, board: Mutex::default() }) }
    }

    /// Starts the output of a new attempt; what an earlier one left goes.
    pub fn open(&self, job: JobId) -> OutputFeed {
        let number = self.shared.board().open(job, &self.shared.config);
        OutputFeed { shared: Arc::clone(&self.shared), job, number }
    }

    /// How many jobs have lines here, those that ended a moment ago included.
    pub fn jobs(&self) -> usize {
        let mut board = self.shared.board();
        board.forget_ended(&self.shared.config);
        board.entries.len()
    }
}

impl LiveOutput for OutputHub {
    fn read(&self, job: JobId, after: u64) -> Option<OutputChunk> {
        let mut board = self.shared.board();
        board.forget_ended(&self.shared.config);
        board.entries.get(&job).map(|entry| entry.read(after))
    }
}

impl SharedBoard {
    /// Counts and lines change together under one guard; should a panic ever come between, a count may be off, and
    /// only makes room a little early or late.
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Proof that an attempt is under way; dropping it is what takes its lines from the board, a moment later.
pub struct OutputFeed {
    shared: Arc<SharedBoard>,
    job: JobId,
    number: u64,
}

impl OutputFeed {
    /// Takes the bytes of one stream as they come.
    pub fn lines(&self, stream: OutputStream) -> LineSplitter {
        let (shared, known) = (Arc::clone(&self.shared), Arc::default());
        LineSplitter { shared, job: self.job, number: self.number, stream, begun: Vec::new(), known }
    }
}

impl Drop for OutputFeed {
    fn drop(&mut self) {
        self.shared.board().end(self.job, self.number, &self.shared.config);
    }
}

/// Cuts a stream into lines. A line without its end waits for it, and is published when the stream ends.
pub struct LineSplitter {
    shared: Arc<SharedBoard>,
    job: JobId,
    number: u64,
    stream: OutputStream,
    begun: Vec<u8>,
    known: Arc<KnownSecrets>,
}

impl LineSplitter {
    /// Publishes these as `***`.
    #[must_use]
    pub fn hiding(mut self, known: Arc<KnownSecrets>) -> Self {
        self.known = known;
        self
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let mut whole = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            while self.begun.len() > self.shared.config.line_bytes && !is_ended_line(&self.begun, &self.shared.config) {
                let mut rest = self.begun.split_off(self.shared.config.line_bytes);
                let cut = match whole_characters(&self.begun) {
                    0 => self.begun.len(),
                    cut => cut,
                };
                rest.splice(0..0, self.begun.drain(cut..));
                let piece = std::mem::replace(&mut self.begun, rest);
                whole.push(self.line(&piece));
            }
            if self.begun.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                whole.push(self.line(&line));
            }
        }
        self.publish(whole);
    }

    fn line(&self, bytes: &[u8]) -> OutputLine {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let mut text = readable(bytes);
        self.known.hide(&mut text);
        OutputLine { stream: self.stream, text }
    }

    fn publish(&self, lines: Vec<OutputLine>) {
        if !lines.is_empty() {
            self.shared.board().publish(self.job, self.number, lines, &self.shared.config);
        }
    }
}

/// A line of just the allowed length, whose end comes on top.
fn is_ended_line(bytes: &[u8], config: &Config) -> bool {
    bytes.ends_with(b"\n") && bytes.len() <= config.line_bytes + 1
}

impl Drop for LineSplitter {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            let last = self.line(&self.begun);
            self.publish(vec![last]);
        }
    }
}

#[derive(Default)]
struct Board {
    entries: HashMap<JobId, JobOutput>,
    /// In the order in which they ended.
    ended: VecDeque<(Instant, JobId, u64)>,
    opened: u64,
    bytes: usize,
}

struct JobOutput {
    /// Which feed this is, so that an older one of the same job is told apart.
    number: u64,
    lines: VecDeque<OutputLine>,
    first_line: u64,
    bytes: usize,
}

/// What an entry and a line cost beyond their text, so that a flood of empty ones is bounded too.
const ENTRY_COST: usize = 256;
const LINE_COST: usize = size_of::<OutputLine>();

fn cost(line: &OutputLine) -> usize {
    LINE_COST + line.text.len()
}

impl Board {
    fn open(&mut self, job: JobId, config: &Config) -> u64 {
        self.forget_ended(config);
        self.remove(job);
        self.opened += 1;
        let entry = JobOutput { number: self.opened, lines: VecDeque::new(), first_line: 0, bytes: ENTRY_COST };
        self.entries.insert(job, entry);
        self.bytes += ENTRY_COST;
        self.opened
    }

    fn publish(&mut self, job: JobId, number: u64, lines: Vec<OutputLine>, config: &Config) {
        let Some(entry) = self.entries.get_mut(&job).filter(|entry| entry.number == number) else { return };
        let before = entry.bytes;
        for line in lines {
            entry.push(line, config);
        }
        self.bytes = self.bytes + entry.bytes - before;
        self.make_room(job, config);
    }

    /// What has ended makes room first; then the one who prints pays with its own old lines.
    fn make_room(&mut self, printing: JobId, config: &Config) {
        while self.bytes > config.total_bytes
            && let Some((_, job, number)) = self.ended.pop_front()
        {
            self.remove_numbered(job, number);
        }
        let over = self.bytes.saturating_sub(config.total_bytes);
        if let Some(entry) = self.entries.get_mut(&printing) {
            self.bytes -= entry.shed(over);
        }
    }

    fn end(&mut self, job: JobId, number: u64, config: &Config) {
        self.ended.push_back((Instant::now(), job, number));
        self.forget_ended(config);
    }

    fn forget_ended(&mut self, config: &Config) {
        while let Some((ended_at, job, number)) = self.ended.front().copied()
            && ended_at.elapsed() >= config.linger
        {
            self.ended.pop_front();
            self.remove_numbered(job, number);
        }
    }

    fn remove_numbered(&mut self, job: JobId, number: u64) {
        if self.entries.get(&job).is_some_and(|entry| entry.number == number) {
            self.remove(job);
        }
    }

    fn remove(&mut self, job: JobId) {
        if let Some(entry) = self.entries.remove(&job) {
            self.bytes -= entry.bytes;
        }
    }
}

impl JobOutput {
    fn push(&mut self, line: OutputLine, config: &Config) {
        self.bytes += cost(&line);
        self.lines.push_back(line);
        while self.lines.len() > config.lines || (self.bytes > config.bytes && self.lines.len() > 1) {
            self.drop_first();
        }
    }

    /// Gives up old lines worth `over` bytes, and says how much it was.
    fn shed(&mut self, over: usize) -> usize {
        let before = self.bytes;
        while before - self.bytes < over && !self.lines.is_empty() {
            self.drop_first();
        }
        before - self.bytes
    }

    fn drop_first(&mut self) {
        if let Some(line) = self.lines.pop_front() {
            self.bytes -= cost(&line);
            self.first_line += 1;
        }
    }

    fn read(&self, after: u64) -> OutputChunk {
        let next_line = self.first_line + self.lines.len() as u64;
        let first_line = after.clamp(self.first_line, next_line);
        let skipped = usize::try_from(first_line - self.first_line).unwrap_or(usize::MAX);
        OutputChunk { first_line, lines: self.lines.iter().skip(skipped).cloned().collect(), next_line }
    }
}

#[cfg(test)]
mod tests;
