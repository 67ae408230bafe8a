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
use crate::jobs::submit::NewBatch;
use crate::order::Reservation;
use crate::places::LOOKS;
use crate::statistics::TallyColumns;
use crate::upkeep::{LEADS, leads};
use crate::value::Arg;
use crate::webhooks::post::DeliveryBatch;
use crate::write::{Query, Transaction};
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
        if let PreparedEffect::Deliveries(batch) = &effect
            && let Some(new) = batch.as_new()
        {
            let done =
                transact!(self, data, Write, |tx| deliver_new(&tx, leader, advance, batch, &new, &reserved).await)?;
            if let DeliveredAtOnce::Done(advanced) = done {
                if advanced != Some(Advanced::Done) {
                    reserved.give_back(self).await;
                }
                return Ok(advanced);
            }
        }
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

/// Locks the follower's row. `None`: the leader's term is over.
async fn lock(tx: &Transaction, leader: Option<&Leader>, advance: &Advance) -> Result<Option<Advanced>, Fault> {
    let name = advance.follower.as_str();
    let (office, term) = leader.map_or(("", 0), |Leader { office, term }| (office.as_str(), *term));
    let term = i64::try_from(term).unwrap_or(i64::MAX);
    let (lock, leads): ([&dyn Arg; 1], [&dyn Arg; 2]) = ([&name], [&office, &term]);
    let steps: [Query<'_>; 2] = [(LOCK, &lock), (LEADS, &leads)];
    // The second is looked at behind the lock, which may have been waited for.
    let mut answers = tx.all(if leader.is_some() { &steps[..] } else { &steps[..1] }).await?.into_iter();
    let row = answers.next().and_then(|rows| rows.into_iter().next());
    if answers.next().is_some_and(|rows| rows.is_empty()) {
        return Ok(None);
    }
    let position: Option<i64> = row.map(|row| row.try_get("position")).transpose()?;
    Ok(Some(if position == Some(advance.from.0) { Advanced::Done } else { Advanced::Overtaken }))
}

async fn move_on(
    tx: &Transaction,
    leader: Option<&Leader>,
    advance: &Advance,
    effect: &PreparedEffect<'_>,
    keys: &mut Reservation,
) -> Result<Option<Advanced>, Fault> {
    let found = lock(tx, leader, advance).await?;
    if found == Some(Advanced::Done) {
        if advance.to != advance.from {
            tx.rows(MOVE, &[&advance.follower.as_str(), &advance.to.0]).await?;
        }
        effect.write(tx, keys).await?;
    }
    Ok(found)
}

/// What became of a move with deliveries that should all be new.
enum DeliveredAtOnce {
    Done(Option<Advanced>),
    /// Nothing happened: one of them is there already, or their queue has to be opened first.
    Refused,
}

/// The same in two round trips.
async fn deliver_new(
    tx: &Transaction,
    leader: Option<&Leader>,
    advance: &Advance,
    batch: &DeliveryBatch<'_>,
    new: &NewBatch<'_>,
    keys: &Reservation,
) -> Result<DeliveredAtOnce, Fault> {
    let found = lock(tx, leader, advance).await?;
    if found != Some(Advanced::Done) {
        return Ok(DeliveredAtOnce::Done(found));
    }
    let (name, to) = (advance.follower.as_str(), advance.to.0);
    let is_new = batch.write_new(new, tx, keys, (MOVE, &[&name, &to])).await?;
    Ok(if is_new { DeliveredAtOnce::Done(found) } else { DeliveredAtOnce::Refused })
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
