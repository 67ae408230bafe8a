//! Every statement is one that a migrated database understands.

use foreman_conformance::given::{a_job, jobs};
use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Counted, JobFilter, JobQuery as _, JobStore as _};
use foreman_core::{State, TenantId};
use foreman_postgres::{Config, statements};
use tokio_postgres::Client;

use crate::given::{Database, Team};

#[tokio::test]
async fn every_statement_can_be_prepared_on_a_migrated_database() {
    let database = Database::ready().await;
    let client = database.client().await;
    let statements = statements::all();
    assert!(statements.len() > 80, "the list was read: {}", statements.len());
    let mut wrong = Vec::new();
    for text in statements {
        if let Err(error) = client.prepare(&text).await {
            wrong.push(format!("{error:?}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A connection plans a statement once, maybe on an empty table, and keeps the plan when the table has grown to a million.
#[tokio::test]
async fn what_is_planned_on_an_empty_table_still_reads_its_index_in_order() {
    let database = Database::ready().await;
    let client = database.client().await;
    client.batch_execute(&statements::settings(&Config::at(database.url()))).await.unwrap();
    for (text, index, table) in statements::IN_ORDER {
        let body = text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
        client.batch_execute(&format!("PREPARE planned AS {body}")).await.unwrap();
        let kinds: i64 = client
            .query_one(
                "SELECT cardinality(parameter_types)::bigint FROM pg_prepared_statements WHERE name = 'planned'",
                &[],
            )
            .await
            .unwrap()
            .get(0);
        let nulls = match kinds {
            0 => String::new(),
            kinds => format!("({})", vec!["NULL"; usize::try_from(kinds).unwrap()].join(", ")),
        };
        let rows = client.query(&format!("EXPLAIN (COSTS OFF) EXECUTE planned{nulls}"), &[]).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(plan.contains(&format!("using {index} on {table}")), "{index}:\n{plan}");
        assert!(!plan.contains(&format!("Seq Scan on {table}")) && !plan.contains("Bitmap"), "{plan}");
        let sorted: Vec<&str> = plan.lines().filter(|line| line.contains(&format!("Sort Key: {table}"))).collect();
        assert_eq!(sorted, [""; 0], "what is taken is not sorted, for that reads all of it:\n{plan}");
        client.batch_execute("DEALLOCATE planned").await.unwrap();
    }
}

/// A claim asks for hundreds of jobs: as constants, their ids would cost the planner more than it takes to read the jobs.
#[tokio::test]
async fn the_work_of_a_claim_is_read_by_the_index_and_planned_without_its_ids() {
    let database = Database::ready().await;
    let client = database.client().await;
    client.batch_execute(&statements::settings(&Config::at(database.url()))).await.unwrap();
    client.batch_execute("SET plan_cache_mode = force_custom_plan").await.unwrap();
    let ids: Vec<String> = (0..512).map(|_| uuid::Uuid::now_v7().to_string()).collect();
    let given = format!("'{{{}}}', '{}', '{}'", ids.join(","), ids[0], ids[511]);
    for has in [["SELECT id, created_at, work FROM jobs", "<= $3"], ["SELECT jobs.id FROM jobs", "IS NULL"]] {
        let body = statement(&has).lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
        client.batch_execute(&format!("PREPARE planned AS {body}")).await.unwrap();
        let rows = client.query(&format!("EXPLAIN (COSTS OFF) EXECUTE planned ({given})"), &[]).await.unwrap();
        let plan = rows.iter().map(|row| row.get(0)).collect::<Vec<String>>().join("\n");
        assert!(plan.contains("id = ANY ($0)") && !plan.contains("Seq Scan"), "{plan}");
        assert!(
            !plan.contains(&ids[7]) && plan.lines().count() < 20,
            "one partition, and no id but the bounds:\n{plan}"
        );
        client.batch_execute("DEALLOCATE planned").await.unwrap();
    }
}

/// A tenant may have a million jobs waiting: what its queues are counted for goes by their names.
#[tokio::test]
async fn queues_are_counted_by_their_names_however_many_jobs_wait_in_them() {
    let team = Team::new().await;
    for queue in ["first", "second", "third"] {
        team.store.submit(&jobs(2_000, &a_job().queued(queue))).await.unwrap();
    }
    let client = team.database.client().await;
    client.batch_execute("VACUUM ready").await.unwrap();
    client.batch_execute(&statements::settings(&Config::at(team.database.url()))).await.unwrap();
    let waits = format!("ARRAY['first', 'none', {}]", "'third', ".repeat(50) + "'second'");
    for (given, text) in
        [("'default', 10001", statements::WAITING_QUEUES), (&*format!("'default', {waits}"), statements::WAITING_IN)]
    {
        client.batch_execute(&format!("PREPARE planned AS {text}")).await.unwrap();
        let answer = client.query(&format!("EXECUTE planned ({given})"), &[]).await.unwrap();
        let count = if text == statements::WAITING_IN { answer.len() as i64 } else { answer[0].get(0) };
        assert_eq!(count, 3, "{text}");
        let sql = format!("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE planned ({given})");
        let rows = client.query(&sql, &[]).await.unwrap();
        let plan = rows.iter().map(|row| row.get(0)).collect::<Vec<String>>().join("\n");
        let read = plan.split("shared hit=").nth(1).and_then(|rest| rest.split(|it: char| !it.is_ascii_digit()).next());
        let read: u64 = read.expect("the whole plan's buffers").parse().unwrap();
        assert!((1..=40).contains(&read) && !plan.contains(" read="), "{read} buffers:\n{plan}");
        client.batch_execute("DEALLOCATE planned").await.unwrap();
    }
}

/// A tenant that has named a thousand queues, and has a backlog in another, must not keep the pruner from its work.
#[tokio::test]
async fn what_waits_is_walked_over_once_however_many_queues_are_unused() {
    let team = Team::new().await;
    team.store.submit(&jobs(500, &a_job())).await.unwrap();
    let client = team.database.client().await;
    client.batch_execute(&statements::settings(&Config::at(team.database.url()))).await.unwrap();
    let unused = "INSERT INTO queues (queue, tenant, used_at)
                  SELECT 'unused-' || n, 'default', now() - interval '90 days' FROM generate_series(1, 100) AS n";
    client.batch_execute(unused).await.unwrap();
    let statements = statements::all();
    let text = statements.iter().find(|text| text.contains("left_behind")).expect("the one that removes queues");
    let body = text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    client.batch_execute(&format!("PREPARE planned AS {body}")).await.unwrap();
    let sql = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE planned (1000, '30 days')";
    let rows = client.query(sql, &[]).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let walks: Vec<&String> = plan.iter().filter(|line| line.contains(" on ready ")).collect();
    assert!(!walks.is_empty() && walks.iter().all(|line| line.contains("loops=1)")), "{}", plan.join("\n"));
    let left = client.query("SELECT queue FROM queues", &[]).await.unwrap();
    assert_eq!(left.len(), 1, "the one that is used");
}

/// An id of any time but ours: it lies in the default partition, and in no week that happens to be there.
const LONG_AGO: &str = "overlay(gen_random_uuid()::text PLACING '0000' FROM 1 FOR 4)::uuid";

/// Jobs that ended, as many as a history has.
async fn history(client: &Client, state: &str, group: Option<&str>, count: i64) {
    history_of(client, "q", state, group, count).await;
}

async fn history_of(client: &Client, queue: &str, state: &str, group: Option<&str>, count: i64) {
    let sql = format!(
        "INSERT INTO outcomes (job, tenant, state, queue, finished_at, attempt, spent, crashes, run_at, settled, report,
                               error_group)
         SELECT {LONG_AGO}, 'default', $1, $4, now() - n * interval '1 second', 1, 1, 0, now(), true,
                '{{\"error\":\"e\"}}', $2
         FROM generate_series(1, $3::bigint) AS n"
    );
    client.execute(&sql, &[&state, &group, &count, &queue]).await.unwrap();
}

/// How a statement went on what is there: its plan, and how many rows it read of a table with partitions.
async fn read_of_outcomes(client: &Client, text: &str, args: &str) -> (String, u64) {
    read_of("outcomes", client, text, args).await
}

async fn read_of(table: &str, client: &Client, text: &str, args: &str) -> (String, u64) {
    let table = format!(" on {table}");
    // A vacuum takes dead entries away and lets an index answer alone, which other plans are chosen for. It is made here, so that
    // nothing depends on when the server makes its own.
    client.batch_execute("VACUUM outcomes").await.unwrap();
    let body = text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    client.batch_execute(&format!("PREPARE planned AS {body}")).await.unwrap();
    let sql = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE planned ({args})");
    let lines: Vec<String> = client.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    client.batch_execute("DEALLOCATE planned").await.unwrap();
    let number = |line: &str, name: &str| -> Option<u64> {
        let (_, rest) = line.split_once(name)?;
        rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    };
    let mut read = 0;
    let mut loops = 0;
    for line in &lines {
        if let (true, Some(rows)) = (line.contains(&table), number(line, "rows=")) {
            loops = number(line, "loops=").unwrap_or(1);
            read += rows * loops;
        } else if let Some(removed) = number(line, "Rows Removed by Filter: ") {
            read += removed * loops;
        } else if line.contains("->") {
            // What is removed below this is none of its.
            loops = 0;
        }
    }
    (lines.join("\n"), read)
}

fn statement(has: &[&str]) -> String {
    let found: Vec<String> =
        statements::all().into_iter().filter(|text| has.iter().all(|part| text.contains(part))).collect();
    let shortest = found.into_iter().min_by_key(String::len);
    shortest.unwrap_or_else(|| panic!("no statement has {has:?}"))
}

#[tokio::test]
async fn neither_states_nor_groups_of_the_dead_are_counted_by_walking_over_a_history() {
    let database = Database::ready().await;
    let client = database.client().await;
    client.batch_execute(&statements::settings(&Config::at(database.url()))).await.unwrap();
    history(&client, "completed", None, 6_000).await;
    history(&client, "dead", None, 6_000).await;
    history(&client, "dead", Some("aaaaaaaaaaaaaaaa"), 6_000).await;
    history(&client, "failed", Some("aaaaaaaaaaaaaaaa"), 6_000).await;
    history(&client, "dead", Some("bbbbbbbbbbbbbbbb"), 3).await;
    for group in 0..20 {
        history(&client, "failed", Some(&format!("cccccccccccccc{group:02}")), 100).await;
    }
    let enough = "11";
    let (plan, read) = read_of_outcomes(
        &client,
        &statement(&["AS state (name)"]),
        &format!("'default', {enough}, '{{completed,failed,dead,cancelled}}'"),
    )
    .await;
    assert!((30..100).contains(&read), "{read} rows were read\n{plan}");
    // Two groups, each by one step, its count and its ends; and one step that finds no third.
    let (plan, read) = read_of_outcomes(
        &client,
        &statement(&["RECURSIVE walk", "largest"]),
        &format!("'default', {enough}, 100, 2000, 'dead'"),
    )
    .await;
    assert!((14..100).contains(&read), "{read} rows were read\n{plan}");
    let (plan, read) = read_of_outcomes(
        &client,
        &statement(&["error_group IS NULL", "NULL::text"]),
        &format!("'default', {enough}, 'dead'"),
    )
    .await;
    assert!((11..100).contains(&read), "{read} rows were read\n{plan}");
    // A page of a group, of one state; its cursor comes before its limit.
    let page = statement(&["outcomes.error_group =", "outcomes.state = 'dead'", "finished_at DESC"]);
    let (plan, read) =
        read_of_outcomes(&client, &page, "'default', 'aaaaaaaaaaaaaaaa', now(), gen_random_uuid(), 50").await;
    assert!((50..1_000).contains(&read), "{read} rows were read\n{plan}");
    // Of any state: the group's own, and nothing else.
    let page = statement(&["outcomes.error_group =", "outcomes.state IN", "ROW(outcomes.job) DESC"]);
    let (plan, read) =
        read_of_outcomes(&client, &page, "'default', 'bbbbbbbbbbbbbbbb', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 50")
            .await;
    assert_eq!(read, 3, "{plan}");
    // The next test finds no jobs without their outcomes, nor outcomes without their jobs.
    client.batch_execute("TRUNCATE outcomes").await.unwrap();
}

/// A webhook that receives every event of a busy tenant makes more jobs than the tenant.
#[tokio::test]
async fn deliveries_are_not_walked_over_to_find_the_users_jobs() {
    const GROUP: &str = "aaaaaaaaaaaaaaaa";
    let database = Database::ready().await;
    let client = database.client().await;
    client.batch_execute(&statements::settings(&Config::at(database.url()))).await.unwrap();
    for (queue, count) in [("q", 5), ("foreman.webhooks", 20_000)] {
        for (state, group) in [("completed", None), ("dead", Some(GROUP)), ("failed", Some(GROUP)), ("failed", None)] {
            history_of(&client, queue, state, group, count).await;
        }
        let jobs = format!(
            "INSERT INTO jobs (id, tenant, queue, route, lane, max_attempts, created_at, first_run_at, work)
             SELECT {LONG_AGO}, 'default', $1, 'http', 1, 1, now(), now(), '{{}}'
             FROM generate_series(1, $2::bigint)"
        );
        client.execute(&jobs, &[&queue, &count]).await.unwrap();
    }
    client.batch_execute("ANALYZE outcomes; ANALYZE jobs").await.unwrap();
    let page = |has: &[&str]| statement(&[has, &["left(", "DESC LIMIT"]].concat());
    let (now, high) = ("now() + interval '1 day'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'");
    let by_time = format!("'default', {now}, {high}, 50");
    let of_group = format!("'default', '{GROUP}', {now}, {high}, 50");
    let grouped = ["outcomes.error_group =", "finished_at DESC"];
    let ungrouped = statement(&["error_group IS NULL", "NULL::text"]);
    let groups = statement(&["RECURSIVE walk", "largest"]);
    for (table, text, args, most) in [
        ("jobs", page(&["FROM jobs WHERE"]), format!("'default', {high}, 50"), 5),
        ("outcomes", page(&["FROM outcomes WHERE", "state = 'completed'"]), by_time.clone(), 5),
        ("outcomes", page(&["FROM outcomes WHERE", "state = 'dead'"]), by_time, 5),
        ("outcomes", page(&[grouped[0], grouped[1], "state = 'failed'"]), of_group.clone(), 5),
        ("outcomes", page(&[grouped[0], grouped[1], "state = 'dead'"]), of_group, 5),
        ("outcomes", page(&["state IN", "ROW(outcomes.job)"]), format!("'default', '{GROUP}', {high}, 50"), 10),
        // One group, by one step, its count and its ends; and one step that finds no second.
        ("outcomes", groups.clone(), "'default', 11, 100, 2000, 'failed'".into(), 10),
        ("outcomes", groups, "'default', 11, 100, 2000, 'dead'".into(), 10),
        ("outcomes", ungrouped, "'default', 11, 'failed'".into(), 10),
        ("outcomes", statement(&["AS state (name)"]), "'default', 11, '{completed,failed,dead,cancelled}'".into(), 20),
    ] {
        let (plan, read) = read_of(table, &client, &text, &args).await;
        assert!((1..=most).contains(&read), "{read} rows were read\n{text}\n{plan}");
    }
    client.batch_execute("TRUNCATE outcomes, jobs").await.unwrap();
}

/// Groups lie in the order of their hashes. The walk over them ends before it comes to this one, and it is not of the latest.
#[tokio::test]
async fn a_large_group_behind_thousands_of_others_comes_first() {
    const LARGE: &str = "fffffffffffffff0";
    let team = Team::new().await;
    let client = team.database.client().await;
    let tenant = TenantId::default();
    let unlike = format!(
        "INSERT INTO outcomes (job, tenant, state, queue, finished_at, attempt, spent, crashes, run_at, settled, report,
                               error_group)
         SELECT {LONG_AGO}, 'default', 'dead', 'q', now() + n * interval '1 second', 1, 1, 0, now(), true,
                '{{\"error\":\"e\"}}', lpad(to_hex(n), 16, '0')
         FROM generate_series($1::bigint, $2::bigint) AS n"
    );
    client.execute(&unlike, &[&1_i64, &2_000_i64]).await.unwrap();
    let all = team.store.failure_groups(&tenant, &State::FAILURES, usize::MAX, 200).await.unwrap();
    assert_eq!((all.groups.len(), all.is_complete), (2_000, true), "just as many as are looked at");
    assert!(!team.store.failure_groups(&tenant, &State::FAILURES, 1_999, 200).await.unwrap().is_complete);

    client.execute(&unlike, &[&2_001_i64, &6_000_i64]).await.unwrap();
    history(&client, "dead", Some(LARGE), 300).await;
    // Nobody looks at what is older.
    history(&client, "completed", None, 20_000).await;
    client
        .execute("UPDATE outcomes SET finished_at = finished_at - interval '1 day' WHERE state <> 'dead'", &[])
        .await
        .unwrap();
    let found = team.store.failure_groups(&tenant, &State::FAILURES, 100, 200).await.unwrap();
    assert_eq!((found.groups.len(), found.is_complete), (100, false));
    assert_eq!(found.groups[0].group, Some(LARGE.parse().unwrap()));
    assert_eq!(found.groups[0].counted, Counted { count: 200, is_estimate: true });
    assert!(found.groups[1..].iter().all(|group| group.counted.count == 1));
    let none = team.store.failure_groups(&tenant, &State::FAILURES, 0, 200).await.unwrap();
    assert!(none.groups.is_empty() && !none.is_complete);

    // The newest are looked up once, by time; more that died long ago are not read.
    client.batch_execute(&statements::settings(&Config::at(team.database.url()))).await.unwrap();
    let text = statement(&["RECURSIVE walk", "largest"]);
    let args = "'default', 201, 101, 2000, 'dead'";
    history(&client, "dead", Some("fffffffffffffff1"), 10_000).await;
    let (_, some) = read_of_outcomes(&client, &text, args).await;
    client.execute("UPDATE outcomes SET finished_at = finished_at + interval '1 day'", &[]).await.unwrap();
    history(&client, "dead", Some("fffffffffffffff2"), 20_000).await;
    let (plan, more) = read_of_outcomes(&client, &text, args).await;
    // Which groups are among the newest is another matter each time, and so are the few thousand rows by which they are counted. Were
    // those that died long ago read, it would be all the 20,000 that came to them.
    assert!((10_000..40_000).contains(&some) && more < some + 10_000, "{some} rows were read, then {more}\n{plan}");
    client.batch_execute("TRUNCATE outcomes").await.unwrap();
}

/// Which of a million that wait are due stands in no index: so many are looked at, and what is said is true of these.
#[tokio::test]
async fn what_waits_is_counted_only_so_far_and_said_to_be_at_least_that() {
    let team = Team::new().await;
    let tenant = TenantId::default();
    team.store.submit(&jobs(3, &a_job())).await.unwrap();
    let states = team.store.states(&tenant, 5).await.unwrap();
    assert_eq!(states.get(State::Pending), Counted { count: 3, is_estimate: false });
    assert_eq!(states.get(State::Scheduled), Counted { count: 0, is_estimate: false });
    let client = team.database.client().await;
    let sql = "INSERT INTO ready (job, tenant, queue, route, lane, run_at, attempt, spent, crashes)
               SELECT gen_random_uuid(), 'default', 'q', 'http', 1, now() + interval '100 years', 0, 0, 0
               FROM generate_series(1, 20001)";
    client.batch_execute(sql).await.unwrap();
    let states = team.store.states(&tenant, 5).await.unwrap();
    assert_eq!(states.get(State::Scheduled), Counted { count: 5, is_estimate: true });
    assert!(states.get(State::Pending).is_estimate && states.get(State::Retrying).is_estimate, "{states:?}");
    assert!(!states.get(State::Dead).is_estimate);
    client.batch_execute("TRUNCATE ready").await.unwrap();
}

/// A filter by a group asks for what has ended.
#[tokio::test]
async fn nothing_that_still_waits_is_in_a_group_of_errors() {
    let team = Team::new().await;
    let tenant = TenantId::default();
    team.store.submit(&jobs(3, &a_job())).await.unwrap();
    for state in State::ALL.into_iter().filter(|state| !state.is_final()) {
        let filter =
            JobFilter { state: Some(state), error_group: Some(ErrorGroup::of("boom")), ..JobFilter::default() };
        assert_eq!(team.store.count(&tenant, &filter).await.unwrap(), 0);
        assert!(team.store.list(&tenant, &filter, None, 10).await.unwrap().items.is_empty());
    }
}
