//! Other job queues on the same machine in the same minutes, with the same job and the same durability.
//!
//! `bench/peers/setup` installs them, and an adapter of ours drives each (`bench/peers`): it submits no-op jobs in batches,
//! starts workers, and counts from the first job that runs to the last one that is recorded as done; then it times
//! single jobs from adding to start, in one process, where Foreman is timed from a request over HTTP to a call over HTTP. Each is driven with its
//! defaults and with the settings that its documentation gives for speed. Then the fastest on Postgres takes turns with Foreman,
//! and the median of each counts. One that is not installed, fails or does not end is named, and the others are measured.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;
use tokio::process::Command;

use crate::plot::{Bar, Chart};
use crate::postgres::{self, BesidePeers, Server};
use crate::report::{Figure, Grid, Section, Unit, grouped, median, millis, rate};

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

impl Peer {
    fn is_installed(&self, place: &Path) -> Result<()> {
        let installed = place.join(".installed");
        if installed.join(format!("{}.version", self.name)).exists() {
            return Ok(());
        }
        let why = std::fs::read_to_string(installed.join(format!("{}.failed", self.name)));
        bail!("not installed: {}", why.as_deref().map_or("run bench/peers/setup", str::trim))
    }

    fn shown(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("{}{}", self.name, variables.collect::<String>())
    }
}

const fn on_postgres(name: &'static str) -> Peer {
    Peer { name, is_on_postgres: true, variables: &[] }
}

/// Turns that Foreman and the fastest peer take.
const TURNS: usize = 3;
/// Beyond what a drain may take: starting, filling, single jobs.
const PATIENCE: Duration = Duration::from_secs(90);
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
    /// Drains in turns with Foreman, where there were several.
    #[serde(skip)]
    turns: Vec<f64>,
}

impl Driven {
    fn label(&self) -> String {
        format!("{} {} {}", self.peer, self.version.as_deref().unwrap_or("?"), self.settings)
    }

    fn history(&self) -> &'static str {
        if self.keeps_history { "kept" } else { "deleted" }
    }

    fn pick_up(&self, quantile: &str) -> f64 {
        self.pick_up_ms.get(quantile).copied().unwrap_or(f64::NAN)
    }
}

/// How much of it, and where.
#[derive(Clone, Copy, Debug)]
pub struct PeerSizes<'a> {
    /// Where their adapters are.
    pub place: &'a Path,
    pub jobs: usize,
    pub picks: usize,
    /// A drain that takes longer is ended, and the jobs done until then count.
    pub most_secs: u64,
    /// The first peer that can be driven, and no turns.
    pub is_smoke: bool,
}

impl PeerSizes<'_> {
    /// Defaults are slow with most of them, and as well known after fewer jobs.
    fn at(self, settings: &str) -> Self {
        if settings == "fast" {
            return self;
        }
        let jobs = (self.jobs / 5).next_multiple_of(4_000);
        Self { jobs, picks: self.picks.div_ceil(2), most_secs: self.most_secs.div_ceil(3), ..self }
    }
}

pub async fn measure(server: &Server, sizes: PeerSizes<'_>, slots: usize) -> Result<Section> {
    let (mut driven, mut notes) = (Vec::new(), Vec::new());
    let ours = async || postgres::beside_peers(server, sizes.jobs, sizes.picks, slots).await;
    let title = format!("Peers: {} no-op jobs of 200 bytes", grouped(sizes.jobs));
    if sizes.is_smoke && PEERS.iter().all(|peer| peer.is_installed(sizes.place).is_err()) {
        notes.push("no peer is installed: run bench/peers/setup".to_owned());
        return Ok(Section { notes, ..Section::new(title, "", Vec::new()) });
    }
    let mut turns = vec![ours().await?];
    for peer in PEERS {
        if let Err(error) = peer.is_installed(sizes.place) {
            notes.push(format!("{}: not measured: {error:#}", peer.shown()));
            continue;
        }
        for settings in ["default", "fast"] {
            if sizes.is_smoke && !driven.is_empty() {
                continue;
            }
            match drive(server, peer, settings, sizes.at(settings)).await {
                Ok(one) => {
                    eprintln!("  {}: {:.0} /s", one.label(), one.drain_per_second);
                    driven.push((peer, one));
                }
                Err(error) => notes.push(format!("{} ({settings}): not measured: {error:#}", peer.shown())),
            }
        }
    }
    if !sizes.is_smoke {
        for _ in 1..TURNS {
            if let Err(error) = again(server, sizes, &mut driven).await {
                notes.push(format!("the fastest peer, a second time: {error:#}"));
            }
            turns.push(ours().await?);
        }
    }
    let of_peers = driven.iter().map(|(peer, one)| (peer.is_on_postgres, one)).collect::<Vec<_>>();
    let ours = Ours::of(&turns);
    let mut figures = best(&of_peers);
    figures.extend(ours.figures());
    for (_, one) in &of_peers {
        notes.push(format!("{}: {}; {}", one.label(), one.config, one.history()));
    }
    let all: Vec<&Driven> = of_peers.iter().map(|(_, one)| *one).collect();
    let about = format!(
        "every peer as it was configured below, a fifth of the jobs at its defaults; Foreman: {slots} slots for each worker, what is done is kept, pick-up from a request over HTTP to a call over HTTP, where a peer's is within one process; Foreman and the fastest peer: median of {} in turns",
        turns.len()
    );
    Ok(Section {
        grid: Some(grid(&all, &ours)),
        charts: charts(&all, &ours),
        notes,
        ..Section::new(title, about, figures)
    })
}

/// The fastest on Postgres once more; the median of its turns is what it is known by.
async fn again(server: &Server, sizes: PeerSizes<'_>, driven: &mut [(Peer, Driven)]) -> Result<()> {
    let on_postgres = driven.iter_mut().filter(|(peer, _)| peer.is_on_postgres);
    let fastest = on_postgres.max_by(|(_, a), (_, b)| a.drain_per_second.total_cmp(&b.drain_per_second));
    let Some((peer, known)) = fastest else { return Ok(()) };
    let one = drive(server, *peer, &known.settings, sizes.at(&known.settings)).await?;
    eprintln!("  {}: {:.0} /s", one.label(), one.drain_per_second);
    if known.turns.is_empty() {
        known.turns.push(known.drain_per_second);
    }
    known.turns.push(one.drain_per_second);
    known.drain_per_second = median(known.turns.clone());
    Ok(())
}

/// How Foreman did in the same minutes: the median of its turns.
struct Ours {
    one: f64,
    two: f64,
    submit: f64,
    p50: f64,
    p99: f64,
}

impl Ours {
    fn of(turns: &[BesidePeers]) -> Self {
        let of = |value: fn(&BesidePeers) -> f64| median(turns.iter().map(value).collect());
        Self {
            one: of(|turn| turn.one),
            two: of(|turn| turn.two),
            submit: of(|turn| turn.submit),
            p50: of(|turn| turn.pick_up.p50),
            p99: of(|turn| turn.pick_up.p99),
        }
    }

    /// Each beside the best peer.
    fn figures(&self) -> Vec<Figure> {
        vec![
            rate("Foreman: drain, one worker", self.one, Some(BEST_DRAIN)),
            rate("Foreman: drain, two workers", self.two, Some(BEST_DRAIN)),
            millis("Foreman: pick-up, p50", self.p50, Some(BEST_P50)),
            millis("Foreman: pick-up, p99", self.p99, Some(BEST_P99)),
        ]
    }
}

/// What Foreman has to be compared with: the best figure of any peer on Postgres, each on its own.
fn best(driven: &[(bool, &Driven)]) -> Vec<Figure> {
    let did_something = |one: &&Driven| one.drain_per_second > 0.0;
    let on_postgres = driven.iter().filter(|(is_one, _)| *is_one).map(|(_, one)| *one);
    let on_postgres: Vec<&Driven> = on_postgres.filter(did_something).collect();
    if on_postgres.is_empty() {
        return Vec::new();
    }
    let fewest = |quantile| on_postgres.iter().map(|one| one.pick_up(quantile)).fold(f64::INFINITY, f64::min);
    let fastest = on_postgres.iter().map(|one| one.drain_per_second).fold(0.0, f64::max);
    vec![rate(BEST_DRAIN, fastest, None), millis(BEST_P50, fewest("p50"), None), millis(BEST_P99, fewest("p99"), None)]
}

fn grid(peers: &[&Driven], ours: &Ours) -> Grid {
    let columns = vec!["", "drain", "submitted in batches", "pick-up, p50", "pick-up, p99", "what is done"];
    let row = |name: String, drain: f64, submit: Option<f64>, pick_up: Option<(f64, f64)>, history: &str| {
        let times = pick_up.map(|(p50, p99)| [p50, p99].map(|took| Unit::Milliseconds.show(took))).unwrap_or_default();
        let submit = submit.map(|submit| Unit::PerSecond.show(submit)).unwrap_or_default();
        let [p50, p99] = times;
        vec![name, Unit::PerSecond.show(drain), submit, p50, p99, history.to_owned()]
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for one in peers {
        let times = Some((one.pick_up("p50"), one.pick_up("p99")));
        rows.push(row(one.label(), one.drain_per_second, Some(one.submit_batch_per_second), times, one.history()));
    }
    rows.push(row("**Foreman**, one worker".into(), ours.one, Some(ours.submit), Some((ours.p50, ours.p99)), "kept"));
    rows.push(row("**Foreman**, two workers".into(), ours.two, None, None, "kept"));
    Grid { columns, rows }
}

/// Drains, the fastest first; pick-ups, the soonest first.
fn charts(peers: &[&Driven], ours: &Ours) -> Vec<Chart> {
    let bar = |label: String, value: f64, unit: Unit, is_ours| Bar { label, value, shown: unit.show(value), is_ours };
    let label = |one: &Driven| format!("{} ({})", one.label(), one.history());
    let drained = |one: &&Driven| bar(label(one), one.drain_per_second, Unit::PerSecond, false);
    let mut drains: Vec<Bar> = peers.iter().map(drained).collect();
    drains.push(bar("Foreman, one worker (kept)".into(), ours.one, Unit::PerSecond, true));
    drains.push(bar("Foreman, two workers (kept)".into(), ours.two, Unit::PerSecond, true));
    drains.sort_by(|a, b| b.value.total_cmp(&a.value));
    let picked = |one: &&Driven| bar(one.label(), one.pick_up("p50"), Unit::Milliseconds, false);
    let mut picks: Vec<Bar> = peers.iter().map(picked).collect();
    picks.push(bar("Foreman, over HTTP".into(), ours.p50, Unit::Milliseconds, true));
    // What polls every second or two would leave nothing to be seen of the others.
    picks.retain(|bar| bar.value < 20.0 * ours.p50.max(1.0));
    picks.sort_by(|a, b| a.value.total_cmp(&b.value));
    vec![
        Chart { title: "Peers: drain, jobs per second (what is done is kept or deleted)".into(), bars: drains },
        Chart { title: "Peers: pick-up when idle, p50 (those that poll for long are left out)".into(), bars: picks },
    ]
}

async fn drive(server: &Server, peer: Peer, settings: &str, sizes: PeerSizes<'_>) -> Result<Driven> {
    let database = server.empty_database().await?;
    let mut command = Command::new(sizes.place.canonicalize()?.join("run"));
    command
        .arg(peer.name)
        .env("DATABASE_URL", &database.url)
        .env("JOBS", sizes.jobs.to_string())
        .env("PICKS", sizes.picks.to_string())
        .env("MOST_SECONDS", sizes.most_secs.to_string())
        .env("SETTINGS", settings)
        .envs(peer.variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = command.spawn().context("cannot start its adapter")?;
    // However it ends: some start processes of their own.
    let group = Group::of(&child)?;
    let patience = PATIENCE + Duration::from_secs(sizes.most_secs);
    let ended = tokio::time::timeout(patience, child.wait_with_output()).await;
    drop(group);
    database.remove().await?;
    let output = ended.ok().with_context(|| format!("did not end within {} s", patience.as_secs()))??;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let error = said.lines().find(|line| line.contains("rror") || line.contains("panicked"));
        let line = error.or_else(|| said.lines().find(|line| !line.trim().is_empty()));
        bail!("failed: {}", line.unwrap_or("without a word").trim());
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

/// A process and all that it started, ended with this.
struct Group(Pid);

impl Group {
    fn of(child: &tokio::process::Child) -> Result<Self> {
        Ok(Self(Pid::from_raw(i32::try_from(child.id().context("it has ended")?)?)))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Mostly all of them have ended.
        let _ = killpg(self.0, Signal::SIGKILL);
    }
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
        let all: Vec<(bool, &Driven)> = all.iter().map(|(is_one, one)| (*is_one, one)).collect();
        let values: Vec<f64> = best(&all).iter().map(|figure| figure.value).collect();
        assert_eq!(values, [100.0, 2.0, 6.0]);
    }
}
