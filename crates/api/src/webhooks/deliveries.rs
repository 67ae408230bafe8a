//! What was sent to an endpoint, is on its way, or was given up: listed, inspected, sent again, tried out.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{DeliveryDocument, ListDocument, ProblemDocument};
use foreman_core::ports::{Delivery, NewDelivery, RedriveAnswer};
use foreman_core::target::Addressee;
use foreman_core::webhook::{About, Dispatch, Event, Message};
use foreman_core::{JobId, Lane, TenantId, WebhookId};
use http::StatusCode;

use super::{OneDelivery, WebhookPath, find};
use crate::app::App;
use crate::gate::audit::Touched;
use crate::gate::caller::Caller;
use crate::gate::quotas;
use crate::openapi::responses::{DeliveryNotFound, InvalidParameter, WebhookNotFound};
use crate::problem::{Kind, Problem};
use crate::request::json;
use crate::request::paging::{PageParams, page_of};
use crate::request::params::{Params, RequestTenant};

/// List a webhook's deliveries, newest first.
#[utoipa::path(get, path = "/api/v1/webhooks/{webhook}/deliveries", tag = "webhooks", operation_id = "list_deliveries",
    params(("webhook" = String, Path, description = "The webhook's id"), PageParams),
    responses(
        (status = 200, description = "A page", body = ListDocument<DeliveryDocument>),
        (status = 400, response = InvalidParameter),
        (status = 404, response = WebhookNotFound),
    ))]
pub(crate) async fn list(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    WebhookPath(id): WebhookPath,
    Params(params): Params<PageParams>,
) -> Result<Response, Problem> {
    let limit = params.limit()?;
    let before: Option<JobId> = params.cursor()?;
    find(&app, &tenant, id).await?;
    let deliveries = app.tenancy.deliveries(&tenant, id, before, limit + 1).await?;
    let page = page_of(deliveries, limit, |delivery| delivery.job.to_string());
    let mut items = Vec::with_capacity(page.items.len());
    for delivery in page.items {
        let view = app.store.get(&tenant, delivery.job).await?;
        items.push(delivery.document(view, false));
    }
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: page.next }))
}

/// Read a delivery: the message and every attempt.
#[utoipa::path(get, path = "/api/v1/webhooks/{webhook}/deliveries/{delivery}", tag = "webhooks", operation_id = "get_delivery",
    params(
        ("webhook" = String, Path, description = "The webhook's id"),
        ("delivery" = String, Path, description = "The delivery's id"),
    ),
    responses(
        (status = 200, description = "The delivery", body = DeliveryDocument),
        (status = 404, response = DeliveryNotFound),
    ))]
pub(crate) async fn get(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    OneDelivery(webhook, id): OneDelivery,
) -> Result<Response, Problem> {
    read(&app, &tenant, webhook, id).await
}

/// Resend a delivery that has ended: the same message with the same id.
#[utoipa::path(post, path = "/api/v1/webhooks/{webhook}/deliveries/{delivery}/resend", tag = "webhooks", operation_id = "resend_delivery",
    params(
        ("webhook" = String, Path, description = "The webhook's id"),
        ("delivery" = String, Path, description = "The delivery's id"),
    ),
    responses(
        (status = 200, description = "The delivery, queued again", body = DeliveryDocument),
        (status = 404, response = DeliveryNotFound),
        (status = 409, description = "It is already being delivered; `state` has its state",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn resend(
    State(app): State<App>,
    caller: Caller,
    OneDelivery(webhook, id): OneDelivery,
) -> Result<Response, Problem> {
    listed(&app, &caller.tenant, webhook, id).await?;
    let view = app.store.get(&caller.tenant, id).await?.ok_or_else(|| outlived(id))?;
    let quota = if view.state.is_final() { app.quotas().take(&app, &caller, &[view.job.work]).await? } else { None };
    let reads = caller.reads_jobs();
    let tenant = caller.tenant;
    let (store, owner) = (app.store.clone(), tenant.clone());
    let answers = app.to_the_end(async move { store.redrive(&owner, &[id]).await }).await?;
    match answers.into_iter().next().flatten() {
        Some(RedriveAnswer::Redriven) => {
            let mut response = changed(&app, &tenant, webhook, id, reads).await?;
            quotas::tell(&mut response, quota);
            Ok(response)
        }
        Some(RedriveAnswer::NotFinal(state)) => Err(Problem::in_state(
            Kind::JobNotFinal,
            state,
            format!("delivery {id} is {state}: it is already being delivered"),
        )),
        None => Err(outlived(id)),
    }
}

/// Send a test message (event `webhook.test`).
#[utoipa::path(post, path = "/api/v1/webhooks/{webhook}/test", tag = "webhooks", operation_id = "test_webhook",
    params(("webhook" = String, Path, description = "The webhook's id")),
    responses(
        (status = 202, description = "The delivery, queued", body = DeliveryDocument),
        (status = 404, response = WebhookNotFound),
        (status = 409, description = "The webhook is disabled",
            body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn test(
    State(app): State<App>,
    caller: Caller,
    WebhookPath(id): WebhookPath,
) -> Result<Response, Problem> {
    let tenant = caller.tenant.clone();
    let webhook = find(&app, &tenant, id).await?;
    if !webhook.settings.is_enabled() {
        return Err(Problem::new(Kind::WebhookDisabled, format!("the webhook {id} is disabled; enable it first")));
    }
    let delivery = trial(&app, &tenant, id)?;
    let quota = app.quotas().take(&app, &caller, &[Arc::clone(&delivery.job.work)]).await?;
    let job = delivery.job.id;
    let tenancy = app.tenancy.clone();
    app.to_the_end(async move { tenancy.post_one(&delivery).await }).await?;
    let mut response = changed(&app, &tenant, id, job, caller.reads_jobs()).await?;
    *response.status_mut() = StatusCode::ACCEPTED;
    Touched::mark(&mut response, format!("webhook/{id}/deliveries/{job}"));
    quotas::tell(&mut response, quota);
    Ok(response)
}

/// Tried once: whoever tries it out is waiting, and tries it out again.
fn trial(app: &App, tenant: &TenantId, webhook: WebhookId) -> Result<NewDelivery, Problem> {
    let data =
        About::Webhook { webhook, detail: "test message: the endpoint is reachable, and its secret verifies".into() };
    let message = Message { event: Event::WebhookTest, timestamp: app.clock.now(), data };
    let dispatch = Dispatch { lane: Lane::High, max_attempts: 1, ..Dispatch::to(Addressee::Webhook(webhook)) };
    let delivery = message.deliver(tenant, dispatch);
    delivery.map_err(|error| Problem::internal(format!("the message is not JSON: {error}")))
}

async fn listed(app: &App, tenant: &TenantId, webhook: WebhookId, id: JobId) -> Result<Delivery, Problem> {
    let delivery = app.tenancy.delivery(tenant, webhook, id).await?;
    delivery.ok_or_else(|| {
        Problem::new(Kind::DeliveryNotFound, format!("the webhook {webhook} has no delivery with the id {id}"))
    })
}

/// A delivery that was changed, for who may not be one who may read it.
async fn changed(
    app: &App,
    tenant: &TenantId,
    webhook: WebhookId,
    id: JobId,
    reads: bool,
) -> Result<Response, Problem> {
    if reads {
        return read(app, tenant, webhook, id).await;
    }
    let delivery = listed(app, tenant, webhook, id).await?;
    let view = app.store.get(tenant, id).await?;
    Ok(json::answer(StatusCode::OK, &delivery.document(view, false).without_content()))
}

async fn read(app: &App, tenant: &TenantId, webhook: WebhookId, id: JobId) -> Result<Response, Problem> {
    let delivery = listed(app, tenant, webhook, id).await?;
    let view = app.store.get(tenant, id).await?;
    Ok(json::answer(StatusCode::OK, &delivery.document(view, true)))
}

fn outlived(id: JobId) -> Problem {
    let detail = format!("delivery {id} is past its retention period, and its message was deleted");
    Problem::new(Kind::DeliveryNotFound, detail)
}
