//! Cron by brute force.
//!
//! Own parser, own matcher, own calendar of dates. Of the zone it asks one thing only: the offset at an instant. What is
//! missing from the wall and what comes again, it sees by walking: the clock jumped, or it shows what it has shown.

use jiff::tz::TimeZone;

pub const DAY: i64 = 86_400;

/// What the clock on the wall shows.
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    pub year: i64,
    pub month: i64,
    pub date: i64,
    /// 0 is Sunday.
    pub weekday: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    Unset,
    NextValid,
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    Unset,
    First,
    Both,
}

/// One step of the walk.
pub struct Moment {
    pub at: i64,
    pub wall: Wall,
    /// It has shown this before.
    pub is_repeat: bool,
    /// What it left out to get here.
    pub missing: Vec<Wall>,
}

pub struct Expression {
    second: Vec<Item>,
    minute: Vec<Item>,
    hour: Vec<Item>,
    date: Vec<Item>,
    month: Vec<Item>,
    weekday: Vec<Item>,
    minute_or_hour_starts_with_star: bool,
    a_day_field_starts_with_star: bool,
}

enum Item {
    Some { from: i64, to: i64, step: i64 },
    LastDay,
    LastOf(i64),
    NthOf(i64, i64),
}

/// The offset of a zone at an instant, in seconds.
pub fn offset(zone: &TimeZone, at: i64) -> i64 {
    zone.to_offset(jiff::Timestamp::from_second(at).unwrap()).seconds().into()
}

/// Every moment from `from` until before `until`. The two thousand steps before are walked too, to know what has been shown.
pub fn walk(zone: &TimeZone, from: i64, until: i64, step: i64) -> Vec<Moment> {
    let mut moments: Vec<Moment> = Vec::new();
    let mut at = from - 2_000 * step;
    let mut before = at - step + offset(zone, at - step);
    let mut furthest = before;
    while at < until {
        let local = at + offset(zone, at);
        if at >= from {
            let mut missing = Vec::new();
            let mut gone = before + step;
            while gone < local {
                missing.push(wall(gone));
                gone += step;
            }
            let today = moments.last().filter(|_| before.div_euclid(DAY) == local.div_euclid(DAY));
            let wall = today.map_or_else(|| wall(local), |moment| moment.wall.later_the_same_day(local));
            moments.push(Moment { at, wall, is_repeat: local <= furthest, missing });
        }
        furthest = furthest.max(local);
        before = local;
        at += step;
    }
    moments
}

/// The instants at which it fires, of a walk.
pub fn fires(expression: &Expression, gap: Gap, overlap: Overlap, walk: &[Moment]) -> Vec<i64> {
    let is_real_time = expression.minute_or_hour_starts_with_star;
    let both = overlap == Overlap::Both || (overlap == Overlap::Unset && is_real_time);
    let made_up = gap == Gap::NextValid || (gap == Gap::Unset && !is_real_time);
    let mut fires = Vec::new();
    for moment in walk {
        let by_itself = expression.is_at(moment.wall) && (both || !moment.is_repeat);
        let for_the_gap = made_up && moment.missing.iter().any(|gone| expression.is_at(*gone));
        if by_itself || for_the_gap {
            fires.push(moment.at);
        }
    }
    fires
}

impl Wall {
    fn later_the_same_day(self, local: i64) -> Self {
        let time = local.rem_euclid(DAY);
        Wall { hour: time / 3600, minute: time / 60 % 60, second: time % 60, ..self }
    }
}

impl Expression {
    pub fn parse(text: &str) -> Self {
        let mut fields: Vec<&str> = text.split(' ').collect();
        if fields.len() == 5 {
            fields.insert(0, "0");
        }
        assert_eq!(fields.len(), 6, "{text}");
        Self {
            second: items(fields[0], 0, 59),
            minute: items(fields[1], 0, 59),
            hour: items(fields[2], 0, 23),
            date: items(fields[3], 1, 31),
            month: items(fields[4], 1, 12),
            weekday: items(fields[5], 0, 7),
            minute_or_hour_starts_with_star: fields[1].starts_with('*') || fields[2].starts_with('*'),
            a_day_field_starts_with_star: fields[3].starts_with('*') || fields[5].starts_with('*'),
        }
    }

    pub fn is_at(&self, wall: Wall) -> bool {
        holds(&self.minute, wall.minute)
            && holds(&self.hour, wall.hour)
            && holds(&self.second, wall.second)
            && holds(&self.month, wall.month)
            && self.is_on(wall)
    }

    fn is_on(&self, wall: Wall) -> bool {
        let length = month_length(wall.year, wall.month);
        let by_date = self.date.iter().any(|item| match item {
            Item::LastDay => wall.date == length,
            item => item.holds(wall.date),
        });
        let by_weekday = self.weekday.iter().any(|item| match item {
            Item::LastOf(weekday) => weekday % 7 == wall.weekday && wall.date + 7 > length,
            Item::NthOf(weekday, nth) => weekday % 7 == wall.weekday && (wall.date + 6) / 7 == *nth,
            item => item.holds(wall.weekday) || (wall.weekday == 0 && item.holds(7)),
        });
        if self.a_day_field_starts_with_star { by_date && by_weekday } else { by_date || by_weekday }
    }
}

impl Item {
    fn holds(&self, value: i64) -> bool {
        match self {
            Item::Some { from, to, step } => value >= *from && value <= *to && (value - from) % step == 0,
            Item::LastDay | Item::LastOf(_) | Item::NthOf(..) => false,
        }
    }
}

fn holds(items: &[Item], value: i64) -> bool {
    items.iter().any(|item| item.holds(value))
}

fn items(field: &str, min: i64, max: i64) -> Vec<Item> {
    field.split(',').map(|part| item(part, min, max)).collect()
}

fn item(part: &str, min: i64, max: i64) -> Item {
    if part == "L" {
        return Item::LastDay;
    }
    if let Some(weekday) = part.strip_suffix('L') {
        return Item::LastOf(value(weekday));
    }
    if let Some((weekday, nth)) = part.split_once('#') {
        return Item::NthOf(value(weekday), value(nth));
    }
    let (range, step) = part.split_once('/').unwrap_or((part, "1"));
    let (from, to) = match range.split_once('-') {
        Some((from, "sun")) => (value(from), 7),
        Some((from, to)) => (value(from), value(to)),
        None if range == "*" => (min, max),
        None => (value(range), value(range)),
    };
    Item::Some { from, to, step: value(step) }
}

fn value(text: &str) -> i64 {
    let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    if let Some(weekday) = weekdays.iter().position(|name| *name == text) {
        return weekday as i64;
    }
    if let Some(month) = months.iter().position(|name| *name == text) {
        return month as i64 + 1;
    }
    text.parse().unwrap()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub fn month_length(year: i64, month: i64) -> i64 {
    [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1]
}

/// Counts years and months off, one by one, from 1900-01-01, a Monday.
pub fn wall(local: i64) -> Wall {
    let mut days = local.div_euclid(DAY) + 25_567;
    assert!(days >= 0, "the oracle begins with 1900");
    let weekday = (days + 1) % 7;
    let mut year = 1900;
    while days >= if is_leap(year) { 366 } else { 365 } {
        days -= if is_leap(year) { 366 } else { 365 };
        year += 1;
    }
    let mut month = 1;
    while days >= month_length(year, month) {
        days -= month_length(year, month);
        month += 1;
    }
    Wall { year, month, date: days + 1, weekday, hour: 0, minute: 0, second: 0 }.later_the_same_day(local)
}
