//! `bench/RESULTS.md`: the machine, the versions, the aims, every table, and a plot of each.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use foreman_core::Timestamp;

use crate::aims;
use crate::plot::{self, Bar, Chart};
use crate::record::cores;
use crate::report::{Figure, Grid, Line, Section, Unit};

/// What a reader has to know about where and how it was measured.
pub struct Machine {
    pub foreman: String,
    pub postgres: Option<String>,
    /// When the run began.
    pub began: Timestamp,
}

/// How long each part took, in the order in which they were measured.
pub struct PartTime {
    pub part: &'static str,
    pub took: Duration,
    /// Why it has no figures.
    pub failure: Option<String>,
}

pub fn write(path: &Path, machine: &Machine, sections: &[Section], times: &[PartTime]) -> Result<()> {
    let plots = path.with_file_name("plots");
    if plots.exists() {
        std::fs::remove_dir_all(&plots).context("cannot remove the plots of the run before")?;
    }
    std::fs::create_dir_all(&plots)?;
    let mut text = head(machine) + &aims::table(sections) + &failures(times);
    for section in sections {
        text.push_str(&table(section));
        for chart in charts_of(section) {
            let name = format!("{}.svg", slug(&chart.title));
            std::fs::write(plots.join(&name), plot::bars(&chart))?;
            writeln!(text, "![{}](plots/{name})\n", chart.title)?;
        }
    }
    text.push_str(&time_table(times));
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn head(machine: &Machine) -> String {
    format!(
        "# Benchmark results\n\n\
         Written by `make bench`. Each ratio is of a line in the same table, measured in the same run on the same machine; the\n\
         figures themselves are worth no more than the machine. How each line is measured:\n\
         [CONTRIBUTING.md](../CONTRIBUTING.md#benchmarks).\n\n\
         | | |\n|---|---|\n| machine | {} cores, {}, {} GiB, Linux {} |\n| Foreman | {} |\n| Postgres | {} |\n| measured | {} |\n\n",
        cores(),
        field_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into()),
        memory_gib(),
        std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        machine.foreman,
        machine.postgres.as_deref().unwrap_or("not measured"),
        machine.began,
    )
}

/// Parts that could not be measured, right below the aims.
fn failures(times: &[PartTime]) -> String {
    let failed: Vec<&PartTime> = times.iter().filter(|time| time.failure.is_some()).collect();
    if failed.is_empty() {
        return String::new();
    }
    let mut text = String::from("**Not measured in this run:**\n\n");
    for time in failed {
        text.push_str(&format!("- {}: {}\n", time.part, time.failure.as_deref().unwrap_or_default()));
    }
    text.push('\n');
    text
}

fn time_table(times: &[PartTime]) -> String {
    let mut text = String::from("## How long it took\n\nWithout compiling and without installing the peers.\n\n");
    text.push_str("| part | seconds |\n|---|---:|\n");
    for time in times {
        text.push_str(&format!("| {} | {:.0} |\n", time.part, time.took.as_secs_f64()));
    }
    let sum: Duration = times.iter().map(|time| time.took).sum();
    text.push_str(&format!("| all | {:.0} ({:.1} minutes) |\n", sum.as_secs_f64(), sum.as_secs_f64() / 60.0));
    text
}

fn field_of(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory_gib() -> u64 {
    let kib = field_of("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or_default().div_ceil(1 << 20)
}

fn table(section: &Section) -> String {
    let mut text = format!("## {}\n\n", section.title);
    if !section.about.is_empty() {
        text.push_str(&format!("{}.\n\n", capital(&section.about)));
    }
    if let Some(grid) = &section.grid {
        text.push_str(&grid_of(grid));
    }
    if section.figures.iter().any(|figure| cost(figure).is_none()) {
        text.push_str("| | measured | ratio | of |\n|---|---:|---:|---|\n");
    }
    for Line { figure, ratio } in section.lines().filter(|line| cost(line.figure).is_none()) {
        let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let of = figure.of.as_deref().unwrap_or_default();
        text.push_str(&format!("| {} | {} | {ratio} | {of} |\n", figure.name, figure.unit.show(figure.value)));
    }
    text.push('\n');
    text.push_str(&costs_of(section));
    for note in &section.notes {
        text.push_str(&format!("- {note}\n"));
    }
    if !section.notes.is_empty() {
        text.push('\n');
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn grid_of(grid: &Grid) -> String {
    let mut text = format!("| {} |\n|---|", grid.columns.join(" | "));
    text.push_str(&"---:|".repeat(grid.columns.len().saturating_sub(1)));
    text.push('\n');
    for row in &grid.rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text.push('\n');
    text
}

/// What something costs: what, and which cost.
fn cost(figure: &Figure) -> Option<(&str, &str)> {
    let (what, cost) = figure.name.rsplit_once(": ")?;
    let is_cost = ["CPU per job, ", "WAL per job", "statements per job", "most memory, "];
    is_cost.iter().any(|start| cost.starts_with(start)).then_some((what, cost))
}

/// A row for each thing that costs something, a column for each cost.
fn costs_of(section: &Section) -> String {
    let (mut columns, mut rows): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (what, cost) in section.figures.iter().filter_map(cost) {
        if !columns.contains(&cost) {
            columns.push(cost);
        }
        if !rows.contains(&what) {
            rows.push(what);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let shown = |what: &str, cost: &str| {
        let figure = section.figures.iter().find(|figure| figure.name == format!("{what}: {cost}"));
        figure.map(|figure| figure.unit.show(figure.value)).unwrap_or_default()
    };
    let head = std::iter::once("costs").chain(columns.iter().copied());
    let mut text = format!("| {} |\n|---|{}\n", head.collect::<Vec<_>>().join(" | "), "---:|".repeat(columns.len()));
    for what in rows {
        let values: Vec<String> = columns.iter().map(|cost| shown(what, cost)).collect();
        text.push_str(&format!("| {what} | {} |\n", values.join(" | ")));
    }
    text.push('\n');
    text
}

/// Its own, or one of its rates where there are at least two.
fn charts_of(section: &Section) -> Vec<Chart> {
    if !section.charts.is_empty() {
        return section.charts.clone();
    }
    let rates = section.figures.iter().filter(|figure| figure.unit == Unit::PerSecond);
    let bars: Vec<Bar> = rates
        .map(|figure| Bar {
            label: figure.name.clone(),
            value: figure.value,
            shown: figure.unit.show(figure.value),
            is_ours: figure.of.is_some(),
        })
        .collect();
    if bars.len() > 1 { vec![Chart { title: section.title.clone(), bars }] } else { Vec::new() }
}

fn slug(title: &str) -> String {
    let letters =
        title.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
    let words: String = letters.collect();
    // Without its numbers: a run of another size has plots of the same names.
    let words = words.split_whitespace().filter(|word| !word.bytes().all(|byte| byte.is_ascii_digit()));
    words.take(6).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::rate;

    const SOME_DAY: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn written(sections: &[Section], times: &[PartTime]) -> (tempfile::TempDir, String) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("RESULTS.md");
        let machine = Machine { foreman: "foreman 0.1.0".into(), postgres: None, began: SOME_DAY };
        write(&path, &machine, sections, times).expect("written");
        let text = std::fs::read_to_string(&path).expect("there");
        (directory, text)
    }

    #[test]
    fn a_table_names_what_each_ratio_is_of_and_its_plot_lies_beside_it() {
        let figures = vec![rate("floor", 200.0, None), rate("ours", 50.0, Some("floor"))];
        let mut section = Section::new("Drain of 1,000 jobs, Postgres", "beside the floor", figures);
        section.notes = vec!["a peer: not installed".into()];
        let (directory, text) = written(&[section], &[]);
        assert!(text.contains("| ours | 50 /s | 0.25 | floor |"), "{text}");
        assert!(text.contains("- a peer: not installed"), "{text}");
        assert!(text.contains("](plots/drain-of-jobs-postgres.svg)"), "{text}");
        assert!(directory.path().join("plots/drain-of-jobs-postgres.svg").exists());
    }

    #[test]
    fn a_part_that_failed_is_named_and_every_part_has_its_time() {
        let time = |part, failure: Option<&str>| PartTime {
            part,
            took: Duration::from_secs(90),
            failure: failure.map(str::to_owned),
        };
        let (_directory, text) = written(&[], &[time("drain", None), time("growth", Some("the disk is full"))]);
        assert!(text.contains("**Not measured in this run:**\n\n- growth: the disk is full\n"), "{text}");
        assert!(text.contains("| drain | 90 |") && text.contains("| all | 180 (3.0 minutes) |"), "{text}");
    }

    #[test]
    fn costs_are_a_table_of_their_own() {
        let cost = |name: &str, value| Figure::new(name, value, Unit::Microseconds, None);
        let figures = vec![
            rate("drain, one worker", 100.0, None),
            cost("drain, one worker: CPU per job, worker", 8.0),
            cost("drain, two workers: CPU per job, worker", 9.0),
            cost("drain, two workers: CPU per job, api", 2.0),
        ];
        let (_directory, text) = written(&[Section::new("Drain", "", figures)], &[]);
        let table = "| costs | CPU per job, worker | CPU per job, api |\n|---|---:|---:|\n\
                     | drain, one worker | 8.0 µs |  |\n| drain, two workers | 9.0 µs | 2.0 µs |\n";
        assert!(text.contains(table) && text.contains("| drain, one worker | 100 /s |"), "{text}");
    }

    #[test]
    fn a_grid_has_a_row_for_each_thing() {
        let grid = Grid { columns: vec!["peer", "drain"], rows: vec![vec!["river".into(), "17 /s".into()]] };
        let (_directory, text) = written(&[Section { grid: Some(grid), ..Section::default() }], &[]);
        assert!(text.contains("| peer | drain |\n|---|---:|\n| river | 17 /s |\n"), "{text}");
    }
}
