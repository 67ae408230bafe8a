//! Accepting jobs.
//!
//! Sent again, a job is found by its id and nothing changes. An idempotency key is a row of its own; jobs of one slice are
//! judged in order, each seeing the keys of those before it. Two submissions with one key at once wait for each other on that
//! row. Places in line are reserved beforehand for what is due at once, and given in the order of the slice to what was
//! really accepted.
//!
//! Nearly always everything is new, due at once and without a key: that is done [`at_once`]. Anything else is [`judged`].

mod at_once;
mod columns;
mod judged;

use foreman_core::State;
use foreman_core::job::NewJob;
use foreman_core::ports::{Step, StoreError, Submitted};
use foreman_core::storage::NewJobRow;

use self::at_once::AtOnce;
pub(crate) use self::at_once::NewBatch;
pub(crate) use self::columns::{ReadyColumns, UsedQueues};
pub(crate) use self::judged::accept;
use crate::order::{Demand, Reservation};
use crate::{PostgresStore, transact};

pub(crate) const ACCEPT_NEW: &str = include_str!("../sql/submit/accept_new.sql");
pub(crate) const ACCEPT: &str = include_str!("../sql/submit/accept.sql");
pub(crate) const WAIT: &str = include_str!("../sql/submit/wait.sql");
pub(crate) const REMEMBER: &str = include_str!("../sql/submit/remember.sql");
pub(crate) const KNOWN: &str = "SELECT id, created_at FROM jobs WHERE id = ANY ($1::uuid[])";
pub(crate) const HOLDERS: &str = include_str!("../sql/submit/holders.sql");
pub(crate) const TAG: &str = include_str!("../sql/submit/tag.sql");
pub(crate) const OPEN_QUEUES: &str = include_str!("../sql/submit/open_queues.sql");
pub(crate) const OPEN_LANES: &str = include_str!("../sql/submit/open_lanes.sql");

pub(super) async fn submit(store: &PostgresStore, jobs: &[NewJob]) -> Result<Vec<Submitted>, StoreError> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let jobs: Vec<NewJobRow> = jobs.iter().map(NewJobRow::of).collect::<Result<_, _>>()?;
    let reserved = match NewBatch::of(&jobs) {
        Some(batch) => match batch.submit(store).await? {
            AtOnce::Accepted(at) => return Ok(vec![Submitted::Accepted(at); jobs.len()]),
            AtOnce::Refused(reserved) => reserved,
        },
        None => Reservation::make(store, &demand(&jobs)).await?,
    };
    let (answers, left) = transact!(store, data, Write, |tx| {
        let mut reservation = reserved.clone();
        let answers = accept(&tx, &jobs.iter().collect::<Vec<_>>(), &mut reservation).await;
        answers.map(|answers| (answers, reservation))
    })?;
    left.give_back(store).await;
    Ok(answers)
}

/// Places for whatever is due at once.
pub(crate) fn demand(jobs: &[NewJobRow]) -> Demand {
    let mut demand = Demand::default();
    for job in jobs.iter().filter(|job| job.is_due()) {
        demand.one(&job.tenant, &job.queue, job.lane, &job.route);
    }
    demand
}

/// The first of all moves is to be accepted.
fn first_move(is_due: bool) -> Step {
    Step { state: State::of_waiting(is_due, 0), attempt: 0, sequence: 1, took: None }
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] =
    &[ACCEPT, ACCEPT_NEW, HOLDERS, KNOWN, OPEN_LANES, OPEN_QUEUES, REMEMBER, TAG, WAIT];
