//! The ratios that this repository has on record, and the rule by which a run is compared with them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// A ratio fails below this part of the one on record.
pub const TOLERATED: f64 = 0.7;

const HEAD: &str = "\
# Ratios of `make bench-quick`, each to what is measured beside it in the same run (`bench/src/quick.rs` says what).
# CI fails when one is more than 30 % below. Written by `make bench-quick ARGS=--record` on a quiet machine;
# a change that is meant to be slower, or made something faster, records them again and says so.
";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Of the machine. On one with another number ratios are different, and are printed without being judged.
    pub cores: usize,
    pub ratios: BTreeMap<String, f64>,
}

pub struct Measured {
    pub key: &'static str,
    pub ratio: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    NotRecorded,
    /// Recorded on a machine with this many cores.
    OtherMachine(f64, usize),
    Kept(f64),
    TooLow(f64),
}

impl Judgement {
    pub fn is_failure(self) -> bool {
        matches!(self, Judgement::TooLow(_))
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Judgement::NotRecorded => write!(f, "not on record"),
            Judgement::OtherMachine(ratio, cores) => write!(f, "recorded {ratio:.3} on {cores} cores: not compared"),
            Judgement::Kept(ratio) => write!(f, "recorded {ratio:.3}"),
            Judgement::TooLow(ratio) => {
                write!(f, "FAILED: more than 30 % below the recorded {ratio:.3}")
            }
        }
    }
}

impl Recorded {
    pub fn read(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path)?;
        Ok(Some(toml::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?))
    }

    pub fn of(measured: &[Measured]) -> Self {
        // More digits would claim more than was measured.
        let rounded = |ratio: f64| (ratio * 1_000.0).round() / 1_000.0;
        let ratios = measured.iter().map(|one| (one.key.to_owned(), rounded(one.ratio)));
        Self { cores: cores(), ratios: ratios.collect() }
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, format!("{HEAD}\n{}", toml::to_string(self)?))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn judge(&self, key: &str, ratio: f64) -> Judgement {
        match self.ratios.get(key) {
            None => Judgement::NotRecorded,
            Some(&recorded) if self.cores != cores() => Judgement::OtherMachine(recorded, self.cores),
            // What is no number is no better.
            Some(&recorded) if ratio.is_nan() || ratio < recorded * TOLERATED => Judgement::TooLow(recorded),
            Some(&recorded) => Judgement::Kept(recorded),
        }
    }
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(ratio: f64) -> Recorded {
        Recorded { cores: cores(), ratios: BTreeMap::from([("postgres.drain".to_owned(), ratio)]) }
    }

    #[test]
    fn a_ratio_more_than_thirty_percent_below_the_recorded_one_fails() {
        let judgement = recorded(0.6).judge("postgres.drain", 0.41);
        assert_eq!(judgement, Judgement::TooLow(0.6));
        assert!(judgement.is_failure());
        assert!(recorded(0.6).judge("postgres.drain", f64::NAN).is_failure());
    }

    #[test]
    fn a_ratio_within_thirty_percent_passes_and_so_does_a_better_one() {
        for ratio in [0.43, 0.6, 1.9] {
            assert_eq!(recorded(0.6).judge("postgres.drain", ratio), Judgement::Kept(0.6));
        }
    }

    #[test]
    fn a_ratio_that_is_not_on_record_or_from_another_machine_is_shown_and_not_judged() {
        assert_eq!(recorded(0.6).judge("sqlite.drain", 0.01), Judgement::NotRecorded);
        let elsewhere = Recorded { cores: cores() + 6, ..recorded(0.6) };
        assert!(!elsewhere.judge("postgres.drain", 0.01).is_failure());
    }

    #[test]
    fn what_is_recorded_is_read_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("recorded.toml");
        assert_eq!(Recorded::read(&path).expect("no file"), None);
        let written = Recorded::of(&[Measured { key: "postgres.drain", ratio: 0.612_345 }]);
        written.write(&path).expect("written");
        let read = Recorded::read(&path).expect("read").expect("a file");
        assert_eq!((&read, toml::to_string(&read).expect("text").contains("= 0.612")), (&written, true));
    }

    #[test]
    fn the_record_of_this_repository_has_every_gate() {
        // Test programs run in the directory of their package. Not by a path that was compiled in: a build that is kept
        // may be that of another copy of the repository.
        let recorded = Recorded::read(Path::new("recorded.toml")).expect("readable").expect("bench/recorded.toml");
        let mut keys = crate::quick::Gate::keys();
        keys.sort_unstable();
        assert_eq!(recorded.ratios.keys().collect::<Vec<_>>(), keys);
    }
}
