//! Everything that can go wrong, as RFC 9457 says it: one list, each with a stable `type` that is also the path of its
//! page on this server and in `docs/errors/`.
//!
//! A handler returns a [`Problem`]; it becomes a response without a body that carries the problem along, and the layer
//! around all routes writes the document, because only there the request's id is known (`instance`).

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use foreman_core::document::ProblemDocument;
use foreman_core::key::{KeyId, Scope};
use foreman_core::ports::{ScheduleError, StoreError, SubmitError};
use foreman_core::spec::{Invalid, Mistake};
use foreman_core::{JobId, State, TenantId};
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    BadJson,
    UnknownField,
    InvalidJob,
    InvalidRequest,
    EmptyBatch,
    BatchTooLarge,
    BodyTooLarge,
    UnsupportedMediaType,
    IdempotencyKeyReused,
    CommandsDisabled,
    JobNotFound,
    NoLiveOutput,
    JobFinal,
    JobNotFinal,
    InvalidSchedule,
    ScheduleNotFound,
    NameTaken,
    PreconditionFailed,
    ScheduleBusy,
    ScheduleUnreadable,
    InvalidWebhook,
    WebhookNotFound,
    DeliveryNotFound,
    TooManyWebhooks,
    WebhookDisabled,
    WorkerNotFound,
    NotFound,
    MethodNotAllowed,
    HostRefused,
    Unauthorized,
    Forbidden,
    CrossOrigin,
    TooManyRequests,
    TooManyStreams,
    TenantNotFound,
    InvalidTenant,
    TenantInUse,
    KeyNotFound,
    InvalidKey,
    KeyNotLive,
    NoSecretKey,
    Overloaded,
    StoreUnavailable,
    StoreFull,
    StoreDamaged,
    Stopping,
    Timeout,
    Internal,
}

impl Kind {
    pub const ALL: [Kind; 48] = [
        Kind::BadJson,
        Kind::UnknownField,
        Kind::InvalidJob,
        Kind::InvalidRequest,
        Kind::EmptyBatch,
        Kind::BatchTooLarge,
        Kind::BodyTooLarge,
        Kind::UnsupportedMediaType,
        Kind::IdempotencyKeyReused,
        Kind::CommandsDisabled,
        Kind::JobNotFound,
        Kind::NoLiveOutput,
        Kind::JobFinal,
        Kind::JobNotFinal,
        Kind::InvalidSchedule,
        Kind::ScheduleNotFound,
        Kind::NameTaken,
        Kind::PreconditionFailed,
        Kind::ScheduleBusy,
        Kind::ScheduleUnreadable,
        Kind::InvalidWebhook,
        Kind::WebhookNotFound,
        Kind::DeliveryNotFound,
        Kind::TooManyWebhooks,
        Kind::WebhookDisabled,
        Kind::WorkerNotFound,
        Kind::NotFound,
        Kind::MethodNotAllowed,
        Kind::HostRefused,
        Kind::Unauthorized,
        Kind::Forbidden,
        Kind::CrossOrigin,
        Kind::TooManyRequests,
        Kind::TooManyStreams,
        Kind::TenantNotFound,
        Kind::InvalidTenant,
        Kind::TenantInUse,
        Kind::KeyNotFound,
        Kind::InvalidKey,
        Kind::KeyNotLive,
        Kind::NoSecretKey,
        Kind::Overloaded,
        Kind::StoreUnavailable,
        Kind::StoreFull,
        Kind::StoreDamaged,
        Kind::Stopping,
        Kind::Timeout,
        Kind::Internal,
    ];

    /// The `type` of the problem, which people match on: never renamed.
    pub const fn path(self) -> &'static str {
        match self {
            Kind::BadJson => "/errors/bad-json",
            Kind::UnknownField => "/errors/unknown-field",
            Kind::InvalidJob => "/errors/invalid-job",
            Kind::InvalidRequest => "/errors/invalid-request",
            Kind::EmptyBatch => "/errors/empty-batch",
            Kind::BatchTooLarge => "/errors/batch-too-large",
            Kind::BodyTooLarge => "/errors/body-too-large",
            Kind::UnsupportedMediaType => "/errors/unsupported-media-type",
            Kind::IdempotencyKeyReused => "/errors/idempotency-key-reused",
            Kind::CommandsDisabled => "/errors/commands-disabled",
            Kind::JobNotFound => "/errors/job-not-found",
            Kind::NoLiveOutput => "/errors/no-live-output",
            Kind::JobFinal => "/errors/job-final",
            Kind::JobNotFinal => "/errors/job-not-final",
            Kind::InvalidSchedule => "/errors/invalid-schedule",
            Kind::ScheduleNotFound => "/errors/schedule-not-found",
            Kind::NameTaken => "/errors/name-taken",
            Kind::PreconditionFailed => "/errors/precondition-failed",
            Kind::ScheduleBusy => "/errors/schedule-busy",
            Kind::ScheduleUnreadable => "/errors/schedule-unreadable",
            Kind::InvalidWebhook => "/errors/invalid-webhook",
            Kind::WebhookNotFound => "/errors/webhook-not-found",
            Kind::DeliveryNotFound => "/errors/delivery-not-found",
            Kind::TooManyWebhooks => "/errors/too-many-webhooks",
            Kind::WebhookDisabled => "/errors/webhook-disabled",
            Kind::WorkerNotFound => "/errors/worker-not-found",
            Kind::NotFound => "/errors/not-found",
            Kind::MethodNotAllowed => "/errors/method-not-allowed",
            Kind::HostRefused => "/errors/host-refused",
            Kind::Unauthorized => "/errors/unauthorized",
            Kind::Forbidden => "/errors/forbidden",
            Kind::CrossOrigin => "/errors/cross-origin",
            Kind::TooManyRequests => "/errors/too-many-requests",
            Kind::TooManyStreams => "/errors/too-many-streams",
            Kind::TenantNotFound => "/errors/tenant-not-found",
            Kind::InvalidTenant => "/errors/invalid-tenant",
            Kind::TenantInUse => "/errors/tenant-in-use",
            Kind::KeyNotFound => "/errors/key-not-found",
            Kind::InvalidKey => "/errors/invalid-key",
            Kind::KeyNotLive => "/errors/key-not-live",
            Kind::NoSecretKey => "/errors/no-secret-key",
            Kind::Overloaded => "/errors/overloaded",
            Kind::StoreUnavailable => "/errors/store-unavailable",
            Kind::StoreFull => "/errors/store-full",
            Kind::StoreDamaged => "/errors/store-damaged",
            Kind::Stopping => "/errors/stopping",
            Kind::Timeout => "/errors/timeout",
            Kind::Internal => "/errors/internal",
        }
    }

    /// The last part of [`Kind::path`].
    pub fn slug(self) -> &'static str {
        self.path().rsplit('/').next().expect("split always yields a piece")
    }

    /// The page that explains it.
    pub const fn page(self) -> &'static str {
        match self {
            Kind::BadJson => include_str!("../../../docs/errors/bad-json.md"),
            Kind::UnknownField => include_str!("../../../docs/errors/unknown-field.md"),
            Kind::InvalidJob => include_str!("../../../docs/errors/invalid-job.md"),
            Kind::InvalidRequest => include_str!("../../../docs/errors/invalid-request.md"),
            Kind::EmptyBatch => include_str!("../../../docs/errors/empty-batch.md"),
            Kind::BatchTooLarge => include_str!("../../../docs/errors/batch-too-large.md"),
            Kind::BodyTooLarge => include_str!("../../../docs/errors/body-too-large.md"),
            Kind::UnsupportedMediaType => include_str!("../../../docs/errors/unsupported-media-type.md"),
            Kind::IdempotencyKeyReused => include_str!("../../../docs/errors/idempotency-key-reused.md"),
            Kind::CommandsDisabled => include_str!("../../../docs/errors/commands-disabled.md"),
            Kind::JobNotFound => include_str!("../../../docs/errors/job-not-found.md"),
            Kind::NoLiveOutput => include_str!("../../../docs/errors/no-live-output.md"),
            Kind::JobFinal => include_str!("../../../docs/errors/job-final.md"),
            Kind::JobNotFinal => include_str!("../../../docs/errors/job-not-final.md"),
            Kind::InvalidSchedule => include_str!("../../../docs/errors/invalid-schedule.md"),
            Kind::ScheduleNotFound => include_str!("../../../docs/errors/schedule-not-found.md"),
            Kind::NameTaken => include_str!("../../../docs/errors/name-taken.md"),
            Kind::PreconditionFailed => include_str!("../../../docs/errors/precondition-failed.md"),
            Kind::ScheduleBusy => include_str!("../../../docs/errors/schedule-busy.md"),
            Kind::ScheduleUnreadable => include_str!("../../../docs/errors/schedule-unreadable.md"),
            Kind::InvalidWebhook => include_str!("../../../docs/errors/invalid-webhook.md"),
            Kind::WebhookNotFound => include_str!("../../../docs/errors/webhook-not-found.md"),
            Kind::DeliveryNotFound => include_str!("../../../docs/errors/delivery-not-found.md"),
            Kind::TooManyWebhooks => include_str!("../../../docs/errors/too-many-webhooks.md"),
            Kind::WebhookDisabled => include_str!("../../../docs/errors/webhook-disabled.md"),
            Kind::WorkerNotFound => include_str!("../../../docs/errors/worker-not-found.md"),
            Kind::NotFound => include_str!("../../../docs/errors/not-found.md"),
            Kind::MethodNotAllowed => include_str!("../../../docs/errors/method-not-allowed.md"),
            Kind::HostRefused => include_str!("../../../docs/errors/host-refused.md"),
            Kind::Unauthorized => include_str!("../../../docs/errors/unauthorized.md"),
            Kind::Forbidden => include_str!("../../../docs/errors/forbidden.md"),
            Kind::CrossOrigin => include_str!("../../../docs/errors/cross-origin.md"),
            Kind::TooManyRequests => include_str!("../../../docs/errors/too-many-requests.md"),
            Kind::TooManyStreams => include_str!("../../../docs/errors/too-many-streams.md"),
            Kind::TenantNotFound => include_str!("../../../docs/errors/tenant-not-found.md"),
            Kind::InvalidTenant => include_str!("../../../docs/errors/invalid-tenant.md"),
            Kind::TenantInUse => include_str!("../../../docs/errors/tenant-in-use.md"),
            Kind::KeyNotFound => include_str!("../../../docs/errors/key-not-found.md"),
            Kind::InvalidKey => include_str!("../../../docs/errors/invalid-key.md"),
            Kind::KeyNotLive => include_str!("../../../docs/errors/key-not-live.md"),
            Kind::NoSecretKey => include_str!("../../../docs/errors/no-secret-key.md"),
            Kind::Overloaded => include_str!("../../../docs/errors/overloaded.md"),
            Kind::StoreUnavailable => include_str!("../../../docs/errors/store-unavailable.md"),
            Kind::StoreFull => include_str!("../../../docs/errors/store-full.md"),
            Kind::StoreDamaged => include_str!("../../../docs/errors/store-damaged.md"),
            Kind::Stopping => include_str!("../../../docs/errors/stopping.md"),
            Kind::Timeout => include_str!("../../../docs/errors/timeout.md"),
            Kind::Internal => include_str!("../../../docs/errors/internal.md"),
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Kind::BadJson => "The body is not JSON",
            Kind::UnknownField => "The body has a field that does not exist",
            Kind::InvalidJob => "The job is not valid",
            Kind::InvalidRequest => "The request is not valid",
            Kind::EmptyBatch => "The batch has no jobs",
            Kind::BatchTooLarge => "The batch has too many jobs",
            Kind::BodyTooLarge => "The body is too large",
            Kind::UnsupportedMediaType => "The body is not sent as JSON",
            Kind::IdempotencyKeyReused => "The idempotency key was used for another job",
            Kind::CommandsDisabled => "This server does not run commands",
            Kind::JobNotFound => "There is no such job",
            Kind::NoLiveOutput => "No attempt of this job is running on this server",
            Kind::JobFinal => "The job has already ended",
            Kind::JobNotFinal => "The job has not ended yet",
            Kind::InvalidSchedule => "The schedule is not valid",
            Kind::ScheduleNotFound => "There is no such schedule",
            Kind::NameTaken => "The name is taken",
            Kind::PreconditionFailed => "The version is not the one the request expects",
            Kind::ScheduleBusy => "Other requests keep changing the schedule",
            Kind::ScheduleUnreadable => "This version cannot read the schedule",
            Kind::InvalidWebhook => "The webhook is not valid",
            Kind::WebhookNotFound => "There is no such webhook",
            Kind::DeliveryNotFound => "There is no such delivery",
            Kind::TooManyWebhooks => "The tenant has reached its limit of webhooks",
            Kind::WebhookDisabled => "The webhook is disabled",
            Kind::WorkerNotFound => "There is no such worker",
            Kind::NotFound => "There is nothing at this path",
            Kind::MethodNotAllowed => "This path does not support this method",
            Kind::HostRefused => "The request names a host that is not this server",
            Kind::Unauthorized => "The API key is missing or invalid",
            Kind::Forbidden => "The key does not allow this request",
            Kind::CrossOrigin => "The request does not come from a page of this server",
            Kind::TooManyRequests => "Too many requests",
            Kind::TooManyStreams => "The tenant has too many open streams",
            Kind::TenantNotFound => "There is no such tenant",
            Kind::InvalidTenant => "The tenant is not valid",
            Kind::TenantInUse => "The tenant cannot be deleted yet",
            Kind::KeyNotFound => "There is no such key",
            Kind::InvalidKey => "The key is not valid",
            Kind::KeyNotLive => "The key cannot be replaced",
            Kind::NoSecretKey => "This server cannot store secrets",
            Kind::Overloaded => "The server is overloaded",
            Kind::StoreUnavailable => "The store is unavailable",
            Kind::StoreFull => "The store has no space left",
            Kind::StoreDamaged => "The store is damaged",
            Kind::Stopping => "The server is stopping",
            Kind::Timeout => "The request did not arrive in time",
            Kind::Internal => "Internal server error",
        }
    }

    pub const fn status(self) -> StatusCode {
        match self {
            Kind::BadJson | Kind::UnknownField | Kind::InvalidRequest | Kind::EmptyBatch => StatusCode::BAD_REQUEST,
            Kind::InvalidJob
            | Kind::InvalidSchedule
            | Kind::IdempotencyKeyReused
            | Kind::InvalidTenant
            | Kind::InvalidKey
            | Kind::InvalidWebhook
            | Kind::NoSecretKey => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::BatchTooLarge | Kind::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Kind::CommandsDisabled | Kind::Forbidden | Kind::CrossOrigin => StatusCode::FORBIDDEN,
            Kind::JobNotFound
            | Kind::ScheduleNotFound
            | Kind::TenantNotFound
            | Kind::KeyNotFound
            | Kind::WebhookNotFound
            | Kind::DeliveryNotFound
            | Kind::WorkerNotFound
            | Kind::NoLiveOutput
            | Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::JobFinal
            | Kind::JobNotFinal
            | Kind::NameTaken
            | Kind::TenantInUse
            | Kind::KeyNotLive
            | Kind::TooManyWebhooks
            | Kind::WebhookDisabled => StatusCode::CONFLICT,
            Kind::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Kind::HostRefused => StatusCode::MISDIRECTED_REQUEST,
            Kind::Unauthorized => StatusCode::UNAUTHORIZED,
            Kind::TooManyRequests | Kind::TooManyStreams => StatusCode::TOO_MANY_REQUESTS,
            Kind::Overloaded | Kind::StoreUnavailable | Kind::Stopping | Kind::ScheduleBusy => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Kind::ScheduleUnreadable => StatusCode::NOT_IMPLEMENTED,
            Kind::StoreFull => StatusCode::INSUFFICIENT_STORAGE,
            Kind::Timeout => StatusCode::REQUEST_TIMEOUT,
            // Not 503: no client, ours included, should keep retrying against a store that has to be repaired by hand.
            Kind::StoreDamaged | Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Seconds after which the same request is worth sending again.
    pub const fn retry_after_secs(self) -> Option<u32> {
        match self {
            Kind::Overloaded | Kind::ScheduleBusy => Some(1),
            Kind::StoreUnavailable => Some(2),
            Kind::Stopping | Kind::TooManyStreams => Some(5),
            Kind::StoreFull => Some(30),
            // Where it is known more exactly, the problem itself says so.
            Kind::TooManyRequests => Some(60),
            _ => None,
        }
    }

    /// The rest of the body is not wanted: nothing else can follow on this connection.
    const fn ends_the_connection(self) -> bool {
        matches!(self, Kind::BodyTooLarge | Kind::Timeout | Kind::Stopping)
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
pub(crate) struct Written {
    pub kind: Kind,
    /// What went wrong inside, for the log.
    pub cause: Option<String>,
}

/// Writes the document of a response that carries a problem.
pub(crate) fn write(response: &mut Response, request_id: &str) -> Option<Written> {
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
    Some(Written { kind, cause })
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
