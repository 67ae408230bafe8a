//! The usual way in: everything is new, due at once and without an idempotency key.
//!
//! Written in one round trip, and with one commit that waits for the disk: the places in line are reserved by a short transaction
//! that goes out in front, and the batch finds them on the connection (`sql/submit/accept_new.sql`). Each column that the jobs
//! have in common is sent once, and no index is asked beforehand: should a job be there already, or its queue have to be
//! opened first, the statement refuses, nothing has happened, and the careful way is taken.

use std::collections::{BTreeMap, HashMap};

use foreman_core::job::QueueName;
use foreman_core::ports::{StoreError, Topic};
use foreman_core::storage::NewJobRow;
use foreman_core::target::Route;
use foreman_core::{Lane, TenantId, Timestamp};
use uuid::Uuid;

use super::columns::{Tags, USED_LATELY, max_attempts};
use super::{ACCEPT_NEW, TAG, first_move};
use crate::connection::TransactionPurpose;
use crate::error::Fault;
use crate::order::{Demand, RESERVE, Reservation, Share};
use crate::rows::rank;
use crate::value::{Arg, Interval, Time};
use crate::write::{Query, Transaction};
use crate::{PostgresStore, transact};

/// A statement costs about as much as the columns of so many jobs.
const WORTH_A_STATEMENT: usize = 8;

/// New jobs by what they have in common: a statement for each.
pub(crate) struct NewBatch<'a> {
    jobs: &'a [NewJobRow],
    groups: Vec<JobGroup<'a>>,
    demand: Demand,
}

/// Jobs that differ in nothing but their ids and their work.
struct JobGroup<'a> {
    common: Common<'a>,
    /// The number of its share among those of the batch.
    share: usize,
    /// How many jobs of the same share come before each, in the order of the batch.
    places: Vec<i32>,
    jobs: Vec<&'a NewJobRow>,
}

/// What jobs may have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Common<'a> {
    tenant: &'a TenantId,
    queue: &'a QueueName,
    route: &'a Route,
    lane: Lane,
    kind: Option<&'a str>,
    correlation_id: Option<&'a str>,
    max_attempts: i32,
    expires_at: Option<Timestamp>,
}

/// What became of a batch.
pub(super) enum AtOnce {
    Accepted(Timestamp),
    /// Nothing happened. These places in line are reserved.
    Refused(Reservation),
}

impl<'a> Common<'a> {
    fn of(job: &'a NewJobRow) -> Self {
        Self {
            tenant: &job.tenant,
            queue: &job.queue,
            route: &job.route,
            lane: job.lane,
            kind: job.kind.as_deref(),
            correlation_id: job.correlation_id.as_deref(),
            max_attempts: max_attempts(job),
            expires_at: job.expires_at,
        }
    }

    fn share(&self) -> Share {
        (self.queue.clone(), self.lane, self.route.clone(), self.tenant.clone())
    }
}

impl<'a> NewBatch<'a> {
    /// None where the careful way is needed, or where there is too little in common.
    pub fn of(jobs: &'a [NewJobRow]) -> Option<Self> {
        if !jobs.iter().all(|job| job.is_due() && job.idempotency.is_none()) {
            return None;
        }
        let most = jobs.len().div_ceil(WORTH_A_STATEMENT);
        let (mut known, mut groups) = (BTreeMap::new(), Vec::<JobGroup<'a>>::new());
        let mut of_jobs: Vec<usize> = Vec::with_capacity(jobs.len());
        for job in jobs {
            let common = Common::of(job);
            // Neighbours mostly are alike, and to look at one is cheaper than to look for one.
            let place = match of_jobs.last() {
                Some(last) if groups[*last].common == common => *last,
                _ => *known.entry(common).or_insert_with(|| {
                    groups.push(JobGroup { common, share: 0, places: Vec::new(), jobs: Vec::new() });
                    groups.len() - 1
                }),
            };
            if groups.len() > most {
                return None;
            }
            groups[place].jobs.push(job);
            of_jobs.push(place);
        }
        let mut demand = Demand::default();
        for JobGroup { common, jobs, .. } in &groups {
            demand.some(common.tenant, common.queue, common.lane, common.route, jobs.len());
        }
        let numbers: HashMap<&Share, usize> = demand.shares().zip(1..).collect();
        for group in &mut groups {
            group.share = numbers.get(&group.common.share()).copied().unwrap_or_default();
        }
        let mut counts = vec![0; numbers.len() + 1];
        for place in of_jobs {
            let group = &mut groups[place];
            group.places.push(counts[group.share]);
            counts[group.share] += 1;
        }
        Some(Self { jobs, groups, demand })
    }

    pub(super) async fn submit(&self, store: &PostgresStore) -> Result<AtOnce, StoreError> {
        if store.parts.prepare {
            return transact!(store, data, Hint, |tx| self.reserve_and_write(&tx, store).await);
        }
        let reserved = Reservation::make(store, &self.demand).await?;
        let done = transact!(store, data, Write, |tx| self.write(&tx, &reserved).await)?;
        Ok(done.map_or(AtOnce::Refused(reserved), AtOnce::Accepted))
    }

    /// All of it in one round trip.
    async fn reserve_and_write(&self, tx: &Transaction, store: &PostgresStore) -> Result<AtOnce, Fault> {
        self.tell(tx);
        let mark = format!("{:016x}", rand::random::<u64>());
        let rows = self.rows(None);
        let asked = self.demand.asked(Some(mark.clone()));
        let begin = store.parts.beginning.text(TransactionPurpose::Write, store.parts.clock.as_deref());
        let args: Vec<[&dyn Arg; 17]> = rows.iter().map(|rows| rows.args(&mark)).collect();
        let tags = Tags::of(self.jobs);
        let tag_args = tags.args();
        let steps = steps(&args, &tags, &tag_args);
        let (reserved, done) = tx.last_after((RESERVE, &asked.args()[..]), &begin, &steps).await?;
        match judge(tx, done)? {
            Some(at) => Ok(AtOnce::Accepted(at)),
            None => Reservation::read(&self.demand, &reserved).map(AtOnce::Refused),
        }
    }

    /// The same with places that were reserved before. None: nothing happened.
    async fn write(&self, tx: &Transaction, reserved: &Reservation) -> Result<Option<Timestamp>, Fault> {
        self.write_with(tx, reserved, &[]).await
    }

    /// The same, with more statements behind it.
    pub async fn write_with(
        &self,
        tx: &Transaction,
        reserved: &Reservation,
        more: &[Query<'_>],
    ) -> Result<Option<Timestamp>, Fault> {
        self.tell(tx);
        let rows = self.rows(Some(reserved));
        let mark = String::new();
        let args: Vec<[&dyn Arg; 17]> = rows.iter().map(|rows| rows.args(&mark)).collect();
        let tags = Tags::of(self.jobs);
        let tag_args = tags.args();
        let mut steps = steps(&args, &tags, &tag_args);
        steps.extend(more);
        let done = tx.last(&steps, false).await;
        judge(tx, done)
    }

    /// For the change log, and for whoever waits.
    fn tell(&self, tx: &Transaction) {
        for job in self.jobs {
            tx.note(job.id, &job.tenant, &job.queue, first_move(true));
        }
        tx.ring(Topic::Ready);
        if self.groups.iter().any(|group| group.common.expires_at.is_some()) {
            tx.ring(Topic::Waiting);
        }
    }

    fn rows(&self, reserved: Option<&Reservation>) -> Vec<NewRows<'_>> {
        self.groups.iter().map(|group| NewRows::of(group, reserved)).collect()
    }
}

/// A group as its statement wants it, in the order of the ids.
struct NewRows<'a> {
    ids: Vec<Uuid>,
    works: Vec<&'a str>,
    places: Vec<i32>,
    outlines: Vec<Option<&'a str>>,
    tenant: &'a str,
    queue: &'a str,
    route: &'a str,
    lane: i16,
    kind: Option<&'a str>,
    correlation_id: Option<&'a str>,
    max_attempts: i32,
    expires_at: Option<Time>,
    first_key: Option<i64>,
    step: Option<i64>,
    share: i32,
    used_lately: Interval,
}

impl<'a> NewRows<'a> {
    fn of(group: &JobGroup<'a>, reserved: Option<&Reservation>) -> Self {
        let common = &group.common;
        let mut rows: Vec<(i32, &NewJobRow)> = group.places.iter().copied().zip(group.jobs.iter().copied()).collect();
        rows.sort_by_key(|(_, job)| job.id);
        // Of large work only, which is rare.
        let has_outlines = rows.iter().any(|(_, job)| job.outline.is_some());
        let outlines = rows.iter().filter(|_| has_outlines).map(|(_, job)| job.outline.as_deref()).collect();
        let keys = reserved.and_then(|reserved| reserved.first(&common.share()));
        Self {
            ids: rows.iter().map(|(_, job)| job.id.0).collect(),
            works: rows.iter().map(|(_, job)| job.work.as_str()).collect(),
            places: rows.iter().map(|(place, _)| *place).collect(),
            outlines,
            tenant: common.tenant.as_str(),
            queue: common.queue.as_str(),
            route: common.route.as_str(),
            lane: rank(common.lane),
            kind: common.kind,
            correlation_id: common.correlation_id,
            max_attempts: common.max_attempts,
            expires_at: common.expires_at.map(Time),
            first_key: keys.map(|(first, _)| first),
            step: keys.map(|(_, step)| step),
            share: i32::try_from(group.share).unwrap_or_default(),
            used_lately: Interval(USED_LATELY),
        }
    }

    /// As [`ACCEPT_NEW`] numbers them.
    fn args<'s>(&'s self, mark: &'s String) -> [&'s dyn Arg; 17] {
        [
            &self.ids,
            &self.works,
            &self.places,
            &self.outlines,
            &self.tenant,
            &self.queue,
            &self.route,
            &self.lane,
            &self.kind,
            &self.correlation_id,
            &self.max_attempts,
            &self.expires_at,
            &self.first_key,
            &self.step,
            mark,
            &self.share,
            &self.used_lately,
        ]
    }
}

fn steps<'a>(args: &'a [[&'a dyn Arg; 17]], tags: &Tags<'_>, tag_args: &'a [&'a dyn Arg; 3]) -> Vec<Query<'a>> {
    let tagged = (!tags.jobs.is_empty()).then_some((TAG, &tag_args[..]));
    args.iter().map(|args| (ACCEPT_NEW, &args[..])).chain(tagged).collect()
}

/// When the batch was accepted. None: nothing of it happened.
fn judge(tx: &Transaction, done: Result<Vec<Vec<tokio_postgres::Row>>, Fault>) -> Result<Option<Timestamp>, Fault> {
    match done {
        Ok(answers) => {
            let row = answers.first().and_then(|rows| rows.first());
            let row = row.ok_or_else(|| Fault::misfit("jobs", "created_at", "unknown", "no answer"))?;
            Ok(Some(row.try_get::<_, Time>("accepted_at")?.0))
        }
        Err(fault) if fault.is_taken() || fault.is_refused() => {
            tx.forget();
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use foreman_core::JobId;
    use foreman_core::job::Start;

    use super::*;

    fn prepared(tenant: &str, start: Start) -> NewJobRow {
        NewJobRow {
            id: JobId::fresh(),
            tenant: TenantId::new(tenant),
            queue: QueueName::default(),
            route: Route::http(),
            lane: Lane::Normal,
            kind: None,
            correlation_id: None,
            max_attempts: 1,
            tags: Vec::new(),
            expires_at: None,
            start,
            idempotency: None,
            work: "{}".into(),
            outline: None,
        }
    }

    #[test]
    fn what_new_jobs_have_in_common_is_sent_once_unless_that_is_too_little() {
        let groups = |jobs: &[NewJobRow]| NewBatch::of(jobs).map(|batch| batch.groups.len());
        let of = |tenants: usize| -> Vec<NewJobRow> {
            (0..64).map(|n| prepared(&format!("tenant-{}", n % tenants), Start::Now)).collect()
        };
        assert_eq!(groups(&of(1)[..1]), Some(1), "a lone job");
        assert_eq!(groups(&of(1)), Some(1));
        assert_eq!(groups(&of(8)), Some(8));
        assert_eq!(groups(&of(9)), None, "fewer than eight jobs for each statement");
        let mut jobs = of(1);
        jobs.push(prepared("tenant-0", Start::After(Duration::from_secs(1))));
        assert_eq!(groups(&jobs), None, "one that is not due waits without a place in line");
    }
    #[test]
    fn each_job_of_a_share_has_its_place_in_the_order_of_the_batch_whatever_else_differs() {
        let mut jobs: Vec<NewJobRow> = (0..32).map(|_| prepared("one", Start::Now)).collect();
        // Every second job belongs to another group of the same share, and the ids come backwards.
        for (place, job) in jobs.iter_mut().enumerate().filter(|(place, _)| place % 2 == 1) {
            job.kind = Some("other".into());
            job.id = JobId(Uuid::from_u128(1_000 - place as u128));
        }
        let batch = NewBatch::of(&jobs).expect("two groups");
        let mut places: Vec<(usize, i32)> = Vec::new();
        for rows in batch.rows(None) {
            assert_eq!((rows.share, rows.first_key, rows.step), (1, None, None), "left on the connection");
            assert!(rows.ids.is_sorted(), "two batches never wait for each other");
            for (id, place) in rows.ids.iter().zip(&rows.places) {
                places.push((jobs.iter().position(|job| job.id.0 == *id).expect("one of them"), *place));
            }
        }
        places.sort_unstable();
        assert_eq!(places, (0..32).map(|place| (place as usize, place)).collect::<Vec<_>>());
    }
}
