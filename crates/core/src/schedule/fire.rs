//! One fire, and what the clocks did to it.

use std::fmt;

use jiff::civil::DateTime;

use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fire {
    pub at: Timestamp,
    /// Why it is not, or not only, where the expression put it.
    pub note: Option<DstNote>,
}

/// What a change of the clocks did to a fire, in local times of the schedule's zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DstNote {
    /// The one time that was asked for does not exist: it fires at the first instant after the gap.
    Moved { from: DateTime, to: DateTime },
    /// Several times became this one fire. `count` of them, from `first` to `last`, do not exist; `to` may have been
    /// asked for as well.
    Merged { first: DateTime, last: DateTime, count: u64, to: DateTime, is_asked_for: bool },
    /// Times between the fire before and this one do not exist, and nothing was made up for them.
    Skipped { first: DateTime, last: DateTime, count: u64 },
    /// This local time comes twice: it fires the first time only.
    FirstOnly { local: DateTime },
    /// This local time comes twice and fires twice: this is the first.
    FirstOfTwo { local: DateTime },
    /// This local time comes twice and fires twice: this is the second.
    SecondOfTwo { local: DateTime },
}

impl fmt::Display for DstNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DstNote::Moved { from, to } => {
                write!(f, "{} does not exist on {}: moved to {}", TimeOfDay(*from), from.date(), DatedTime(*to, *from))
            }
            DstNote::Merged { first, last, count, to, is_asked_for } => {
                missing(f, *first, *last, *count)?;
                let to = DatedTime(*to, *first);
                if *is_asked_for {
                    write!(f, ": merged with {to}")
                } else {
                    write!(f, ": merged into one fire at {to}")
                }
            }
            DstNote::Skipped { first, last, count } => {
                missing(f, *first, *last, *count)?;
                f.write_str(": skipped before this fire")
            }
            DstNote::FirstOnly { local } => {
                write!(f, "{} comes twice on {}: fires the first time only", TimeOfDay(*local), local.date())
            }
            DstNote::FirstOfTwo { local } => {
                write!(f, "{} comes twice on {}: this is the first", TimeOfDay(*local), local.date())
            }
            DstNote::SecondOfTwo { local } => {
                write!(f, "{} comes twice on {}: this is the second", TimeOfDay(*local), local.date())
            }
        }
    }
}

fn missing(f: &mut fmt::Formatter<'_>, first: DateTime, last: DateTime, count: u64) -> fmt::Result {
    if count == 1 {
        return write!(f, "{} does not exist on {}", TimeOfDay(first), first.date());
    }
    write!(f, "{count} times from {} to {} do not exist on {}", TimeOfDay(first), DatedTime(last, first), first.date())
}

/// A time of day, with seconds where there are any.
struct TimeOfDay(DateTime);

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0.hour(), self.0.minute())?;
        if self.0.second() == 0 { Ok(()) } else { write!(f, ":{:02}", self.0.second()) }
    }
}

/// A time of day as told beside another: with its date, where that differs.
struct DatedTime(DateTime, DateTime);

impl fmt::Display for DatedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.date() != self.1.date() {
            write!(f, "{} ", self.0.date())?;
        }
        TimeOfDay(self.0).fmt(f)
    }
}
