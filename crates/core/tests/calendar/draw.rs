//! Expressions drawn at random, most of them about a given time on the wall.

use crate::oracle::Wall;

/// Numbers that come again from the same seed (SplitMix64).
pub struct Draw(pub u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// From `from` to `to`, both included.
    pub fn number(&mut self, from: i64, to: i64) -> i64 {
        from + (self.bits() % (to - from + 1) as u64) as i64
    }

    pub fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.number(0, of.len() as i64 - 1) as usize]
    }

    /// An expression that is likely to mean something within a few hours of `near`.
    pub fn expression(&mut self, near: Wall, with_seconds: bool) -> String {
        let minute = self.field(near.minute, 0, 59);
        let hours_off = *self.one_of(&[0, 0, 0, -1, 1, 2]);
        let hour = self.field((near.hour + hours_off).rem_euclid(24), 0, 23);
        let date = match self.number(0, 9) {
            0 => "L".into(),
            1 => format!("{},{}", self.number(1, 31), near.date),
            2 => self.field(near.date, 1, 31),
            _ => "*".into(),
        };
        let month = match self.number(0, 9) {
            0 => (*self.one_of(&["jan", "feb-jun", "mar,apr", "sep-dec", "*/2"])).into(),
            1 => self.field(near.month, 1, 12),
            _ => "*".into(),
        };
        let weekday = match self.number(0, 11) {
            0 => format!("{}L", near.weekday),
            1 => format!("{}#{}", near.weekday, (near.date + 6) / 7),
            2 => format!("{}#{}", self.number(0, 7), self.number(1, 5)),
            3 => (*self.one_of(&["mon-fri", "sat-sun", "sun", "fri-sun", "tue,thu", "7"])).into(),
            4 => self.field(near.weekday, 0, 7),
            _ => "*".into(),
        };
        let rest = format!("{minute} {hour} {date} {month} {weekday}");
        if with_seconds { format!("{} {rest}", self.field(near.second, 0, 59)) } else { rest }
    }

    fn field(&mut self, near: i64, min: i64, max: i64) -> String {
        let other = self.number(min, max);
        let (low, high) = (near.min(other), near.max(other));
        match self.number(0, 11) {
            0..=3 => near.to_string(),
            4 => "*".into(),
            5 => format!("*/{}", self.number(1, max - min + 1)),
            6 => format!("{low}-{high}"),
            7 => format!("{low}-{high}/{}", self.number(1, high - low + 1)),
            8 => format!("{near},{other}"),
            9 => format!("{other},*/{}", self.number(1, max - min + 1)),
            10 => min.to_string(),
            _ => other.to_string(),
        }
    }
}
