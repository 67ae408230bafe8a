//! The proof that every job is in exactly one place, by looking at all of them; and that ticks and schedules agree, and
//! tenants with what is theirs.

use std::path::Path;

use foreman_core::ports::Census;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use uuid::Uuid;

use crate::config::Config;
use crate::connection;
use crate::error::{Fault, OpenError};
use crate::migrate;

/// So many violations are listed; more would not be read.
const MAX_VIOLATIONS: usize = 100;

/// Each finds what must not be, with the sentence that says so: `{}` is the row's first column, a second `{}` its next.
const CHECKS: [(&str, &str); 27] = [
    (
        "job {} is in {} places",
        "SELECT jobs.id, (ready.job IS NOT NULL) + (held.job IS NOT NULL) + (outcomes.job IS NOT NULL) AS places
         FROM jobs LEFT JOIN ready ON ready.job = jobs.id LEFT JOIN held ON held.job = jobs.id
              LEFT JOIN outcomes ON outcomes.job = jobs.id
         WHERE places <> 1",
    ),
    ("ready has job {}, which does not exist", "SELECT job FROM ready WHERE job NOT IN (SELECT id FROM jobs)"),
    ("held has job {}, which does not exist", "SELECT job FROM held WHERE job NOT IN (SELECT id FROM jobs)"),
    ("outcomes has job {}, which does not exist", "SELECT job FROM outcomes WHERE job NOT IN (SELECT id FROM jobs)"),
    (
        "attempts are kept of job {}, which does not exist",
        "SELECT DISTINCT job FROM attempts WHERE job NOT IN (SELECT id FROM jobs)",
    ),
    (
        "tags are kept of job {}, which does not exist",
        "SELECT DISTINCT job FROM job_tags WHERE job NOT IN (SELECT id FROM jobs)",
    ),
    (
        "an idempotency key refers to job {}, which does not exist",
        "SELECT job FROM idempotency WHERE job NOT IN (SELECT id FROM jobs)",
    ),
    (
        "claim {} holds nothing and is still there",
        "SELECT number FROM claims WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.claim = claims.number)",
    ),
    (
        "job {} is held in claim {}, which does not exist",
        "SELECT job, claim FROM held WHERE claim NOT IN (SELECT number FROM claims)",
    ),
    (
        "claim {} belongs to session {}, which is not alive",
        "SELECT number, session FROM claims
         WHERE session NOT IN (SELECT id FROM sessions WHERE state IN ('live', 'draining'))",
    ),
    (
        "job {} has the outcome {}, which is not final",
        "SELECT job, state FROM outcomes WHERE state NOT IN ('completed', 'failed', 'dead', 'cancelled')",
    ),
    (
        "job {} has two ends recorded for the attempt under claim {}",
        "SELECT attempts.job, attempts.claim FROM attempts JOIN outcomes
         ON outcomes.job = attempts.job AND outcomes.claim = attempts.claim",
    ),
    (
        "job {} has spent more attempts than it was given",
        "SELECT job FROM ready WHERE spent > attempt UNION ALL SELECT job FROM held WHERE spent > attempt
         UNION ALL SELECT job FROM outcomes WHERE spent > attempt",
    ),
    (
        "job {} is in queue {}, which does not exist",
        "SELECT job, queue FROM (SELECT job, queue, tenant FROM ready UNION ALL SELECT job, queue, tenant FROM held)
         WHERE (queue, tenant) NOT IN (SELECT queue, tenant FROM queues)",
    ),
    (
        "schedule {} waits with tick {}, which is not held",
        "SELECT id, held FROM schedules WHERE held IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM ticks WHERE schedule = id AND nominal = held AND state = 'held')",
    ),
    (
        "schedule {} does not name its held tick {}",
        "SELECT schedule, nominal FROM ticks WHERE state = 'held'
         AND NOT EXISTS (SELECT 1 FROM schedules WHERE id = schedule AND held = nominal)",
    ),
    (
        "schedule {} has a tick {} that fired without a job, or made one without firing",
        "SELECT schedule, nominal FROM ticks WHERE (state = 'fired') <> (job IS NOT NULL)",
    ),
    (
        "job {} was made by {} ticks",
        "SELECT job, count(*) FROM ticks WHERE job IS NOT NULL GROUP BY job HAVING count(*) > 1",
    ),
    (
        "there is no tenant {}",
        "SELECT 'default' WHERE NOT EXISTS (SELECT 1 FROM tenants WHERE id = 'default' AND deleted_at IS NULL)",
    ),
    (
        "tenant {} has the weight {}, and its settings say {}",
        "SELECT id, weight, coalesce(json_extract(settings, '$.weight'), 1) AS said FROM tenants
         WHERE deleted_at IS NULL AND json_valid(settings) AND weight IS NOT said",
    ),
    (
        "key {} belongs to tenant {}, which does not exist",
        "SELECT id, tenant FROM api_keys WHERE tenant NOT IN (SELECT id FROM tenants WHERE deleted_at IS NULL)",
    ),
    (
        "key {} was replaced by key {}, which its tenant does not have",
        "SELECT id, replaced_by FROM api_keys AS old WHERE replaced_by IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = old.replaced_by AND api_keys.tenant = old.tenant)",
    ),
    ("key {} has a hash that is none", "SELECT id FROM api_keys WHERE length(hash) <> 32"),
    (
        "delivery {} is listed for webhook {}, which does not exist",
        "SELECT job, webhook FROM deliveries WHERE (tenant, webhook) NOT IN (SELECT tenant, id FROM webhooks)",
    ),
    (
        "the follower {} is at {}, and the log ends at {}",
        "SELECT name, position, ended FROM followers, (SELECT coalesce(max(seq), 0) AS ended FROM sqlite_sequence
         WHERE name = 'changes') WHERE position NOT BETWEEN 0 AND ended",
    ),
    (
        "the follower {} is at {}, and the version before has it at {}",
        "SELECT name, followers.position, old.position FROM followers
         JOIN (SELECT 'courier' AS who, position FROM courier UNION ALL SELECT 'bookkeeper', position FROM bookkeeper) AS old
         ON old.who = name WHERE old.position <> followers.position",
    ),
    (
        "a pass of tenant {} says that {} holds it, and not by what",
        "SELECT tenant, holder FROM passes
         WHERE (holder = 'key') <> (key_id IS NOT NULL) OR (holder = 'bootstrap') <> (key_hash IS NOT NULL)",
    ),
];

pub(crate) fn census(sql: &Connection) -> Result<Census, Fault> {
    let mut violations = Vec::new();
    for (sentence, check) in CHECKS {
        let room = MAX_VIOLATIONS - violations.len();
        let mut statement = sql.prepare(&format!("{check} LIMIT {room}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            violations.push(say(sentence, row, columns)?);
        }
    }
    Ok(Census {
        jobs: count(sql, "jobs")?,
        ready: count(sql, "ready")?,
        held: count(sql, "held")?,
        outcomes: count(sql, "outcomes")?,
        violations,
    })
}

fn say(sentence: &str, row: &Row<'_>, columns: usize) -> Result<String, Fault> {
    let mut said = sentence.to_owned();
    for column in 0..columns {
        let cell = match row.get_ref(column)? {
            ValueRef::Blob(bytes) => Uuid::from_slice(bytes).map_or_else(|_| format!("{bytes:?}"), |id| id.to_string()),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Null => "nothing".into(),
        };
        said = said.replacen("{}", &cell, 1);
    }
    Ok(said)
}

fn count(sql: &Connection, table: &str) -> Result<u64, Fault> {
    let count: i64 = sql.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// The audit of a file, without taking its lock and without changing it: a foreman may be running on it.
pub fn census_of_file(path: &Path) -> Result<Census, OpenError> {
    let connection = look_into(path)?;
    census(&connection).map_err(|fault| OpenError::from_fault(path, fault))
}

/// [`census_of_file`] after SQLite has looked through its own pages and indexes.
pub fn check_file(path: &Path) -> Result<Census, OpenError> {
    let connection = look_into(path)?;
    let named = |fault| OpenError::from_fault(path, fault);
    let verdict: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| named(Fault::Sql(error)))?;
    if verdict != "ok" {
        return Err(OpenError::Damaged { path: path.to_owned(), reason: verdict });
    }
    census(&connection).map_err(named)
}

pub(crate) fn look_into(path: &Path) -> Result<Connection, OpenError> {
    if !path.exists() {
        return Err(OpenError::Io { path: path.to_owned(), reason: "there is no such file".into() });
    }
    let pending = migrate::status(path)?.into_iter().find(|migration| migration.applied_at.is_none());
    if let Some(migration) = pending {
        let reason = format!("it waits for migration {}: run `foreman migrate` first", migration.version);
        return Err(OpenError::Io { path: path.to_owned(), reason });
    }
    connection::reading(path, Config::default().busy_timeout).map_err(|fault| OpenError::from_fault(path, fault))
}
