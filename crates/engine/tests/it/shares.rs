//! How the slots of a worker are shared between tenants.

use std::time::Duration;

use foreman_core::tenant::{TenantLimits, TenantSettings, Weight};
use foreman_core::{Lane, NewJob, TenantId};
use tokio::time::{Instant, sleep};

use crate::rooms::{jobs_of, running, tenant, worker};
use crate::scene::{Running, Scene, job_with, until, until_async};
use crate::script::Verb;

const MOMENT: Duration = Duration::from_millis(200);

async fn named(scene: &Scene, name: &str) -> TenantId {
    tenant(scene, name, TenantSettings::default()).await
}

fn in_lane(tenant: &TenantId, lane: Lane, payload: &str) -> NewJob {
    NewJob { tenant: tenant.clone(), ..job_with(payload, |work| work.lane = lane) }
}

/// A worker of 32 slots; the first tenant has taken all that it may have of them, and its work does not end.
async fn occupied(scene: &Scene) -> (TenantId, Running) {
    let alpha = named(scene, "alpha").await;
    scene.submit(&jobs_of(&alpha, 40, "gate")).await;
    let worker = worker(scene, 32, TenantLimits::default());
    sleep(Duration::from_secs(30)).await;
    (alpha, worker)
}

#[tokio::test(start_paused = true)]
async fn one_tenants_endless_work_leaves_a_slot_for_each_of_the_others() {
    let scene = Scene::new();
    let (alpha, worker) = occupied(&scene).await;
    assert_eq!(running(&scene, &alpha).await, 28, "all but an eighth");
    for (name, lane, expected) in [("beta", Lane::Low, 2), ("gamma", Lane::High, 1), ("delta", Lane::Normal, 1)] {
        let other = named(&scene, name).await;
        let jobs: Vec<NewJob> = (0..40).map(|_| in_lane(&other, lane, "gate")).collect();
        scene.submit(&jobs).await;
        sleep(MOMENT).await;
        assert_eq!(running(&scene, &other).await, expected, "{name} starts at once");
        sleep(Duration::from_secs(30)).await;
        assert_eq!(running(&scene, &other).await, expected, "and leaves something too");
    }
    assert_eq!(running(&scene, &alpha).await, 28);
    scene.stop.abort();
    scene.drained(worker).await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_is_freed_goes_to_who_holds_less_than_its_share() {
    let scene = Scene::new();
    let (alpha, worker) = occupied(&scene).await;
    let beta = named(&scene, "beta").await;
    // Whatever lane the first chose: its own priority is not another tenant's.
    scene.submit(&(0..100).map(|_| in_lane(&alpha, Lane::High, "gate")).collect::<Vec<_>>()).await;
    scene.submit(&(0..40).map(|_| in_lane(&beta, Lane::Low, "gate")).collect::<Vec<_>>()).await;
    sleep(MOMENT).await;
    let started = scene.player.started().len();
    scene.player.gate.add_permits(16);
    until("what ended was replaced", || scene.player.started().len() >= started + 14).await;
    sleep(Duration::from_secs(5)).await;
    let held = (running(&scene, &alpha).await, running(&scene, &beta).await);
    assert!((12..=14).contains(&held.0) && (12..=14).contains(&held.1), "{held:?}");
    scene.stop.abort();
    scene.drained(worker).await;
}

/// As long as both have more waiting than there are slots.
async fn held_by_two(weights: [u32; 2], payloads: [&str; 2]) -> (f64, f64) {
    let scene = Scene::new();
    let mut ids = Vec::new();
    for (name, weight) in ["alpha", "beta"].into_iter().zip(weights) {
        let weight = Weight::try_from(weight).unwrap();
        ids.push(tenant(&scene, name, TenantSettings { weight, ..TenantSettings::default() }).await);
    }
    for (id, payload) in ids.iter().zip(payloads) {
        scene.submit(&jobs_of(id, 4_000, payload)).await;
    }
    let worker = worker(&scene, 32, TenantLimits::default());
    sleep(Duration::from_secs(5)).await;
    let mut held = (0, 0);
    for _ in 0..100 {
        sleep(Duration::from_millis(37)).await;
        held.0 += running(&scene, &ids[0]).await;
        held.1 += running(&scene, &ids[1]).await;
    }
    scene.stop.abort();
    scene.drained(worker).await;
    (held.0 as f64 / 100.0, held.1 as f64 / 100.0)
}

#[tokio::test(start_paused = true)]
async fn slow_work_and_fast_work_hold_as_many_slots() {
    let (slow, fast) = held_by_two([1, 1], ["sleep 1000", "sleep 100"]).await;
    assert!((12.0..=17.0).contains(&slow), "{slow} and {fast} of 28");
    assert!((10.0..=15.0).contains(&fast), "{slow} and {fast} of 28");
}

#[tokio::test(start_paused = true)]
async fn three_times_the_weight_is_three_times_the_slots() {
    let (heavy, light) = held_by_two([3, 1], ["sleep 300", "sleep 300"]).await;
    assert!((18.0..=22.0).contains(&heavy) && (5.0..=8.5).contains(&light), "{heavy} and {light} of 28");
}

#[tokio::test(start_paused = true)]
async fn where_there_is_one_tenant_it_has_every_slot() {
    for others in [&[][..], &["off"]] {
        let scene = Scene::new();
        for name in others {
            tenant(&scene, name, TenantSettings { is_disabled: true, ..TenantSettings::default() }).await;
        }
        scene.submit(&jobs_of(&TenantId::default(), 40, "gate")).await;
        let worker = worker(&scene, 32, TenantLimits::default());
        until("all slots are taken", || scene.player.running() == 32).await;
        scene.stop.abort();
        scene.drained(worker).await;
    }
}

/// Keeping slots free costs neither time nor statements.
#[tokio::test(start_paused = true)]
async fn a_tenant_on_its_own_keeps_its_slots_busy_with_few_claims() {
    let scene = Scene::new();
    let alpha = named(&scene, "alpha").await;
    scene.submit(&jobs_of(&alpha, 28 * 50, "sleep 100")).await;
    let begun = Instant::now();
    let worker = worker(&scene, 32, TenantLimits::default());
    until_async("all have run", async || scene.player.started().len() == 28 * 50 && scene.player.running() == 0).await;
    assert!(begun.elapsed() < Duration::from_millis(5_600), "fifty times 100 ms: {:?}", begun.elapsed());
    let claims = scene.store.calls(Verb::Claim);
    assert!(claims <= 220, "{claims} claims for fifty rounds");
    scene.drained(worker).await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn who_was_held_back_goes_on_when_the_others_leave() {
    let scene = Scene::new();
    let (alpha, worker) = occupied(&scene).await;
    let beta = named(&scene, "beta").await;
    scene.submit(&jobs_of(&beta, 60, "sleep 20")).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!((running(&scene, &beta).await, running(&scene, &alpha).await), (0, 28));
    assert_eq!(scene.player.started().len(), 28 + 60, "two at a time, in the slots that are kept for others");
    scene.player.gate.add_permits(3);
    sleep(MOMENT).await;
    assert_eq!(running(&scene, &alpha).await, 28, "its places are its own again");
    scene.stop.abort();
    scene.drained(worker).await;
}
