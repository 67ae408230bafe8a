//! A place in the stream, as the text of an event's `id:`.
//!
//! A row of the log tells of many jobs, and a connection may break between two of them: the place is a row *and* how many of
//! its entries came before, counted over all of them, whosever they are. So a client goes on exactly where it was, whatever it
//! may see and whichever process it comes back to. The text has a version in front; to everyone else it is opaque.

use foreman_core::ports::{ChangeRow, Position};

const VERSION: &str = "1";
const UNSHOWN: &str = "s";

/// Everything up to here has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub position: Position,
    pub told: Told,
}

/// How much of the row at a place has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Whole,
    /// So many of its entries: some, and not all.
    Entries(u32),
    /// All of it; but the client has asked for a snapshot, and has not had the whole of that.
    Unshown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAPlace;

impl Place {
    pub const fn whole(position: Position) -> Self {
        Self { position, told: Told::Whole }
    }

    pub const fn unshown(position: Position) -> Self {
        Self { position, told: Told::Unshown }
    }

    /// After the entry with this number of a row.
    pub fn in_row(row: &ChangeRow, entry: usize) -> Self {
        let told = entry + 1;
        let is_last = told >= row.moved.len() + row.notes.len();
        let told = if is_last { Told::Whole } else { Told::Entries(u32::try_from(told).unwrap_or(u32::MAX)) };
        Self { position: row.position, told }
    }

    /// Where the log is read on from: before the row, if some of it has still to be told.
    pub fn read_after(self) -> Position {
        match self.told {
            Told::Whole | Told::Unshown => self.position,
            Told::Entries(_) => Position(self.position.0.saturating_sub(1)),
        }
    }

    /// How many entries of this row have been told already.
    pub fn told_of(self, row: &ChangeRow) -> usize {
        match self.told {
            Told::Entries(count) if row.position == self.position => count as usize,
            _ => 0,
        }
    }

    pub fn encode(self) -> String {
        let position = self.position.0;
        match self.told {
            Told::Whole => format!("{VERSION}-{position:x}"),
            Told::Entries(count) => format!("{VERSION}-{position:x}-{count:x}"),
            Told::Unshown => format!("{VERSION}-{position:x}-{UNSHOWN}"),
        }
    }

    /// Only what [`Place::encode`] could have written.
    pub fn decode(text: &str) -> Result<Self, NotAPlace> {
        let mut parts = text.split('-');
        let (version, position, told) = (parts.next(), parts.next(), parts.next());
        if version != Some(VERSION) {
            return Err(NotAPlace);
        }
        let position = i64::from_str_radix(position.ok_or(NotAPlace)?, 16).map_err(|_| NotAPlace)?;
        let told = match told {
            None => Told::Whole,
            Some(UNSHOWN) => Told::Unshown,
            Some(count) => Told::Entries(u32::from_str_radix(count, 16).map_err(|_| NotAPlace)?),
        };
        let place = Self { position: Position(position), told };
        // The number of a row, and of entries in it, is never 0 where it counts; signs, capitals and zeros in front are not ours.
        let is_possible = position >= i64::from(matches!(told, Told::Entries(_))) && told != Told::Entries(0);
        if is_possible && place.encode() == text { Ok(place) } else { Err(NotAPlace) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_text_and_nothing_else_is_one() {
        for position in [0, 1, 255, 1_763_200_000, i64::MAX] {
            let position = Position(position);
            for told in [Told::Whole, Told::Unshown, Told::Entries(1), Told::Entries(u32::MAX)] {
                let place = Place { position, told };
                let expected =
                    if position.0 == 0 && matches!(told, Told::Entries(_)) { Err(NotAPlace) } else { Ok(place) };
                assert_eq!(Place::decode(&place.encode()), expected);
            }
        }
        for text in [
            "",
            "1",
            "1-",
            "-",
            "1-zz",
            "1--1",
            "1-+5",
            "1-5-",
            "1-5-0",
            "1-5-+1",
            "1-5-S",
            "1-05",
            "1-A",
            "1-5-1-1",
            "2-5",
            " 1-5",
            "1-5 ",
            "1-8000000000000000",
            "1-5-100000000",
            "nonsense",
            "1-5\n",
            "\u{661}-5",
        ] {
            assert_eq!(Place::decode(text), Err(NotAPlace), "{text:?}");
        }
    }

    #[test]
    fn one_reads_on_before_a_row_that_was_told_in_part() {
        assert_eq!(Place::whole(Position(7)).read_after(), Position(7));
        assert_eq!(Place { position: Position(7), told: Told::Entries(2) }.read_after(), Position(6));
    }
}
