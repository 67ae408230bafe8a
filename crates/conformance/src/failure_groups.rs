//! Jobs that failed or died, by their errors: ten thousand equal failures are one line.

use super::Subject;
use super::given::{HOUR, MINUTE, PLENTY, SECOND, Scene, a_job, completed, dead, failed, sorted, tenant};
use super::prune::for_ever;
use foreman_core::error_group::ErrorGroup;
use foreman_core::id::{JobId, TenantId};
use foreman_core::ports::{Counted, FailureGroup, FailureGroups, JobFilter, Retention};
use foreman_core::state::State;

async fn asked(scene: &Scene<'_>, states: &[State], limit: usize, enough: u64) -> FailureGroups {
    scene.store.failure_groups(&TenantId::default(), states, limit, enough).await.expect("the store answers")
}

/// Of those that died.
async fn groups(scene: &Scene<'_>, limit: usize, enough: u64) -> Vec<FailureGroup> {
    asked(scene, &[State::Dead], limit, enough).await.groups
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

pub async fn a_store_without_failures_has_no_groups(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL.into_iter().filter(|state| !State::FAILURES.contains(state)) {
        scene.job_in(state, a_job()).await;
    }
    let none = FailureGroups { groups: Vec::new(), is_complete: true };
    assert_eq!(asked(&scene, &State::FAILURES, PLENTY, 100).await, none);
    assert!(asked(&scene, &State::FAILURES, 0, 100).await.is_complete, "nothing is left out of nothing");
    scene.job_in(State::Failed, a_job()).await;
    assert_eq!(asked(&scene, &[State::Dead], PLENTY, 100).await, none, "it failed, and is not dead");
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
    let refused = FailureGroup {
        state: State::Dead,
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
    let names = |found: &[FailureGroup]| found.iter().filter_map(|group| group.error.clone()).collect::<Vec<_>>();
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
        let found = asked(&scene, &[State::Dead], limit, 1).await;
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
    let acme = scene.store.failure_groups(&tenant("acme"), &[State::Dead], PLENTY, 100).await;
    let acme = acme.expect("the store answers").groups;
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
    let failed = asked(&scene, &[State::Failed], PLENTY, 100).await.groups;
    assert_eq!(
        failed.iter().map(|group| (group.sample, group.error.as_deref())).collect::<Vec<_>>(),
        [(id, Some("expired"))]
    );
}

/// The same error may end one job at once and another after its last attempt; what is to be done about them differs.
pub async fn failed_and_dead_jobs_are_grouped_apart(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let ended = async |error: &str, state: State| {
        let id = scene.submit(a_job()).await;
        scene.run(session, id, if state == State::Dead { dead(error) } else { failed(error) }).await;
        scene.advance(SECOND).await;
        id
    };
    for _ in 0..3 {
        ended("404 Not Found", State::Failed).await;
    }
    ended("boom 1", State::Dead).await;
    ended("boom 2", State::Dead).await;
    let boom = ended("boom 3", State::Failed).await;
    let told = |found: &FailureGroups| {
        let each = found.groups.iter().map(|group| (group.state, group.error.clone(), group.counted.count));
        each.collect::<Vec<_>>()
    };
    let not_found = (State::Failed, Some("404 Not Found".to_owned()), 3);
    let (dead, failed) = ((State::Dead, Some("boom 2".to_owned()), 2), (State::Failed, Some("boom 3".to_owned()), 1));
    let both = asked(&scene, &State::FAILURES, PLENTY, 100).await;
    assert_eq!(told(&both), [not_found.clone(), dead.clone(), failed.clone()], "the largest first, of whatever state");
    assert_eq!(both.groups[1].group, both.groups[2].group, "one error in two states");
    assert_eq!(told(&asked(&scene, &[State::Dead], PLENTY, 100).await), [dead]);
    assert_eq!(told(&asked(&scene, &[State::Failed], PLENTY, 100).await), [not_found, failed]);
    assert_eq!(asked(&scene, &[], PLENTY, 100).await, FailureGroups { groups: Vec::new(), is_complete: true });
    for (limit, is_complete) in [(0, false), (2, false), (3, true)] {
        let found = asked(&scene, &State::FAILURES, limit, 100).await;
        assert_eq!((found.groups.len(), found.is_complete), (limit, is_complete), "at most {limit}");
    }
    let group = ErrorGroup::of("boom 0");
    let failed_of = JobFilter { state: Some(State::Failed), ..of(&group) };
    assert_eq!(listed(&scene, &failed_of).await, [boom]);
    scene.store.redrive(&TenantId::default(), &[boom]).await.expect("the store answers");
    assert_eq!((scene.count(&failed_of).await, scene.count(&dead_of(&group)).await), (0, 2));
}

pub async fn deliveries_that_failed_are_in_no_group(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for verdict in [dead("boom"), failed("boom")] {
        let id = scene.submit(a_job().queued(foreman_core::webhook::QUEUE)).await;
        scene.run(session, id, verdict).await;
    }
    assert_eq!(
        asked(&scene, &State::FAILURES, PLENTY, 100).await,
        FailureGroups { groups: Vec::new(), is_complete: true }
    );
    let own = died(&scene, "boom").await;
    let found = asked(&scene, &State::FAILURES, PLENTY, 100).await.groups;
    assert_eq!(found.iter().map(|group| (group.sample, group.counted.count)).collect::<Vec<_>>(), [(own, 1)]);
    let group = ErrorGroup::of("boom");
    assert_eq!(listed(&scene, &of(&group)).await, [own]);
    let named = JobFilter { queue: Some(super::given::queue(foreman_core::webhook::QUEUE)), ..of(&group) };
    assert_eq!((scene.count(&of(&group)).await, scene.count(&named).await), (1, 2));
}
