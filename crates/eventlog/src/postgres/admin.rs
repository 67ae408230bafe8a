//! Looking at consumers, and changing what they do: pause, resume, skip, reset, replay, rename, reshard, forget.
//!
//! Every change is one transaction with an audit row that says who and why. Those that only change a checkpoint do not wait for a
//! handler: a batch in flight finds it moved and begins again from there. Those that change who owns what (rename, reshard,
//! forget) wait for the batch in flight, and lock in its order: first the ownership, then the checkpoint.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient, Transaction};
use uuid::Uuid;

use super::error::LogError;
use super::log::EventLog;
use crate::Cursor;

/// The administration of a log's consumers, in the name of someone.
#[derive(Clone)]
pub struct Admin {
    log: EventLog,
    actor: String,
}

#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("there is no consumer {0:?}")]
    UnknownConsumer(String),
    #[error("there is a consumer {0:?} already")]
    NameTaken(String),
    /// It was skipped, handled or moved in the meantime.
    #[error("consumer {consumer:?} is not stuck at position {position}")]
    NotStuckThere { consumer: String, position: i64 },
    #[error("consumer {0:?} must be paused first")]
    NotPaused(String),
    /// Shards at different positions have no common place to go on from.
    #[error(
        "the shards of consumer {consumer:?} are at different positions, from {lowest} to {highest}: let them reach the same first"
    )]
    UnevenShards { consumer: String, lowest: i64, highest: i64 },
    #[error(transparent)]
    Log(#[from] LogError),
}

impl From<tokio_postgres::Error> for AdminError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Log(error.into())
    }
}

/// A consumer with its shards.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerStatus {
    pub name: String,
    pub shards: Vec<CheckpointStatus>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointStatus {
    pub shard: i32,
    pub position: i64,
    /// Positions that are left. About as many events, because positions have gaps.
    pub lag: i64,
    /// How old the next event is. None: there is nothing left.
    pub lag_secs: Option<f64>,
    /// None: no worker that has this consumer is alive, or it is just changing hands.
    pub worker: Option<Uuid>,
    pub epoch: Option<i64>,
    pub is_paused: bool,
    pub paused_reason: Option<String>,
    pub stuck_at: Option<StuckEvent>,
}

/// The event that fails.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckEvent {
    pub position: i64,
    pub event_id: Option<Uuid>,
    pub event_type: Option<String>,
    pub failures: i32,
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WorkerStatus {
    pub id: Uuid,
    pub application_name: String,
    pub silent_secs: f64,
    /// What it can run, as name/shard.
    pub consumers: Vec<String>,
    /// What it has. None: a hot standby.
    pub assigned: i64,
    pub is_leader: bool,
}

impl Admin {
    /// `actor` is written into the audit rows.
    pub fn new(log: EventLog, actor: impl Into<String>) -> Self {
        Self { log, actor: actor.into() }
    }

    pub async fn consumers(&self, client: &impl GenericClient) -> Result<Vec<ConsumerStatus>, AdminError> {
        self.status(client, None).await
    }

    pub async fn consumer(
        &self,
        client: &impl GenericClient,
        name: &str,
    ) -> Result<Option<ConsumerStatus>, AdminError> {
        Ok(self.status(client, Some(name)).await?.pop())
    }

    async fn status(&self, client: &impl GenericClient, name: Option<&str>) -> Result<Vec<ConsumerStatus>, AdminError> {
        let frontier = self.log.frontier(client).await?.position;
        let mut found: Vec<ConsumerStatus> = Vec::new();
        let of: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::TEXT), (&frontier, Type::INT8)];
        for row in client.query_typed(&self.log.sql.status, &of).await? {
            let name: String = row.try_get(0)?;
            let position: i64 = row.try_get(3)?;
            let failed: Option<i64> = row.try_get(7)?;
            let shard = CheckpointStatus {
                shard: row.try_get(1)?,
                position,
                lag: (frontier - position).max(0),
                lag_secs: row.try_get(13)?,
                worker: row.try_get(11)?,
                epoch: row.try_get(12)?,
                is_paused: row.try_get(4)?,
                paused_reason: row.try_get(5)?,
                stuck_at: failed
                    .map(|position| {
                        Ok::<_, tokio_postgres::Error>(StuckEvent {
                            position,
                            event_id: row.try_get(8)?,
                            event_type: row.try_get(9)?,
                            failures: row.try_get(6)?,
                            error: row.try_get(10)?,
                        })
                    })
                    .transpose()?,
            };
            match found.last_mut().filter(|last| last.name == name) {
                Some(last) => last.shards.push(shard),
                None => found.push(ConsumerStatus { name, shards: vec![shard] }),
            }
        }
        Ok(found)
    }

    pub async fn workers(&self, client: &impl GenericClient) -> Result<Vec<WorkerStatus>, AdminError> {
        let rows = client.query_typed(&self.log.sql.workers, &[]).await?;
        let of = |row: &tokio_postgres::Row| {
            Ok(WorkerStatus {
                id: row.try_get(0)?,
                application_name: row.try_get(1)?,
                silent_secs: row.try_get(2)?,
                consumers: row.try_get(3)?,
                assigned: row.try_get(4)?,
                is_leader: row.try_get(5)?,
            })
        };
        rows.iter().map(of).collect()
    }

    /// After the batch in flight. `shard`: all of them if none is named.
    pub async fn pause(
        &self,
        client: &mut Client,
        name: &str,
        shard: Option<i32>,
        reason: &str,
    ) -> Result<(), AdminError> {
        let tx = client.transaction().await?;
        let of: [(&(dyn ToSql + Sync), Type); 3] = [(&name, Type::TEXT), (&shard, Type::INT4), (&reason, Type::TEXT)];
        known(tx.execute_typed(&self.log.sql.pause, &of).await?, name)?;
        self.audit(&tx, name, shard, "pause", reason, None).await?;
        Ok(tx.commit().await?)
    }

    /// Goes on at the same event, with a new count of failures: also how a paused consumer is made to retry.
    pub async fn resume(
        &self,
        client: &mut Client,
        name: &str,
        shard: Option<i32>,
        reason: &str,
    ) -> Result<(), AdminError> {
        let tx = client.transaction().await?;
        let of: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::TEXT), (&shard, Type::INT4)];
        known(tx.execute_typed(&self.log.sql.resume, &of).await?, name)?;
        self.audit(&tx, name, shard, "resume", reason, None).await?;
        Ok(tx.commit().await?)
    }

    /// Goes on after the event that it is stuck at, which is parked. Names the event, so that a second call does not
    /// skip the next one.
    pub async fn skip(
        &self,
        client: &mut Client,
        name: &str,
        shard: i32,
        position: i64,
        reason: &str,
    ) -> Result<(), AdminError> {
        let tx = client.transaction().await?;
        let before = self.positions(&tx, name, Some(shard)).await?;
        let of: [(&(dyn ToSql + Sync), Type); 3] = [(&name, Type::TEXT), (&shard, Type::INT4), (&position, Type::INT8)];
        if tx.execute_typed(&self.log.sql.skip, &of).await? == 0 {
            return Err(AdminError::NotStuckThere { consumer: name.to_owned(), position });
        }
        let text = format!("skipped by {}: {reason}", self.actor);
        let [name_of, shard_of, position_of] = of;
        tx.execute_typed(&self.log.sql.park, &[name_of, shard_of, position_of, (&text, Type::TEXT)]).await?;
        let moved = before.first().map(|(_, from)| (*from, position));
        self.audit(&tx, name, Some(shard), "skip", reason, moved).await?;
        Ok(tx.commit().await?)
    }

    /// Puts the checkpoint anywhere: forward to leave events out, back to handle them again. A cursor of an older epoch goes
    /// back as it does for readers.
    pub async fn reset(&self, client: &mut Client, name: &str, to: Cursor, reason: &str) -> Result<(), AdminError> {
        self.put(client, name, "reset", to, reason).await
    }

    /// Handles everything again that is still in the log. What the consumer has derived is for its owner to empty first.
    pub async fn replay(&self, client: &mut Client, name: &str, reason: &str) -> Result<(), AdminError> {
        self.put(client, name, "replay", Cursor::START, reason).await
    }

    async fn put(
        &self,
        client: &mut Client,
        name: &str,
        action: &str,
        to: Cursor,
        reason: &str,
    ) -> Result<(), AdminError> {
        let tx = client.transaction().await?;
        let row =
            tx.query_typed_one(&self.log.sql.horizon, &[(&to.epoch(), Type::INT4)]).await.map_err(LogError::from)?;
        let (frontier, later): (i64, Option<i64>) = (row.try_get(0)?, row.try_get(3)?);
        // Never ahead of what can be read: events that are not visible yet would be passed over.
        let to = later.map_or(to.position(), |starts_after| starts_after.min(to.position())).min(frontier);
        let before = self.positions(&tx, name, None).await?;
        let of: [(&(dyn ToSql + Sync), Type); 3] = [(&name, Type::TEXT), (&None::<i32>, Type::INT4), (&to, Type::INT8)];
        known(tx.execute_typed(&self.log.sql.move_to, &of).await?, name)?;
        for (shard, from) in before {
            self.audit(&tx, name, Some(shard), action, reason, Some((from, to))).await?;
        }
        Ok(tx.commit().await?)
    }

    /// The checkpoint goes with the name. Start the program that knows the new name after this.
    pub async fn rename(&self, client: &mut Client, name: &str, new: &str, reason: &str) -> Result<(), AdminError> {
        let tx = client.transaction().await?;
        if !self.positions(&tx, new, None).await?.is_empty() {
            return Err(AdminError::NameTaken(new.to_owned()));
        }
        let of: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::TEXT), (&new, Type::TEXT)];
        tx.execute_typed(&self.log.sql.rename_assignments, &of).await?;
        known(tx.execute_typed(&self.log.sql.rename_checkpoints, &of).await?, name)?;
        tx.execute_typed(&self.log.sql.rename_parked, &of).await?;
        self.audit(&tx, new, None, "rename", &format!("was {name}: {reason}"), None).await?;
        Ok(tx.commit().await?)
    }

    /// Another number of shards. All of them must be paused and at the same position: an event goes to another shard then.
    pub async fn reshard(&self, client: &mut Client, name: &str, shards: u16, reason: &str) -> Result<(), AdminError> {
        let shards = i32::from(shards.max(1));
        let tx = client.transaction().await?;
        tx.execute_typed(&self.log.sql.disown, &[(&name, Type::TEXT)]).await?;
        let before = self.positions(&tx, name, None).await?;
        let (lowest, highest) = (before.iter().map(|(_, at)| *at).min(), before.iter().map(|(_, at)| *at).max());
        let (Some(lowest), Some(highest)) = (lowest, highest) else {
            return Err(AdminError::UnknownConsumer(name.to_owned()));
        };
        let status = self.status(&tx, Some(name)).await?;
        if status.iter().flat_map(|consumer| &consumer.shards).any(|shard| !shard.is_paused) {
            return Err(AdminError::NotPaused(name.to_owned()));
        }
        if lowest != highest {
            return Err(AdminError::UnevenShards { consumer: name.to_owned(), lowest, highest });
        }
        let of: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::TEXT), (&shards, Type::INT4)];
        tx.execute_typed(&self.log.sql.reshard, &of).await?;
        self.audit(&tx, name, None, "reshard", &format!("{} to {shards} shards: {reason}", before.len()), None).await?;
        Ok(tx.commit().await?)
    }

    /// Removes a consumer that is run no more, so that retention need not wait for it. One that still runs stops, and
    /// begins again at the start of the log when its worker is started again.
    pub async fn forget(&self, client: &mut Client, name: &str, reason: &str) -> Result<(), AdminError> {
        let tx = client.transaction().await?;
        tx.execute_typed(&self.log.sql.disown, &[(&name, Type::TEXT)]).await?;
        if self.positions(&tx, name, None).await?.is_empty() {
            return Err(AdminError::UnknownConsumer(name.to_owned()));
        }
        tx.query_typed(&self.log.sql.forget, &[(&name, Type::TEXT)]).await?;
        self.audit(&tx, name, None, "forget", reason, None).await?;
        Ok(tx.commit().await?)
    }

    /// Events that this consumer was made to pass, the oldest first.
    pub async fn parked(
        &self,
        client: &impl GenericClient,
        name: &str,
        limit: i64,
    ) -> Result<Vec<StuckEvent>, AdminError> {
        let of: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::TEXT), (&limit, Type::INT8)];
        let rows = client.query_typed(&self.log.sql.parked_of, &of).await?;
        let of = |row: &tokio_postgres::Row| {
            Ok(StuckEvent {
                position: row.try_get(0)?,
                event_id: row.try_get(1)?,
                event_type: row.try_get(2)?,
                failures: 0,
                error: row.try_get(3)?,
            })
        };
        rows.iter().map(of).collect()
    }

    /// Each shard with its checkpoint, locked.
    async fn positions(
        &self,
        tx: &Transaction<'_>,
        name: &str,
        shard: Option<i32>,
    ) -> Result<Vec<(i32, i64)>, AdminError> {
        let of: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::TEXT), (&shard, Type::INT4)];
        let rows = tx.query_typed(&self.log.sql.positions, &of).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    async fn audit(
        &self,
        tx: &Transaction<'_>,
        name: &str,
        shard: Option<i32>,
        action: &str,
        reason: &str,
        moved: Option<(i64, i64)>,
    ) -> Result<(), AdminError> {
        let of: [(&(dyn ToSql + Sync), Type); 7] = [
            (&name, Type::TEXT),
            (&shard, Type::INT4),
            (&action, Type::TEXT),
            (&self.actor, Type::TEXT),
            (&reason, Type::TEXT),
            (&moved.map(|(from, _)| from), Type::INT8),
            (&moved.map(|(_, to)| to), Type::INT8),
        ];
        tx.execute_typed(&self.log.sql.audit, &of).await?;
        Ok(())
    }
}

fn known(rows: u64, name: &str) -> Result<(), AdminError> {
    if rows == 0 { Err(AdminError::UnknownConsumer(name.to_owned())) } else { Ok(()) }
}
