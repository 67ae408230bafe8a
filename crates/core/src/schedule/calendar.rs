//! From local times to instants: where the clocks are put forward or back.
//!
//! Between two changes of its offset a zone is a straight line, and this walks along those stretches. At the start of a
//! stretch local times may be missing (the clocks went forward: a *gap*) or come again (they went back: an *overlap*).
//! The policies only matter there:
//!
//! ```text
//!   Europe/Berlin, 2026-03-29            Europe/Berlin, 2026-10-25
//!   local 01:59 → 03:00                  local 02:00 … 02:59 → 02:00 … 02:59 → 03:00
//!         02:00 … 02:59 do not exist           the first pass    the second pass
//! ```
//!
//! It is arithmetic over the zone's table: no clock is read, and the same question has the same answer everywhere.

use jiff::tz::TimeZone;

use super::cron::{Cron, DstGap, DstOverlap};
use super::fields::{DAY, Matches};
use super::fire::{DstNote, Fire};
use crate::time::Timestamp;

/// How far ahead a fire is looked for. The rarest date there is, a 29 February on a given weekday across a century
/// without a leap year, comes after 40 years.
const HORIZON: i64 = 100 * 366 * DAY;
/// More than any two offsets are apart.
const SPREAD: i64 = 2 * DAY;
/// What jiff can count, less a margin for offsets.
const FIRST: i64 = -377_705_000_000;
const LAST: i64 = 253_402_000_000;

/// A stretch of instants with one offset.
struct OffsetStretch {
    /// When it began and what the offset was before, where that is near enough to matter.
    start: Option<OffsetChange>,
    offset: i64,
    /// When it ends and what the offset is from then on.
    end: Option<OffsetChange>,
}

#[derive(Clone, Copy)]
struct OffsetChange {
    at: i64,
    other: i64,
}

impl OffsetStretch {
    fn around(zone: &TimeZone, at: i64) -> Self {
        let offset = offset(zone, at);
        let start = zone
            .preceding(instant(at + 1))
            .map(|change| change.timestamp().as_second())
            .take_while(|change| *change > at - SPREAD)
            .map(|change| OffsetChange { at: change, other: self::offset(zone, change - 1) })
            .find(|change| change.other != offset);
        let end = zone
            .following(instant(at))
            .map(|change| OffsetChange { at: change.timestamp().as_second(), other: change.offset().seconds().into() })
            .find(|change| change.other != offset);
        Self { start, offset, end }
    }

    /// The local times before this come a second time, if any do.
    fn repeats_until(&self) -> Option<i64> {
        self.start.filter(|start| start.other > self.offset).map(|start| start.at + start.other)
    }

    /// The local times from this on will come again, if any do.
    fn comes_again_from(&self) -> Option<i64> {
        self.end.filter(|end| end.other < self.offset).map(|end| end.at + end.other)
    }

    /// The local times that are missing right before `at`.
    fn gap_at(&self, at: i64) -> Option<(i64, i64)> {
        self.start
            .filter(|start| start.at == at && start.other < self.offset)
            .map(|start| (at + start.other, at + self.offset))
    }
}

/// The first fire after an instant; None when there is none within the horizon.
pub(super) fn next_after(cron: &Cron, after: Timestamp) -> Option<Fire> {
    let zone = cron.zone.tz();
    let mut at = after.as_micros().div_euclid(1_000_000).saturating_add(1).max(FIRST);
    let end = at.saturating_add(HORIZON).min(LAST);
    let mut skipped = None;
    while at < end {
        let stretch = OffsetStretch::around(zone, at);
        let local = at + stretch.offset;
        // Whatever fires from here on is asked for by a local time that is at most this far behind. Jump to before it.
        let asked = cron.fields.next(local - SPREAD, end + SPREAD)?;
        if asked - SPREAD > local {
            at = asked - SPREAD - stretch.offset;
            continue;
        }
        if let Some((from, until)) = stretch.gap_at(at)
            && let Some(missing) = cron.fields.between(from, until)
        {
            match cron.gap() {
                DstGap::NextValid => return Some(after_gap(cron, at, until, missing)),
                DstGap::Skip => skipped = Some(skipped_note(missing)),
            }
        }
        let from = match (cron.overlap(), stretch.repeats_until()) {
            (DstOverlap::First, Some(until)) => local.max(until),
            _ => local,
        };
        let stop = stretch.end.map_or(end + SPREAD, |end| end.at + stretch.offset);
        if let Some(local) = cron.fields.next(from, stop) {
            let note = skipped.or_else(|| overlap_note(cron, &stretch, local));
            return Some(Fire { at: timestamp(local - stretch.offset), note });
        }
        at = stretch.end?.at;
    }
    None
}

fn after_gap(cron: &Cron, at: i64, to: i64, missing: Matches) -> Fire {
    let is_asked_for = cron.fields.is_match(to);
    let (first, last) = (datetime(missing.first), datetime(missing.last));
    let note = if missing.count == 1 && !is_asked_for {
        DstNote::Moved { from: first, to: datetime(to) }
    } else {
        DstNote::Merged { first, last, count: missing.count, to: datetime(to), is_asked_for }
    };
    Fire { at: timestamp(at), note: Some(note) }
}

fn skipped_note(missing: Matches) -> DstNote {
    DstNote::Skipped { first: datetime(missing.first), last: datetime(missing.last), count: missing.count }
}

fn overlap_note(cron: &Cron, stretch: &OffsetStretch, local: i64) -> Option<DstNote> {
    if stretch.repeats_until().is_some_and(|until| local < until) {
        return Some(DstNote::SecondOfTwo { local: datetime(local) });
    }
    let comes_again = stretch.comes_again_from().is_some_and(|from| local >= from);
    comes_again.then(|| match cron.overlap() {
        DstOverlap::First => DstNote::FirstOnly { local: datetime(local) },
        DstOverlap::Both => DstNote::FirstOfTwo { local: datetime(local) },
    })
}

fn offset(zone: &TimeZone, at: i64) -> i64 {
    zone.to_offset(instant(at)).seconds().into()
}

fn instant(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX)
}

fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

/// A local time for people to read.
fn datetime(local: i64) -> jiff::civil::DateTime {
    jiff::tz::Offset::UTC.to_datetime(instant(local))
}
