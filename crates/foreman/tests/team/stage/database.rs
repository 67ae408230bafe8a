//! A database of the test's own, migrated by the real command.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use foreman_runtime::{Task, Tasks};
use tokio_postgres::{Client, NoTls};

use super::binary::{Said, foreman, run};
use super::cluster::{self, Cluster};

pub struct Database {
    /// What the fleet gets as `DATABASE_URL`.
    pub url: String,
}

impl Database {
    /// On the server that all tests share. It goes with the server, at the end of the run.
    pub async fn fresh() -> Self {
        Self::made(&cluster::shared()).await
    }

    pub async fn on(cluster: &Cluster) -> Self {
        Self::made(&cluster.url).await
    }

    async fn made(server: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("team_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let sql = Sql::open(server, "maker").await.unwrap();
        sql.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let (base, _) = server.rsplit_once('/').expect("it ends with its database");
        let database = Self { url: format!("{base}/{name}") };
        let said = database.foreman(Path::new("/"), &["migrate", "up"]).await;
        assert_eq!(said.code, 0, "could not migrate: {}", said.err);
        database
    }

    pub fn name(&self) -> &str {
        self.url.rsplit_once('/').expect("it ends with its database").1
    }

    /// The same as somebody who is not let in when only the reserved connections are left.
    pub async fn as_a_plain_user(&self) -> Self {
        let sql = self.connect("maker").await;
        let (base, name) = self.url.rsplit_once('/').expect("it ends with its database");
        let (_, place) = base.rsplit_once('@').expect("it names its user");
        sql.batch_execute(
            "CREATE ROLE plain LOGIN PASSWORD 'plain';
             GRANT ALL ON SCHEMA foreman TO plain;
             GRANT ALL ON ALL TABLES IN SCHEMA foreman TO plain;
             GRANT ALL ON ALL SEQUENCES IN SCHEMA foreman TO plain",
        )
        .await
        .unwrap();
        Self { url: format!("postgres://plain:plain@{place}/{name}") }
    }

    /// A command that speaks to the database itself.
    pub async fn foreman(&self, directory: &Path, words: &[&str]) -> Said {
        let mut command = foreman(directory);
        command.env("DATABASE_URL", &self.url).args(words);
        run(command, None).await
    }

    /// Jobs of the default tenant may run these.
    pub async fn allow_commands(&self, programs: &str) {
        let words = ["tenants", "update", "default", "--commands", programs, "--direct"];
        let said = self.foreman(Path::new("/"), &words).await;
        assert_eq!(said.code, 0, "{said:?}");
    }

    /// A connection of the test's, told apart by its name.
    pub async fn connect(&self, name: &str) -> Sql {
        Sql::open(&self.url, name).await.unwrap()
    }

    pub async fn try_connect(&self, name: &str) -> Result<Sql, tokio_postgres::Error> {
        Sql::open(&self.url, name).await
    }

    /// Every job is in exactly one place, says the program.
    pub async fn assert_clean(&self) {
        let said = self.foreman(Path::new("/"), &["check", "--deep"]).await;
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.out.contains("every job is in exactly one place"), "{said:?}");
    }
}

/// A connection, closed when dropped.
pub struct Sql {
    client: Client,
    driver: Task<()>,
}

impl Sql {
    async fn open(url: &str, name: &str) -> Result<Self, tokio_postgres::Error> {
        let mut config: tokio_postgres::Config = url.parse().unwrap();
        config.application_name(format!("test {name}")).options("-c search_path=foreman,public");
        let (client, connection) = config.connect(NoTls).await?;
        let driver = Tasks::new().spawn("sql", async move {
            // Its end is seen by whoever asks something next.
            let _ = connection.await;
        });
        Ok(Self { client, driver })
    }
}

impl std::ops::Deref for Sql {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Sql {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
