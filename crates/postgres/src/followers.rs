//! Where followers of the change log are, and the transaction that moves them.
//!
//! A follower's row is locked and compared with where it believes to be; whether the leader's term is still in force is read behind
//! that lock, which may have been waited for. Then its effect is written and the row moved. Of two processes the second finds the
//! row moved and has written nothing. A process that dies before the commit has neither written nor moved; one that does not hear of its
//! commit sends the same again and finds the row moved, by itself.

use async_trait::async_trait;
use foreman_core::ports::{
    Advance, Advanced, Begin, ChangeLog, Effect, FollowerName, Followers, Leader, Position, StoreError,
};

use crate::error::Fault;
use crate::order::Reservation;
use crate::places::LOOKS;
use crate::statistics::TallyColumns;
use crate::upkeep::leads;
use crate::webhooks::post::DeliveryBatch;
use crate::write::Transaction;
use crate::{PostgresStore, look, transact};

pub(crate) const FIND: &str = "SELECT position FROM followers WHERE name = $1::text AND holds_log";
/// One that is there keeps its position. The row of a bookkeeper is there from the beginning, and holds nothing back until one comes.
pub(crate) const ADD: &str = "INSERT INTO followers (name, position) VALUES ($1::text, $2::bigint)
    ON CONFLICT (name) DO UPDATE SET holds_log = true WHERE NOT followers.holds_log";
pub(crate) const DISMISS: &str = "DELETE FROM followers WHERE name = $1::text";
pub(crate) const LOCK: &str = "SELECT position FROM followers WHERE name = $1::text FOR UPDATE";
pub(crate) const MOVE: &str = "UPDATE followers SET position = $2::bigint WHERE name = $1::text";

#[async_trait]
impl Followers for PostgresStore {
    async fn follow(
        &self,
        leader: Option<&Leader>,
        follower: &FollowerName,
        begin: Begin,
    ) -> Result<Option<Position>, StoreError> {
        for _ in 0..LOOKS {
            if let Some(position) = look!(self, Look, |tx| find(&tx, follower).await)? {
                return Ok(Some(position));
            }
            let at = match begin {
                Begin::Start => Position::default(),
                Begin::End => self.head().await?,
            };
            // Whoever adds it at the same moment has read the end of the same log. Dismissed since, it begins again.
            if transact!(self, data, Write, |tx| add(&tx, leader, follower, at).await)?.is_none() {
                return Ok(None);
            }
        }
        Err(StoreError::Unavailable(format!("the {follower} is dismissed as often as it is added")))
    }

    async fn advance(&self, leader: Option<&Leader>, advance: &Advance) -> Result<Option<Advanced>, StoreError> {
        let effect = PreparedEffect::new(&advance.effect)?;
        let reserved = effect.reserve(self).await?;
        let (advanced, left) = transact!(self, data, Write, |tx| {
            let mut keys = reserved.clone();
            let advanced = move_on(&tx, leader, advance, &effect, &mut keys).await;
            advanced.map(|advanced| (advanced, keys))
        })?;
        left.give_back(self).await;
        Ok(advanced)
    }

    async fn dismiss(&self, leader: Option<&Leader>, follower: &FollowerName) -> Result<Option<()>, StoreError> {
        transact!(self, data, Write, |tx| dismiss(&tx, leader, follower).await)
    }
}

async fn find(tx: &Transaction, follower: &FollowerName) -> Result<Option<Position>, Fault> {
    let row = tx.row(FIND, &[&follower.as_str()]).await?;
    Ok(row.map(|row| row.try_get("position")).transpose()?.map(Position))
}

async fn add(
    tx: &Transaction,
    leader: Option<&Leader>,
    follower: &FollowerName,
    at: Position,
) -> Result<Option<()>, Fault> {
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    tx.rows(ADD, &[&follower.as_str(), &at.0]).await?;
    Ok(Some(()))
}

async fn dismiss(tx: &Transaction, leader: Option<&Leader>, follower: &FollowerName) -> Result<Option<()>, Fault> {
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    tx.rows(DISMISS, &[&follower.as_str()]).await?;
    Ok(Some(()))
}

async fn move_on(
    tx: &Transaction,
    leader: Option<&Leader>,
    advance: &Advance,
    effect: &PreparedEffect<'_>,
    keys: &mut Reservation,
) -> Result<Option<Advanced>, Fault> {
    let name = advance.follower.as_str();
    let row = tx.row(LOCK, &[&name]).await?;
    if !leads(tx, leader).await? {
        return Ok(None);
    }
    let position: Option<i64> = row.map(|row| row.try_get("position")).transpose()?;
    if position != Some(advance.from.0) {
        return Ok(Some(Advanced::Overtaken));
    }
    if advance.to != advance.from {
        tx.rows(MOVE, &[&name, &advance.to.0]).await?;
    }
    effect.write(tx, keys).await?;
    Ok(Some(Advanced::Done))
}

/// An effect as its statements want it.
enum PreparedEffect<'a> {
    Nothing,
    Deliveries(DeliveryBatch<'a>),
    Counts(TallyColumns<'a>),
}

impl<'a> PreparedEffect<'a> {
    fn new(effect: &'a Effect) -> Result<Self, StoreError> {
        Ok(match effect {
            Effect::Nothing => Self::Nothing,
            Effect::Deliveries(deliveries) => Self::Deliveries(DeliveryBatch::new(deliveries)?),
            Effect::Counts(entries) => Self::Counts(TallyColumns::new(entries)),
        })
    }

    /// The places of new jobs in line, before the transaction that makes them.
    async fn reserve(&self, store: &PostgresStore) -> Result<Reservation, StoreError> {
        match self {
            Self::Deliveries(batch) => batch.reserve(store).await,
            Self::Nothing | Self::Counts(_) => Ok(Reservation::default()),
        }
    }

    async fn write(&self, tx: &Transaction, keys: &mut Reservation) -> Result<(), Fault> {
        match self {
            Self::Nothing => Ok(()),
            Self::Deliveries(batch) => batch.write(tx, keys).await,
            Self::Counts(books) => books.add(tx).await,
        }
    }
}

/// Every statement of this file.
pub(crate) const STATEMENTS: &[&str] = &[ADD, DISMISS, FIND, LOCK, MOVE];
