//! `foreman dev`: every role in one process.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use crate::cli::Dev;
use crate::config::{self, Environment, Settings, StoreKind};
use crate::{lifecycle, logs, open_files};

/// More threads only help when there is more to compute; jobs mostly wait for others.
const MOST_THREADS: usize = 4;
/// Threads for what blocks: reads of the store, names that must be looked up.
const MOST_BLOCKING: usize = 64;
/// What is left of the runtime after the stop is not waited for.
const LAST_MOMENT: Duration = Duration::from_millis(200);

pub fn run(dev: &Dev, environment: &Environment) -> anyhow::Result<ExitCode> {
    let settings = config::load(&dev.flags, environment)?.settings;
    logs::start(&settings, environment);
    for warning in config::warnings(&settings, open_files::raise()) {
        tracing::warn!("{warning}");
    }
    let threads = available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(MOST_BLOCKING)
        .thread_name("foreman")
        .enable_all()
        .build()?;
    let exit = runtime.block_on(lifecycle::run(&settings, |address| greet(address, &settings)));
    runtime.shutdown_timeout(LAST_MOMENT);
    exit.map(ExitCode::from)
}

/// Where it is, and what to try. Whoever reads the first line knows that it serves.
fn greet(address: SocketAddr, settings: &Settings) {
    let url = format!("http://{address}");
    let keeps = match settings.store {
        StoreKind::Sqlite => format!("jobs are kept in {}", settings.data_dir.display()),
        StoreKind::Memory => "nothing is kept: the store is memory".into(),
    };
    let commands = if settings.commands.allow { "allowed" } else { "off (--allow-commands turns them on)" };
    let text = format!(
        "Foreman listens on {url}\n\
         {keeps}; commands are {commands}; {} slots\n\
         \n\
         Try it:\n\
         \x20 curl -s {url}/api/v1/jobs -d '{{\"url\":\"{url}/dev/echo\",\"payload\":{{\"n\":1}}}}' -H 'content-type: application/json'\n\
         \n",
        settings.worker.slots
    );
    let mut out = io::stdout().lock();
    // Nobody has to be there to read it.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
