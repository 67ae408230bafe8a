//! Other job queues on the same machine in the same minutes, with the same job and the same durability.
//!
//! `bench/peers/setup` installs them, and an adapter of ours drives each (`bench/peers`): it submits no-op jobs in batches,
//! starts workers, and counts from the first job that runs to the last one that is recorded as done; then it times
//! single jobs from adding to start, in one process, where Foreman is timed from a request over HTTP to a call over HTTP. Each is driven with its
//! defaults and with the settings that its documentation gives for speed. One that is not installed is named.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tokio::process::Command;

use crate::postgres::{self, Server};
use crate::report::{Figure, Section, millis, rate};

#[derive(Clone, Copy)]
struct Peer {
    name: &'static str,
    is_on_postgres: bool,
    /// What its adapter is started with beyond the settings.
    variables: &'static [(&'static str, &'static str)],
}

const PEERS: [Peer; 7] = [
    on_postgres("graphile-worker"),
    on_postgres("river"),
    on_postgres("pg-boss"),
    on_postgres("procrastinate"),
    on_postgres("apalis"),
    Peer { name: "bullmq", is_on_postgres: false, variables: &[("FSYNC", "always")] },
    Peer { name: "bullmq", is_on_postgres: false, variables: &[("FSYNC", "everysec")] },
];

const fn on_postgres(name: &'static str) -> Peer {
    Peer { name, is_on_postgres: true, variables: &[] }
}

const SETTINGS: [&str; 2] = ["default", "fast"];
const PATIENCE: Duration = Duration::from_mins(3);
const BEST_DRAIN: &str = "best Postgres peer: drain";
const BEST_P50: &str = "best Postgres peer: pick-up, p50";
const BEST_P99: &str = "best Postgres peer: pick-up, p99";

/// What an adapter prints.
#[derive(Debug, PartialEq, Deserialize)]
struct Driven {
    peer: String,
    version: Option<String>,
    settings: String,
    config: String,
    keeps_history: bool,
    drain_per_second: f64,
    submit_batch_per_second: f64,
    pick_up_ms: BTreeMap<String, f64>,
}

impl Driven {
    fn label(&self) -> String {
        format!("{} {} {}", self.peer, self.version.as_deref().unwrap_or("?"), self.settings)
    }

    fn pick_up(&self, quantile: &str) -> f64 {
        self.pick_up_ms.get(quantile).copied().unwrap_or(f64::NAN)
    }
}

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct PeerSizes {
    pub jobs: usize,
    pub picks: usize,
    /// A drain that takes longer is ended, and the jobs done until then count.
    pub most_secs: u64,
}

pub async fn measure(server: &Server, sizes: PeerSizes, slots: usize) -> Result<Section> {
    let ours = postgres::beside_peers(server, sizes.jobs, sizes.picks, slots).await?;
    let mut driven = Vec::new();
    let mut notes = Vec::new();
    for peer in PEERS {
        for settings in SETTINGS {
            match drive(server, peer, settings, sizes).await {
                Ok(one) => {
                    eprintln!("  {}: {:.0} /s", one.label(), one.drain_per_second);
                    driven.push((peer.is_on_postgres, one));
                }
                Err(error) => notes.push(format!("{} ({settings}): {error}", peer.name)),
            }
        }
    }
    notes.dedup();
    let mut figures = Vec::new();
    for (_, one) in &driven {
        let history = if one.keeps_history { "keeps what is done" } else { "deletes what is done" };
        notes.push(format!("{}: {}; {history}", one.label(), one.config));
        figures.extend(lines(one));
    }
    figures.extend(best(&driven));
    figures.extend(ours);
    Ok(Section {
        title: format!("Peers: {} no-op jobs of 200 bytes", crate::report::grouped(sizes.jobs)),
        about: "every peer as it was configured below; Foreman keeps what is done, and its pick-up is over HTTP".into(),
        figures,
        notes,
        ..Section::default()
    })
}

fn lines(one: &Driven) -> Vec<Figure> {
    let label = one.label();
    vec![
        rate(format!("{label}: drain"), one.drain_per_second, None),
        rate(format!("{label}: submitted in batches"), one.submit_batch_per_second, None),
        millis(format!("{label}: pick-up, p50"), one.pick_up("p50"), None),
        millis(format!("{label}: pick-up, p99"), one.pick_up("p99"), None),
    ]
}

/// What Foreman has to be compared with: the best figure of any peer on Postgres, each on its own.
fn best(driven: &[(bool, Driven)]) -> Vec<Figure> {
    let on_postgres: Vec<&Driven> = driven.iter().filter(|(is_one, _)| *is_one).map(|(_, one)| one).collect();
    if on_postgres.is_empty() {
        return Vec::new();
    }
    let fewest = |quantile| on_postgres.iter().map(|one| one.pick_up(quantile)).fold(f64::INFINITY, f64::min);
    let fastest = on_postgres.iter().map(|one| one.drain_per_second).fold(0.0, f64::max);
    vec![rate(BEST_DRAIN, fastest, None), millis(BEST_P50, fewest("p50"), None), millis(BEST_P99, fewest("p99"), None)]
}

/// The lines of Foreman, each beside the best peer.
pub fn ours(one: f64, two: f64, pick_up: crate::pick_up::Took) -> Vec<Figure> {
    vec![
        rate("Foreman: drain, one worker", one, Some(BEST_DRAIN)),
        rate("Foreman: drain, two workers", two, Some(BEST_DRAIN)),
        millis("Foreman: pick-up, p50", pick_up.p50, Some(BEST_P50)),
        millis("Foreman: pick-up, p99", pick_up.p99, Some(BEST_P99)),
    ]
}

async fn drive(server: &Server, peer: Peer, settings: &str, sizes: PeerSizes) -> Result<Driven> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    if !directory.join(format!(".installed/{}.version", peer.name)).exists() {
        bail!("not installed: run bench/peers/setup");
    }
    let database = server.empty_database().await?;
    let mut command = Command::new(directory.join("run"));
    command
        .arg(peer.name)
        .env("DATABASE_URL", &database.url)
        .env("JOBS", sizes.jobs.to_string())
        .env("PICKS", sizes.picks.to_string())
        .env("MOST_SECONDS", sizes.most_secs.to_string())
        .env("SETTINGS", settings)
        .envs(peer.variables.iter().copied())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    database.remove().await?;
    let output = ended.with_context(|| format!("did not end within {PATIENCE:?}"))??;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("failed: {}", said.lines().find(|line| !line.trim().is_empty()).unwrap_or("without a word"));
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

/// The last line that is one.
fn read(printed: &str) -> Result<Driven> {
    let line = printed.lines().rev().find(|line| line.starts_with('{')).context("failed: it printed no result")?;
    serde_json::from_str(line).context("failed: its result cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"peer":"river","version":"v1","settings":"fast","jobs":10,"config":"c","keeps_history":true,
        "drain_per_second":17000.5,"submit_batch_per_second":30000,"pick_up_ms":{"p50":2.0,"p99":6.0}}"#;

    fn driven(peer: &str, drain: f64, p50: f64) -> Driven {
        let one = read(&LINE.replace('\n', "")).expect("a result");
        let pick_up_ms = BTreeMap::from([("p50".to_owned(), p50), ("p99".to_owned(), 3.0 * p50)]);
        Driven { peer: peer.into(), drain_per_second: drain, pick_up_ms, ..one }
    }

    #[test]
    fn the_result_is_found_behind_whatever_else_a_peer_prints() {
        let printed = format!("starting\n{}\n", LINE.replace('\n', ""));
        let read = read(&printed).expect("a result");
        assert_eq!((read.label().as_str(), read.drain_per_second), ("river v1 fast", 17_000.5));
        assert!(read_fails("nothing but words"));
    }

    fn read_fails(printed: &str) -> bool {
        read(printed).is_err()
    }

    #[test]
    fn the_best_peer_is_the_best_in_each_figure_and_on_postgres() {
        let all =
            [(true, driven("a", 100.0, 9.0)), (true, driven("b", 50.0, 2.0)), (false, driven("redis", 900.0, 0.1))];
        let values: Vec<f64> = best(&all).iter().map(|figure| figure.value).collect();
        assert_eq!(values, [100.0, 2.0, 6.0]);
    }
}
