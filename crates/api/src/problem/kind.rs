//! The kinds of problems: one table, a row for each.
//!
//! A new kind is one row here and its page in `docs/errors/`, which the binary carries along. The `type` is what clients
//! match on: it is never renamed.

use http::StatusCode;

/// What is the same for every problem of a kind.
struct Row {
    /// The `type`: the path of its page.
    path: &'static str,
    status: StatusCode,
    title: &'static str,
    page: &'static str,
    /// Seconds after which the same request is worth sending again.
    retry_after_secs: Option<u32>,
    /// The rest of the body is not wanted: nothing else can follow on this connection.
    ends_the_connection: bool,
}

/// What a row may leave out.
const fn given(secs: &[u32]) -> Option<u32> {
    match secs {
        [] => None,
        [secs, ..] => Some(*secs),
    }
}

macro_rules! kinds {
    ($(
        $kind:ident: $status:ident, $path:literal, $title:literal
            $(, retry_after = $secs:literal)? $(, closes = $closes:literal)?;
    )*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            pub const ALL: [Kind; [$($path),*].len()] = [$(Kind::$kind,)*];
        }

        /// In the order of [`Kind::ALL`].
        static TABLE: [Row; Kind::ALL.len()] = [$(Row {
            path: $path,
            status: StatusCode::$status,
            title: $title,
            page: include_str!(concat!("../../../../docs", $path, ".md")),
            retry_after_secs: given(&[$($secs)?]),
            ends_the_connection: false $(|| $closes)?,
        },)*];
    };
}

kinds! {
    // Kind: status, type, title, and for some: seconds to retry after, whether it closes the connection.
    BadJson: BAD_REQUEST, "/errors/bad-json", "The body is not JSON";
    UnknownField: BAD_REQUEST, "/errors/unknown-field", "The body has a field that does not exist";
    InvalidJob: UNPROCESSABLE_ENTITY, "/errors/invalid-job", "The job is not valid";
    InvalidRequest: BAD_REQUEST, "/errors/invalid-request", "The request is not valid";
    EmptyBatch: BAD_REQUEST, "/errors/empty-batch", "The batch has no jobs";
    BatchTooLarge: PAYLOAD_TOO_LARGE, "/errors/batch-too-large", "The batch has too many jobs";
    BodyTooLarge: PAYLOAD_TOO_LARGE, "/errors/body-too-large", "The body is too large", closes = true;
    UnsupportedMediaType: UNSUPPORTED_MEDIA_TYPE, "/errors/unsupported-media-type", "The body is not sent as JSON";
    IdempotencyKeyReused: UNPROCESSABLE_ENTITY, "/errors/idempotency-key-reused", "The idempotency key was used for another job";
    CommandsDisabled: FORBIDDEN, "/errors/commands-disabled", "This server does not run commands";
    JobNotFound: NOT_FOUND, "/errors/job-not-found", "There is no such job";
    NoLiveOutput: NOT_FOUND, "/errors/no-live-output", "No attempt of this job is running on this server";
    JobFinal: CONFLICT, "/errors/job-final", "The job has already ended";
    JobNotFinal: CONFLICT, "/errors/job-not-final", "The job has not ended yet";
    InvalidSchedule: UNPROCESSABLE_ENTITY, "/errors/invalid-schedule", "The schedule is not valid";
    ScheduleNotFound: NOT_FOUND, "/errors/schedule-not-found", "There is no such schedule";
    NameTaken: CONFLICT, "/errors/name-taken", "The name is taken";
    PreconditionFailed: PRECONDITION_FAILED, "/errors/precondition-failed", "The version is not the one the request expects";
    ScheduleBusy: SERVICE_UNAVAILABLE, "/errors/schedule-busy", "Other requests keep changing the schedule", retry_after = 1;
    ScheduleUnreadable: NOT_IMPLEMENTED, "/errors/schedule-unreadable", "This version cannot read the schedule";
    InvalidWebhook: UNPROCESSABLE_ENTITY, "/errors/invalid-webhook", "The webhook is not valid";
    WebhookNotFound: NOT_FOUND, "/errors/webhook-not-found", "There is no such webhook";
    DeliveryNotFound: NOT_FOUND, "/errors/delivery-not-found", "There is no such delivery";
    TooManyWebhooks: CONFLICT, "/errors/too-many-webhooks", "The tenant has reached its limit of webhooks";
    WebhookDisabled: CONFLICT, "/errors/webhook-disabled", "The webhook is disabled";
    WorkerNotFound: NOT_FOUND, "/errors/worker-not-found", "There is no such worker";
    NotFound: NOT_FOUND, "/errors/not-found", "There is nothing at this path";
    MethodNotAllowed: METHOD_NOT_ALLOWED, "/errors/method-not-allowed", "This path does not support this method";
    HostRefused: MISDIRECTED_REQUEST, "/errors/host-refused", "The request names a host that is not this server";
    Unauthorized: UNAUTHORIZED, "/errors/unauthorized", "The API key is missing or invalid";
    Forbidden: FORBIDDEN, "/errors/forbidden", "The key does not allow this request";
    CrossOrigin: FORBIDDEN, "/errors/cross-origin", "The request does not come from a page of this server";
    // Where the time is known more exactly, the problem itself has it.
    TooManyRequests: TOO_MANY_REQUESTS, "/errors/too-many-requests", "Too many requests", retry_after = 60;
    TooManyStreams: TOO_MANY_REQUESTS, "/errors/too-many-streams", "The tenant has too many open streams", retry_after = 5;
    TenantNotFound: NOT_FOUND, "/errors/tenant-not-found", "There is no such tenant";
    InvalidTenant: UNPROCESSABLE_ENTITY, "/errors/invalid-tenant", "The tenant is not valid";
    TenantInUse: CONFLICT, "/errors/tenant-in-use", "The tenant cannot be deleted yet";
    KeyNotFound: NOT_FOUND, "/errors/key-not-found", "There is no such key";
    InvalidKey: UNPROCESSABLE_ENTITY, "/errors/invalid-key", "The key is not valid";
    KeyNotLive: CONFLICT, "/errors/key-not-live", "The key cannot be replaced";
    NoSecretKey: UNPROCESSABLE_ENTITY, "/errors/no-secret-key", "This server cannot store secrets";
    Overloaded: SERVICE_UNAVAILABLE, "/errors/overloaded", "The server is overloaded", retry_after = 1;
    StoreUnavailable: SERVICE_UNAVAILABLE, "/errors/store-unavailable", "The store is unavailable", retry_after = 2;
    StoreFull: INSUFFICIENT_STORAGE, "/errors/store-full", "The store has no space left", retry_after = 30;
    // Not 503: no client, ours included, should keep retrying against a store that has to be repaired by hand.
    StoreDamaged: INTERNAL_SERVER_ERROR, "/errors/store-damaged", "The store is damaged";
    Stopping: SERVICE_UNAVAILABLE, "/errors/stopping", "The server is stopping", retry_after = 5, closes = true;
    Timeout: REQUEST_TIMEOUT, "/errors/timeout", "The request did not arrive in time", closes = true;
    Internal: INTERNAL_SERVER_ERROR, "/errors/internal", "Internal server error";
}

impl Kind {
    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The `type` of the problem.
    pub fn path(self) -> &'static str {
        self.row().path
    }

    /// The last part of [`Kind::path`].
    pub fn slug(self) -> &'static str {
        self.path().rsplit('/').next().expect("split always yields a piece")
    }

    /// The page that explains it.
    pub fn page(self) -> &'static str {
        self.row().page
    }

    pub fn title(self) -> &'static str {
        self.row().title
    }

    pub fn status(self) -> StatusCode {
        self.row().status
    }

    /// Seconds after which the same request is worth sending again.
    pub fn retry_after_secs(self) -> Option<u32> {
        self.row().retry_after_secs
    }

    /// Whether nothing else can follow on this connection.
    pub(super) fn ends_the_connection(self) -> bool {
        self.row().ends_the_connection
    }
}
