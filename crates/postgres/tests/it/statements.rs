//! Every statement is one that a migrated database understands.

use foreman_core::conformance::given::{a_job, jobs};
use foreman_core::ports::JobStore as _;
use foreman_postgres::{Config, statements};

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
