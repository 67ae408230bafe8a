//! The connection on which a worker says that it is alive, leads and looks for work.
//!
//! It is none of the pool's: handlers that hold every connection of the pool neither silence a worker nor depose a leader. Made by
//! the pool's manager, so with the same address and TLS. Every call is one statement, with an end, and several may be in flight. After a call that did not
//! end in time the connection is given up, because what it waits for may be anything.

use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::Manager as _;
use deadpool_postgres::{ClientWrapper, Pool};
use tokio::sync::Mutex;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::error::LogError;

pub(crate) type Params<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

pub(crate) struct Control {
    pool: Pool,
    client: Mutex<Option<Arc<ClientWrapper>>>,
    call_timeout: Duration,
}

impl Control {
    pub fn new(pool: Pool, call_timeout: Duration) -> Self {
        Self { pool, client: Mutex::new(None), call_timeout }
    }

    /// Opened when it is needed, and again after it was lost.
    pub async fn client(&self) -> Result<Arc<ClientWrapper>, LogError> {
        let mut kept = self.client.lock().await;
        if let Some(client) = kept.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let made = self.pool.manager().create();
        let made = tokio::time::timeout(self.call_timeout, made).await.map_err(|_| timed_out())?;
        let client = Arc::new(made.map_err(|error| LogError::Unavailable(Box::new(error)))?);
        *kept = Some(Arc::clone(&client));
        Ok(client)
    }

    pub async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, LogError> {
        self.ended(async |client: &tokio_postgres::Client| Ok(client.query_typed(sql, params).await?)).await
    }

    pub async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, LogError> {
        self.ended(async |client: &tokio_postgres::Client| Ok(client.execute_typed(sql, params).await?)).await
    }

    /// Any call with an end.
    pub async fn ended<T>(
        &self,
        call: impl AsyncFnOnce(&tokio_postgres::Client) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let client = self.client().await?;
        if let Ok(answer) = tokio::time::timeout(self.call_timeout, call(&client)).await {
            return answer;
        }
        let mut kept = self.client.lock().await;
        if kept.as_ref().is_some_and(|known| Arc::ptr_eq(known, &client)) {
            *kept = None;
        }
        Err(timed_out())
    }
}

fn timed_out() -> LogError {
    LogError::Unavailable("no answer in time".into())
}
