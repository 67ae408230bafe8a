//! Values on their way into statements and out of rows.
//!
//! Each parameter knows its own type, so that a statement may also be sent without having been prepared before: behind a
//! pooler that gives every transaction another connection nothing stays prepared.

use std::error::Error;
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use foreman_core::Timestamp;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

/// 2000-01-01, where Postgres begins to count, in microseconds since 1970.
const EPOCH: i64 = 946_684_800_000_000;

/// The first moment Postgres can write down (4713 BC), in its own count.
const BEGINNING: i64 = -211_813_488_000_000_000;

/// Longer than anything waits: a sum of now and this is still a time that Postgres can write down.
const LONGEST: i64 = 100_000 * 365 * 86_400 * 1_000_000;

/// A [`Timestamp`] as `timestamptz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub Timestamp);

impl ToSql for Time {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_i64(self.0.as_micros().saturating_sub(EPOCH).max(BEGINNING));
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Time {
    fn from_sql(_: &Type, mut raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = raw.try_get_i64()?;
        Ok(Self(Timestamp::from_micros(micros.saturating_add(EPOCH))))
    }

    accepts!(TIMESTAMPTZ);
}

/// A [`Duration`] as `interval`: elapsed time, never days or months of varying length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval(pub Duration);

impl ToSql for Interval {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_i64(i64::try_from(self.0.as_micros()).unwrap_or(LONGEST).min(LONGEST));
        out.put_i32(0);
        out.put_i32(0);
        Ok(IsNull::No)
    }

    accepts!(INTERVAL);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Interval {
    fn from_sql(_: &Type, mut raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let (micros, days, months) = (raw.try_get_i64()?, raw.try_get_i32()?, raw.try_get_i32()?);
        let days = i64::from(days) + 30 * i64::from(months);
        let micros = micros.saturating_add(days.saturating_mul(86_400_000_000));
        Ok(Self(Duration::from_micros(u64::try_from(micros).unwrap_or_default())))
    }

    accepts!(INTERVAL);
}

/// A row of bits as `bit varying`, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    /// So many bits, none of them set.
    pub fn none(length: usize) -> Self {
        Self { bytes: vec![0; length.div_ceil(8)], length }
    }

    /// So many bits, all of them set. What is left of the last byte stays empty, as Postgres wants it.
    pub fn all(length: usize) -> Self {
        let mut bits = Self { bytes: vec![0xff; length.div_ceil(8)], length };
        if let (Some(last), rest @ 1..) = (bits.bytes.last_mut(), length % 8) {
            *last <<= 8 - rest;
        }
        bits
    }

    /// Sets the bit at a place that is one of them.
    pub fn set(&mut self, place: usize) {
        self.bytes[place / 8] |= 0x80 >> (place % 8);
    }

    pub fn is_set(&self, place: usize) -> bool {
        self.bytes.get(place / 8).is_some_and(|byte| byte & (0x80 >> (place % 8)) != 0)
    }

    /// How many are set.
    pub fn count(&self) -> usize {
        self.bytes.iter().map(|byte| byte.count_ones() as usize).sum()
    }
}

impl ToSql for Bits {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_i32(i32::try_from(self.length)?);
        out.put_slice(&self.bytes);
        Ok(IsNull::No)
    }

    accepts!(VARBIT);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Bits {
    fn from_sql(_: &Type, mut raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let length = usize::try_from(raw.try_get_i32()?)?;
        Ok(Self { bytes: raw.to_vec(), length })
    }

    // What is worked out of `bit varying` is `bit`.
    accepts!(VARBIT, BIT);
}

/// A parameter that knows its type.
pub(crate) trait Arg: ToSql + Sync + Send {
    fn kind(&self) -> Type;
    fn as_sql(&self) -> &(dyn ToSql + Sync);
}

macro_rules! args {
    ($($rust:ty => $kind:ident,)+) => {
        $(impl Arg for $rust {
            fn kind(&self) -> Type {
                Type::$kind
            }

            fn as_sql(&self) -> &(dyn ToSql + Sync) {
                self
            }
        })+
    };
}

args! {
    bool => BOOL,
    Vec<bool> => BOOL_ARRAY,
    Vec<i16> => INT2_ARRAY,
    i32 => INT4,
    Vec<i32> => INT4_ARRAY,
    Vec<Option<i32>> => INT4_ARRAY,
    i64 => INT8,
    Option<i64> => INT8,
    Vec<i64> => INT8_ARRAY,
    Vec<Option<i64>> => INT8_ARRAY,
    i16 => INT2,
    Uuid => UUID,
    Vec<Uuid> => UUID_ARRAY,
    Vec<Option<Uuid>> => UUID_ARRAY,
    Option<Vec<Uuid>> => UUID_ARRAY,
    &str => TEXT,
    String => TEXT,
    Option<String> => TEXT,
    Option<&str> => TEXT,
    Vec<&str> => TEXT_ARRAY,
    Vec<String> => TEXT_ARRAY,
    Vec<Option<&str>> => TEXT_ARRAY,
    Vec<Option<String>> => TEXT_ARRAY,
    Option<Vec<&str>> => TEXT_ARRAY,
    &[u8] => BYTEA,
    Vec<&[u8]> => BYTEA_ARRAY,
    Vec<Option<&[u8]>> => BYTEA_ARRAY,
    Time => TIMESTAMPTZ,
    Option<Time> => TIMESTAMPTZ,
    Vec<Time> => TIMESTAMPTZ_ARRAY,
    Vec<Option<Time>> => TIMESTAMPTZ_ARRAY,
    Interval => INTERVAL,
    Vec<Interval> => INTERVAL_ARRAY,
    Vec<Option<Interval>> => INTERVAL_ARRAY,
    Bits => VARBIT,
    Option<Bits> => VARBIT,
    Vec<Bits> => VARBIT_ARRAY,
}

/// A count as Postgres takes it.
pub(crate) fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// As many rows as tell whether there are more than enough.
pub(crate) fn one_more(enough: u64) -> i64 {
    i64::try_from(enough).unwrap_or(i64::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<T: ToSql, U: for<'a> FromSql<'a>>(value: &T, kind: &Type) -> U {
        let mut out = BytesMut::new();
        value.to_sql(kind, &mut out).expect("plain data");
        U::from_sql(kind, &out).expect("plain data")
    }

    #[test]
    fn a_time_survives_to_the_microsecond() {
        for micros in [0, 1, 1_763_200_000_123_456, -5, 4_102_444_800_999_999] {
            let time = Time(Timestamp::from_micros(micros));
            assert_eq!(there_and_back::<_, Time>(&time, &Type::TIMESTAMPTZ), time);
        }
    }

    #[test]
    fn a_time_before_all_times_is_the_first_one() {
        let time = Time(Timestamp::from_micros(i64::MIN));
        let read: Time = there_and_back(&time, &Type::TIMESTAMPTZ);
        assert_eq!(read.0.as_micros(), BEGINNING + EPOCH);
    }

    #[test]
    fn bits_survive_and_are_counted() {
        for length in [0, 1, 7, 8, 9, 512, 1_001] {
            let all = Bits::all(length);
            assert_eq!(all.count(), length);
            assert_eq!(there_and_back::<_, Bits>(&all, &Type::VARBIT), all);
            let mut some = Bits::none(length);
            (0..length).step_by(3).for_each(|place| some.set(place));
            assert!((0..length).all(|place| some.is_set(place) == (place % 3 == 0)), "{length}");
            assert_eq!(there_and_back::<_, Bits>(&some, &Type::VARBIT), some);
            assert!(!some.is_set(length), "beyond its end nothing is set");
        }
    }

    #[test]
    fn a_duration_survives_unless_nobody_could_wait_for_it() {
        for micros in [0, 1, 15_000_000, 86_400_000_000 * 400] {
            let span = Interval(Duration::from_micros(micros));
            assert_eq!(there_and_back::<_, Interval>(&span, &Type::INTERVAL), span);
        }
        let read: Interval = there_and_back(&Interval(Duration::MAX), &Type::INTERVAL);
        assert_eq!(read.0, Duration::from_micros(LONGEST.unsigned_abs()));
    }
}
