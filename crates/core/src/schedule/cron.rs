//! Cron expressions: what is read, what is refused, and what is said about it.
//!
//! croner reads the numbers and puts them into words. What stands here is what it lacks: every mistake named with its
//! field and with how to write it, Vixie's rule for the two day fields, zones, and `@every`. Where crons differ in what
//! they make of a text (`5/15`, `fri-mon`, `L` for a weekday), it is refused with the words that mean one thing only.

use std::sync::Arc;
use std::time::Duration;

use croner::parser::{CronParser, Seconds, Year};
pub use foreman_protocol::schedule::{DstGap, DstOverlap};

use super::calendar;
use super::fields::CronFields;
use super::zone::{NotAZone, Zone};
use crate::duration;
use crate::time::Timestamp;

/// Longer ones are refused unread.
const LONGEST: usize = 256;

/// An expression is tried out from here, 2026-01-01T00:00:00Z, to see whether it ever fires.
const TRIED_FROM: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// An expression in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: Arc<str>,
    pub(super) fields: CronFields,
    pub(super) zone: Zone,
    gap: Option<DstGap>,
    overlap: Option<DstOverlap>,
    follows_real_time: bool,
}

/// What the text of a `cron` field turns out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CronOrInterval {
    Cron(Cron),
    /// `@every 90s`. Whether the interval is a sensible one is not judged yet.
    Every(Duration),
}

/// Why a text is no cron expression. All of it is for the one who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotACron {
    #[error("is empty; write five fields (minute, hour, day of month, month, day of week), such as 0 9 * * mon-fri")]
    Empty,
    #[error("has {length} characters, more than the {LONGEST} allowed")]
    TooLong { length: usize },
    #[error(
        "has {found} {}: write five (minute, hour, day of month, month, day of week), or six with seconds first",
        if *.found == 1 { "field" } else { "fields" }
    )]
    FieldCount { found: usize },
    #[error("the {field} field {text:?}: {why}")]
    Field { field: &'static str, text: String, why: String },
    #[error(
        "{text:?} is not known; it is one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually and \
         @every 90s"
    )]
    Nickname { text: String },
    #[error("@every: {0}")]
    Interval(#[from] duration::NotADuration),
    #[error("@every counts real time and cannot have a time zone")]
    Every,
    #[error(transparent)]
    Zone(#[from] NotAZone),
    #[error("the expression has the zone {prefix} and `timezone` has {zone}: leave one of them out")]
    TwoZones { prefix: Zone, zone: Zone },
    #[error("never fires: {why}")]
    Never { why: String },
}

impl CronOrInterval {
    /// Reads what stands in a `cron` field, `TZ=` and all.
    pub fn parse(
        text: &str,
        zone: Option<Zone>,
        gap: Option<DstGap>,
        overlap: Option<DstOverlap>,
    ) -> Result<Self, NotACron> {
        if text.len() > LONGEST {
            return Err(NotACron::TooLong { length: text.chars().count() });
        }
        let (prefix, text) = split_zone(text.trim())?;
        if let Some(interval) = strip_word(text, "@every") {
            if prefix.is_some() {
                return Err(NotACron::Every);
            }
            return Ok(CronOrInterval::Every(duration::parse(interval)?));
        }
        let zone = match (prefix, zone) {
            (Some(prefix), Some(zone)) if prefix != zone => return Err(NotACron::TwoZones { prefix, zone }),
            (Some(zone), _) | (None, Some(zone)) => zone,
            (None, None) => Zone::UTC,
        };
        let (fields, follows_real_time) = read(text)?;
        let cron = Cron { text: text.into(), fields, zone, gap, overlap, follows_real_time };
        cron.check_that_it_fires().map(CronOrInterval::Cron)
    }
}

impl Cron {
    /// `zone` is UTC when neither it nor a `TZ=` prefix is given. An unset policy is Vixie cron's.
    pub fn parse(
        text: &str,
        zone: Option<Zone>,
        gap: Option<DstGap>,
        overlap: Option<DstOverlap>,
    ) -> Result<Self, NotACron> {
        match CronOrInterval::parse(text, zone, gap, overlap)? {
            CronOrInterval::Cron(cron) => Ok(cron),
            CronOrInterval::Every(_) => Err(NotACron::Every),
        }
    }

    /// As it was written, without the zone.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The policy in force.
    pub fn gap(&self) -> DstGap {
        self.gap.unwrap_or(if self.follows_real_time { DstGap::Skip } else { DstGap::NextValid })
    }

    /// The policy in force.
    pub fn overlap(&self) -> DstOverlap {
        self.overlap.unwrap_or(if self.follows_real_time { DstOverlap::Both } else { DstOverlap::First })
    }

    /// Whether its minute or hour field starts with `*`. Unless a policy says otherwise such an expression takes no
    /// notice of clocks being put forward or back.
    pub fn follows_real_time(&self) -> bool {
        self.follows_real_time
    }

    /// In words: "At 09:00, on Monday, in Europe/Berlin".
    pub fn describe(&self) -> String {
        let words = normalise(&self.text).ok().and_then(|(fields, both)| parser(both).parse(&fields.join(" ")).ok());
        let words = words.map_or_else(|| self.text.to_string(), |pattern| pattern.describe());
        format!("{}, in {}", words.trim_end_matches('.'), self.zone)
    }

    fn check_that_it_fires(self) -> Result<Self, NotACron> {
        if !self.fields.has_a_day() {
            let why = format!("no year has a day that matches {:?}", &*self.text);
            return Err(NotACron::Never { why });
        }
        if calendar::next_after(&self, TRIED_FROM).is_none() {
            let why = format!("in {} daylight saving skips every time it matches, and `dst_gap` is skip", self.zone);
            return Err(NotACron::Never { why });
        }
        Ok(self)
    }
}

/// Takes `TZ=Europe/Berlin` or `CRON_TZ=…` off the front.
fn split_zone(text: &str) -> Result<(Option<Zone>, &str), NotACron> {
    let Some(rest) = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ=")) else {
        return Ok((None, text));
    };
    let (zone, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Ok((Some(zone.parse()?), rest.trim_start()))
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    first.eq_ignore_ascii_case(word).then(|| rest.trim())
}

/// The bits of an expression, and whether it follows real time.
fn read(text: &str) -> Result<(CronFields, bool), NotACron> {
    let (fields, both_days) = normalise(text)?;
    // What passed the checks above is plain to croner; should it know better, its words are passed on.
    let pattern = parser(both_days)
        .parse(&fields.join(" "))
        .map_err(|error| NotACron::Field { field: "whole", text: text.into(), why: error.to_string() })?
        .pattern;
    let bits = |component: &croner::CronComponent, bit: u8| {
        component.get_set_values(bit).into_iter().fold(0_u64, |bits, value| bits | 1 << value)
    };
    let fields_read = CronFields {
        seconds: bits(&pattern.seconds, ANY),
        minutes: bits(&pattern.minutes, ANY),
        hours: bits(&pattern.hours, ANY),
        days: bits(&pattern.days, ANY),
        last_day: pattern.days.is_feature_enabled(LAST),
        months: bits(&pattern.months, ANY),
        weekdays: bits(&pattern.days_of_week, ANY),
        nth_weekdays: NTH.map(|bit| bits(&pattern.days_of_week, bit)),
        last_weekdays: bits(&pattern.days_of_week, LAST),
        both_days,
    };
    Ok((fields_read, [1, 2].iter().any(|field| fields[*field].starts_with('*'))))
}

// How croner marks a value: plainly, as the nth or as the last of its weekday. It does not export the names.
const ANY: u8 = 1;
const NTH: [u8; 5] = [1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5];
const LAST: u8 = 1 << 6;

fn parser(both_days: bool) -> CronParser {
    CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).dom_and_dow(both_days).build()
}

/// Six fields of plain numbers, and whether one of the day fields starts with `*`: then a day must match both. A star with
/// a step counts, as in Vixie's cron.
fn normalise(text: &str) -> Result<([String; 6], bool), NotACron> {
    let text = match text.strip_prefix('@') {
        Some(_) => nickname(text)?,
        None => text,
    };
    let mut texts: Vec<&str> = text.split_whitespace().collect();
    match texts.len() {
        0 => return Err(NotACron::Empty),
        5 => texts.insert(0, "0"),
        6 => {}
        found => return Err(NotACron::FieldCount { found }),
    }
    let mut fields: [String; 6] = Default::default();
    for (field, (kind, text)) in fields.iter_mut().zip(FIELDS.iter().zip(texts)) {
        *field = kind.normalise(text)?;
    }
    let both_days = [3, 5].iter().any(|field| fields[*field].starts_with('*'));
    Ok((fields, both_days))
}

fn nickname(text: &str) -> Result<&'static str, NotACron> {
    match text.to_ascii_lowercase().as_str() {
        "@hourly" => Ok("0 * * * *"),
        "@daily" | "@midnight" => Ok("0 0 * * *"),
        "@weekly" => Ok("0 0 * * 0"),
        "@monthly" => Ok("0 0 1 * *"),
        "@yearly" | "@annually" => Ok("0 0 1 1 *"),
        _ => Err(NotACron::Nickname { text: text.into() }),
    }
}

struct CronField {
    name: &'static str,
    min: u16,
    max: u16,
    /// The first of them has the number `min`.
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [CronField; 6] = [
    CronField { name: "second", min: 0, max: 59, names: &[] },
    CronField { name: "minute", min: 0, max: 59, names: &[] },
    CronField { name: "hour", min: 0, max: 23, names: &[] },
    DAY_OF_MONTH,
    CronField { name: "month", min: 1, max: 12, names: &MONTHS },
    DAY_OF_WEEK,
];
const DAY_OF_MONTH: CronField = CronField { name: "day of month", min: 1, max: 31, names: &[] };
const DAY_OF_WEEK: CronField = CronField { name: "day of week", min: 0, max: 7, names: &WEEKDAYS };

impl CronField {
    fn normalise(&self, text: &str) -> Result<String, NotACron> {
        if text != "*" && text.split(',').any(|part| part == "*") {
            let why = "* already means every value; leave out the rest of the list".into();
            return Err(NotACron::Field { field: self.name, text: text.into(), why });
        }
        let parts: Result<Vec<String>, String> = text.split(',').map(|part| self.part(part)).collect();
        match parts {
            Ok(parts) => Ok(parts.join(",")),
            Err(why) => Err(NotACron::Field { field: self.name, text: text.into(), why }),
        }
    }

    fn is_weekday(&self) -> bool {
        self.name == DAY_OF_WEEK.name
    }

    fn is_day(&self) -> bool {
        self.name == DAY_OF_MONTH.name
    }

    /// One element of a list.
    fn part(&self, part: &str) -> Result<String, String> {
        if part.is_empty() {
            return Err("the list has an empty entry; leave out the extra comma".into());
        }
        if part.contains('?') {
            return Err("? is not supported; write *".into());
        }
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let (from, to, range) = match range.split_once('-') {
            _ if range == "*" => (self.min, self.max, "*".to_owned()),
            Some((from, to)) => self.range(from, to)?,
            None => return self.single(range, step),
        };
        let Some(step) = step else { return Ok(range) };
        let values = to - from + 1;
        match number(step) {
            Some(0) => Err("a step of 0 never moves on; write */1 or leave it out".into()),
            Some(step) if step <= values => Ok(format!("{range}/{step}")),
            Some(step) => {
                Err(format!("a step of {step} is larger than its {values} values; for a longer interval use @every"))
            }
            None => Err(format!("{step:?} is not a step; write a number after the /")),
        }
    }

    fn range(&self, from_text: &str, to_text: &str) -> Result<(u16, u16, String), String> {
        if self.is_day() && from_text.eq_ignore_ascii_case("l") {
            return Err("days counted back from the end of the month are not supported; L alone is the last day".into());
        }
        let from = self.value(from_text)?;
        let mut to = self.value(to_text)?;
        // A week that ends on Sunday: fri-sun.
        if self.is_weekday() && to == 0 && from > 0 {
            to = 7;
        }
        if from > to {
            // Sunday as 7 begins the week here.
            let hint = match (self.is_weekday(), from) {
                (true, 7) => format!("0-{to}"),
                (true, 6) => format!("6,0-{to}"),
                (true, _) => format!("{from}-6,0-{to}"),
                _ => format!("{from}-{},{}-{to}", self.max, self.min),
            };
            return Err(format!("{from_text}-{to_text} runs backwards; write {hint}"));
        }
        Ok((from, to, format!("{from}-{to}")))
    }

    /// A number, a name, or what only days have: `L`, `5L`, `5#2`.
    fn single(&self, text: &str, step: Option<&str>) -> Result<String, String> {
        let is_last = text.ends_with(['l', 'L']) && (text.len() == 1 || self.is_weekday() || self.is_day());
        if is_last || text.contains('#') {
            if step.is_some() {
                return Err("L and # cannot have a step".into());
            }
            return self.special(text);
        }
        if self.is_day() && text.ends_with(['w', 'W']) {
            return Err("W, the nearest weekday, is not supported; list the days, or use weekdays with #".into());
        }
        let value = self.value(text)?;
        match step {
            None => Ok(value.to_string()),
            Some(step) => Err(format!(
                "cron implementations disagree about {value}/{step}; write {value}-{}/{step}, or */{step}",
                self.max
            )),
        }
    }

    fn special(&self, text: &str) -> Result<String, String> {
        if let Some((day, nth)) = text.split_once('#') {
            if !self.is_weekday() {
                return Err("# is for the day of week: fri#2 is the second Friday of the month".into());
            }
            return match number(nth) {
                Some(nth @ 1..=5) => Ok(format!("{}#{nth}", self.value(day)? % 7)),
                _ => Err(format!("{nth:?} is not the number of a week; use fri#1 to fri#5, or friL for the last")),
            };
        }
        let day = &text[..text.len() - 1];
        match (self.is_day(), self.is_weekday(), day) {
            (true, _, "") => Ok("L".into()),
            (true, _, _) => Err("L cannot be combined with anything else: the last day of the month".into()),
            (_, true, "") => Err("L needs a day: friL is the last Friday of the month; Saturday is sat".into()),
            (_, true, day) => Ok(format!("{}L", self.value(day)? % 7)),
            _ => Err("L is for days: the last of the month, or friL for its last Friday".into()),
        }
    }

    fn value(&self, text: &str) -> Result<u16, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = number(text).or_else(|| named.map(|index| self.min + index as u16));
        match value {
            Some(value) if (self.min..=self.max).contains(&value) => Ok(value),
            _ if self.names.is_empty() => Err(format!("{text:?} is not a number from {} to {}", self.min, self.max)),
            _ => Err(format!(
                "{text:?} is neither a number from {} to {} nor a name such as {}",
                self.min, self.max, self.names[1]
            )),
        }
    }
}

/// Plain digits only: no sign, no more than any field needs.
fn number(text: &str) -> Option<u16> {
    let is_plain = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Cron, NotACron> {
        Cron::parse(text, None, None, None)
    }

    fn refusal(text: &str) -> String {
        parse(text).expect_err(text).to_string()
    }

    /// The days of January to March 2026 it fires on.
    fn days(text: &str) -> Vec<String> {
        let timing = super::super::timing::Timing::Cron(parse(text).expect(text));
        let from = "2026-01-01T00:00:00Z".parse().expect("a time");
        let end = "2026-03-31T23:59:59Z".parse().expect("a time");
        let all = super::super::preview::preview(&timing, from, 100, None, Some(end));
        all.into_iter().map(|item| item.local[5..10].to_owned()).collect()
    }

    #[test]
    fn texts_that_mean_the_same_are_read_the_same() {
        for (one, other) in [
            ("0 9 * * mon-fri", "0 9 * * 1-5"),
            ("0 9 * * MON,Wed", "0 0 9 * * 1,3"),
            ("0 0 1 jan,jul *", "0 0 1 1,7 *"),
            ("0 0 * * 7", "0 0 * * 0"),
            ("0 0 * * sun", "@weekly"),
            ("0 0 * * fri-sun", "0 0 * * 5,6,0"),
            ("0 0 * * sat-7", "0 0 * * 6,0"),
            ("0 0 * * 7#2", "0 0 * * sun#2"),
            ("0 0 * * 7L", "0 0 * * sunL"),
            ("@midnight", "@daily"),
            ("@ANNUALLY", "0 0 1 1 *"),
            ("10-40/15 * * * *", "10,25,40 * * * *"),
            ("  0   9 *\t* * ", "0 9 * * *"),
        ] {
            assert_eq!(parse(one).expect(one).fields, parse(other).expect(other).fields, "{one} and {other}");
        }
    }

    #[test]
    fn days_are_found_by_date_by_weekday_and_from_the_end() {
        assert_eq!(days("0 0 L * *"), ["01-31", "02-28", "03-31"]);
        assert_eq!(days("0 0 * * friL"), ["01-30", "02-27", "03-27"]);
        assert_eq!(days("0 0 * * mon#1"), ["01-05", "02-02", "03-02"]);
        assert_eq!(days("0 0 * * thu#5"), ["01-29"]);
        assert_eq!(days("0 0 31 * *"), ["01-31", "03-31"]);
    }

    #[test]
    fn a_restricted_date_or_a_restricted_weekday_will_do() {
        assert_eq!(days("0 0 13 2,3 fri"), ["02-06", "02-13", "02-20", "02-27", "03-06", "03-13", "03-20", "03-27"]);
        assert_eq!(days("0 0 1 2 mon#2"), ["02-01", "02-09"]);
    }

    #[test]
    fn a_star_with_a_step_does_not_restrict_a_day_field_so_both_must_match() {
        assert_eq!(days("0 0 */10 2 mon"), Vec::<String>::new());
        assert_eq!(days("0 0 */2 2 mon"), ["02-09", "02-23"]);
        assert_eq!(days("0 0 1-31/2 2 mon").len(), 14 + 2, "a range restricts");
    }

    #[test]
    fn a_star_in_the_minute_or_the_hour_follows_real_time() {
        for text in ["* 2 * * *", "*/15 2 * * *", "0 * * * *", "0 */2 * * *", "30 0 * * * *", "@hourly"] {
            assert!(parse(text).expect(text).follows_real_time(), "{text}");
        }
        for text in ["0 2 * * *", "0-59 2 * * *", "* 0 2 * * *", "0,*/15 2 * * *", "@daily"] {
            assert!(!parse(text).expect(text).follows_real_time(), "{text}");
        }
    }

    #[test]
    fn a_zone_may_stand_in_front() {
        for text in ["TZ=Europe/Berlin 0 9 * * *", "CRON_TZ=europe/berlin  @daily"] {
            assert_eq!(parse(text).expect(text).zone().name(), "Europe/Berlin");
        }
        assert_eq!(parse("TZ=Europe/Berlin 0 9 * * *").expect("a zone").text(), "0 9 * * *");
        assert_eq!(parse("0 9 * * *").expect("UTC").zone(), &Zone::UTC);
        let berlin: Zone = "Europe/Berlin".parse().expect("a zone");
        Cron::parse("TZ=Europe/Berlin @daily", Some(berlin.clone()), None, None).expect("the same zone twice");
        let error = Cron::parse("TZ=Asia/Kolkata @daily", Some(berlin), None, None).expect_err("two zones").to_string();
        assert_eq!(
            error,
            "the expression has the zone Asia/Kolkata and `timezone` has Europe/Berlin: leave one of them out"
        );
        assert!(refusal("TZ=Berlin @daily").contains("Europe/Berlin"));
        assert!(refusal("TZ=Europe/Berlin").contains("five fields"));
    }

    #[test]
    fn every_is_told_apart() {
        let written = |text| CronOrInterval::parse(text, None, None, None);
        assert_eq!(written("@every 1h30m"), Ok(CronOrInterval::Every(Duration::from_mins(90))));
        assert!(matches!(written("@every soon"), Err(NotACron::Interval(_))));
        assert!(matches!(written("@every"), Err(NotACron::Interval(_))));
        assert_eq!(parse("@every 90s"), Err(NotACron::Every));
        assert_eq!(written("TZ=Europe/Berlin @every 90s"), Err(NotACron::Every));
    }

    #[test]
    fn a_mistake_is_named_with_its_field_and_with_what_to_write() {
        for (text, words) in [
            ("", "five fields"),
            ("0 9 * *", "has 4 fields"),
            ("0 9 * * * * 2026", "has 7 fields"),
            ("@reboot", "@hourly"),
            ("60 9 * * *", "the minute field \"60\": \"60\" is not a number from 0 to 59"),
            ("0 24 * * *", "the hour field"),
            ("0 0 0 * *", "the day of month field"),
            ("0 0 * 13 *", "the month field"),
            ("0 0 * * 8", "the day of week field"),
            ("0 0 * monday *", "nor a name such as feb"),
            ("0 0 * * monday", "nor a name such as mon"),
            ("mon 0 * * *", "the minute field"),
            ("5/15 * * * *", "write 5-59/15, or */15"),
            ("0 0 * * fri-mon", "fri-mon runs backwards; write 5-6,0-1"),
            ("0 0 * * 7-2", "write 0-2"),
            ("0 22-6 * * *", "write 22-23,0-6"),
            ("*/0 * * * *", "a step of 0"),
            ("*/61 * * * *", "@every"),
            ("*/x * * * *", "not a step"),
            ("/5 * * * *", "the minute field"),
            ("1,,2 * * * *", "extra comma"),
            ("*,5 * * * *", "* already means every value"),
            ("0 0 ? * *", "write *"),
            ("0 0 15W * *", "W, the nearest weekday"),
            ("0 0 LW * *", "W, the nearest weekday"),
            ("0 0 L-3 * *", "counted back"),
            ("0 0 5L * *", "L cannot be combined with anything else"),
            ("0 0 * * L", "friL"),
            ("L 0 * * *", "L is for days"),
            ("0 0 1#2 * *", "# is for the day of week"),
            ("0 0 * * fri#6", "fri#1 to fri#5"),
            ("0 0 * * 5#", "fri#1 to fri#5"),
            ("0 0 * * 5#2/2", "cannot have a step"),
            ("+5 * * * *", "the minute field"),
            ("٣ * * * *", "the minute field"),
            ("00000000000000000000005 * * * *", "the minute field"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(words), "{text:?}: {refusal}");
        }
        assert_eq!(parse(&"*".repeat(300)), Err(NotACron::TooLong { length: 300 }));
    }

    #[test]
    fn an_expression_that_never_fires_is_refused_with_the_reason() {
        for text in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 4 */1"] {
            let refusal = refusal(text);
            assert!(refusal.contains("no year has a day"), "{refusal}");
        }
        for text in ["0 0 29 2 *", "0 0 29 2 */7", "0 0 * 2 1#5", "0 0 30 2 mon"] {
            parse(text).expect(text);
        }
        // The clocks of Berlin leave out this very time every year.
        let berlin: Zone = "Europe/Berlin".parse().expect("a zone");
        let skip = Cron::parse("30 2 * 3 sunL", Some(berlin.clone()), Some(DstGap::Skip), None);
        assert!(skip.expect_err("never").to_string().contains("dst_gap"));
        Cron::parse("30 2 * 3 sunL", Some(berlin), None, None).expect("it is moved to 03:00");
    }
}
