//! Past every server, on its database: the API's own handlers, called in this process.
//!
//! For the first key of a new deployment, and for the day when no key works. Who can do this has the database in hand, so no
//! key is required; the audit log records what they did as done by `direct`. The same client sends the same requests as to a
//! server, so both answer and refuse alike. Beside servers on Postgres it is safe at any time: every write is one
//! transaction of the store, under the version that was read, and servers use what they read before for five seconds at
//! most. A SQLite file belongs to the server that has it open, and is refused until that one stops. A command that dies half
//! way has done what it did; only its entry in the audit log may be missing.

mod reseal;

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::body::{Body, to_bytes};
use foreman_client::{Client, ResponseFuture, Transport};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{Store, Tenancy, Wakeups};
use foreman_postgres::PostgresStore;
use foreman_runtime::Tasks;
use foreman_sqlite::SqliteStore;
use http::{Request, Response};
use tower::ServiceExt as _;

use crate::cli::{DirectFlags, Remote};
use crate::compose::{clock, direct_api};
use crate::config::{self, Environment, Settings, StoreKind};
use crate::exit::{Exit, usage};
use crate::{logs, secret_key};

pub use reseal::Resealed;

/// Runs a command with a client of the server or, with `--direct`, of the API in this process.
pub async fn administer(
    flags: &DirectFlags,
    remote: &Remote,
    environment: &Environment,
    command: impl AsyncFnOnce(&Client) -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    if !flags.direct {
        return command(&remote.client(environment)?).await;
    }
    let direct = Direct::open(flags, environment).await?;
    let done = match direct.client() {
        Ok(client) => command(&client).await.map_err(without_server),
        Err(error) => Err(error.into()),
    };
    direct.close().await;
    done
}

/// There is no server that could be away: what the store did not do has failed, and the exit code says so.
fn without_server(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<foreman_client::Error>() {
        Some(failed) if failed.is_away() || failed.status().is_some_and(|status| status >= 500) => anyhow!("{failed}"),
        _ => error,
    }
}

/// A database without a server in front of it.
pub struct Direct {
    settings: Settings,
    tenancy: Arc<dyn Tenancy>,
    store: Arc<dyn Store>,
    open: DirectStore,
}

/// As the one who must close it sees it.
enum DirectStore {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

impl Direct {
    pub async fn open(flags: &DirectFlags, environment: &Environment) -> anyhow::Result<Self> {
        let mut settings = config::load_direct(&flags.into(), environment)?.settings;
        logs::start_for_command(&settings, environment);
        let wakeups = no_wakeups();
        match settings.store {
            StoreKind::Memory => Err(usage("--direct needs a database, and the store is memory")),
            StoreKind::Sqlite => {
                let path = &settings.sqlite.path;
                if !path.exists() {
                    return Err(usage(format!(
                        "{} does not exist; check --data-dir, or create it with `foreman migrate`",
                        path.display()
                    )));
                }
                let store = SqliteStore::open(settings.sqlite.clone(), clock(), wakeups)?;
                use_key_of_dev(&mut settings);
                let (tenancy, all) = (Arc::new(store.clone()), Arc::new(store.clone()));
                Ok(Self { settings, tenancy, store: all, open: DirectStore::Sqlite(store) })
            }
            StoreKind::Postgres => {
                let config = settings.postgres("direct").context("no database is configured: set DATABASE_URL")?;
                let store = PostgresStore::open(config, wakeups).await?;
                let (tenancy, all) = (Arc::new(store.clone()), Arc::new(store.clone()));
                Ok(Self { settings, tenancy, store: all, open: DirectStore::Postgres(store) })
            }
        }
    }

    /// A client of the API on this database.
    fn client(&self) -> Result<Client, foreman_client::Error> {
        let stores = (Arc::clone(&self.store), Arc::clone(&self.tenancy));
        Client::through(Arc::new(InProcess(direct_api(&self.settings, stores, no_wakeups(), &Tasks::new()))))
    }

    /// What is written is written; a file is left in good order.
    pub async fn close(self) {
        match self.open {
            DirectStore::Sqlite(store) => store.close().await,
            DirectStore::Postgres(store) => store.close(),
        }
    }
}

/// Nobody listens here to what a write rings; on Postgres the others look by themselves.
fn no_wakeups() -> Arc<dyn Wakeups> {
    Arc::new(LocalWakeups::new())
}

/// The key that `foreman dev` made for this file, unless another is configured. One that cannot be read matters only to commands that
/// encrypt, and those are refused.
fn use_key_of_dev(settings: &mut Settings) {
    if settings.secret_key.is_some() {
        return;
    }
    match secret_key::kept(&secret_key::place(settings)) {
        Ok(kept) => settings.secret_key = kept,
        Err(error) => tracing::warn!("secrets cannot be encrypted: {error:#}"),
    }
}

/// Calls the routes as a server would for a request that came over a connection.
struct InProcess(Router);

impl Transport for InProcess {
    fn send(&self, request: Request<Vec<u8>>) -> ResponseFuture {
        let answer = self.0.clone().oneshot(request.map(Body::from));
        Box::pin(async move {
            let Ok(response) = answer.await;
            let (head, body) = response.into_parts();
            let body = to_bytes(body, usize::MAX).await.map_err(|error| error.to_string())?;
            Ok(Response::from_parts(head, body.to_vec()))
        })
    }
}
