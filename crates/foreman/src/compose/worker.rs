//! Runs jobs: what it can run, and with how many hands.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use foreman_core::duration::format;
use foreman_core::ports::WebhookStore;
use foreman_engine::output::OutputHub;
use foreman_engine::settle::RefusedOutcomes;
use foreman_engine::target::Targets;
use foreman_engine::target::command::{self, CommandRunner, Launcher, OpenDefault, Permits, Sharing, Users};
use foreman_engine::target::http::HttpRunner;
use foreman_engine::target::task::{Handlers, TaskRunner};
use foreman_engine::target::webhook::WebhookRunner;
use foreman_engine::{Tenants, Vault, Worker};

use super::transport::{self, BrokerParts};
use super::{ServerPart, StorePorts, Wiring, part};
use crate::commands::launch;
use crate::config::{CommandSettings, UserRange};

pub(super) fn part_of(
    wiring: &Wiring<'_>,
    shared: &StorePorts,
    transport: Option<&BrokerParts>,
    output: OutputHub,
) -> anyhow::Result<ServerPart> {
    let config = wiring.settings.worker_in_grace();
    wiring.metrics.slots.set(i64::try_from(config.slots).unwrap_or(i64::MAX));
    let tenants = wiring.tenants(shared);
    let mut worker = Worker::new(
        Arc::clone(&shared.store),
        Arc::clone(&shared.wakeups),
        targets(wiring, shared, &tenants, output)?,
        wiring.tasks.clone(),
        config,
    )
    .limited_by(tenants);
    report_refused(wiring, worker.refused_outcomes());
    let mut feed = None;
    if let Some(transport) = transport {
        let (fed, kafka) = transport.feed()?;
        worker = worker.fed_by(fed);
        feed = Some(kafka);
    }
    Ok(part("worker", |shutdown| async move {
        let drained = worker.run(shutdown.clone()).await;
        if let Some(feed) = feed {
            transport::leave(feed, shutdown).await;
        }
        Ok(drained?)
    }))
}

/// Says how many outcomes the store refuses to whoever scrapes, and beside the probes. Other work goes on.
fn report_refused(wiring: &Wiring<'_>, refused: RefusedOutcomes) {
    wiring.metrics.set_refused(refused.clone());
    wiring.vitals.set_outcomes(move || {
        let (count, age) = (refused.count(), Duration::from_secs(refused.age().as_secs()));
        (count > 0).then(|| format!("{count} outcomes are refused by the store, the oldest for {}", format(age)))
    });
}

fn targets(
    wiring: &Wiring<'_>,
    shared: &StorePorts,
    tenants: &Arc<Tenants>,
    output: OutputHub,
) -> anyhow::Result<Targets> {
    let settings = wiring.settings;
    let vault = Vault::new(wiring.keyring.clone(), Some(Arc::clone(tenants)));
    let http = HttpRunner::new(settings.http.clone()).with_vault(vault.clone());
    let caller = http.caller();
    let mut targets = Targets::default().with(Arc::new(http)).with(Arc::new(TaskRunner::new(Handlers::new())));
    if settings.webhooks.enabled {
        let webhooks = Arc::clone(&shared.tenancy) as Arc<dyn WebhookStore>;
        targets = targets.with(Arc::new(WebhookRunner::new(caller, webhooks, vault)));
    }
    if settings.commands.allow {
        targets = targets.with(Arc::new(commands(wiring, tenants, output)?));
    }
    Ok(targets)
}

fn commands(wiring: &Wiring<'_>, tenants: &Arc<Tenants>, output: OutputHub) -> anyhow::Result<CommandRunner> {
    let settings = wiring.settings;
    let user = settings.commands.runs_as.as_ref().map(|user| user.identity);
    let launcher = launch::launcher(settings.commands.limits.clone(), user);
    let keyring = wiring.keyring.clone();
    let sharing = sharing(&settings.commands, &launcher)?;
    let config = command::Config { launcher: Some(launcher), sharing, keyring, ..settings.command_in_grace() };
    // A laptop is its user's own; whoever serves tenants runs what is on their lists.
    let of_tenants = Arc::clone(tenants) as Arc<dyn Permits>;
    let permits = if settings.has_own_key { Arc::new(OpenDefault(of_tenants)) } else { of_tenants };
    Ok(CommandRunner::new(config, permits, output))
}

/// Commands of several tenants run as several users, or not at all, unless somebody said that they may share one.
fn sharing(commands: &CommandSettings, launcher: &Launcher) -> anyhow::Result<Sharing> {
    Ok(match &commands.users {
        Some(UserRange(range)) => {
            let Launcher { program, words, .. } = launcher.clone();
            let users = Users::new(range.clone(), commands.users_dir.clone(), program, words);
            Sharing::Nobody(Arc::new(users.context("commands.users_dir")?))
        }
        None if commands.share_user => Sharing::AnyTenants,
        None => Sharing::OneTenant,
    })
}
