//! Which path leads where. The OpenAPI document is made from the same list, so it cannot tell of anything else.

use axum::Router;
use axum::middleware::from_fn_with_state;
use http::Method;
use utoipa::openapi::content::Content;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::Type;
use utoipa::openapi::security::{Http, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr, Required,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::gate::GateLayer;
use crate::gate::access_list::{self, Lookup, Needs};
use crate::gate::{self, audit, session};
use crate::jobs::{bulk, failures, listing, output, submit, wait};
use crate::overview::statistics;
use crate::pages::{dashboard, docs};
use crate::problem::MEDIA_TYPE;
use crate::serve::{health, meter};
use crate::{dev, jobs, overview, problem, queues, schedules, stream, tenants, webhooks, workers};

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

/// The OpenAPI 3.1 document of what is served.
pub fn openapi() -> OpenApi {
    let (_, mut document) = documented().split_for_parts();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(KEY, SecurityScheme::Http(bearer()));
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            may_answer_a_problem(operation);
            if let Lookup::Operation(listed) = access_list::find(&method, path) {
                says_what_it_needs(operation, listed);
            }
        }
    }
    document
}

/// The name of the security scheme.
const KEY: &str = "key";

fn bearer() -> Http {
    let what = "An API key: `fm_…`, created with `foreman keys create` or `POST /api/v1/tenants/{tenant}/keys`, or \
                the `FOREMAN_ADMIN_KEY` that the server was started with. A server that listens on loopback and has \
                no admin key requires no key.";
    HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("fm_…").description(Some(what)).build()
}

/// What the access list says, the document says.
fn says_what_it_needs(operation: &mut Operation, listed: &access_list::Operation) {
    let needs = match listed.needs {
        Needs::Nothing => {
            operation.security = Some(Vec::new());
            return;
        }
        Needs::Key => "Needs a key; any scope will do.".to_owned(),
        Needs::Scope(scope) => format!("Needs a key with the scope `{scope}`."),
    };
    let description = operation.description.take().filter(|text| !text.is_empty());
    operation.description = Some(description.map_or_else(|| needs.clone(), |text| format!("{text}\n\n{needs}")));
    operation.security = Some(vec![SecurityRequirement::new(KEY, Vec::<String>::new())]);
    let tenant = ParameterBuilder::new()
        .name("Foreman-Tenant")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("The tenant to act on, for operators; defaults to the key's own tenant"))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build();
    operation.parameters.get_or_insert_default().push(RefOr::T(tenant));
    for (status, what) in [
        ("401", "The key is missing, unknown, expired or revoked"),
        ("403", "The key lacks the scope, or the request names another tenant"),
        ("404", "Not found, or the tenant in `Foreman-Tenant` does not exist"),
        ("429", "Too many requests, or too many wrong keys from this address"),
    ] {
        operation.responses.responses.entry(status.into()).or_insert_with(|| problem_response(what).into());
    }
    if let Some(RefOr::T(refused)) = operation.responses.responses.get_mut("401") {
        refused.headers.insert("WWW-Authenticate".into(), header(Type::String));
    }
    if let Some(RefOr::T(refused)) = operation.responses.responses.get_mut("429") {
        refused.headers.insert("Retry-After".into(), header(Type::Integer));
    }
}

fn header(of: Type) -> RefOr<Header> {
    RefOr::T(HeaderBuilder::new().schema(Some(ObjectBuilder::new().schema_type(of))).build())
}

fn problem_response(what: &str) -> utoipa::openapi::Response {
    let problem = Content::new(Some(Ref::from_schema_name("ProblemDocument")));
    ResponseBuilder::new().description(what).content(MEDIA_TYPE, problem).build()
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
        .routes(routes!(audit::trail::list))
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

fn about() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Foreman")
        .version("v1")
        .description(Some(
            "Accepts jobs durably, runs them, retries them, and reports what happened. Times are RFC 3339; durations \
             are text such as `250ms`, `90s`, `5m`, `1h30m`. Every error is a problem document (RFC 9457) whose \
             `type` is a page on this server.",
        ))
        .license(Some(LicenseBuilder::new().name("Apache-2.0 OR MIT").build()));
    OpenApiBuilder::new().info(info.build()).build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    [
        (Method::GET, &mut item.get),
        (Method::PUT, &mut item.put),
        (Method::POST, &mut item.post),
        (Method::DELETE, &mut item.delete),
        (Method::PATCH, &mut item.patch),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// What any operation may be answered with. Every status has its name here or beside its handler: there is no
/// `default`, so that whoever holds the server against the document finds what was forgotten.
fn may_answer_a_problem(operation: &mut Operation) {
    let everywhere = [
        ("400", "The request is not valid"),
        ("408", "The request did not arrive in time"),
        ("421", "The request names a host that is not this server"),
        ("500", "Internal error, or the store is damaged; see the server's log"),
        ("503", "Overloaded, stopping, or the store is unreachable; send the request again"),
        ("507", "The store has no space left"),
    ];
    let with_a_body = [
        ("413", "The body is too large"),
        ("415", "The body is not sent as JSON"),
        ("422", "The request cannot be processed"),
    ];
    let with_a_body = with_a_body.into_iter().filter(|_| operation.request_body.is_some());
    for (status, what) in everywhere.into_iter().chain(with_a_body) {
        operation.responses.responses.entry(status.into()).or_insert_with(|| problem_response(what).into());
    }
}
