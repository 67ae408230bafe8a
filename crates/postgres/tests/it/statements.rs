//! Every statement is one that a migrated database understands.

use crate::given::Database;

#[tokio::test]
async fn every_statement_can_be_prepared_on_a_migrated_database() {
    let database = Database::ready().await;
    let client = database.client().await;
    let statements = foreman_postgres::statements::all();
    assert!(statements.len() > 80, "the list was read: {}", statements.len());
    let mut wrong = Vec::new();
    for text in statements {
        if let Err(error) = client.prepare(&text).await {
            wrong.push(format!("{error:?}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
