//! When a target wants to be asked again.

use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::retry::MAX_RETRY_AFTER;
use http::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use jiff::fmt::rfc2822::DateTimeParser;

/// `Retry-After` as a pause from now, at most a day: seconds, or a date, which is compared with the date the target
/// itself wrote on its answer if it did, for its clock may be off. What cannot be read is as if it were not there.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = text(headers, &RETRY_AFTER)?;
    let pause = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a long time.
        text.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs)
    } else {
        date(text)?.since(date_of(headers).unwrap_or(now))
    };
    Some(pause.min(MAX_RETRY_AFTER))
}

fn date_of(headers: &HeaderMap) -> Option<Timestamp> {
    date(text(headers, &DATE)?)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// As HTTP has written dates since 1994; the two older ways are not read.
fn date(text: &str) -> Option<Timestamp> {
    let date = DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?;
    Some(Timestamp::from_micros(date.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn asked(retry_after_text: &'static str, date: Option<&'static str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static(retry_after_text));
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        retry_after(&headers, "2026-11-15T09:00:00Z".parse().expect("a time"))
    }

    #[test]
    fn seconds_are_read_and_capped_at_a_day() {
        assert_eq!(asked("120", None), Some(Duration::from_mins(2)));
        assert_eq!(asked(" 7 ", None), Some(Duration::from_secs(7)));
        assert_eq!(asked("0", None), Some(Duration::ZERO));
        assert_eq!(asked("86401", None), Some(MAX_RETRY_AFTER));
        assert_eq!(asked("99999999999999999999999999", None), Some(MAX_RETRY_AFTER));
    }

    #[test]
    fn a_date_is_a_pause_from_now() {
        assert_eq!(asked("Sun, 15 Nov 2026 09:01:30 GMT", None), Some(Duration::from_secs(90)));
        assert_eq!(asked("Sun, 15 Nov 2026 08:00:00 GMT", None), Some(Duration::ZERO));
        assert_eq!(asked("Thu, 31 Dec 9998 23:59:59 GMT", None), Some(MAX_RETRY_AFTER));
    }

    #[test]
    fn a_target_whose_clock_is_off_is_read_by_its_own_clock() {
        let pause = asked("Thu, 15 Nov 2035 10:00:30 GMT", Some("Thu, 15 Nov 2035 10:00:00 GMT"));
        assert_eq!(pause, Some(Duration::from_secs(30)));
    }

    #[test]
    fn what_cannot_be_read_is_not_there() {
        for text in ["", "-1", "1.5", "soon", "1e9", "+3", "Xyz, 99 Foo 2026 09:01:30 GMT", "2026-11-15T09:01:30Z"] {
            assert_eq!(asked(text, None), None, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), Timestamp::default()), None);
    }
}
