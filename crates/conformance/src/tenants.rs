//! A tenant sees and touches only its own.

use super::Subject;
use super::given::{HOUR, Scene, a_job, ids, sorted, tenant};
use foreman_core::id::JobId;
use foreman_core::ports::{CancelAnswer, JobFilter, RedriveAnswer, RemoveAnswer};
use foreman_core::state::State;

/// One job of another tenant in every state, and those of ours.
async fn two_tenants(scene: &Scene<'_>) -> (Vec<JobId>, Vec<JobId>) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for state in State::ALL {
        ours.push(scene.job_in(state, a_job().of("ours")).await);
        theirs.push(scene.job_in(state, a_job().of("theirs")).await);
    }
    (ours, theirs)
}

pub async fn another_tenants_job_is_not_found_by_any_verb(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (_, theirs) = two_tenants(&scene).await;
    let ours = tenant("ours");
    let nothing = theirs.len();
    for id in &theirs {
        assert!(scene.store.get(&ours, *id).await.expect("the store answers").is_none());
    }
    assert_eq!(scene.store.cancel(&ours, &theirs).await.expect("the store answers"), vec![None; nothing]);
    assert_eq!(scene.store.redrive(&ours, &theirs).await.expect("the store answers"), vec![None; nothing]);
    assert_eq!(scene.store.remove(&ours, &theirs).await.expect("the store answers"), vec![None; nothing]);
    for (state, id) in State::ALL.into_iter().zip(theirs) {
        let view = scene.store.get(&tenant("theirs"), id).await.expect("the store answers");
        assert_eq!(view.expect("it is untouched").state, state);
    }
}

pub async fn lists_and_counts_show_only_ones_own(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (ours, theirs) = two_tenants(&scene).await;
    for (name, own) in [("ours", &ours), ("theirs", &theirs)] {
        let all = JobFilter::default();
        let page = scene.store.list(&tenant(name), &all, None, 100).await.expect("the store answers");
        assert_eq!(sorted(page.items.iter().map(|summary| summary.id)), sorted(own.iter().copied()));
        assert_eq!(scene.store.count(&tenant(name), &all).await.expect("the store answers"), own.len() as u64);
        for state in State::ALL {
            let filter = JobFilter { state: Some(state), ..JobFilter::default() };
            let page = scene.store.list(&tenant(name), &filter, None, 100).await.expect("the store answers");
            assert_eq!(page.items.len(), 1, "{state}");
            assert_eq!(scene.store.count(&tenant(name), &filter).await.expect("the store answers"), 1);
        }
    }
    let nobody = scene.store.list(&tenant("nobody"), &JobFilter::default(), None, 100).await;
    assert!(nobody.expect("the store answers").items.is_empty());
}

pub async fn each_tenants_verbs_work_on_its_own(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let theirs = tenant("theirs");
    let id = scene.submit(a_job().of("theirs")).await;
    let cancelled = scene.store.cancel(&theirs, &[id]).await.expect("the store answers");
    assert_eq!(cancelled, [Some(CancelAnswer::WasWaiting)]);
    let redriven = scene.store.redrive(&theirs, &[id]).await.expect("the store answers");
    assert_eq!(redriven, [Some(RedriveAnswer::Redriven)]);
    scene.store.cancel(&theirs, &[id]).await.expect("the store answers");
    let removed = scene.store.remove(&theirs, &[id]).await.expect("the store answers");
    assert_eq!(removed, [Some(RemoveAnswer::Removed)]);
}

pub async fn one_batch_may_mix_tenants_and_keeps_them_apart(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let batch = [a_job().of("a").build(), a_job().of("b").after(HOUR).build(), a_job().of("a").build()];
    scene.submit_all(&batch).await;
    let all = JobFilter::default();
    assert_eq!(scene.store.count(&tenant("a"), &all).await.expect("the store answers"), 2);
    assert_eq!(scene.store.count(&tenant("b"), &all).await.expect("the store answers"), 1);
    let session = scene.session().await;
    let held = scene.claim(session, 10).await;
    assert_eq!(sorted(ids(&held)), sorted([batch[0].id, batch[2].id]));
    assert!(held.iter().all(|held| held.job.tenant == tenant("a")));
}

pub async fn every_change_names_its_tenant(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let start = scene.head().await;
    let (ours, theirs) = two_tenants(&scene).await;
    for moved in scene.moved_since(start).await {
        let expected = if ours.contains(&moved.id) { "ours" } else { "theirs" };
        assert!(ours.contains(&moved.id) || theirs.contains(&moved.id));
        assert_eq!(moved.tenant, tenant(expected));
    }
}
