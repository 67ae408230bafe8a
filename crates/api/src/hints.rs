//! What keeps a job from running, as far as the server can tell.
//!
//! A job with a task is accepted whether or not a worker is there that runs it: the worker may come later. A hint says so where none is
//! connected. It is a courtesy: when the store does not answer in time, the job is told without it.

use std::time::Duration;

use foreman_core::State as JobState;
use foreman_core::document::{HintDocument, HintKind, JobDocument};
use foreman_core::ports::{SessionView, WaitingTask};
use tokio::time::timeout;

use crate::app::App;

/// Nobody waits for a hint for longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Adds what can be said about a job that waits.
pub(crate) async fn add(app: &App, document: &mut JobDocument) {
    let waits = matches!(document.state, JobState::Scheduled | JobState::Pending | JobState::Retrying);
    let Some(task) = document.asked.task.clone().filter(|_| waits) else { return };
    let Ok(Ok(sessions)) = timeout(PATIENCE, app.overviews().sessions(app)).await else { return };
    if !sessions.iter().any(|session| session.may_run(&task, &document.queue)) {
        let detail = format!(
            "No connected worker runs the task {task:?} in the queue {}. The job waits until one connects.",
            document.queue
        );
        document.hints.push(HintDocument { kind: HintKind::NoWorker, detail });
    }
}

/// Those that no connected worker would take.
pub(crate) fn unserved<'a>(waiting: &'a [WaitingTask], sessions: &[SessionView]) -> Vec<&'a WaitingTask> {
    let is_served = |one: &WaitingTask| sessions.iter().any(|session| session.may_run(&one.task, one.queue.as_str()));
    waiting.iter().filter(|one| !is_served(one)).collect()
}
