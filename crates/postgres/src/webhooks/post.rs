//! Making deliveries and moving the courier, in one transaction.
//!
//! The courier's row is locked and compared with where the round began; whether the leader's term is still in force is read
//! behind that lock, which may have been waited for. Of two couriers the second finds the row moved and has made nothing. A
//! process that dies before the commit has neither told anybody nor moved; one that does not hear of its commit sends the same
//! again and finds the row moved, by itself. The jobs are written as any other submission, so that they are in the log and
//! somebody is woken; their places in line are reserved before.

use foreman_core::ports::{Leader, NewDelivery, Posted, Round, StoreError};
use uuid::Uuid;

use crate::error::Fault;
use crate::jobs::submit::{self, Prepared};
use crate::order::Reservation;
use crate::upkeep::leads;
use crate::write::Transaction;
use crate::{PostgresStore, transact};

pub(crate) const LOCK: &str = "SELECT position FROM courier FOR UPDATE";
pub(crate) const MOVE: &str = "UPDATE courier SET position = $1::bigint";
/// One that is there already, because it was sent before, stays as it is.
pub(crate) const LIST: &str = "INSERT INTO deliveries (tenant, webhook, job, event, about, created_at)
    SELECT tenant, webhook, job, event, about, foreman_now()
    FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[]) AS made (tenant, webhook, job, event, about)
    ORDER BY tenant, webhook, job
    ON CONFLICT DO NOTHING";

pub(super) async fn post(
    store: &PostgresStore,
    leader: Option<&Leader>,
    round: &Round,
) -> Result<Option<Posted>, StoreError> {
    let batch = Batch::new(&round.deliveries)?;
    let reserved = batch.reserve(store).await?;
    let (posted, left) = transact!(store, data, Write, |tx| {
        let mut keys = reserved.clone();
        let posted = post_round(&tx, leader, round, &batch, &mut keys).await;
        posted.map(|posted| (posted, keys))
    })?;
    left.give_back(store).await;
    Ok(posted)
}

pub(super) async fn post_one(store: &PostgresStore, delivery: &NewDelivery) -> Result<(), StoreError> {
    let batch = Batch::new(std::slice::from_ref(delivery))?;
    let reserved = batch.reserve(store).await?;
    let left = transact!(store, data, Write, |tx| {
        let mut keys = reserved.clone();
        let made = batch.write(&tx, &mut keys).await;
        made.map(|()| keys)
    })?;
    left.give_back(store).await;
    Ok(())
}

async fn post_round(
    tx: &Transaction,
    leader: Option<&Leader>,
    round: &Round,
    batch: &Batch<'_>,
    keys: &mut Reservation,
) -> Result<Option<Posted>, Fault> {
    let row = tx.row(LOCK, &[]).await?;
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    let stands: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    if stands != Some(round.from.0) {
        return Ok(Some(Posted::Overtaken));
    }
    tx.rows(MOVE, &[&round.to.0]).await?;
    batch.write(tx, keys).await?;
    Ok(Some(Posted::Done))
}

/// Deliveries as the statements want them.
struct Batch<'a> {
    jobs: Vec<Prepared>,
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

impl<'a> Batch<'a> {
    fn new(deliveries: &'a [NewDelivery]) -> Result<Self, StoreError> {
        let mut listed = Listed::default();
        for delivery in deliveries {
            let Some(webhook) = delivery.webhook else { continue };
            listed.tenants.push(delivery.job.tenant.as_str());
            listed.webhooks.push(webhook.0);
            listed.jobs.push(delivery.job.id.0);
            listed.events.push(delivery.event.as_str());
            listed.about.push(delivery.about.map(|job| job.0));
        }
        let jobs = deliveries.iter().map(|delivery| submit::prepare(&delivery.job)).collect::<Result<_, _>>()?;
        Ok(Self { jobs, listed })
    }

    async fn reserve(&self, store: &PostgresStore) -> Result<Reservation, StoreError> {
        Reservation::make(store, &submit::demand(&self.jobs)).await
    }

    async fn write(&self, tx: &Transaction, keys: &mut Reservation) -> Result<(), Fault> {
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

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[LIST, LOCK, MOVE];
