//! Where work is done: one [`Runner`] per kind of target.
//!
//! A runner makes one try and says how it ended. It decides nothing about retries, and records nothing: the attempt
//! that called it does.

pub mod command;
mod excerpt;
pub mod http;
pub mod task;
pub mod webhook;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::outcome::{AttemptEnd, Report};
use foreman_core::target::Route;
use foreman_core::{Fence, Job};
use tokio_util::sync::CancellationToken;

pub(crate) use self::excerpt::{readable, whole_characters};

/// One try, as its target sees it.
#[derive(Debug)]
pub struct Try {
    pub job: Job,
    pub fence: Fence,
    pub attempt: u32,
    /// Cancelled when the try must end: its time is over, its job was cancelled, or the process stops. The runner then
    /// stops the work and returns what it has; it is dropped if it does not do so in good time.
    pub stop: CancellationToken,
}

/// How a try ended.
#[derive(Debug)]
pub struct TryEnding {
    pub ended: AttemptEnd,
    pub report: Report,
}

impl TryEnding {
    pub fn completed(report: Report) -> Self {
        Self { ended: AttemptEnd::Completed, report }
    }

    /// No second try would help, and `error` says why.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { ended: AttemptEnd::Failed, report: Report::error(error) }
    }

    /// Worth another try, and `error` says why.
    pub fn again(error: impl Into<String>) -> Self {
        Self { ended: AttemptEnd::Again { after: None }, report: Report::error(error) }
    }

    /// A runner was given what it does not run: a mistake of the caller, which no second try would mend.
    fn misrouted(runner: &str, attempt: &Try) -> Self {
        Self::failed(format!("the {runner} runner was given a job for {}", attempt.job.work.target.route()))
    }
}

#[async_trait]
pub trait Runner: Send + Sync {
    /// What this runner can run.
    fn routes(&self) -> Vec<Route>;

    async fn run(&self, attempt: &Try) -> TryEnding;
}

/// All runners of a worker, by what they run.
#[derive(Clone, Default)]
pub struct Targets(HashMap<Route, Arc<dyn Runner>>);

impl Targets {
    #[must_use]
    pub fn with(mut self, runner: Arc<dyn Runner>) -> Self {
        for route in runner.routes() {
            self.0.insert(route, Arc::clone(&runner));
        }
        self
    }

    /// Sorted, so that a claim always asks alike.
    pub fn routes(&self) -> Vec<Route> {
        let mut routes: Vec<Route> = self.0.keys().cloned().collect();
        routes.sort();
        routes
    }

    /// The tasks among them.
    pub fn tasks(&self) -> Vec<String> {
        self.routes().iter().filter_map(Route::as_task).map(str::to_owned).collect()
    }

    pub fn runner(&self, route: &Route) -> Option<&Arc<dyn Runner>> {
        self.0.get(route)
    }
}
