//! What people call jobs, for those who filter a stream by it.

use super::Subject;
use super::given::{Scene, a_job, sorted};
use foreman_core::id::JobId;
use foreman_core::ports::Labels;
use foreman_core::state::State;

async fn labels(scene: &Scene<'_>, jobs: &[JobId]) -> Vec<Labels> {
    let mut labels = scene.store.labels(jobs).await.expect("the store answers");
    for labels in &mut labels {
        labels.tags.sort();
    }
    labels.sort_by_key(|labels| labels.job);
    labels
}

pub async fn jobs_are_labelled_by_kind_and_tags(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let full = scene.submit(a_job().kind("welcome").tagged("red").tagged("blue")).await;
    let plain = scene.submit(a_job().of("acme")).await;
    let bare = |job| Labels { job, kind: None, tags: Vec::new() };
    let expected =
        [Labels { job: full, kind: Some("welcome".into()), tags: vec!["blue".into(), "red".into()] }, bare(plain)];
    assert_eq!(labels(&scene, &sorted([full, plain])).await, expected, "of whatever tenant");
    assert_eq!(labels(&scene, &[]).await, []);
}

pub async fn a_job_is_labelled_wherever_it_is_until_it_is_gone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut all = Vec::new();
    for state in State::ALL {
        all.push(scene.job_in(state, a_job().kind(state.as_str()).tagged("blue")).await);
    }
    let found = labels(&scene, &all).await;
    assert_eq!(found.len(), State::ALL.len());
    for (labels, state) in found.iter().zip(State::ALL) {
        assert_eq!((labels.kind.as_deref(), labels.tags.as_slice()), (Some(state.as_str()), &["blue".to_owned()][..]));
    }
    let gone = scene.job_in(State::Completed, a_job().tagged("blue")).await;
    scene.remove(gone).await;
    assert_eq!(labels(&scene, &[gone, JobId::fresh(), all[0]]).await, found[..1], "those that are gone are left out");
}

pub async fn a_wish_to_be_called_back_is_no_label(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asking = a_job().tagged("blue").work(|work| work.callback_url = Some("https://example.com/done".into()));
    let id = scene.submit(asking).await;
    assert_eq!(labels(&scene, &[id]).await, [Labels { job: id, kind: None, tags: vec!["blue".into()] }]);
}
