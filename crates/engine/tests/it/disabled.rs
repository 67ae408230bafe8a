//! Disabling a tenant stops its work, its schedules and its deliveries, until it is enabled again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::outcome::AttemptEnd;
use foreman_core::ports::{JobStore, TenantStore, TenantUpdate, TickState, UpdateTenantAnswer};
use foreman_core::target::Route;
use foreman_core::tenant::{TenantLimits, TenantSettings};
use foreman_core::{EditId, JobId, Report, State, TenantId};
use foreman_engine::scheduler;
use foreman_engine::target::{Runner, Targets, Try, TryEnding};
use foreman_engine::worker::Drained;
use tokio::time::{Instant, sleep};

use crate::post::{deliveries, endpoint, patient, start};
use crate::rooms::{jobs_of, tenant, worker, worker_of};
use crate::scene::{Scene, job, until};
use crate::scheduler::{made, seconds, ticks};

pub async fn set(scene: &Scene, id: &TenantId, is_disabled: bool) {
    let version = scene.store.inner.tenant(id).await.unwrap().unwrap().version;
    let settings = TenantSettings { is_disabled, ..TenantSettings::default() };
    let update = TenantUpdate { edit: EditId::fresh(), tenant: id.clone(), version, settings };
    assert!(matches!(scene.store.inner.update_tenant(&update).await.unwrap(), UpdateTenantAnswer::Updated(_)));
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_stopped_within_five_seconds_unspent_and_goes_on_when_it_is_enabled() {
    let scene = Scene::new();
    let us = TenantId::default();
    let other = tenant(&scene, "other", TenantSettings::default()).await;
    let ours = job("gate");
    scene.submit(std::slice::from_ref(&ours)).await;
    scene.submit(&jobs_of(&other, 1, "gate")).await;
    let worker = worker(&scene, 8, TenantLimits::default());
    until("both run", || scene.player.running() == 2).await;
    let begun = Instant::now();
    set(&scene, &us, true).await;
    until("it was told to stop", || scene.player.stopped(ours.id).is_some()).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    scene.submitted("").await;
    sleep(Duration::from_mins(10)).await;
    assert_eq!((scene.player.running(), scene.player.started().len()), (1, 2), "the other one goes on; nothing began");
    let view = scene.view(ours.id).await;
    assert_eq!((view.state, view.spent), (State::Pending, 0));
    assert_eq!(view.attempts.records[0].report.error.as_deref(), Some("interrupted: its tenant was disabled"));
    set(&scene, &us, false).await;
    until("it goes on", || scene.player.started().len() == 4).await;
    scene.stop.abort();
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_stopped_also_while_the_worker_drains() {
    let scene = Scene::new();
    let (us, ours) = (TenantId::default(), job("gate"));
    let other = tenant(&scene, "other", TenantSettings::default()).await;
    scene.submit(std::slice::from_ref(&ours)).await;
    scene.submit(&jobs_of(&other, 1, "gate")).await;
    let worker = worker(&scene, 8, TenantLimits::default());
    until("both run", || scene.player.running() == 2).await;
    scene.stop.drain();
    sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    set(&scene, &us, true).await;
    until("it was told to stop", || scene.player.stopped(ours.id).is_some()).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(scene.player.running(), 1, "the other one goes on");
    scene.player.gate.add_permits(1);
    assert_eq!(scene.drained(worker).await, Drained { finished: 1, handed_back: 1, abandoned: 0 });
}

#[tokio::test(start_paused = true)]
async fn ticks_that_were_due_meanwhile_are_missed_as_the_schedule_says() {
    let scene = Scene::new();
    let us = TenantId::default();
    let view = made(&scene, "often", r#""every": "1m""#).await;
    let config = scheduler::Config { poll: Duration::from_hours(1), ..scheduler::Config::default() };
    let scheduler = scheduler::Scheduler::new(scene.store(), scene.store(), scene.wakeups(), config);
    let lag = scheduler.lag();
    let scheduler = scene.tasks.spawn("scheduler", scheduler.run(scene.stop.shutdown()));
    sleep(Duration::from_secs(61)).await;
    set(&scene, &us, true).await;
    sleep(Duration::from_mins(10)).await;
    assert_eq!(seconds(&view, &ticks(&scene, &view).await), [60], "nothing was fired");
    assert_eq!(lag.get(), Duration::ZERO, "and nobody is late");
    set(&scene, &us, false).await;
    sleep(Duration::from_secs(1)).await;
    let told: Vec<_> = ticks(&scene, &view).await.into_iter().map(|tick| (tick.state, tick.count)).collect();
    let (fired, missed) = ((TickState::Fired, Some(1)), (TickState::Skipped, Some(8)));
    assert_eq!(told, [fired, fired, missed, fired], "the latest that was missed, and the one in time");
    scene.stop.drain();
    scheduler.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_ended_is_told_when_it_is_enabled() {
    let scene = Scene::new();
    let (us, postman) = (TenantId::default(), Arc::new(Postman::default()));
    let hook = endpoint(&scene, &["job.*"]).await;
    let courier = start(&scene, patient()).await;
    let id = scene.submitted("").await;
    set(&scene, &us, true).await;
    scene.store.inner.cancel(&us, &[id]).await.unwrap();
    let targets = Targets::default().with(Arc::clone(&postman) as _);
    let worker = worker_of(&scene, 8, TenantLimits::default(), targets);
    sleep(Duration::from_mins(10)).await;
    let told = deliveries(&scene, hook).await;
    assert_eq!(told.len(), 1, "it is kept");
    assert_eq!(postman.delivered(), [], "and nothing is sent");
    set(&scene, &us, false).await;
    scene.until_state(told[0].job, State::Completed).await;
    assert_eq!(postman.delivered(), [told[0].job]);
    scene.drained(worker).await;
    courier.await.unwrap().unwrap();
}

/// Delivers whatever it is given.
#[derive(Default)]
struct Postman(Mutex<Vec<JobId>>);

impl Postman {
    fn delivered(&self) -> Vec<JobId> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl Runner for Postman {
    fn routes(&self) -> Vec<Route> {
        vec![Route::webhook()]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        self.0.lock().unwrap().push(attempt.job.id);
        TryEnding { ended: AttemptEnd::Completed, report: Report::default() }
    }
}
