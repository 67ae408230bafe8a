//! Straight to the database, past every server: the same that an administrator asks the API for.
//!
//! For the first key of a new deployment, and for the day when no key opens any more. Whoever can do this has the database in hand,
//! so nothing is asked of them; what they did stands in the audit log as done by `direct`. Beside servers on Postgres it is safe at
//! any time: every write is one transaction of the store, under the version that was seen, and servers believe what they knew for
//! five seconds at most. A SQLite file belongs to the server that has it open, and is refused until that one stops. A command that
//! dies half way has done what it did; only its line in the log may be missing.

mod keys;
mod reseal;
mod tenants;

use std::sync::Arc;

use anyhow::Context as _;
use foreman_client::{AuditDocument, ListDocument};
use foreman_core::audit::{Act, Actor};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{Store, Tenancy};
use foreman_core::sealed::Keyring;
use foreman_core::{EntryId, TenantId, Timestamp};
use foreman_postgres::PostgresStore;
use foreman_sqlite::SqliteStore;

use crate::cli::DirectFlags;
use crate::compose::clock;
use crate::config::{self, Environment, Settings, StoreKind};
use crate::exit::usage;
use crate::secret_key;

pub use reseal::Resealed;

/// A database that nobody stands before.
pub struct Direct {
    settings: Settings,
    tenancy: Arc<dyn Tenancy>,
    store: Arc<dyn Store>,
    open: Open,
}

/// As the one who must close it sees it.
enum Open {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

impl Direct {
    pub async fn open(flags: &DirectFlags, environment: &Environment) -> anyhow::Result<Self> {
        let settings = config::load_direct(&flags.into(), environment)?.settings;
        // Nobody listens here to what a write rings; on Postgres the others look by themselves.
        let wakeups = Arc::new(LocalWakeups::new());
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
                let (tenancy, all) = (Arc::new(store.clone()), Arc::new(store.clone()));
                Ok(Self { settings, tenancy, store: all, open: Open::Sqlite(store) })
            }
            StoreKind::Postgres => {
                let config = settings.postgres("direct").context("no database is configured: set DATABASE_URL")?;
                let store = PostgresStore::open(config, wakeups).await?;
                let (tenancy, all) = (Arc::new(store.clone()), Arc::new(store.clone()));
                Ok(Self { settings, tenancy, store: all, open: Open::Postgres(store) })
            }
        }
    }

    /// What is written is written; a file is left in good order.
    pub async fn close(self) {
        match self.open {
            Open::Sqlite(store) => store.close().await,
            Open::Postgres(store) => store.close(),
        }
    }

    /// The newest first, those after the one named.
    pub async fn audit(
        &self,
        tenant: Option<&str>,
        limit: usize,
        after: Option<&str>,
    ) -> anyhow::Result<ListDocument<AuditDocument>> {
        let tenant = tenant.map(tenant_id).transpose()?;
        let before = after.map(str::parse).transpose()?;
        let entries = self.tenancy.trail(tenant.as_ref(), before, limit + 1).await?;
        Ok(page(entries.into_iter().map(AuditDocument::from).collect(), limit, |entry| entry.id.clone()))
    }

    /// By the store's clock: that is the one that ends keys.
    async fn now(&self) -> anyhow::Result<Timestamp> {
        Ok(self.store.time().await?)
    }

    /// What a server with these settings seals with.
    fn keyring(&self) -> anyhow::Result<Keyring> {
        if let Some(ring) = &self.settings.secret_key {
            return Ok(ring.clone());
        }
        let of_dev = match self.open {
            Open::Sqlite(_) => secret_key::kept(&secret_key::place(&self.settings))?,
            Open::Postgres(_) => None,
        };
        of_dev.ok_or_else(|| usage("secrets are encrypted, and no key is configured: set FOREMAN_SECRET_KEY to the same value as on the servers"))
    }

    /// It is done: now it is written down.
    async fn note(&self, tenant: &TenantId, action: &str, object: String, status: u16) -> anyhow::Result<()> {
        let (tenant, action) = (tenant.clone(), action.to_owned());
        let act = Act { tenant, actor: Actor::Direct, action, object, status, request: None, peer: None };
        self.tenancy
            .record(EntryId::fresh(), &act)
            .await
            .context("the change was made, but could not be written to the audit log")
    }
}

fn tenant_id(text: &str) -> anyhow::Result<TenantId> {
    text.parse().map_err(|error: foreman_core::id::NotATenantId| usage(error.to_string()))
}

/// Said as the API says it.
fn no_tenant(id: &TenantId) -> anyhow::Error {
    anyhow::anyhow!("there is no tenant {id}")
}

/// One more than the page was asked for: there is another after it.
fn page<T>(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> ListDocument<T> {
    let is_last = items.len() <= limit;
    items.truncate(limit);
    let next = items.last().filter(|_| !is_last).map(cursor);
    ListDocument { items, next }
}
