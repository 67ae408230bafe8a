//! What waits for one client: bounded, so that one who does not take it costs nobody else anything.
//!
//! The reader of the log puts pieces in and never waits; the client's own connection takes them out. One piece always fits,
//! however large: a single transaction may move more jobs than the bound has room for. When a further one does not, all of it is
//! thrown away and the client closed: it comes back with its cursor and reads the log at its own pace.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::Config;
use super::cursor::LogCursor;
use super::event::LabelCandidate;

/// About as many bytes as an event has.
const CANDIDATE_BYTES: usize = 200;

/// What one look at the log brought for a client.
#[derive(Clone, Debug)]
pub(super) struct MailboxPiece {
    pub what: PieceContent,
    pub events: u64,
    /// Where the client stands when it has this.
    pub cursor: LogCursor,
}

#[derive(Clone, Debug)]
pub(super) enum PieceContent {
    /// The same bytes for everyone who sees the same.
    Text(Bytes),
    /// Moves whose labels decide.
    Candidates(Vec<LabelCandidate>),
}

impl MailboxPiece {
    fn size(&self) -> usize {
        match &self.what {
            PieceContent::Text(bytes) => bytes.len(),
            PieceContent::Candidates(candidates) => candidates.len() * CANDIDATE_BYTES,
        }
    }
}

#[derive(Default)]
pub(super) struct Mailbox {
    inside: Mutex<MailboxState>,
    arrived: Notify,
}

#[derive(Default)]
struct MailboxState {
    pieces: VecDeque<MailboxPiece>,
    bytes: usize,
    end: Option<MailboxEnd>,
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MailboxEnd {
    /// More waited than may.
    Overfull,
    /// The reader of the log cannot go on where it was.
    Lost,
}

impl Mailbox {
    /// `false` when there is no room, or has been none before: nothing more will be taken.
    pub fn put(&self, piece: MailboxPiece, config: &Config) -> bool {
        let mut inside = self.lock();
        if inside.end.is_some() {
            return false;
        }
        let size = piece.size();
        let has_room = inside.pieces.len() < config.queue_pieces && inside.bytes + size <= config.queue_bytes;
        if !has_room && !inside.pieces.is_empty() {
            inside.close(MailboxEnd::Overfull);
        } else {
            inside.bytes += size;
            inside.pieces.push_back(piece);
        }
        let is_open = inside.end.is_none();
        drop(inside);
        self.arrived.notify_one();
        is_open
    }

    pub fn close(&self, end: MailboxEnd) {
        self.lock().close(end);
        self.arrived.notify_one();
    }

    /// The next piece; one that is dropped while it waits has taken nothing.
    pub async fn next(&self) -> Result<MailboxPiece, MailboxEnd> {
        loop {
            {
                let mut inside = self.lock();
                if let Some(end) = inside.end {
                    return Err(end);
                }
                if let Some(piece) = inside.pieces.pop_front() {
                    inside.bytes -= piece.size();
                    return Ok(piece);
                }
            }
            // What arrives in between leaves its permit.
            self.arrived.notified().await;
        }
    }

    /// Whether everything that was ever put in has been taken out.
    pub fn is_empty(&self) -> bool {
        let inside = self.lock();
        inside.pieces.is_empty() && inside.end.is_none()
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState> {
        // Nothing in here can panic half way through a change.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MailboxState {
    fn close(&mut self, end: MailboxEnd) {
        self.end.get_or_insert(end);
        (self.pieces, self.bytes) = (VecDeque::new(), 0);
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::ports::Position;

    use super::*;

    fn piece(number: i64, size: usize) -> MailboxPiece {
        MailboxPiece {
            what: PieceContent::Text(Bytes::from(vec![b'x'; size])),
            events: 1,
            cursor: LogCursor::whole(Position(number)),
        }
    }

    fn config() -> Config {
        Config { queue_pieces: 3, queue_bytes: 100, ..Config::default() }
    }

    #[tokio::test]
    async fn pieces_come_out_as_they_went_in() {
        let mailbox = Mailbox::default();
        for number in 1..=3 {
            assert!(mailbox.put(piece(number, 10), &config()));
        }
        for number in 1..=3 {
            assert_eq!(mailbox.next().await.expect("a piece").cursor.position, Position(number));
        }
        assert!(mailbox.is_empty());
    }

    #[tokio::test]
    async fn too_many_or_too_large_is_the_end() {
        for (sizes, last) in [(vec![1, 1, 1], 1), (vec![60], 41), (vec![1_000], 1)] {
            let mailbox = Mailbox::default();
            for size in &sizes {
                assert!(mailbox.put(piece(1, *size), &config()), "{sizes:?}");
            }
            assert!(!mailbox.put(piece(2, last), &config()), "{sizes:?}");
            assert!(!mailbox.put(piece(3, 1), &config()), "never again");
            assert_eq!(mailbox.next().await.expect_err("closed"), MailboxEnd::Overfull);
            assert!(!mailbox.is_empty(), "something was lost");
        }
    }

    #[tokio::test]
    async fn room_comes_back_when_a_piece_is_taken() {
        let mailbox = Mailbox::default();
        for number in 0..100 {
            assert!(mailbox.put(piece(number, 60), &config()));
            mailbox.next().await.expect("a piece");
        }
    }
}
