//! The parts of a full run, in order, each with what it is compared with.

use std::time::Duration;

use anyhow::Result;

use crate::jobs::BATCH;
use crate::peers::PeerSizes;
use crate::postgres::{self, Server, growth};
use crate::process::foreman;
use crate::report::{Figure, Section};
use crate::sizes::Sizes;
use crate::{Args, peers, results, sqlite, stream};

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
    Growth,
    /// Other job queues, as far as `bench/peers/setup` installed them.
    Peers,
}

impl Part {
    const ON_POSTGRES: [Self; 9] = [
        Self::Drain,
        Self::Push,
        Self::Submit,
        Self::PickUp,
        Self::Fairness,
        Self::Steady,
        Self::Followers,
        Self::Growth,
        Self::Peers,
    ];
}

pub async fn run(args: &Args) -> Result<()> {
    let (mut sections, mut about) = (Vec::new(), None);
    if wants(args, Part::Stream) {
        sections.push(watched(args).await?);
    }
    if wants(args, Part::Sqlite) {
        sections.push(on_sqlite(args).await?);
    }
    if Part::ON_POSTGRES.into_iter().any(|part| wants(args, part)) {
        match &args.postgres {
            Some(dsn) => {
                let server = Server::reach(dsn).await?;
                sections.extend(on_postgres(args, &server).await?);
                about = Some(server.about);
            }
            None => println!("Postgres was not measured: name a server with --postgres, or run `make bench`"),
        }
    }
    if let Some(path) = &args.results {
        let machine = results::Machine { foreman: version().await?, postgres: about };
        results::write(path, &machine, &sections)?;
        println!("written to {}", path.display());
    }
    Ok(())
}

async fn version() -> Result<String> {
    let said = foreman()?.arg("--version").output().await?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

fn wants(args: &Args, part: Part) -> bool {
    let asked = |part| args.only.contains(&part);
    args.only.is_empty() || asked(part) || (Part::ON_POSTGRES.contains(&part) && asked(Part::Postgres))
}

/// What a crowd of clients costs.
async fn watched(args: &Args) -> Result<Section> {
    let (clients, seconds) = if args.smoke { (50, 2) } else { (args.watchers, args.watch_secs) };
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
    rounds(args, &title, about, measure).await
}

async fn on_sqlite(args: &Args) -> Result<Section> {
    let sizes = args.sizes();
    let (burst, picks) = burst(args);
    let measure = async || {
        let mut figures = sqlite::round(&sizes).await?;
        figures.extend(sqlite::fairness(burst, picks).await?);
        Ok(figures)
    };
    let about =
        "raw rows: the same rows by plain SQL; store alone: its verbs called in process, without HTTP or worker";
    rounds(args, "SQLite, one process", about, measure).await
}

/// Jobs of a burst, and single jobs that are timed beside it.
fn burst(args: &Args) -> (usize, usize) {
    if args.smoke { (2 * BATCH, 10) } else { (args.burst, 300) }
}

async fn on_postgres(args: &Args, server: &Server) -> Result<Vec<Section>> {
    let sizes = args.sizes();
    let (burst, picks) = burst(args);
    let mut sections: Vec<Section> = Vec::new();
    println!("Postgres {}", server.about);
    if wants(args, Part::Drain) {
        let about = "raw rows: the same rows by plain SQL; store alone: its verbs called in process, without a worker";
        let title = format!("Drain of {} waiting no-op jobs, Postgres", growth::grouped(sizes.jobs));
        sections.push(rounds(args, &title, about, async || postgres::drains(server, &sizes).await).await?);
    }
    if wants(args, Part::Push) {
        let title =
            format!("HTTP push of {} jobs to a target on this machine, Postgres", growth::grouped(sizes.jobs / 2));
        let about = "beside a loop that makes the same calls with the same HTTP client, and no job";
        sections.push(rounds(args, &title, about, async || postgres::pushes(server, &sizes).await).await?);
    }
    if wants(args, Part::Submit) {
        let about = "single: beside a server of the same framework that answers 202; batch: beside raw rows by unnest";
        let title = "Submissions over HTTP, Postgres";
        sections.push(rounds(args, title, about, async || postgres::submissions(server, &sizes).await).await?);
    }
    if wants(args, Part::PickUp) {
        let drained = sections.iter().find_map(|section| section.value(postgres::ONE_WORKER));
        let most = drained.unwrap_or(20_000.0);
        let about =
            format!("from request to call of the target; half load: {:.0} no-op jobs per second beside it", most / 2.0);
        let measure = async || postgres::pick_ups(server, &sizes, most).await;
        sections.push(rounds(args, "Pick-up of a single job, and idle memory, Postgres", &about, measure).await?);
    }
    if wants(args, Part::Fairness) {
        let about = "a single job of one tenant, idle and while another tenant's burst waits";
        let measure = async || postgres::fairness(server, burst, picks).await;
        sections.push(rounds(args, "Fairness, Postgres", about, measure).await?);
    }
    if wants(args, Part::Steady) && args.steady_secs > 0 {
        let seconds = if args.smoke { 1 } else { args.steady_secs };
        // Long, and a ratio to its own baseline: once is enough.
        let figures = postgres::steady(server, sizes.slots, Duration::from_secs(seconds)).await?;
        let about = "submitted over HTTP while two workers run them; alike, mixed, and beside a transaction that holds back the vacuum";
        sections.push(once(args, "Steady load, Postgres", about, figures));
    }
    if wants(args, Part::Followers) {
        let figures = postgres::followers::measure(server, sizes.jobs).await?;
        let about = "a scheduler starts after the jobs have ended; costs per job that ended";
        sections.push(once(args, "Followers of the change log, Postgres", about, figures));
    }
    if wants(args, Part::Growth) {
        let figures = growth::measure(server, &growth_sizes(args, &sizes)).await?;
        let about = "the same drain where more is kept, waits or takes part";
        sections.push(once(args, "Growth, Postgres", about, figures));
    }
    if wants(args, Part::Peers) {
        let of_peers = if args.smoke {
            PeerSizes { jobs: 4 * BATCH, picks: 5, most_secs: 2 }
        } else {
            PeerSizes { jobs: (sizes.jobs / 2).next_multiple_of(4 * BATCH), picks: 100, most_secs: 15 }
        };
        let section = peers::measure(server, of_peers, sizes.slots).await?;
        section.print(args.smoke);
        sections.push(section);
    }
    Ok(sections)
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

async fn rounds(
    args: &Args,
    title: &str,
    about: &str,
    measure: impl AsyncFn() -> Result<Vec<Figure>>,
) -> Result<Section> {
    let number = if args.smoke { 1 } else { args.rounds.max(1) };
    let mut all = Vec::new();
    for round in 1..=number {
        eprintln!("{title}: round {round} of {number}");
        all.push(measure().await?);
    }
    let title = if number > 1 { format!("{title}: median of {number}") } else { title.to_owned() };
    let section = Section::of_rounds(title, about, &all);
    section.print(args.smoke);
    Ok(section)
}

fn once(args: &Args, title: &str, about: &str, figures: Vec<Figure>) -> Section {
    let section = Section { title: title.to_owned(), about: about.to_owned(), figures, notes: Vec::new() };
    section.print(args.smoke);
    section
}
