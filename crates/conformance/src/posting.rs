//! What the promises about deliveries start from: a courier's rounds and deliveries, each in a word or two.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::TenancySubject;
use super::given::{a_job, queue, tenant};
use foreman_core::id::{JobId, SessionId, TenantId, WebhookId};
use foreman_core::job::{NewJob, Work};
use foreman_core::ports::{
    Advance, Advanced, Begin, ClaimRequest, Delivery, Effect, FollowerName, NewDelivery, Position, Store,
};
use foreman_core::target::{Addressee, Route, Target, WebhookTarget};
use foreman_core::webhook::{Event, KIND, QUEUE, Wish};

const ANSWERS: &str = "the store answers";

/// Larger than any number, with odd spacing: what a store may not rewrite, for it is signed as it is sent.
pub const BODY: &str =
    r#"{ "type":"job.completed" ,"n":123456789012345678901234567890, "e":1e400,"t":"ä\u0000\"'; --" }"#;

fn target(to: Addressee, event: Event) -> Target {
    Target::Webhook(WebhookTarget {
        to,
        event,
        wish: Wish::Known,
        body: RawValue::from_string(BODY.into()).expect("valid JSON"),
    })
}

fn job(of: &str, target: Target) -> NewJob {
    a_job()
        .of(of)
        .target(target)
        .work(|work: &mut Work| {
            work.queue = queue(QUEUE);
            work.kind = Some(KIND.into());
            work.max_attempts = 10;
        })
        .build()
}

/// A message to an endpoint, of a job that ended.
pub fn delivery(of: &str, webhook: WebhookId) -> NewDelivery {
    let event = Event::JobCompleted;
    let job = job(of, target(Addressee::Webhook(webhook), event));
    NewDelivery { job, webhook: Some(webhook), event, about: Some(JobId::fresh()) }
}

/// A message to whoever the job named.
pub fn callback(of: &str) -> NewDelivery {
    let event = Event::JobDead;
    let to = Addressee::Callback("https://example.com/done?x=%20".parse().expect("a valid URL"));
    NewDelivery { job: job(of, target(to, event)), webhook: None, event, about: Some(JobId::fresh()) }
}

/// What the courier made of a stretch of the change log.
#[derive(Clone, Debug)]
pub struct Round {
    pub from: Position,
    pub to: Position,
    pub deliveries: Vec<NewDelivery>,
}

impl Round {
    pub fn advance(&self) -> Advance {
        let effect = Effect::Deliveries(self.deliveries.clone());
        Advance { follower: FollowerName::COURIER, from: self.from, to: self.to, effect }
    }
}

/// The courier's position; it is appointed if there is none.
pub async fn courier(store: &dyn Store) -> Position {
    let position = store.follow(None, &FollowerName::COURIER, Begin::End).await.expect(ANSWERS);
    position.expect("nobody's term is over")
}

/// Posts as whoever wants to and needs no election.
pub async fn post_by(store: &dyn Store, round: &Round) -> Advanced {
    store.advance(None, &round.advance()).await.expect(ANSWERS).expect("nobody's term is over")
}

/// A round from where the courier stands to the end of the log, which must take place.
pub async fn posted(subject: &dyn TenancySubject, deliveries: Vec<NewDelivery>) -> Round {
    let store = subject.store();
    let round = Round { from: courier(&*store).await, to: store.head().await.expect(ANSWERS), deliveries };
    assert_eq!(post_by(&*store, &round).await, Advanced::Done);
    round
}

/// The same claim, of deliveries only.
pub fn of_deliveries(request: ClaimRequest) -> ClaimRequest {
    ClaimRequest { routes: vec![Route::webhook()], ..request }
}

/// A claim call of so many deliveries.
pub fn next_deliveries(session: SessionId, limit: usize) -> ClaimRequest {
    of_deliveries(super::given::by_order(session, limit))
}

/// All that is listed of an endpoint's deliveries, the newest first.
pub async fn listed(subject: &dyn TenancySubject, of: &str, webhook: WebhookId) -> Vec<Delivery> {
    subject.tenancy().deliveries(&tenant(of), webhook, None, super::given::PLENTY).await.expect(ANSWERS)
}

pub async fn found(subject: &dyn TenancySubject, of: &TenantId, webhook: WebhookId, job: JobId) -> Option<Delivery> {
    subject.tenancy().delivery(of, webhook, job).await.expect(ANSWERS)
}

pub fn job_ids(deliveries: &[NewDelivery]) -> Vec<JobId> {
    deliveries.iter().map(|delivery| delivery.job.id).collect()
}

/// As it is kept and sent, to the letter.
pub fn text(work: &Arc<Work>) -> String {
    serde_json::to_string(&**work).expect("plain data")
}
