//! Dead jobs by their errors: ten thousand equal failures are one line.

use super::Subject;
use super::given::{HOUR, MINUTE, PLENTY, SECOND, Scene, a_job, completed, dead, failed, sorted, tenant};
use super::prune::for_ever;
use crate::error_group::ErrorGroup;
use crate::id::{JobId, TenantId};
use crate::ports::{Counted, DeadGroup, DeadGroups, JobFilter, Retention};
use crate::state::State;

async fn asked(scene: &Scene<'_>, limit: usize, enough: u64) -> DeadGroups {
    scene.store.dead_groups(&TenantId::default(), limit, enough).await.expect("the store answers")
}

async fn groups(scene: &Scene<'_>, limit: usize, enough: u64) -> Vec<DeadGroup> {
    asked(scene, limit, enough).await.groups
}

/// A job that dies of this.
async fn died(scene: &Scene<'_>, error: &str) -> JobId {
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, dead(error)).await;
    id
}

fn of(group: &ErrorGroup) -> JobFilter {
    JobFilter { error_group: Some(group.clone()), ..JobFilter::default() }
}

fn dead_of(group: &ErrorGroup) -> JobFilter {
    JobFilter { state: Some(State::Dead), ..of(group) }
}

async fn listed(scene: &Scene<'_>, filter: &JobFilter) -> Vec<JobId> {
    let (mut after, mut ids) = (None, Vec::new());
    loop {
        let page = scene.store.list(&TenantId::default(), filter, after.as_ref(), 2).await.expect("the store answers");
        ids.extend(page.items.iter().map(|summary| summary.id));
        after = page.next;
        if after.is_none() {
            return ids;
        }
    }
}

pub async fn a_store_without_dead_jobs_has_no_groups(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL.into_iter().filter(|state| *state != State::Dead) {
        scene.job_in(state, a_job()).await;
    }
    assert_eq!(asked(&scene, PLENTY, 100).await, DeadGroups { groups: Vec::new(), is_complete: true });
    assert!(asked(&scene, 0, 100).await.is_complete, "nothing is left out of nothing");
}

pub async fn errors_that_differ_in_numbers_are_one_group(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let first_at = scene.now().await;
    died(&scene, "connect to 10.0.0.1:8080: refused").await;
    scene.advance(MINUTE).await;
    died(&scene, "no such user").await;
    let other_at = scene.now().await;
    scene.advance(MINUTE).await;
    let sample = scene.submit(a_job().queued("mail").kind("welcome")).await;
    scene.run(session, sample, dead("connect to 10.0.0.2:9: refused")).await;
    let found = groups(&scene, PLENTY, 100).await;
    let default = a_job().build().work.queue.clone();
    assert_eq!(found.len(), 2);
    let counted = |count| Counted { count, is_estimate: false };
    let refused = DeadGroup {
        group: Some(ErrorGroup::of("connect to 1.1.1.1:1: refused")),
        counted: counted(2),
        first_at,
        last_at: scene.now().await,
        sample,
        error: Some("connect to 10.0.0.2:9: refused".into()),
        queue: super::given::queue("mail"),
        kind: Some("welcome".into()),
    };
    assert_eq!(found[0], refused);
    assert_eq!((&found[1].group, found[1].counted), (&Some(ErrorGroup::of("no such user")), counted(1)));
    assert_eq!((found[1].first_at, found[1].last_at, &found[1].queue), (other_at, other_at, &default));
}

pub async fn the_largest_group_comes_first_then_the_latest(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for (error, times) in [("one", 1), ("three", 3), ("two", 2), ("another", 1)] {
        for _ in 0..times {
            died(&scene, error).await;
            scene.advance(SECOND).await;
        }
    }
    let names = |found: &[DeadGroup]| found.iter().filter_map(|group| group.error.clone()).collect::<Vec<_>>();
    assert_eq!(names(&groups(&scene, PLENTY, 100).await), ["three", "two", "another", "one"]);
    assert_eq!(names(&groups(&scene, 2, 100).await), ["three", "two"], "no more than asked for");
    assert_eq!(groups(&scene, 0, 100).await, []);
}

pub async fn what_is_left_out_is_said(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for error in ["one", "two", "three"] {
        died(&scene, error).await;
    }
    for (limit, is_complete) in [(0, false), (2, false), (3, true), (4, true), (usize::MAX, true)] {
        let found = asked(&scene, limit, 1).await;
        assert_eq!((found.groups.len(), found.is_complete), (limit.min(3), is_complete), "at most {limit}");
    }
}

pub async fn a_group_is_counted_no_further_than_enough(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for n in 0..4 {
        died(&scene, &format!("boom {n}")).await;
        scene.advance(SECOND).await;
    }
    for (enough, count, is_estimate) in [(2, 2, true), (3, 3, true), (4, 4, false), (5, 4, false)] {
        let found = groups(&scene, PLENTY, enough).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].counted, Counted { count, is_estimate }, "{enough} are enough");
        assert_eq!(found[0].error.as_deref(), Some("boom 3"), "the sample is the last all the same");
        assert_eq!(found[0].last_at.since(found[0].first_at), SECOND * 3);
    }
}

pub async fn each_tenant_has_its_own_groups(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let theirs = scene.submit(a_job().of("acme")).await;
    scene.run(session, theirs, dead("boom")).await;
    died(&scene, "boom").await;
    died(&scene, "boom").await;
    let acme = scene.store.dead_groups(&tenant("acme"), PLENTY, 100).await.expect("the store answers").groups;
    assert_eq!(acme.iter().map(|group| (group.sample, group.counted.count)).collect::<Vec<_>>(), [(theirs, 1)]);
    assert_eq!(groups(&scene, PLENTY, 100).await[0].counted.count, 2);
    let group = ErrorGroup::of("boom");
    assert_eq!(scene.store.count(&tenant("acme"), &of(&group)).await.expect("the store answers"), 1);
}

pub async fn jobs_that_the_store_gave_up_are_grouped_too(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let worn_out = scene.submit(a_job().tries(1)).await;
    scene.crash(worn_out).await;
    let poison = scene.submit(a_job()).await;
    for _ in 0..3 {
        scene.crash(poison).await;
    }
    let mut found = groups(&scene, PLENTY, 100).await;
    found.sort_by_key(|group| group.sample);
    for (group, id) in found.iter().zip([worn_out, poison]) {
        let view = scene.view(id).await;
        assert_eq!((view.state, group.sample), (State::Dead, id));
        assert_eq!(group.error, view.error);
        assert_eq!(group.group, view.error.as_deref().map(ErrorGroup::of));
    }
    assert_eq!(found.len(), 2);
}

pub async fn lists_and_counts_can_ask_for_a_group(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut boom = Vec::new();
    for n in 0..5 {
        boom.push(died(&scene, &format!("boom {n}")).await);
        scene.advance(SECOND).await;
    }
    died(&scene, "bang").await;
    let failing = scene.submit(a_job()).await;
    scene.run(session, failing, failed("boom 77")).await;
    scene.job_in(State::Completed, a_job()).await;
    scene.job_in(State::Cancelled, a_job()).await;
    let group = ErrorGroup::of("boom 0");
    boom.reverse();
    assert_eq!(listed(&scene, &dead_of(&group)).await, boom, "the last to die first, page by page");
    assert_eq!(scene.count(&dead_of(&group)).await, 5);
    let mut all = vec![failing];
    all.extend(&boom);
    assert_eq!(listed(&scene, &of(&group)).await, all, "in whatever state, the newest first");
    assert_eq!(scene.count(&of(&group)).await, 6);
    let failed = JobFilter { state: Some(State::Failed), ..of(&group) };
    assert_eq!(listed(&scene, &failed).await, [failing]);
    for state in [State::Pending, State::Running, State::Scheduled, State::Retrying, State::Completed, State::Cancelled]
    {
        let filter = JobFilter { state: Some(state), ..of(&group) };
        assert_eq!((listed(&scene, &filter).await, scene.count(&filter).await), (Vec::new(), 0), "{state}");
    }
    assert_eq!(scene.count(&of(&ErrorGroup::of("never heard of"))).await, 0);
}

pub async fn a_group_combines_with_other_filters(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut wanted = None;
    for (name, kind, tag) in
        [("mail", "a", "blue"), ("mail", "a", "red"), ("mail", "b", "blue"), ("video", "a", "blue")]
    {
        let id = scene.submit(a_job().queued(name).kind(kind).tagged(tag).correlated(tag)).await;
        scene.run(session, id, dead("boom")).await;
        wanted = wanted.or(Some(id));
        scene.advance(SECOND).await;
    }
    let group = ErrorGroup::of("boom");
    for state in [None, Some(State::Dead)] {
        let filter = JobFilter {
            state,
            queue: Some(super::given::queue("mail")),
            kind: Some("a".into()),
            tag: Some("blue".into()),
            correlation_id: Some("blue".into()),
            created_before: Some(scene.now().await),
            ..of(&group)
        };
        assert_eq!(listed(&scene, &filter).await, Vec::from_iter(wanted), "{state:?}");
        let red = JobFilter { state, tag: Some("red".into()), ..of(&group) };
        assert_eq!(scene.count(&red).await, 1);
    }
}

/// What the dashboard does with one line.
pub async fn a_group_is_redriven_and_the_others_stay(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let mut boom = Vec::new();
    for n in 0..4 {
        boom.push(died(&scene, &format!("boom {n}")).await);
    }
    let bang = died(&scene, "bang").await;
    let ids = listed(&scene, &dead_of(&ErrorGroup::of("boom 1"))).await;
    assert_eq!(sorted(ids.clone()), sorted(boom.clone()));
    scene.store.redrive(&TenantId::default(), &ids).await.expect("the store answers");
    let found = groups(&scene, PLENTY, 100).await;
    assert_eq!(found.iter().map(|group| group.sample).collect::<Vec<_>>(), [bang], "the group is gone");
    assert_eq!(scene.count(&of(&ErrorGroup::of("boom 1"))).await, 0);
    scene.run(session, boom[0], dead("bang")).await;
    scene.run(session, boom[1], completed()).await;
    let found = groups(&scene, PLENTY, 100).await;
    assert_eq!((found.len(), found[0].counted.count), (1, 2), "one died of something else this time");
    assert_eq!(scene.count(&dead_of(&ErrorGroup::of("bang"))).await, 2);
}

pub async fn a_group_goes_with_its_last_job(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let removed = died(&scene, "boom 1").await;
    died(&scene, "boom 2").await;
    scene.remove(removed).await;
    assert_eq!(groups(&scene, PLENTY, 100).await[0].counted.count, 1);
    scene.advance(HOUR + SECOND).await;
    assert_eq!(scene.prune(&Retention { dead: Some(HOUR), ..for_ever() }, PLENTY).await.jobs, 1);
    assert_eq!(groups(&scene, PLENTY, 100).await, []);
}

pub async fn a_job_that_expired_is_in_a_group_of_failures(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job().expires(scene.now().await.plus(MINUTE))).await;
    scene.wait(HOUR).await;
    assert_eq!(listed(&scene, &of(&ErrorGroup::of("expired"))).await, [id]);
    assert_eq!(groups(&scene, PLENTY, 100).await, [], "nobody died");
}
