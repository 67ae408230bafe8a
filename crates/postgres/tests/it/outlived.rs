//! What pruning jobs costs where there are many tenants and many weeks.

use std::time::Duration;

use foreman_core::Clock;
use foreman_core::conformance::prune::for_ever;
use foreman_core::ports::{PruneKind, PruneStep, Retention, Upkeep};
use foreman_postgres::statements;
use foreman_runtime::Tasks;
use tokio_postgres::Client;

use crate::given::{Database, Team};
use crate::wire::{Meter, behind};

const TENANTS: i64 = 10_000;
const WEEKS: i64 = 58;
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
        let PruneStep { removed: some, is_done } = step.unwrap();
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
async fn ten_thousand_tenants_in_fifty_eight_weeks_are_not_asked_for_again_and_again() {
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
