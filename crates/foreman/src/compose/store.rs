//! Opens the store: a file that this process has for itself, or a database that it shares.
//!
//! A database that does not answer at the start is waited for, however long that takes: in a platform that starts everything
//! at once, leaving would only mean to be started again. A schema that does not fit is no matter of waiting, and ends the start.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use foreman_core::memory::{self, LocalLimiter, LocalWakeups};
use foreman_core::ports::{AnnounceStore, Limiter, Store, Tenancy, Wakeups};
use foreman_postgres::leases::PgLeases;
use foreman_postgres::wakeups::PgWakeups;
use foreman_postgres::{OpenError, PostgresStore, migrate};
use foreman_runtime::leadership::{AlwaysLeader, Lease};
use foreman_runtime::{Backoff, Shutdown, Stop};
use foreman_sqlite::SqliteStore;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::redis::News;
use super::{StorePorts, Wiring, clock};
use crate::config::{StoreKind, without_password};
use crate::role::Role;

/// The store, as the one who must close it sees it.
pub enum OpenStore {
    Sqlite(SqliteStore),
    Memory,
    Postgres(Box<Database>),
}

/// A database, and how it was reached.
pub struct Database {
    store: PostgresStore,
    pub config: foreman_postgres::Config,
    /// Ends what carries wake-ups.
    ringing: Stop,
}

impl OpenStore {
    /// Nothing moves any more: the last wake-ups go out.
    pub fn hush(&self) {
        if let OpenStore::Postgres(database) = self {
            database.ringing.drain();
        }
    }

    /// After this nothing is written any more, and the next process finds a file that was closed in good order.
    pub async fn close(&self) {
        match self {
            OpenStore::Sqlite(store) => store.close().await,
            OpenStore::Memory => {}
            OpenStore::Postgres(database) => database.store.close(),
        }
    }
}

/// What the parts of a role are plugged into.
pub(super) struct RoleStore {
    pub shared: StorePorts,
    pub open: OpenStore,
}

/// A store that this process has for itself.
pub(super) async fn open_local(wiring: &Wiring<'_>) -> anyhow::Result<RoleStore> {
    let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
    let (store, tenancy, announced, open) = if wiring.settings.store == StoreKind::Memory {
        let store = Arc::new(memory::Store::new(clock(), Arc::clone(&wakeups)));
        let announced = Some(Arc::clone(&store) as Arc<dyn AnnounceStore>);
        (Arc::clone(&store) as Arc<dyn Store>, store as Arc<dyn Tenancy>, announced, OpenStore::Memory)
    } else {
        let (config, wakeups) = (wiring.settings.sqlite.clone(), Arc::clone(&wakeups));
        // Migrating and clearing up after a crash take as long as they take: not on a thread of the runtime.
        let opened = wiring.tasks.spawn_blocking("open", move || SqliteStore::open(config, clock(), wakeups)).await?;
        let store = opened.context("could not open the store")?;
        let (all, tenancy): (Arc<dyn Store>, Arc<dyn Tenancy>) = (Arc::new(store.clone()), Arc::new(store.clone()));
        (all, tenancy, None, OpenStore::Sqlite(store))
    };
    let lease: Arc<dyn Lease> = Arc::new(AlwaysLeader::default());
    let announced = announced.map(|it| wiring.metered(it) as Arc<dyn AnnounceStore>);
    let limiter: Arc<dyn Limiter> = Arc::new(LocalLimiter::new(clock()));
    let (store, tenancy) = (wiring.metered(store), wiring.metered(tenancy));
    Ok(RoleStore { shared: StorePorts { store, tenancy, announced, wakeups, lease, limiter }, open })
}

/// A store that all roles share; `None` when it was told to stop before there was one.
pub(super) async fn open_postgres(wiring: &Wiring<'_>, shutdown: &Shutdown) -> anyhow::Result<Option<RoleStore>> {
    let config = wiring.settings.postgres(wiring.role.name()).context("no database is configured: set DATABASE_URL")?;
    let (bell, heard) = PgWakeups::new(&config)?;
    let News { wakeups, lease, limiter, carrier } =
        News::of(wiring, heard.local(), Arc::new(heard), Arc::new(PgLeases::new(&config)?))?;
    let Some(store) = wait_for(wiring, &config, &wakeups, shutdown).await? else { return Ok(None) };
    let (all, tenancy): (Arc<dyn Store>, Arc<dyn Tenancy>) = (Arc::new(store.clone()), Arc::new(store.clone()));
    let announced: Arc<dyn AnnounceStore> = Arc::new(store.clone());
    let announced = Some(wiring.metered(announced) as Arc<dyn AnnounceStore>);
    let (all, tenancy) = (wiring.metered(all), wiring.metered(tenancy));
    let shared = StorePorts { store: all, tenancy, announced, wakeups, lease, limiter };
    // No part: the others are to hear of what is finished and handed back while this process drains.
    let ringing = Stop::new();
    let shutdown = ringing.shutdown();
    match carrier {
        None => drop(wiring.tasks.spawn("wake-ups", bell.run(shutdown))),
        Some(carrier) => {
            // What Redis did not take goes to the database, which is therefore listened to, and flushed, for longer.
            let last = Stop::new();
            drop(wiring.tasks.spawn("wake-ups", bell.run(last.shutdown())));
            drop(wiring.tasks.spawn("wake-ups through Redis", async move {
                Box::pin(carrier.run(shutdown)).await;
                last.drain();
            }));
        }
    }
    Ok(Some(RoleStore { shared, open: OpenStore::Postgres(Box::new(Database { store, config, ringing })) }))
}

async fn wait_for(
    wiring: &Wiring<'_>,
    config: &foreman_postgres::Config,
    wakeups: &Arc<dyn Wakeups>,
    shutdown: &Shutdown,
) -> anyhow::Result<Option<PostgresStore>> {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    let mut since = None;
    loop {
        let opened = tokio::select! {
            biased;
            () = shutdown.draining() => return Ok(None),
            opened = open(wiring.role, config, wakeups) => opened,
        };
        match opened {
            Ok(store) => {
                if let Some(since) = since {
                    info!(
                        "the database became available after {}",
                        foreman_core::duration::Span(Instant::elapsed(&since))
                    );
                }
                return Ok(Some(store));
            }
            Err(error) if is_a_matter_of_waiting(&error) => {
                if since.is_none() {
                    let url = without_password(&config.url);
                    warn!("waiting for the database at {url}: {:#}", anyhow::Error::from(error));
                    wiring.vitals.set_waiting("the database does not respond; waiting for it since startup");
                    since = Some(Instant::now());
                }
                tokio::select! {
                    biased;
                    () = shutdown.draining() => return Ok(None),
                    () = sleep(backoff.next()) => {}
                }
            }
            Err(error) => return Err(anyhow::Error::from(error).context("could not open the store")),
        }
    }
}

/// `dev` brings the schema up by itself; where several versions may run side by side, somebody decides when.
async fn open(
    role: Role,
    config: &foreman_postgres::Config,
    wakeups: &Arc<dyn Wakeups>,
) -> Result<PostgresStore, OpenError> {
    if role == Role::Dev {
        migrate::up(config).await?;
    }
    PostgresStore::open(config.clone(), Arc::clone(wakeups)).await
}

/// Nothing that a restart of ours would change.
fn is_a_matter_of_waiting(error: &OpenError) -> bool {
    matches!(error, OpenError::Store(error) if error.is_transient())
}
