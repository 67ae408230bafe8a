//! Schedules as they are kept: made, read, changed and removed, each in one transaction of a round trip or two.
//!
//! What two do at once is decided by the schedule's row: whoever changes or fires it compares, under its lock, all that the
//! decision was based on. A process that dies half way leaves the row as it was.
//!
//! A row that cannot be read, because a later version has written it, is left out where others are asked for along with it, and
//! said so in the log, once.

pub(crate) mod due;
pub(crate) mod edit;
pub(crate) mod fire;
pub(crate) mod read;
mod row;
pub(crate) mod ticks;

use async_trait::async_trait;
use foreman_core::ports::{
    CreateAnswer, DeleteAnswer, DueSchedules, Edit, EditAnswer, Fired, Firing, Leader, Overdue, ScheduleHead,
    ScheduleStore, ScheduleView, SeenSchedule, StoreError, TickView,
};
use foreman_core::schedule::{NewSchedule, ScheduleKey, ScheduleName};
use foreman_core::{ScheduleId, TenantId, Timestamp};

use crate::rows::json;
use crate::{PostgresStore, look, transact};

#[async_trait]
impl ScheduleStore for PostgresStore {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        look!(self, Look, |tx| read::time(&tx).await)
    }

    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError> {
        let (spec, work) = (json(&*new.schedule.spec)?, json(&*new.schedule.work)?);
        transact!(self, data, Write, |tx| edit::create(&tx, new, &spec, &work).await)
    }

    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError> {
        look!(self, Look, |tx| read::one(&tx, tenant, key).await)
    }

    async fn schedule_head(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleHead>, StoreError> {
        look!(self, Look, |tx| read::schedule_head(&tx, tenant, key).await)
    }

    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError> {
        look!(self, Read, |tx| read::list(&tx, tenant, after, limit, &self.parts.unreadable).await)
    }

    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError> {
        look!(self, Look, |tx| due::overdue(&tx, tenant, enough).await)
    }

    async fn edit_schedule(&self, tenant: &TenantId, asked: &Edit) -> Result<EditAnswer, StoreError> {
        let (spec, work) = (json(&*asked.spec)?, json(&*asked.work)?);
        transact!(self, data, Write, |tx| edit::edit(&tx, tenant, asked, &spec, &work).await)
    }

    async fn delete_schedule(
        &self,
        tenant: &TenantId,
        id: ScheduleId,
        seen: SeenSchedule,
    ) -> Result<DeleteAnswer, StoreError> {
        transact!(self, data, Write, |tx| edit::delete(&tx, tenant, id, seen).await)
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        look!(self, Read, |tx| due::due(&tx, limit, &self.parts.unreadable).await)
    }

    async fn fire(&self, leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError> {
        fire::fire(self, leader, firings).await
    }

    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError> {
        look!(self, Look, |tx| ticks::list(&tx, schedule, before, limit).await)
    }
}

/// For the test that prepares every statement: those of each file below this one.
pub(crate) const STATEMENTS: &[&[&str]] =
    &[due::STATEMENTS, edit::STATEMENTS, fire::STATEMENTS, read::STATEMENTS, ticks::STATEMENTS];
