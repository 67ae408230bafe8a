//! Opening the store: look at the server and the schema, and refuse what this binary was not made for.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use deadpool_postgres::Pool;
use foreman_core::ports::{StoreError, Wakeups};
use tracing::info;

use crate::config::Config;
use crate::connection::{self, Beginning};
use crate::error::OpenError;
use crate::jobs::{ExpectedJobs, Floors, KnownClaims};
use crate::lines::LineCleanup;
use crate::migrate;
use crate::outlived::Outlived;
use crate::statistics::Minutes;
use crate::unreadable::Unreadable;
use crate::{PostgresStore, StoreParts, changes};

pub(crate) async fn open(config: Config, wakeups: Arc<dyn Wakeups>) -> Result<PostgresStore, OpenError> {
    connection::check_schema(&config.schema)?;
    let data = connection::pool(&config, config.data_connections)?;
    let control = connection::pool(&config, config.control_connections)?;
    let direct = connection::direct_pool(&config)?;
    let found = check(&config, &direct).await?;
    if found > migrate::LATEST {
        info!(
            "the schema of the database is version {found}, newer than this binary, which knows up to {}; still compatible",
            migrate::LATEST
        );
    }
    let beginning = Beginning::new(&config);
    let ddl_timeout = config.statement_timeout / 2;
    let Config { schema, prepare, clock, call_timeout, census_timeout, changes_patience, .. } = config;
    Ok(PostgresStore {
        parts: Arc::new(StoreParts {
            data,
            control,
            direct,
            beginning,
            prepare,
            clock,
            wakeups,
            call_timeout,
            census_timeout,
            changes_patience,
            log_tag: changes::tag(&schema),
            floors: Floors::default(),
            counted_after: AtomicI64::new(0),
            expected: ExpectedJobs::default(),
            known_claims: KnownClaims::default(),
            turns: Mutex::default(),
            unreadable: Unreadable::default(),
            outlived: Outlived::default(),
            minutes: Minutes::default(),
            lines: LineCleanup::default(),
            ddl_timeout,
            tended_at: Mutex::new(None),
        }),
    })
}

/// Answers the version of the schema.
async fn check(config: &Config, direct: &Pool) -> Result<i64, OpenError> {
    let look = async {
        let connection = direct.get().await.map_err(|error| connection::unavailable(&error))?;
        migrate::check_server(&connection).await?;
        migrate::expect_latest(&migrate::check(&connection, &config.schema).await?)
    };
    match tokio::time::timeout(config.call_timeout, look).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Unavailable("the database does not answer".into()).into()),
    }
}
