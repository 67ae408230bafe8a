//! How many jobs of a tenant run at a time.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{CreateTenantAnswer, JobQuery, NewTenant, TenantStore, TenantUpdate, UpdateTenantAnswer};
use foreman_core::tenant::{Limit, LimitOverrides, TenantLimits, TenantSettings};
use foreman_core::{EditId, NewJob, State, TenantId};
use foreman_engine::target::Targets;
use foreman_engine::tenants::{self, Tenants};
use foreman_engine::worker::{self, Worker};
use tokio::time::{Instant, sleep};

use crate::disabled::set;
use crate::scene::{Running, Scene, job, until};
use crate::script::{Act, Verb, away};

pub fn at_most(running: u64) -> TenantSettings {
    let limits = LimitOverrides { running_jobs: Some(Limit::AtMost(running)), ..LimitOverrides::default() };
    TenantSettings { limits, ..TenantSettings::default() }
}

pub async fn tenant(scene: &Scene, name: &str, settings: TenantSettings) -> TenantId {
    let new = NewTenant { edit: EditId::fresh(), id: TenantId::new(name), settings };
    let answer = scene.store.inner.create_tenant(&new).await.unwrap();
    assert!(matches!(answer, CreateTenantAnswer::Created(_)));
    new.id
}

pub fn tenants(scene: &Scene, limits: TenantLimits) -> Arc<Tenants> {
    let config = tenants::Config { limits, ..tenants::Config::default() };
    Arc::new(Tenants::new(Arc::new(scene.store.clone()), config))
}

pub fn worker(scene: &Scene, slots: usize, limits: TenantLimits) -> Running {
    worker_of(scene, slots, limits, Targets::default().with(Arc::clone(&scene.player) as _))
}

pub fn worker_of(scene: &Scene, slots: usize, limits: TenantLimits, targets: Targets) -> Running {
    let config = worker::Config { slots, ..worker::Config::default() };
    let worker = Worker::new(scene.store(), scene.wakeups(), targets, scene.tasks.clone(), config);
    let worker = worker.limited_by(tenants(scene, limits));
    scene.tasks.spawn("worker", worker.run(scene.stop.shutdown()))
}

pub fn jobs_of(tenant: &TenantId, count: usize, payload: &str) -> Vec<NewJob> {
    (0..count).map(|_| NewJob { tenant: tenant.clone(), ..job(payload) }).collect()
}

pub async fn running(scene: &Scene, tenant: &TenantId) -> u64 {
    let all = scene.store.inner.running().await.unwrap();
    all.into_iter().find(|(of, _)| of == tenant).map_or(0, |(_, count)| count)
}

#[tokio::test(start_paused = true)]
async fn a_tenant_at_its_limit_waits_for_itself_and_holds_up_nobody() {
    let scene = Scene::new();
    let small = tenant(&scene, "small", at_most(2)).await;
    scene.submit(&jobs_of(&small, 40, "sleep 100")).await;
    let others = jobs_of(&TenantId::default(), 6, "sleep 100");
    scene.submit(&others).await;
    let worker = worker(&scene, 8, TenantLimits::default());
    let begun = Instant::now();
    let mut most = 0;
    while scene.player.started().len() < 46 || scene.player.running() > 0 {
        most = most.max(running(&scene, &small).await);
        assert!(begun.elapsed() < Duration::from_secs(20), "{} have started", scene.player.started().len());
        sleep(Duration::from_millis(3)).await;
    }
    assert_eq!(most, 2, "never more, and no fewer either");
    // Twenty pairs of 100 ms each, give or take a nap: a poll period for each pair would be 20 s.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let started = scene.player.started();
    let last = others.iter().map(|job| started.iter().position(|id| *id == job.id).unwrap()).max().unwrap();
    assert!(last < 12, "others did not wait for it: {last}");
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_tenant_of_a_later_version_is_served_like_any_other_and_stops_nobody() {
    let scene = Scene::new();

    let later = tenant(&scene, "later", TenantSettings::default()).await;
    let small = tenant(&scene, "small", at_most(2)).await;
    scene.store.tenant_is_of_a_later_version(later.clone());
    for (tenant, count) in [(&later, 2), (&small, 5), (&TenantId::default(), 1)] {
        scene.submit(&jobs_of(tenant, count, "gate")).await;
    }
    let worker = worker(&scene, 16, TenantLimits::default());
    until("each has what it may have", || scene.player.running() == 5).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((running(&scene, &later).await, running(&scene, &small).await), (2, 2));
    set(&scene, &small, true).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(scene.player.running(), 3, "it is disabled, and was stopped beside one that cannot be read");
    scene.stop.abort();
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn what_another_worker_holds_is_counted() {
    let scene = Scene::new();
    let settings = at_most(3);
    let small = tenant(&scene, "small", settings).await;
    scene.submit(&jobs_of(&small, 10, "gate")).await;
    let stranger = scene.stranger(Duration::from_hours(10)).await;
    assert_eq!(scene.claimed_by(stranger, 2).await.len(), 2);
    let worker = worker(&scene, 8, TenantLimits::default());
    until("it has taken one", || scene.player.running() == 1).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(scene.player.running(), 1);
    scene.store.inner_end(stranger).await;
    until("it has taken the rest", || scene.player.running() == 3).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(scene.player.running(), 3);
    scene.stop.abort();
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_raised_or_lowered_counts_within_seconds() {
    let scene = Scene::new();
    let small = tenant(&scene, "small", at_most(0)).await;
    scene.submit(&jobs_of(&small, 10, "gate")).await;
    let worker = worker(&scene, 8, TenantLimits::default());
    sleep(Duration::from_secs(10)).await;
    assert_eq!(scene.player.running(), 0);
    let update = TenantUpdate { edit: EditId::fresh(), tenant: small.clone(), version: 1, settings: at_most(5) };
    let answer = scene.store.inner.update_tenant(&update).await.unwrap();
    assert!(matches!(answer, UpdateTenantAnswer::Updated(_)));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(scene.player.running(), 5);
    scene.stop.abort();
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn without_limits_nobody_counts() {
    for limited in [false, true] {
        let scene = Scene::new();
        let worker = if limited { worker(&scene, 4, TenantLimits::unlimited()) } else { scene.worker() };
        scene.submit(&jobs_of(&TenantId::default(), 200, "")).await;
        until("all have run", || scene.player.started().len() == 200).await;
        assert_eq!(scene.store.calls(Verb::Running), 0);
        scene.drained(worker).await;
    }
}

/// Of all tenants alike.
fn each_at_most(running: u64) -> TenantLimits {
    TenantLimits { running_jobs: Limit::AtMost(running), ..TenantLimits::default() }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_all_slots_cannot_reach_is_not_counted_until_there_are_more() {
    let scene = Scene::new();
    let worker = worker(&scene, 8, each_at_most(10));
    let submit = async || {
        for _ in 0..50 {
            scene.submit(&jobs_of(&TenantId::default(), 8, "sleep 20")).await;
            sleep(Duration::from_millis(100)).await;
        }
    };
    submit().await;
    let asked = scene.store.calls(Verb::FleetSlots);
    assert_eq!(scene.store.calls(Verb::Running), 0);
    assert!((2..=7).contains(&asked), "{asked} times in five seconds");
    scene.consumer(3, &[]).await;
    submit().await;
    assert!(scene.store.calls(Verb::Running) > 0, "eleven slots could exceed it");
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn far_from_every_limit_it_counts_once_a_second() {
    let scene = Scene::new();
    scene.consumer(100, &[]).await;
    let worker = worker(&scene, 4, each_at_most(100));
    for _ in 0..100 {
        scene.submit(&jobs_of(&TenantId::default(), 4, "sleep 20")).await;
        sleep(Duration::from_millis(100)).await;
    }
    let (counts, claims) = (scene.store.calls(Verb::Running), scene.store.calls(Verb::Claim));
    assert!((5..=12).contains(&counts), "{counts} counts in ten seconds");
    assert!(claims >= 100, "{claims}");
    scene.drained(worker).await;
}

/// It counts when a job has started and nobody waits, not before the next one.
#[tokio::test(start_paused = true)]
async fn no_job_waits_for_others_to_be_counted() {
    const COUNTING: Duration = Duration::from_millis(50);
    let scene = Scene::new();
    scene.store.always(Verb::Running, Act::Delay(COUNTING));
    scene.consumer(100, &[]).await;
    let worker = worker(&scene, 4, each_at_most(100));
    let mut late = 0;
    for job in 1..=60 {
        let begun = Instant::now();
        scene.submit(&jobs_of(&TenantId::default(), 1, "")).await;
        until("it has started", || scene.player.started().len() == job).await;
        late += usize::from(begun.elapsed() >= COUNTING);
        sleep(Duration::from_millis(100)).await;
    }
    assert!(late <= 1, "{late} of 60 jobs waited; the first does");
    assert!(scene.store.calls(Verb::Running) >= 5, "it was counted now and then");
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn where_it_cannot_be_counted_nothing_is_taken() {
    let scene = Scene::new();
    scene.submit(&jobs_of(&TenantId::default(), 4, "")).await;
    scene.store.always(Verb::Running, away());
    let worker = worker(&scene, 4, each_at_most(3));
    sleep(Duration::from_mins(1)).await;
    assert_eq!((scene.player.started().len(), scene.count(State::Pending).await), (0, 4));
    scene.store.heal();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(scene.count(State::Completed).await, 4);
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_said_about_a_tenant_is_asked_once_and_believed_for_seconds() {
    let scene = Scene::new();
    let tenants = tenants(&scene, TenantLimits::default());
    let us = TenantId::default();
    scene.store.next(Verb::Tenant, away());
    assert!(tenants.settings(&us).await.is_err(), "a failure is told");
    assert!(tenants.settings(&us).await.unwrap().is_some(), "and not believed");
    let before = scene.store.calls(Verb::Tenant);
    for _ in 0..50 {
        assert!(tenants.settings(&us).await.unwrap().is_some());
    }
    assert_eq!(scene.store.calls(Verb::Tenant), before);
    let nobody = TenantId::new("nobody");
    assert!(tenants.settings(&nobody).await.unwrap().is_none());
    tenant(&scene, "nobody", at_most(7)).await;
    assert!(tenants.settings(&nobody).await.unwrap().is_none());
    sleep(Duration::from_secs(4)).await;
    assert!(tenants.settings(&nobody).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn who_asks_at_the_same_time_shares_the_answer() {
    let scene = Scene::new();
    scene.store.always(Verb::Tenant, Act::Delay(Duration::from_secs(1)));
    let tenants = tenants(&scene, TenantLimits::default());
    let us = TenantId::default();
    let asked: Vec<_> = (0..20).map(|_| tenants.settings(&us)).collect();
    for answer in futures_util::future::join_all(asked).await {
        assert!(answer.unwrap().is_some());
    }
    assert_eq!(scene.store.calls(Verb::Tenant), 1);
}
