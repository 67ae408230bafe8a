//! What an expression says of dates and times of day, without any zone.
//!
//! Times are *local seconds*: the seconds from 1970-01-01 00:00 to a time on the wall, as if every day had 86,400. The
//! parser's pattern is boiled down to bits, because there may be ten thousand schedules and each is asked at every fire.

/// Days before 1970-01-01 of the first day of the Gregorian era that the day count starts from (0000-03-01).
const ERA: i64 = 719_468;
pub(super) const DAY: i64 = 86_400;
const HOUR: i64 = 3_600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CronFields {
    pub seconds: u64,
    pub minutes: u64,
    pub hours: u64,
    /// Bit 1 is the first of the month.
    pub days: u64,
    pub last_day: bool,
    /// Bit 1 is January.
    pub months: u64,
    /// Bit 0 is Sunday.
    pub weekdays: u64,
    /// The first, second … fifth of its weekday in the month.
    pub nth_weekdays: [u64; 5],
    pub last_weekdays: u64,
    /// Vixie's rule: one of the two day fields starts with `*`, so a day must match both. Otherwise either will do.
    pub both_days: bool,
}

/// The times of a stretch that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matches {
    pub first: i64,
    pub last: i64,
    pub count: u64,
}

impl CronFields {
    /// The first match that is not before `from`, and before `until`.
    pub fn next(&self, from: i64, until: i64) -> Option<i64> {
        let (day, time) = (from.div_euclid(DAY), from.rem_euclid(DAY));
        let today = self.next_time(time).filter(|_| self.is_day(day)).map(|time| day * DAY + time);
        let next = match today {
            Some(next) => next,
            None => self.next_day(day + 1, until.div_euclid(DAY))? * DAY + self.next_time(0)?,
        };
        (next < until).then_some(next)
    }

    pub fn is_match(&self, at: i64) -> bool {
        self.next(at, at + 1).is_some()
    }

    /// All matches from `from` until before `until`, whole hours at a time.
    pub fn between(&self, from: i64, until: i64) -> Option<Matches> {
        let first = self.next(from, until)?;
        let mut matches = Matches { first, last: first, count: 0 };
        let mut from = from;
        while let Some(next) = self.next(from, until) {
            let hour = next - next.rem_euclid(HOUR);
            if from <= hour && hour + HOUR <= until {
                matches.count += u64::from(self.minutes.count_ones() * self.seconds.count_ones());
                matches.last = hour + highest(self.minutes) * 60 + highest(self.seconds);
                from = hour + HOUR;
            } else {
                matches.count += 1;
                matches.last = next;
                from = next + 1;
            }
        }
        Some(matches)
    }

    /// Whether there is a day at all: the calendar repeats itself after 400 years.
    pub fn has_a_day(&self) -> bool {
        self.next_day(0, 146_097).is_some()
    }

    fn is_day(&self, day: i64) -> bool {
        let (year, month, date) = date(day);
        self.days_of(year, month) >> date & 1 == 1
    }

    fn next_day(&self, from: i64, until: i64) -> Option<i64> {
        let (mut year, mut month, date) = date(from);
        let mut days = self.days_of(year, month) >> date << date;
        loop {
            let first = day_number(year, month, 1);
            if first > until {
                return None;
            }
            if days != 0 {
                return Some(first + lowest(days) - 1);
            }
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            days = self.days_of(year, month);
        }
    }

    /// The matching days of a month, as bits.
    fn days_of(&self, year: i64, month: i64) -> u64 {
        if self.months >> month & 1 == 0 {
            return 0;
        }
        let length = month_length(year, month);
        let whole = (1 << (length + 1)) - 2;
        let mut by_date = self.days & whole;
        if self.last_day {
            by_date |= 1 << length;
        }
        // 1970-01-01 was a Thursday, the fourth day from Sunday.
        let first = (day_number(year, month, 1) + 4).rem_euclid(7);
        let mut by_weekday = 0;
        for weekday in 0..7 {
            let date = (weekday - first).rem_euclid(7) + 1;
            let all = (1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28) << date & whole;
            if self.weekdays >> weekday & 1 == 1 {
                by_weekday |= all;
            }
            if self.last_weekdays >> weekday & 1 == 1 {
                by_weekday |= 1 << highest(all);
            }
            for (nth, weekdays) in (0_i64..).zip(self.nth_weekdays) {
                if weekdays >> weekday & 1 == 1 {
                    by_weekday |= 1 << (date + 7 * nth) & whole;
                }
            }
        }
        if self.both_days { by_date & by_weekday } else { by_date | by_weekday }
    }

    /// The first matching time of a day that is not before `from`.
    fn next_time(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = (from / HOUR, from / 60 % 60, from % 60);
        let (first_minute, first_second) = (lowest(self.minutes), lowest(self.seconds));
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = at_least(self.seconds, second)
            {
                return Some(hour * HOUR + minute * 60 + second);
            }
            if let Some(minute) = at_least(self.minutes, minute + 1) {
                return Some(hour * HOUR + minute * 60 + first_second);
            }
        }
        at_least(self.hours, hour + 1).map(|hour| hour * HOUR + first_minute * 60 + first_second)
    }
}

fn lowest(bits: u64) -> i64 {
    i64::from(bits.trailing_zeros())
}

fn highest(bits: u64) -> i64 {
    63 - i64::from(bits.leading_zeros())
}

/// The lowest bit that is set, from `from` up; `from` is at most 60.
fn at_least(bits: u64, from: i64) -> Option<i64> {
    let rest = bits >> from << from;
    (rest != 0).then(|| lowest(rest))
}

fn month_length(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years are counted from March, so that the odd month is the last.
fn day_number(year: i64, month: i64, date: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + date - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + of_year - ERA
}

/// The inverse: year, month, day of the month.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + ERA;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_count_agrees_with_a_calendar_for_eight_hundred_years() {
        let epoch = jiff::civil::date(1970, 1, 1);
        let mut day = jiff::civil::date(1600, 1, 1);
        while day.year() < 2400 {
            let number = day_number(day.year().into(), day.month().into(), day.day().into());
            assert_eq!(number, i64::from(epoch.until(day).expect("in range").get_days()), "{day}");
            assert_eq!(date(number), (day.year().into(), day.month().into(), day.day().into()), "{day}");
            assert_eq!(month_length(day.year().into(), day.month().into()), i64::from(day.days_in_month()), "{day}");
            day = day.tomorrow().expect("in range");
        }
    }

    #[test]
    fn a_stretch_is_counted_as_if_every_match_were_looked_at() {
        let fields = CronFields {
            seconds: 1 | 1 << 30,
            minutes: 1 | 1 << 7 | 1 << 59,
            hours: 0b1011,
            days: 0xFFFF_FFFE,
            last_day: false,
            months: 0x1FFE,
            weekdays: 0x7F,
            nth_weekdays: [0; 5],
            last_weekdays: 0,
            both_days: true,
        };
        for (from, until) in [(0, DAY), (5, 3 * DAY + 7), (1_800, 3_601), (3_599, 3_600), (7_200, 10_800)] {
            let each: Vec<i64> = (from..until).filter(|at| fields.is_match(*at)).collect();
            let counted = fields.between(from, until);
            assert_eq!(counted.map_or(0, |matches| matches.count), each.len() as u64, "{from}..{until}");
            assert_eq!(counted.map(|matches| matches.first), each.first().copied());
            assert_eq!(counted.map(|matches| matches.last), each.last().copied());
        }
    }
}
