//! The PgBouncer in transaction mode that the runner of the suites has put before the shared server.

use foreman_runtime::Tasks;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::database::Database;

pub struct Pooler {
    /// Ends with its database, like that of the server.
    base: String,
}

impl Pooler {
    pub fn shared() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
        let url = std::env::var("FOREMAN_TEST_PGBOUNCER").expect(
            "FOREMAN_TEST_PGBOUNCER is not set: run `make test SUITE=team`, or `scripts/with-services cargo test -p foreman --test team`",
        );
        let (base, _) = url.rsplit_once('/').expect("it ends with its database");
        Self { base: base.to_owned() }
    }

    /// The same database, through the pooler.
    pub fn url_of(&self, database: &Database) -> String {
        format!("{}/{}", self.base, database.name())
    }

    /// How many it has carried to this database.
    pub async fn transactions_of(&self, database: &Database) -> u64 {
        let (client, connection) = tokio_postgres::connect(&format!("{}/pgbouncer", self.base), NoTls).await.unwrap();
        let driver = Tasks::new().spawn("sql", async move {
            // Its end is seen by whoever asks something next.
            let _ = connection.await;
        });
        let said = client.simple_query("SHOW STATS_TOTALS").await.unwrap();
        driver.abort();
        let rows = said.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let own = rows.into_iter().find(|row| row.get("database") == Some(database.name()));
        own.map_or(0, |row| row.get("xact_count").unwrap().parse().unwrap())
    }
}
