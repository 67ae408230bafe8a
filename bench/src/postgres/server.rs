//! The Postgres that is measured on, and databases there that come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::Store;
use foreman_postgres::{Config, PostgresStore};
use tokio_postgres::{Client, NoTls};

use crate::process::foreman;

pub struct Server {
    dsn: String,
    /// Its version, and what it does at a commit: both belong to every figure.
    pub about: String,
}

impl Server {
    pub async fn reach(dsn: &str) -> Result<Self> {
        let sql = connect(dsn).await.context("cannot reach the Postgres that should be measured")?;
        let mut settings = Vec::new();
        for name in ["server_version", "fsync", "synchronous_commit"] {
            let row = sql.query_one(&format!("SHOW {name}"), &[]).await?;
            settings.push(row.get::<_, String>(0));
        }
        let version = settings[0].split(' ').next().unwrap_or_default();
        let about = format!("{version} (fsync {}, synchronous_commit {})", settings[1], settings[2]);
        Ok(Self { dsn: dsn.to_owned(), about })
    }

    /// A fresh one, as `foreman migrate` makes it.
    pub async fn database(&self) -> Result<Database> {
        let database = self.empty_database().await?;
        let said = foreman()?.args(["migrate", "up"]).env("DATABASE_URL", &database.url).output().await?;
        if !said.status.success() {
            bail!("foreman migrate failed: {}", String::from_utf8_lossy(&said.stderr));
        }
        Ok(database)
    }

    /// All that this run has created and not removed: something ended before its time.
    pub async fn remove_databases(&self) -> Result<()> {
        let sql = connect(&self.dsn).await?;
        let ours = format!("foreman_bench_{}_%", std::process::id());
        for row in sql.query("SELECT datname::text FROM pg_database WHERE datname LIKE $1", &[&ours]).await? {
            sql.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", row.get::<_, String>(0))).await?;
        }
        Ok(sql.batch_execute("CHECKPOINT").await?)
    }

    /// One with nothing in it.
    pub async fn empty_database(&self) -> Result<Database> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("foreman_bench_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        connect(&self.dsn).await?.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        let (base, _) = self.dsn.rsplit_once('/').context("the DSN ends with a database")?;
        Ok(Database { url: format!("{base}/{name}"), server: self.dsn.clone(), name, kafka: None })
    }
}

pub struct Database {
    pub url: String,
    server: String,
    name: String,
    /// The brokers that carry its announcements.
    kafka: Option<String>,
}

impl Database {
    /// Jobs travel through these brokers, in topics of this database.
    pub fn through(self, brokers: &str) -> Self {
        Self { kafka: Some(brokers.to_owned()), ..self }
    }

    /// What tells a role so; none at team size.
    pub fn kafka_variables(&self) -> Vec<(&'static str, String)> {
        let Some(brokers) = &self.kafka else { return Vec::new() };
        vec![
            ("KAFKA_BROKERS", brokers.clone()),
            ("FOREMAN_KAFKA_TOPICS", self.name.clone()),
            ("FOREMAN_KAFKA_GROUP", self.name.clone()),
        ]
    }

    pub async fn connect(&self) -> Result<Client> {
        connect(&self.url).await
    }

    /// The store on it, opened in this process.
    pub async fn store(&self) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(self.open().await?))
    }

    /// The same, with the ports that only Postgres has.
    pub async fn open(&self) -> Result<PostgresStore> {
        Ok(PostgresStore::open(Config::at(&self.url), Arc::new(LocalWakeups::new())).await?)
    }

    /// So that what follows does not pay for what was written before.
    pub async fn checkpoint(&self) -> Result<()> {
        Ok(connect(&self.server).await?.batch_execute("CHECKPOINT").await?)
    }

    /// And takes a checkpoint.
    pub async fn remove(self) -> Result<()> {
        let sql = connect(&self.server).await?;
        sql.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await?;
        Ok(sql.batch_execute("CHECKPOINT").await?)
    }
}

async fn connect(dsn: &str) -> Result<Client> {
    let mut config: tokio_postgres::Config = dsn.parse()?;
    config.application_name("foreman bench").options("-c search_path=foreman,public");
    let (client, connection) = config.connect(NoTls).await?;
    #[expect(clippy::disallowed_methods, reason = "the benchmark is no part of the server and stops with its process")]
    tokio::spawn(async move {
        // Its end is seen by whoever asks something next.
        let _ = connection.await;
    });
    Ok(client)
}
