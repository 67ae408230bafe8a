//! The proof that every job is in exactly one place, by looking at all of them at one moment.

use foreman_core::ports::Census;
use tokio_postgres::Row;

use crate::error::Fault;
use crate::write::Transaction;

/// So many violations are listed; more would not be read.
const MAX_VIOLATIONS: usize = 100;

/// Each finds what must not be, with the sentence that says so: `{}` is the row's first column, a second `{}` its next.
pub(crate) const CHECKS: [(&str, &str); 31] = [
    (
        "job {} is in {} places",
        "SELECT jobs.id::text, (places.places)::text
         FROM jobs LEFT JOIN (
             SELECT job, count(*) AS places
             FROM (SELECT job FROM ready UNION ALL SELECT job FROM held UNION ALL SELECT job FROM outcomes) AS every
             GROUP BY job
         ) AS places ON places.job = jobs.id
         WHERE places.places IS DISTINCT FROM 1 LIMIT 100",
    ),
    (
        "ready has job {}, which does not exist",
        "SELECT job::text FROM ready WHERE NOT EXISTS (SELECT FROM jobs WHERE jobs.id = ready.job) LIMIT 100",
    ),
    (
        "held has job {}, which does not exist",
        "SELECT job::text FROM held WHERE NOT EXISTS (SELECT FROM jobs WHERE jobs.id = held.job) LIMIT 100",
    ),
    (
        "outcomes has job {}, which does not exist",
        "SELECT job::text FROM outcomes WHERE NOT EXISTS (SELECT FROM jobs WHERE jobs.id = outcomes.job) LIMIT 100",
    ),
    (
        "attempts are kept of job {}, which does not exist",
        "SELECT DISTINCT job::text FROM attempts WHERE NOT EXISTS (SELECT FROM jobs WHERE jobs.id = attempts.job) LIMIT 100",
    ),
    (
        "tags are kept of job {}, which does not exist",
        "SELECT DISTINCT job::text FROM job_tags WHERE NOT EXISTS (SELECT FROM jobs WHERE jobs.id = job_tags.job) LIMIT 100",
    ),
    (
        "an idempotency key refers to job {}, which does not exist",
        "SELECT job::text FROM idempotency
         WHERE NOT EXISTS (SELECT FROM jobs WHERE jobs.id = idempotency.job) LIMIT 100",
    ),
    (
        "claim {} holds nothing and is still there",
        "SELECT number::text FROM claims WHERE bit_count(open) = 0 LIMIT 100",
    ),
    (
        "claim {} has {} columns that do not agree in length",
        "SELECT number::text, length(open)::text FROM claims
         WHERE NOT (length(open) = ALL (ARRAY[cardinality(jobs), cardinality(tenants), cardinality(queues),
                    cardinality(routes), cardinality(lanes), cardinality(kinds), cardinality(run_at),
                    cardinality(expires_at), cardinality(attempt), cardinality(spent), cardinality(crashes)])) LIMIT 100",
    ),
    (
        "claim {} counts the moves of {} jobs, and holds another number",
        "SELECT number::text, cardinality(moves)::text FROM claims
         WHERE moves IS NOT NULL AND cardinality(moves) <> cardinality(jobs) LIMIT 100",
    ),
    (
        "claim {} belongs to session {}, which is not alive",
        "SELECT number::text, session::text FROM claims
         WHERE session NOT IN (SELECT id FROM sessions WHERE state IN ('live', 'draining')) LIMIT 100",
    ),
    (
        "job {} has the outcome {}, which is not final",
        "SELECT job::text, state FROM outcomes
         WHERE state NOT IN ('completed', 'failed', 'dead', 'cancelled') LIMIT 100",
    ),
    (
        "job {} has two ends recorded for the attempt under claim {}",
        "SELECT attempts.job::text, attempts.claim::text FROM attempts JOIN outcomes
         ON outcomes.job = attempts.job AND outcomes.claim = attempts.claim LIMIT 100",
    ),
    (
        "job {} has spent more attempts than it was given",
        "SELECT job::text FROM ready WHERE spent > attempt UNION ALL SELECT job::text FROM held WHERE spent > attempt
         UNION ALL SELECT job::text FROM outcomes WHERE spent > attempt LIMIT 100",
    ),
    (
        "job {} waits in a queue of its tenant that is not on record",
        "SELECT job::text FROM ready WHERE NOT EXISTS
         (SELECT FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant) LIMIT 100",
    ),
    (
        "claim {} is numbered beyond the last number that was drawn",
        "SELECT claims.number::text FROM claims, claim_numbers WHERE claims.number > claim_numbers.last_value LIMIT 100",
    ),
    (
        "schedule {} holds the tick of {}, which is not on record as held",
        "SELECT id::text, held::text FROM schedules WHERE held IS NOT NULL AND NOT EXISTS
         (SELECT FROM ticks WHERE ticks.schedule = schedules.id AND ticks.nominal = schedules.held AND ticks.state = 'held')
         LIMIT 100",
    ),
    (
        "the tick of schedule {} at {} is recorded as held, but no schedule holds it",
        "SELECT schedule::text, nominal::text FROM ticks WHERE state = 'held' AND NOT EXISTS
         (SELECT FROM schedules WHERE schedules.id = ticks.schedule AND schedules.held = ticks.nominal) LIMIT 100",
    ),
    (
        "the tick of schedule {} at {} is fired without a job, or has one without being fired",
        "SELECT schedule::text, nominal::text FROM ticks WHERE (state = 'fired') <> (job IS NOT NULL) LIMIT 100",
    ),
    (
        "the job of the tick of schedule {} at {} is not final, and the tick says that it is",
        "SELECT schedule::text, nominal::text FROM ticks WHERE job IS NOT NULL AND NOT open
         AND EXISTS (SELECT FROM jobs WHERE jobs.id = ticks.job)
         AND NOT EXISTS (SELECT FROM outcomes WHERE outcomes.job = ticks.job) LIMIT 100",
    ),
    (
        "job {} was made by {} ticks",
        "SELECT job::text, count(*)::text FROM ticks WHERE job IS NOT NULL GROUP BY job HAVING count(*) > 1 LIMIT 100",
    ),
    (
        "tenant {} does not exist",
        "SELECT 'default' WHERE NOT EXISTS (SELECT FROM tenants WHERE id = 'default' AND deleted_at IS NULL)",
    ),
    (
        "tenant {} has the weight {} beside its settings, which say otherwise",
        "SELECT id, weight::text FROM tenants
         WHERE weight <> coalesce((settings::json ->> 'weight')::integer, 1) LIMIT 100",
    ),
    (
        "key {} belongs to tenant {}, which does not exist",
        "SELECT api_keys.id, api_keys.tenant FROM api_keys WHERE NOT EXISTS
         (SELECT FROM tenants WHERE tenants.id = api_keys.tenant AND tenants.deleted_at IS NULL) LIMIT 100",
    ),
    (
        "key {} was replaced by {}, which is not a key of its tenant",
        "SELECT old.id, old.replaced_by FROM api_keys AS old WHERE old.replaced_by IS NOT NULL AND NOT EXISTS
         (SELECT FROM api_keys AS new WHERE new.id = old.replaced_by AND new.tenant = old.tenant) LIMIT 100",
    ),
    (
        "webhook {} is enabled by its row or by its settings, but not by both",
        "SELECT id::text FROM webhooks WHERE enabled <> ((settings::json ->> 'disabled') IS NULL) LIMIT 100",
    ),
    (
        "delivery {} is listed {} times",
        "SELECT job::text, count(*)::text FROM deliveries GROUP BY job HAVING count(*) > 1 LIMIT 100",
    ),
    (
        "delivery {} is listed for tenant {}, and its job is another's",
        "SELECT deliveries.job::text, deliveries.tenant FROM deliveries JOIN jobs ON jobs.id = deliveries.job
         WHERE jobs.tenant <> deliveries.tenant LIMIT 100",
    ),
    (
        "job {} is marked as announced in batch {}, which does not name it",
        "SELECT ready.job::text, ready.announced::text FROM ready
         LEFT JOIN (SELECT number, unnest(jobs) AS job FROM announcements) AS named
                ON named.number = ready.announced AND named.job = ready.job
         WHERE ready.announced IS NOT NULL AND named.job IS NULL LIMIT 100",
    ),
    (
        "batch {} of announced jobs has columns that do not agree in length",
        "SELECT number::text FROM announcements
         WHERE cardinality(jobs) <> cardinality(tenants) OR cardinality(jobs) <> cardinality(lanes) LIMIT 100",
    ),
    (
        "the follower {} is at {}, beyond the last position that was drawn",
        "SELECT followers.name, followers.position::text FROM followers, change_positions
         WHERE followers.position > CASE WHEN change_positions.is_called THEN change_positions.last_value ELSE 0 END LIMIT 100",
    ),
];

pub(crate) const COUNTS: &str = "SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM ready),
    (SELECT coalesce(sum(bit_count(open)), 0)::bigint FROM claims), (SELECT count(*) FROM outcomes)";

pub(crate) async fn census(tx: &Transaction) -> Result<Census, Fault> {
    let steps = CHECKS.map(|(_, check)| (check, &[][..]));
    let found = tx.all(&steps).await?;
    let mut violations = Vec::new();
    for ((sentence, _), rows) in CHECKS.iter().zip(&found) {
        for row in rows {
            violations.push(say(sentence, row)?);
        }
    }
    violations.truncate(MAX_VIOLATIONS);
    let counts = tx.row(COUNTS, &[]).await?;
    let count = |place: usize| -> Result<u64, Fault> {
        let count: Option<i64> = counts.as_ref().map(|row| row.try_get(place)).transpose()?;
        Ok(count.map_or(0, |count| u64::try_from(count).unwrap_or_default()))
    };
    Ok(Census { jobs: count(0)?, ready: count(1)?, held: count(2)?, outcomes: count(3)?, violations })
}

fn say(sentence: &str, row: &Row) -> Result<String, Fault> {
    let mut said = sentence.to_owned();
    for place in 0..row.len() {
        let cell: Option<&str> = row.try_get(place)?;
        said = said.replacen("{}", cell.unwrap_or("no"), 1);
    }
    Ok(said)
}

/// For the test that prepares every statement.
pub(crate) const STATEMENTS: &[&str] = &[COUNTS];
