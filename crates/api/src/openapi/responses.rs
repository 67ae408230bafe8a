//! Problems that several operations may answer, each described once.
//!
//! A handler refers to one by its name: `(status = 404, response = JobNotFound)`. What only one operation answers is
//! described beside that.

use utoipa::ToResponse;
use utoipa::openapi::content::Content;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Response};

use crate::problem::MEDIA_TYPE;

macro_rules! responses {
    ($($name:ident: $what:literal $(, $header:literal: $of:ident)?;)*) => {
        $(
            pub(crate) struct $name;

            impl<'r> ToResponse<'r> for $name {
                fn response() -> (&'r str, RefOr<Response>) {
                    (stringify!($name), problem($what, &[$(($header, Type::$of))?]))
                }
            }
        )*

        pub(super) fn all() -> impl Iterator<Item = (&'static str, RefOr<Response>)> {
            [$($name::response()),*].into_iter()
        }
    };
}

responses! {
    InvalidRequest: "The request is not valid";
    InvalidParameter: "A parameter is unknown or invalid";
    InvalidFilter: "The filter is not valid";
    InvalidQueueName: "Not a queue's name";
    Unauthorized: "The key is missing, unknown, expired or revoked", "WWW-Authenticate": String;
    Forbidden: "The key lacks the scope, or the request names another tenant";
    CommandsOrScope: "Commands are not allowed, or the key lacks the scope";
    CommandForbidden: "It runs a command, and commands are not allowed or the key lacks `exec:command`";
    OtherOrigin: "The request comes from a page of another server";
    NotFound: "Not found, or the tenant in `Foreman-Tenant` does not exist";
    JobNotFound: "No such job";
    ScheduleNotFound: "No such schedule";
    TenantNotFound: "No such tenant";
    KeyNotFound: "No such tenant, or it has no such key";
    WebhookNotFound: "No such webhook";
    DeliveryNotFound: "No such delivery";
    RequestTimeout: "The request did not arrive in time";
    JobNotEnded: "It has not ended; `state` has its state";
    VersionMismatch: "The version does not match; `version` has the current one";
    BodyTooLarge: "The body is too large";
    NotJson: "The body is not sent as JSON";
    HostRefused: "The request names a host that is not this server";
    Unprocessable: "The request cannot be processed";
    InvalidSchedule: "Not a valid schedule";
    InvalidOverlap: "The overlap is not valid, or this server has no FOREMAN_SECRET_KEY";
    TooManyRequests: "Too many requests, or too many wrong keys from this address", "Retry-After": Integer;
    RateLimited: "The tenant's rate limit; `Retry-After` says when to try again", "Retry-After": Integer;
    InternalError: "Internal error, or the store is damaged; see the server's log";
    Unavailable: "Overloaded, stopping, or the store is unreachable; send the request again";
    NothingAccepted: "Nothing was accepted: overloaded, stopping, or the store is unreachable";
    StoreFull: "The store has no space left";
}

fn problem(what: &str, headers: &[(&str, Type)]) -> RefOr<Response> {
    let document = Content::new(Some(Ref::from_schema_name("ProblemDocument")));
    let response = ResponseBuilder::new().description(what).content(MEDIA_TYPE, document);
    let with_header = |response: ResponseBuilder, (name, of): &(&str, Type)| response.header(*name, header(of.clone()));
    headers.iter().fold(response, with_header).build().into()
}

pub(super) fn header(of: Type) -> Header {
    HeaderBuilder::new().schema(Some(ObjectBuilder::new().schema_type(of))).build()
}
