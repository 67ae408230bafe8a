//! What keeps a job from running, as far as the server can tell.
//!
//! A job with a task is accepted whether or not a worker is there that runs it: the worker may come later. A hint says so where none is
//! connected. It is a courtesy: when the store does not answer in time, the job is shown without it.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::State as JobState;
use foreman_core::document::{HintDocument, HintKind, JobDocument};
use foreman_core::ports::{SessionView, WaitingTask};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::app::App;

/// No request waits longer for its hints.
const PATIENCE: Duration = Duration::from_millis(500);

/// The hints of one answer: the sessions are asked for once, however many jobs it shows.
pub(crate) struct Hints<'a> {
    app: &'a App,
    sessions: OnceCell<Option<Arc<Vec<SessionView>>>>,
}

impl<'a> Hints<'a> {
    pub fn new(app: &'a App) -> Self {
        Self { app, sessions: OnceCell::new() }
    }

    /// Adds what can be said about a job that waits.
    pub async fn add(&self, document: &mut JobDocument) {
        let waits = matches!(document.state, JobState::Scheduled | JobState::Pending | JobState::Retrying);
        let Some(task) = document.asked.task.clone().filter(|_| waits) else { return };
        let ask = async || timeout(PATIENCE, self.app.overviews().sessions(self.app)).await.ok()?.ok();
        let Some(sessions) = self.sessions.get_or_init(ask).await else { return };
        if !sessions.iter().any(|session| session.may_run(&task, &document.queue)) {
            let detail = format!(
                "No connected worker runs the task {task:?} in the queue {}. The job waits until one connects.",
                document.queue
            );
            document.hints.push(HintDocument { kind: HintKind::NoWorker, detail });
        }
    }
}

/// Those that no connected worker would take.
pub(crate) fn unserved<'a>(waiting: &'a [WaitingTask], sessions: &[SessionView]) -> Vec<&'a WaitingTask> {
    let is_served = |one: &WaitingTask| sessions.iter().any(|session| session.may_run(&one.task, one.queue.as_str()));
    waiting.iter().filter(|one| !is_served(one)).collect()
}
