//! The weeks of `jobs` and `outcomes`.
//!
//! A partition holds the jobs whose ids were made within one week, from Monday to Monday, UTC. They are created ahead, this week
//! and the next few. Ids outside all of them go to the default partition: those of a machine whose clock is wrong, and those of a
//! week whose partition was not created in time. A week that is long past is dropped whole once hardly anything is left in it;
//! jobs that are kept longer move to the default partition first.
//!
//! Attaching a partition makes Postgres read the whole default partition under its strongest lock, to see that nothing in it
//! belongs to the new week, unless a CHECK constraint says so already. A few thousand rows are read in a moment. Where the default
//! partition is large, the constraint is added first, unchecked, then checked while everyone works (VALIDATE CONSTRAINT blocks
//! neither reads nor writes), and the partition is attached in a third transaction that reads nothing: 0.5 ms beside 200,000 rows,
//! of which checking took 39 ms. From the first of these to the last no job of that week can be inserted, so this is done only for
//! weeks that have not begun, and a constraint does not stay when it cannot be checked, when the partition cannot be attached
//! for another reason than a lock, or when its week is about to begin. A week that has begun stays in a default partition that is
//! large; the following ones do not.
//!
//! Any number of processes may do this at once: one at a time does, the others leave it to that one. Each step is one
//! transaction that gives up quickly when it would have to wait for a lock, because everyone else would wait behind it; the next
//! round tries again. A step that fails does not keep the others from being tried. A process that dies between the steps leaves a
//! constraint on the default partition; the next one finishes what it began, or drops the constraint if the week begins within a
//! day. Should nobody come for that long, jobs of that week are refused when it begins; `foreman doctor` names the constraint.
//!
//! On a connection that is closed afterwards: a caller that stops waiting half way leaves no lock behind.

use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object};
use foreman_core::ports::{Leader, PruneStep, StoreError};
use foreman_core::{Clock, Timestamp};
use tokio::time::Instant;
use tokio_postgres::error::SqlState;
use tracing::{debug, info, warn};
use uuid::Uuid;

use crate::PostgresStore;
use crate::connection::{set_transaction_timeout, unavailable};
use crate::error::Fault;
use crate::outlived::Outlived;
use crate::upkeep::LEADS;
use crate::value::Time;

const WEEK: i64 = 7 * 86_400_000_000;
/// The first Monday of 1970.
const MONDAY: i64 = 4 * 86_400_000_000;
/// So many weeks after this one are made ahead.
const AHEAD: i64 = 4;
/// A week that ended so long ago may be dropped with a few survivors left in it.
const OLD: i64 = 8 * WEEK;

/// Partitioned tables, with the column that says when a job was made.
const TABLES: [(&str, &str); 2] = [("jobs", "id"), ("outcomes", "job")];

/// "weeks": one process at a time.
const ONE_BY_ONE: i64 = 0x0077_6565_6b73;

/// How long it may take in all.
const LIMIT: Duration = Duration::from_mins(15);

/// How long checking one constraint may take within it: there is time left to drop one that cannot be checked.
const CHECK_LIMIT: Duration = Duration::from_mins(10);

/// So often it is tried to drop a constraint that keeps jobs out.
const DROP_TRIES: usize = 5;

/// How often a process looks.
const INTERVAL: Duration = Duration::from_mins(10);

/// How long a step that others have to wait for waits itself.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// So many rows at most are moved while everyone else waits: a fraction of a second.
const MOST_MOVED: i64 = 10_000;

/// A default partition with so many rows is read in a moment: 274 ms for two million that are cached.
const FEW: i64 = 50_000;

/// A week that begins so soon may already be written to, by machines whose clocks are ahead.
const SOON: i64 = 86_400_000_000;

/// A week, by the moment it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Week(i64);

impl Week {
    fn of(time: Timestamp) -> Self {
        Self((time.as_micros() - MONDAY).div_euclid(WEEK) * WEEK + MONDAY)
    }

    fn plus(self, weeks: i64) -> Self {
        Self(self.0 + weeks * WEEK)
    }

    /// `w20261109`
    fn name(self) -> String {
        let text = Timestamp::from_micros(self.0).to_string();
        format!("w{}", text[..10].replace('-', ""))
    }

    /// The smallest id that a UUIDv7 made at its beginning can have.
    fn floor(self) -> Uuid {
        let millis = u128::try_from(self.0 / 1_000).unwrap_or_default();
        Uuid::from_u128(millis << 80)
    }
}

/// How steps begin, and for whom they are done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Terms<'a> {
    leader: Option<&'a Leader>,
    clock: Option<&'a dyn Clock>,
    /// How long a statement may take that others have to wait for.
    limit: Option<Duration>,
}

impl Terms<'_> {
    /// Begins a step that must not keep others waiting. `false`, and it is not to be done: the leader's term is over.
    async fn begin(&self, connection: &ClientWrapper) -> Result<bool, Fault> {
        let limit = self.limit.unwrap_or(Duration::from_secs(5));
        self.begin_with(connection, limit).await
    }

    async fn begin_with(&self, connection: &ClientWrapper, limit: Duration) -> Result<bool, Fault> {
        let mut text = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '{}'; SET LOCAL statement_timeout = '{}'",
            LOCK_TIMEOUT.as_millis(),
            limit.as_millis()
        );
        // Each statement has its limit. One for the whole transaction, where the server has that, is shorter.
        text.push_str("; ");
        text.push_str(&set_transaction_timeout(Duration::ZERO, true));
        if let Some(clock) = self.clock {
            text.push_str(&format!("; SET LOCAL foreman.now = '{}'", clock.now()));
        }
        connection.batch_execute(&text).await?;
        let Some(Leader { office, term }) = self.leader else { return Ok(true) };
        let term = i64::try_from(*term).unwrap_or(i64::MAX);
        Ok(connection.query_opt(LEADS, &[office, &term]).await?.is_some())
    }
}

/// What was done, and the first thing that could not be.
#[derive(Default)]
struct Tended {
    made: usize,
    dropped: usize,
    is_deposed: bool,
    fault: Option<Fault>,
}

/// What became of a step.
enum PartitionStep {
    Done,
    NotNeeded,
    /// The leader's term is over.
    Deposed,
}

impl Tended {
    fn count(&mut self, what: &str, step: Result<PartitionStep, Fault>) -> usize {
        match step {
            Ok(PartitionStep::Done) => return 1,
            Ok(PartitionStep::NotNeeded) => {}
            Ok(PartitionStep::Deposed) => self.is_deposed = true,
            Err(fault) => {
                debug!("{what} is unchanged for now: {fault}");
                self.fault.get_or_insert(fault);
            }
        }
        0
    }
}

/// Creates the partitions of this and the next few weeks that are missing.
pub(crate) async fn ensure(connection: &ClientWrapper) -> Result<usize, Fault> {
    let mut tended = Tended::default();
    create_missing(connection, Terms::default(), &mut tended).await?;
    tended.fault.map_or(Ok(tended.made), Err)
}

async fn create_missing(connection: &ClientWrapper, terms: Terms<'_>, tended: &mut Tended) -> Result<(), Fault> {
    let now: Time = connection.query_one("SELECT now()", &[]).await?.try_get(0)?;
    let this = Week::of(now.0);
    drop_stale_checks(connection, terms, now.0, tended).await?;
    for week in (0..=AHEAD).map(|ahead| this.plus(ahead)) {
        for (table, column) in TABLES {
            if tended.is_deposed {
                return Ok(());
            }
            let partition = Partition { table, column, week, now: now.0 };
            let step = partition.make(connection, terms).await;
            tended.made += tended.count(&partition.name(), step);
        }
    }
    Ok(())
}

/// Constraints that were left behind, and whether they were checked.
const CHECKS: &str = "SELECT conname::text, convalidated FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace AND contype = 'c'
      AND conname ~ '^(jobs|outcomes)_default_not_w[0-9]{8}$' ORDER BY 1";

/// First of all: each may be what keeps jobs out. One stays while its partition can be attached by it before the week begins, or at
/// once because it is checked.
async fn drop_stale_checks(
    connection: &ClientWrapper,
    terms: Terms<'_>,
    now: Timestamp,
    tended: &mut Tended,
) -> Result<(), Fault> {
    for row in connection.query(CHECKS, &[]).await? {
        let (name, is_checked): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
        let Some(week) = week_of(&name) else { continue };
        for (table, column) in TABLES {
            let partition = Partition { table, column, week, now };
            if partition.check() != name || tended.is_deposed {
                continue;
            }
            let is_of_use = week >= Week::of(now) && (is_checked || !partition.has_begun());
            if !is_of_use || exists(connection, &partition.name()).await? {
                let step = partition.drop_check(connection, terms).await;
                tended.count(&name, step);
            }
        }
    }
    Ok(())
}

/// A partition that may be missing.
struct Partition {
    table: &'static str,
    column: &'static str,
    week: Week,
    now: Timestamp,
}

impl Partition {
    fn name(&self) -> String {
        format!("{}_{}", self.table, self.week.name())
    }

    /// Of the constraint that keeps its rows out of the default partition.
    fn check(&self) -> String {
        format!("{}_default_not_{}", self.table, self.week.name())
    }

    fn bounds(&self) -> (Uuid, Uuid) {
        (self.week.floor(), self.week.plus(1).floor())
    }

    /// Or is about to.
    fn has_begun(&self) -> bool {
        self.week.0 <= self.now.as_micros() + SOON
    }

    async fn make(&self, connection: &ClientWrapper, terms: Terms<'_>) -> Result<PartitionStep, Fault> {
        if exists(connection, &self.name()).await? {
            return Ok(PartitionStep::NotNeeded);
        }
        let Self { table, column, .. } = self;
        let (from, to) = self.bounds();
        let own = format!("{table}_default WHERE {column} >= '{from}' AND {column} < '{to}'");
        let has_begun = self.has_begun();
        let is_checked = self.has_check(connection).await?;
        if !is_checked && !is_more_than(connection, &format!("{table}_default"), FEW).await? {
            if !is_more_than(connection, &own, MOST_MOVED).await? {
                return self.attach(connection, terms).await;
            }
        } else if is_checked || (!has_begun && !is_more_than(connection, &own, 0).await?) {
            return self.attach_unread(connection, terms).await;
        }
        // Said each time somebody looks, which is not often.
        warn!(
            "partition {} is not created: {table}_default holds too many jobs of that week to move them at once; they stay there",
            self.name()
        );
        Ok(PartitionStep::NotNeeded)
    }

    /// In one transaction: whatever of this week is in the default partition moves over, and nothing is added to it meanwhile.
    async fn attach(&self, connection: &ClientWrapper, terms: Terms<'_>) -> Result<PartitionStep, Fault> {
        let (Self { table, column, .. }, name, (from, to)) = (self, self.name(), self.bounds());
        let step = async {
            if !terms.begin(connection).await? {
                return Ok(PartitionStep::Deposed);
            }
            connection.execute("SELECT pg_advisory_xact_lock($1)", &[&ONE_BY_ONE]).await?;
            if exists(connection, &name).await? {
                return Ok(PartitionStep::NotNeeded);
            }
            let text = format!(
                "LOCK TABLE {table}_default IN ACCESS EXCLUSIVE MODE;
                 CREATE TABLE {name} (LIKE {table} INCLUDING ALL);
                 WITH moved AS (DELETE FROM {table}_default WHERE {column} >= '{from}' AND {column} < '{to}' RETURNING *)
                 INSERT INTO {name} SELECT * FROM moved;
                 ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}')"
            );
            connection.batch_execute(&text).await?;
            Ok(PartitionStep::Done)
        };
        finish(connection, step.await).await
    }

    /// In three transactions, none of which reads the default partition while others wait.
    async fn attach_unread(&self, connection: &ClientWrapper, terms: Terms<'_>) -> Result<PartitionStep, Fault> {
        let steps = async {
            match self.add_check(connection, terms).await? {
                PartitionStep::Done => {}
                step => return Ok(step),
            }
            match self.validate(connection, terms).await? {
                PartitionStep::Done => {}
                step => return Ok(step),
            }
            self.attach_checked(connection, terms).await
        };
        let step = steps.await;
        // It must not keep jobs out. Where only a lock was in the way and there is time, the next round goes on with it; where another
        // process is at work, that one does.
        let stays = match &step {
            Ok(PartitionStep::Done | PartitionStep::Deposed) => true,
            Ok(PartitionStep::NotNeeded) => !self.has_begun(),
            Err(fault) => !self.has_begun() && is_lock(fault),
        };
        if !stays && let Err(fault) = self.drop_check(connection, terms).await {
            warn!(
                "constraint {} stays on {}_default, and keeps jobs of that week out: {fault}",
                self.check(),
                self.table
            );
        }
        step
    }

    /// Insists a little: while it is there, jobs of that week are refused.
    async fn drop_check(&self, connection: &ClientWrapper, terms: Terms<'_>) -> Result<PartitionStep, Fault> {
        let text = format!("ALTER TABLE {}_default DROP CONSTRAINT IF EXISTS {}", self.table, self.check());
        let mut tries = 0;
        loop {
            let step = async {
                if !terms.begin(connection).await? {
                    return Ok(PartitionStep::Deposed);
                }
                connection.batch_execute(&text).await?;
                Ok(PartitionStep::Done)
            };
            tries += 1;
            match finish(connection, step.await).await {
                Err(fault) if is_lock(&fault) && tries < DROP_TRIES => {}
                dropped => return dropped,
            }
        }
    }

    async fn has_check(&self, connection: &ClientWrapper) -> Result<bool, Fault> {
        Ok(self.checked(connection).await?.is_some())
    }

    /// Whether the constraint was checked, if there is one.
    async fn checked(&self, connection: &ClientWrapper) -> Result<Option<bool>, Fault> {
        let text = "SELECT convalidated FROM pg_constraint
                    WHERE conname = $1 AND connamespace = current_schema()::regnamespace";
        let row = connection.query_opt(text, &[&self.check()]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// From here on nothing of this week comes into the default partition.
    async fn add_check(&self, connection: &ClientWrapper, terms: Terms<'_>) -> Result<PartitionStep, Fault> {
        let (Self { table, column, .. }, name, check, (from, to)) = (self, self.name(), self.check(), self.bounds());
        let step = async {
            if !terms.begin(connection).await? {
                return Ok(PartitionStep::Deposed);
            }
            let mine: bool =
                connection.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&ONE_BY_ONE]).await?.try_get(0)?;
            if !mine || exists(connection, &name).await? {
                return Ok(PartitionStep::NotNeeded);
            }
            if !self.has_check(connection).await? {
                // A user who may not create tables hears of it before anything is kept out.
                let text = format!(
                    "CREATE TABLE {name} (LIKE {table} INCLUDING ALL);
                     DROP TABLE {name};
                     ALTER TABLE {table}_default
                     ADD CONSTRAINT {check} CHECK ({column} < '{from}' OR {column} >= '{to}') NOT VALID"
                );
                connection.batch_execute(&text).await?;
            }
            Ok(PartitionStep::Done)
        };
        finish(connection, step.await).await
    }

    /// Reads everything, under a lock that keeps out neither readers nor writers.
    async fn validate(&self, connection: &ClientWrapper, terms: Terms<'_>) -> Result<PartitionStep, Fault> {
        let step = async {
            if !terms.begin_with(connection, CHECK_LIMIT).await? {
                return Ok(PartitionStep::Deposed);
            }
            let text = format!("ALTER TABLE {}_default VALIDATE CONSTRAINT {}", self.table, self.check());
            connection.batch_execute(&text).await?;
            Ok(PartitionStep::Done)
        };
        finish(connection, step.await).await
    }

    async fn attach_checked(&self, connection: &ClientWrapper, terms: Terms<'_>) -> Result<PartitionStep, Fault> {
        let (Self { table, .. }, name, check, (from, to)) = (self, self.name(), self.check(), self.bounds());
        let step = async {
            if !terms.begin(connection).await? {
                return Ok(PartitionStep::Deposed);
            }
            connection.execute("SELECT pg_advisory_xact_lock($1)", &[&ONE_BY_ONE]).await?;
            // Unchecked, or dropped meanwhile, it would not keep the default partition from being read.
            if exists(connection, &name).await? || self.checked(connection).await? != Some(true) {
                return Ok(PartitionStep::NotNeeded);
            }
            // The constraint goes again: what is left of the week when it is dropped comes back to the default partition.
            let text = format!(
                "CREATE TABLE {name} (LIKE {table} INCLUDING ALL);
                 ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}');
                 ALTER TABLE {table}_default DROP CONSTRAINT {check}"
            );
            connection.batch_execute(&text).await?;
            Ok(PartitionStep::Done)
        };
        finish(connection, step.await).await
    }
}

/// Whether there are more rows than so many, reading no more than that.
async fn is_more_than(connection: &ClientWrapper, rows: &str, count: i64) -> Result<bool, Fault> {
    let text = format!("SELECT count(*) FROM (SELECT FROM {rows} LIMIT {}) AS few", count + 1);
    Ok(connection.query_one(&text, &[]).await?.try_get::<_, i64>(0)? > count)
}

fn is_lock(fault: &Fault) -> bool {
    matches!(fault, Fault::Sql(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
}

async fn finish(connection: &ClientWrapper, done: Result<PartitionStep, Fault>) -> Result<PartitionStep, Fault> {
    match done {
        Ok(answer) => {
            connection.batch_execute("COMMIT").await?;
            Ok(answer)
        }
        Err(fault) => {
            let _ = connection.batch_execute("ROLLBACK").await;
            Err(fault)
        }
    }
}

/// Asks the table of tables itself: `to_regclass` may answer from what this connection knew when its transaction began, which is
/// before it waited for the lock.
async fn exists(connection: &ClientWrapper, name: &str) -> Result<bool, Fault> {
    let text =
        "SELECT EXISTS (SELECT FROM pg_class WHERE relname = $1 AND relnamespace = current_schema()::regnamespace)";
    Ok(connection.query_one(text, &[&name]).await?.try_get(0)?)
}

/// Drops weeks that are over and in which at most `limit` jobs are left.
async fn drop_old(
    connection: &ClientWrapper,
    terms: Terms<'_>,
    limit: usize,
    outlived: &Outlived,
    tended: &mut Tended,
) -> Result<(), Fault> {
    let now: Time = connection.query_one("SELECT now()", &[]).await?.try_get(0)?;
    for (table, _) in TABLES {
        let rows = connection
            .query(
                "SELECT child.relname::text FROM pg_inherits JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid
                 WHERE pg_inherits.inhparent = $1::text::regclass AND child.relname ~ '_w[0-9]{8}$' ORDER BY 1",
                &[&table],
            )
            .await?;
        for row in rows {
            if tended.is_deposed {
                return Ok(());
            }
            let name: String = row.try_get(0)?;
            let Some(week) = week_of(&name) else { continue };
            let step = async {
                let Some(left) = left_of(connection, &name, week, now.0, limit).await? else {
                    return Ok(PartitionStep::NotNeeded);
                };
                let _moving = outlived.moving();
                drop_one(connection, terms, table, &name, left).await
            };
            tended.dropped += tended.count(&name, step.await);
        }
    }
    Ok(())
}

fn week_of(name: &str) -> Option<Week> {
    let digits = name.get(name.len().checked_sub(8)?..)?;
    let text = format!("{}-{}-{}T00:00:00Z", digits.get(..4)?, digits.get(4..6)?, digits.get(6..)?);
    text.parse().ok().map(Week::of)
}

/// How many jobs are left in a week that can be dropped; `None` where it cannot.
async fn left_of(
    connection: &ClientWrapper,
    name: &str,
    week: Week,
    now: Timestamp,
    limit: usize,
) -> Result<Option<i64>, Fault> {
    let ended = week.plus(1).0;
    if ended + WEEK > now.as_micros() {
        return Ok(None);
    }
    let text = format!("SELECT count(*) FROM (SELECT FROM {name} LIMIT {}) AS few", limit.saturating_add(1));
    let left: i64 = connection.query_one(&text, &[]).await?.try_get(0)?;
    let may_move = ended + OLD <= now.as_micros() && left <= i64::try_from(limit).unwrap_or(i64::MAX);
    Ok((left == 0 || may_move).then_some(left))
}

async fn drop_one(
    connection: &ClientWrapper,
    terms: Terms<'_>,
    table: &str,
    name: &str,
    left: i64,
) -> Result<PartitionStep, Fault> {
    let step = async {
        if !terms.begin(connection).await? {
            return Ok(PartitionStep::Deposed);
        }
        let mine: bool =
            connection.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&ONE_BY_ONE]).await?.try_get(0)?;
        if !mine || !exists(connection, name).await? {
            return Ok(PartitionStep::NotNeeded);
        }
        // Inserted again into the whole table, survivors find their way to the default partition.
        let text = format!(
            "ALTER TABLE {table} DETACH PARTITION {name};
             INSERT INTO {table} SELECT * FROM {name};
             DROP TABLE {name}"
        );
        connection.batch_execute(&text).await?;
        Ok(PartitionStep::Done)
    };
    let dropped = finish(connection, step.await).await?;
    if matches!(dropped, PartitionStep::Done) {
        info!("dropped partition {name}; moved {left} jobs with a longer retention to the default partition");
    }
    Ok(dropped)
}

impl PostgresStore {
    /// Creates the partitions of the coming weeks and drops those of weeks long past. Answers how many of each.
    pub async fn tend_partitions(&self, limit: usize) -> Result<(usize, usize), StoreError> {
        let tended = self.tend(None, limit).await?;
        tended.fault.map_or(Ok((tended.made, tended.dropped)), |fault| Err(fault.into()))
    }

    async fn tend(&self, leader: Option<&Leader>, limit: usize) -> Result<Tended, StoreError> {
        let terms = Terms { leader, clock: self.parts.clock.as_deref(), limit: Some(self.parts.ddl_timeout) };
        let tend = async {
            let connection = Object::take(self.parts.direct.get().await.map_err(|error| unavailable(&error))?);
            let mut tended = Tended::default();
            create_missing(&connection, terms, &mut tended).await?;
            if !tended.is_deposed {
                drop_old(&connection, terms, limit, &self.parts.outlived, &mut tended).await?;
            }
            Ok(tended)
        };
        self.in_time(LIMIT, tend).await
    }
}

/// Part of every round of pruning, every few minutes. What could not be done now is done the next time.
pub(crate) async fn prune(
    store: &PostgresStore,
    leader: Option<&Leader>,
    limit: usize,
) -> Result<Option<PruneStep>, StoreError> {
    let done = PruneStep { is_done: true, ..PruneStep::default() };
    let tended_at = || store.parts.tended_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if tended_at().is_some_and(|time: Instant| time.elapsed() < INTERVAL) {
        return Ok(Some(done));
    }
    let Tended { made, dropped, is_deposed, fault } = store.tend(leader, limit).await?;
    debug!("created {made} partitions and dropped {dropped}");
    match fault {
        // Such as a user who may not create tables. Four weeks later all jobs would go to the default partition.
        Some(fault) => Err(fault.into()),
        None if is_deposed => Ok(None),
        None => {
            *tended_at() = Some(Instant::now());
            Ok(Some(done))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_week_goes_from_monday_to_monday() {
        let week = Week::of(at("2026-11-15T23:59:59.999999Z"));
        assert_eq!(week.name(), "w20261109");
        assert_eq!(Week::of(at("2026-11-16T00:00:00Z")), week.plus(1));
        assert_eq!(week_of("outcomes_w20261109"), Some(week));
    }

    #[test]
    fn the_bounds_of_a_week_hold_the_ids_made_in_it() {
        let week = Week::of(at("2026-11-15T12:00:00Z"));
        let made_at = |millis: i64| {
            let seconds = u64::try_from(millis / 1_000).expect("after 1970");
            let nanos = u32::try_from(millis % 1_000).expect("below a thousand") * 1_000_000;
            Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
        };
        let (first, last) = (made_at(week.0 / 1_000), made_at(week.plus(1).0 / 1_000 - 1));
        assert!(week.floor() <= first && last < week.plus(1).floor());
        assert!(made_at(week.0 / 1_000 - 1) < week.floor());
    }
}
