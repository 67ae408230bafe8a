//! Which path leads where. The OpenAPI document (`openapi/`) is made from the same list, so it describes nothing else.

use axum::Router;
use axum::middleware::from_fn_with_state;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::gate::{self, GateLayer, audit, session};
use crate::jobs::{bulk, failures, listing, output, submit, wait};
use crate::overview::statistics;
use crate::pages::{dashboard, docs};
use crate::serve::{health, meter};
use crate::{dev, jobs, overview, parked, problem, queues, schedules, stream, tenants, webhooks, workers};

/// Everything that is served.
pub fn router(app: App) -> Router {
    let (documented, _) = documented().split_for_parts();
    let mut router = documented.merge(docs::routes()).merge(dashboard::routes());
    if app.dev {
        router = router.merge(dev::routes());
    }
    router
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::not_found)
        .layer(from_fn_with_state(GateLayer { gate: app.gate.clone(), app: Some(app.clone()) }, gate::around))
        .with_state(app)
}

/// The routes that the OpenAPI document describes.
pub(crate) fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(submit::submit, listing::list))
        .routes(routes!(submit::submit_batch))
        .routes(routes!(bulk::retry))
        .routes(routes!(bulk::cancel))
        .routes(routes!(bulk::delete))
        .routes(routes!(jobs::get, jobs::delete))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::attempts))
        .routes(routes!(wait::wait))
        .routes(routes!(output::output))
        .routes(routes!(listing::list_dead))
        .routes(routes!(failures::groups))
        .routes(routes!(failures::dead_groups))
        .routes(routes!(queues::list))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(workers::list))
        .routes(routes!(workers::jobs))
        .routes(routes!(overview::overview))
        .routes(routes!(statistics::over_time))
        .routes(routes!(statistics::by_queue))
        .routes(routes!(schedules::change::create, schedules::look::list))
        .routes(routes!(schedules::preview::unsaved))
        .routes(routes!(
            schedules::look::get,
            schedules::change::replace,
            schedules::change::update,
            schedules::change::delete
        ))
        .routes(routes!(schedules::change::pause))
        .routes(routes!(schedules::change::resume))
        .routes(routes!(schedules::change::run))
        .routes(routes!(schedules::preview::saved))
        .routes(routes!(schedules::look::ticks))
        .routes(routes!(stream::stream))
        .routes(routes!(stream::create_ticket))
        .routes(routes!(session::sign_in, session::sign_out))
        .routes(routes!(tenants::whoami::whoami))
        .routes(routes!(tenants::change::create, tenants::look::list))
        .routes(routes!(tenants::look::get, tenants::change::update, tenants::change::delete))
        .routes(routes!(tenants::signing::rotate, tenants::signing::delete))
        .routes(routes!(tenants::keys::create, tenants::keys::list))
        .routes(routes!(tenants::keys::get, tenants::keys::revoke))
        .routes(routes!(tenants::keys::rotate))
        .routes(routes!(audit::entries::list))
        .routes(routes!(parked::list))
        .routes(routes!(webhooks::change::create, webhooks::look::list))
        .routes(routes!(webhooks::look::get, webhooks::change::update, webhooks::change::delete))
        .routes(routes!(webhooks::change::rotate_secret))
        .routes(routes!(webhooks::deliveries::test))
        .routes(routes!(webhooks::deliveries::list))
        .routes(routes!(webhooks::deliveries::get))
        .routes(routes!(webhooks::deliveries::resend))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(meter::metrics))
}
