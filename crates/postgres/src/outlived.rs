//! Finding final jobs that are kept no longer, without asking every partition about every tenant.
//!
//! `outcomes` is indexed by tenant, state and time (the jobs of users, and Foreman's own apart), so the oldest of one tenant and state is one look into one partition. With
//! 10,000 tenants and a year of weeks that would be 580,000 looks for each state, every minute. So partitions are looked
//! through one at a time, from one pair of tenant and state to the next that exists, a thousand pairs in one statement; the next
//! statement begins where the last one stopped. What was learned is kept: the moment before which nothing of a state has finished
//! in that partition. Jobs only ever finish now, so until that moment is old enough for the state's retention there is nothing to
//! find in the partition, and it is not looked at.
//!
//! That knowledge is this process's own and lost with it; the next leader looks through every partition once. Two that look at the
//! same time find the same jobs, and one of them removes each.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foreman_core::ports::{Leader, PruneKind, PruneStep, Retention, StoreError};
use foreman_core::{JobId, State, Timestamp};
use tracing::warn;
use uuid::Uuid;

use crate::error::Fault;
use crate::jobs::remove::forget;
use crate::upkeep::{leads, note_done};
use crate::value::{Time, bound};
use crate::write::Transaction;
use crate::{PostgresStore, transact};

/// Pairs of tenant and state that one statement looks at: about five milliseconds.
const PAIRS: usize = 1_000;

/// Longer than a transaction lasts: one that began before a look through a partition and committed after it may have left a job
/// there that finished when it began.
const SLACK: Duration = Duration::from_mins(5);

/// A pass over the partitions that was begun so long ago does not say what is old now, and is followed by another.
const RECENT: Duration = Duration::from_mins(1);

/// The states that are kept for a time, and the order they are asked about.
const STATES: [State; 4] = [State::Completed, State::Failed, State::Cancelled, State::Dead];

/// The default partition is named in the texts, and the name of another put in its place.
const DEFAULT: &str = "outcomes_default";

pub(crate) const PARTITIONS: &str = "SELECT quote_ident(child.relname), foreman_now(),
           coalesce((SELECT bool_and(indisvalid) AND count(*) = 2 FROM pg_index
                     WHERE indexrelid IN (to_regclass('ended_of_users'), to_regclass('ended_of_foreman'))), false)
    FROM pg_inherits JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid
    WHERE pg_inherits.inhparent = 'outcomes'::regclass ORDER BY 1";

/// From one pair of tenant and state to the next, and the oldest of each: one look into each index for every pair that exists.
pub(crate) const WALK: &str = "WITH RECURSIVE pairs (place, tenant, state, oldest) AS (
        SELECT 0::bigint, $1::text, $2::text, NULL::timestamptz
        UNION ALL
        SELECT pairs.place + 1, following.tenant, following.state, following.finished_at
        FROM pairs
        CROSS JOIN LATERAL (
            SELECT either.* FROM (
                (SELECT outcomes_default.tenant, outcomes_default.state, outcomes_default.finished_at FROM outcomes_default
                 WHERE (outcomes_default.tenant, outcomes_default.state) > (pairs.tenant, pairs.state)
                   AND left(outcomes_default.queue, 8) <> 'foreman.'
                 ORDER BY outcomes_default.tenant, outcomes_default.state, outcomes_default.finished_at LIMIT 1)
                UNION ALL
                (SELECT outcomes_default.tenant, outcomes_default.state, outcomes_default.finished_at FROM outcomes_default
                 WHERE (outcomes_default.tenant, outcomes_default.state) > (pairs.tenant, pairs.state)
                   AND left(outcomes_default.queue, 8) = 'foreman.'
                 ORDER BY outcomes_default.tenant, outcomes_default.state, outcomes_default.finished_at LIMIT 1)
            ) AS either
            ORDER BY either.tenant, either.state, either.finished_at LIMIT 1
        ) AS following
        WHERE pairs.place < $3::bigint
    )
    SELECT tenant, state, oldest FROM pairs WHERE place > 0 ORDER BY place";

/// Jobs of these pairs that finished by then.
pub(crate) const OLD: &str = "SELECT old.job
    FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS pair (tenant, state, until)
    CROSS JOIN LATERAL (
        (SELECT outcomes_default.job FROM outcomes_default
         WHERE outcomes_default.tenant = pair.tenant AND outcomes_default.state = pair.state
           AND outcomes_default.finished_at <= pair.until AND left(outcomes_default.queue, 8) <> 'foreman.'
         ORDER BY outcomes_default.finished_at LIMIT $4::bigint)
        UNION ALL
        (SELECT outcomes_default.job FROM outcomes_default
         WHERE outcomes_default.tenant = pair.tenant AND outcomes_default.state = pair.state
           AND outcomes_default.finished_at <= pair.until AND left(outcomes_default.queue, 8) = 'foreman.'
         ORDER BY outcomes_default.finished_at LIMIT $4)
    ) AS old
    LIMIT $4";

/// Those that are still old: a re-drive may have been faster.
pub(crate) const LOCK: &str = "SELECT outcomes_default.job FROM outcomes_default
    JOIN unnest($2::text[], $3::timestamptz[]) AS kept (state, until)
      ON outcomes_default.state = kept.state AND outcomes_default.finished_at <= kept.until
    WHERE outcomes_default.job = ANY ($1::uuid[])
    ORDER BY outcomes_default.job FOR UPDATE OF outcomes_default SKIP LOCKED";

/// A text as it is listed among the statements, from one about any partition.
pub(crate) fn of_default(text: &str) -> Option<String> {
    let start = text.find("outcomes_w")?;
    let name = text.get(start..start + "outcomes_w".len() + 8)?;
    name["outcomes_w".len()..].bytes().all(|byte| byte.is_ascii_digit()).then(|| text.replace(name, DEFAULT))
}

/// What this process knows of the partitions.
#[derive(Default)]
pub(crate) struct Outlived {
    walk: Mutex<Walk>,
    /// Rises when jobs that finished long ago were put into the default partition.
    moved: AtomicU64,
}

#[derive(Default)]
struct Walk {
    /// Under which term this was learned: others may have moved jobs since.
    leader: Option<Leader>,
    moved: u64,
    /// Nothing of a state has finished before this moment, partition by partition.
    floors: HashMap<String, [Timestamp; STATES.len()]>,
    /// What is left of this pass, the first under way.
    left: VecDeque<String>,
    /// When this pass was begun.
    began: Timestamp,
    /// Those that could not be looked through come last the next time.
    failed: Vec<String>,
    /// Where the look through the first of them goes on.
    look: Option<PartitionLook>,
}

/// A look through one partition.
#[derive(Clone)]
struct PartitionLook {
    after: (String, String),
    /// The oldest that stays, state by state.
    oldest: [Timestamp; STATES.len()],
}

/// What a step found out.
enum PruneFinding {
    Deposed,
    /// Nothing is old.
    Nothing,
    Looked {
        removed: usize,
        /// Where to go on; `None` when the partition is done.
        look: Result<PartitionLook, [Timestamp; STATES.len()]>,
    },
}

impl Outlived {
    /// Held while jobs are moved into the default partition: whether that was committed is not always known.
    pub fn moving(&self) -> Moving<'_> {
        Moving(self)
    }

    fn take(&self, leader: Option<&Leader>) -> Walk {
        let mut walk = std::mem::take(&mut *self.walk.lock().unwrap_or_else(PoisonError::into_inner));
        let moved = self.moved.load(Ordering::Relaxed);
        if walk.leader.as_ref() != leader {
            walk = Walk::default();
        } else if walk.moved != moved {
            walk.floors.remove(DEFAULT);
            // They may have come before where a look through it has got to.
            if walk.left.front().is_some_and(|name| name == DEFAULT) {
                walk.look = None;
            }
        }
        Walk { leader: leader.cloned(), moved, ..walk }
    }

    fn put_back(&self, walk: Walk) {
        *self.walk.lock().unwrap_or_else(PoisonError::into_inner) = walk;
    }
}

pub(crate) struct Moving<'a>(&'a Outlived);

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.0.moved.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is known, taken out for a step: whoever comes at the same time knows nothing, and finds out. It is put back in the end, also
/// when the caller stops waiting half way; then the step has failed.
struct BorrowedWalk<'a> {
    outlived: &'a Outlived,
    walk: Walk,
    /// The partition that the step looks at.
    under_way: Mutex<Option<String>>,
    is_known: bool,
}

impl<'a> BorrowedWalk<'a> {
    fn new(outlived: &'a Outlived, leader: Option<&Leader>) -> Self {
        Self { outlived, walk: outlived.take(leader), under_way: Mutex::default(), is_known: false }
    }

    fn look_at(&self, partition: &str) {
        *self.under_way.lock().unwrap_or_else(PoisonError::into_inner) = Some(partition.to_owned());
    }

    fn learn(mut self, stepped: Stepped) -> Option<PruneStep> {
        self.is_known = true;
        self.walk.learn(stepped)
    }
}

impl Drop for BorrowedWalk<'_> {
    fn drop(&mut self) {
        let mut walk = std::mem::take(&mut self.walk);
        if !self.is_known {
            walk.fail(self.under_way.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
        self.outlived.put_back(walk);
    }
}

fn keeps(retention: &Retention) -> [Option<Duration>; STATES.len()] {
    [retention.completed, retention.failed, retention.cancelled, retention.dead]
}

/// One step: a part of a partition, and the jobs there that are kept no longer.
pub(crate) async fn prune(
    store: &PostgresStore,
    leader: Option<&Leader>,
    retention: &Retention,
    limit: usize,
) -> Result<Option<PruneStep>, StoreError> {
    let keep = keeps(retention);
    let taken = BorrowedWalk::new(&store.parts.outlived, leader);
    let found = transact!(store, data, Write, |tx| step(&tx, &taken, &keep, limit).await.map(Box::new))?;
    Ok(taken.learn(*found))
}

/// A step, by the database's clock.
struct Stepped {
    left: VecDeque<String>,
    began: Timestamp,
    now: Timestamp,
    found: PruneFinding,
}

impl Walk {
    fn learn(&mut self, Stepped { left, began, now, found }: Stepped) -> Option<PruneStep> {
        (self.left, self.began) = (left, began);
        match found {
            PruneFinding::Deposed => None,
            PruneFinding::Nothing => Some(PruneStep { is_done: true, ..PruneStep::default() }),
            PruneFinding::Looked { removed, look } => {
                match look {
                    Ok(look) => self.look = Some(look),
                    Err(oldest) => {
                        self.look = None;
                        let done = self.left.pop_front();
                        self.failed.retain(|name| Some(name) != done.as_ref());
                        self.floors.extend(done.map(|name| (name, oldest)));
                    }
                }
                // With the last partition of a pass. What has become old since belongs to the next one.
                let is_done = self.left.is_empty() && began.plus(RECENT) > now;
                Some(PruneStep { removed, is_done, ..PruneStep::default() })
            }
        }
    }

    /// The partition may be gone, or be locked for long: the others are not to wait for it. A step that came to none keeps its place.
    fn fail(&mut self, under_way: Option<String>) {
        let Some(partition) = under_way else { return };
        self.failed.retain(|name| *name != partition);
        self.failed.push(partition);
        self.left.clear();
        self.look = None;
    }

    /// Whether something there may have outlived its retention.
    fn is_due(&self, partition: &str, keep: &[Option<Duration>; STATES.len()], now: Timestamp) -> bool {
        let Some(floors) = self.floors.get(partition) else { return true };
        floors.iter().zip(keep).any(|(floor, keep)| keep.is_some_and(|keep| floor.plus(keep) <= now))
    }
}

async fn step(
    tx: &Transaction,
    taken: &BorrowedWalk<'_>,
    keep: &[Option<Duration>; STATES.len()],
    limit: usize,
) -> Result<Stepped, Fault> {
    let walk = &taken.walk;
    if !leads(tx, walk.leader.as_ref()).await? {
        let (began, now) = (walk.began, walk.began);
        return Ok(Stepped { left: VecDeque::new(), began, now, found: PruneFinding::Deposed });
    }
    let mut all = Vec::new();
    let mut now = Timestamp::default();
    let mut is_indexed = true;
    for row in tx.rows(PARTITIONS, &[]).await? {
        all.push(row.try_get::<_, String>(0)?);
        now = row.try_get::<_, Time>(1)?.0;
        is_indexed = row.try_get(2)?;
    }
    if !is_indexed {
        // Without them each pair would be a walk over all of a partition.
        warn!("finished jobs are not pruned before their indexes are built; `foreman migrate up` builds them");
        return Ok(Stepped { left: walk.left.clone(), began: walk.began, now, found: PruneFinding::Nothing });
    }
    let mut left = walk.left.clone();
    // Some may have been dropped since.
    left.retain(|name| all.contains(name));
    let is_new = left.is_empty();
    if is_new {
        all.retain(|name| walk.is_due(name, keep, now));
        // Those that failed last, the oldest first.
        all.sort_by_key(|name| (walk.failed.iter().position(|failed| failed == name), name == DEFAULT, name.clone()));
        left.extend(all);
    }
    let began = if is_new { now } else { walk.began };
    let Some(partition) = left.front().cloned() else {
        note_done(tx, PruneKind::Jobs).await?;
        return Ok(Stepped { left, began, now, found: PruneFinding::Nothing });
    };
    taken.look_at(&partition);
    let fresh = || PartitionLook { after: (String::new(), String::new()), oldest: [now.minus(SLACK); STATES.len()] };
    let look = if is_new || walk.left.front() != Some(&partition) { None } else { walk.look.clone() };
    let found = look_through(tx, &partition, look.unwrap_or_else(fresh), keep, now, limit).await?;
    if left.len() == 1 && matches!(found, PruneFinding::Looked { look: Err(_), .. }) {
        note_done(tx, PruneKind::Jobs).await?;
    }
    Ok(Stepped { left, began, now, found })
}

async fn look_through(
    tx: &Transaction,
    partition: &str,
    mut look: PartitionLook,
    keep: &[Option<Duration>; STATES.len()],
    now: Timestamp,
    limit: usize,
) -> Result<PruneFinding, Fault> {
    let text = |text: &str| text.replace(DEFAULT, partition);
    let untils: Vec<Option<Timestamp>> = keep.iter().map(|keep| keep.map(|keep| now.minus(keep))).collect();
    let (tenant, state) = (look.after.0.as_str(), look.after.1.as_str());
    let rows = tx.rows(&text(WALK), &[&tenant, &state, &bound(PAIRS)]).await?;
    let (mut tenants, mut states, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
    // The last pair before the first that is old.
    let mut before = None;
    let mut last = look.after.clone();
    for row in &rows {
        let pair = (row.try_get::<_, String>(0)?, row.try_get::<_, String>(1)?);
        let oldest = row.try_get::<_, Time>(2)?.0;
        let Some(place) = STATES.iter().position(|state| state.as_str() == pair.1) else { continue };
        match untils[place] {
            Some(until) if oldest <= until => {
                before.get_or_insert_with(|| last.clone());
                tenants.push(pair.0.clone());
                states.push(pair.1.clone());
                cuts.push(Time(until));
                // What stays finished later. One that somebody has locked is looked for again.
                look.oldest[place] = look.oldest[place].min(until);
            }
            _ => look.oldest[place] = look.oldest[place].min(oldest),
        }
        last = pair;
    }
    let is_end = rows.len() < PAIRS;
    let Some(before) = before else {
        look.after = last;
        return Ok(PruneFinding::Looked { removed: 0, look: if is_end { Err(look.oldest) } else { Ok(look) } });
    };
    let old = tx.rows(&text(OLD), &[&tenants, &states, &cuts, &bound(limit)]).await?;
    let old: Vec<Uuid> = old.iter().map(|row| Ok(row.try_get(0)?)).collect::<Result<_, Fault>>()?;
    let kept: Vec<(&str, Time)> = STATES
        .iter()
        .zip(&untils)
        .filter_map(|(state, until)| until.map(|until| (state.as_str(), Time(until))))
        .collect();
    let (names, ends): (Vec<&str>, Vec<Time>) = kept.into_iter().unzip();
    let locked = tx.rows(&text(LOCK), &[&old, &names, &ends]).await?;
    let locked: Vec<JobId> = locked.iter().map(|row| Ok(JobId(row.try_get(0)?))).collect::<Result<_, Fault>>()?;
    forget(tx, &locked).await?;
    let removed = locked.len();
    // As much as may be removed at once, and there may be more of the same pairs. Not when others hold it all: then on.
    if old.len() >= limit && removed > 0 {
        look.after = before;
        return Ok(PruneFinding::Looked { removed, look: Ok(look) });
    }
    look.after = last;
    Ok(PruneFinding::Looked { removed, look: if is_end { Err(look.oldest) } else { Ok(look) } })
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[LOCK, OLD, PARTITIONS, WALK];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_about_a_week_is_known_by_that_about_the_default() {
        for text in [WALK, OLD, LOCK] {
            let other = text.replace(DEFAULT, "outcomes_w20261109");
            assert_ne!(other, text);
            assert_eq!(of_default(&other).as_deref(), Some(text));
        }
        assert_eq!(of_default("SELECT 1 FROM outcomes_with"), None);
    }
}
