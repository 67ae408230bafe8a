//! One file per command.

mod audit;
mod bulk;
mod check;
mod completions;
mod direct;
mod doctor;
mod gather;
mod job;
mod jobs;
mod keys;
pub mod launch;
mod migrate;
mod output;
mod parked;
mod queues;
mod schedules;
mod secrets;
mod serve;
mod submit;
mod tenants;
mod wait;
mod watch;
mod webhooks;
mod workers;

use std::process::ExitCode;

use crate::cli::{Cli, Command, JobsCommand, Keys, Remote, Tenants};
use crate::config::Environment;
use crate::exit::Exit;
use crate::render::Screen;
use crate::role::Role;
use direct::administer;

/// Whose keys are meant when nobody says.
const DEFAULT_TENANT: &str = "default";

/// Runs what was typed. The server has a runtime of its own making; every other command asks a few questions on one thread.
pub fn run(cli: Cli, environment: &Environment) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(cli.remote.output, environment);
    match cli.command {
        Command::Dev(dev) => serve::run(Role::Dev, &dev.flags, dev.demo(), environment),
        Command::Api(api) => serve::run(Role::Api, &api.flags(), None, environment),
        Command::Worker(worker) => serve::run(Role::Worker, &worker.flags(), None, environment),
        Command::Scheduler(scheduler) => serve::run(Role::Scheduler, &scheduler.flags(), None, environment),
        Command::Relay(relay) => serve::run(Role::Relay, &relay.flags(), None, environment),
        Command::Doctor(doctor) => doctor::run(&doctor, environment, &screen).map(ExitCode::from),
        Command::Check(check) => check::run(&check, environment, &screen).map(ExitCode::from),
        Command::Migrate(migrate) => migrate::run(&migrate, environment, &screen).map(ExitCode::from),
        Command::Secrets(asked) => secrets::run(&asked, environment, &screen).map(ExitCode::from),
        Command::Tenants(Tenants { command, direct }) => {
            block_on(told(administer(&direct, &cli.remote, environment, async |client| {
                tenants::run(command, client, &screen).await
            })))
        }
        Command::Keys(Keys { command, direct }) => {
            let tenant = cli.remote.tenant().unwrap_or(DEFAULT_TENANT);
            block_on(told(administer(&direct, &cli.remote, environment, async |client| {
                keys::run(command, tenant, client, &screen).await
            })))
        }
        Command::Audit(asked) => block_on(told(administer(&asked.direct, &cli.remote, environment, async |client| {
            audit::run(&asked, cli.remote.tenant(), client, &screen).await
        }))),
        Command::Openapi => {
            screen.json(&foreman_api::openapi())?;
            Ok(Exit::Done.into())
        }
        Command::Completions { shell } => completions::run(shell, &screen).map(ExitCode::from),
        Command::Version => {
            screen.line(concat!("foreman ", env!("CARGO_PKG_VERSION")))?;
            Ok(Exit::Done.into())
        }
        remote => block_on(on_server(remote, &cli.remote, environment, &screen)),
    }
}

async fn on_server(
    command: Command,
    remote: &Remote,
    environment: &Environment,
    screen: &Screen,
) -> anyhow::Result<Exit> {
    let client = remote.client_for_tenant(environment)?;
    match command {
        Command::Submit(submit) => submit::run(*submit, &client, screen).await,
        Command::Jobs(command) => match command {
            JobsCommand::List(list) => jobs::list(&list, &client, screen).await,
            JobsCommand::Show { id } => jobs::show(&id, &client, screen).await,
            JobsCommand::Groups(groups) => jobs::groups(&groups, &client, screen).await,
            JobsCommand::Retry(many) => bulk::run(bulk::Verb::Retry, many, &client, screen).await,
            JobsCommand::Cancel(many) => bulk::run(bulk::Verb::Cancel, many, &client, screen).await,
            JobsCommand::Delete(many) => bulk::run(bulk::Verb::Delete, many, &client, screen).await,
            JobsCommand::Wait(wait) => wait::run_many(&wait.ids, wait.timeout, &client, screen).await,
            JobsCommand::Output(outputs) => output::run(&outputs, &client, screen).await,
        },
        Command::Schedules(command) => schedules::run(command, &client, screen).await,
        Command::Queues(command) => queues::run(command, &client, screen).await,
        Command::Workers => workers::run(&client, screen).await,
        Command::Parked(asked) => parked::run(&asked, &client, screen).await,
        Command::Webhooks(command) => told(webhooks::run(command, &client, screen)).await,
        Command::Watch(watch) => told(watch::run(&watch, &client, screen)).await,
        Command::Dev(_)
        | Command::Api(_)
        | Command::Worker(_)
        | Command::Scheduler(_)
        | Command::Relay(_)
        | Command::Doctor(_)
        | Command::Check(_)
        | Command::Migrate(_)
        | Command::Secrets(_)
        | Command::Tenants(_)
        | Command::Keys(_)
        | Command::Audit(_)
        | Command::Openapi
        | Command::Completions { .. }
        | Command::Version => unreachable!("handled by `run`, which needs no server"),
    }
}

/// What is refused for what it says is a mistake of whoever typed it.
async fn told(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    command.await.or_else(|error| {
        let status = error.downcast_ref::<foreman_client::Error>().and_then(foreman_client::Error::status);
        if !matches!(status, Some(400 | 413 | 422)) {
            return Err(error);
        }
        crate::complain(&error);
        Ok(Exit::Usage)
    })
}

fn block_on(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<ExitCode> {
    wait_for(command).map(ExitCode::from)
}

/// Asks a few questions on this thread.
fn wait_for<T>(questions: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(questions)
}
