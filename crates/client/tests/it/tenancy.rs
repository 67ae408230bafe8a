use foreman_client::{
    Client, NewKeyDocument, NewTenantDocument, RotateKeyDocument, RotateSecretDocument, WebhookPatch, WebhookSpec,
};

use crate::stub::{Asked, Stub};

const TIME: &str = "2026-11-15T09:00:00Z";

fn tenant() -> String {
    let limits = serde_json::to_value(foreman_protocol::tenant::TenantLimits::default()).unwrap();
    serde_json::json!({
        "id": "acme", "version": 2, "disabled": false, "limits": {"schedules": "unlimited"}, "limits_in_force": limits,
        "commands": [], "weight": 1, "signs": true, "created_at": TIME, "updated_at": TIME,
    })
    .to_string()
}

fn key(secret: bool) -> String {
    let mut key = serde_json::json!({
        "id": "4k2m9x7q1w3z", "tenant": "acme", "name": "ci", "state": "live", "scopes": ["jobs:read"],
        "created_at": TIME, "expires_at": null, "revoked_at": null, "last_used_at": null, "replaced_by": null,
    });
    if secret {
        key["key"] = "fm_4k2m9x7q1w3z_hush".into();
    }
    key.to_string()
}

fn webhook() -> String {
    serde_json::json!({
        "id": "0198", "url": "https://a.example/", "events": ["job.dead"], "description": "", "enabled": true, "disabled": null,
        "failing_since": null, "secrets": 1, "version": 1, "created_at": TIME, "updated_at": TIME, "secret": "whsec_hush",
    })
    .to_string()
}

fn delivery() -> String {
    serde_json::json!({
        "id": "0199", "webhook": "0198", "message_id": "msg_1", "event": "webhook.test", "about": null, "state": "pending",
        "attempt": 0, "status": null, "error": null, "created_at": TIME, "next_attempt_at": TIME, "finished_at": null,
    })
    .to_string()
}

fn named_tenant(asked: &Asked) -> Option<&str> {
    asked.headers.iter().find_map(|header| header.strip_prefix("foreman-tenant: "))
}

const PAGE: &str = r#"{"items":[],"next":null}"#;

#[tokio::test]
async fn every_call_about_tenants_and_keys_goes_where_the_api_expects_it() {
    let answers = [
        (201, tenant()),
        (200, tenant()),
        (200, tenant()),
        (204, String::new()),
        (200, r#"{"secret":"whsec_hush"}"#.into()),
        (204, String::new()),
        (201, key(true)),
        (200, PAGE.into()),
        (204, String::new()),
        (201, key(true)),
        (200, PAGE.into()),
    ];
    let stub = Stub::answering(answers);
    let client = Client::new(&stub.url, None).unwrap();
    let asked = |line: &str, body: &str| {
        let asked = stub.next_asked();
        assert_eq!((asked.line.as_str(), asked.body.as_str()), (format!("{line} HTTP/1.1").as_str(), body));
    };

    let new =
        NewTenantDocument { id: "acme".into(), weight: Some(3.try_into().unwrap()), ..NewTenantDocument::default() };
    client.create_tenant(&new).await.unwrap();
    asked("POST /api/v1/tenants", r#"{"id":"acme","weight":3}"#);
    assert_eq!(client.tenant("acme").await.unwrap().version, 2);
    asked("GET /api/v1/tenants/acme", "");
    client.update_tenant("acme", &serde_json::json!({"limits": {"schedules": null}}), Some(2)).await.unwrap();
    asked("PATCH /api/v1/tenants/acme", r#"{"limits":{"schedules":null}}"#);
    client.delete_tenant("acme", None).await.unwrap();
    asked("DELETE /api/v1/tenants/acme", "");
    let secret = client.rotate_tenant_secret("acme", &RotateSecretDocument::default()).await.unwrap();
    assert!(!format!("{secret:?}").contains("hush"));
    asked("POST /api/v1/tenants/acme/signing-secret", "{}");
    client.delete_tenant_secret("acme").await.unwrap();
    asked("DELETE /api/v1/tenants/acme/signing-secret", "");

    let new = NewKeyDocument {
        name: Some("ci".into()),
        scopes: "jobs:read".parse().unwrap(),
        expires_at: None,
        expires_in: Some("90d".parse().unwrap()),
    };
    let made = client.create_key("acme", &new).await.unwrap();
    assert_eq!((made.key.as_str(), made.about.id.as_str()), ("fm_4k2m9x7q1w3z_hush", "4k2m9x7q1w3z"));
    assert!(!format!("{made:?}").contains("hush"));
    asked("POST /api/v1/tenants/acme/keys", r#"{"name":"ci","scopes":["jobs:read"],"expires_in":"90d"}"#);
    client.keys("acme", 500, Some("4k")).await.unwrap();
    asked("GET /api/v1/tenants/acme/keys?limit=500&cursor=4k", "");
    client.revoke_key("acme", "a/b").await.unwrap();
    asked("DELETE /api/v1/tenants/acme/keys/a%2Fb", "");
    let how = RotateKeyDocument { grace: Some("1h".parse().unwrap()), ..RotateKeyDocument::default() };
    client.rotate_key("acme", "4k2m9x7q1w3z", &how).await.unwrap();
    asked("POST /api/v1/tenants/acme/keys/4k2m9x7q1w3z/rotate", r#"{"grace":"1h"}"#);
    client.audit(Some("acme"), 50, None).await.unwrap();
    asked("GET /api/v1/audit?tenant=acme&limit=50", "");
}

#[tokio::test]
async fn every_call_about_webhooks_goes_where_the_api_expects_it() {
    let answers = [
        (201, webhook()),
        (200, webhook()),
        (200, webhook()),
        (202, delivery()),
        (200, PAGE.into()),
        (200, delivery()),
        (202, delivery()),
        (204, String::new()),
    ];
    let stub = Stub::answering(answers);
    let client = Client::new(&stub.url, None).unwrap();
    let asked = |line: &str, body: &str| {
        let asked = stub.next_asked();
        assert_eq!((asked.line.as_str(), asked.body.as_str()), (format!("{line} HTTP/1.1").as_str(), body));
    };
    let spec = WebhookSpec {
        url: "https://a.example/".into(),
        events: vec!["job.*".into()],
        description: None,
        enabled: None,
    };
    assert_eq!(client.create_webhook(&spec).await.unwrap().secret.as_deref(), Some("whsec_hush"));
    asked("POST /api/v1/webhooks", r#"{"url":"https://a.example/","events":["job.*"]}"#);
    let patch = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
    client.update_webhook("0198", &patch, None).await.unwrap();
    asked("PATCH /api/v1/webhooks/0198", r#"{"enabled":true}"#);
    client.rotate_webhook_secret("0198", &RotateSecretDocument::default()).await.unwrap();
    asked("POST /api/v1/webhooks/0198/rotate-secret", "{}");
    client.test_webhook("0198").await.unwrap();
    asked("POST /api/v1/webhooks/0198/test", "");
    client.deliveries("0198", 10, None).await.unwrap();
    asked("GET /api/v1/webhooks/0198/deliveries?limit=10", "");
    client.delivery("0198", "0199").await.unwrap();
    asked("GET /api/v1/webhooks/0198/deliveries/0199", "");
    client.resend_delivery("0198", "0199").await.unwrap();
    asked("POST /api/v1/webhooks/0198/deliveries/0199/resend", "");
    client.delete_webhook("0198").await.unwrap();
    asked("DELETE /api/v1/webhooks/0198", "");
}

#[tokio::test]
async fn an_operator_names_the_tenant_it_speaks_for() {
    let stub = Stub::answering([(200, PAGE.into()), (200, PAGE.into())]);
    let client = Client::new(&stub.url, None).unwrap();
    client.queues().await.unwrap();
    assert_eq!(named_tenant(&stub.next_asked()), None);
    client.for_tenant("acme").unwrap().queues().await.unwrap();
    assert_eq!(named_tenant(&stub.next_asked()), Some("acme"));
    let error = client.for_tenant("a b\n").unwrap_err();
    assert!(matches!(error, foreman_client::Error::Setup(_)), "{error}");
}
