//! What stands in the path and the query, and whose request it is.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use foreman_core::id::NotATenantId;
use foreman_core::job::QueueName;
use foreman_core::key::{KeyId, NotAKeyId};
use foreman_core::schedule::ScheduleKey;
use foreman_core::{JobId, SessionId, TenantId};
use http::Uri;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::gate::caller;
use crate::problem::{MOST_MISTAKES, Problem};
use crate::request::json;
use crate::schedules::look::no_key;

/// Whose jobs the request is about, as the gate decided.
pub(crate) struct RequestTenant(pub TenantId);

impl<S: Sync> FromRequestParts<S> for RequestTenant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        caller::of(parts).map(|caller| Self(caller.tenant.clone()))
    }
}

/// The `{tenant}` of a path.
pub(crate) struct TenantPath(pub TenantId);

impl<S: Send + Sync> FromRequestParts<S> for TenantPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        tenant_id(&path_text(parts, state).await?).map(Self)
    }
}

/// The `{tenant}` and the `{key}` of a path.
pub(crate) struct KeyOf(pub TenantId, pub KeyId);

impl<S: Send + Sync> FromRequestParts<S> for KeyOf {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path((tenant, key)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::invalid_request(rejection.body_text()))?;
        let key = key.parse().map_err(|error: NotAKeyId| Problem::invalid_request(error.to_string()))?;
        Ok(Self(tenant_id(&tenant)?, key))
    }
}

fn tenant_id(text: &str) -> Result<TenantId, Problem> {
    text.parse().map_err(|error: NotATenantId| Problem::invalid_request(error.to_string()))
}

/// The `{id}` of a path.
pub(crate) struct Id(pub JobId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = path_text(parts, state).await?;
        text.parse().map(Self).map_err(|_| {
            Problem::invalid_request(format!(
                "{text:?} is not a job id, which looks like 0198c5e2-7f3a-7c6e-9a52-3f1f0e8f6a11"
            ))
        })
    }
}

/// The `{queue}` of a path.
pub(crate) struct Queue(pub QueueName);

impl<S: Send + Sync> FromRequestParts<S> for Queue {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = path_text(parts, state).await?;
        text.parse()
            .map(Self)
            .map_err(|error: foreman_core::job::NotAQueueName| Problem::invalid_request(error.to_string()))
    }
}

/// The `{worker}` of a path: one life of a worker process.
pub(crate) struct WorkerPath(pub SessionId);

impl<S: Send + Sync> FromRequestParts<S> for WorkerPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = path_text(parts, state).await?;
        text.parse().map(Self).map_err(|_| {
            Problem::invalid_request(format!("{text:?} is not a worker id, which is a UUID; see /api/v1/workers"))
        })
    }
}

/// The `{schedule}` of a path: a name or an id.
pub(crate) struct Key(pub ScheduleKey);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = path_text(parts, state).await?;
        text.parse().map(Self).map_err(|error| no_key(&error))
    }
}

async fn path_text<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<String, Problem> {
    let Path(text) = Path::<String>::from_request_parts(parts, state)
        .await
        .map_err(|rejection| Problem::invalid_request(rejection.body_text()))?;
    Ok(text)
}

/// The query as a struct that refuses what it does not know.
pub(crate) struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => Err(refused::<T>(&rejection, parts.uri.query().unwrap_or_default())),
        }
    }
}

/// Everything that is wrong with a query: each parameter is looked at by itself, as if there were no other.
fn refused<T: DeserializeOwned>(rejection: &QueryRejection, query: &str) -> Problem {
    let alone = |pair: &str| {
        let uri: Uri = format!("/?{pair}").parse().ok()?;
        Query::<T>::try_from_uri(&uri)
            .err()
            .map(|rejection| said(&rejection))
            .filter(|why| !why.ends_with("is missing"))
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut mistakes: Vec<String> = pairs.take(MOST_LOOKED_AT).filter_map(alone).take(MOST_MISTAKES).collect();
    if mistakes.is_empty() {
        // One that is given twice, or missing.
        mistakes.push(said(rejection));
    }
    Problem::invalid_request(format!("in the query: {}", mistakes.join("; ")))
}

/// So many parameters are looked at.
const MOST_LOOKED_AT: usize = 100;

fn said(rejection: &QueryRejection) -> String {
    let text = rejection.body_text();
    let why = text.rsplit_once("deserialize query string: ").map_or(text.as_str(), |(_, why)| why);
    // serde speaks of fields; whoever wrote the address thinks of parameters.
    if let Some(unknown) = why.strip_prefix("unknown field ") {
        return format!("unknown parameter {unknown}");
    }
    match why.split_once(": ") {
        Some((name, message)) if !name.contains(' ') => match json::in_words(message) {
            words if words == message && message.starts_with("unknown field ") => {
                message.replacen("unknown field", "unknown parameter", 1)
            }
            words => format!("{name}: {words}"),
        },
        _ => json::in_words(why),
    }
}
