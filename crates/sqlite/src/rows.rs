//! Rows as values. Each is read in one place, and one that does not fit names its table, column and id.

use std::fmt::Display;

use foreman_core::job::QueueName;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::storage::Counters;
use foreman_core::target::Route;
use foreman_core::{EditId, Fence, JobId, Lane, Report, ScheduleId, SessionId, State, TenantId, Timestamp};
use rusqlite::Row;
use rusqlite::types::FromSql;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::error::Fault;

/// A row being read, with what to call it when it does not fit.
pub(crate) struct Cells<'r, Id = JobId> {
    pub row: &'r Row<'r>,
    pub table: &'static str,
    pub id: Id,
}

impl<'r> Cells<'r> {
    /// A row whose job id stands at `place`.
    pub fn of_job(row: &'r Row<'r>, table: &'static str, place: usize) -> Result<Self, Fault> {
        let id: Uuid = row.get(place).map_err(|error| Fault::misfit(table, "job", "unknown", error))?;
        Ok(Self { row, table, id: JobId(id) })
    }
}

impl<'r> Cells<'r, ScheduleId> {
    /// A row whose schedule's id stands at `place`.
    pub fn of_schedule(row: &'r Row<'r>, table: &'static str, place: usize) -> Result<Self, Fault> {
        let id: Uuid = row.get(place).map_err(|error| Fault::misfit(table, "schedule", "unknown", error))?;
        Ok(Self { row, table, id: ScheduleId(id) })
    }
}

impl<'r, Id: Display> Cells<'r, Id> {
    pub fn get<T: FromSql>(&self, place: usize, column: &str) -> Result<T, Fault> {
        self.row.get(place).map_err(|error| match error {
            rusqlite::Error::SqliteFailure(..) => Fault::Sql(error),
            misfit => Fault::misfit(self.table, column, &self.id, misfit),
        })
    }

    pub fn text(&self, place: usize, column: &str) -> Result<&'r str, Fault> {
        let cell = self.row.get_ref(place)?;
        cell.as_str().map_err(|error| Fault::misfit(self.table, column, &self.id, error))
    }

    pub fn time(&self, place: usize, column: &str) -> Result<Timestamp, Fault> {
        self.get(place, column).map(Timestamp::from_micros)
    }

    pub fn maybe_time(&self, place: usize, column: &str) -> Result<Option<Timestamp>, Fault> {
        Ok(self.get::<Option<i64>>(place, column)?.map(Timestamp::from_micros))
    }

    pub fn tenant(&self, place: usize) -> Result<TenantId, Fault> {
        self.text(place, "tenant").map(TenantId::new)
    }

    pub fn queue(&self, place: usize) -> Result<QueueName, Fault> {
        self.text(place, "queue").map(QueueName::from_stored)
    }

    pub fn lane(&self, place: usize) -> Result<Lane, Fault> {
        let rank = self.get(place, "lane")?;
        Lane::from_rank(rank).ok_or_else(|| Fault::misfit(self.table, "lane", &self.id, format!("{rank} is no lane")))
    }

    pub fn edit(&self, place: usize, column: &str) -> Result<Option<EditId>, Fault> {
        Ok(self.get::<Option<Uuid>>(place, column)?.map(EditId))
    }

    /// What is kept as JSON.
    pub fn json<T: DeserializeOwned>(&self, place: usize, column: &str) -> Result<T, Fault> {
        serde_json::from_str(self.text(place, column)?)
            .map_err(|error| Fault::misfit(self.table, column, &self.id, error))
    }

    pub fn report(&self, place: usize) -> Result<Report, Fault> {
        self.json(place, "report")
    }

    pub fn final_state(&self, place: usize) -> Result<State, Fault> {
        let text = self.text(place, "state")?;
        let state = text.parse::<State>().ok().filter(|state| state.is_final());
        state.ok_or_else(|| Fault::misfit(self.table, "state", &self.id, format!("{text:?} is not a final state")))
    }

    pub fn outcome(&self, place: usize) -> Result<AttemptOutcome, Fault> {
        let text = self.text(place, "outcome")?;
        AttemptOutcome::from_stored(text)
            .ok_or_else(|| Fault::misfit(self.table, "outcome", &self.id, format!("{text:?} is not an outcome")))
    }
}

/// From the columns `attempt, spent, crashes, moves`, the first of which stands at `first`.
pub(crate) fn counters(cells: &Cells<'_>, first: usize) -> Result<Counters, Fault> {
    let moves: u32 = cells.get(first + 3, "moves")?;
    Ok(Counters {
        attempt: cells.get(first, "attempt")?,
        spent: cells.get(first + 1, "spent")?,
        crashes: cells.get(first + 2, "crashes")?,
        // A binary that did not count has moved it at least once: its next move is not its first.
        moves: moves.max(1),
    })
}

/// What `ready` and `held` have in common: everything that travels with a job until it is final.
#[derive(Clone, Debug)]
pub(crate) struct JobRow {
    pub job: JobId,
    pub tenant: TenantId,
    pub queue: QueueName,
    pub route: Route,
    pub lane: Lane,
    pub kind: Option<String>,
    pub run_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub counters: Counters,
}

/// The columns of [`JobRow`], in its order of reading.
macro_rules! job_row_columns {
    () => {
        "job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, moves"
    };
}
pub(crate) use job_row_columns;

impl JobRow {
    fn read(cells: &Cells<'_>) -> Result<Self, Fault> {
        let route = Route::from_stored(cells.text(3, "route")?);
        Self::named(cells, (cells.tenant(1)?, cells.queue(2)?, route, cells.lane(4)?))
    }

    fn named(
        cells: &Cells<'_>,
        (tenant, queue, route, lane): (TenantId, QueueName, Route, Lane),
    ) -> Result<Self, Fault> {
        Ok(Self {
            job: cells.id,
            tenant,
            queue,
            route,
            lane,
            kind: cells.get(5, "kind")?,
            run_at: cells.time(6, "run_at")?,
            expires_at: cells.maybe_time(7, "expires_at")?,
            counters: counters(cells, 8)?,
        })
    }
}

/// A row of `ready`.
pub(crate) struct ReadyRow {
    pub job_row: JobRow,
    /// Its place in the order; none until it is due.
    pub key: Option<i64>,
}

impl ReadyRow {
    /// A row of a line whose names are at hand. `before`: the tenant of the row before it, whose this one is most of the time.
    pub fn of_line(
        row: &Row<'_>,
        (lane, route, queue): (Lane, &Route, &QueueName),
        before: Option<&TenantId>,
    ) -> Result<Self, Fault> {
        let cells = Cells::of_job(row, "ready", 0)?;
        let name = cells.text(1, "tenant")?;
        let tenant = before.filter(|tenant| tenant.as_str() == name).cloned().unwrap_or_else(|| TenantId::new(name));
        let (queue, route) = (queue.clone(), route.clone());
        Ok(Self { job_row: JobRow::named(&cells, (tenant, queue, route, lane))?, key: cells.get(12, "key")? })
    }
}

impl TryFrom<&Row<'_>> for ReadyRow {
    type Error = Fault;

    fn try_from(row: &Row<'_>) -> Result<Self, Fault> {
        let cells = Cells::of_job(row, "ready", 0)?;
        Ok(Self { job_row: JobRow::read(&cells)?, key: cells.get(12, "key")? })
    }
}

/// A row of `held`.
pub(crate) struct HeldRow {
    pub job_row: JobRow,
    pub claim: Fence,
}

impl TryFrom<&Row<'_>> for HeldRow {
    type Error = Fault;

    fn try_from(row: &Row<'_>) -> Result<Self, Fault> {
        let cells = Cells::of_job(row, "held", 0)?;
        Ok(Self { job_row: JobRow::read(&cells)?, claim: Fence(cells.get(12, "claim")?) })
    }
}

/// Under which claim an attempt ran.
#[derive(Clone, Debug)]
pub(crate) struct ClaimInfo {
    pub claim: Fence,
    pub session: SessionId,
    pub worker: Option<String>,
    pub started_at: Timestamp,
}
