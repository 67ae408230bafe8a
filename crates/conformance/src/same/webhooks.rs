//! Endpoints, the courier's rounds and the audit log, in the same history on both stores.
//!
//! Places in the log look different in each store: a round is told to each in its own words.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::super::posting::{Round, callback, courier, delivery, post_by};
use super::super::webhooks_kept::{change, new};
use super::{ANSWERS, Nth, Pair, TENANTS};
use crate::given::tenant;
use foreman_core::audit::{Act, Actor};
use foreman_core::id::{EntryId, JobId};
use foreman_core::ports::{
    Advanced, DeliveryNote, FollowerName, NewDelivery, NewWebhook, Tenancy, WebhookUpdate, Went,
};
use foreman_core::time::Clock;
use foreman_core::webhook::{Disabled, Webhook, WebhookSettings};

/// How many endpoints a tenant may have.
const AT_MOST: u64 = 3;

#[derive(Clone, Debug)]
pub enum Mail {
    Make(usize),
    MakeAgain(Nth),
    Turn {
        nth: Nth,
        on: bool,
        /// By somebody who has seen it as it is.
        fresh: bool,
    },
    TurnAgain(Nth),
    Delete {
        nth: Nth,
        tenant: usize,
    },
    Note(Vec<(Nth, u8, u64)>),
    Courier,
    Dismiss,
    Post {
        to: Vec<Nth>,
        callback: bool,
    },
    /// A round of before, to the letter.
    PostAgain(Nth),
    PostOne(Nth),
    Record(usize),
    RecordAgain(Nth),
}

pub(super) fn mail() -> impl Strategy<Value = Mail> {
    let nth = || any::<Nth>();
    let of_tenant = || 0..TENANTS.len();
    let ago = prop_oneof![Just(0_u64), Just(5), Just(60), Just(500_000)];
    prop_oneof![
        4 => of_tenant().prop_map(Mail::Make),
        1 => nth().prop_map(Mail::MakeAgain),
        3 => (nth(), any::<bool>(), any::<bool>()).prop_map(|(nth, on, fresh)| Mail::Turn { nth, on, fresh }),
        1 => nth().prop_map(Mail::TurnAgain),
        1 => (nth(), of_tenant()).prop_map(|(nth, tenant)| Mail::Delete { nth, tenant }),
        4 => proptest::collection::vec((nth(), 0_u8..8, ago), 1..4).prop_map(Mail::Note),
        2 => Just(Mail::Courier),
        1 => Just(Mail::Dismiss),
        6 => (proptest::collection::vec(nth(), 0..3), any::<bool>())
            .prop_map(|(to, callback)| Mail::Post { to, callback }),
        1 => nth().prop_map(Mail::PostAgain),
        1 => nth().prop_map(Mail::PostOne),
        1 => of_tenant().prop_map(Mail::Record),
        1 => nth().prop_map(Mail::RecordAgain),
    ]
}

/// What has been sent so far, to be sent again.
#[derive(Default)]
pub(super) struct Sent {
    made: Vec<NewWebhook>,
    updates: Vec<WebhookUpdate>,
    rounds: Vec<[Round; 2]>,
    acts: Vec<(EntryId, Act)>,
}

/// Both stores, the reference first.
type Both = [Arc<dyn Tenancy>; 2];

/// Asks both and says what the reference answered, which must be what the other did.
macro_rules! both {
    ($both:expr, $label:expr, |$store:ident| $call:expr) => {{
        let [memory, other] = {
            let [$store, second] = &$both;
            let memory = $call.expect(ANSWERS);
            let $store = second;
            [memory, $call.expect(ANSWERS)]
        };
        prop_assert_eq!(&memory, &other, "{}: the reference is on the left", $label);
        memory
    }};
}

impl Pair {
    /// Nothing where the other store keeps no webhooks.
    pub(super) async fn deal_with(&mut self, mail: &Mail) -> Result<(), TestCaseError> {
        let Some(both) = self.tenancy.clone() else { return Ok(()) };
        match mail {
            Mail::Make(of) => {
                let new = NewWebhook { at_most: AT_MOST, ..new(TENANTS[*of]) };
                both!(both, "make an endpoint", |store| store.create_webhook(&new).await);
                self.sent.made.push(new);
            }
            Mail::MakeAgain(nth) => {
                let Some(new) = pick(&self.sent.made, *nth) else { return Ok(()) };
                both!(both, "make an endpoint again", |store| store.create_webhook(&new).await);
            }
            Mail::Turn { nth, on, fresh } => {
                let Some(seen) = self.endpoint(&both, *nth).await else { return Ok(()) };
                let disabled = if *on { None } else { Some(Disabled::ByOwner) };
                let update = change(&seen, WebhookSettings { disabled, ..seen.settings.clone() });
                let version = if *fresh { update.version } else { 1 };
                let update = WebhookUpdate { version, ..update };
                both!(both, "turn an endpoint", |store| store.update_webhook(&update).await);
                self.sent.updates.push(update);
            }
            Mail::TurnAgain(nth) => {
                let Some(update) = pick(&self.sent.updates, *nth) else { return Ok(()) };
                both!(both, "turn an endpoint again", |store| store.update_webhook(&update).await);
            }
            Mail::Delete { nth, tenant: of } => {
                let Some(new) = pick(&self.sent.made, *nth) else { return Ok(()) };
                let of = tenant(TENANTS[*of]);
                both!(both, "delete an endpoint", |store| store.delete_webhook(&of, new.id).await);
            }
            Mail::Note(notes) => {
                let notes: Vec<DeliveryNote> = notes.iter().filter_map(|note| self.note(*note)).collect();
                both!(both, "note", |store| store.note_deliveries(&notes).await);
            }
            Mail::Courier => {
                for side in [&self.memory, &self.other] {
                    courier(&*side.store).await;
                }
            }
            Mail::Dismiss => {
                let stores = [&self.memory.store, &self.other.store];
                both!(stores, "dismiss", |store| store.dismiss(None, &FollowerName::COURIER).await);
            }
            other => self.post(&both, other).await?,
        }
        Ok(())
    }

    async fn post(&mut self, both: &Both, mail: &Mail) -> Result<(), TestCaseError> {
        match mail {
            Mail::Post { to, callback: has_callback } => {
                let mut deliveries = Vec::new();
                for nth in to {
                    if let Some(webhook) = self.endpoint(both, *nth).await {
                        deliveries.push(delivery(webhook.tenant.as_str(), webhook.id));
                    }
                }
                deliveries.extend(has_callback.then(|| callback(TENANTS[0])));
                self.submitted.extend(deliveries.iter().map(|delivery| delivery.job.clone()));
                let mut rounds = Vec::with_capacity(2);
                for side in [&self.memory, &self.other] {
                    let from = courier(&*side.store).await;
                    rounds.push(Round { from, to: side.position, deliveries: deliveries.clone() });
                }
                let rounds = <[Round; 2]>::try_from(rounds).expect("two stores");
                prop_assert_eq!(self.told(&rounds).await?, Advanced::Done);
                self.sent.rounds.push(rounds);
            }
            Mail::PostAgain(nth) => {
                let Some(rounds) = pick(&self.sent.rounds, *nth) else { return Ok(()) };
                self.told(&rounds).await?;
            }
            Mail::PostOne(nth) => {
                let Some(webhook) = self.endpoint(both, *nth).await else { return Ok(()) };
                let delivery: NewDelivery = delivery(webhook.tenant.as_str(), webhook.id);
                for _ in 0..2 {
                    both!(both, "post one", |store| store.post_one(&delivery).await);
                }
                self.submitted.push(delivery.job);
            }
            Mail::Record(of) => {
                let act = Act {
                    tenant: tenant(TENANTS[*of]),
                    actor: Actor::Direct,
                    action: "job.cancel".into(),
                    object: "job/1".into(),
                    status: 202,
                    request: None,
                    peer: None,
                };
                let id = EntryId::fresh();
                both!(both, "record", |store| store.record(id, &act).await);
                self.sent.acts.push((id, act));
            }
            Mail::RecordAgain(nth) => {
                let Some((id, act)) = pick(&self.sent.acts, *nth) else { return Ok(()) };
                both!(both, "record again", |store| store.record(id, &act).await);
            }
            other => unreachable!("{other:?} is about endpoints"),
        }
        Ok(())
    }

    /// One of those that were made, if it is there still.
    async fn endpoint(&self, both: &Both, nth: Nth) -> Option<Webhook> {
        let made = pick(&self.sent.made, nth)?;
        both[0].webhook(&made.tenant, made.id).await.expect(ANSWERS)
    }

    /// Posts each store's round; both answer the same.
    async fn told(&self, rounds: &[Round; 2]) -> Result<Advanced, TestCaseError> {
        let memory = post_by(&*self.memory.store, &rounds[0]).await;
        let other = post_by(&*self.other.store, &rounds[1]).await;
        prop_assert_eq!(memory, other, "post: the reference is on the left");
        Ok(memory)
    }

    fn note(&self, (nth, went, seconds): (Nth, u8, u64)) -> Option<DeliveryNote> {
        let made = pick(&self.sent.made, nth)?;
        let went = match went {
            0 => Went::Gone,
            1..=2 => Went::Arrived,
            _ => Went::Failed,
        };
        let at = self.clock.now().minus(Duration::from_secs(seconds));
        Some(DeliveryNote { tenant: made.tenant, webhook: made.id, at, went })
    }

    pub(super) async fn compare_mail(&self) -> Result<(), TestCaseError> {
        let Some(both) = self.tenancy.clone() else { return Ok(()) };
        let jobs: Vec<JobId> = self.submitted.iter().map(|job| job.id).collect();
        both!(both, "with a callback", |store| store.with_callback(&jobs).await.map(sorted));
        let tenants = TENANTS.map(tenant);
        for of in &tenants {
            both!(both, "endpoints", |store| store.webhooks(of, None, 100).await);
            both!(both, "trail", |store| store.audit_log(Some(of), None, 3).await);
            for new in &self.sent.made {
                both!(both, "endpoint", |store| store.webhook(of, new.id).await);
                both!(both, "deliveries", |store| store.deliveries(of, new.id, None, 100).await);
            }
        }
        both!(both, "trail", |store| store.audit_log(None, None, 100).await);
        let by_id = |mut found: Vec<Webhook>| {
            found.sort_by_key(|webhook| webhook.id);
            found
        };
        both!(both, "enabled", |store| store.webhooks_of(&tenants).await.map(|found| by_id(found.readable)));
        Ok(())
    }
}

fn sorted(mut ids: Vec<JobId>) -> Vec<JobId> {
    ids.sort();
    ids.dedup();
    ids
}

fn pick<T: Clone>(all: &[T], nth: Nth) -> Option<T> {
    all.get(nth % all.len().max(1)).cloned()
}
