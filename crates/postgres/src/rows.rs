//! Rows as values. Each is read in one place, and one that does not fit names its table, column and id.

use std::fmt::Display;

use foreman_core::job::QueueName;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::StoreError;
use foreman_core::storage::Counters;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, Report, State, TenantId, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::error::Fault;
use crate::value::Time;

/// A row being read, with what to call it when it does not fit.
pub(crate) struct Cells<'r, Id = JobId> {
    pub row: &'r Row,
    pub table: &'static str,
    pub id: Id,
}

impl<'r> Cells<'r> {
    /// A row whose job id stands at `place`.
    pub fn of_job(row: &'r Row, table: &'static str, place: usize) -> Result<Self, Fault> {
        let id: Uuid = row.try_get(place).map_err(|error| Fault::misfit(table, "job", "unknown", error))?;
        Ok(Self { row, table, id: JobId(id) })
    }
}

impl<'r, Id: Copy + Display> Cells<'r, Id> {
    pub fn get<T: FromSql<'r>>(&self, place: usize, column: &str) -> Result<T, Fault> {
        self.row.try_get(place).map_err(|error| Fault::misfit(self.table, column, self.id, error))
    }

    /// A counter, which is never below zero.
    pub fn count(&self, place: usize, column: &str) -> Result<u32, Fault> {
        let count: i32 = self.get(place, column)?;
        u32::try_from(count).map_err(|error| Fault::misfit(self.table, column, self.id, error))
    }

    /// How often a job has moved; 0 where nobody counted.
    pub fn moves(&self, place: usize) -> Result<u32, Fault> {
        let moves: Option<i32> = self.get(place, "moves")?;
        u32::try_from(moves.unwrap_or_default()).map_err(|error| Fault::misfit(self.table, "moves", self.id, error))
    }

    pub fn time(&self, place: usize, column: &str) -> Result<Timestamp, Fault> {
        self.get::<Time>(place, column).map(|time| time.0)
    }

    pub fn maybe_time(&self, place: usize, column: &str) -> Result<Option<Timestamp>, Fault> {
        Ok(self.get::<Option<Time>>(place, column)?.map(|time| time.0))
    }

    pub fn tenant(&self, place: usize) -> Result<TenantId, Fault> {
        self.get::<&str>(place, "tenant").map(TenantId::new)
    }

    pub fn queue(&self, place: usize) -> Result<QueueName, Fault> {
        self.get(place, "queue").map(QueueName::from_stored)
    }

    pub fn lane(&self, place: usize) -> Result<Lane, Fault> {
        let rank: i16 = self.get(place, "lane")?;
        Lane::from_rank(rank.into())
            .ok_or_else(|| Fault::misfit(self.table, "lane", self.id, format!("{rank} is no lane")))
    }

    pub fn report(&self, place: usize) -> Result<Report, Fault> {
        serde_json::from_str(self.get(place, "report")?)
            .map_err(|error| Fault::misfit(self.table, "report", self.id, error))
    }

    /// A value that is kept as its JSON.
    pub fn json<T: DeserializeOwned>(&self, place: usize, column: &str) -> Result<T, Fault> {
        serde_json::from_str(self.get(place, column)?)
            .map_err(|error| Fault::misfit(self.table, column, self.id, error))
    }

    pub fn final_state(&self, place: usize) -> Result<State, Fault> {
        let text: &str = self.get(place, "state")?;
        let state = text.parse::<State>().ok().filter(|state| state.is_final());
        state.ok_or_else(|| Fault::misfit(self.table, "state", self.id, format!("{text:?} is not a final state")))
    }

    pub fn outcome(&self, place: usize) -> Result<AttemptOutcome, Fault> {
        let text: &str = self.get(place, "outcome")?;
        AttemptOutcome::from_stored(text)
            .ok_or_else(|| Fault::misfit(self.table, "outcome", self.id, format!("{text:?} is not an outcome")))
    }
}

/// A row being read by the names of its columns: what the statements of the protocol answer is read so (`jobs/`, `places.rs`).
pub(crate) struct NamedCells<'r, Id = JobId> {
    row: &'r Row,
    table: &'static str,
    pub id: Id,
}

impl<'r> NamedCells<'r> {
    /// A row about a job.
    pub fn of_job(row: &'r Row, table: &'static str) -> Result<Self, Fault> {
        Self::of(row, table, "job")
    }

    /// A row of `jobs` itself.
    pub fn of_asked(row: &'r Row) -> Result<Self, Fault> {
        Self::of(row, "jobs", "id")
    }

    fn of(row: &'r Row, table: &'static str, column: &str) -> Result<Self, Fault> {
        let id: Uuid = row.try_get(column).map_err(|error| Fault::misfit(table, column, "unknown", error))?;
        Ok(Self { row, table, id: JobId(id) })
    }
}

impl<'r, Id: Copy + Display> NamedCells<'r, Id> {
    /// A row about something else.
    pub fn about(row: &'r Row, table: &'static str, id: Id) -> Self {
        Self { row, table, id }
    }

    pub fn get<T: FromSql<'r>>(&self, column: &str) -> Result<T, Fault> {
        self.row.try_get(column).map_err(|error| self.misfit(column, error))
    }

    /// A counter, which is never below zero.
    pub fn count(&self, column: &str) -> Result<u32, Fault> {
        u32::try_from(self.get::<i32>(column)?).map_err(|error| self.misfit(column, error))
    }

    /// How often a job has moved; 0 where nobody counted.
    pub fn moves(&self) -> Result<u32, Fault> {
        let moves: Option<i32> = self.get("moves")?;
        u32::try_from(moves.unwrap_or_default()).map_err(|error| self.misfit("moves", error))
    }

    pub fn time(&self, column: &str) -> Result<Timestamp, Fault> {
        self.get::<Time>(column).map(|time| time.0)
    }

    pub fn maybe_time(&self, column: &str) -> Result<Option<Timestamp>, Fault> {
        Ok(self.get::<Option<Time>>(column)?.map(|time| time.0))
    }

    pub fn tenant(&self) -> Result<TenantId, Fault> {
        self.get::<&str>("tenant").map(TenantId::new)
    }

    pub fn queue(&self) -> Result<QueueName, Fault> {
        self.get("queue").map(QueueName::from_stored)
    }

    pub fn route(&self) -> Result<Route, Fault> {
        self.get("route").map(Route::from_stored)
    }

    pub fn lane(&self) -> Result<Lane, Fault> {
        let rank: i16 = self.get("lane")?;
        Lane::from_rank(rank.into()).ok_or_else(|| self.misfit("lane", format!("{rank} is no lane")))
    }

    /// None for a job that goes on.
    pub fn final_state(&self) -> Result<Option<State>, Fault> {
        let Some(text) = self.get::<Option<&str>>("state")? else { return Ok(None) };
        let state = text.parse::<State>().ok().filter(|state| state.is_final());
        state.map(Some).ok_or_else(|| self.misfit("state", format!("{text:?} is not a final state")))
    }

    pub fn misfit(&self, column: &str, why: impl Display) -> Fault {
        Fault::misfit(self.table, column, self.id, why)
    }
}

/// Counters from three columns beside each other, and one further on.
pub(crate) fn counters(cells: &Cells<'_>, first: usize, moves: usize) -> Result<Counters, Fault> {
    Ok(Counters {
        attempt: cells.count(first, "attempt")?,
        spent: cells.count(first + 1, "spent")?,
        crashes: cells.count(first + 2, "crashes")?,
        moves: cells.moves(moves)?,
    })
}

/// How often a job has moved, as `foreman_counted` has it: where nobody counted, as often as its tries may have moved it.
pub(crate) fn counted(moves: i32, attempt: u32) -> u32 {
    match u32::try_from(moves) {
        Ok(moves) if moves > 0 => moves,
        _ => attempt.saturating_mul(3).saturating_add(2),
    }
}

/// A count in the column at `place`, which is never below zero.
pub(crate) fn number(row: &Row, place: usize) -> Result<u64, Fault> {
    Ok(u64::try_from(row.try_get::<_, i64>(place)?).unwrap_or_default())
}

/// How Postgres keeps a lane.
pub(crate) fn rank(lane: Lane) -> i16 {
    lane.rank() as i16
}

/// A value as the JSON that is kept of it.
pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Broken(format!("it cannot be written down: {error}")))
}
