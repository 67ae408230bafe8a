//! Codecs of limits that may be absent: the value, or `"unlimited"`.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::codec::{self, Codec, Raw};

const WORD: &str = "unlimited";

/// `90s`, or `"unlimited"`.
pub fn span(least: Duration) -> Codec<Option<Duration>> {
    optional(codec::span(least), |value| shown(value.as_ref(), codec::span(Duration::ZERO).show))
}

/// `64MiB`, or `"unlimited"`.
pub fn bytes(range: RangeInclusive<u64>) -> Codec<Option<usize>> {
    optional(codec::bytes(range), |value| shown(value.as_ref(), codec::bytes(0..=0).show))
}

/// `256`, or `"unlimited"`.
pub fn count(range: RangeInclusive<u64>) -> Codec<Option<u64>> {
    optional(codec::count(range), |value| shown(value.as_ref(), codec::count(0..=0).show))
}

fn optional<T: 'static>(inner: Codec<T>, show: fn(&Option<T>) -> String) -> Codec<Option<T>> {
    let Codec { read, .. } = inner;
    Codec {
        read: Box::new(move |raw| {
            let text = match raw {
                Raw::Toml(value) => value.as_str(),
                Raw::Text(text) => Some(text.trim()),
            };
            if text == Some(WORD) {
                return Ok(None);
            }
            read(raw).map(Some).map_err(|why| format!("{why}, or {WORD}"))
        }),
        show,
    }
}

fn shown<T>(value: Option<&T>, show: fn(&T) -> String) -> String {
    value.map_or_else(|| codec::quoted(WORD), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_value_or_unlimited() {
        let sizes = bytes(0..=1 << 40);
        for (text, value, again) in
            [("unlimited", None, "\"unlimited\""), ("0", Some(0), "0"), ("64MiB", Some(64 << 20), "\"64MiB\"")]
        {
            let read = (sizes.read)(Raw::Text(text)).expect(text);
            assert_eq!((read, (sizes.show)(&read).as_str()), (value, again));
        }
        assert_eq!((count(1..=9).read)(Raw::Text("unlimited")), Ok(None));
        assert_eq!((span(Duration::ZERO).read)(Raw::Text("90s")), Ok(Some(Duration::from_secs(90))));
        let why = (sizes.read)(Raw::Text("much")).expect_err("no size");
        assert!(why.ends_with(", or unlimited"), "{why}");
    }
}
