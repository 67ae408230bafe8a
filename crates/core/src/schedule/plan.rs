//! Which ticks are due now, which of them came too late, and when the next one is.
//!
//! The next tick is computed from the one before it, never from now: a scheduler that was away goes on where it stopped.
//! A tick is missed when it is later than `missed_after`; a change of leaders takes less, so it skips nothing.

use std::collections::VecDeque;
use std::time::Duration;

use super::Missed;
use super::spec::ScheduleRule;
use crate::time::Timestamp;

/// What is to be done about a schedule whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Oldest first.
    pub ticks: Vec<PlannedTick>,
    /// None: it has fired for the last time.
    pub next: Option<Timestamp>,
}

impl Planned {
    /// Puts off what comes after the first `most` ticks: it is due at the next look.
    pub fn put_off_after(&mut self, most: usize) {
        if let Some(first_put_off) = self.ticks.get(most) {
            self.next = Some(first_put_off.first());
            self.ticks.truncate(most);
        }
    }
}

impl PlannedTick {
    fn first(&self) -> Timestamp {
        match *self {
            PlannedTick::Fire { nominal } => nominal,
            PlannedTick::Skip { first, .. } => first,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedTick {
    Fire {
        nominal: Timestamp,
    },
    /// A run of missed ticks, recorded as one: a day without a scheduler is 86,400 ticks of some.
    Skip {
        first: Timestamp,
        last: Timestamp,
        /// None: more than were worth counting.
        count: Option<u32>,
    },
}

/// The most that fire at once; what is left is due at the next look.
const MOST: usize = 1_000;
/// Beyond so many, missed ticks are not counted one by one.
const COUNTED: u32 = 10_000;
const TINY: Duration = Duration::from_micros(1);

/// Judges all ticks from `due`, which is one, up to `now`.
pub fn plan(rule: &ScheduleRule, due: Timestamp, now: Timestamp, missed_after: Duration) -> Planned {
    let too_late = now.minus(missed_after);
    let mut ticks = Vec::new();
    let mut next = Some(due);
    if due < too_late {
        missed(rule, due, too_late, &mut ticks);
        next = rule.next_after(too_late.minus(TINY));
    }
    while let Some(nominal) = next.filter(|nominal| *nominal <= now && ticks.len() < MOST) {
        ticks.push(PlannedTick::Fire { nominal });
        next = rule.next_after(nominal);
    }
    Planned { ticks, next }
}

/// What the policy makes of the ticks from `due` until before `too_late`.
fn missed(rule: &ScheduleRule, due: Timestamp, too_late: Timestamp, ticks: &mut Vec<PlannedTick>) {
    let wanted = match rule.missed {
        Missed::Skip => 0,
        Missed::Latest => 1,
        Missed::All => rule.missed_max as usize,
    };
    let fired = latest_of(rule, due, too_late, wanted);
    let skipped_until = fired.first().copied().unwrap_or(too_late);
    if due < skipped_until {
        let last = latest(rule, due, skipped_until);
        ticks.push(PlannedTick::Skip { first: due, last, count: count(rule, due, last) });
    }
    ticks.extend(fired.into_iter().map(|nominal| PlannedTick::Fire { nominal }));
}

/// The latest `wanted` ticks from `due` until before `end`, oldest first. Walks through the end of that time alone, twice as
/// much of it at every try: to look for each of them in all of it takes a second for a few schedules that were away for days.
fn latest_of(rule: &ScheduleRule, due: Timestamp, end: Timestamp, wanted: usize) -> Vec<Timestamp> {
    match wanted {
        0 => return Vec::new(),
        1 => return vec![latest(rule, due, end)],
        _ => {}
    }
    // No two ticks are closer than a second.
    let mut stretch = Duration::from_secs(wanted as u64);
    loop {
        let from = end.minus(stretch).max(due);
        let mut found = VecDeque::with_capacity(wanted);
        let mut next = if from == due { Some(due) } else { rule.next_after(from.minus(TINY)) };
        while let Some(nominal) = next.filter(|nominal| *nominal < end) {
            if found.len() == wanted {
                found.pop_front();
            }
            found.push_back(nominal);
            next = rule.next_after(nominal);
        }
        if from == due || found.len() == wanted {
            return found.into();
        }
        stretch = stretch.saturating_mul(2);
    }
}

/// The latest tick before `end`, which is after `due`.
fn latest(rule: &ScheduleRule, due: Timestamp, end: Timestamp) -> Timestamp {
    rule.last_before(end, due).unwrap_or(due)
}

fn count(rule: &ScheduleRule, first: Timestamp, last: Timestamp) -> Option<u32> {
    let mut count = 1;
    let mut nominal = first;
    while nominal < last {
        nominal = rule.next_after(nominal)?;
        count += 1;
        if count > COUNTED {
            return None;
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests;
