//! What pruning jobs costs where there are many tenants and many weeks.

use std::time::Duration;

use foreman_conformance::prune::for_ever;
use foreman_core::Clock;
use foreman_core::ports::{PruneKind, PruneStep, Retention, Upkeep};
use foreman_postgres::statements;
use foreman_runtime::Tasks;
use tokio_postgres::Client;

use crate::given::{Database, Team};
use crate::wire::{Meter, behind};

const TENANTS: i64 = 10_000;
const WEEKS: i64 = 12;
/// The first of those weeks.
const MONDAY: &str = "2020-01-06";
/// Pairs of tenant and state that one step looks at.
const PAIRS: i64 = 1_000;

/// So many weeks, in each of which every tenant has one completed job.
async fn fill(client: &Client) {
    let text = format!(
        "DO $$ DECLARE monday date; low text; high text;
         BEGIN
             FOR week IN 0..{last} LOOP
                 monday := date '{MONDAY}' + 7 * week;
                 low := lpad(to_hex((extract(epoch FROM monday) * 1000)::bigint), 12, '0') || repeat('0', 20);
                 high := lpad(to_hex((extract(epoch FROM monday + 7) * 1000)::bigint), 12, '0') || repeat('0', 20);
                 EXECUTE format('CREATE TABLE outcomes_w%s PARTITION OF outcomes FOR VALUES FROM (%L) TO (%L)',
                                to_char(monday, 'YYYYMMDD'), low::uuid, high::uuid);
                 EXECUTE format('INSERT INTO outcomes_w%s (job, tenant, state, queue, finished_at, attempt, spent, crashes,
                                                           run_at, settled, report)
                     SELECT (%L || lpad(to_hex(n), 20, ''0''))::uuid, ''tenant-'' || n, ''completed'', ''q'',
                            %L::timestamptz + n * interval ''1 second'', 1, 1, 0, now(), true, ''{{}}''
                     FROM generate_series(1, {TENANTS}) AS n', to_char(monday, 'YYYYMMDD'), left(low, 12), monday);
             END LOOP;
         END $$",
        last = WEEKS - 1,
    );
    client.batch_execute(&text).await.unwrap();
}

/// Step by step until it is done: how many there were, and how many jobs went.
async fn prune(team: &Team, retention: &Retention) -> (i64, usize) {
    let (mut steps, mut removed) = (0, 0);
    loop {
        let step = team.store.prune_kind(None, PruneKind::Jobs, retention, 500).await.unwrap();
        let PruneStep { removed: some, is_done, .. } = step.unwrap();
        steps += 1;
        removed += some;
        if is_done {
            return (steps, removed);
        }
    }
}

/// Pages that a step reads, whatever is cached.
async fn pages(client: &Client, partition: &str) -> i64 {
    let walk = statements::all().into_iter().find(|text| text.contains("RECURSIVE pairs")).unwrap();
    let walk = walk.replace("outcomes_default", partition).replace("$1", "''").replace("$2", "''");
    let walk = walk.replace("$3", &PAIRS.to_string());
    let rows = client.query(&format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) {walk}"), &[]).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(plan[0].contains(&format!("actual rows={PAIRS} ")), "{plan:#?}");
    // Of the whole: what its parts read is in it.
    let buffers = plan.iter().find_map(|line| line.trim().strip_prefix("Buffers: shared ")).unwrap();
    let words = buffers.split(' ').filter(|word| word.starts_with("hit=") || word.starts_with("read="));
    words.map(|word| word.split_once('=').unwrap().1.parse::<i64>().unwrap()).sum()
}

#[tokio::test]
async fn ten_thousand_tenants_in_twelve_weeks_are_not_asked_for_again_and_again() {
    let tasks = Tasks::new();
    let (meter, address) = Meter::start(&tasks).await;
    let team = Team::on(Database::ready().await.spoil(), |config| {
        config.url = config.url.replace(&behind(), &address);
        config.data_connections = 1;
    })
    .await;
    let client = team.database.client().await;
    fill(&client).await;
    client.batch_execute(&statements::settings(&foreman_postgres::Config::at(team.database.url()))).await.unwrap();
    let read = pages(&client, "outcomes_w20200210").await;
    assert!(read <= 6 * PAIRS, "a few pages for each of {PAIRS} pairs: {read}");

    // Nothing is old. A leader looks through everything once, in small steps.
    let (steps, removed) = prune(&team, &for_ever()).await;
    assert_eq!(removed, 0);
    let weeks = WEEKS + 10;
    assert!(steps <= WEEKS * (TENANTS / PAIRS + 1) + weeks, "{steps} steps");
    // From then on it knows that there is nothing to look for.
    meter.take();
    assert_eq!(prune(&team, &for_ever()).await, (1, 0));
    let (statements, _) = meter.take();
    assert!(statements <= 6, "{statements} statements when nothing is old");

    // The first fifty of the first week are old now: that week is looked through, and no other.
    let first = format!("{MONDAY}T00:00:00Z").parse::<foreman_core::Timestamp>().unwrap();
    let keep = team.clock.now().since(first.plus(Duration::from_secs(50)));
    let retention = Retention { completed: Some(keep), ..for_ever() };
    let (steps, removed) = prune(&team, &retention).await;
    assert_eq!(removed, 50);
    assert!(steps <= TENANTS / PAIRS + 2, "{steps} steps");
    let (statements, _) = meter.take();
    assert!(statements <= 60 + 10 * usize::try_from(steps).unwrap(), "{statements} statements in {steps} steps");
    let left: i64 = client.query_one("SELECT count(*) FROM outcomes", &[]).await.unwrap().get(0);
    assert_eq!(left, WEEKS * TENANTS - 50);
}

/// A week of outcomes, with one completed job of this tenant.
async fn week_with_one(client: &Client, monday: &str, tenant: &str) {
    let text = format!(
        "DO $$ DECLARE
             monday date := '{monday}';
             low text := lpad(to_hex((extract(epoch FROM monday) * 1000)::bigint), 12, '0') || repeat('0', 20);
             high text := lpad(to_hex((extract(epoch FROM monday + 7) * 1000)::bigint), 12, '0') || repeat('0', 20);
         BEGIN
             EXECUTE format('CREATE TABLE outcomes_w%s PARTITION OF outcomes FOR VALUES FROM (%L) TO (%L)',
                            to_char(monday, 'YYYYMMDD'), low::uuid, high::uuid);
             INSERT INTO outcomes (job, tenant, state, queue, finished_at, attempt, spent, crashes, run_at, settled, report)
             VALUES (low::uuid, '{tenant}', 'completed', 'q', monday, 1, 1, 0, now(), true, '{{}}');
         END $$"
    );
    client.batch_execute(&text).await.unwrap();
}

fn a_year() -> Retention {
    Retention { completed: Some(Duration::from_hours(365 * 24)), ..for_ever() }
}

/// Those of users and Foreman's own are in an index each.
#[tokio::test]
async fn deliveries_are_pruned_beside_the_jobs_of_users() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let client = team.database.client().await;
    week_with_one(&client, "2020-01-06", "a").await;
    week_with_one(&client, "2020-01-13", "b").await;
    week_with_one(&client, "2020-01-20", "c").await;
    client.batch_execute("UPDATE outcomes SET queue = 'foreman.webhooks' WHERE tenant <> 'b'").await.unwrap();
    assert_eq!(prune(&team, &a_year()).await.1, 3);
    assert_eq!(client.query_one("SELECT count(*) FROM outcomes", &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn nothing_is_pruned_before_the_indexes_for_it_are_built() {
    let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
    let client = team.database.client().await;
    week_with_one(&client, "2020-01-06", "a").await;
    client.batch_execute("DROP INDEX ended_of_foreman").await.unwrap();
    assert_eq!(prune(&team, &a_year()).await, (1, 0));
    foreman_postgres::migrate::up(&foreman_postgres::Config::at(team.database.url())).await.unwrap();
    assert_eq!(prune(&team, &a_year()).await.1, 1);
}

/// Until somebody waits for a lock.
async fn until_one_waits(client: &Client) {
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The pruner gives a step that hangs a few seconds, and then drops it.
#[tokio::test]
async fn a_step_that_is_cut_off_keeps_what_is_known_and_the_next_one_looks_elsewhere() {
    let team = Team::on(Database::ready().await.spoil(), |config| config.lock_timeout = Duration::from_mins(1)).await;
    let client = team.database.client().await;
    week_with_one(&client, "2020-01-06", "a").await;
    week_with_one(&client, "2020-01-13", "b").await;
    let step = async |retention: Retention| {
        team.store.prune_kind(None, PruneKind::Jobs, &retention, 500).await.unwrap().unwrap()
    };
    let cut_off = async |retention: Retention| {
        tokio::select! {
            found = step(retention) => panic!("the partition is locked: {found:?}"),
            () = until_one_waits(&client) => {}
        }
    };
    let other = team.database.client().await;
    other.batch_execute("BEGIN; LOCK TABLE outcomes_w20200106").await.unwrap();
    cut_off(a_year()).await;
    let found = tokio::time::timeout(Duration::from_secs(30), step(a_year())).await;
    assert_eq!(found.expect("the other week is not locked").removed, 1);
    other.batch_execute("COMMIT").await.unwrap();
    let (_, removed) = prune(&team, &a_year()).await;
    assert_eq!(removed, 1, "the one that was locked");
    // Where something was removed it is looked once more.
    assert_eq!(prune(&team, &a_year()).await.1, 0);

    // Everything was looked through, and one partition may have something that is old by now.
    week_with_one(&client, "2020-01-20", "c").await;
    let (_, removed) = prune(&team, &for_ever()).await;
    assert_eq!(removed, 0);
    other.batch_execute("BEGIN; LOCK TABLE outcomes_w20200120").await.unwrap();
    cut_off(a_year()).await;
    other.batch_execute("LOCK TABLE outcomes").await.unwrap();
    let found = tokio::time::timeout(Duration::from_secs(30), step(for_ever())).await;
    assert_eq!(found.expect("nothing is looked at").removed, 0);
    other.batch_execute("COMMIT").await.unwrap();
}

/// Jobs of a week that is dropped come to the default partition, maybe before where the look through it has got to.
#[tokio::test]
async fn what_moves_into_the_default_partition_during_its_look_is_found() {
    for is_cut_off in [false, true] {
        let team = Team::on(Database::ready().await.spoil(), |_| {}).await;
        let client = team.database.client().await;
        week_with_one(&client, "2020-01-06", "a").await;
        week_with_one(&client, "2020-01-13", "b").await;
        // More pairs than one step looks at.
        let recent = "INSERT INTO outcomes (job, tenant, state, queue, finished_at, attempt, spent, crashes, run_at, settled, report)
                      SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'tenant-' || n, 'completed', 'q',
                             foreman_now(), 1, 1, 0, now(), true, '{}' FROM generate_series(1, $1::bigint) AS n";
        client.execute(recent, &[&(PAIRS + PAIRS / 2)]).await.unwrap();
        let sql = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'outcomes'::regclass";
        let partitions: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
        // The default partition comes last. Half of it.
        for _ in 0..partitions {
            let step = team.store.prune_kind(None, PruneKind::Jobs, &for_ever(), 500).await.unwrap().unwrap();
            assert!(!step.is_done);
        }
        if is_cut_off {
            let text = "CREATE FUNCTION hold_up() RETURNS event_trigger LANGUAGE plpgsql AS
                        'BEGIN IF to_regclass(''foreman.outcomes_w20200106'') IS NULL THEN PERFORM pg_sleep(60); END IF; END';
                        CREATE EVENT TRIGGER hold_up ON ddl_command_start WHEN TAG IN ('DROP TABLE') EXECUTE FUNCTION hold_up()";
            client.batch_execute(text).await.unwrap();
            let is_gone = async || -> bool {
                let sql = "SELECT to_regclass('outcomes_w20200106') IS NULL";
                client.query_one(sql, &[]).await.unwrap().get(0)
            };
            tokio::select! {
                done = team.store.tend_partitions(10) => panic!("it is held up at the second week: {done:?}"),
                () = async { while !is_gone().await { tokio::time::sleep(Duration::from_millis(5)).await } } => {}
            }
            // The server has not noticed yet.
            let sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event = 'PgSleep'";
            client.execute(sql, &[]).await.unwrap();
            client.batch_execute("DROP EVENT TRIGGER hold_up").await.unwrap();
        } else {
            assert_eq!(team.store.tend_partitions(10).await.unwrap().1, 2);
        }
        let (_, removed) = prune(&team, &for_ever()).await;
        assert_eq!(removed, 0);
        let (_, removed) = prune(&team, &a_year()).await;
        assert_eq!(removed, 2, "cut off: {is_cut_off}");
    }
}
