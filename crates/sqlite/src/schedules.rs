//! Schedules, and the one transaction that fires them.
//!
//! What needs no transaction (turning specs and work into JSON and back) is done by the caller, before and after, so that
//! the one writer does only what must be in order. Two that fire or edit one schedule at once run one after the other, and
//! the second finds that it is no longer what it saw. Whoever dies half way has written nothing.
//!
//! A schedule that this version cannot read (a later one knows fields that this one does not) harms no other: it is left
//! out of what is due and of the list, and the log says so once. Asked for by name or id it is called damaged, and where it
//! stands can still be asked for. Neither a delete nor an edit reads what it says, so one can be rid of it.

#[cfg(test)]
mod bare;
mod due;
mod edit;
mod fire;
mod open;
mod prune;
mod read;
mod row;
mod ticks;

pub(crate) use prune::OldTicks;

use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::ports::{
    CreateAnswer, DeleteAnswer, DueSchedules, Edit, EditAnswer, Fired, Firing, Leader, Overdue, ScheduleHead,
    ScheduleStore, ScheduleView, SeenSchedule, StoreError, TickView,
};
use foreman_core::schedule::{NewSchedule, ScheduleKey, ScheduleName};
use foreman_core::{ScheduleId, TenantId, Timestamp};

use crate::SqliteStore;

#[async_trait]
impl ScheduleStore for SqliteStore {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.parts.readers.now())
    }

    async fn create_schedule(&self, new: &NewSchedule) -> Result<CreateAnswer, StoreError> {
        let new = edit::ScheduleCreation::prepare(new)?;
        self.write(move |write| new.create(write)).await?.answer()
    }

    /// One that this version cannot read is [`StoreError::Damaged`], as a job would be.
    async fn schedule(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleView>, StoreError> {
        let (tenant, key) = (tenant.clone(), key.clone());
        self.read(move |read| read::schedule(read, &tenant, &key)).await
    }

    async fn schedule_head(&self, tenant: &TenantId, key: &ScheduleKey) -> Result<Option<ScheduleHead>, StoreError> {
        let (tenant, key) = (tenant.clone(), key.clone());
        self.read(move |read| read::schedule_head(read, &tenant, &key)).await
    }

    /// One that this version cannot read is left out, and said so in the log: the others can be looked at.
    async fn schedules(
        &self,
        tenant: &TenantId,
        after: Option<&ScheduleName>,
        limit: usize,
    ) -> Result<Vec<ScheduleView>, StoreError> {
        let (tenant, after, unreadable) = (tenant.clone(), after.cloned(), Arc::clone(&self.parts.unreadable));
        self.read(move |read| read::schedules(read, &tenant, after.as_ref(), limit, &unreadable)).await
    }

    async fn overdue(&self, tenant: &TenantId, enough: u64) -> Result<Overdue, StoreError> {
        let tenant = tenant.clone();
        self.read(move |read| due::overdue(read, &tenant, enough)).await
    }

    async fn edit_schedule(&self, tenant: &TenantId, edit: &Edit) -> Result<EditAnswer, StoreError> {
        let edit = edit::ScheduleEdit::prepare(tenant, edit)?;
        self.write(move |write| edit.edit(write)).await?.answer()
    }

    async fn delete_schedule(
        &self,
        tenant: &TenantId,
        id: ScheduleId,
        seen: SeenSchedule,
    ) -> Result<DeleteAnswer, StoreError> {
        let tenant = tenant.clone();
        self.write(move |write| edit::delete(write, &tenant, id, seen)).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        let (unreadable, rotation) = (Arc::clone(&self.parts.unreadable), Arc::clone(&self.parts.rotation));
        self.read(move |read| due::due(read, limit, &unreadable, rotation.disabled())).await
    }

    /// There are no terms: one process has the file for itself.
    async fn fire(&self, _leader: Option<&Leader>, firings: &[Firing]) -> Result<Option<Vec<Fired>>, StoreError> {
        let firings = fire::prepare(firings)?;
        self.write(move |write| fire::fire(write, &firings)).await.map(Some)
    }

    async fn ticks(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickView>, StoreError> {
        self.read(move |read| ticks::ticks(read.sql, schedule, before, limit, read.now)).await
    }
}

fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
