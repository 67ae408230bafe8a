//! Every statement is one that a migrated database understands.

use foreman_postgres::{Config, statements};

use crate::given::Database;

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
