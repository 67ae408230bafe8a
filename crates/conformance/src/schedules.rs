//! Schedules are made once, read by name and by id, and listed by name, each tenant's apart.

use std::sync::Arc;

use super::Subject;
use super::given::{MINUTE, SECOND, Scene, at_once, tenant};
use super::timetable::{every_minute, named, nominals};
use foreman_core::id::{ScheduleId, TenantId};
use foreman_core::ports::{CreateAnswer, DeleteAnswer, EditAnswer, ScheduleView, SeenSchedule};
use foreman_core::schedule::{NewSchedule, Schedule, ScheduleKey, ScheduleName, ScheduleSpec};

fn names(views: &[ScheduleView]) -> Vec<String> {
    views.iter().map(|view| view.schedule.name.to_string()).collect()
}

async fn listed(scene: &Scene<'_>, of: &str) -> Vec<String> {
    names(&scene.store.schedules(&tenant(of), None, 100).await.expect("the store answers"))
}

pub async fn a_schedule_reads_back_as_it_was_made(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let json = r#"{"name":"daily-9","cron":"0 9 * * MON-FRI","timezone":"Europe/Berlin","missed":"all","missed_max":7,
        "overlap":"queue","dst_gap":"skip","dst_overlap":"both","jitter":"30s","start_at":"2026-01-02T03:04:05.678901Z",
        "end_at":"2027-01-01T00:00:00Z","job":{"url":"http://127.0.0.1:9/hook","headers":{"X-A":"b"},"queue":"mail",
        "payload":{"big": 123456789012345678901234567890, "text": "ünï\u0000 'quoted'"}}}"#;
    let spec: ScheduleSpec = serde_json::from_str(json).expect("a schedule's shape");
    let built = every_minute("daily-9").queued("mail").build(scene.now().await);
    let schedule = Schedule { spec: Arc::new(spec), ..built.schedule };
    let new = NewSchedule { schedule, ..built };
    let made = scene.create(&new).await;
    let CreateAnswer::Created(made) = made else { panic!("{made:?}") };
    let by_id = scene.find_schedule(new.schedule.id).await.expect("it is there");
    let by_name = scene.store.schedule(&TenantId::default(), &named("daily-9")).await.expect("the store answers");
    for view in [made, by_id, by_name.expect("it is there")] {
        let ScheduleView { schedule, seen, is_paused, created_at, edited_at, last_tick } = view;
        assert_eq!(format!("{schedule:?}"), format!("{:?}", new.schedule), "to the letter");
        let text = |spec: &ScheduleSpec| serde_json::to_string(spec).expect("plain data");
        assert_eq!(text(&schedule.spec), text(&new.schedule.spec));
        assert_eq!(seen, SeenSchedule { version: 1, next: new.next, held: None });
        assert_eq!((is_paused, created_at, edited_at), (false, scene.now().await, scene.now().await));
        assert_eq!(last_tick, None);
    }
}

pub async fn a_paused_schedule_is_made_without_a_next_tick(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let paused = scene.plant(every_minute("paused").paused()).await;
    assert!(paused.is_paused && paused.seen.next.is_none() && !paused.is_finished());
    let finished = scene.plant(every_minute("finished").finished()).await;
    assert!(!finished.is_paused && scene.again(&finished).await.is_finished());
}

pub async fn a_schedule_sent_again_is_made_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let new = every_minute("one").build(scene.now().await);
    scene.create(&new).await;
    scene.advance(SECOND).await;
    let again = scene.create(&new).await;
    let CreateAnswer::Created(view) = again else { panic!("{again:?}") };
    assert_eq!((view.schedule.id, view.seen.version), (new.schedule.id, 1));
    assert_eq!(view.edited_at, new.schedule.created_at, "the second sending changed nothing");
    scene.edited(&super::timetable::edit(&view, None)).await;
    let late = scene.create(&new).await;
    let CreateAnswer::Created(view) = late else { panic!("{late:?}") };
    assert_eq!((view.seen.version, view.seen.next), (2, None), "what was changed since stays changed");
    assert_eq!(listed(&scene, "default").await, ["one"]);
}

pub async fn a_name_is_taken_once_for_each_tenant(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = scene.plant(every_minute("daily")).await;
    let answer = scene.create(&every_minute("daily").build(scene.now().await)).await;
    let CreateAnswer::NameTaken(owner) = answer else { panic!("{answer:?}") };
    assert_eq!(owner, first.schedule.id);
    let other = scene.plant(every_minute("daily").of("other")).await;
    assert_ne!(other.schedule.id, first.schedule.id);
    scene.plant(every_minute("Daily")).await;
    assert_eq!(listed(&scene, "default").await, ["Daily", "daily"], "names differ by their letters' case");
}

pub async fn of_many_made_with_one_name_at_once_one_is_made(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let now = scene.now().await;
    let answers = at_once((0..8).map(|_| {
        let (store, new) = (subject.store(), every_minute("wanted").build(now));
        async move { (new.schedule.id, store.create_schedule(&new).await.expect("the store answers")) }
    }))
    .await;
    let made: Vec<ScheduleId> =
        answers.iter().filter(|(_, answer)| matches!(answer, CreateAnswer::Created(_))).map(|(id, _)| *id).collect();
    assert_eq!(made.len(), 1, "{answers:?}");
    for (_, answer) in answers {
        assert!(!matches!(answer, CreateAnswer::NameTaken(owner) if owner != made[0]), "{answer:?}");
    }
}

pub async fn one_sent_twice_at_once_is_made_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let new = every_minute("wanted").build(scene.now().await);
    let answers = at_once((0..4).map(|_| {
        let (store, new) = (subject.store(), new.clone());
        async move { store.create_schedule(&new).await.expect("the store answers") }
    }))
    .await;
    assert!(answers.iter().all(|answer| matches!(answer, CreateAnswer::Created(_))), "{answers:?}");
    assert_eq!(listed(&scene, "default").await, ["wanted"]);
}

pub async fn another_tenants_schedule_is_not_there(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let theirs = scene.plant(every_minute("secret").of("theirs")).await;
    assert!(scene.find_schedule(theirs.schedule.id).await.is_none());
    let by_name = scene.store.schedule(&TenantId::default(), &named("secret")).await.expect("the store answers");
    assert!(by_name.is_none());
    assert_eq!(listed(&scene, "default").await, [""; 0]);
    let answer = scene.edit(&super::timetable::edit(&theirs, None)).await;
    assert!(matches!(answer, EditAnswer::Gone), "{answer:?}");
    let deleted = scene.store.delete_schedule(&TenantId::default(), theirs.schedule.id, theirs.seen).await;
    assert_eq!(deleted.expect("the store answers"), DeleteAnswer::Gone);
    assert_eq!(scene.again(&theirs).await.seen, theirs.seen, "it is as it was");
}

pub async fn a_schedule_nobody_made_is_not_there(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    assert!(scene.find_schedule(ScheduleId::fresh()).await.is_none());
    let key: ScheduleKey = "nobody".parse().expect("a name");
    assert!(scene.store.schedule(&TenantId::default(), &key).await.expect("the store answers").is_none());
    assert_eq!(listed(&scene, "default").await, [""; 0]);
}

pub async fn schedules_are_listed_by_name_page_by_page(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    // In the order of their bytes, whatever the collation of a database says.
    let sorted = ["9-lives", "Zoo", "a-b", "a.b", "aB", "a_b", "aa", "ab"];
    for name in ["a_b", "Zoo", "ab", "9-lives", "a.b", "aa", "aB", "a-b"] {
        scene.plant(every_minute(name)).await;
        scene.plant(every_minute(name).of("other")).await;
    }
    assert_eq!(listed(&scene, "default").await, sorted);
    for limit in [1, 3, 8] {
        let (mut after, mut seen) = (None::<ScheduleName>, Vec::new());
        loop {
            let page = scene.store.schedules(&TenantId::default(), after.as_ref(), limit).await;
            let page = page.expect("the store answers");
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.schedule.name.clone());
            seen.extend(names(&page));
        }
        assert_eq!(seen, sorted, "in pages of {limit}");
    }
    let between = ScheduleName::from_stored("a.c");
    let page = scene.store.schedules(&TenantId::default(), Some(&between), 2).await.expect("the store answers");
    assert_eq!(names(&page), ["aB", "a_b"], "after a name that is not there");
}

pub async fn a_schedule_shows_its_latest_tick(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("busy")).await;
    scene.plant(every_minute("idle")).await;
    scene.fire_next(&view).await;
    let jobs = scene.fire_next(&view).await;
    let latest = scene.again(&view).await.last_tick.expect("it has fired");
    assert_eq!((latest.nominal, latest.job.expect("it made a job").0), (scene.now().await, jobs[0]));
    let list = scene.store.schedules(&TenantId::default(), None, 10).await.expect("the store answers");
    let shown: Vec<_> = list.iter().map(|view| view.last_tick.clone()).collect();
    assert_eq!(shown, [scene.again(&view).await.last_tick, None]);
    assert_eq!(nominals(&scene.ticks(&view).await), [latest.nominal, latest.nominal.minus(MINUTE)]);
}
