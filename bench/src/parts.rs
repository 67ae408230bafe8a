//! The parts of a full run, in order, each with what it is compared with.
//!
//! A part repeats itself while there is time for it, and is ended when it takes far too long. One that fails or does not
//! end is named in the results, and the others are measured; the run then fails at its end.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use foreman_core::Timestamp;
use foreman_runtime::clock;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::jobs::BATCH;
use crate::peers::PeerSizes;
use crate::postgres::{self, Server, SteadyTimes, growth};
use crate::process::foreman;
use crate::report::{Figure, Section, grouped};
use crate::results::{self, PartTime};
use crate::sizes::Sizes;
use crate::{Args, peers, sqlite, stream};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    Stream,
    Sqlite,
    /// All of those on Postgres.
    Postgres,
    Drain,
    Push,
    Submit,
    PickUp,
    Fairness,
    /// A steady load, alike and mixed, and beside an idle transaction.
    Steady,
    /// What the followers of the change log make of a drain.
    Followers,
    /// Fleet size: Kafka between Postgres and workers.
    Kafka,
    /// Other job queues, as far as `bench/peers/setup` installed them.
    Peers,
    /// The same drain with history, a backlog, many tenants, queues or workers.
    Growth,
}

impl Part {
    const IN_ORDER: [Self; 12] = [
        Self::Drain,
        Self::Push,
        Self::Submit,
        Self::PickUp,
        Self::Steady,
        Self::Followers,
        Self::Kafka,
        Self::Fairness,
        Self::Sqlite,
        Self::Stream,
        Self::Peers,
        Self::Growth,
    ];

    fn is_on_postgres(self) -> bool {
        !matches!(self, Self::Stream | Self::Sqlite)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Sqlite => "SQLite",
            Self::Postgres => "Postgres",
            Self::Drain => "drain",
            Self::Push => "HTTP push",
            Self::Submit => "submissions",
            Self::PickUp => "pick-up",
            Self::Fairness => "fairness",
            Self::Steady => "steady load",
            Self::Followers => "followers",
            Self::Kafka => "Kafka",
            Self::Peers => "peers",
            Self::Growth => "growth",
        }
    }

    /// What it is meant to take on two quiet cores, 28 minutes in all with the filling of growth. It is not repeated beyond that.
    fn budget(self) -> Duration {
        Duration::from_secs(match self {
            Self::Drain | Self::Push => 120,
            Self::Submit => 100,
            Self::PickUp => 90,
            Self::Steady => 160,
            Self::Followers => 60,
            Self::Kafka => 90,
            Self::Fairness => 30,
            Self::Sqlite => 130,
            Self::Stream => 50,
            Self::Peers => 380,
            Self::Growth | Self::Postgres => 230,
        })
    }

    /// It is ended then: something hangs, or the machine is far slower. Growth fills its databases beyond its budget.
    fn limit(self) -> Duration {
        match self {
            Self::Growth => Duration::from_mins(20),
            _ => 3 * self.budget() + Duration::from_mins(2),
        }
    }
}

pub async fn run(args: &Args) -> Result<()> {
    let (began, start) = (Timestamp::from_micros(clock::now()), Instant::now());
    let server = match &args.postgres {
        Some(dsn) => Some(Server::reach(dsn).await?),
        None => None,
    };
    match &server {
        Some(server) => println!("Postgres {}", server.about),
        None => println!("Postgres is not measured: name a server with --postgres, or run `make bench`"),
    }
    if args.kafka.is_none() {
        println!("Kafka is not measured: name a broker with --kafka, or run `make bench`");
    }
    let (mut sections, mut times): (Vec<Section>, Vec<PartTime>) = (Vec::new(), Vec::new());
    for part in Part::IN_ORDER.into_iter().filter(|part| wants(args, *part)) {
        if (part.is_on_postgres() && server.is_none()) || (part == Part::Kafka && args.kafka.is_none()) {
            continue;
        }
        let begun = Instant::now();
        let measured = match timeout(part.limit(), measure(args, part, server.as_ref(), &sections)).await {
            Ok(measured) => measured,
            Err(_) => Err(anyhow::anyhow!("did not end within {} s", part.limit().as_secs())),
        };
        let took = begun.elapsed();
        let failure = measured.as_ref().err().map(|error| format!("{error:#}"));
        match measured {
            Ok(section) => {
                section.print(args.smoke);
                sections.push(section);
            }
            Err(error) => {
                eprintln!("{} was not measured: {error:#}\n", part.name());
                if let Some(server) = &server {
                    server.remove_databases().await.context("removing what a part left behind")?;
                }
            }
        }
        eprintln!("{} took {:.0} s; {:.0} s in all", part.name(), took.as_secs_f64(), start.elapsed().as_secs_f64());
        times.push(PartTime { part: part.name(), took, failure });
    }
    if let Some(path) = &args.results {
        let machine = results::Machine { foreman: version().await?, postgres: server.map(|it| it.about), began };
        results::write(path, &machine, &sections, &times)?;
        println!("written to {}", path.display());
    }
    let failed: Vec<&str> = times.iter().filter(|time| time.failure.is_some()).map(|time| time.part).collect();
    if !failed.is_empty() {
        bail!("not measured: {}", failed.join(", "));
    }
    Ok(())
}

async fn version() -> Result<String> {
    let said = foreman()?.arg("--version").output().await?;
    let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    // Only where this is run in the repository.
    let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().await.ok();
    let commit = commit.filter(|said| said.status.success()).map(|said| said.stdout);
    Ok(commit
        .map_or(version.clone(), |commit| format!("{version}, commit {}", String::from_utf8_lossy(&commit).trim())))
}

fn wants(args: &Args, part: Part) -> bool {
    let asked = |part| args.only.contains(&part);
    args.only.is_empty() || asked(part) || (part.is_on_postgres() && asked(Part::Postgres))
}

/// `before`: what was measured already.
async fn measure(args: &Args, part: Part, server: Option<&Server>, before: &[Section]) -> Result<Section> {
    let sizes = args.sizes();
    match (part, server) {
        (Part::Stream, _) => watched(args).await,
        (Part::Sqlite, _) => on_sqlite(args).await,
        (_, None) => bail!("there is no Postgres to measure on"),
        (Part::Steady, Some(server)) => steady(args, server, &sizes).await,
        (Part::Followers, Some(server)) => {
            let figures = postgres::followers::measure(server, sizes.jobs / 2).await?;
            let about = "a scheduler starts after the jobs have ended; costs per job that ended";
            Ok(Section::new("Followers of the change log, Postgres", about, figures))
        }
        (Part::Kafka, Some(server)) => {
            let brokers = args.kafka.as_deref().context("there is no Kafka to measure on")?;
            let title =
                format!("Fleet size, {} jobs: one relay, two workers, Kafka with one broker", grouped(sizes.jobs / 2));
            let about = "beside a bare producer of the same messages, and beside the same roles without Kafka";
            let measure = async || postgres::kafka::measure(server, brokers, &sizes).await;
            rounds(args, part, &title, about, measure).await
        }
        (Part::Growth, Some(server)) => {
            let may_go_on = |turns, took| args.may_go_on(part, turns, took);
            growth::measure(server, &growth_sizes(args, &sizes), may_go_on).await
        }
        (Part::Peers, Some(server)) => peers::measure(server, peer_sizes(args, &sizes), sizes.slots).await,
        (_, Some(server)) => in_rounds(args, part, server, &sizes, before).await,
    }
}

/// What a crowd of clients costs.
async fn watched(args: &Args) -> Result<Section> {
    let (clients, seconds) = if args.smoke { (50, 1) } else { (args.watchers, args.watch_secs) };
    let how_long = Duration::from_secs(seconds);
    let plan = stream::Plan { clients, changes_per_second: args.changes.max(3), how_long };
    let title = format!(
        "Stream, {} clients at {} changes per second, SQLite, one process",
        plan.clients, plan.changes_per_second
    );
    let about = "beside a process that writes as many events of the same size and does nothing else";
    let measure = async || {
        // The clients share this thread: what they cost is not to be in each other's way.
        tokio::task::LocalSet::new().run_until(stream::measure(&plan)).await
    };
    rounds(args, Part::Stream, &title, about, measure).await
}

async fn on_sqlite(args: &Args) -> Result<Section> {
    let sizes = args.sizes();
    let (burst, picks) = burst(args);
    let steady = Duration::from_secs(if args.smoke { 1 } else { 10.min(args.steady_secs) });
    let measure = async || {
        let mut figures = sqlite::round(&sizes, steady).await?;
        figures.extend(sqlite::fairness(burst, picks).await?);
        Ok(figures)
    };
    let about =
        "raw rows: the same rows by plain SQL; store alone: its verbs called in process, without HTTP or worker";
    rounds(args, Part::Sqlite, "SQLite, one process", about, measure).await
}

/// Jobs of a burst, and single jobs that are timed beside it.
fn burst(args: &Args) -> (usize, usize) {
    if args.smoke { (2 * BATCH, 10) } else { (args.burst, 150) }
}

/// Parts whose rounds are all alike.
async fn in_rounds(args: &Args, part: Part, server: &Server, sizes: &Sizes, before: &[Section]) -> Result<Section> {
    match part {
        Part::Drain => {
            let about =
                "raw rows: the same rows by plain SQL; store alone: its verbs called in process, without a worker";
            let title = format!("Drain of {} waiting no-op jobs, Postgres", grouped(sizes.jobs));
            rounds(args, part, &title, about, async || postgres::drains(server, sizes).await).await
        }
        Part::Push => {
            let title = format!("HTTP push of {} jobs to a target on this machine, Postgres", grouped(sizes.jobs / 2));
            let about = "beside a loop that makes the same calls with the same HTTP client, and no job; slow: answered after 100 ms";
            rounds(args, part, &title, about, async || postgres::push::measure(server, sizes).await).await
        }
        Part::Submit => {
            let about =
                "single: beside a server of the same framework that answers 202; batch: beside raw rows by unnest";
            let title = "Submissions over HTTP, Postgres";
            rounds(args, part, title, about, async || postgres::submissions(server, sizes).await).await
        }
        Part::PickUp => {
            let drained = before.iter().find_map(|section| section.value(postgres::ONE_WORKER));
            let most = drained.unwrap_or(20_000.0);
            let about = format!(
                "from request to call of the target; half load: {:.0} no-op jobs per second beside it",
                most / 2.0
            );
            let measure = async || postgres::pick_ups(server, sizes, most).await;
            rounds(args, part, "Pick-up of a single job, and idle memory, Postgres", &about, measure).await
        }
        _ => {
            let (burst, picks) = burst(args);
            let about = "a single job of one tenant, idle and while another tenant's burst waits";
            let measure = async || postgres::fairness(server, burst, picks).await;
            rounds(args, part, "Fairness, Postgres", about, measure).await
        }
    }
}

/// Long, and a ratio to its own baseline: once is enough.
async fn steady(args: &Args, server: &Server, sizes: &Sizes) -> Result<Section> {
    let seconds = if args.smoke { 1 } else { args.steady_secs.max(1) };
    let (alike, mixed) = (Duration::from_secs(seconds), Duration::from_secs(seconds.div_ceil(3)));
    let figures = postgres::steady(server, sizes.slots, SteadyTimes { alike, mixed }).await?;
    let about =
        "submitted over HTTP while two workers run them; beside a transaction that holds back the vacuum; and a mix";
    Ok(Section::new("Steady load, Postgres", about, figures))
}

fn peer_sizes<'a>(args: &'a Args, sizes: &Sizes) -> PeerSizes<'a> {
    let place = args.peers.as_path();
    if args.smoke {
        return PeerSizes { place, jobs: 4 * BATCH, picks: 5, most_secs: 2, is_smoke: true };
    }
    let jobs = (sizes.jobs / 2).next_multiple_of(4 * BATCH);
    PeerSizes { place, jobs, picks: args.peer_picks, most_secs: args.peer_secs, is_smoke: false }
}

fn growth_sizes(args: &Args, sizes: &Sizes) -> growth::Sizes {
    if args.smoke {
        let few = || vec![BATCH];
        let (history, backlog, tenants, queues) = (few(), few(), vec![10], vec![10]);
        return growth::Sizes { jobs: 2 * BATCH, slots: 64, history, backlog, tenants, queues, workers: vec![2] };
    }
    growth::Sizes {
        jobs: sizes.jobs / 2,
        slots: sizes.slots,
        history: args.history.clone(),
        backlog: args.backlog.clone(),
        tenants: args.tenants.clone(),
        queues: args.queues.clone(),
        workers: args.workers.clone(),
    }
}

impl Args {
    /// Whether another round is made after so many that took so long.
    fn may_go_on(&self, part: Part, rounds: usize, took: Duration) -> bool {
        const USUAL: usize = 3;
        if self.smoke {
            return false;
        }
        match self.rounds {
            Some(wanted) => rounds < wanted,
            None => rounds < USUAL && took * (rounds as u32 + 1) / (rounds as u32) <= part.budget(),
        }
    }
}

async fn rounds(
    args: &Args,
    part: Part,
    title: &str,
    about: &str,
    measure: impl AsyncFn() -> Result<Vec<Figure>>,
) -> Result<Section> {
    let (start, mut all) = (Instant::now(), Vec::new());
    while all.is_empty() || args.may_go_on(part, all.len(), start.elapsed()) {
        eprintln!("{title}: round {}", all.len() + 1);
        all.push(measure().await?);
    }
    let number = all.len();
    let title = if number > 1 { format!("{title}: median of {number}") } else { title.to_owned() };
    Ok(Section::of_rounds(title, about, &all))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn args(words: &[&str]) -> Args {
        Args::parse_from(std::iter::once(&"bench").chain(words))
    }

    #[test]
    fn a_part_is_repeated_up_to_three_times_and_only_within_its_time() {
        let (quick, slow) = (Part::Drain.budget() / 4, Part::Drain.budget() * 3 / 5);
        assert!(args(&[]).may_go_on(Part::Drain, 1, quick) && args(&[]).may_go_on(Part::Drain, 2, 2 * quick));
        assert!(!args(&[]).may_go_on(Part::Drain, 3, 3 * quick));
        assert!(!args(&[]).may_go_on(Part::Drain, 1, slow));
        assert!(args(&["--rounds", "5"]).may_go_on(Part::Drain, 4, 4 * slow));
        assert!(!args(&["--smoke"]).may_go_on(Part::Drain, 1, quick));
    }

    #[test]
    fn all_parts_fit_into_half_an_hour_with_time_to_fill_the_history() {
        let sum: Duration = Part::IN_ORDER.into_iter().map(Part::budget).sum();
        assert!(sum <= Duration::from_mins(26), "{sum:?}");
    }
}
