//! Making deliveries: the effect of a move of the courier (`followers.rs`), or one beside it.
//!
//! The jobs are written as any other submission, so that they are in the log and somebody is woken; their places in line are
//! reserved before. Nearly always all of them are new, and then a batch is one statement for the jobs and one for what is listed
//! of them, in one round trip with the move.

use std::collections::HashSet;

use foreman_core::ports::{NewDelivery, StoreError};
use foreman_core::storage::NewJobRow;
use foreman_core::{JobId, webhook};
use uuid::Uuid;

use crate::error::Fault;
use crate::jobs::submit::{self, NewBatch};
use crate::order::Reservation;
use crate::value::Arg;
use crate::write::{Query, Transaction};
use crate::{PostgresStore, transact};

/// One that is there already, because it was sent before, stays as it is.
pub(crate) const LIST: &str = "INSERT INTO deliveries (tenant, webhook, job, event, about, created_at)
    SELECT tenant, webhook, job, event, about, foreman_now()
    FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[]) AS made (tenant, webhook, job, event, about)
    ORDER BY tenant, webhook, job
    ON CONFLICT DO NOTHING";

/// By the tag that stands in no document.
pub(crate) const WITH_CALLBACK: &str = "SELECT job FROM job_tags WHERE job = ANY ($1::uuid[]) AND tag = $2::text";

pub(super) async fn post_one(store: &PostgresStore, delivery: &NewDelivery) -> Result<(), StoreError> {
    let batch = DeliveryBatch::new(std::slice::from_ref(delivery))?;
    let reserved = batch.reserve(store).await?;
    let left = transact!(store, data, Write, |tx| {
        let mut keys = reserved.clone();
        let made = batch.write(&tx, &mut keys).await;
        made.map(|()| keys)
    })?;
    left.give_back(store).await;
    Ok(())
}

/// Deliveries as the statements want them.
pub(crate) struct DeliveryBatch<'a> {
    jobs: Vec<NewJobRow>,
    listed: Listed<'a>,
}

/// What is listed of them, column by column.
#[derive(Default)]
struct Listed<'a> {
    tenants: Vec<&'a str>,
    webhooks: Vec<Uuid>,
    jobs: Vec<Uuid>,
    events: Vec<&'static str>,
    about: Vec<Option<Uuid>>,
}

impl<'a> DeliveryBatch<'a> {
    pub fn new(deliveries: &'a [NewDelivery]) -> Result<Self, StoreError> {
        let mut listed = Listed::default();
        for delivery in deliveries {
            let Some(webhook) = delivery.webhook else { continue };
            listed.tenants.push(delivery.job.tenant.as_str());
            listed.webhooks.push(webhook.0);
            listed.jobs.push(delivery.job.id.0);
            listed.events.push(delivery.event.as_str());
            listed.about.push(delivery.about.map(|job| job.0));
        }
        let jobs = deliveries.iter().map(|delivery| NewJobRow::of(&delivery.job)).collect::<Result<_, _>>()?;
        Ok(Self { jobs, listed })
    }

    pub async fn reserve(&self, store: &PostgresStore) -> Result<Reservation, StoreError> {
        Reservation::make(store, &submit::demand(&self.jobs)).await
    }

    /// Where they can be written at once: all are new, as they are unless this was sent before, and have enough in common.
    pub fn as_new(&self) -> Option<NewBatch<'_>> {
        if self.jobs.is_empty() { None } else { NewBatch::of(&self.jobs) }
    }

    /// Writes them as the last statements of a transaction, with `more` behind them. False: nothing of it happened.
    pub async fn write_new(
        &self,
        new: &NewBatch<'_>,
        tx: &Transaction,
        keys: &Reservation,
        more: Query<'_>,
    ) -> Result<bool, Fault> {
        let Listed { tenants, webhooks, jobs, events, about } = &self.listed;
        let listed: [&dyn Arg; 5] = [tenants, webhooks, jobs, events, about];
        let both = [more, (LIST, &listed[..])];
        let steps = if jobs.is_empty() { &both[..1] } else { &both[..] };
        Ok(new.write_with(tx, keys, steps).await?.is_some())
    }

    pub async fn write(&self, tx: &Transaction, keys: &mut Reservation) -> Result<(), Fault> {
        if !self.jobs.is_empty() {
            submit::accept(tx, &self.jobs.iter().collect::<Vec<_>>(), keys).await?;
        }
        let Listed { tenants, webhooks, jobs, events, about } = &self.listed;
        if !jobs.is_empty() {
            tx.rows(LIST, &[tenants, webhooks, jobs, events, about]).await?;
        }
        Ok(())
    }
}

pub(super) async fn with_callback(tx: &Transaction, jobs: &[JobId]) -> Result<Vec<JobId>, Fault> {
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.0).collect();
    let rows = tx.rows(WITH_CALLBACK, &[&ids, &webhook::CALLBACK_TAG]).await?;
    let asked: HashSet<JobId> = rows.iter().map(|row| Ok(JobId(row.try_get(0)?))).collect::<Result<_, Fault>>()?;
    Ok(jobs.iter().copied().filter(|job| asked.contains(job)).collect())
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[LIST, WITH_CALLBACK];
