//! `foreman dev`, `api`, `worker`, `scheduler` and `relay`: a process that serves until it is told to stop.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use crate::cli::ServerFlags;
use crate::config::{self, Environment, Origin, Settings, StoreKind, without_password};
use crate::demo::Demo;
use crate::exit::usage;
use crate::role::Role;
use crate::{data_dir, lifecycle, logs, open_files, own_key, secret_key};

/// More threads only help when there is more to compute; jobs mostly wait for others.
const MOST_THREADS: usize = 4;
/// Threads for what blocks: reads of the store, names that must be looked up.
const MOST_BLOCKING: usize = 64;
/// What is left of the runtime after the stop is not waited for.
const LAST_MOMENT: Duration = Duration::from_millis(200);

pub fn run(role: Role, flags: &ServerFlags, demo: Option<Demo>, environment: &Environment) -> anyhow::Result<ExitCode> {
    let loaded = config::load(flags, environment, role)?;
    let allowed_by = loaded.origin_of("commands.allow");
    let mut settings = loaded.settings;
    if demo.is_some() {
        Demo::adjust(&mut settings);
    }
    if role.shares_its_store() && settings.store != StoreKind::Postgres {
        return Err(usage(format!(
            "`foreman {role}` needs a database that it can share with other processes: set DATABASE_URL to a Postgres, such as \
             postgres://user:password@host/name. Without Postgres, use `foreman dev`, which runs every role in one process on a SQLite file"
        )));
    }
    logs::start(&settings, environment);
    for warning in config::warnings(&settings, open_files::raise()) {
        tracing::warn!("{warning}");
    }
    if role == Role::Dev && settings.store != StoreKind::Memory {
        data_dir::keep_out_of_git(&settings.data_dir);
    }
    secret_key::prepare(role, &mut settings)?;
    own_key::prepare(role, &mut settings)?;
    if role.serves_the_api() && settings.commands.allow && settings.admin_key.is_none() {
        tracing::warn!(
            "commands are allowed and no key is required: every user of this machine can run the programs that the tenant `default` allows; \
             set FOREMAN_ADMIN_KEY"
        );
    }
    let threads = available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(MOST_BLOCKING)
        .thread_name("foreman")
        .enable_all()
        .build()?;
    let is_serving = |address| {
        own_key::remove_unused(role, &settings);
        greet(role, address, &settings, &allowed_by);
    };
    let exit = runtime.block_on(lifecycle::run(role, &settings, demo, is_serving));
    runtime.shutdown_timeout(LAST_MOMENT);
    exit.map(ExitCode::from)
}

/// Where it is, and what to try. Whoever reads the first line knows that it serves.
fn greet(role: Role, address: SocketAddr, settings: &Settings, allowed_by: &Origin) {
    let url = format!("http://{address}");
    let keeps = match settings.store {
        StoreKind::Sqlite => format!("jobs are stored in {}", settings.data_dir.display()),
        StoreKind::Memory => "jobs are lost on exit: the store is memory".into(),
        StoreKind::Postgres => {
            let url = settings.database.url.as_ref().map_or_else(String::new, |url| without_password(url.reveal()));
            format!("jobs are stored in {url}")
        }
    };
    // What listens everywhere is called here.
    let here = match address.ip() {
        ip if ip.is_unspecified() => format!("http://127.0.0.1:{}", address.port()),
        _ => url.clone(),
    };
    // By whom: a file in the directory one happens to stand in can do it, too.
    let commands = if settings.commands.allow {
        format!("allowed by {allowed_by}")
    } else {
        "off (--allow-commands turns them on)".into()
    };
    let slots = settings.worker.slots;
    let text = match role {
        Role::Dev => format!(
            "Foreman listens on {url}\n\
             {keeps}; commands are {commands}; {slots} slots\n\
             jobs may call this machine and public addresses (--egress-allow adds networks and hosts)\n\
             {}\n\
             Try it:\n\
             \x20 curl -s {here}/api/v1/jobs -d '{{\"url\":\"{here}/dev/echo\",\"payload\":{{\"n\":1}}}}' -H 'content-type: application/json'{}\n\
             \n",
            own_key_words(settings, &here),
            shown_key(settings)
        ),
        Role::Api => format!("Foreman's API listens on {url}\n{keeps}; commands are {commands}\n"),
        Role::Worker => {
            let queues: Vec<String> = settings.worker.queues.iter().map(ToString::to_string).collect();
            let queues = if queues.is_empty() { "all queues".into() } else { queues.join(", ") };
            format!(
                "Foreman's worker serves health endpoints on {url}\n{keeps}; {slots} slots; {queues}; commands are {commands}\n"
            )
        }
        Role::Relay => format!(
            "Foreman's relay serves health endpoints on {url}\n{keeps}; announced to {}\n",
            settings.kafka.brokers.as_deref().unwrap_or("nobody")
        ),
        Role::Scheduler => format!("Foreman's scheduler serves health endpoints on {url}\n{keeps}\n"),
    };
    let mut out = io::stdout().lock();
    // Nobody has to be there to read it.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// How to get in where the server has made a key for itself; empty where it has not.
fn own_key_words(settings: &Settings, here: &str) -> String {
    let Some(key) = settings.admin_key.as_ref().filter(|_| settings.has_own_key) else { return String::new() };
    let command_line = match settings.store {
        StoreKind::Memory => format!("for the command line: export FOREMAN_API_KEY={}", key.reveal()),
        _ => format!("the command line reads the key from {}", own_key::place(&settings.data_dir).display()),
    };
    format!(
        "\n\
         Jobs may run programs as your user, so this server requires a key that only you have.\n\
         \x20 open {here}/sign-in#key={} to sign in; {command_line}\n",
        key.reveal()
    )
}

/// How curl shows the key.
fn shown_key(settings: &Settings) -> String {
    let key = match settings.store {
        _ if settings.admin_key.is_none() => return String::new(),
        _ if !settings.has_own_key => "$FOREMAN_ADMIN_KEY".to_owned(),
        StoreKind::Memory => "$FOREMAN_API_KEY".to_owned(),
        _ => format!("$(cat {})", own_key::place(&settings.data_dir).display()),
    };
    format!(" -H \"authorization: Bearer {key}\"")
}
