//! Builders for tenants, keys and endpoints, and what tenants' rows are in for when several have their hands on them.

use std::collections::BTreeSet;
use std::time::Duration;

use foreman_conformance::given::{at_once, tenant};
use foreman_core::key::{ApiKey, KeyRecord};
use foreman_core::ports::{
    CreateKeyAnswer, CreateTenantAnswer, CreateWebhookAnswer, DeleteTenantAnswer, DeliveryNote, JobQuery, KeyStore,
    NewKey, NewTenant, NewWebhook, ReplaceKeyAnswer, Replacement, StoreError, TenantStore, TenantUpdate,
    UpdateTenantAnswer, WebhookStore, Went,
};
use foreman_core::signing::SigningKeys;
use foreman_core::tenant::{Tenant, TenantSettings};
use foreman_core::webhook::{Events, Webhook, WebhookSettings};
use foreman_core::{EditId, WebhookId};
use foreman_postgres::PostgresStore;

use crate::given::Team;

pub fn new_tenant(id: &str) -> NewTenant {
    NewTenant { edit: EditId::fresh(), id: tenant(id), settings: TenantSettings::default() }
}

pub fn disabling(seen: &Tenant) -> TenantUpdate {
    let settings = TenantSettings { is_disabled: true, ..seen.settings.clone() };
    TenantUpdate { edit: EditId::fresh(), tenant: seen.id.clone(), version: seen.version, settings }
}

pub fn new_key(of: &str) -> NewKey {
    let shown = ApiKey::fresh();
    let (id, hash) = (shown.id().clone(), shown.hash());
    let scopes = "jobs:*".parse().unwrap();
    NewKey { id, tenant: tenant(of), name: "ci".into(), hash, scopes, expires_at: None }
}

pub fn replacing(old: &KeyRecord) -> Replacement {
    let shown = ApiKey::fresh();
    let (id, hash) = (shown.id().clone(), shown.hash());
    Replacement { old: old.id.clone(), id, hash, expires_at: None, grace: Duration::from_hours(1) }
}

pub fn new_webhook(of: &str) -> NewWebhook {
    let settings = WebhookSettings {
        url: "https://example.com/hook".parse().unwrap(),
        events: Events::ALL,
        description: String::new(),
        disabled: None,
    };
    NewWebhook {
        id: WebhookId::fresh(),
        tenant: tenant(of),
        settings,
        signing: SigningKeys::default(),
        at_most: 1_000_000,
    }
}

pub async fn made_webhook(store: &PostgresStore, new: &NewWebhook) -> Webhook {
    match store.create_webhook(new).await.unwrap() {
        CreateWebhookAnswer::Created(webhook) => webhook,
        CreateWebhookAnswer::TooMany => panic!("there is room for {new:?}"),
    }
}

/// Keys are made and replaced while their tenant is deleted: none is left of a tenant that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_left_of_a_tenant_that_was_deleted_meanwhile() {
    let team = Team::new().await;
    let (mut made_before, mut refused) = (0, 0);
    for round in 0..40 {
        let name = format!("t{round}");
        let CreateTenantAnswer::Created(made) = team.store.create_tenant(&new_tenant(&name)).await.unwrap() else {
            panic!("{name} is free")
        };
        let CreateKeyAnswer::Created(old) = team.store.create_key(&new_key(&name)).await.unwrap() else {
            panic!("its tenant is there")
        };
        let UpdateTenantAnswer::Updated(disabled) = team.store.update_tenant(&disabling(&made)).await.unwrap() else {
            panic!("nobody else changes it")
        };
        let answers = at_once((0..5).map(|n| {
            let (store, name, old, disabled) = (team.store.clone(), name.clone(), old.clone(), disabled.clone());
            async move {
                match n {
                    0 => {
                        let answer = store.delete_tenant(&disabled.id, disabled.version).await.unwrap();
                        assert_eq!(answer, DeleteTenantAnswer::Deleted);
                        None
                    }
                    1 => match store.replace_key(&old.tenant, &replacing(&old)).await.unwrap() {
                        ReplaceKeyAnswer::Replaced { .. } => Some(true),
                        ReplaceKeyAnswer::Gone => Some(false),
                        other => panic!("{other:?}"),
                    },
                    _ => match store.create_key(&new_key(&name)).await.unwrap() {
                        CreateKeyAnswer::Created(_) => Some(true),
                        CreateKeyAnswer::NoTenant => Some(false),
                        CreateKeyAnswer::IdTaken => panic!("its id is fresh"),
                    },
                }
            }
        }))
        .await;
        made_before += answers.iter().filter(|answer| **answer == Some(true)).count();
        refused += answers.iter().filter(|answer| **answer == Some(false)).count();
        assert_eq!(team.store.keys(&disabled.id, None, 10).await.unwrap(), []);
    }
    let audit = team.store.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert!(made_before > 0 && refused > 0, "some came before and some after: {made_before}, {refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_note_the_use_of_the_same_keys_never_wait_for_each_other_in_a_ring() {
    let team = Team::new().await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        let new = new_key("default");
        team.store.create_key(&new).await.unwrap();
        ids.push(new.id);
    }
    at_once((0..8).map(|n| {
        let (store, mut ids) = (team.store.clone(), ids.clone());
        ids.rotate_left(n);
        if n % 2 == 0 {
            ids.reverse();
        }
        async move {
            for _ in 0..20 {
                store.note_keys_used(&ids).await.unwrap();
            }
        }
    }))
    .await;
    let keys = team.store.keys(&tenant("default"), None, 100).await.unwrap();
    assert!(keys.iter().all(|key| key.last_used_at.is_some()));
    let client = team.database.client().await;
    let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named() {
    let team = Team::new().await;
    let (key, webhook) = (new_key("default"), new_webhook("default"));
    team.store.create_key(&key).await.unwrap();
    team.store.create_webhook(&webhook).await.unwrap();
    team.store.create_tenant(&new_tenant("acme")).await.unwrap();
    let client = team.database.client().await;
    client
        .batch_execute(
            r#"UPDATE api_keys SET scopes = 'jobs:read,later:scope';
               UPDATE webhooks SET settings = replace(settings, 'job.completed', 'later.event');
               UPDATE tenants SET settings = '{"later": 1}' WHERE id = 'acme'"#,
        )
        .await
        .unwrap();
    let own = tenant("default");
    let said = [
        team.store.look_up_key(&key.id).await.map(|_| ()).unwrap_err(),
        team.store.webhook(&own, webhook.id).await.map(|_| ()).unwrap_err(),
        team.store.tenant(&tenant("acme")).await.map(|_| ()).unwrap_err(),
    ];
    let rows = [
        format!("table api_keys, column scopes, row {}", key.id),
        format!("table webhooks, column settings, row {}", webhook.id),
        "table tenants, column settings, row acme".to_owned(),
    ];
    for (error, row) in said.iter().zip(rows) {
        assert!(matches!(error, StoreError::Damaged(text) if text.contains(&row)), "{row}: {error:?}");
    }
    let found = team.store.tenants(None, 1).await.unwrap();
    let readable: Vec<String> = found.readable.iter().map(|tenant| tenant.id.to_string()).collect();
    assert_eq!((readable, found.unreadable), (vec!["default".into()], vec![tenant("acme")]), "a full page");
    let found = team.store.webhooks_of(std::slice::from_ref(&own)).await.unwrap();
    assert_eq!((found.readable, found.unreadable), (Vec::new(), vec![(own.clone(), webhook.id)]));
    let at = foreman_core::Timestamp::from_micros(i64::MAX / 2);
    let gone = DeliveryNote { tenant: own, webhook: webhook.id, at, went: Went::Gone };
    assert_eq!(team.store.note_deliveries(&[gone]).await.unwrap(), [], "and its health is left to others");
}

/// Each broken by hand, as no code of ours does it.
#[tokio::test]
async fn the_audit_names_what_must_not_be() {
    let breaks = [
        ("DELETE FROM tenants WHERE id = 'default'", "tenant default does not exist"),
        ("UPDATE tenants SET weight = 7", "tenant default has the weight 7"),
        ("UPDATE api_keys SET tenant = 'nobody'", "belongs to tenant nobody"),
        ("UPDATE api_keys SET replaced_by = 'zzzzzzzzzzzz'", "was replaced by zzzzzzzzzzzz"),
        ("UPDATE webhooks SET enabled = false", "is enabled by its row or by its settings"),
        (
            "INSERT INTO deliveries SELECT 'default', gen_random_uuid(), id, 'job.dead', NULL, now() FROM webhooks, generate_series(1, 2)",
            "is listed 2 times",
        ),
        (
            "INSERT INTO jobs SELECT id, 'a', 'q', 'http', 1, NULL, NULL, 1, now(), now(), '{}' FROM webhooks;
             INSERT INTO deliveries SELECT 'b', id, id, 'job.dead', NULL, now() FROM webhooks",
            "is listed for tenant b, and its job is another's",
        ),
        ("INSERT INTO followers (name, position) VALUES ('courier', 99)", "the follower courier is at 99"),
    ];
    let mut named = BTreeSet::new();
    for (sql, sentence) in breaks {
        let team = Team::new().await;
        team.store.create_key(&new_key("default")).await.unwrap();
        team.store.create_webhook(&new_webhook("default")).await.unwrap();
        assert!(team.store.census().await.unwrap().is_clean());
        team.database.client().await.batch_execute(sql).await.unwrap();
        let audit = team.store.census().await.unwrap();
        assert!(audit.violations.iter().any(|said| said.contains(sentence)), "{sql}: {audit:#?}");
        named.insert(sentence);
    }
    assert_eq!(named.len(), 8);
}
