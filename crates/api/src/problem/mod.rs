//! Everything that can go wrong, as RFC 9457 says it: one table of kinds (`kind.rs`), each with a stable `type` that is
//! also the path of its page on this server and in `docs/errors/`.
//!
//! A handler returns a [`Problem`]; it becomes a response without a body that carries the problem along, and the layer
//! around all routes writes the document, because only there the request's id is known (`instance`).

mod kind;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use foreman_core::document::ProblemDocument;
use foreman_core::key::{KeyId, Scope};
use foreman_core::ports::{ScheduleError, StoreError, SubmitError};
use foreman_core::spec::{Invalid, Mistake};
use foreman_core::{JobId, State, TenantId};
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue};

pub use kind::Kind;

pub const MEDIA_TYPE: &str = "application/problem+json";

/// At most this many mistakes of one request are reported.
pub(crate) const MOST_MISTAKES: usize = 20;
/// At most this many bytes of a request are repeated: in a mistake, and in a problem.
const LONGEST_TEXT: usize = 500;
const LONGEST_DETAIL: usize = 2_000;

/// At most this many bytes, the last of them an ellipsis.
fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most - '…'.len_utf8()));
        text.push('…');
        text.shrink_to_fit();
    }
}

/// One thing that went wrong, and what the client should know about it.
#[derive(Clone, Debug)]
pub struct Problem {
    pub kind: Kind,
    pub detail: String,
    pub errors: Vec<Mistake>,
    pub state: Option<State>,
    /// The version that a schedule or a tenant has, where another was expected.
    pub version: Option<i64>,
    /// The scope that the key would need.
    pub scope: Option<Scope>,
    /// What the answer says beside its body, such as `Allow`, `Retry-After` or how much may be asked for.
    pub headers: Vec<(HeaderName, String)>,
    /// For the log alone: what a client must not see.
    pub cause: Option<String>,
}

impl Problem {
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            errors: Vec::new(),
            state: None,
            version: None,
            scope: None,
            headers: Vec::new(),
            cause: None,
        }
    }

    pub fn invalid_request(detail: impl Into<String>) -> Self {
        Self::new(Kind::InvalidRequest, detail)
    }

    pub fn job_not_found(id: JobId) -> Self {
        Self::new(Kind::JobNotFound, format!("no job has the id {id}; it was deleted, or its retention period is over"))
    }

    pub fn tenant_not_found(name: impl std::fmt::Display) -> Self {
        Self::new(Kind::TenantNotFound, format!("there is no tenant {name}; it may have been deleted"))
    }

    pub fn key_not_found(tenant: &TenantId, id: &KeyId) -> Self {
        Self::new(Kind::KeyNotFound, format!("the tenant {tenant} has no key {id}"))
    }

    /// One mistake in what was sent, as the kind calls it.
    pub fn mistake(kind: Kind, pointer: &str, detail: impl Into<String>) -> Self {
        let mistake = Mistake { pointer: pointer.into(), detail: detail.into() };
        Self::new(kind, mistake.to_string()).with_errors(vec![mistake])
    }

    pub fn in_state(kind: Kind, state: State, detail: impl Into<String>) -> Self {
        Self { state: Some(state), ..Self::new(kind, detail) }
    }

    /// What is wrong with a schedule.
    pub fn invalid_schedule(invalid: Invalid) -> Self {
        let detail = match invalid.mistakes.as_slice() {
            [only] if only.pointer.is_empty() => format!("the schedule {}", only.detail),
            [only] => format!("{}: {}", only.pointer, only.detail),
            several => format!("the schedule has {} mistakes; `errors` lists them", several.len()),
        };
        Self::new(Kind::InvalidSchedule, detail).with_errors(invalid.mistakes)
    }

    /// A bug. The client learns only where to look.
    pub fn internal(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(Kind::Internal, "the request failed inside the server; search its log for this request's id")
        }
    }

    /// The first [`MOST_MISTAKES`] of them.
    #[must_use]
    pub fn with_errors(mut self, mut errors: Vec<Mistake>) -> Self {
        if errors.len() > MOST_MISTAKES {
            errors.truncate(MOST_MISTAKES);
            self.detail.push_str(&format!("; the first {MOST_MISTAKES} are listed"));
        }
        for mistake in &mut errors {
            cut(&mut mistake.pointer, LONGEST_TEXT);
            cut(&mut mistake.detail, LONGEST_TEXT);
        }
        self.errors = errors;
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn with_cause(mut self, cause: String) -> Self {
        self.cause = Some(cause);
        self
    }

    pub fn document(mut self, instance: Option<String>) -> ProblemDocument {
        cut(&mut self.detail, LONGEST_DETAIL);
        ProblemDocument {
            kind: self.kind.path().into(),
            title: self.kind.title().into(),
            status: self.kind.status().as_u16(),
            detail: self.detail,
            instance,
            errors: self.errors,
            state: self.state,
            version: self.version,
            scope: self.scope,
        }
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let detail = match invalid.mistakes.as_slice() {
            [only] if only.pointer.is_empty() => format!("the job {}", only.detail),
            [only] => format!("{}: {}", only.pointer, only.detail),
            several => format!("the job has {} mistakes; `errors` lists them", several.len()),
        };
        Self::new(Kind::InvalidJob, detail).with_errors(invalid.mistakes)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let cause = error.to_string();
        match error {
            StoreError::Unavailable(_) | StoreError::Internal(_) => {
                Self::new(Kind::StoreUnavailable, "the store is busy or unreachable; send the request again")
                    .with_cause(cause)
            }
            StoreError::Full(_) => Self::new(
                Kind::StoreFull,
                "the store's disk is full; nothing was written, and the request will work once there is space",
            )
            .with_cause(cause),
            StoreError::Closed => Self::stopping(),
            StoreError::Damaged(_) => Self::new(
                Kind::StoreDamaged,
                "the store's file is damaged, and retrying does not help; the operator has to stop the server, run \
                 `foreman check --deep` and restore a backup",
            )
            .with_cause(cause),
            StoreError::Broken(_) => Self::internal(cause),
        }
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Closed => Self::stopping(),
            SubmitError::Overloaded => Self::new(
                Kind::Overloaded,
                "the queue of submissions waiting for the store is full; nothing was accepted, send the request again",
            ),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<ScheduleError> for Problem {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Invalid(invalid) => Self::invalid_schedule(invalid),
            ScheduleError::NotFound => {
                Self::new(Kind::ScheduleNotFound, "there is no such schedule; it may have been deleted")
            }
            ScheduleError::NameTaken(name) => Self::new(
                Kind::NameTaken,
                format!("a schedule named {name} already exists; change it with PUT or PATCH, or choose another name"),
            ),
            ScheduleError::Changed(version) => Self {
                version: Some(version),
                ..Self::new(
                    Kind::PreconditionFailed,
                    format!("the schedule is at version {version}; read it again before you change it"),
                )
            },
            ScheduleError::Busy => Self::new(
                Kind::ScheduleBusy,
                "other requests kept changing or firing the schedule; nothing was changed, send the request again",
            ),
            ScheduleError::Unreadable(why) => Self::new(
                Kind::ScheduleUnreadable,
                "the schedule was written by a later version of the server, and this version cannot read it; replace \
                 it with PUT, delete it, or use a server of the later version",
            )
            .with_cause(why),
            ScheduleError::Store(error) => error.into(),
        }
    }
}

impl Problem {
    pub(crate) fn not_found(path: &str) -> Self {
        Self::new(Kind::NotFound, format!("nothing is served at {path}; see /docs for every path"))
    }

    pub(crate) fn method_not_allowed(method: &http::Method, path: &str) -> Self {
        let detail = format!("{path} does not support {method}; the header `Allow` lists the methods it supports");
        Self::new(Kind::MethodNotAllowed, detail)
    }

    fn stopping() -> Self {
        Self::new(
            Kind::Stopping,
            "the server is stopping and accepts no new requests; nothing was changed, send the request again",
        )
    }
}

/// Waits in a response's extensions until the request's id is known.
#[derive(Clone)]
struct Unwritten(Box<Problem>);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.kind.status();
        response.extensions_mut().insert(Unwritten(Box::new(self)));
        response
    }
}

/// A problem whose document has been written.
pub(crate) struct WrittenProblem {
    pub kind: Kind,
    /// What went wrong inside, for the log.
    pub cause: Option<String>,
}

/// Writes the document of a response that carries a problem.
pub(crate) fn write(response: &mut Response, request_id: &str) -> Option<WrittenProblem> {
    let Unwritten(problem) = response.extensions_mut().remove::<Unwritten>()?;
    let (kind, cause, own) = (problem.kind, problem.cause.clone(), problem.headers.clone());
    let document = problem.document(Some(request_id.to_owned()));
    let body = serde_json::to_vec(&document).expect("a problem is plain data with text keys");
    *response.body_mut() = Body::from(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    if let Some(secs) = kind.retry_after_secs() {
        headers.insert(RETRY_AFTER, HeaderValue::from(secs));
    }
    if kind == Kind::Unauthorized {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"foreman\""));
    }
    for (name, value) in own {
        // Ours are digits and names of methods; one that is not is worth less than the answer.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    if kind.ends_the_connection() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Some(WrittenProblem { kind, cause })
}

/// The answer to a path that does not take the method; the router adds `Allow`.
pub(crate) async fn method_not_allowed(method: http::Method, uri: http::Uri) -> Problem {
    Problem::method_not_allowed(&method, uri.path())
}

pub(crate) async fn not_found(uri: http::Uri) -> Problem {
    Problem::not_found(uri.path())
}

/// The same, where there are no pages to point to.
pub(crate) async fn only_probes(uri: http::Uri) -> Problem {
    Problem::new(
        Kind::NotFound,
        format!(
            "nothing is served at {}; this role serves only /healthz, /readyz and /metrics; the API runs in another \
             role",
            uri.path()
        ),
    )
}
