//! A database of the test's own, on the server that the runner of the suites has started.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use foreman_runtime::Tasks;
use tokio_postgres::{Client, NoTls};

use super::binary::{Said, foreman, run};

pub struct Database {
    /// What a role gets as `DATABASE_URL`.
    pub url: String,
}

impl Database {
    /// Nothing in it yet. It goes with the server, at the end of the run.
    pub async fn empty() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let server = server();
        let name = format!("it_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        connect(&server).await.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let (base, _) = server.rsplit_once('/').expect("it ends with its database");
        Self { url: format!("{base}/{name}") }
    }

    /// With the schema of this version.
    pub async fn migrated() -> Self {
        let database = Self::empty().await;
        let said = database.foreman(&["migrate"]).await;
        assert_eq!(said.code, 0, "{said:?}");
        database
    }

    /// Of somebody with this password, and with the schema of this version.
    pub async fn owned(password: &str) -> Self {
        let database = Self::empty().await;
        let (base, name) = database.url.rsplit_once('/').expect("it ends with its database");
        let (_, place) = base.rsplit_once('@').expect("it names its user");
        let sql = format!("CREATE ROLE {name} LOGIN PASSWORD '{password}'; ALTER DATABASE {name} OWNER TO {name}");
        connect(&database.url).await.batch_execute(&sql).await.unwrap();
        let database = Self { url: format!("postgres://{name}:{password}@{place}/{name}") };
        let said = database.foreman(&["migrate"]).await;
        assert_eq!(said.code, 0, "{said:?}");
        database
    }

    /// A command that speaks to the database itself.
    pub async fn foreman(&self, words: &[&str]) -> Said {
        let mut command = foreman(Path::new("/"));
        command.env("DATABASE_URL", &self.url).args(words);
        run(command, None).await
    }

    /// A connection of the test's.
    pub async fn connect(&self) -> Client {
        connect(&self.url).await
    }

    /// Every job is in exactly one place.
    pub async fn assert_clean(&self) {
        let said = self.foreman(&["check", "--deep"]).await;
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.out.contains("every job is in exactly one place"), "{said:?}");
    }
}

fn server() -> String {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var("FOREMAN_TEST_POSTGRES").expect(
        "FOREMAN_TEST_POSTGRES is not set: run `make test`, or `scripts/with-services cargo test -p foreman --test it`",
    )
}

async fn connect(url: &str) -> Client {
    let mut config: tokio_postgres::Config = url.parse().unwrap();
    config.application_name("a test");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    drop(Tasks::new().spawn("sql", async move {
        // Its end is seen by whoever asks something next.
        let _ = connection.await;
    }));
    client
}
