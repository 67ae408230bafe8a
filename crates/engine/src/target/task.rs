//! Runs tasks: Rust functions known by name.
//!
//! ```
//! use foreman_engine::target::task::{Handlers, TaskContext, TaskError};
//!
//! #[derive(serde::Deserialize)]
//! struct Mail {
//!     to: String,
//! }
//!
//! async fn send_mail(task: TaskContext) -> Result<(), TaskError> {
//!     let mail: Mail = task.payload()?; // a payload that does not fit fails at once
//!     if mail.to.is_empty() {
//!         return Err(TaskError::fail("nobody to send it to"));
//!     }
//!     let port: u16 = "25".parse()?; // any other error is tried again
//!     # let _ = port;
//!     Ok(())
//! }
//!
//! let handlers = Handlers::new().with("mail.send", send_mail);
//! # assert_eq!(handlers.names(), ["foreman.noop", "mail.send"]);
//! ```
//!
//! A handler is called once per attempt, from any number of attempts at the same time. When the try is stopped it is told
//! ([`TaskContext::stopped`]), has a moment to return by itself, and is then dropped at its next await; one that blocks
//! its thread cannot be stopped. If it panics, the attempt that called it deals with that; nothing here is left
//! in disorder.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::outcome::{AttemptEnd, Report};
use foreman_core::target::{Route, TaskTarget};
use foreman_core::{Fence, Job, JobId, Target};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::{Runner, Try, TryEnding};

/// Does nothing, at once: for measuring, and to see whether jobs run at all.
pub const NOOP: &str = "foreman.noop";

/// How long a handler has to return by itself once it was told to stop.
const STOP_GRACE: Duration = Duration::from_secs(1);

type Handler = Arc<dyn Fn(TaskContext) -> BoxFuture<'static, Result<(), TaskError>> + Send + Sync>;

/// Which tasks a worker can run. Knows [`NOOP`] from the start.
#[derive(Clone)]
pub struct Handlers(BTreeMap<String, Handler>);

impl Handlers {
    pub fn new() -> Self {
        Self(BTreeMap::new()).with(NOOP, |_| async { Ok(()) })
    }

    /// Adds a handler; a second one of the same name takes the place of the first.
    #[must_use]
    pub fn with<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(TaskContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), TaskError>> + Send + 'static,
    {
        self.0.insert(name.into(), Arc::new(move |task| handler(task).boxed()));
        self
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

impl Default for Handlers {
    fn default() -> Self {
        Self::new()
    }
}

/// What a handler is given: its own, so that it may keep it.
#[derive(Clone, Debug)]
pub struct TaskContext {
    job: Job,
    fence: Fence,
    attempt: u32,
    stop: CancellationToken,
}

impl TaskContext {
    pub fn id(&self) -> JobId {
        self.job.id
    }

    /// The whole job, as it was asked for.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Which try this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Higher than that of any earlier attempt: write it beside what you change, and refuse a lower one, and no zombie can
    /// undo your work.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// The payload as a value. A job without one reads as `null`; a raw `body` reads as a string.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, TaskError> {
        let payload = match &self.job.work.target {
            Target::Task(TaskTarget { payload, .. }) => payload,
            Target::Http(_) | Target::Command(_) | Target::Webhook(_) => return Err(TaskError::fail("not a task")),
        };
        let read = match payload {
            foreman_core::target::Body::None => serde_json::from_str("null"),
            foreman_core::target::Body::Json(json) => serde_json::from_str(json.get()),
            foreman_core::target::Body::Text(text) => serde_json::from_value(serde_json::Value::String(text.clone())),
        };
        read.map_err(|error| TaskError::fail(format!("the payload does not fit: {error}")))
    }

    /// Returns when this try must end: its time is over, its job was cancelled, or the process stops.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a task did not complete, split by what becomes of it. Any error turns into [`TaskError::Retry`] with `?`; that is
/// why this is not itself a [`std::error::Error`].
#[derive(Debug)]
pub enum TaskError {
    /// Worth another try, not before `after` if given; otherwise the job's backoff decides.
    Retry { error: BoxError, after: Option<Duration> },
    /// No second try would help.
    Fail(BoxError),
}

impl TaskError {
    pub fn retry(error: impl Into<BoxError>) -> Self {
        Self::Retry { error: error.into(), after: None }
    }

    pub fn retry_after(pause: Duration, error: impl Into<BoxError>) -> Self {
        Self::Retry { error: error.into(), after: Some(pause) }
    }

    pub fn fail(error: impl Into<BoxError>) -> Self {
        Self::Fail(error.into())
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}

pub struct TaskRunner {
    handlers: Handlers,
}

impl TaskRunner {
    pub fn new(handlers: Handlers) -> Self {
        Self { handlers }
    }
}

#[async_trait]
impl Runner for TaskRunner {
    fn routes(&self) -> Vec<Route> {
        self.handlers.names().into_iter().map(Route::task).collect()
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        let Target::Task(TaskTarget { name, .. }) = &attempt.job.work.target else {
            return TryEnding::misrouted("task", attempt);
        };
        let Some(handler) = self.handlers.0.get(name) else {
            // Another worker may know it.
            return TryEnding::again(format!("no handler for the task {name:?} here"));
        };
        let Try { job, fence, attempt: number, stop } = attempt;
        let task = TaskContext { job: job.clone(), fence: *fence, attempt: *number, stop: stop.clone() };
        let told_and_waited = async {
            stop.cancelled().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        tokio::select! {
            biased;
            result = handler(task) => end(result),
            () = told_and_waited => TryEnding {
                ended: AttemptEnd::Interrupted,
                report: Report::error("stopped: the handler did not return in time"),
            },
        }
    }
}

fn end(result: Result<(), TaskError>) -> TryEnding {
    match result {
        Ok(()) => TryEnding::completed(Report::default()),
        Err(TaskError::Fail(error)) => TryEnding::failed(chain(error.as_ref())),
        Err(TaskError::Retry { error, after }) => {
            TryEnding { ended: AttemptEnd::Again { after }, report: Report::error(chain(error.as_ref())) }
        }
    }
}

/// All of an error in one line, from the outside in.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    text.replace('\n', " ")
}
