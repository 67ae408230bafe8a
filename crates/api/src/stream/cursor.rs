//! How far a client has read the stream, as the text of an event's `id:`.
//!
//! A row of the log tells of many jobs, and a connection may break between two of them: the cursor is a row *and* how many of
//! its entries came before, counted over all of them, whosever they are. So a client goes on exactly where it was, whatever it
//! may see and whichever process it comes back to.
//!
//! Rows are counted over all tenants, so a cursor in the clear would tell each how busy the others are: it is hidden under a key that all
//! API processes derive from what they share ([`Cursors`]). What was given out by a version before, or under a key that is no longer in
//! force, is no cursor, and its client has to start again.

use std::sync::Arc;

use foreman_core::ports::{ChangeRow, Position};
use foreman_core::sealed::{DerivedKey, Keyring};

use crate::gate::keys::KeyPolicy;

/// The first wrote cursors in the clear.
const VERSION: &str = "2";
const UNSHOWN: &str = "s";

/// Everything up to here has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogCursor {
    pub position: Position,
    pub told: RowProgress,
}

/// How much of the row at a cursor has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowProgress {
    Whole,
    /// So many of its entries: some, and not all.
    Entries(u32),
    /// All of it; but the client has asked for a snapshot, and has not had the whole of that.
    Unshown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotALogCursor;

impl LogCursor {
    pub const fn whole(position: Position) -> Self {
        Self { position, told: RowProgress::Whole }
    }

    pub const fn unshown(position: Position) -> Self {
        Self { position, told: RowProgress::Unshown }
    }

    /// After the entry with this number of a row.
    pub fn in_row(row: &ChangeRow, entry: usize) -> Self {
        let told = entry + 1;
        let is_last = told >= row.moved.len() + row.notes.len();
        let told =
            if is_last { RowProgress::Whole } else { RowProgress::Entries(u32::try_from(told).unwrap_or(u32::MAX)) };
        Self { position: row.position, told }
    }

    /// Where the log is read on from: before the row, if some of it has still to be told.
    pub fn read_after(self) -> Position {
        match self.told {
            RowProgress::Whole | RowProgress::Unshown => self.position,
            RowProgress::Entries(_) => Position(self.position.0.saturating_sub(1)),
        }
    }

    /// How many entries of this row have been told already.
    pub fn told_of(self, row: &ChangeRow) -> usize {
        match self.told {
            RowProgress::Entries(count) if row.position == self.position => count as usize,
            _ => 0,
        }
    }

    fn plain(self) -> String {
        let position = self.position.0;
        match self.told {
            RowProgress::Whole => format!("{position:x}"),
            RowProgress::Entries(count) => format!("{position:x}-{count:x}"),
            RowProgress::Unshown => format!("{position:x}-{UNSHOWN}"),
        }
    }

    /// Only what [`LogCursor::plain`] could have written.
    fn read(text: &str) -> Result<Self, NotALogCursor> {
        let mut parts = text.split('-');
        let (position, told) = (parts.next(), parts.next());
        let position = i64::from_str_radix(position.ok_or(NotALogCursor)?, 16).map_err(|_| NotALogCursor)?;
        let told = match told {
            None => RowProgress::Whole,
            Some(UNSHOWN) => RowProgress::Unshown,
            Some(count) => RowProgress::Entries(u32::from_str_radix(count, 16).map_err(|_| NotALogCursor)?),
        };
        let cursor = Self { position: Position(position), told };
        // The number of a row, and of entries in it, is never 0 where it counts; signs, capitals and zeros in front are not ours.
        let is_possible =
            position >= i64::from(matches!(told, RowProgress::Entries(_))) && told != RowProgress::Entries(0);
        if is_possible && cursor.plain() == text { Ok(cursor) } else { Err(NotALogCursor) }
    }
}

/// Turns cursors into the text of an `id:` and back.
#[derive(Clone, Debug)]
pub struct Cursors {
    /// The first hides, all of them show.
    keys: Arc<[DerivedKey]>,
}

const PURPOSE: &str = "stream cursor 2";

impl Cursors {
    /// By the master keys; without any, by the key of the configuration, which all processes have too. A server that asks for no key
    /// has nobody to hide a cursor from, and is still understood after a restart.
    pub fn new(keyring: Option<&Keyring>, keys: &KeyPolicy) -> Self {
        let derived = match (keyring, keys) {
            (Some(ring), _) => ring.derive(PURPOSE),
            (None, KeyPolicy::Asked(admin)) => vec![DerivedKey::of(admin.as_bytes(), PURPOSE)],
            (None, KeyPolicy::None | KeyPolicy::Direct) => vec![DerivedKey::of(b"", PURPOSE)],
        };
        Self { keys: derived.into() }
    }

    pub(super) fn encode(&self, cursor: LogCursor) -> String {
        format!("{VERSION}-{}", self.keys[0].hide(&cursor.plain()))
    }

    /// Only what [`Cursors::encode`] wrote, here or in another process with the same key.
    pub(super) fn decode(&self, text: &str) -> Result<LogCursor, NotALogCursor> {
        let hidden = text.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix('-')).ok_or(NotALogCursor)?;
        let plain = self.keys.iter().find_map(|key| key.show(hidden)).ok_or(NotALogCursor)?;
        LogCursor::read(&plain)
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::sealed::MasterKey;

    use super::*;

    #[test]
    fn a_cursor_tells_nothing_and_is_read_by_every_process_with_the_key() {
        let (old, new) = (MasterKey::fresh(), MasterKey::fresh());
        let text = format!("{},{}", new.text().reveal(), old.text().reveal());
        let (before, after): (Keyring, Keyring) = (Keyring::new(old), text.parse().expect("a ring"));
        let at = |position| LogCursor::whole(Position(position));
        let keys = KeyPolicy::asked("the key of the configuration");
        let (one, other) = (Cursors::new(Some(&before), &keys), Cursors::new(Some(&after), &keys));
        for (number, cursor) in (1..500).map(|number| (number, one.encode(at(number)))) {
            assert_eq!((one.decode(&cursor), other.decode(&cursor)), (Ok(at(number)), Ok(at(number))));
            assert!(cursor.len() <= 40 && cursor.bytes().all(|byte| byte.is_ascii_graphic()), "{cursor}");
            assert_eq!(one.decode(&other.encode(at(number))), Err(NotALogCursor), "a key that is not known yet");
        }
        let (near, far) = (one.encode(at(0x20ea)), one.encode(at(0x20eb)));
        assert!(!near.contains("20ea") && near[2..6] != far[2..6], "{near} {far}");
        for strange in ["", "1-20ea", "2-20ea", "2-", "2", &near[..near.len() - 1], &format!("{near}A"), &near[2..]] {
            assert_eq!(one.decode(strange), Err(NotALogCursor), "{strange}");
        }
        let without = Cursors::new(None, &keys);
        assert_eq!(Cursors::new(None, &keys).decode(&without.encode(at(7))), Ok(at(7)));
        assert_eq!(Cursors::new(None, &KeyPolicy::None).decode(&without.encode(at(7))), Err(NotALogCursor));
    }

    #[test]
    fn a_cursor_survives_text_and_nothing_else_is_one() {
        for position in [0, 1, 255, 1_763_200_000, i64::MAX] {
            let position = Position(position);
            for told in
                [RowProgress::Whole, RowProgress::Unshown, RowProgress::Entries(1), RowProgress::Entries(u32::MAX)]
            {
                let cursor = LogCursor { position, told };
                let expected = if position.0 == 0 && matches!(told, RowProgress::Entries(_)) {
                    Err(NotALogCursor)
                } else {
                    Ok(cursor)
                };
                assert_eq!(LogCursor::read(&cursor.plain()), expected);
            }
        }
        for text in [
            "",
            "-",
            "zz",
            "-1",
            "+5",
            "5-",
            "5-0",
            "5-+1",
            "5-S",
            "05",
            "A",
            "5-1-1",
            " 5",
            "5 ",
            "8000000000000000",
            "5-100000000",
            "nonsense",
            "5\n",
            "\u{665}",
        ] {
            assert_eq!(LogCursor::read(text), Err(NotALogCursor), "{text:?}");
        }
    }

    #[test]
    fn one_reads_on_before_a_row_that_was_told_in_part() {
        assert_eq!(LogCursor::whole(Position(7)).read_after(), Position(7));
        assert_eq!(LogCursor { position: Position(7), told: RowProgress::Entries(2) }.read_after(), Position(6));
    }
}
