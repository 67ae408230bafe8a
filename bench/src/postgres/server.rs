//! The Postgres that is measured on, and databases there that come and go.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
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
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("foreman_bench_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        connect(&self.dsn).await?.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        let (base, _) = self.dsn.rsplit_once('/').context("the DSN ends with a database")?;
        let database = Database { url: format!("{base}/{name}"), server: self.dsn.clone(), name };
        let said = foreman()?.args(["migrate", "up"]).env("DATABASE_URL", &database.url).output().await?;
        if !said.status.success() {
            bail!("foreman migrate failed: {}", String::from_utf8_lossy(&said.stderr));
        }
        Ok(database)
    }
}

pub struct Database {
    pub url: String,
    server: String,
    name: String,
}

impl Database {
    pub async fn connect(&self) -> Result<Client> {
        connect(&self.url).await
    }

    /// In bytes.
    pub async fn wal_position(&self) -> Result<i64> {
        let sql = self.connect().await?;
        Ok(sql.query_one("SELECT (pg_current_wal_lsn() - '0/0')::bigint", &[]).await?.get(0))
    }

    /// And takes a checkpoint, so that the next measurement does not pay for this one.
    pub async fn remove(self) -> Result<()> {
        let sql = connect(&self.server).await?;
        sql.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await?;
        sql.batch_execute("CHECKPOINT").await?;
        Ok(())
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
