//! The lines of a run: each figure with what it is a ratio of.

/// One line.
#[derive(Clone, Debug)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub unit: Unit,
    /// The line that this one is compared with.
    pub of: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    Milliseconds,
    Bytes,
    Mebibytes,
    Claims,
    Jobs,
    /// Parts of one core.
    Core,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::PerSecond => format!("{value:.0} /s"),
            Unit::Milliseconds => format!("{value:.2} ms"),
            Unit::Bytes => format!("{value:.0} B"),
            Unit::Mebibytes => format!("{value:.1} MiB"),
            Unit::Claims => format!("{value:.0} claims"),
            Unit::Jobs => format!("{value:.0} jobs"),
            Unit::Core => format!("{:.1} % core", value * 100.0),
        }
    }
}

pub fn rate(name: &'static str, value: f64, of: Option<&'static str>) -> Figure {
    Figure { name, value, unit: Unit::PerSecond, of }
}

/// The median of each figure over the rounds that have it, in the order of the last round.
pub fn print(title: &str, rounds: &[Vec<Figure>], is_smoke: bool) {
    let median = |name: &str| {
        let mut values: Vec<f64> =
            rounds.iter().flatten().filter(|figure| figure.name == name).map(|figure| figure.value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!(
        "{title}: one machine, one run, median of {} round(s){}",
        rounds.len(),
        if is_smoke { " (smoke: proves nothing)" } else { "" }
    );
    for figure in rounds.last().into_iter().flatten() {
        let value = median(figure.name);
        let ratio = figure.of.map(|of| format!("{:>7.2} of {of}", value / median(of))).unwrap_or_default();
        println!("  {:<58} {:>12}  {ratio}", figure.name, figure.unit.show(value));
    }
}
