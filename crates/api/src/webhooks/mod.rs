//! Webhooks over HTTP: endpoints made, read and changed; their deliveries listed, inspected and sent again.
//!
//! A secret is shown in the answer that made it and never again. Every change is bound to the version it was made from,
//! so that of two people who change one endpoint the second looks again.

pub(crate) mod change;
pub(crate) mod deliveries;
pub(crate) mod look;

use axum::extract::{FromRequestParts, Path};
use foreman_core::spec::Invalid;
use foreman_core::webhook::Webhook;
use foreman_core::{JobId, TenantId, WebhookId};
use http::request::Parts;

use crate::app::App;
use crate::problem::{Kind, Problem};

/// The `{webhook}` of a path.
pub(crate) struct WebhookPath(pub WebhookId);

impl<S: Send + Sync> FromRequestParts<S> for WebhookPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|error| refused(&error))?;
        webhook_id(&text).map(Self)
    }
}

/// The `{webhook}` and the `{delivery}` of a path.
pub(crate) struct OneDelivery(pub WebhookId, pub JobId);

impl<S: Send + Sync> FromRequestParts<S> for OneDelivery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path((webhook, delivery)) =
            Path::<(String, String)>::from_request_parts(parts, state).await.map_err(|error| refused(&error))?;
        let delivery = delivery
            .parse()
            .map_err(|_| Problem::invalid_request(format!("{delivery:?} is not a delivery id, which is a UUID")))?;
        Ok(Self(webhook_id(&webhook)?, delivery))
    }
}

fn refused(rejection: &axum::extract::rejection::PathRejection) -> Problem {
    Problem::invalid_request(rejection.body_text())
}

fn webhook_id(text: &str) -> Result<WebhookId, Problem> {
    text.parse().map_err(|_| Problem::invalid_request(format!("{text:?} is not a webhook id, which is a UUID")))
}

async fn find(app: &App, tenant: &TenantId, id: WebhookId) -> Result<Webhook, Problem> {
    app.tenancy.webhook(tenant, id).await?.ok_or_else(|| not_found(id))
}

fn not_found(id: WebhookId) -> Problem {
    Problem::new(Kind::WebhookNotFound, format!("no webhook has the id {id}"))
}

fn invalid(invalid: Invalid) -> Problem {
    let detail = match invalid.mistakes.as_slice() {
        [only] => format!("{}: {}", only.pointer, only.detail),
        several => format!("the webhook has {} mistakes; `errors` lists them", several.len()),
    };
    Problem::new(Kind::InvalidWebhook, detail).with_errors(invalid.mistakes)
}
