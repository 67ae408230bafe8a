//! The lines of a run: each figure with what it is a ratio of.

use crate::plot::Chart;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: Unit,
    /// The line that this one is compared with.
    pub of: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    Milliseconds,
    /// Of CPU time, for one job.
    Microseconds,
    Bytes,
    Mebibytes,
    Claims,
    Jobs,
    /// For one job.
    Statements,
    /// Parts of one core.
    Core,
}

impl Unit {
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::PerSecond if value.is_finite() => format!("{} /s", grouped(value.round() as usize)),
            Unit::PerSecond => format!("{value} /s"),
            Unit::Milliseconds => format!("{value:.2} ms"),
            Unit::Microseconds => format!("{value:.1} µs"),
            Unit::Bytes => format!("{value:.0} B"),
            Unit::Mebibytes => format!("{value:.1} MiB"),
            Unit::Claims => format!("{value:.0} claims"),
            Unit::Jobs => format!("{value:.0} jobs"),
            Unit::Statements => format!("{value:.3}"),
            Unit::Core => format!("{:.1} % core", value * 100.0),
        }
    }
}

impl Figure {
    pub fn new(name: impl Into<String>, value: f64, unit: Unit, of: Option<&str>) -> Self {
        Self { name: name.into(), value, unit, of: of.map(str::to_owned) }
    }
}

pub fn rate(name: impl Into<String>, value: f64, of: Option<&str>) -> Figure {
    Figure::new(name, value, Unit::PerSecond, of)
}

pub fn millis(name: impl Into<String>, value: f64, of: Option<&str>) -> Figure {
    Figure::new(name, value, Unit::Milliseconds, of)
}

pub fn memory(name: impl Into<String>, bytes: u64) -> Figure {
    Figure::new(name, bytes as f64 / f64::from(1 << 20), Unit::Mebibytes, None)
}

/// What one part of a run has to say.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub title: String,
    /// What was compared with what, for a reader of the results.
    pub about: String,
    /// Before the figures.
    pub grid: Option<Grid>,
    pub figures: Vec<Figure>,
    /// Instead of one of all rates.
    pub charts: Vec<Chart>,
    /// How something was configured, or why it is missing.
    pub notes: Vec<String>,
}

/// A table of things that all have the same figures: a row for each.
#[derive(Clone, Debug)]
pub struct Grid {
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// A line of a section, with its ratio.
pub struct Line<'s> {
    pub figure: &'s Figure,
    pub ratio: Option<f64>,
}

impl Section {
    /// The median of each figure over the rounds that have it, in the order of the last round.
    pub fn of_rounds(title: impl Into<String>, about: impl Into<String>, rounds: &[Vec<Figure>]) -> Self {
        let figures = rounds.last().into_iter().flatten();
        let figures = figures.map(|figure| Figure { value: median_of(rounds, &figure.name), ..figure.clone() });
        Self::new(title, about, figures.collect())
    }

    pub fn new(title: impl Into<String>, about: impl Into<String>, figures: Vec<Figure>) -> Self {
        Self { title: title.into(), about: about.into(), figures, ..Self::default() }
    }

    pub fn value(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }

    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.figures.iter().map(|figure| {
            let of = figure.of.as_ref().and_then(|of| self.value(of));
            Line { figure, ratio: of.map(|of| figure.value / of) }
        })
    }

    pub fn print(&self, is_smoke: bool) {
        println!("{}{}", self.title, if is_smoke { " (smoke: proves nothing)" } else { "" });
        if !self.about.is_empty() {
            println!("  {}", self.about);
        }
        for row in self.grid.iter().flat_map(|grid| &grid.rows) {
            println!("  {}", row.join(" | "));
        }
        for Line { figure, ratio } in self.lines() {
            let of = figure.of.as_deref().unwrap_or_default();
            let ratio = ratio.map(|ratio| format!("{ratio:>7.2} of {of}")).unwrap_or_default();
            println!("  {:<70} {:>12}  {ratio}", figure.name, figure.unit.show(figure.value));
        }
        for note in &self.notes {
            println!("  - {note}");
        }
        println!();
    }
}

fn median_of(rounds: &[Vec<Figure>], name: &str) -> f64 {
    let all = rounds.iter().flatten().filter(|figure| figure.name == name);
    median(all.map(|figure| figure.value).collect())
}

/// With commas, as people write it.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (lower, upper) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(lower), values.get(upper)) {
        (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [0, 999, 1_000, 200_000, 10_000_000].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "200,000", "10,000,000"]);
        assert_eq!(Unit::PerSecond.show(27_478.4), "27,478 /s");
    }

    #[test]
    fn a_section_has_the_median_of_its_rounds_and_ratios_within_it() {
        let round = |floor, ours| vec![rate("floor", floor, None), rate("ours", ours, Some("floor"))];
        let section = Section::of_rounds("t", "", &[round(100.0, 40.0), round(300.0, 60.0), round(200.0, 50.0)]);
        let ratios: Vec<_> = section.lines().map(|line| line.ratio).collect();
        assert_eq!(section.value("floor"), Some(200.0));
        assert_eq!(ratios, [None, Some(0.25)]);
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(Vec::new()).is_nan());
    }
}
