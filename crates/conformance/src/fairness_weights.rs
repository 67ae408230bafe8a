//! A tenant of three times the weight gets three times the jobs, and delays nobody's single job by it.

use super::TenancySubject;
use super::given::{Ask, SECOND, Scene, a_job, completed, jobs, retry};
use super::tenants_kept::{changed, made, settings};
use foreman_core::id::SessionId;

/// Claims and settles so many jobs; how many of them were the tenant's.
async fn share(scene: &Scene<'_>, session: SessionId, count: usize, a_claim: usize, tenant: &str) -> usize {
    let (mut served, mut share) = (0, 0);
    while served < count {
        let held = scene.claim(session, a_claim.min(count - served)).await;
        assert!(!held.is_empty(), "{served} were served, and more wait");
        served += held.len();
        share += held.iter().filter(|held| held.job.tenant.as_str() == tenant).count();
        let settlements: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
        scene.settle_all(session, &settlements).await;
    }
    share
}

async fn weigh(subject: &dyn TenancySubject, tenant: &str, weight: u32) {
    let tenant = made(subject, tenant).await;
    changed(subject, &tenant, settings(weight)).await;
}

async fn submit(scene: &Scene<'_>, count: usize, ask: Ask) {
    scene.submit_all(&jobs(count, &ask)).await;
}

pub async fn three_times_the_weight_is_three_times_the_jobs(subject: &dyn TenancySubject) {
    weigh(subject, "heavy", 3).await;
    weigh(subject, "light", 1).await;
    let scene = Scene::of(subject);
    let session = scene.session().await;
    submit(&scene, 300, a_job().of("heavy")).await;
    submit(&scene, 300, a_job().of("light")).await;
    for a_claim in [64, 1] {
        let heavy = share(&scene, session, 100, a_claim, "heavy").await;
        assert!((74..=76).contains(&heavy), "{heavy} of a hundred, in claims of {a_claim}");
    }
}

pub async fn weights_count_over_queues_too(subject: &dyn TenancySubject) {
    weigh(subject, "heavy", 3).await;
    let scene = Scene::of(subject);
    let session = scene.session().await;
    submit(&scene, 300, a_job().of("heavy").queued("one")).await;
    // Nobody made this tenant: it weighs 1.
    submit(&scene, 300, a_job().of("light").queued("another")).await;
    for a_claim in [64, 1] {
        let heavy = share(&scene, session, 100, a_claim, "heavy").await;
        assert!((73..=77).contains(&heavy), "{heavy} of a hundred, in claims of {a_claim}");
    }
}

pub async fn weights_count_for_retries_and_what_falls_due(subject: &dyn TenancySubject) {
    weigh(subject, "heavy", 3).await;
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for tenant in ["heavy", "light"] {
        submit(&scene, 60, a_job().of(tenant).after(SECOND * 2)).await;
        submit(&scene, 60, a_job().of(tenant)).await;
        let held = scene.claim(session, 60).await;
        let settlements: Vec<_> = held.into_iter().map(|held| held.settle(retry(SECOND))).collect();
        scene.settle_all(session, &settlements).await;
    }
    scene.wait(SECOND * 5).await;
    let heavy = share(&scene, session, 120, 10, "heavy").await;
    assert!((89..=91).contains(&heavy), "{heavy} of 120");
}

pub async fn a_changed_weight_counts_for_what_comes_after_it(subject: &dyn TenancySubject) {
    let tenant = made(subject, "growing").await;
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for (seen, weight, expected) in [(1, 1, 29..=31), (2, 3, 44..=46)] {
        if weight > 1 {
            let tenant = foreman_core::tenant::Tenant { version: seen - 1, ..tenant.clone() };
            changed(subject, &tenant, settings(weight)).await;
        }
        submit(&scene, 60, a_job().of("growing")).await;
        submit(&scene, 60, a_job().of("other")).await;
        let share_of_it = share(&scene, session, 60, 10, "growing").await;
        assert!(expected.contains(&share_of_it), "{share_of_it} of 60 at weight {weight}");
        share(&scene, session, 60, 60, "growing").await;
    }
}

/// The weight says how a lane is shared, not who may be made to wait.
pub async fn the_burst_of_the_heaviest_tenant_delays_no_single_job(subject: &dyn TenancySubject) {
    weigh(subject, "heavy", 1_000).await;
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for name in ["default", "another"] {
        submit(&scene, 500, a_job().of("heavy").queued(name)).await;
    }
    share(&scene, session, 100, 10, "heavy").await;
    for name in ["default", "another", "mine"] {
        scene.submit(a_job().of(&format!("light-{name}")).queued(name)).await;
        let heavy = share(&scene, session, 2, 1, "heavy").await;
        assert_eq!(heavy, 1, "one of the next two claims is the light one's, in {name}");
    }
}
