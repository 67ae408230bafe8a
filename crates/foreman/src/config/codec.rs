//! Between text and typed values, one codec per kind of setting.
//!
//! The same codec reads a value from the file, where it has a type of its own, and from the environment or a flag, where
//! everything is text; and it writes the value back as a line of the file would.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use foreman_core::duration;
use foreman_core::tenant::Limit;
use toml::de::DeValue;

/// A value as it was given.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    /// In the file: it has a type.
    Toml(&'a DeValue<'a>),
    /// In the environment or on the command line.
    Text(&'a str),
}

/// What is wrong is told in the user's words.
type Read<T> = Box<dyn Fn(Raw<'_>) -> Result<T, String> + Send + Sync>;

/// Reads and writes one kind of value.
pub struct Codec<T> {
    pub read: Read<T>,
    /// As it would stand in the file.
    pub show: fn(&T) -> String,
}

impl<T: 'static> Codec<T> {
    fn new(read: impl Fn(Raw<'_>) -> Result<T, String> + Send + Sync + 'static, show: fn(&T) -> String) -> Self {
        Self { read: Box::new(read), show }
    }
}

/// `90s`, at least `least`.
pub fn span(least: Duration) -> Codec<Duration> {
    Codec::new(move |raw| read_span(raw, least), show_span)
}

/// `90s`, or `"forever"`.
pub fn span_or_forever() -> Codec<Option<Duration>> {
    Codec::new(
        |raw| match string(raw) {
            Some("forever") => Ok(None),
            _ => read_span(raw, Duration::ZERO).map(Some).map_err(|why| format!("{why}, or forever")),
        },
        |value| value.as_ref().map_or_else(|| quoted("forever"), show_span),
    )
}

/// `90s`, or `"unknown"`.
pub fn span_or_unknown() -> Codec<Option<Duration>> {
    Codec::new(
        |raw| match string(raw) {
            Some("unknown") => Ok(None),
            _ => read_span(raw, Duration::ZERO).map(Some).map_err(|why| format!("{why}, or unknown")),
        },
        |value| value.as_ref().map_or_else(|| quoted("unknown"), show_span),
    )
}

fn read_span(raw: Raw<'_>, least: Duration) -> Result<Duration, String> {
    let text = string(raw).ok_or_else(|| format!("{} is not a duration; write it like \"90s\"", describe(raw)))?;
    let span = duration::parse(text).map_err(|error| error.to_string())?;
    if span < least {
        return Err(format!("{text} is too short; the minimum is {}", duration::format(least)));
    }
    Ok(span)
}

fn show_span(span: &Duration) -> String {
    quoted(&duration::format(*span))
}

/// A whole number within `range`.
pub fn count<T>(range: RangeInclusive<u64>) -> Codec<T>
where
    T: TryFrom<u64> + Display + 'static,
{
    Codec::new(move |raw| read_count(raw, &range), ToString::to_string)
}

/// A whole number within `range`, or `"none"`.
pub fn count_or_none<T>(range: RangeInclusive<u64>) -> Codec<Option<T>>
where
    T: TryFrom<u64> + Display + 'static,
{
    Codec::new(
        move |raw| match string(raw) {
            Some("none") => Ok(None),
            _ => read_count(raw, &range).map(Some).map_err(|why| format!("{why}, or none")),
        },
        |value| value.as_ref().map_or_else(|| quoted("none"), ToString::to_string),
    )
}

fn read_count<T: TryFrom<u64>>(raw: Raw<'_>, range: &RangeInclusive<u64>) -> Result<T, String> {
    let refuse = || format!("{} is not a whole number from {} to {}", describe(raw), range.start(), range.end());
    let number = whole(raw).ok_or_else(refuse)?;
    if !range.contains(&number) {
        return Err(refuse());
    }
    T::try_from(number).map_err(|_| refuse())
}

/// `256KiB`, `1MiB`, or a number of bytes.
pub fn bytes(range: RangeInclusive<u64>) -> Codec<usize> {
    Codec::new(
        move |raw| {
            let refuse = || format!("{} is not a size; write it like \"256KiB\", \"1MiB\" or 4096", describe(raw));
            let size = whole(raw).or_else(|| string(raw).and_then(size)).ok_or_else(refuse)?;
            if !range.contains(&size) {
                let (least, most) = (show_size(*range.start()), show_size(*range.end()));
                return Err(format!("{} must be between {least} and {most}", describe(raw)));
            }
            usize::try_from(size).map_err(|_| refuse())
        },
        |value| {
            let text = show_size(*value as u64);
            if text.ends_with('B') { quoted(&text) } else { text }
        },
    )
}

const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

fn size(text: &str) -> Option<u64> {
    let (unit, factor) = SIZES.iter().find(|(unit, _)| text.ends_with(unit))?;
    text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(*factor)
}

fn show_size(size: u64) -> String {
    match SIZES.iter().find(|(unit, factor)| *unit != "B" && size > 0 && size.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", size / factor),
        None => size.to_string(),
    }
}

pub fn switch() -> Codec<bool> {
    Codec::new(
        |raw| {
            match raw {
                Raw::Toml(value) => value.as_bool(),
                Raw::Text(text) => match text.trim() {
                    "true" | "1" | "yes" | "on" => Some(true),
                    "false" | "0" | "no" | "off" => Some(false),
                    _ => None,
                },
            }
            .ok_or_else(|| format!("{} is neither true nor false", describe(raw)))
        },
        ToString::to_string,
    )
}

/// Text that is not empty.
pub fn text() -> Codec<String> {
    Codec::new(
        |raw| match string(raw).map(str::trim) {
            Some("") => Err("it must not be empty".into()),
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("{} is not text; put it in quotes", describe(raw))),
        },
        |value| quoted(value),
    )
}

/// Text; empty stands for what the program finds out by itself.
pub fn text_or_auto() -> Codec<Option<String>> {
    Codec::new(
        |raw| match string(raw).map(str::trim) {
            Some("auto") => Ok(None),
            Some("") => Err("it must not be empty; write auto for the default".into()),
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!("{} is not text; put it in quotes", describe(raw))),
        },
        |value| quoted(value.as_deref().unwrap_or("auto")),
    )
}

/// Text, or `"none"`.
pub fn text_or_none() -> Codec<Option<String>> {
    Codec::new(
        |raw| match string(raw).map(str::trim) {
            Some("none") => Ok(None),
            Some("") => Err("it must not be empty; write none for nothing".into()),
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!("{} is not text; put it in quotes", describe(raw))),
        },
        |value| quoted(value.as_deref().unwrap_or("none")),
    )
}

pub fn path() -> Codec<PathBuf> {
    Codec::new(
        |raw| match string(raw) {
            Some("") => Err("it must not be empty".into()),
            Some(text) => Ok(PathBuf::from(text)),
            None => Err(format!("{} is not a path; put it in quotes", describe(raw))),
        },
        |value| quoted(&value.display().to_string()),
    )
}

/// An IP address and a port.
pub fn address() -> Codec<SocketAddr> {
    Codec::new(
        |raw| {
            let refuse = || {
                format!("{} is not an address and a port; write it like 127.0.0.1:8080 or [::1]:8080", describe(raw))
            };
            let text = string(raw).ok_or_else(refuse)?;
            let literal =
                text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
            literal.parse().map_err(|_| refuse())
        },
        |value| quoted(&value.to_string()),
    )
}

/// Several texts: an array in the file, separated by commas elsewhere. `parse` judges each of them.
pub fn list<T>(parse: fn(&str) -> Result<T, String>) -> Codec<Vec<T>>
where
    T: ToString + 'static,
{
    list_shown(parse, |values| show_list(values.iter().map(ToString::to_string)))
}

/// The same of values that have no text of their own.
pub fn list_shown<T: 'static>(parse: fn(&str) -> Result<T, String>, show: fn(&Vec<T>) -> String) -> Codec<Vec<T>> {
    Codec::new(
        move |raw| {
            let texts: Vec<&str> = match raw {
                Raw::Text(text) => text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect(),
                Raw::Toml(DeValue::Array(values)) => values
                    .iter()
                    .map(|value| string(Raw::Toml(value.get_ref())))
                    .collect::<Option<_>>()
                    .ok_or("every entry must be text in quotes")?,
                Raw::Toml(_) => return Err(format!("{} is not a list; write it like [\"a\", \"b\"]", describe(raw))),
            };
            let (read, mistakes): (Vec<_>, Vec<_>) = texts.into_iter().map(parse).partition(Result::is_ok);
            let mistakes: Vec<String> = mistakes.into_iter().filter_map(Result::err).collect();
            if mistakes.is_empty() { Ok(read.into_iter().flatten().collect()) } else { Err(mistakes.join("; ")) }
        },
        show,
    )
}

pub fn show_list(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.map(|text| quoted(&text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A path, or `"none"`.
pub fn path_or_none() -> Codec<Option<PathBuf>> {
    Codec::new(
        |raw| match string(raw) {
            Some("none") => Ok(None),
            Some("") => Err("it must not be empty; write none for no file".into()),
            Some(text) => Ok(Some(PathBuf::from(text))),
            None => Err(format!("{} is not a path; put it in quotes", describe(raw))),
        },
        |value| quoted(&value.as_ref().map_or_else(|| "none".into(), |path| path.display().to_string())),
    )
}

/// A whole number, or `"unlimited"`.
pub fn limit() -> Codec<Limit> {
    Codec::new(
        |raw| match string(raw) {
            Some("unlimited") => Ok(Limit::Unlimited),
            _ => whole(raw)
                .map(Limit::AtMost)
                .ok_or_else(|| format!("{} is not a limit; write a whole number or unlimited", describe(raw))),
        },
        |value| match value {
            Limit::AtMost(most) => most.to_string(),
            Limit::Unlimited => quoted("unlimited"),
        },
    )
}

/// One of several words.
pub fn choice<T>(choices: &'static [(&'static str, T)]) -> Codec<T>
where
    T: Copy + PartialEq + Send + Sync + 'static,
    T: Choice,
{
    Codec::new(
        move |raw| {
            let found = string(raw).and_then(|text| choices.iter().find(|(name, _)| *name == text));
            found.map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                format!("{} is not one of {}", describe(raw), names.join(", "))
            })
        },
        |value| quoted(value.name()),
    )
}

/// A value that is a word.
pub trait Choice {
    fn name(self) -> &'static str;
}

fn string(raw: Raw<'_>) -> Option<&str> {
    match raw {
        Raw::Toml(value) => value.as_str(),
        Raw::Text(text) => Some(text),
    }
}

fn whole(raw: Raw<'_>) -> Option<u64> {
    match raw {
        Raw::Toml(value) => {
            let integer = value.as_integer()?;
            u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
        }
        Raw::Text(text) => text.trim().parse().ok(),
    }
}

/// The value as the user wrote it, as far as it helps.
fn describe(raw: Raw<'_>) -> String {
    match raw {
        Raw::Text(text) => format!("{text:?}"),
        Raw::Toml(DeValue::String(text)) => format!("{text:?}"),
        Raw::Toml(DeValue::Integer(integer)) => integer.as_str().to_owned(),
        Raw::Toml(DeValue::Float(float)) => float.as_str().to_owned(),
        Raw::Toml(DeValue::Boolean(value)) => value.to_string(),
        Raw::Toml(DeValue::Datetime(time)) => time.to_string(),
        Raw::Toml(DeValue::Array(_)) => "a list".into(),
        Raw::Toml(DeValue::Table(_)) => "a table".into(),
    }
}

pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml_of<T>(codec: &Codec<T>, literal: &str) -> Result<T, String> {
        let value = DeValue::parse(literal).expect("TOML");
        (codec.read)(Raw::Toml(value.get_ref()))
    }

    fn text_of<T>(codec: &Codec<T>, text: &str) -> Result<T, String> {
        (codec.read)(Raw::Text(text))
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let spans = span_or_forever();
        for value in [None, Some(Duration::from_millis(90_500))] {
            assert_eq!(toml_of(&spans, &(spans.show)(&value)), Ok(value));
        }
        let sizes = bytes(1..=u64::MAX >> 1);
        for value in [1, 1_000, 4_096, 256 * 1_024, 1 << 20, (1 << 20) + 1] {
            assert_eq!(toml_of(&sizes, &(sizes.show)(&value)), Ok(value));
        }
        let lists = list(|text| Ok::<_, String>(text.to_owned()));
        for value in [vec![], vec!["a".to_owned(), "say \"b\"".to_owned()]] {
            assert_eq!(toml_of(&lists, &(lists.show)(&value)), Ok(value));
        }
        let limits = limit();
        for value in [Limit::Unlimited, Limit::AtMost(0), Limit::AtMost(1_000)] {
            assert_eq!(toml_of(&limits, &(limits.show)(&value)), Ok(value));
        }
        let paths = path_or_none();
        for value in [None, Some(PathBuf::from("/run/key"))] {
            assert_eq!(toml_of(&paths, &(paths.show)(&value)), Ok(value));
        }
        let numbers = count_or_none::<u32>(1..=9);
        for value in [None, Some(7)] {
            assert_eq!(toml_of(&numbers, &(numbers.show)(&value)), Ok(value));
        }
    }

    #[test]
    fn text_of_the_environment_means_the_same_as_the_file() {
        assert_eq!(text_of(&count::<usize>(1..=64), " 32 "), Ok(32));
        assert_eq!(toml_of(&count::<usize>(1..=64), "32"), Ok(32));
        assert_eq!(toml_of(&count::<usize>(1..=4_096), "1_000"), Ok(1_000));
        assert_eq!(text_of(&switch(), "yes"), Ok(true));
        assert_eq!(toml_of(&switch(), "true"), Ok(true));
        assert_eq!(text_of(&list(|text| Ok::<_, String>(text.to_owned())), "a, b,"), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(text_of(&address(), "localhost:9090").map(|it| it.to_string()), Ok("127.0.0.1:9090".into()));
    }

    #[test]
    fn a_mistake_is_told_in_the_users_words() {
        for (said, expected) in [
            (text_of(&span(Duration::ZERO), "soon").err(), "\"soon\""),
            (toml_of(&span(Duration::ZERO), "15").err(), "15 is not a duration; write it like \"90s\""),
            (text_of(&span(Duration::from_secs(1)), "1ms").err(), "the minimum is 1s"),
            (toml_of(&count::<u32>(1..=9), "\"many\"").err(), "\"many\" is not a whole number from 1 to 9"),
            (toml_of(&count::<u32>(1..=9), "10").err(), "10 is not a whole number from 1 to 9"),
            (toml_of(&count::<u32>(1..=9), "-1").err(), "-1 is not"),
            (text_of(&bytes(1..=9), "1MB").err(), "\"256KiB\""),
            (text_of(&bytes(1..=4096), "1MiB").err(), "between 1 and 4KiB"),
            (text_of(&limit(), "many").err(), "a whole number or unlimited"),
            (toml_of(&limit(), "-1").err(), "-1 is not a limit"),
            (text_of(&address(), "8080").err(), "127.0.0.1:8080"),
            (toml_of(&switch(), "1").err(), "neither true nor false"),
            (toml_of(&list(|text| Ok::<_, String>(text.to_owned())), "\"a\"").err(), "[\"a\", \"b\"]"),
        ] {
            let said = said.unwrap_or_default();
            assert!(said.contains(expected), "{said:?} should speak of {expected:?}");
        }
    }
}
