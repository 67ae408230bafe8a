//! Which path leads where. The OpenAPI document is made from the same list, so it cannot tell of anything else.

use axum::Router;
use axum::middleware::from_fn_with_state;
use utoipa::openapi::content::Content;
use utoipa::openapi::path::Operation;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::{InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathItem, Ref};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::problem::MEDIA_TYPE;
use crate::{
    access, bulk, dev, docs, health, home, jobs, listing, meter, output, problem, queues, schedules, submit, wait,
    workers,
};

/// Everything that is served.
pub fn router(app: App) -> Router {
    let (documented, _) = documented().split_for_parts();
    let mut router = documented.merge(docs::routes()).merge(home::routes());
    if app.dev {
        router = router.merge(dev::routes());
    }
    router
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::not_found)
        .layer(from_fn_with_state(app.gate.clone(), access::around))
        .with_state(app)
}

/// The OpenAPI 3.1 document of what is served.
pub fn openapi() -> OpenApi {
    let (_, mut document) = documented().split_for_parts();
    document.paths.paths.values_mut().flat_map(operations).for_each(may_answer_a_problem);
    document
}

fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(about())
        .routes(routes!(submit::submit, listing::list))
        .routes(routes!(submit::submit_batch))
        .routes(routes!(bulk::retry))
        .routes(routes!(bulk::cancel))
        .routes(routes!(bulk::delete))
        .routes(routes!(jobs::get, jobs::delete))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(wait::wait))
        .routes(routes!(output::output))
        .routes(routes!(listing::list_dead))
        .routes(routes!(queues::list))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(workers::list))
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
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(meter::metrics))
}

fn about() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Foreman")
        .version("v1")
        .description(Some(
            "Accepts jobs durably, runs them, retries, and tells you what happened. Times are RFC 3339; durations are text \
             such as `250ms`, `90s`, `5m`, `1h30m`. Whatever goes wrong is answered as a problem document (RFC 9457) whose \
             `type` is a page on this server.",
        ))
        .license(Some(LicenseBuilder::new().name("Apache-2.0 OR MIT").build()));
    OpenApiBuilder::new().info(info.build()).build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch].into_iter().flatten()
}

/// Any operation may be answered with a problem; those worth knowing of are listed beside it.
fn may_answer_a_problem(operation: &mut Operation) {
    let problem = Content::new(Some(Ref::from_schema_name("ProblemDocument")));
    let response = ResponseBuilder::new().description("A problem").content(MEDIA_TYPE, problem).build();
    operation.responses.responses.insert("default".into(), response.into());
}
