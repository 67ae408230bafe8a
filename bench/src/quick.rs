//! A few ratios in a few minutes: what `make bench-quick` prints, and CI compares with those in `bench/recorded.toml`.
//!
//! A machine that others use too is slow at times, never fast at times. So each side takes short turns in alternation (what
//! Foreman is compared with, Foreman, and again), and the best of each is what counts. A ratio that falls short is given
//! as many turns again before it fails.

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

/// The best of each side over the turns, and their ratio: the higher, the better.
pub fn best(turns: &[Turn], unit: Unit) -> (Turn, f64) {
    let is_time = unit == Unit::Milliseconds;
    let best = |side: fn(&Turn) -> f64| {
        let values = turns.iter().map(side);
        if is_time { values.fold(f64::INFINITY, f64::min) } else { values.fold(0.0, f64::max) }
    };
    let best = Turn { floor: best(|turn| turn.floor), ours: best(|turn| turn.ours) };
    (best, if is_time { best.floor / best.ours } else { best.ours / best.floor })
}

/// Measures all gates, prints them, and answers what was measured and how it compares with the recorded ratios.
pub async fn run(
    server: Option<&Server>,
    size: TurnSize,
    turns: usize,
    recorded: Option<&Recorded>,
) -> Result<(Vec<Measured>, bool)> {
    let (mut measured, mut is_well) = (Vec::new(), true);
    println!("best of {turns} turns each, in alternation; a ratio of 1 would be as fast as what it is compared with");
    for gate in Gate::all(server.is_some()) {
        let mut seen = Vec::new();
        let mut allowed = turns;
        let (judgement, ratio, top) = loop {
            while seen.len() < allowed {
                seen.push(gate.turn(server, size).await?);
            }
            let (top, ratio) = best(&seen, gate.unit());
            let judgement = recorded.map_or(Judgement::NotRecorded, |recorded| recorded.judge(gate.key(), ratio));
            if !judgement.is_failure() || allowed > turns {
                break (judgement, ratio, top);
            }
            eprintln!("{} falls short with {ratio:.3}; measuring it again", gate.key());
            allowed *= 2;
        };
        is_well &= !judgement.is_failure();
        let (ours, floor) = (gate.unit().show(top.ours), gate.unit().show(top.floor));
        println!("  {:<24} {ratio:>6.3}  {judgement}", gate.key());
        println!("  {:<24} {ours} beside {floor}: {}", "", gate.about());
        measured.push(Measured { key: gate.key(), ratio });
    }
    Ok((measured, is_well))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_turn_of_each_side_counts_whatever_the_others_suffered() {
        let turns = [Turn { floor: 100.0, ours: 20.0 }, Turn { floor: 30.0, ours: 50.0 }];
        assert_eq!(best(&turns, Unit::PerSecond), (Turn { floor: 100.0, ours: 50.0 }, 0.5));
    }

    #[test]
    fn of_times_the_shortest_counts_and_a_higher_ratio_is_still_better() {
        let turns = [Turn { floor: 2.0, ours: 8.0 }, Turn { floor: 1.0, ours: 4.0 }];
        assert_eq!(best(&turns, Unit::Milliseconds), (Turn { floor: 1.0, ours: 4.0 }, 0.25));
    }

    #[test]
    fn every_gate_has_a_key_of_its_own() {
        let mut keys: Vec<_> = Gate::all(true).into_iter().map(Gate::key).collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
