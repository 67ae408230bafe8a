//! How the deliveries went, noted with the endpoints they went to.
//!
//! The note that disables an endpoint and the letters that tell of it are two writes. A courier that dies between them finds, when
//! it reads the same stretch again, that the endpoint is disabled already; so the letters are made from what the endpoint *is*
//! after the noting, whoever disabled it, under ids made of the version that the disabling gave it: told again, they are there.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use foreman_core::audit::{Act, Actor};
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{DeliveryNote, JobView, Leader, Moved, StoreError, Went};
use foreman_core::target::Addressee;
use foreman_core::webhook::{About, Disabled, Event, Message, QUEUE, Webhook};
use foreman_core::{State, TenantId, WebhookId};
use tracing::warn;

use super::Courier;
use super::endings::KnownJobs;
use super::letter::{Bag, Letter, entry_id};
use crate::follower::Stopped;
use crate::outage::bounded;
use crate::target::webhook::NOT_SENT;

const GONE: u16 = 410;

/// A try of a delivery has ended, well or not.
pub(super) fn is_one(moved: &Moved) -> bool {
    moved.queue.as_str() == QUEUE
        && matches!(moved.step.state, State::Retrying | State::Completed | State::Failed | State::Dead)
}

/// Tries of deliveries that have ended.
pub(super) struct Tried<'a> {
    tries: Vec<&'a Moved>,
    known: KnownJobs,
}

impl Courier {
    /// The tries among some moves, and their jobs.
    pub(super) async fn tried<'a>(&self, moved: &[&'a Moved]) -> Result<Tried<'a>, StoreError> {
        let tries: Vec<&Moved> = moved.iter().copied().filter(|moved| is_one(moved)).collect();
        let known = self.known(tries.iter().copied()).await?;
        Ok(Tried { tries, known })
    }

    /// Whether anything was noted.
    pub(super) async fn note_health(
        &self,
        Tried { tries, mut known }: Tried<'_>,
        leader: Option<&Leader>,
        bag: &mut Bag,
    ) -> Result<bool, Stopped> {
        let mut notes = Vec::new();
        for some in tries.chunks(self.config.loads.max(1)) {
            let views = self.views(some.iter().copied(), &mut known).await?;
            notes.extend(some.iter().zip(views).filter_map(|(moved, view)| note(moved, &view?)));
        }
        if notes.is_empty() {
            return Ok(false);
        }
        for disabled in self.note(leader, &notes).await? {
            self.tally.disabled.fetch_add(1, Ordering::Relaxed);
            let Webhook { id, tenant, .. } = &disabled;
            warn!(webhook.id = %id, %tenant, "disabled webhook {id} of tenant {tenant}: {}", why(&disabled));
        }
        let failing: BTreeSet<(&TenantId, WebhookId)> =
            notes.iter().filter(|note| note.went != Went::Arrived).map(|note| (&note.tenant, note.webhook)).collect();
        for (tenant, id) in failing {
            let found = match bounded(self.config.call_timeout, self.tenancy.webhook(tenant, id)).await {
                // Of a later version, which will look after it.
                Err(StoreError::Damaged(_)) => None,
                answer => answer?,
            };
            let is_ours =
                |webhook: &Webhook| matches!(webhook.settings.disabled, Some(Disabled::Gone | Disabled::Failing));
            if let Some(webhook) = found.filter(is_ours) {
                self.tell_disabled(&webhook, leader, bag).await?;
            }
        }
        Ok(true)
    }

    async fn note(&self, leader: Option<&Leader>, notes: &[DeliveryNote]) -> Result<Vec<Webhook>, Stopped> {
        let limit = self.config.call_timeout;
        match leader {
            Some(leader) => {
                bounded(limit, self.tenancy.note_deliveries_as(leader, notes)).await?.ok_or(Stopped::Deposed)
            }
            None => Ok(bounded(limit, self.tenancy.note_deliveries(notes)).await?),
        }
    }

    /// Tells the tenant's other endpoints, and the audit log.
    async fn tell_disabled(&self, webhook: &Webhook, leader: Option<&Leader>, bag: &mut Bag) -> Result<(), Stopped> {
        let Webhook { id, tenant, edited_at, version, .. } = webhook;
        let occasion = format!("{id}/disabled/{version}").into_bytes();
        let act = Act {
            tenant: tenant.clone(),
            actor: Actor::System,
            action: "webhook.disable".into(),
            object: format!("webhook/{id}"),
            status: 200,
            request: None,
            peer: None,
        };
        let entry = entry_id(*edited_at, &occasion);
        let limit = self.config.call_timeout;
        match leader {
            Some(leader) => {
                bounded(limit, self.tenancy.record_as(leader, entry, &act)).await?.ok_or(Stopped::Deposed)?;
            }
            None => bounded(limit, self.tenancy.record(entry, &act)).await?,
        }
        let data = About::Webhook { webhook: *id, detail: why(webhook).into() };
        let message = Message { event: Event::WebhookDisabled, timestamp: *edited_at, data };
        let letter = Letter::new(tenant.clone(), message, occasion);
        let others = self.endpoints_of(std::slice::from_ref(tenant)).await?;
        for other in others.into_values().flatten().filter(|other| other.id() != *id) {
            if let Some(wish) = other.wish(Event::WebhookDisabled) {
                bag.put(&letter, Addressee::Webhook(other.id()), wish);
            }
        }
        Ok(())
    }
}

fn why(webhook: &Webhook) -> &'static str {
    match webhook.settings.disabled {
        Some(Disabled::Gone) => "it answered 410 Gone",
        _ => "nothing has arrived there for five days",
    }
}

/// What a try says about the endpoint; nothing when it never got so far, or went to a callback.
fn note(moved: &Moved, view: &JobView) -> Option<DeliveryNote> {
    let webhook = view.job.work.target.endpoint()?;
    // A delivery that was sent again by hand goes on counting its tries.
    let record = view.attempts.records.iter().rev().find(|record| record.number == moved.step.attempt)?;
    let outcome = record.outcome?;
    let is_not_sent = record.report.error.as_ref().is_some_and(|error| error.starts_with(NOT_SENT));
    let status = record.report.response.as_ref().map(|response| response.status);
    let went = match outcome {
        AttemptOutcome::Completed => Went::Arrived,
        _ if is_not_sent => return None,
        AttemptOutcome::Failed | AttemptOutcome::Retry | AttemptOutcome::Dead if status == Some(GONE) => Went::Gone,
        AttemptOutcome::Failed | AttemptOutcome::Retry | AttemptOutcome::Dead => Went::Failed,
        // It was not allowed to end.
        AttemptOutcome::Interrupted | AttemptOutcome::Released | AttemptOutcome::Lapsed | AttemptOutcome::Cancelled => {
            return None;
        }
    };
    let at = record.finished_at.unwrap_or(moved.at);
    Some(DeliveryNote { tenant: moved.tenant.clone(), webhook, at, went })
}
