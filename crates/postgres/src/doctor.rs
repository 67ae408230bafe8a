//! What a look at the database from outside tells: its version and settings, its clock, and who holds what back.
//!
//! Reads only, over a connection of its own that is made for the look and closed after it, so that it works when every pool is
//! exhausted, and takes nothing from them. Any number may look. What it means, and what to do about it, says whoever asked.

use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::ports::StoreError;
use tokio_postgres::{Client, Row};

use crate::changes;
use crate::config::Config;
use crate::connection;
use crate::error::{Fault, OpenError};
use crate::tls;

/// Everything that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Examination {
    /// As the server says it: `15.8`.
    pub version: String,
    /// `150008`
    pub version_number: i32,
    /// A standby can be read only.
    pub is_standby: bool,
    /// Whether transactions of others can be seen at all: the user is a superuser or has `pg_read_all_stats`.
    pub sees_others: bool,
    /// `synchronous_commit`, `fsync` and the like, as this user's sessions have them.
    pub settings: Vec<(String, String)>,
    pub connections: Connections,
    /// How far the server's clock is ahead of ours, in microseconds, to within `round_trip`.
    pub skew_micros: i64,
    pub round_trip: Duration,
    pub holders: Vec<Holder>,
    /// Who holds the change log back, if anyone does at this moment.
    pub announcer: Option<Announcer>,
    /// `None`: this database has not been migrated.
    pub store: Option<StoreFacts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    pub max: i64,
    /// Kept back for superusers.
    pub reserved: i64,
    pub used: i64,
    /// Those of foreman, this look's own not counted.
    pub ours: i64,
    /// How many processes of foreman they belong to. Where the address names them all alike, it counts as one.
    pub processes: i64,
}

/// What our own tables tell.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreFacts {
    pub jobs_due: i64,
    /// How long the oldest job that could run has been waiting.
    pub oldest_due: Option<Duration>,
    pub live_sessions: i64,
    /// Their time is over, and no sweeper has noticed: for how long the oldest of them.
    pub overdue_sessions: i64,
    pub longest_overdue: Option<Duration>,
    /// How old the oldest change is that is committed and cannot be read yet.
    pub change_lag: Option<Duration>,
    /// Who leads, by office: term, and how long its lease still runs.
    pub leaders: Vec<Reign>,
    /// Rows of `ready` that are dead and not yet cleaned up, by the server's own estimate.
    pub dead_rows: i64,
    pub live_rows: i64,
    /// Which kind of pruning was last finished how long ago; none that never was.
    pub pruned: Vec<(String, Duration)>,
    /// What keeps jobs of a week out of the default partitions, while a partition is created or since that was broken off.
    pub exclusions: Vec<Exclusion>,
}

/// A constraint on a default partition (see `partitions.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The default partition.
    pub table: String,
    pub constraint: String,
    /// Its week has begun, or begins within a day: jobs are refused, or will be.
    pub is_urgent: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reign {
    pub office: String,
    pub term: i64,
    /// Negative: it has run out.
    pub left_secs: f64,
}

/// Somebody who keeps the database from cleaning up, and readers of the change log from going on.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    pub what: What,
    /// What it calls itself.
    pub application: String,
    pub user: String,
    /// Since when.
    pub since: Option<Timestamp>,
    pub age: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Transaction {
        pid: i32,
        /// `idle in transaction`, `active`, …
        state: String,
        query_start: Option<Timestamp>,
    },
    /// Of a two-phase commit that nobody finished.
    Prepared {
        gid: String,
    },
    ReplicationSlot {
        name: String,
        is_active: bool,
    },
}

/// Looks at everything.
pub async fn examine(config: &Config) -> Result<Examination, OpenError> {
    on_a_connection(config, async |client| {
        let (skew_micros, round_trip) = skew(client).await?;
        let about = client.query_one(ABOUT, &[]).await?;
        let connections = client.query_one(CONNECTIONS, &[]).await?;
        let settings = client.query(SETTINGS, &[]).await?;
        Ok(Examination {
            version: about.try_get("version")?,
            version_number: about.try_get("number")?,
            is_standby: about.try_get("is_standby")?,
            sees_others: about.try_get("sees_others")?,
            settings: settings
                .iter()
                .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                .collect::<Result<_, Fault>>()?,
            connections: Connections {
                max: connections.try_get("max")?,
                reserved: connections.try_get("reserved")?,
                used: connections.try_get("used")?,
                ours: connections.try_get("ours")?,
                processes: connections.try_get("processes")?,
            },
            skew_micros,
            round_trip,
            holders: holders(client).await?,
            announcer: announcer(client, &config.schema).await?,
            store: store(client, &config.schema).await?,
        })
    })
    .await
}

/// What a watch asks for again and again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Horizon {
    /// Who holds the horizon, the oldest first.
    pub holders: Vec<Holder>,
    /// Who holds the change log back, if anyone does at this moment: the writer of the lowest announcement.
    pub announcer: Option<Announcer>,
}

/// A transaction that has announced a change and not ended yet (see `changes.rs`). Readers wait behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Announcer {
    pub pid: i32,
    pub application: String,
    /// Since its last statement began; it announces in the one before the last. Zero where this user may not see it.
    pub age: Duration,
}

pub async fn horizon(config: &Config) -> Result<Horizon, OpenError> {
    on_a_connection(config, async |client| {
        // One transaction, which ends with the connection. Each statement by itself would be two: it is made known first.
        client.batch_execute("BEGIN").await?;
        let announcer = announcer(client, &config.schema).await?;
        Ok(Horizon { holders: holders(client).await?, announcer })
    })
    .await
}

async fn announcer(client: &Client, schema: &str) -> Result<Option<Announcer>, Fault> {
    let Some(row) = client.query_opt(ANNOUNCER, &[&changes::tag(schema)]).await? else { return Ok(None) };
    Ok(Some(Announcer {
        pid: row.try_get("pid")?,
        application: row.try_get("application")?,
        age: Duration::from_secs_f64(row.try_get("age")?),
    }))
}

/// Opens a connection, asks, and closes it. The connection is driven by whoever waits for the answer, so nothing is left behind
/// when nobody does any more.
async fn on_a_connection<T>(
    config: &Config,
    ask: impl AsyncFnOnce(&Client) -> Result<T, Fault>,
) -> Result<T, OpenError> {
    connection::check_schema(&config.schema)?;
    // Without our own timeouts, so that what the server tells of them is what others get. Also to a standby.
    let address = connection::probed(config)?;
    let own = format!(
        "SET search_path = '{}'; SET statement_timeout = '{}'",
        config.schema,
        config.statement_timeout.as_millis()
    );
    let tls = tls::connector(config)?;
    let look = async {
        let (client, connection) = address.connect(tls).await.map_err(Fault::Sql)?;
        let mut connection = std::pin::pin!(connection);
        let answer = tokio::select! {
            biased;
            answer = async {
                client.batch_execute(&own).await?;
                ask(&client).await
            } => answer,
            // It ends only by failing, as long as the client lives.
            ended = &mut connection => return Err(match ended {
                Err(error) => Fault::Sql(error),
                Ok(()) => Fault::Store(StoreError::Unavailable("the connection was closed".into())),
            }),
        };
        drop(client);
        // Says goodbye; what comes of that changes nothing about the answer.
        let _ = connection.await;
        answer
    };
    match tokio::time::timeout(config.connect_timeout + config.statement_timeout, look).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(OpenError::Store(StoreError::Unavailable("the database does not answer".into()))),
    }
}

const ABOUT: &str = "
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::integer AS number,
       pg_is_in_recovery() AS is_standby, pg_has_role(current_user, 'pg_read_all_stats', 'MEMBER') AS sees_others";

const CONNECTIONS: &str = "
SELECT current_setting('max_connections')::bigint AS max,
       current_setting('superuser_reserved_connections')::bigint AS reserved,
       count(*) FILTER (WHERE backend_type = 'client backend') AS used,
       count(*) FILTER (WHERE application_name LIKE 'foreman%' AND pid <> pg_backend_pid()) AS ours,
       count(DISTINCT application_name) FILTER (WHERE application_name LIKE 'foreman%' AND pid <> pg_backend_pid()) AS processes
FROM pg_stat_activity";

const SETTINGS: &str = "
SELECT name, current_setting(name)
FROM pg_settings
WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes', 'autovacuum', 'max_prepared_transactions',
               'idle_in_transaction_session_timeout', 'transaction_timeout')
ORDER BY name";

/// What holds `pg_snapshot_xmin`, or the point up to which rows can be cleaned up, or both. A snapshot does the latter to its own
/// database alone; a transaction that has written does the former to all of them.
const HOLDERS: &str = "
SELECT pid, coalesce(application_name, '') AS application, coalesce(usename, '') AS who, coalesce(state, '') AS state,
       (extract(epoch FROM xact_start) * 1e6)::bigint AS since, (extract(epoch FROM query_start) * 1e6)::bigint AS query_start,
       greatest(extract(epoch FROM clock_timestamp() - xact_start), 0)::float8 AS age
FROM pg_stat_activity
WHERE (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL AND coalesce(datname, current_database()) = current_database())
      AND xact_start IS NOT NULL
      AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
ORDER BY xact_start";

const ANNOUNCER: &str = "
SELECT pg_locks.pid, coalesce(application_name, '') AS application,
       coalesce(greatest(extract(epoch FROM clock_timestamp() - coalesce(query_start, xact_start)), 0), 0)::float8 AS age
FROM pg_locks LEFT JOIN pg_stat_activity ON pg_stat_activity.pid = pg_locks.pid
WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND classid::bigint >> 16 = $1::bigint >> 48
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY (classid::bigint & 65535) << 32 | objid::bigint LIMIT 1";

const PREPARED: &str = "
SELECT gid, owner::text AS who, (extract(epoch FROM prepared) * 1e6)::bigint AS since,
       greatest(extract(epoch FROM clock_timestamp() - prepared), 0)::float8 AS age
FROM pg_prepared_xacts ORDER BY prepared";

/// A slot does not say since when it holds back; one that nobody reads does so until somebody drops it.
const SLOTS: &str =
    "SELECT slot_name::text AS name, active FROM pg_replication_slots WHERE xmin IS NOT NULL AND NOT active";

async fn holders(client: &Client) -> Result<Vec<Holder>, Fault> {
    let mut found = Vec::new();
    for row in client.query(HOLDERS, &[]).await? {
        found.push(Holder {
            what: What::Transaction {
                pid: row.try_get("pid")?,
                state: row.try_get("state")?,
                query_start: time(&row, "query_start")?,
            },
            application: row.try_get("application")?,
            user: row.try_get("who")?,
            since: time(&row, "since")?,
            age: Duration::from_secs_f64(row.try_get("age")?),
        });
    }
    for row in client.query(PREPARED, &[]).await? {
        found.push(Holder {
            what: What::Prepared { gid: row.try_get("gid")? },
            application: String::new(),
            user: row.try_get("who")?,
            since: time(&row, "since")?,
            age: Duration::from_secs_f64(row.try_get("age")?),
        });
    }
    for row in client.query(SLOTS, &[]).await? {
        found.push(Holder {
            what: What::ReplicationSlot { name: row.try_get("name")?, is_active: row.try_get("active")? },
            application: String::new(),
            user: String::new(),
            since: None,
            // For as long as anyone can tell.
            age: Duration::MAX,
        });
    }
    found.sort_by_key(|holder| std::cmp::Reverse(holder.age));
    Ok(found)
}

fn time(row: &Row, column: &str) -> Result<Option<Timestamp>, Fault> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_micros))
}

/// The best of a few tries: the shorter the way, the less the answer can be off.
async fn skew(client: &Client) -> Result<(i64, Duration), Fault> {
    let mut best: Option<(i64, Duration)> = None;
    for _ in 0..5 {
        let (before, start) = (foreman_runtime::clock::now(), tokio::time::Instant::now());
        let row = client.query_one("SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint", &[]).await?;
        let took = start.elapsed();
        let theirs: i64 = row.try_get(0)?;
        let middle = before + i64::try_from(took.as_micros() / 2).unwrap_or(0);
        if best.is_none_or(|(_, shortest)| took < shortest) {
            best = Some((theirs - middle, took));
        }
    }
    Ok(best.unwrap_or_default())
}

const IS_MIGRATED: &str = "SELECT to_regclass('ready') IS NOT NULL AND to_regclass('sessions') IS NOT NULL";

const FACTS: &str = "
SELECT (SELECT count(*) FROM ready WHERE run_at <= now()) AS due,
       (SELECT extract(epoch FROM now() - min(run_at))::float8 FROM ready
        WHERE run_at <= now() AND NOT EXISTS (SELECT FROM queues WHERE queues.queue = ready.queue
              AND queues.tenant = ready.tenant AND queues.paused_at IS NOT NULL)) AS oldest_due,
       (SELECT count(*) FROM sessions WHERE state IN ('live', 'draining')) AS live,
       (SELECT count(*) FROM sessions WHERE state IN ('live', 'draining') AND expires_at < now()) AS overdue,
       (SELECT extract(epoch FROM now() - min(expires_at))::float8 FROM sessions
        WHERE state IN ('live', 'draining') AND expires_at < now()) AS longest_overdue,
       (SELECT extract(epoch FROM now() - min(at))::float8 FROM changes WHERE position > (
            SELECT min((classid::bigint & 65535) << 32 | objid::bigint) FROM pg_locks
            WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = $1::bigint >> 48
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))) AS change_lag,
       coalesce((SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'ready'::regclass), 0) AS dead_rows,
       coalesce((SELECT n_live_tup FROM pg_stat_user_tables WHERE relid = 'ready'::regclass), 0) AS live_rows";

const LEADERS: &str =
    "SELECT name, term, extract(epoch FROM expires_at - now())::float8 AS left_secs FROM leases ORDER BY name";

/// A database that waits for its migrations has no such table yet.
const PRUNED: &str =
    "SELECT kind, extract(epoch FROM now() - done_at)::float8 AS ago FROM upkeep ORDER BY done_at, kind";

/// As they are named in `partitions.rs`, by the day on which the week begins.
const EXCLUSIONS: &str = "
SELECT conrelid::regclass::text AS default_partition, conname::text AS name,
       to_date(right(conname::text, 8), 'YYYYMMDD') <= (now() AT TIME ZONE 'UTC') + interval '1 day' AS is_urgent
FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND conname ~ '^(jobs|outcomes)_default_not_w[0-9]{8}$' ORDER BY conname";

async fn pruned(client: &Client) -> Result<Vec<(String, Duration)>, Fault> {
    if !client.query_one("SELECT to_regclass('upkeep') IS NOT NULL", &[]).await?.try_get::<_, bool>(0)? {
        return Ok(Vec::new());
    }
    let rows = client.query(PRUNED, &[]).await?;
    rows.iter().map(|row| Ok((row.try_get("kind")?, span(row, "ago")?.unwrap_or_default()))).collect()
}

async fn store(client: &Client, schema: &str) -> Result<Option<StoreFacts>, Fault> {
    if !client.query_one(IS_MIGRATED, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    let facts = client.query_one(FACTS, &[&changes::tag(schema)]).await?;
    let leaders = client.query(LEADERS, &[]).await?;
    Ok(Some(StoreFacts {
        jobs_due: facts.try_get("due")?,
        oldest_due: span(&facts, "oldest_due")?,
        live_sessions: facts.try_get("live")?,
        overdue_sessions: facts.try_get("overdue")?,
        longest_overdue: span(&facts, "longest_overdue")?,
        change_lag: span(&facts, "change_lag")?,
        leaders: leaders
            .iter()
            .map(|row| Ok(Reign { office: row.try_get(0)?, term: row.try_get(1)?, left_secs: row.try_get(2)? }))
            .collect::<Result<_, Fault>>()?,
        dead_rows: facts.try_get("dead_rows")?,
        live_rows: facts.try_get("live_rows")?,
        pruned: pruned(client).await?,
        exclusions: exclusions(client).await?,
    }))
}

async fn exclusions(client: &Client) -> Result<Vec<Exclusion>, Fault> {
    let rows = client.query(EXCLUSIONS, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Exclusion {
                table: row.try_get("default_partition")?,
                constraint: row.try_get("name")?,
                is_urgent: row.try_get("is_urgent")?,
            })
        })
        .collect()
}

fn span(row: &Row, column: &str) -> Result<Option<Duration>, Fault> {
    Ok(row.try_get::<_, Option<f64>>(column)?.map(|secs| Duration::from_secs_f64(secs.max(0.0))))
}
