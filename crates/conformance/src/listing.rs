//! Finding jobs: filters, order and pages.

use std::collections::{BTreeMap, BTreeSet};

use super::Subject;
use super::given::{HOUR, SECOND, Scene, a_job, completed, ids, jobs, queue, sorted};
use foreman_core::id::{JobId, TenantId};
use foreman_core::outcome::{CommandReport, Report, Verdict};
use foreman_core::outline::Outline;
use foreman_core::ports::{Cursor, JobFilter, JobSummary, Page};
use foreman_core::secret_map::SecretMap;
use foreman_core::state::State;
use foreman_core::target::{Body, CommandTarget, ExitCodes, HttpTarget, Program, Target};

async fn page(scene: &Scene<'_>, filter: &JobFilter, after: Option<&Cursor>, limit: usize) -> Page<JobSummary> {
    scene.store.list(&TenantId::default(), filter, after, limit).await.expect("the store answers")
}

/// Every page in turn.
async fn walk(scene: &Scene<'_>, filter: &JobFilter, limit: usize) -> Vec<JobId> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = page(scene, filter, after.as_ref(), limit).await;
        assert!(page.items.len() <= limit, "a page is no longer than asked");
        found.extend(page.items.iter().map(|summary| summary.id));
        match page.next {
            Some(next) => {
                assert_eq!(page.items.len(), limit, "only the last page may be short");
                after = Some(next);
            }
            None => return found,
        }
    }
}

/// What a filter finds, by list and by count.
async fn found(scene: &Scene<'_>, filter: JobFilter) -> Vec<JobId> {
    let found = walk(scene, &filter, 7).await;
    assert_eq!(scene.count(&filter).await, found.len() as u64, "{filter:?}");
    sorted(found)
}

pub async fn an_empty_store_lists_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let page = page(&scene, &JobFilter::default(), None, 10).await;
    assert!(page.items.is_empty() && page.next.is_none());
}

pub async fn jobs_are_listed_newest_first(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut came = Vec::new();
    for _ in 0..5 {
        came.push(scene.submit(a_job()).await);
        scene.advance(SECOND).await;
    }
    came.reverse();
    assert_eq!(walk(&scene, &JobFilter::default(), 10).await, came);
    assert_eq!(walk(&scene, &JobFilter::default(), 2).await, came);
}

pub async fn a_listed_job_says_where_it_stands(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for state in State::ALL {
        scene.job_in(state, a_job()).await;
    }
    for listed in page(&scene, &JobFilter::default(), None, 20).await.items {
        let one = scene.view(listed.id).await;
        assert_eq!(listed.state, one.state);
        assert_eq!((listed.attempt, listed.spent, listed.crashes), (one.attempt, one.spent, one.crashes));
        assert_eq!(
            (listed.run_at, listed.started_at, listed.finished_at),
            (one.run_at, one.started_at, one.finished_at)
        );
        assert_eq!(listed.error, one.error);
        assert_eq!(listed, one.into(), "and what was asked");
    }
}

/// Small and large work, in every state: what a list shows is the outline of what was asked.
pub async fn a_list_leaves_out_what_may_be_large(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (session, long) = (scene.session().await, "x".repeat(40_000));
    let asked = |body: &str| {
        let url = "http://127.0.0.1/".parse().expect("a URL");
        let headers = SecretMap::from(BTreeMap::from([("x-a".to_owned(), body.to_owned())]));
        let http = HttpTarget { url, method: "PUT".into(), headers, body: Body::Text(body.into()) };
        a_job().target(Target::Http(http)).kind("mail").tagged("blue").correlated("order-1")
    };
    for body in ["hush", &long] {
        for state in State::ALL {
            scene.job_in(state, asked(body)).await;
        }
    }
    let command = |program| {
        let command = CommandTarget {
            program,
            env: SecretMap::default(),
            cwd: None,
            input: Body::None,
            exit_codes: ExitCodes::default(),
        };
        a_job().target(Target::Command(command))
    };
    scene.submit(command(Program::Shell(long.clone()))).await;
    scene.submit(command(Program::Argv(vec!["word".into(); 10_000]))).await;
    let ended = scene.submit(asked("hush")).await;
    let output = CommandReport { stdout: long.clone(), ..CommandReport::default() };
    let report = Report { error: Some("\u{1}".repeat(9_000)), output: Some(output), ..Report::default() };
    scene.run(session, ended, Verdict::Failed(report)).await;
    let listed = page(&scene, &JobFilter::default(), None, 100).await.items;
    assert_eq!(listed.len(), 2 * State::ALL.len() + 3);
    for summary in listed {
        let one = scene.view(summary.id).await;
        assert_eq!(summary.outline, Outline::from(one.job.work.as_ref()));
        assert_eq!(summary, one.into());
        let shown = format!("{summary:?}");
        assert!(!shown.contains("hush") && shown.len() < 12_000, "{} characters", shown.len());
    }
}

pub async fn every_state_can_be_asked_for(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut all = Vec::new();
    for state in State::ALL {
        all.push((state, scene.job_in(state, a_job()).await, scene.job_in(state, a_job()).await));
    }
    for (state, one, two) in all {
        let filter = JobFilter { state: Some(state), ..JobFilter::default() };
        assert_eq!(found(&scene, filter).await, sorted([one, two]), "{state}");
    }
}

pub async fn each_filter_finds_its_own(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let plain = scene.submit(a_job()).await;
    let mail = scene.submit(a_job().queued("mail")).await;
    let report = scene.submit(a_job().kind("report")).await;
    let tagged = scene.submit(a_job().tagged("blue").tagged("green")).await;
    let correlated = scene.submit(a_job().correlated("order-1")).await;
    let none = JobFilter::default;
    assert_eq!(found(&scene, none()).await, sorted([plain, mail, report, tagged, correlated]));
    assert_eq!(found(&scene, JobFilter { queue: Some(queue("mail")), ..none() }).await, [mail]);
    assert_eq!(found(&scene, JobFilter { kind: Some("report".into()), ..none() }).await, [report]);
    assert_eq!(found(&scene, JobFilter { tag: Some("green".into()), ..none() }).await, [tagged]);
    assert_eq!(found(&scene, JobFilter { tag: Some("gre".into()), ..none() }).await, [], "a tag is whole");
    assert_eq!(found(&scene, JobFilter { correlation_id: Some("order-1".into()), ..none() }).await, [correlated]);
    assert_eq!(found(&scene, JobFilter { kind: Some("%".into()), ..none() }).await, []);
    assert_eq!(found(&scene, JobFilter { queue: Some(queue("nobody")), ..none() }).await, []);
}

pub async fn the_time_of_creation_can_be_bounded(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.submit(a_job()).await;
    scene.advance(HOUR).await;
    let one = scene.now().await;
    scene.advance(HOUR).await;
    let second = scene.submit(a_job()).await;
    scene.advance(HOUR).await;
    let two = scene.now().await;
    scene.advance(HOUR).await;
    let third = scene.submit(a_job()).await;
    let none = JobFilter::default;
    assert_eq!(found(&scene, JobFilter { created_before: Some(one), ..none() }).await, [first]);
    assert_eq!(found(&scene, JobFilter { created_after: Some(one), ..none() }).await, sorted([second, third]));
    let between = JobFilter { created_after: Some(one), created_before: Some(two), ..none() };
    assert_eq!(found(&scene, between).await, [second]);
}

pub async fn filters_combine(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let wanted = || a_job().queued("mail").kind("welcome").tagged("vip").correlated("order-1");
    let id = scene.job_in(State::Failed, wanted()).await;
    for near_miss in [
        a_job().queued("other").kind("welcome").tagged("vip").correlated("order-1"),
        a_job().queued("mail").kind("farewell").tagged("vip").correlated("order-1"),
        a_job().queued("mail").kind("welcome").tagged("common").correlated("order-1"),
        a_job().queued("mail").kind("welcome").tagged("vip").correlated("order-2"),
    ] {
        scene.job_in(State::Failed, near_miss).await;
    }
    for state in [State::Scheduled, State::Running, State::Completed, State::Retrying, State::Pending] {
        scene.job_in(state, wanted()).await;
    }
    let now = scene.now().await;
    let filter = JobFilter {
        state: Some(State::Failed),
        queue: Some(queue("mail")),
        kind: Some("welcome".into()),
        tag: Some("vip".into()),
        correlation_id: Some("order-1".into()),
        error_group: None,
        created_after: Some(now.minus(HOUR)),
        created_before: Some(now.plus(HOUR)),
    };
    assert_eq!(found(&scene, filter.clone()).await, [id]);
    assert_eq!(found(&scene, JobFilter { created_before: Some(now.minus(HOUR)), ..filter.clone() }).await, []);
    for state in [State::Running, State::Pending, State::Completed] {
        assert_eq!(found(&scene, JobFilter { state: Some(state), ..filter.clone() }).await.len(), 1, "{state}");
    }
}

pub async fn a_final_state_is_listed_by_when_it_was_reached(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(4, &a_job())).await;
    for place in [2, 0, 3, 1] {
        scene.run(session, came[place], completed()).await;
        scene.advance(SECOND).await;
    }
    let filter = JobFilter { state: Some(State::Completed), ..JobFilter::default() };
    let expected = [came[1], came[3], came[0], came[2]];
    assert_eq!(walk(&scene, &filter, 10).await, expected, "the latest end first");
    assert_eq!(walk(&scene, &filter, 1).await, expected);
    assert_eq!(walk(&scene, &filter, 3).await, expected);
}

pub async fn jobs_that_ended_in_one_moment_are_paged_without_loss(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(9, &a_job())).await;
    let batch: Vec<_> = scene.claim(session, 9).await.into_iter().map(|held| held.settle(completed())).collect();
    scene.settle_all(session, &batch).await;
    let filter = JobFilter { state: Some(State::Completed), ..JobFilter::default() };
    assert_eq!(sorted(walk(&scene, &filter, 2).await), sorted(came));
}

pub async fn a_page_as_long_as_the_list_is_the_last(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(6, &a_job())).await;
    assert!(page(&scene, &JobFilter::default(), None, 6).await.next.is_none());
    assert!(page(&scene, &JobFilter::default(), None, 5).await.next.is_some());
}

pub async fn a_cursor_survives_its_text(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    scene.submit_all(&jobs(4, &a_job())).await;
    for state in [None, Some(State::Pending)] {
        let filter = JobFilter { state, ..JobFilter::default() };
        let first = page(&scene, &filter, None, 2).await;
        let next = first.next.expect("there is more");
        let read = Cursor::decode(&next.encode()).expect("a cursor");
        let second = page(&scene, &filter, Some(&read), 2).await;
        assert_eq!(second.items.len(), 2);
        let seen: BTreeSet<_> = first.items.iter().chain(&second.items).map(|summary| summary.id).collect();
        assert_eq!(seen.len(), 4);
    }
}

pub async fn walking_the_pages_while_jobs_come_in_finds_each_old_one_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let old: BTreeSet<JobId> = scene.submit_all(&jobs(23, &a_job())).await.into_iter().collect();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = page(&scene, &JobFilter::default(), after.as_ref(), 5).await;
        found.extend(page.items.iter().map(|summary| summary.id));
        scene.submit_all(&jobs(3, &a_job())).await;
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(found.len(), found.iter().collect::<BTreeSet<_>>().len(), "none twice");
    assert_eq!(found.into_iter().filter(|id| old.contains(id)).count(), old.len(), "none missed");
}

pub async fn walking_the_pages_while_jobs_end_finds_each_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let old = scene.submit_all(&jobs(20, &a_job())).await;
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = page(&scene, &JobFilter::default(), after.as_ref(), 6).await;
        found.extend(page.items.iter().map(|summary| summary.id));
        let held = scene.claim(session, 3).await;
        assert!(ids(&held).iter().all(|id| old.contains(id)));
        for held in held {
            scene.complete(session, held).await;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(sorted(found), sorted(old));
}

pub async fn the_store_answers_a_ping(subject: &dyn Subject) {
    Scene::of(subject).store.ping().await.expect("the store answers");
}

pub async fn a_job_nobody_submitted_is_not_there(subject: &dyn Subject) {
    assert!(Scene::of(subject).find(JobId::fresh()).await.is_none());
}

/// Foreman's own jobs: nobody who retries all completed jobs means the messages that were sent about them.
pub async fn deliveries_are_listed_only_where_their_queue_is_named(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (mut own, mut deliveries) = (Vec::new(), Vec::new());
    let asked = || a_job().kind("k").correlated("order-1");
    for state in State::ALL {
        own.push((state, scene.job_in(state, asked()).await));
        deliveries.push((state, scene.job_in(state, asked().queued(foreman_core::webhook::QUEUE)).await));
    }
    let none = JobFilter::default;
    let all_of = |jobs: &[(State, JobId)]| sorted(jobs.iter().map(|(_, id)| *id));
    assert_eq!(found(&scene, none()).await, all_of(&own));
    assert_eq!(found(&scene, JobFilter { kind: Some("k".into()), ..none() }).await, all_of(&own));
    assert_eq!(found(&scene, JobFilter { correlation_id: Some("order-1".into()), ..none() }).await, all_of(&own));
    assert_eq!(
        found(&scene, JobFilter { created_before: Some(scene.now().await.plus(HOUR)), ..none() }).await,
        all_of(&own)
    );
    let named = || JobFilter { queue: Some(queue(foreman_core::webhook::QUEUE)), ..none() };
    assert_eq!(found(&scene, named()).await, all_of(&deliveries));
    for (jobs, filter) in [(&own, none()), (&deliveries, named())] {
        for (state, id) in jobs {
            assert_eq!(found(&scene, JobFilter { state: Some(*state), ..filter.clone() }).await, [*id], "{state}");
        }
    }
}
