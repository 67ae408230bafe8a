//! The usual way in: everything is new, due at once and without an idempotency key. Written in one round trip, each column that
//! the jobs have in common sent once (`sql/submit/accept_new.sql`), and no index asked beforehand: should a job be there already,
//! its unique key says so, and nothing has happened.

use std::collections::{BTreeMap, HashMap};

use foreman_core::Timestamp;
use foreman_core::TenantId;
use foreman_core::job::QueueName;
use foreman_core::ports::Topic;
use foreman_core::storage::NewJobRow;
use foreman_core::target::Route;
use uuid::Uuid;

use super::columns::{Tags, UsedQueues, max_attempts, outlines};
use super::{ACCEPT_NEW, TAG, first_move};
use crate::error::Fault;
use crate::order::Reservation;
use crate::rows::rank;
use crate::value::{Arg, Time};
use crate::write::Transaction;

/// Jobs that differ in nothing but their ids and their work, each with its columns in common.
type JobGroup<'a> = (Common<'a>, Vec<&'a NewJobRow>);

/// What jobs may have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Common<'a> {
    tenant: &'a TenantId,
    queue: &'a QueueName,
    route: &'a Route,
    lane: i16,
    kind: Option<&'a str>,
    correlation_id: Option<&'a str>,
    max_attempts: i32,
    expires_at: Option<Timestamp>,
}

/// New jobs by what they have in common: a statement for each.
pub(super) struct Alike<'a>(Vec<JobGroup<'a>>);

/// A statement costs about as much as the columns of so many jobs.
const WORTH_A_STATEMENT: usize = 8;

impl<'a> Alike<'a> {
    /// None where the careful way is needed, or where there is too little in common.
    pub fn all(jobs: &'a [NewJobRow]) -> Option<Self> {
        if !jobs.iter().all(|job| job.is_due() && job.idempotency.is_none()) {
            return None;
        }
        let most = jobs.len().div_ceil(WORTH_A_STATEMENT);
        let mut groups: BTreeMap<Common<'a>, Vec<&'a NewJobRow>> = BTreeMap::new();
        for job in jobs {
            let kind = Common {
                tenant: &job.tenant,
                queue: &job.queue,
                route: &job.route,
                lane: rank(job.lane),
                kind: job.kind.as_deref(),
                correlation_id: job.correlation_id.as_deref(),
                max_attempts: max_attempts(job),
                expires_at: job.expires_at,
            };
            groups.entry(kind).or_default().push(job);
            if groups.len() > most {
                return None;
            }
        }
        Some(Self(groups.into_iter().collect()))
    }
}

/// A group as its statement wants it.
struct NewRows<'a> {
    ids: Vec<Uuid>,
    works: Vec<&'a str>,
    outlines: Vec<Option<&'a str>>,
    keys: Vec<i64>,
    tenant: &'a str,
    queue: &'a str,
    route: &'a str,
    expires_at: Option<Time>,
}

/// Writes new jobs down and lets them wait; when they were accepted. None: one of them is there already, and nothing happened.
pub(super) async fn accept_new(
    tx: &Transaction,
    jobs: &[NewJobRow],
    alike: &Alike<'_>,
    mut reservation: Reservation,
) -> Result<Option<Timestamp>, Fault> {
    let (mut queues, mut tags, mut keys) = (UsedQueues::default(), Tags::default(), HashMap::with_capacity(jobs.len()));
    // In the order in which they were asked for, whatever they have in common.
    for job in jobs {
        let Some(key) = reservation.next(&job.tenant, &job.queue, job.lane, &job.route) else {
            tx.forget();
            return Ok(None);
        };
        keys.insert(job.id, key);
        tags.push(job);
        tx.note(job.id, &job.tenant, &job.queue, first_move(true));
    }
    tx.ring(Topic::Ready);
    let mut groups = Vec::with_capacity(alike.0.len());
    for (kind, jobs) in &alike.0 {
        if kind.expires_at.is_some() {
            tx.ring(Topic::Waiting);
        }
        queues.add(kind.queue.as_str(), kind.tenant.as_str(), jobs[0].lane);
        let mut jobs = jobs.clone();
        jobs.sort_by_key(|job| job.id);
        groups.push(NewRows {
            ids: jobs.iter().map(|job| job.id.0).collect(),
            works: jobs.iter().map(|job| job.work.as_str()).collect(),
            outlines: outlines(&jobs),
            keys: jobs.iter().filter_map(|job| keys.get(&job.id).copied()).collect(),
            tenant: kind.tenant.as_str(),
            queue: kind.queue.as_str(),
            route: kind.route.as_str(),
            expires_at: kind.expires_at.map(Time),
        });
    }
    let group_args: Vec<[&dyn Arg; 12]> = groups
        .iter()
        .zip(&alike.0)
        .map(|(rows, (kind, _))| -> [&dyn Arg; 12] {
            let NewRows { ids, works, outlines, keys, tenant, queue, route, expires_at } = rows;
            let Common { lane, kind, correlation_id, max_attempts, .. } = kind;
            [ids, works, keys, tenant, queue, route, lane, kind, correlation_id, max_attempts, expires_at, outlines]
        })
        .collect();
    let opened = queues.columns();
    let open_args = opened.args();
    let tag_args: [&dyn Arg; 3] = [&tags.tenants, &tags.names, &tags.jobs];
    let mut steps = open_args.steps();
    steps.extend(group_args.iter().map(|args| (ACCEPT_NEW, &args[..])));
    let first = steps.len() - groups.len();
    if !tags.jobs.is_empty() {
        steps.push((TAG, &tag_args[..]));
    }
    match tx.last(&steps, false).await {
        Ok(answers) => {
            let row =
                answers[first].first().ok_or_else(|| Fault::misfit("jobs", "created_at", jobs[0].id, "no answer"))?;
            Ok(Some(row.try_get::<_, Time>(0)?.0))
        }
        Err(fault) if fault.is_taken() => {
            tx.forget();
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use foreman_core::job::Start;
    use foreman_core::{JobId, Lane};

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
        let groups = |jobs: &[NewJobRow]| Alike::all(jobs).map(|alike| alike.0.len());
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
}
