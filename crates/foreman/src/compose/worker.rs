//! Runs jobs: what it can run, and with how many hands.

use std::sync::Arc;

use foreman_engine::Worker;
use foreman_engine::output::OutputHub;
use foreman_engine::target::Targets;
use foreman_engine::target::command::CommandRunner;
use foreman_engine::target::http::HttpRunner;
use foreman_engine::target::task::{Handlers, TaskRunner};

use super::{Ground, Part, Shared, part};
use crate::config::Settings;

pub(super) fn part_of(ground: &Ground<'_>, shared: &Shared, output: OutputHub) -> Part {
    let config = ground.settings.worker_in_grace();
    ground.metrics.slots.set(i64::try_from(config.slots).unwrap_or(i64::MAX));
    let worker = Worker::new(
        Arc::clone(&shared.store),
        Arc::clone(&shared.wakeups),
        targets(ground.settings, output),
        ground.tasks.clone(),
        config,
    );
    part("worker", |shutdown| async move { Ok(worker.run(shutdown).await?) })
}

fn targets(settings: &Settings, output: OutputHub) -> Targets {
    let targets = Targets::default()
        .with(Arc::new(HttpRunner::new(settings.http.clone())))
        .with(Arc::new(TaskRunner::new(Handlers::new())));
    if settings.commands.allow {
        targets.with(Arc::new(CommandRunner::new(settings.command_in_grace(), output)))
    } else {
        targets
    }
}
