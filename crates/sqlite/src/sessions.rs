//! Sessions: registered, renewed, drained, ended, lapsed.
//!
//! One row per worker keeps all its claims. Every verb here is an operation of the one writer, so a claim and the sweep of
//! its session never cross: whichever comes second finds what the first has left.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{Heartbeat, Note, OpenJob, Pulse, SessionInfo, SessionState, SessionStore, StoreError};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::storage::{Counters, StoredReport};
use foreman_core::{ClaimToken, Fence, JobId, SessionId, State, Timestamp, Verdict};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;
use tracing::warn;

use crate::SqliteStore;
use crate::claim_info;
use crate::error::Fault;
use crate::jobs::settle;
use crate::order::KeyAssignments;
use crate::places::{self, EndRecord};
use crate::rows::HeldRow;
use crate::write::Write;

#[async_trait]
impl SessionStore for SqliteStore {
    async fn register(&self, session: &SessionInfo) -> Result<(), StoreError> {
        let session = session.clone();
        self.write(move |write| register(write, &session)).await
    }

    async fn heartbeat(&self, session: SessionId, given_up: &[ClaimToken]) -> Result<Heartbeat, StoreError> {
        let beat = self.write(move |write| renew(write, session)).await?;
        if given_up.is_empty() || beat == Heartbeat::Gone {
            return Ok(beat);
        }
        // Apart from the renewal: a claim that cannot be released must not cost the worker its session. It is named again with
        // the next heartbeat.
        let given_up = given_up.to_vec();
        match self.write(move |write| release_some(write, session, &given_up)).await {
            Ok(held) => Ok(Heartbeat::Renewed { held }),
            Err(error) => {
                warn!(session.id = %session, "could not release abandoned claims yet: {error}");
                Ok(beat)
            }
        }
    }

    async fn held(&self, session: SessionId) -> Result<Vec<OpenJob>, StoreError> {
        self.read(move |read| open_jobs(read.sql, session)).await
    }

    async fn drain(&self, session: SessionId) -> Result<bool, StoreError> {
        self.write(move |write| drain(write, session)).await
    }

    async fn end(&self, session: SessionId) -> Result<usize, StoreError> {
        self.write(move |write| end(write, session)).await
    }

    async fn pulses(&self) -> Result<Vec<Pulse>, StoreError> {
        self.read(|read| pulses(read.sql, read.now)).await
    }

    async fn lapse(&self, pulse: Pulse) -> Result<Option<usize>, StoreError> {
        self.write(move |write| lapse(write, pulse)).await
    }
}

fn register(write: &Write<'_>, session: &SessionInfo) -> Result<(), Fault> {
    let list = |names: &[String]| serde_json::to_string(names).map_err(|error| StoreError::Broken(error.to_string()));
    let (queues, tasks) = (list(&session.queues)?, list(&session.tasks)?);
    let registered = write
        .prepared(
            "INSERT INTO sessions (id, worker, pid, version, slots, queues, ttl, state, beats, started_at, renewed_at,
                                   expires_at, tasks)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'live', 0, ?8, ?8, ?9, ?10) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            session.id.0,
            session.worker,
            session.pid,
            session.version,
            session.slots,
            queues,
            micros(session.ttl),
            write.now.as_micros(),
            write.now.plus(session.ttl).as_micros(),
            tasks,
        ])?;
    if registered == 1 {
        tell(write, session.id, session.worker.clone(), SessionState::Live);
    }
    Ok(())
}

fn tell(write: &Write<'_>, session: SessionId, worker: String, state: SessionState) {
    write.tell(Note::Worker { session, worker, state });
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn renew(write: &Write<'_>, session: SessionId) -> Result<Heartbeat, Fault> {
    let renewed = write
        .prepared(
            "UPDATE sessions SET beats = beats + 1, renewed_at = ?2, expires_at = ?2 + min(ttl, ?3)
             WHERE id = ?1 AND state IN ('live', 'draining')",
        )?
        // Never past the end of time, where the sum would turn into a fraction.
        .execute((session.0, write.now.as_micros(), i64::MAX - write.now.as_micros()))?;
    if renewed == 0 {
        return Ok(Heartbeat::Gone);
    }
    Ok(Heartbeat::Renewed { held: open_jobs(write.sql, session)? })
}

/// What is held after that.
fn release_some(write: &Write<'_>, session: SessionId, given_up: &[ClaimToken]) -> Result<Vec<OpenJob>, Fault> {
    for token in given_up {
        let claim: Option<i64> = write
            .prepared("SELECT number FROM claims WHERE session = ?1 AND token = ?2")?
            .query_row((session.0, token.0), |row| row.get(0))
            .optional()?;
        if let Some(number) = claim {
            release(write, Fence(number))?;
        }
    }
    open_jobs(write.sql, session)
}

fn open_jobs(sql: &Connection, session: SessionId) -> Result<Vec<OpenJob>, Fault> {
    let mut statement = sql.prepare_cached(
        "SELECT held.claim, held.job FROM claims CROSS JOIN held ON held.claim = claims.number
         WHERE claims.session = ?1 ORDER BY held.claim, held.job",
    )?;
    let open =
        statement.query_map([session.0], |row| Ok(OpenJob { fence: Fence(row.get(0)?), job: JobId(row.get(1)?) }))?;
    Ok(open.collect::<Result<_, _>>()?)
}

fn drain(write: &Write<'_>, session: SessionId) -> Result<bool, Fault> {
    let drained: Option<String> = write
        .prepared("UPDATE sessions SET state = 'draining' WHERE id = ?1 AND state = 'live' RETURNING worker")?
        .query_row([session.0], |row| row.get(0))
        .optional()?;
    if let Some(worker) = drained {
        tell(write, session, worker, SessionState::Draining);
        return Ok(true);
    }
    Ok(write.prepared("SELECT 1 FROM sessions WHERE id = ?1 AND state = 'draining'")?.exists([session.0])?)
}

fn end(write: &Write<'_>, session: SessionId) -> Result<usize, Fault> {
    if !mark(write, session, SessionState::Ended)? {
        return Ok(0);
    }
    let mut handed_back = 0;
    for claim in claim_info::claims_of(write, session)? {
        handed_back += release(write, claim)?;
    }
    Ok(handed_back)
}

/// Takes a session that is alive to its last state; false when it was not.
fn mark(write: &Write<'_>, session: SessionId, state: SessionState) -> Result<bool, Fault> {
    let marked: Option<String> = write
        .prepared(
            "UPDATE sessions SET state = ?2, ended_at = ?3 WHERE id = ?1 AND state IN ('live', 'draining')
             RETURNING worker",
        )?
        .query_row((session.0, state.as_str(), write.now.as_micros()), |row| row.get(0))
        .optional()?;
    let Some(worker) = marked else { return Ok(false) };
    tell(write, session, worker, state);
    Ok(true)
}

/// Hands every open job of a claim back, refunded, to the front of the line.
fn release(write: &Write<'_>, claim: Fence) -> Result<usize, Fault> {
    let claim_info = claim_info::of_claim(write, claim)?;
    let open = places::open_in(write, claim)?;
    let released = open.len();
    let mut order = KeyAssignments::new(write.sql);
    for held in open {
        places::leave_held(write, held.job_row.job)?;
        let end = EndRecord { claim_info: Some(&claim_info), is_settled: false, report: &StoredReport::empty() };
        settle::close(write, &mut order, held.job_row, &Verdict::Released, &end)?;
    }
    order.keep(write)?;
    places::drop_claim_if_empty(write, claim)?;
    Ok(released)
}

fn pulses(sql: &Connection, now: Timestamp) -> Result<Vec<Pulse>, Fault> {
    let mut statement = sql.prepare_cached(
        "SELECT id, beats, expires_at <= ?1, ttl FROM sessions WHERE state IN ('live', 'draining') ORDER BY id",
    )?;
    let pulses = statement.query_map([now.as_micros()], |row| {
        Ok(Pulse {
            session: SessionId(row.get(0)?),
            beats: row.get(1)?,
            is_overdue: row.get(2)?,
            ttl: Duration::from_micros(u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default()),
        })
    })?;
    Ok(pulses.collect::<Result<_, _>>()?)
}

fn lapse(write: &Write<'_>, pulse: Pulse) -> Result<Option<usize>, Fault> {
    let is_still_so = write
        .prepared(
            "SELECT 1 FROM sessions
             WHERE id = ?1 AND beats = ?2 AND expires_at <= ?3 AND state IN ('live', 'draining')",
        )?
        .query_row((pulse.session.0, pulse.beats, write.now.as_micros()), |_| Ok(()))
        .optional()?;
    if is_still_so.is_none() { Ok(None) } else { bury(write, pulse.session).map(Some) }
}

/// Marks a session dead for ever, and only then returns its jobs.
fn bury(write: &Write<'_>, session: SessionId) -> Result<usize, Fault> {
    mark(write, session, SessionState::Dead)?;
    let mut returned = 0;
    let mut order = KeyAssignments::new(write.sql);
    for claim in claim_info::claims_of(write, session)? {
        let claim_info = claim_info::of_claim(write, claim)?;
        let open = places::open_in(write, claim)?;
        returned += open.len();
        for held in open {
            places::leave_held(write, held.job_row.job)?;
            let fate = fate(write, &held)?;
            let error = fate.error();
            let report = if fate.is_death() { StoredReport::of_end(&error)? } else { StoredReport::of_lapse(&error)? };
            let end = EndRecord { claim_info: Some(&claim_info), is_settled: false, report: &report };
            let mut job_row = held.job_row;
            job_row.counters.crashes += 1;
            if fate.is_death() {
                places::finish(write, &job_row, State::Dead, &end)?;
            } else {
                places::record_attempt(write, &job_row, AttemptOutcome::Lapsed, &end)?;
                places::put_in_front(write, &mut order, &job_row, end.took(write.now))?;
            }
        }
        places::drop_claim_if_empty(write, claim)?;
    }
    order.keep(write)?;
    Ok(returned)
}

/// What a crash of its worker means for a job.
enum CrashFate {
    Again,
    NoAttemptLeft,
    Poison { crashes: u32 },
}

impl CrashFate {
    fn is_death(&self) -> bool {
        !matches!(self, CrashFate::Again)
    }

    fn error(&self) -> String {
        match self {
            CrashFate::Again => "the worker died or lost the store".into(),
            CrashFate::NoAttemptLeft => "the worker died or lost the store, and no attempt is left".into(),
            CrashFate::Poison { crashes } => format!("poison: the worker died {crashes} times while it ran this job"),
        }
    }
}

fn fate(write: &Write<'_>, held: &HeldRow) -> Result<CrashFate, Fault> {
    let Counters { spent, crashes, .. } = held.job_row.counters;
    let crashes = crashes + 1;
    if crashes >= MAX_CRASHES {
        Ok(CrashFate::Poison { crashes })
    } else if spent >= max_attempts(write, held.job_row.job)? {
        Ok(CrashFate::NoAttemptLeft)
    } else {
        Ok(CrashFate::Again)
    }
}

/// The one thing of the work that a lapse must know.
#[derive(Deserialize)]
struct AttemptLimit {
    max_attempts: u32,
}

fn max_attempts(write: &Write<'_>, job: JobId) -> Result<u32, Fault> {
    let work: String = write.prepared("SELECT work FROM jobs WHERE id = ?1")?.query_row([job.0], |row| row.get(0))?;
    // Work that cannot be read must not keep a dead session's other jobs: the next claim puts this one aside.
    Ok(serde_json::from_str(&work).map_or(u32::MAX, |limit: AttemptLimit| limit.max_attempts))
}

/// Lapses every session left from before, for the lock proves their processes dead. Answers with their number, and that of
/// the jobs that returned.
pub(crate) fn bury_all(write: &Write<'_>) -> Result<(usize, usize), Fault> {
    let mut statement = write.prepared("SELECT id FROM sessions WHERE state IN ('live', 'draining') ORDER BY id")?;
    let left: HashSet<SessionId> =
        statement.query_map([], |row| row.get(0).map(SessionId))?.collect::<Result<_, _>>()?;
    let mut returned = 0;
    for session in &left {
        returned += bury(write, *session)?;
    }
    Ok((left.len(), returned))
}
