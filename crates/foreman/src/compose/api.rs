//! HTTP in: the submitter behind its door, the tail of the change log that waiting and watching clients follow, and the
//! dashboard.

use std::sync::Arc;

use axum::Router;
use foreman_api::{App, AppParts, CommandPolicy, Cursors, Dashboard, Tail};
use foreman_core::ports::{JobQuery, JobStore, ScheduleStore, Schedules, Submit};
use foreman_engine::output::OutputHub;
use foreman_engine::worker::Drained;
use foreman_engine::{ScheduleEditor, SubmitHandle, Submitter};

use super::{ServerPart, StorePorts, Wiring, clock, nothing, part};
use crate::role::Role;

pub(super) fn parts(
    wiring: &Wiring<'_>,
    shared: &StorePorts,
    output: OutputHub,
) -> (Router, SubmitHandle, Vec<ServerPart>) {
    let settings = wiring.settings;
    let (submitter, intake) = Submitter::new(Arc::clone(&shared.store) as Arc<dyn JobStore>, settings.submit.clone());
    let cursors = Cursors::new(wiring.keyring.as_deref(), &wiring.gate.keys);
    let tail = Tail::new(
        Arc::clone(&shared.store),
        shared.wakeups.as_ref(),
        cursors,
        settings.tail.clone(),
        wiring.readiness.clone(),
    );
    wiring.metrics.set_streams(tail.streams());
    let editor = ScheduleEditor::new(
        Arc::clone(&shared.store) as Arc<dyn ScheduleStore>,
        Arc::clone(&shared.store) as Arc<dyn JobStore>,
        settings.limits.clone(),
        &settings.scheduler,
    )
    .limited_by(wiring.tenants(shared), Arc::clone(&shared.store) as Arc<dyn JobQuery>)
    .sealing_with(wiring.keyring.clone());
    let app = App::new(AppParts {
        store: Arc::clone(&shared.store),
        tenancy: Arc::clone(&shared.tenancy),
        announced: shared.announced.clone(),
        submit: Arc::new(intake.clone()) as Arc<dyn Submit>,
        schedules: Arc::new(editor) as Arc<dyn Schedules>,
        waits: tail.waits(),
        streams: tail.streams(),
        output: Arc::new(output),
        limiter: Arc::clone(&shared.limiter),
        clock: clock(),
        limits: settings.limits.clone(),
        tenant_limits: settings.tenant_limits.clone(),
        own_limits: settings.own_limits.clone(),
        keyring: wiring.keyring.clone(),
        bodies: settings.bodies.clone(),
        connections: settings.serve.max_connections,
        vitals: wiring.vitals.clone(),
        gate: wiring.gate.clone(),
        commands: match &settings.commands {
            commands if !commands.allow => CommandPolicy::Refused,
            _ if settings.has_own_key => CommandPolicy::Open,
            _ => CommandPolicy::Allowed,
        },
        dashboard: Dashboard::built(),
        tasks: wiring.tasks.clone(),
        dev: wiring.role == Role::Dev,
    });
    let parts = vec![
        part("submitter", |shutdown| async move { Ok(submitter.run(shutdown).await.map(nothing)?) }),
        part("tail", |shutdown| async move {
            tail.run(shutdown).await;
            Ok(Drained::default())
        }),
    ];
    (foreman_api::router(app), intake, parts)
}
