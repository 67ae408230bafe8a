//! A database that can only be read for a while, and connections that outlive what they lead to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreman_conformance::given::{a_job, jobs};
use foreman_core::ports::{JobQuery as _, JobStore as _, StoreError, Topic, Wakeups as _};
use foreman_postgres::leases::PgLeases;
use foreman_postgres::wakeups::PgWakeups;
use foreman_postgres::{Config, PostgresStore};
use foreman_runtime::leadership::Lease as _;
use foreman_runtime::{Stop, Tasks};
use futures_util::future::join_all;
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::given::{Database, Team};

const TTL: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(20);

/// What a standby looks like, or a provider's server whose disk is full: every session that begins can only read.
async fn make_read_only(database: &Database, admin: &Client) {
    let name = &database.name;
    admin.batch_execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await.unwrap();
    let sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    admin.execute(sql, &[]).await.unwrap();
}

async fn make_writable(database: &Database, admin: &Client) {
    admin
        .batch_execute(&format!("ALTER DATABASE {} RESET default_transaction_read_only", database.name))
        .await
        .unwrap();
}

#[tokio::test]
async fn after_a_failover_through_a_standby_the_first_call_is_answered() {
    // More callers than connections: each waits its turn, however slow the machine is.
    let team = Team::with(|config| config.acquire_timeout = PATIENCE).await;
    let leases = PgLeases::new(&Config::at(team.database.url())).unwrap();
    let admin = team.database.client().await;
    team.store.submit(&jobs(1, &a_job())).await.unwrap();
    let term = leases.acquire("scheduler", "a", TTL).await.unwrap().unwrap();

    make_read_only(&team.database, &admin).await;
    // Many at once, so that every place in the pool is asked for.
    for answer in join_all((0..16).map(async |_| team.store.submit(&jobs(1, &a_job())).await)).await {
        let Err(StoreError::Unavailable(why)) = answer else { panic!("nothing can be written: {answer:?}") };
        assert!(why.contains("read-only"), "{why}");
    }
    assert!(matches!(team.store.ping().await, Err(StoreError::Unavailable(_))));
    assert!(leases.renew("scheduler", term, TTL).await.is_err());

    make_writable(&team.database, &admin).await;
    for answer in join_all((0..16).map(async |_| team.store.submit(&jobs(1, &a_job())).await)).await {
        answer.unwrap();
    }
    team.store.ping().await.unwrap();
    assert!(leases.renew("scheduler", term, TTL).await.unwrap());
}

/// What a pooler can do to a session that is ours, or somebody who turns on read-only mode for all that are open.
#[tokio::test]
async fn a_connection_that_turned_read_only_is_replaced_unnoticed() {
    let team = Team::with(|config| config.data_connections = 4).await;
    let admin = team.database.client().await;
    let now: String = admin.query_one("SELECT pg_get_functiondef('foreman_now'::regproc)", &[]).await.unwrap().get(0);
    let fill = async || join_all((0..16).map(async |_| team.store.submit(&jobs(1, &a_job())).await)).await;
    // A session that commits this can only read from then on. Not the reservation in front of a batch: it does not wait for the disk.
    let turn = "CREATE OR REPLACE FUNCTION foreman_now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
                BEGIN
                    IF current_setting('synchronous_commit') <> 'off' THEN
                        PERFORM set_config('default_transaction_read_only', 'on', false);
                    END IF;
                    RETURN now();
                END $$";
    for asks in [false, true] {
        admin.batch_execute(turn).await.unwrap();
        assert!(fill().await.iter().any(Result::is_ok), "a session turns when it commits");
        admin.batch_execute(&now).await.unwrap();
        if asks {
            team.store.ping().await.unwrap();
        }
        for answer in fill().await {
            answer.unwrap();
        }
    }
}

/// The processes of the server that have served this store.
async fn backends(admin: &Client, name: &str) -> BTreeSet<i32> {
    let sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1";
    admin.query(sql, &[&name]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_connection_that_has_reached_its_age_is_replaced() {
    let database = Database::ready().await;
    let admin = database.client().await;
    let config = |age: Duration| {
        let mut config = Config::at(database.url());
        config.application_name = format!("aged {}", age.as_millis());
        config.data_connections = 1;
        config.max_connection_age = age;
        config
    };
    for (age, is_replaced) in [(Duration::from_hours(1), false), (Duration::ZERO, true)] {
        let config = config(age);
        let name = config.application_name.clone();
        let wakeups = Arc::new(foreman_core::memory::LocalWakeups::new());
        let store = PostgresStore::open(config, wakeups).await.unwrap();
        store.ping().await.unwrap();
        let before = backends(&admin, &name).await;
        store.ping().await.unwrap();
        let after = backends(&admin, &name).await;
        assert_eq!(after.difference(&before).count(), usize::from(is_replaced), "{before:?} {after:?}");
        store.close();
    }
}

#[tokio::test]
async fn a_process_that_listens_goes_on_hearing_when_its_connection_is_replaced() {
    let database = Database::ready().await;
    let admin = database.client().await;
    let mut config = Config::at(database.url());
    config.application_name = "listens".into();
    config.max_connection_age = Duration::from_millis(100);
    let (bell, wakeups) = PgWakeups::new(&config).unwrap();
    let (_other_bell, other) = PgWakeups::new(&Config::at(database.url())).unwrap();
    let stop = Stop::new();
    let mut heard = wakeups.listen(Topic::Ready);
    let task = Tasks::new().spawn("a bell", bell.run(stop.shutdown()));
    let mut seen = BTreeSet::new();
    timeout(PATIENCE, async {
        while seen.len() < 5 {
            seen.extend(backends(&admin, "listens").await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("connections are replaced");
    heard.mark_unchanged();
    other.ring(Topic::Ready);
    other.flush().await;
    timeout(PATIENCE, heard.changed()).await.expect("the bell was heard").unwrap();
    stop.drain();
    task.await.unwrap();
}

/// The settings that the server has for each session that did something, as the sessions themselves see them.
#[tokio::test]
async fn the_server_drops_a_peer_that_is_silent_and_ends_what_takes_too_long() {
    let database = Database::ready().await.spoil();
    let admin = database.client().await;
    let names = "'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout',
                 'idle_in_transaction_session_timeout', 'statement_timeout', 'lock_timeout', 'transaction_timeout'";
    let spy = format!(
        "CREATE TABLE seen (application text, setting text, value text, PRIMARY KEY (application, setting));
         CREATE OR REPLACE FUNCTION foreman_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
         BEGIN
             INSERT INTO foreman.seen
             SELECT current_setting('application_name'), name, coalesce(current_setting(name, true), 'unknown')
             FROM unnest(ARRAY[{names}]) AS name ON CONFLICT DO NOTHING;
             RETURN now();
         END $$"
    );
    let mut config = Config::at(database.url());
    config.application_name = "store".into();
    let wakeups = Arc::new(foreman_core::memory::LocalWakeups::new());
    let store = PostgresStore::open(config.clone(), wakeups).await.unwrap();
    config.application_name = "leases".into();
    let leases = PgLeases::new(&config).unwrap();
    admin.batch_execute(&spy).await.unwrap();
    store.submit(&jobs(1, &a_job())).await.unwrap();
    leases.acquire("scheduler", "a", TTL).await.unwrap();
    store.close();
    let version: i32 =
        admin.query_one("SELECT current_setting('server_version_num')::integer", &[]).await.unwrap().get(0);
    for application in ["store", "leases"] {
        for (setting, expected) in [
            ("tcp_keepalives_idle", "10"),
            ("tcp_keepalives_interval", "10"),
            ("tcp_keepalives_count", "2"),
            ("tcp_user_timeout", "30000"),
            ("idle_in_transaction_session_timeout", "5s"),
            ("statement_timeout", "10s"),
            ("lock_timeout", "2s"),
            ("transaction_timeout", if version >= 170_000 { "20s" } else { "unknown" }),
        ] {
            let sql = "SELECT value FROM seen WHERE application = $1 AND setting = $2";
            let row = admin.query_opt(sql, &[&application, &setting]).await.unwrap();
            let value: String = row.unwrap_or_else(|| panic!("{application} did nothing")).get(0);
            assert_eq!(value, expected, "{setting} of {application}");
        }
    }
}
