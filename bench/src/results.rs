//! `bench/RESULTS.md`: the machine, the versions, the aims, every table, and a plot of each.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::aims;
use crate::plot::{self, Bar};
use crate::record::cores;
use crate::report::{Line, Section, Unit};

/// What a reader has to know about where it was measured.
pub struct Machine {
    pub foreman: String,
    pub postgres: Option<String>,
}

pub fn write(path: &Path, machine: &Machine, sections: &[Section]) -> Result<()> {
    let plots = path.with_file_name("plots");
    if plots.exists() {
        std::fs::remove_dir_all(&plots).context("cannot remove the plots of the run before")?;
    }
    std::fs::create_dir_all(&plots)?;
    let mut text = head(machine) + &aims::table(sections);
    for section in sections {
        text.push_str(&table(section));
        if let Some(svg) = plot_of(section) {
            let name = format!("{}.svg", slug(&section.title));
            std::fs::write(plots.join(&name), svg)?;
            writeln!(text, "![{}](plots/{name})\n", section.title)?;
        }
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn head(machine: &Machine) -> String {
    format!(
        "# Benchmark results\n\n\
         Written by `make bench`. Each ratio is of a line in the same table, measured in the same run on the same machine; the\n\
         figures themselves are worth no more than the machine. How each line is measured:\n\
         [CONTRIBUTING.md](../CONTRIBUTING.md#benchmarks).\n\n\
         | | |\n|---|---|\n| machine | {} cores, {}, {} GiB, Linux {} |\n| Foreman | {} |\n| Postgres | {} |\n\n",
        cores(),
        field_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into()),
        memory_gib(),
        std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        machine.foreman,
        machine.postgres.as_deref().unwrap_or("not measured"),
    )
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
    text.push_str("| | measured | ratio | of |\n|---|---:|---:|---|\n");
    for Line { figure, ratio } in section.lines() {
        let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let of = figure.of.as_deref().unwrap_or_default();
        text.push_str(&format!("| {} | {} | {ratio} | {of} |\n", figure.name, figure.unit.show(figure.value)));
    }
    text.push('\n');
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

/// Of its rates, where there are at least two.
fn plot_of(section: &Section) -> Option<String> {
    let rates = section.figures.iter().filter(|figure| figure.unit == Unit::PerSecond);
    let bars: Vec<Bar> = rates
        .map(|figure| Bar {
            label: figure.name.clone(),
            value: figure.value,
            shown: figure.unit.show(figure.value),
            is_ours: figure.of.is_some(),
        })
        .collect();
    (bars.len() > 1).then(|| plot::bars(&section.title, &bars))
}

fn slug(title: &str) -> String {
    let letters =
        title.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
    let words: String = letters.collect();
    words.split_whitespace().take(6).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::rate;

    #[test]
    fn a_table_names_what_each_ratio_is_of_and_its_plot_lies_beside_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("RESULTS.md");
        let figures = vec![rate("floor", 200.0, None), rate("ours", 50.0, Some("floor"))];
        let (title, about) = ("Drain of 1,000 jobs, Postgres".to_owned(), "beside the floor".to_owned());
        let sections = [Section { title, about, figures, notes: vec!["a peer: not installed".into()] }];
        let machine = Machine { foreman: "foreman 0.1.0".into(), postgres: None };
        write(&path, &machine, &sections).expect("written");
        let text = std::fs::read_to_string(&path).expect("there");
        assert!(text.contains("| ours | 50 /s | 0.25 | floor |"), "{text}");
        assert!(text.contains("- a peer: not installed"), "{text}");
        assert!(text.contains("](plots/drain-of-1-000-jobs-postgres.svg)"), "{text}");
        assert!(directory.path().join("plots/drain-of-1-000-jobs-postgres.svg").exists());
    }
}
