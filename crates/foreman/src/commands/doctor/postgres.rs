//! What a Postgres tells of itself, judged as somebody who runs Foreman on it would.

use std::time::Duration;

use foreman_core::duration::{Span, format};
use foreman_postgres::doctor::{self, Announcer, Examination, Exclusion, StoreFacts};
use foreman_postgres::migrate;

use super::Finding;
use crate::config::{Settings, without_password};
use crate::horizon;

/// The oldest server whose dialect we speak.
const OLDEST: i32 = 140_000;
/// Clocks that differ by more make times in logs and documents hard to compare. Nothing durable depends on ours.
const SKEW: Duration = Duration::from_secs(1);
/// A job that could run and did not for so long: there are too few slots, or nobody runs at all.
const LONG_WAIT: Duration = Duration::from_mins(5);
/// Sweepers take back what a dead worker held within its TTL and a few seconds; after so long none is at work.
const LONG_OVERDUE: Duration = Duration::from_mins(1);
/// What was committed can be read within moments, unless an old transaction stands before it.
const LONG_LAG: Duration = Duration::from_secs(10);
pub(super) async fn examine(settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let Some(config) = settings.postgres("doctor") else {
        anyhow::bail!("no database is configured: set DATABASE_URL")
    };
    let url = settings.database.url.as_ref().map_or_else(String::new, |url| without_password(url.reveal()));
    let facts = doctor::examine(&config).await?;
    let mut findings = vec![Finding::fine("database", url)];
    findings.extend(server(&facts));
    findings.push(connections(&facts, config.connections()));
    findings.push(clock(&facts));
    findings.push(schema(&config).await);
    findings.extend(transactions(&facts, settings.horizon.limit));
    findings.extend(held_log(&facts));
    findings.extend(facts.store.iter().flat_map(|store| contents(store, settings)));
    findings.extend(facts.store.iter().flat_map(exclusions));
    Ok(findings)
}

fn server(facts: &Examination) -> Vec<Finding> {
    let mut findings = vec![
        Finding::judged("version", format!("Postgres {}", facts.version), facts.version_number < OLDEST, || {
            "Foreman needs Postgres 14 or newer: upgrade the server".into()
        }),
        Finding::judged(
            "role of the server",
            if facts.is_standby { "standby" } else { "primary" },
            facts.is_standby,
            || "a standby is read-only: point DATABASE_URL at the primary".into(),
        ),
    ];
    findings.extend(facts.settings.iter().map(|(name, value)| setting(name, value)));
    findings
}

fn setting(name: &str, value: &str) -> Finding {
    let judged = |about, doubtful, advice: &str| Finding::judged(about, value, doubtful, || advice.to_owned());
    match name {
        "synchronous_commit" => judged(
            "synchronous_commit",
            matches!(value, "off" | "local"),
            "a crash of the database server could lose accepted jobs: ALTER SYSTEM SET synchronous_commit = on",
        ),
        "fsync" => judged("fsync", value == "off", "a crash of the machine can destroy the database: turn fsync on"),
        "full_page_writes" => judged(
            "full_page_writes",
            value == "off",
            "a power failure can destroy the database: turn full_page_writes on",
        ),
        "autovacuum" => judged(
            "autovacuum",
            value == "off",
            "queues become slower with every job: turn autovacuum on (Foreman's tables have their own settings)",
        ),
        "max_prepared_transactions" => judged(
            "max_prepared_transactions",
            value != "0",
            "an unfinished two-phase commit blocks vacuum indefinitely; set this to 0 unless an application needs it",
        ),
        "idle_in_transaction_session_timeout" => Finding::fine(
            "idle_in_transaction_session_timeout",
            match value {
                "0" => {
                    "0: other applications may keep transactions open indefinitely (Foreman's have their own timeout)"
                        .to_owned()
                }
                value => value.to_owned(),
            },
        ),
        _ => Finding::fine("transaction_timeout", value),
    }
}

/// By the processes that are there: each opens its connections when it needs them.
fn connections(facts: &Examination, per_process: usize) -> Finding {
    let own = facts.connections;
    let usable = own.max - own.reserved;
    let per_process = i64::try_from(per_process).unwrap_or(i64::MAX);
    let may_need = own.processes.saturating_mul(per_process).saturating_add((own.used - own.ours).max(0));
    let processes = if own.processes == 1 { "1 process".into() } else { format!("{} processes", own.processes) };
    let found = format!(
        "{} of {usable} in use, {} by {processes} of Foreman with up to {per_process} each",
        own.used, own.ours
    );
    let advice = "raise max_connections, lower database.connections, or use PgBouncer (and set database.direct_url to bypass it)";
    if own.used * 10 >= usable * 9 {
        Finding::alarm("connections", found, advice)
    } else if may_need > usable {
        Finding::hint(
            "connections",
            found,
            format!("under load these processes may need {may_need} connections: {advice}"),
        )
    } else {
        Finding::fine("connections", found)
    }
}

fn clock(facts: &Examination) -> Finding {
    let skew = Duration::from_micros(facts.skew_micros.unsigned_abs());
    let way = if facts.skew_micros >= 0 { "ahead of" } else { "behind" };
    let found = format!("{} {way} this machine's clock, accurate to {}", millis(skew), millis(facts.round_trip));
    Finding::judged("clock", found, skew > SKEW + facts.round_trip, || {
        "synchronize both machines with NTP; jobs use the database's clock, logs use the machine's".into()
    })
}

async fn schema(config: &foreman_postgres::Config) -> Finding {
    match migrate::status(config).await {
        Ok(known) => {
            let waiting: Vec<String> =
                known.iter().filter(|it| it.applied_at.is_none()).map(|it| it.version.to_string()).collect();
            let newest = known.iter().filter(|it| it.applied_at.is_some()).map(|it| it.version).max().unwrap_or(0);
            let found = if waiting.is_empty() {
                super::version(newest, migrate::LATEST)
            } else {
                format!("version {newest}, missing migrations: {}", waiting.join(", "))
            };
            Finding::judged("schema", found, !waiting.is_empty(), || "run `foreman migrate`".into())
        }
        Err(error) => Finding::alarm("schema", "not as expected", error.to_string()),
    }
}

fn transactions(facts: &Examination, limit: Duration) -> Vec<Finding> {
    let mut findings: Vec<Finding> = facts
        .holders
        .iter()
        .filter(|holder| holder.age > limit)
        .map(|holder| {
            let found = format!("{} ({})", horizon::name(holder), horizon::age(holder));
            let advice = format!("it blocks vacuum: {}", horizon::remedy(holder));
            Finding::alarm("long transaction", found, advice)
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::fine("long transactions", format!("none over {}", format(limit))));
    }
    if !facts.sees_others {
        let found = "transactions of other users cannot be seen";
        findings.push(Finding::hint("rights", found, "GRANT pg_read_all_stats to the user of DATABASE_URL"));
    }
    findings
}

/// Who holds the change log back.
fn held_log(facts: &Examination) -> Option<Finding> {
    let Announcer { pid, application, age } = facts.announcer.as_ref().filter(|it| it.age > LONG_LAG)?;
    let found =
        format!("the transaction of {application:?} (pid {pid}) has been about to commit for {}", Span(whole(*age)));
    let advice = format!(
        "streams, webhooks and statistics wait behind it: if its process is frozen, end it with SELECT pg_terminate_backend({pid})"
    );
    Some(Finding::alarm("held change log", found, advice))
}

/// Constraints that a scheduler adds while it creates a partition. One that died in the meantime has left its own.
fn exclusions(store: &StoreFacts) -> Vec<Finding> {
    let finding = |it: &Exclusion| {
        let Exclusion { table, constraint, is_urgent } = it;
        let found = format!("{constraint} on {table}");
        if *is_urgent {
            let advice = format!(
                "jobs of that week are refused: start a scheduler, which drops the constraint, or ALTER TABLE {table} DROP \
                 CONSTRAINT {constraint}"
            );
            Finding::alarm("constraint", found, advice)
        } else {
            Finding::hint(
                "constraint",
                found,
                "a scheduler creates a partition; if none does, start one before that week begins",
            )
        }
    };
    store.exclusions.iter().map(finding).collect()
}

fn contents(store: &StoreFacts, settings: &Settings) -> Vec<Finding> {
    let lag = store.change_lag.unwrap_or_default();
    let oldest = store.oldest_due;
    let overdue = store.longest_overdue.unwrap_or_default();
    let leader = store.leaders.iter().find(|reign| reign.left_secs > 0.0);
    vec![
        Finding::judged("change log", format!("{} behind", Span(whole(lag))), lag > LONG_LAG, || {
            "an old transaction blocks readers of the change log: end it (see long transactions)".into()
        }),
        Finding::judged(
            "oldest due job",
            oldest.map_or_else(
                || "none".into(),
                |wait| format!("waiting for {}; {} jobs are due", Span(whole(wait)), store.jobs_due),
            ),
            oldest.is_some_and(|wait| wait > LONG_WAIT),
            || {
                "start more workers or give them more slots, and check that a worker serves the queue (foreman queues list)".into()
            },
        ),
        Finding::judged(
            "sessions",
            format!("{} live, {} expired", store.live_sessions, store.overdue_sessions),
            store.overdue_sessions > 0 && overdue > LONG_OVERDUE,
            || "jobs of a dead worker wait for a sweeper: start a worker or a scheduler".into(),
        ),
        Finding::fine("workers", if store.live_sessions == 0 { "none running" } else { "running" }),
        Finding::judged(
            "leader",
            leader.map_or_else(|| "no leader".into(), |reign| format!("elected, term {}", reign.term)),
            leader.is_none() && !store.leaders.is_empty(),
            || {
                format!(
                    "no scheduler has renewed its lease within {}: start one, because without it no schedule fires and nothing is pruned",
                    format(settings.leader_ttl)
                )
            },
        ),
        super::pruning(&store.pruned, leader.is_some()),
        Finding::judged(
            "dead rows",
            format!("{} dead and {} live rows in the queue", store.dead_rows, store.live_rows),
            store.dead_rows > 100_000 && store.dead_rows > store.live_rows * 5,
            || "vacuum does not keep up: look for long transactions, then VACUUM the table ready".into(),
        ),
    ]
}

fn whole(span: Duration) -> Duration {
    Duration::from_secs(span.as_secs())
}

fn millis(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::super::planted::{self, Complaint};
    use super::*;

    #[test]
    fn settings_that_lose_what_was_accepted_need_attention() {
        for (name, value, is_fine) in [
            ("synchronous_commit", "on", true),
            ("synchronous_commit", "remote_apply", true),
            ("synchronous_commit", "off", false),
            ("fsync", "on", true),
            ("fsync", "off", false),
            ("autovacuum", "off", false),
            ("max_prepared_transactions", "0", true),
            ("max_prepared_transactions", "10", false),
            ("idle_in_transaction_session_timeout", "0", true),
        ] {
            assert_eq!(setting(name, value).is_fine, is_fine, "{name} = {value}");
        }
    }

    /// A server with nothing to complain of.
    fn healthy() -> Examination {
        Examination {
            version: "15.8".into(),
            version_number: 150_008,
            is_standby: false,
            sees_others: true,
            settings: vec![("synchronous_commit".into(), "on".into()), ("fsync".into(), "on".into())],
            connections: doctor::Connections { max: 100, reserved: 3, used: 20, ours: 14, processes: 4 },
            skew_micros: 2_000,
            round_trip: Duration::from_millis(1),
            holders: Vec::new(),
            announcer: None,
            store: Some(StoreFacts {
                jobs_due: 3,
                oldest_due: Some(Duration::from_secs(1)),
                live_sessions: 2,
                overdue_sessions: 0,
                longest_overdue: None,
                change_lag: None,
                leaders: vec![doctor::Reign { office: "scheduler".into(), term: 3, left_secs: 9.0 }],
                dead_rows: 100,
                live_rows: 3,
                pruned: vec![("jobs".into(), Duration::from_mins(9))],
                exclusions: Vec::new(),
            }),
        }
    }

    fn contents_of(facts: &mut Examination) -> &mut StoreFacts {
        facts.store.as_mut().expect("it was migrated")
    }

    fn complaints(facts: &Examination) -> Vec<Complaint> {
        let settings = Settings::default();
        let mut findings = server(facts);
        findings.push(connections(facts, 14));
        findings.push(clock(facts));
        findings.extend(transactions(facts, settings.horizon.limit));
        findings.extend(held_log(facts));
        findings.extend(facts.store.iter().flat_map(|store| contents(store, &settings)));
        findings.extend(facts.store.iter().flat_map(exclusions));
        planted::complaints(findings)
    }

    #[test]
    fn a_server_in_order_is_not_complained_of() {
        assert_eq!(complaints(&healthy()), []);
    }

    #[test]
    fn each_thing_that_is_wrong_is_found_alone_and_says_what_to_do() {
        let cases: [planted::Case<Examination>; 17] = [
            ("version", "upgrade", |it| it.version_number = 130_015),
            ("role of the server", "primary", |it| it.is_standby = true),
            ("synchronous_commit", "synchronous_commit = on", |it| it.settings[0].1 = "off".into()),
            ("fsync", "turn fsync on", |it| it.settings[1].1 = "off".into()),
            ("connections", "max_connections", |it| it.connections.used = 90),
            ("clock", "NTP", |it| it.skew_micros = 1_500_000),
            ("clock", "NTP", |it| it.skew_micros = -1_500_000),
            ("change log", "old transaction", |it| contents_of(it).change_lag = Some(Duration::from_secs(11))),
            ("held change log", "pg_terminate_backend(7)", |it| it.announcer = Some(announcer(11))),
            ("constraint", "ALTER TABLE jobs_default DROP CONSTRAINT jobs_default_not_w20261116", |it| {
                contents_of(it).exclusions.push(exclusion(true));
            }),
            ("oldest due job", "more workers", |it| contents_of(it).oldest_due = Some(Duration::from_secs(301))),
            ("sessions", "start a worker", |it| {
                contents_of(it).overdue_sessions = 1;
                contents_of(it).longest_overdue = Some(Duration::from_secs(61));
            }),
            ("leader", "start one", |it| contents_of(it).leaders[0].left_secs = -1.0),
            ("pruning", "foreman_prune_behind_seconds", |it| contents_of(it).pruned[0].1 = Duration::from_mins(61)),
            ("dead rows", "long transactions", |it| contents_of(it).dead_rows = 1_000_000),
            ("long transaction", "pg_terminate_backend(4711)", |it| it.holders.push(holder())),
            ("long transaction", "ROLLBACK PREPARED 'left'", |it| {
                it.holders.push(doctor::Holder { what: doctor::What::Prepared { gid: "left".into() }, ..holder() });
            }),
        ];
        planted::assert_found_alone(healthy, complaints, &cases);
    }

    fn holder() -> doctor::Holder {
        doctor::Holder {
            what: doctor::What::Transaction { pid: 4711, state: "idle in transaction".into(), query_start: None },
            application: "psql".into(),
            user: "me".into(),
            since: Some(foreman_core::Timestamp::from_micros(1_763_200_000_000_000)),
            age: Duration::from_secs(61),
        }
    }

    fn announcer(age: u64) -> Announcer {
        Announcer { pid: 7, application: "foreman-api".into(), age: Duration::from_secs(age) }
    }

    fn exclusion(is_urgent: bool) -> Exclusion {
        let constraint = "jobs_default_not_w20261116".into();
        Exclusion { table: "jobs_default".into(), constraint, is_urgent }
    }

    /// A stock server has room for a hundred connections, and an ordinary user does not see what others do.
    #[test]
    fn what_could_be_better_is_said_and_raises_no_alarm() {
        let mut facts = healthy();
        facts.connections.processes = 7;
        facts.sees_others = false;
        assert_eq!(complaints(&facts), []);
        let found = connections(&facts, 14);
        // Seven with fourteen connections each, and six of others.
        assert!(found.is_fine && found.advice.as_ref().is_some_and(|advice| advice.contains("need 104")), "{found:?}");
        let rights = transactions(&facts, Duration::from_mins(1)).pop().expect("the last is about rights");
        assert!(rights.is_fine && rights.advice.is_some_and(|advice| advice.contains("pg_read_all_stats")));
    }

    /// Little is no reason to call anybody.
    #[test]
    fn what_passes_by_itself_is_not_complained_of() {
        let spoils: [fn(&mut Examination); 7] = [
            |it| contents_of(it).overdue_sessions = 1,
            |it| contents_of(it).leaders.clear(),
            |it| contents_of(it).dead_rows = 90_000,
            |it| contents_of(it).exclusions.push(exclusion(false)),
            |it| it.announcer = Some(announcer(9)),
            |it| contents_of(it).change_lag = Some(Duration::from_secs(2)),
            |it| it.holders.push(doctor::Holder { age: Duration::from_secs(59), ..holder() }),
        ];
        for spoil in spoils {
            let mut facts = healthy();
            spoil(&mut facts);
            assert_eq!(complaints(&facts), []);
        }
    }
}
