//! The OpenAPI document: made from the routes, from the access list, and from what any operation may answer.
//!
//! Problems that several operations may answer are described once (`responses.rs`) and referred to.

pub(crate) mod responses;

use std::collections::BTreeSet;

use http::Method;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ArrayItems, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    Components, Info, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, PathItem, Ref, RefOr, Required, Schema,
    Server, ServerBuilder,
};

use crate::gate::access_list::{self, Lookup, Needs};
use crate::routes::documented;

/// The name of the security scheme.
const KEY: &str = "key";

/// What the operations are grouped by.
const TAGS: [(&str, &str); 12] = [
    ("jobs", "Submit jobs, read them, wait for them, cancel, retry and delete them"),
    ("bulk", "Cancel, retry or delete many jobs, chosen by a filter"),
    ("queues", "Queues: their depth, and pausing and resuming them"),
    ("statistics", "What is going on now, and numbers over time"),
    ("workers", "Worker processes and the jobs they run"),
    ("schedules", "Jobs at fixed times: create and change schedules, read their ticks"),
    ("webhooks", "Endpoints that receive events, and the deliveries to them"),
    ("stream", "Events as they happen, as server-sent events"),
    ("session", "Sign in and out with a browser"),
    ("tenants", "Tenants, their limits, their keys and their signing secrets"),
    ("audit", "Who changed what"),
    ("server", "Health, readiness and metrics of this process"),
];

/// The OpenAPI 3.1 document of what is served.
pub fn openapi() -> OpenApi {
    let (_, mut document) = documented().split_for_parts();
    document.info = info();
    document.servers = Some(servers());
    document.tags = Some(TAGS.map(|(name, what)| tag(name, what)).into());
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(KEY, SecurityScheme::Http(bearer()));
    lists_refer_to_their_items(components);
    components.responses.extend(responses::all().map(|(name, response)| (name.to_owned(), response)));
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

/// The items of a list are described once, not again in the list.
fn lists_refer_to_their_items(components: &mut Components) {
    let names: BTreeSet<String> = components.schemas.keys().cloned().collect();
    for (name, schema) in &mut components.schemas {
        let Some(item) = name.strip_prefix("ListDocument_").filter(|item| names.contains(*item)) else { continue };
        if let RefOr::T(Schema::Object(list)) = schema
            && let Some(RefOr::T(Schema::Array(items))) = list.properties.get_mut("items")
        {
            items.items = ArrayItems::RefOrSchema(Box::new(RefOr::Ref(Ref::from_schema_name(item))));
        }
    }
}

fn info() -> Info {
    let what = "Accepts jobs durably, runs them, retries them, and reports what happened. Times are RFC 3339; durations \
                are text such as `250ms`, `90s`, `5m`, `1h30m`. Every error is a problem document (RFC 9457) whose \
                `type` is a page on this server.";
    let licence = env!("CARGO_PKG_LICENSE");
    InfoBuilder::new()
        .title("Foreman")
        .version("v1")
        .description(Some(what))
        .license(Some(LicenseBuilder::new().name(licence).identifier(Some(licence)).build()))
        .build()
}

fn servers() -> Vec<Server> {
    vec![
        ServerBuilder::new().url("/").description(Some("The server that this document comes from")).build(),
        ServerBuilder::new().url("http://127.0.0.1:8080").description(Some("`foreman dev` on this machine")).build(),
    ]
}

fn tag(name: &str, what: &str) -> Tag {
    TagBuilder::new().name(name).description(Some(what)).build()
}

fn bearer() -> Http {
    let what = "An API key: `fm_…`, created with `foreman keys create` or `POST /api/v1/tenants/{tenant}/keys`, or \
                the `FOREMAN_ADMIN_KEY` that the server was started with. A server that listens on loopback and has \
                no admin key requires no key.";
    HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("fm_…").description(Some(what)).build()
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

/// What any operation may be answered with. Every status is listed here or beside its handler: there is no `default`, so
/// that a test of the server against the document finds what was forgotten.
fn may_answer_a_problem(operation: &mut Operation) {
    let everywhere = [
        ("400", "InvalidRequest"),
        ("408", "RequestTimeout"),
        ("421", "HostRefused"),
        ("500", "InternalError"),
        ("503", "Unavailable"),
        ("507", "StoreFull"),
    ];
    let with_a_body = [("413", "BodyTooLarge"), ("415", "NotJson"), ("422", "Unprocessable")];
    let has_body = operation.request_body.is_some();
    let with_a_body = with_a_body.into_iter().filter(|_| has_body);
    for (status, name) in everywhere.into_iter().chain(with_a_body) {
        may_answer(operation, status, name);
    }
}

/// Unless its handler says something more exact about the status.
fn may_answer(operation: &mut Operation, status: &str, name: &str) {
    let entry = operation.responses.responses.entry(status.into());
    entry.or_insert_with(|| RefOr::Ref(Ref::from_response_name(name)));
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
    for (status, name) in
        [("401", "Unauthorized"), ("403", "Forbidden"), ("404", "NotFound"), ("429", "TooManyRequests")]
    {
        may_answer(operation, status, name);
    }
    if let Some(RefOr::T(refused)) = operation.responses.responses.get_mut("429") {
        refused.headers.insert("Retry-After".into(), RefOr::T(responses::header(Type::Integer)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_response_of_several_operations_is_described_once() {
        let mut document = openapi();
        let described = document.components.take().expect("components").responses;
        let (mut named, mut inline) = (BTreeSet::new(), BTreeMap::new());
        for (_, operation) in document.paths.paths.values_mut().flat_map(operations) {
            for (status, response) in &operation.responses.responses {
                match response {
                    RefOr::Ref(reference) => {
                        named.insert(reference.ref_location.rsplit('/').next().expect("a name").to_owned());
                    }
                    RefOr::T(response) if status.as_str() >= "400" => {
                        *inline.entry((status.clone(), response.description.clone())).or_insert(0) += 1;
                    }
                    RefOr::T(_) => {}
                }
            }
        }
        assert_eq!(named, described.into_keys().collect(), "each that is named is described, and the other way round");
        inline.retain(|_, times| *times > 1);
        assert!(inline.is_empty(), "belongs in responses.rs: {inline:?}");
    }

    #[test]
    fn every_tag_is_described_and_used() {
        let mut document = openapi();
        let operations = document.paths.paths.values_mut().flat_map(operations);
        let used: BTreeSet<String> =
            operations.flat_map(|(_, operation)| operation.tags.clone().unwrap_or_default()).collect();
        assert_eq!(used, TAGS.iter().map(|(name, _)| (*name).to_owned()).collect());
    }
}
