//! A few ratios in a few minutes: what `make bench-quick` prints, and CI compares with those in `bench/recorded.toml`.
//!
//! A machine that others use too is slow at times, never fast at times. So each side takes short turns in alternation (what
//! Foreman is compared with, Foreman, and again), and the best of each is what counts, or the median of the turns' own
//! ratios where that is higher: load that comes and goes may give one side a lucky turn. A ratio that falls short is
//! given as many turns again before it fails.
//!
//! CPU time per job is printed beside it and not judged: it does not see time spent waiting, and beside ten builds a drain
//! took twice as much of it, in smaller claims and settlements, while raw rows did not.

use anyhow::Result;

use crate::postgres::Server;
use crate::postgres::quick::PostgresGate;
use crate::record::{Judgement, Measured, Recorded};
use crate::report::Unit;
use crate::sqlite::quick::SqliteGate;

/// Something that is measured, and what it is a ratio of.
#[derive(Clone, Copy, Debug)]
pub enum Gate {
    Postgres(PostgresGate),
    Sqlite(SqliteGate),
}

/// What a turn of one side found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    pub floor: f64,
    pub ours: f64,
    /// Microseconds of CPU per job, of the same two.
    pub cpu: Option<(f64, f64)>,
}

/// How much a turn measures.
#[derive(Clone, Copy, Debug)]
pub struct TurnSize {
    pub jobs: usize,
    pub picks: usize,
}

impl Gate {
    pub fn all(with_postgres: bool) -> Vec<Self> {
        let postgres = PostgresGate::ALL.into_iter().filter(|_| with_postgres).map(Gate::Postgres);
        postgres.chain(SqliteGate::ALL.into_iter().map(Gate::Sqlite)).collect()
    }

    /// Of all of them.
    #[cfg(test)]
    pub fn keys() -> Vec<&'static str> {
        Self::all(true).into_iter().map(Gate::key).collect()
    }

    pub fn key(self) -> &'static str {
        match self {
            Gate::Postgres(gate) => gate.key(),
            Gate::Sqlite(gate) => gate.key(),
        }
    }

    /// What the ratio is of.
    pub fn about(self) -> &'static str {
        match self {
            Gate::Postgres(gate) => gate.about(),
            Gate::Sqlite(gate) => gate.about(),
        }
    }

    fn unit(self) -> Unit {
        if matches!(self, Gate::Postgres(PostgresGate::PickUp)) { Unit::Milliseconds } else { Unit::PerSecond }
    }

    async fn turn(self, server: Option<&Server>, size: TurnSize) -> Result<Turn> {
        match (self, server) {
            (Gate::Postgres(gate), Some(server)) => gate.turn(server, size).await,
            (Gate::Postgres(_), None) => anyhow::bail!("{} needs a Postgres to measure on", self.key()),
            (Gate::Sqlite(gate), _) => gate.turn(size).await,
        }
    }
}

/// The best of each side, and their ratio: the higher, the better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    pub floor: f64,
    pub ours: f64,
    pub ratio: f64,
    /// The median of the ratios of single turns.
    pub median: f64,
}

impl Best {
    /// What is judged: other load that comes and goes lowers one of the two, a slower Foreman both.
    pub fn judged(self) -> f64 {
        self.ratio.max(self.median)
    }

    /// What goes on record, for the same reason.
    pub fn recordable(self) -> f64 {
        self.ratio.min(self.median)
    }

    pub fn of(sides: impl Iterator<Item = (f64, f64)> + Clone, unit: Unit) -> Self {
        let is_rate = unit == Unit::PerSecond;
        let best = |values: &mut dyn Iterator<Item = f64>| {
            if is_rate { values.fold(0.0, f64::max) } else { values.fold(f64::INFINITY, f64::min) }
        };
        let single = sides.clone().map(|(floor, ours)| if is_rate { ours / floor } else { floor / ours });
        let median = crate::report::median(single.collect());
        let (floor, ours) = (best(&mut sides.clone().map(|side| side.0)), best(&mut sides.map(|side| side.1)));
        Self { floor, ours, ratio: if is_rate { ours / floor } else { floor / ours }, median }
    }
}

/// Measures all gates, prints them, and answers what was measured and whether it may be.
pub async fn run(
    server: Option<&Server>,
    size: TurnSize,
    turns: usize,
    recorded: Option<&Recorded>,
) -> Result<(Vec<Measured>, bool)> {
    let (mut measured, mut is_well) = (Vec::new(), true);
    println!("best of {turns} turns each, in alternation; a ratio of 1 would be as fast as what it is compared with");
    for gate in Gate::all(server.is_some()) {
        let (mut seen, mut allowed) = (Vec::new(), turns);
        let (best, judgement) = loop {
            while seen.len() < allowed {
                seen.push(gate.turn(server, size).await?);
            }
            let best = Best::of(seen.iter().map(|turn| (turn.floor, turn.ours)), gate.unit());
            let judgement =
                recorded.map_or(Judgement::NotRecorded, |recorded| recorded.judge(gate.key(), best.judged()));
            if !judgement.is_failure() || allowed > turns {
                break (best, judgement);
            }
            eprintln!("{} falls short with {:.3}; measuring it again", gate.key(), best.judged());
            allowed *= 2;
        };
        println!("{}", gate.about());
        print(gate.key(), best, gate.unit(), &judgement.to_string());
        let cpu: Vec<(f64, f64)> = seen.iter().filter_map(|turn| turn.cpu).collect();
        if !cpu.is_empty() {
            let best = Best::of(cpu.into_iter(), Unit::Microseconds);
            print("  CPU time per job", best, Unit::Microseconds, "not judged");
        }
        is_well &= !judgement.is_failure();
        measured.push(Measured { key: gate.key(), ratio: best.recordable() });
    }
    Ok((measured, is_well))
}

fn print(key: &str, best: Best, unit: Unit, judgement: &str) {
    let (ours, floor) = (unit.show(best.ours), unit.show(best.floor));
    let (ratio, median) = (best.ratio, best.median);
    println!("  {key:<24} {ratio:>6.3}  {ours:>10} beside {floor:>10}, median {median:.3}  {judgement}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_turn_of_each_side_counts_whatever_the_others_suffered() {
        let best = Best::of([(100.0, 20.0), (30.0, 50.0)].into_iter(), Unit::PerSecond);
        assert_eq!((best.floor, best.ours, best.ratio), (100.0, 50.0, 0.5));
    }

    #[test]
    fn of_times_the_shortest_counts_and_a_higher_ratio_is_still_better() {
        for unit in [Unit::Milliseconds, Unit::Microseconds] {
            let best = Best::of([(2.0, 8.0), (1.0, 4.0)].into_iter(), unit);
            assert_eq!(best, Best { floor: 1.0, ours: 4.0, ratio: 0.25, median: 0.25 });
        }
    }

    #[test]
    fn a_moment_in_which_only_the_floor_was_fast_is_not_a_slower_foreman() {
        let lucky = Best::of([(10.0, 5.0), (10.0, 5.0), (50.0, 5.0)].into_iter(), Unit::PerSecond);
        assert_eq!((lucky.judged(), lucky.recordable()), (0.5, 0.1));
        let slower = Best::of([(10.0, 2.0), (10.0, 2.0), (12.0, 2.0)].into_iter(), Unit::PerSecond);
        assert!(slower.judged() < 0.21, "{slower:?}");
    }

    #[test]
    fn every_ratio_has_a_key_of_its_own() {
        let mut keys: Vec<_> = Gate::keys();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
