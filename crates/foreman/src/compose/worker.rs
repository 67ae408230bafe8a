//! Runs jobs: what it can run, and with how many hands.

use std::sync::Arc;

use foreman_core::ports::WebhookStore;
use foreman_engine::output::OutputHub;
use foreman_engine::target::Targets;
use foreman_engine::target::command::{self, CommandRunner, OpenDefault, Permits};
use foreman_engine::target::http::HttpRunner;
use foreman_engine::target::task::{Handlers, TaskRunner};
use foreman_engine::target::webhook::WebhookRunner;
use foreman_engine::{Tenants, Vault, Worker};
use nix::sys::prctl;

use super::{Ground, Part, Shared, part};
use crate::commands::launch;
use crate::role::Role;

pub(super) fn part_of(ground: &Ground<'_>, shared: &Shared, output: OutputHub) -> Part {
    let config = ground.settings.worker_in_grace();
    ground.metrics.slots.set(i64::try_from(config.slots).unwrap_or(i64::MAX));
    let tenants = ground.tenants(shared);
    let worker = Worker::new(
        Arc::clone(&shared.store),
        Arc::clone(&shared.wakeups),
        targets(ground, shared, &tenants, output),
        ground.tasks.clone(),
        config,
    )
    .limited_by(tenants);
    part("worker", |shutdown| async move { Ok(worker.run(shutdown).await?) })
}

fn targets(ground: &Ground<'_>, shared: &Shared, tenants: &Arc<Tenants>, output: OutputHub) -> Targets {
    let settings = ground.settings;
    let vault = Vault::new(ground.keyring.clone(), Some(Arc::clone(tenants)));
    let http = HttpRunner::new(settings.http.clone()).with_vault(vault.clone());
    let caller = http.caller();
    let mut targets = Targets::default().with(Arc::new(http)).with(Arc::new(TaskRunner::new(Handlers::new())));
    if settings.webhooks.enabled {
        let webhooks = Arc::clone(&shared.tenancy) as Arc<dyn WebhookStore>;
        targets = targets.with(Arc::new(WebhookRunner::new(caller, webhooks, vault)));
    }
    if settings.commands.allow {
        targets = targets.with(Arc::new(commands(ground, tenants, output)));
    }
    targets
}

fn commands(ground: &Ground<'_>, tenants: &Arc<Tenants>, output: OutputHub) -> CommandRunner {
    let settings = ground.settings;
    keep_to_ourselves();
    let user = settings.commands.runs_as.as_ref().map(|user| user.identity);
    let launcher = launch::launcher(settings.commands.limits.clone(), user);
    let keyring = ground.keyring.clone();
    let config = command::Config { launcher: Some(launcher), keyring, ..settings.command_in_grace() };
    // A laptop without keys is its user's own; whoever serves tenants runs what is on their lists.
    let of_tenants = Arc::clone(tenants) as Arc<dyn Permits>;
    let permits = match (ground.role, &settings.admin_key) {
        (Role::Dev, None) => Arc::new(OpenDefault(of_tenants)),
        _ => of_tenants,
    };
    CommandRunner::new(config, permits, output)
}

/// A command that runs as our user may not look into our memory or read the environment we were started with, where the
/// keys are. (Root may do anything; that is what `commands.user` is for.)
fn keep_to_ourselves() {
    if let Err(error) = prctl::set_dumpable(false) {
        tracing::warn!("commands may be able to read the environment of this process: {error}");
    }
}
