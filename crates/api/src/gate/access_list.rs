//! Every operation that is served, with what it requires: the one list that the gate goes by.
//!
//! What is not in it is not served, even if somebody has given it a handler. A change of something has the name under which
//! it stands in the audit log; reads and submissions of jobs have none. What it takes of its tenant's rate stands here too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use foreman_core::key::Scope;
use http::Method;

/// What an operation requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it tells nothing of anybody.
    Nothing,
    /// Any key that is good for something.
    Key,
    Scope(Scope),
}

/// What one request takes of the rate its tenant may submit at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Reads; what only takes away, so that a tenant that went too far can stop; what operators do.
    Nothing,
    /// As much as one job: it changes something, or makes something that is kept.
    One,
    /// As many as the jobs it makes. Its handler takes them, for only that knows.
    Jobs,
}

#[derive(Clone, Debug)]
pub struct Operation {
    /// None: whatever the method.
    pub method: Option<Method>,
    /// As the router has it.
    pub path: &'static str,
    pub needs: Needs,
    /// Such as `job.cancel`: what it is done to, and what.
    pub action: Option<&'static str>,
    pub takes: Takes,
}

const fn open(path: &'static str) -> Operation {
    Operation { method: Some(Method::GET), path, needs: Needs::Nothing, action: None, takes: Takes::Nothing }
}

/// Whatever the method.
const fn dev(path: &'static str) -> Operation {
    Operation { method: None, path, needs: Needs::Nothing, action: None, takes: Takes::Nothing }
}

/// Whoever comes has no key yet, or none any more: its handler asks.
const fn session(method: Method) -> Operation {
    Operation { method: Some(method), path: SESSION, needs: Needs::Nothing, action: None, takes: Takes::Nothing }
}

const fn read(path: &'static str, scope: Scope) -> Operation {
    ask(Method::GET, path, scope, Takes::Nothing)
}

const fn ask(method: Method, path: &'static str, scope: Scope, takes: Takes) -> Operation {
    Operation { method: Some(method), path, needs: Needs::Scope(scope), action: None, takes }
}

const fn act(method: Method, path: &'static str, scope: Scope, action: &'static str) -> Operation {
    // Who runs the server is not held to what one tenant may do.
    let takes = if matches!(scope, Scope::Admin) { Takes::Nothing } else { Takes::One };
    Operation { method: Some(method), path, needs: Needs::Scope(scope), action: Some(action), takes }
}

/// An act after which there is less than before.
const fn undo(method: Method, path: &'static str, scope: Scope, action: &'static str) -> Operation {
    Operation { method: Some(method), path, needs: Needs::Scope(scope), action: Some(action), takes: Takes::Nothing }
}

/// An act that makes jobs, or lets them run again.
const fn make(path: &'static str, scope: Scope, action: &'static str) -> Operation {
    let method = Some(Method::POST);
    Operation { method, path, needs: Needs::Scope(scope), action: Some(action), takes: Takes::Jobs }
}

use Scope::{Admin, JobsRead, JobsWrite, SchedulesRead, SchedulesWrite, StreamRead};

/// Where one comes without a key to swap one for a session, and goes whatever became of it.
const SESSION: &str = "/api/v1/session";
/// What the stream is opened by: the one operation that takes a ticket, and that names a tenant in the query.
pub(crate) const STREAM: &str = "/api/v1/stream";

/// `exec:command` is asked for beside these wherever what is sent has a `command`: that is known only once it is read.
pub static OPERATIONS: &[Operation] = &[
    // The dashboard. It tells nothing by itself: what it shows it asks the API for.
    open("/"),
    open("/jobs"),
    open("/jobs/{id}"),
    open("/dead"),
    open("/schedules"),
    open("/schedules/{id}"),
    open("/queues"),
    open("/workers"),
    open("/webhooks"),
    open("/webhooks/{id}"),
    open("/keys"),
    open("/submit"),
    open("/sign-in"),
    open("/assets/{*path}"),
    open("/docs"),
    open("/docs/app.js"),
    open("/docs/style.css"),
    open("/errors/{name}"),
    open("/api/openapi.json"),
    open("/healthz"),
    open("/readyz"),
    open("/metrics"),
    dev("/dev/echo"),
    dev("/dev/status/{code}"),
    dev("/dev/wait/{duration}"),
    dev("/dev/flaky/{attempts}"),
    // Jobs and queues.
    read("/api/v1/jobs", JobsRead),
    ask(Method::POST, "/api/v1/jobs", JobsWrite, Takes::Jobs),
    ask(Method::POST, "/api/v1/jobs/batch", JobsWrite, Takes::Jobs),
    make("/api/v1/jobs/retry", JobsWrite, "jobs.retry"),
    undo(Method::POST, "/api/v1/jobs/cancel", JobsWrite, "jobs.cancel"),
    undo(Method::POST, "/api/v1/jobs/delete", JobsWrite, "jobs.delete"),
    read("/api/v1/jobs/{id}", JobsRead),
    undo(Method::DELETE, "/api/v1/jobs/{id}", JobsWrite, "job.delete"),
    undo(Method::POST, "/api/v1/jobs/{id}/cancel", JobsWrite, "job.cancel"),
    make("/api/v1/jobs/{id}/retry", JobsWrite, "job.retry"),
    read("/api/v1/jobs/{id}/attempts", JobsRead),
    read("/api/v1/jobs/{id}/wait", JobsRead),
    read("/api/v1/jobs/{id}/output", JobsRead),
    read("/api/v1/dead", JobsRead),
    read("/api/v1/dead/groups", JobsRead),
    read("/api/v1/errors/groups", JobsRead),
    read("/api/v1/queues", JobsRead),
    act(Method::POST, "/api/v1/queues/{queue}/pause", JobsWrite, "queue.pause"),
    act(Method::POST, "/api/v1/queues/{queue}/resume", JobsWrite, "queue.resume"),
    read("/api/v1/overview", JobsRead),
    read("/api/v1/statistics", JobsRead),
    read("/api/v1/statistics/queues", JobsRead),
    // Workers are the operator's: they work for every tenant.
    read("/api/v1/workers", Admin),
    read("/api/v1/workers/{worker}/jobs", Admin),
    // Schedules.
    read("/api/v1/schedules", SchedulesRead),
    act(Method::POST, "/api/v1/schedules", SchedulesWrite, "schedule.create"),
    ask(Method::POST, "/api/v1/schedules/preview", SchedulesRead, Takes::Nothing),
    read("/api/v1/schedules/{schedule}", SchedulesRead),
    act(Method::PUT, "/api/v1/schedules/{schedule}", SchedulesWrite, "schedule.replace"),
    act(Method::PATCH, "/api/v1/schedules/{schedule}", SchedulesWrite, "schedule.update"),
    undo(Method::DELETE, "/api/v1/schedules/{schedule}", SchedulesWrite, "schedule.delete"),
    act(Method::POST, "/api/v1/schedules/{schedule}/pause", SchedulesWrite, "schedule.pause"),
    act(Method::POST, "/api/v1/schedules/{schedule}/resume", SchedulesWrite, "schedule.resume"),
    make("/api/v1/schedules/{schedule}/run", SchedulesWrite, "schedule.run"),
    read("/api/v1/schedules/{schedule}/preview", SchedulesRead),
    read("/api/v1/schedules/{schedule}/ticks", SchedulesRead),
    // Webhooks tell of jobs: who may read those may read these.
    read("/api/v1/webhooks", JobsRead),
    act(Method::POST, "/api/v1/webhooks", JobsWrite, "webhook.create"),
    read("/api/v1/webhooks/{webhook}", JobsRead),
    act(Method::PATCH, "/api/v1/webhooks/{webhook}", JobsWrite, "webhook.update"),
    undo(Method::DELETE, "/api/v1/webhooks/{webhook}", JobsWrite, "webhook.delete"),
    act(Method::POST, "/api/v1/webhooks/{webhook}/rotate-secret", JobsWrite, "webhook.rotate-secret"),
    make("/api/v1/webhooks/{webhook}/test", JobsWrite, "webhook.test"),
    read("/api/v1/webhooks/{webhook}/deliveries", JobsRead),
    read("/api/v1/webhooks/{webhook}/deliveries/{delivery}", JobsRead),
    make("/api/v1/webhooks/{webhook}/deliveries/{delivery}/resend", JobsWrite, "delivery.resend"),
    // The stream, and what a browser has instead of a key.
    read(STREAM, StreamRead),
    ask(Method::POST, "/api/v1/stream/tickets", StreamRead, Takes::One),
    session(Method::POST),
    session(Method::DELETE),
    // Tenants, keys, and who did what.
    Operation {
        method: Some(Method::GET),
        path: "/api/v1/whoami",
        needs: Needs::Key,
        action: None,
        takes: Takes::Nothing,
    },
    read("/api/v1/tenants", Admin),
    act(Method::POST, "/api/v1/tenants", Admin, "tenant.create"),
    read("/api/v1/tenants/{tenant}", Admin),
    act(Method::PATCH, "/api/v1/tenants/{tenant}", Admin, "tenant.update"),
    act(Method::DELETE, "/api/v1/tenants/{tenant}", Admin, "tenant.delete"),
    act(Method::POST, "/api/v1/tenants/{tenant}/signing-secret", Admin, "signing-secret.rotate"),
    act(Method::DELETE, "/api/v1/tenants/{tenant}/signing-secret", Admin, "signing-secret.delete"),
    read("/api/v1/tenants/{tenant}/keys", Admin),
    act(Method::POST, "/api/v1/tenants/{tenant}/keys", Admin, "key.create"),
    read("/api/v1/tenants/{tenant}/keys/{key}", Admin),
    act(Method::DELETE, "/api/v1/tenants/{tenant}/keys/{key}", Admin, "key.revoke"),
    act(Method::POST, "/api/v1/tenants/{tenant}/keys/{key}/rotate", Admin, "key.rotate"),
    read("/api/v1/audit", Admin),
    read("/api/v1/parked", Admin),
];

/// What the list says of a method and the template of a path.
pub(crate) enum Lookup {
    Operation(&'static Operation),
    /// The path is there and takes other methods.
    OtherMethods {
        allow: String,
        /// Nobody needs a key to learn which.
        is_open: bool,
    },
    Nothing,
}

pub(crate) fn find(method: &Method, path: &str) -> Lookup {
    static BY_PATH: LazyLock<BTreeMap<&str, Vec<&Operation>>> = LazyLock::new(|| {
        let mut by_path: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
        for operation in OPERATIONS {
            by_path.entry(operation.path).or_default().push(operation);
        }
        by_path
    });
    let Some(operations) = BY_PATH.get(path) else { return Lookup::Nothing };
    // Who may read may ask how long the answer would be.
    let asked = if *method == Method::HEAD { &Method::GET } else { method };
    if let Some(operation) =
        operations.iter().find(|operation| operation.method.as_ref().is_none_or(|method| method == asked))
    {
        return Lookup::Operation(operation);
    }
    let mut allow: Vec<&str> =
        operations.iter().filter_map(|operation| operation.method.as_ref()).map(Method::as_str).collect();
    if allow.contains(&"GET") {
        allow.push("HEAD");
    }
    // What else the API does not have is nobody's business without a key.
    let is_open = path != SESSION && operations.iter().all(|operation| operation.needs == Needs::Nothing);
    Lookup::OtherMethods { allow: allow.join(","), is_open }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_operation_is_listed_twice() {
        let mut seen = HashSet::new();
        for operation in OPERATIONS {
            assert!(seen.insert((operation.path, operation.method.clone())), "{operation:?}");
        }
    }

    #[test]
    fn all_of_the_api_but_its_document_and_the_sign_in_asks_for_something() {
        for operation in OPERATIONS.iter().filter(|operation| operation.path != SESSION) {
            let is_open = operation.needs == Needs::Nothing;
            assert_eq!(is_open, !operation.path.starts_with("/api/v1"), "{operation:?}");
        }
    }

    #[test]
    fn what_changes_something_has_a_name_and_what_reads_has_none() {
        // None changes what is there: a submission is its own record, a preview is kept nowhere, and a ticket is gone in 30 s. Who
        // signs in is known only to the handler, which writes it down itself.
        let unnamed =
            ["/api/v1/jobs", "/api/v1/jobs/batch", "/api/v1/schedules/preview", "/api/v1/stream/tickets", SESSION];
        for operation in OPERATIONS.iter().filter(|operation| operation.path.starts_with("/api/v1")) {
            let is_read = operation.method == Some(Method::GET);
            assert_eq!(operation.action.is_none(), is_read || unnamed.contains(&operation.path), "{operation:?}");
        }
    }

    #[test]
    fn what_changes_something_takes_of_the_rate_unless_it_takes_away() {
        let free = ["job.delete", "jobs.delete", "job.cancel", "jobs.cancel", "schedule.delete", "webhook.delete"];
        for operation in OPERATIONS.iter().filter(|operation| operation.action.is_some()) {
            let is_free =
                operation.needs == Needs::Scope(Admin) || operation.action.is_some_and(|action| free.contains(&action));
            assert_eq!(operation.takes == Takes::Nothing, is_free, "{operation:?}");
        }
        for operation in OPERATIONS.iter().filter(|operation| operation.method == Some(Method::GET)) {
            assert_eq!(operation.takes, Takes::Nothing, "{operation:?}");
        }
    }

    #[test]
    fn what_is_not_listed_is_not_found() {
        assert!(matches!(find(&Method::GET, "/api/v1/secrets"), Lookup::Nothing));
        assert!(
            matches!(find(&Method::HEAD, "/api/v1/jobs"), Lookup::Operation(operation) if operation.needs == Needs::Scope(JobsRead))
        );
        let Lookup::OtherMethods { allow, is_open } = find(&Method::PUT, "/api/v1/jobs") else { panic!("PUT") };
        assert_eq!((allow.as_str(), is_open), ("GET,POST,HEAD", false));
        let strange = Method::from_bytes(b"PURGE").expect("a method");
        assert!(matches!(find(&strange, "/dev/echo"), Lookup::Operation(_)));
        assert!(matches!(find(&strange, "/api/openapi.json"), Lookup::OtherMethods { is_open: true, .. }));
    }
}
