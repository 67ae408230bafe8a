//! A store with a tenant, its secrets, and a runner that may open them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_core::memory::{LocalWakeups, Store};
use foreman_core::ports::{
    CreateWebhookAnswer, NewWebhook, TenantStore, TenantUpdate, UpdateTenantAnswer, UpdateWebhookAnswer, Wakeups,
    WebhookStore, WebhookUpdate,
};
use foreman_core::sealed::{Keyring, SealedFor};
use foreman_core::signing::{self, NotVerified, Received as Signed, SigningKeys, SigningSecret, TOLERANCE};
use foreman_core::tenant::{SIGNING_PLACE, TenantSettings};
use foreman_core::webhook::{Events, Webhook, WebhookSettings};
use foreman_core::{EditId, TenantId, Timestamp, WebhookId};
use foreman_engine::Vault;
use foreman_engine::target::http::{Config, HttpRunner};
use foreman_engine::target::webhook::WebhookRunner;
use foreman_engine::tenants::{self, Tenants};
use foreman_runtime::clock;

use crate::server::Received;

pub fn now() -> Timestamp {
    Timestamp::from_micros(clock::now())
}

pub fn us() -> TenantId {
    TenantId::default()
}

pub fn ring() -> Keyring {
    "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".parse().unwrap()
}

/// One that has never sealed anything here.
pub fn other_ring() -> Keyring {
    "c29tZXRoaW5nIGVsc2UgYWx0b2dldGhlciwgMzIgYnk=".parse().unwrap()
}

pub struct House {
    pub store: Store,
    pub wakeups: Arc<dyn Wakeups>,
    versions: Mutex<i64>,
}

impl House {
    pub fn new() -> Self {
        let wakeups: Arc<dyn Wakeups> = Arc::new(LocalWakeups::new());
        let store = Store::new(Arc::new(now), Arc::clone(&wakeups));
        Self { store, wakeups, versions: Mutex::new(1) }
    }

    pub fn vault(&self) -> Vault {
        self.vault_with(Some(ring()))
    }

    /// Nothing is believed for longer than it takes to say it, so that a test need not wait.
    pub fn vault_with(&self, ring: Option<Keyring>) -> Vault {
        let config = tenants::Config { believed: Duration::ZERO, ..tenants::Config::default() };
        let tenants = Tenants::new(Arc::new(self.store.clone()), config);
        Vault::new(ring.map(Arc::new), Some(Arc::new(tenants)))
    }

    pub fn http(&self) -> HttpRunner {
        HttpRunner::new(Config::default()).with_vault(self.vault())
    }

    pub fn webhooks(&self) -> WebhookRunner {
        self.webhooks_with(self.vault())
    }

    pub fn webhooks_with(&self, vault: Vault) -> WebhookRunner {
        WebhookRunner::new(self.http().caller(), Arc::new(self.store.clone()), vault)
    }

    /// The tenant signs with these from now on.
    pub async fn tenant_signs_with(&self, signing: SigningKeys) {
        let version = *self.versions.lock().unwrap();
        let settings = TenantSettings { signing, ..TenantSettings::default() };
        let update = TenantUpdate { edit: EditId::fresh(), tenant: us(), version, settings };
        match self.store.update_tenant(&update).await.unwrap() {
            UpdateTenantAnswer::Updated(tenant) => *self.versions.lock().unwrap() = tenant.version,
            other => panic!("{other:?}"),
        }
    }

    pub async fn endpoint(&self, url: &str, secret: &SigningSecret) -> Webhook {
        self.endpoint_for(url, secret, &["*"]).await
    }

    pub async fn endpoint_for(&self, url: &str, secret: &SigningSecret, events: &[&str]) -> Webhook {
        let id = WebhookId::fresh();
        let settings = WebhookSettings {
            url: url.parse().unwrap(),
            events: Events::parse(events.iter().copied()).unwrap(),
            description: String::new(),
            disabled: None,
        };
        let signing = SigningKeys::one(sealed_for_webhook(id, secret));
        let new = NewWebhook { id, tenant: us(), settings, signing, at_most: 50 };
        match self.store.create_webhook(&new).await.unwrap() {
            CreateWebhookAnswer::Created(webhook) => webhook,
            CreateWebhookAnswer::TooMany => panic!("too many"),
        }
    }

    pub async fn change(&self, webhook: &Webhook, change: impl FnOnce(&mut Webhook)) -> Webhook {
        let mut changed = webhook.clone();
        change(&mut changed);
        let update = WebhookUpdate {
            edit: EditId::fresh(),
            tenant: us(),
            webhook: webhook.id,
            version: webhook.version,
            settings: changed.settings,
            signing: changed.signing,
        };
        match self.store.update_webhook(&update).await.unwrap() {
            UpdateWebhookAnswer::Updated(webhook) => webhook,
            other => panic!("{other:?}"),
        }
    }
}

pub fn sealed_for_webhook(id: WebhookId, secret: &SigningSecret) -> foreman_core::sealed::Sealed {
    ring().seal(SealedFor { tenant: &us(), name: &Webhook::place_name(id) }, &secret.text())
}

pub fn sealed_for_tenant(secret: &SigningSecret) -> foreman_core::sealed::Sealed {
    ring().seal(SealedFor { tenant: &us(), name: SIGNING_PLACE }, &secret.text())
}

/// Whether a request was signed with one of these, by the rules of its receiver.
pub fn verify(received: &Received, secrets: &[&SigningSecret]) -> Result<(), NotVerified> {
    let header = |name| received.header(name).ok_or(NotVerified::Header(name));
    let signed = Signed {
        id: header(signing::ID)?,
        timestamp: header(signing::TIMESTAMP)?,
        signature: header(signing::SIGNATURE)?,
    };
    let secrets: Vec<SigningSecret> = secrets.iter().map(|secret| (*secret).clone()).collect();
    signing::verify(&secrets, signed, &received.body, now(), TOLERANCE)
}
