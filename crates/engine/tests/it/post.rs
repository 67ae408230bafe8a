//! Endpoints, endings, and what was made of them: for the tests of the courier.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::job::QueueName;
use foreman_core::lane::LanePlan;
use foreman_core::outcome::HttpReport;
use foreman_core::ports::{
    Begin, ClaimAnswer, ClaimRequest, Company, CreateWebhookAnswer, Delivery, FollowerName, Followers, Held, JobFilter,
    JobQuery, JobStore, JobView, NewWebhook, Position, Queues, Tenancy, WantedJobs, WebhookStore,
};
use foreman_core::signing::SigningKeys;
use foreman_core::target::{Addressee, Route, WebhookTarget};
use foreman_core::webhook::{Event, Events, Message, QUEUE, Webhook, WebhookSettings};
use foreman_core::{ClaimToken, JobId, Report, Target, TenantId, Verdict, WebhookId};
use foreman_engine::courier::Config;
use foreman_engine::{Courier, Follower, LoopError};
use foreman_runtime::Task;

use crate::scene::{Scene, job_with};

pub fn us() -> TenantId {
    TenantId::default()
}

/// So long that whatever happens before it, a wake-up caused.
pub fn patient() -> Config {
    Config { poll: Duration::from_hours(1), ..Config::default() }
}

/// Everything as small as can be, so that every seam is crossed.
pub fn narrow() -> Config {
    Config { step: 3, slice: 5, loads: 2, most_deliveries: 7, most_bytes: 8 * 1024, ..Config::default() }
}

pub fn courier(scene: &Scene, config: Config) -> Follower<Courier> {
    let tenancy: Arc<dyn Tenancy> = Arc::new(scene.store.clone());
    Follower::new(Courier::new(scene.store(), tenancy, config), scene.store(), scene.wakeups())
}

/// The courier's position in the log: the end, if it had none.
pub async fn appointed(scene: &Scene) -> Position {
    scene.store.inner.follow(None, &FollowerName::COURIER, Begin::End).await.unwrap().unwrap()
}

/// A courier that has taken its place in the log: what ends from now on is told.
pub async fn start(scene: &Scene, config: Config) -> Task<Result<(), LoopError>> {
    appointed(scene).await;
    scene.tasks.spawn("courier", courier(scene, config).run(scene.stop.shutdown()))
}

pub async fn endpoint(scene: &Scene, events: &[&str]) -> WebhookId {
    endpoint_of(scene, us(), events).await.id
}

/// One that can be read though its tenant's webhooks are spoilt.
pub async fn readable_endpoint(scene: &Scene, events: &[&str]) -> WebhookId {
    described(scene, us(), events, "readable").await.id
}

pub async fn endpoint_of(scene: &Scene, tenant: TenantId, events: &[&str]) -> Webhook {
    described(scene, tenant, events, "").await
}

async fn described(scene: &Scene, tenant: TenantId, events: &[&str], description: &str) -> Webhook {
    let settings = WebhookSettings {
        url: "https://hooks.example/in".parse().unwrap(),
        events: Events::parse(events.iter().copied()).unwrap(),
        description: description.into(),
        disabled: None,
    };
    let new = NewWebhook { id: WebhookId::fresh(), tenant, settings, signing: SigningKeys::default(), at_most: 50 };
    match scene.store.inner.create_webhook(&new).await.unwrap() {
        CreateWebhookAnswer::Created(webhook) => webhook,
        CreateWebhookAnswer::TooMany => panic!("too many"),
    }
}

pub async fn webhook(scene: &Scene, id: WebhookId) -> Webhook {
    scene.store.inner.webhook(&us(), id).await.unwrap().unwrap()
}

/// The oldest first.
pub async fn deliveries(scene: &Scene, id: WebhookId) -> Vec<Delivery> {
    let mut all = scene.store.inner.deliveries(&us(), id, None, 100_000).await.unwrap();
    all.reverse();
    all
}

pub async fn events(scene: &Scene, id: WebhookId) -> Vec<Event> {
    deliveries(scene, id).await.iter().map(|delivery| delivery.event).collect()
}

/// All jobs of the courier, told or not.
pub async fn letters(scene: &Scene) -> Vec<JobView> {
    let filter = JobFilter { queue: Some(QUEUE.parse().unwrap()), ..JobFilter::default() };
    let listed = scene.store.inner.list(&us(), &filter, None, 100_000).await.unwrap().items;
    let mut letters = Vec::new();
    for summary in listed {
        letters.extend(scene.store.inner.get(&us(), summary.id).await.unwrap());
    }
    letters
}

pub fn target(view: &JobView) -> &WebhookTarget {
    match &view.job.work.target {
        Target::Webhook(target) => target,
        other => panic!("{other:?}"),
    }
}

pub fn message(view: &JobView) -> Message {
    serde_json::from_str(target(view).body.get()).unwrap()
}

pub fn json(view: &JobView) -> serde_json::Value {
    serde_json::from_str(target(view).body.get()).unwrap()
}

/// How often each was told, by job and addressee.
pub async fn told(scene: &Scene) -> BTreeMap<(String, String), usize> {
    let mut told = BTreeMap::new();
    for view in letters(scene).await {
        let body = json(&view);
        let to = match &target(&view).to {
            Addressee::Webhook(id) => id.to_string(),
            Addressee::Callback(url) => url.to_string(),
        };
        *told.entry((body["data"]["job"]["id"].as_str().unwrap_or_default().to_owned(), to)).or_default() += 1;
    }
    told
}

async fn take(scene: &Scene, route: Route, limit: usize) -> Vec<Held> {
    let session = scene.stranger(Duration::from_hours(100_000)).await;
    let request = ClaimRequest {
        session,
        token: ClaimToken::fresh(),
        wanted: WantedJobs::ByOrder { plan: LanePlan::strict(limit), limit },
        queues: Queues::All,
        routes: vec![route],
        company: Company::Nobody,
        rooms: Vec::new(),
    };
    match scene.store.inner.claim(&request).await.unwrap() {
        ClaimAnswer::Claimed(claim) => {
            for held in &claim.jobs {
                sessions().lock().unwrap().insert(held.job.id, session);
            }
            claim.jobs
        }
        _ => Vec::new(),
    }
}

/// Who holds which job.
fn sessions() -> &'static std::sync::Mutex<std::collections::HashMap<JobId, foreman_core::SessionId>> {
    static SESSIONS: std::sync::OnceLock<std::sync::Mutex<std::collections::HashMap<JobId, foreman_core::SessionId>>> =
        std::sync::OnceLock::new();
    SESSIONS.get_or_init(Default::default)
}

async fn settle(scene: &Scene, held: Held, verdict: Verdict) {
    let session = sessions().lock().unwrap()[&held.job.id];
    scene.store.inner.settle(session, &[held.settle(verdict)]).await.unwrap();
}

/// Ends every job that waits, one after another.
pub async fn end_all(scene: &Scene, verdict: &Verdict) -> usize {
    let held = take(scene, Route::task(crate::runner::TASK), 100_000).await;
    let count = held.len();
    for held in held {
        settle(scene, held, verdict.clone()).await;
    }
    count
}

/// A job that has ended.
pub async fn ended(scene: &Scene, verdict: Verdict) -> JobId {
    ended_with(scene, verdict, |_| {}).await
}

pub async fn ended_with(scene: &Scene, verdict: Verdict, change: impl FnOnce(&mut foreman_core::Work)) -> JobId {
    let job = job_with("", change);
    scene.submit(std::slice::from_ref(&job)).await;
    assert_eq!(end_all(scene, &verdict).await, 1);
    job.id
}

pub fn completed() -> Verdict {
    Verdict::Completed(Report::default())
}

/// Makes one try of every delivery that is due, and each gets this answer.
pub async fn answer(scene: &Scene, status: u16) -> usize {
    let response = HttpReport { status, ..HttpReport::default() };
    let report = Report { response: Some(response), ..Report::error(format!("answered {status}")) };
    try_all(
        scene,
        match status {
            200..=299 => Verdict::Completed(Report { error: None, ..report }),
            410 => Verdict::Failed(report),
            _ => Verdict::Retry { delay: Duration::from_secs(5), report },
        },
    )
    .await
}

pub async fn try_all(scene: &Scene, verdict: Verdict) -> usize {
    let held = take(scene, Route::webhook(), 100_000).await;
    let count = held.len();
    for held in held {
        settle(scene, held, verdict.clone()).await;
    }
    count
}

pub fn queue() -> QueueName {
    QueueName::from_stored(QUEUE)
}
