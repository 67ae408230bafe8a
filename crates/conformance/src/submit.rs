//! Accepting jobs: durably, all or nothing, and only once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::value::RawValue;

use super::Subject;
use super::given::{DAY, HOUR, MINUTE, SECOND, Scene, a_job, at_once, completed, ids, jobs};
use foreman_core::job::Start;
use foreman_core::lane::Lane;
use foreman_core::ports::{JobFilter, Submitted};
use foreman_core::retry::Backoff;
use foreman_core::secret_map::SecretMap;
use foreman_core::state::State;
use foreman_core::target::{Body, HttpTarget, Target};

pub async fn an_accepted_job_reads_back_as_it_was_asked(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let expires_at = scene.now().await.plus(DAY);
    // Larger than any number, with odd spacing: what a store may not rewrite.
    let payload = r#"{ "b" : 1.0,"a":123456789012345678901234567890, "e":1e400, "t":"ä\u0000\"'; --" }"#;
    let asked = a_job()
        .of("acme")
        .queued("mail.high-1")
        .lane(Lane::High)
        .tries(7)
        .kind("mail")
        .tagged("a")
        .tagged("it's")
        .correlated("order-1")
        .expires(expires_at)
        .target(Target::Http(HttpTarget {
            url: "https://example.com/hook?x=1&y=%20".parse().expect("a valid URL"),
            method: "PUT".into(),
            headers: BTreeMap::from([("x-one".to_owned(), "1".to_owned()), ("x-two".to_owned(), "zwei".to_owned())])
                .into(),
            body: Body::Json(RawValue::from_string(payload.into()).expect("valid JSON")),
        }))
        .work(|work| {
            work.backoff = Backoff { base: Duration::from_millis(1), factor: 1.5, cap: HOUR };
            work.timeout = Duration::from_millis(1_234);
            work.callback_url = Some("https://example.com/done".into());
            work.idempotency_key = Some("key".into());
        })
        .build();
    scene.submit_all(std::slice::from_ref(&asked)).await;
    let found = scene.store.get(&asked.tenant, asked.id).await.expect("the store answers");
    let job = found.expect("an accepted job is there").job;
    assert_eq!((job.id, &job.tenant), (asked.id, &asked.tenant));
    let text = |work: &foreman_core::job::Work| serde_json::to_string(work).expect("plain data");
    assert_eq!(text(&job.work), text(&asked.work));
    let Target::Http(http) = &job.work.target else { panic!("another target: {:?}", job.work.target) };
    assert_eq!(http.body.as_str(), payload, "the payload is kept to the letter");
}

pub async fn a_large_body_survives(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let text = "ü'\0\n\u{1F600}".repeat(20_000);
    let asked = a_job()
        .target(Target::Http(HttpTarget {
            url: "http://example.com/".parse().expect("a valid URL"),
            method: "POST".into(),
            headers: SecretMap::default(),
            body: Body::Text(text.clone()),
        }))
        .build();
    scene.submit_all(std::slice::from_ref(&asked)).await;
    let Target::Http(http) = scene.view(asked.id).await.job.work.target.clone() else { panic!("another target") };
    assert!(http.body.as_str() == text, "a text of {} bytes comes back unchanged", text.len());
}

pub async fn a_job_without_a_time_is_pending_at_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let before = scene.now().await;
    let id = scene.submit(a_job()).await;
    let view = scene.view(id).await;
    assert_eq!((view.state, view.attempt, view.spent, view.crashes), (State::Pending, 0, 0, 0));
    assert!(view.job.created_at >= before && view.run_at >= before);
    assert_eq!((view.started_at, view.finished_at, view.error), (None, None, None));
    assert!(view.attempts.records.is_empty());
}

pub async fn a_job_for_later_is_scheduled(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let time = scene.now().await.plus(HOUR);
    let at = scene.submit(a_job().at(time)).await;
    let view = scene.view(at).await;
    assert_eq!((view.state, view.run_at), (State::Scheduled, time));
}

pub async fn a_delay_counts_from_acceptance(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asked = a_job().after(HOUR).build();
    scene.advance(DAY).await;
    scene.submit_all(std::slice::from_ref(&asked)).await;
    let view = scene.view(asked.id).await;
    assert_eq!((view.state, view.run_at), (State::Scheduled, view.job.created_at.plus(HOUR)));
}

pub async fn a_time_in_the_past_means_now(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let past = scene.now().await.minus(DAY);
    let id = scene.submit(a_job().at(past)).await;
    let view = scene.view(id).await;
    assert_eq!(view.state, State::Pending);
    assert!(view.run_at > past, "it waits from now on, not since yesterday");
    let session = scene.session().await;
    assert_eq!(ids(&scene.claim(session, 1).await), [id]);
}

pub async fn a_thousand_jobs_are_accepted_in_one_call(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let batch = jobs(1_000, &a_job());
    scene.submit_all(&batch).await;
    assert_eq!(scene.count(&JobFilter::default()).await, 1_000);
    assert_eq!(scene.census().await.ready, 1_000);
}

pub async fn an_empty_batch_is_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let head = scene.head().await;
    assert_eq!(scene.answers(&[]).await, []);
    assert_eq!(scene.head().await, head);
}

pub async fn answers_come_in_the_order_given(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let first = a_job().keyed("k", 1).build();
    scene.submit_all(std::slice::from_ref(&first)).await;
    let batch = [
        a_job().build(),
        a_job().keyed("k", 2).build(),
        a_job().build(),
        a_job().keyed("k", 1).build(),
        a_job().keyed("other", 1).build(),
    ];
    let answers = scene.answers(&batch).await;
    let accepted: Vec<bool> = answers.iter().map(Submitted::is_accepted).collect();
    assert_eq!(accepted, [true, false, true, false, true]);
    assert_eq!([answers[1], answers[3]], [Submitted::KeyReused(first.id), Submitted::Duplicate(first.id)]);
    assert_eq!(scene.count(&JobFilter::default()).await, 4);
}

pub async fn the_answer_tells_the_jobs_own_time_also_when_it_is_sent_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asked = [a_job().build()];
    let first = scene.answers(&asked).await;
    let created_at = scene.view(asked[0].id).await.job.created_at;
    assert_eq!(first, [Submitted::Accepted(created_at)]);
    subject.advance(SECOND).await;
    assert_eq!(scene.answers(&asked).await, first);
}

pub async fn the_same_jobs_sent_again_change_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let batch = [a_job().build(), a_job().after(HOUR).build()];
    scene.submit_all(&batch).await;
    let (head, run_at) = (scene.head().await, scene.view(batch[1].id).await.run_at);
    scene.advance(MINUTE).await;
    scene.submit_all(&batch).await;
    assert_eq!(scene.census().await.jobs, 2);
    assert_eq!(scene.head().await, head, "nothing moved");
    assert_eq!(scene.view(batch[1].id).await.run_at, run_at, "the delay counts from the first acceptance");
}

pub async fn a_batch_sent_again_with_one_more_adds_just_that_one(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let mut batch = jobs(2, &a_job());
    scene.submit_all(&batch).await;
    batch.insert(1, a_job().build());
    scene.submit_all(&batch).await;
    assert_eq!(scene.census().await.jobs, 3);
}

pub async fn a_finished_job_sent_again_is_not_revived(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asked = a_job().build();
    scene.submit_all(std::slice::from_ref(&asked)).await;
    let session = scene.session().await;
    scene.run(session, asked.id, completed()).await;
    scene.submit_all(std::slice::from_ref(&asked)).await;
    assert_eq!(scene.state(asked.id).await, State::Completed);
    assert!(scene.claim(session, 1).await.is_empty(), "it does not run a second time");
}

pub async fn a_running_job_sent_again_stays_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asked = a_job().build();
    scene.submit_all(std::slice::from_ref(&asked)).await;
    let session = scene.session().await;
    let proof = scene.claim_job(session, asked.id).await;
    scene.submit_all(std::slice::from_ref(&asked)).await;
    assert!(scene.claim(session, 1).await.is_empty(), "it is held, not waiting");
    scene.end_attempt(proof, completed()).await;
}

pub async fn submissions_at_once_are_all_kept(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let batches: Vec<_> = (0..30).map(|_| jobs(20, &a_job())).collect();
    let answers = at_once(batches.iter().cloned().map(|batch| {
        let store = subject.store();
        async move { store.submit(&batch).await.expect("the store answers") }
    }))
    .await;
    assert!(answers.iter().flatten().all(Submitted::is_accepted));
    for job in batches.iter().flatten() {
        assert_eq!(scene.state(job.id).await, State::Pending);
    }
    assert_eq!(scene.census().await.jobs, 600);
}

pub async fn one_job_sent_by_many_at_once_is_there_once(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let asked = a_job().build();
    assert_eq!(asked.start, Start::Now);
    let answers = at_once((0..16).map(|_| {
        let (store, job) = (subject.store(), asked.clone());
        async move { store.submit(&[job]).await.expect("the store answers") }
    }))
    .await;
    assert!(answers.iter().flatten().all(Submitted::is_accepted), "{answers:?}");
    assert_eq!(scene.census().await.jobs, 1);
    let session = scene.session().await;
    assert_eq!(scene.claim(session, 10).await.len(), 1);
}
