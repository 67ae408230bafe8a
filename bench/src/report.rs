//! The lines of a run: each figure with what it is a ratio of.

/// Jobs per second of one round, and resident bytes.
pub struct Report {
    pub raw: f64,
    pub idle_memory: u64,
    pub single: f64,
    pub batch: f64,
    pub end_to_end: f64,
}

pub fn print(rounds: &[Report], is_smoke: bool) {
    let median = |figure: fn(&Report) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let raw = median(|round| round.raw);
    println!(
        "SQLite, one machine, one run, median of {} round(s){}",
        rounds.len(),
        if is_smoke { " (smoke: proves nothing)" } else { "" }
    );
    println!("{:<52} {:>12} {:>14}", "", "per second", "of raw SQL");
    let line = |name: &str, figure: f64| println!("{name:<52} {figure:>12.0} {:>13.2}x", figure / raw);
    line("raw batched SQL inserts (our shape, all rules)", raw);
    line("submit over HTTP, one job per request", median(|round| round.single));
    line("submit over HTTP, batches of 1,000", median(|round| round.batch));
    line("end to end: submitted in batches, run, settled (no-op)", median(|round| round.end_to_end));
    println!("{:<52} {:>8.1} MiB", "idle memory", median(|round| round.idle_memory as f64) / f64::from(1 << 20));
}
