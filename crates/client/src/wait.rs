//! Waiting for a job to end.
//!
//! The server holds each question until the job is final or the asked time is over, so waiting costs one request per
//! [`POLL`]. A server that restarts meanwhile answers early and is then away for a moment; that is waited out, for the
//! job is as durable as it was before.

use std::time::Duration;

use foreman_protocol::document::JobDocument;
use foreman_protocol::duration::Span;
use tokio::time::Instant;

use crate::{Client, Error};

/// Below the idle timeouts of the usual balancers.
const POLL: Duration = Duration::from_secs(25);
/// What the answer may take beyond the time that was asked for.
const SLACK: Duration = Duration::from_secs(10);
/// How long a server may be away in the middle of a wait: a restart with a drain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Between two questions that were answered early or not at all.
pub(crate) const PAUSE: Duration = Duration::from_millis(250);

impl Client {
    /// Waits until the job is final, at most for `timeout`, and then answers with the job as it is: look at its state.
    pub async fn wait(&self, id: &str, timeout: Option<Duration>) -> Result<JobDocument, Error> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        // The first question finds out whether there is a server at all; only later ones are patient.
        let mut has_answered = false;
        let mut away_since: Option<Instant> = None;
        loop {
            let poll = deadline.map_or(POLL, |deadline| left(deadline).min(POLL));
            match self.wait_once(id, poll).await {
                Ok(job) if job.state.is_final() => return Ok(job),
                Ok(job) if deadline.is_some_and(|deadline| left(deadline).is_zero()) => return Ok(job),
                Ok(_) => (has_answered, away_since) = (true, None),
                Err(error) if has_answered && is_passing(&error) && is_bearable(away_since) => {
                    if deadline.is_some_and(|deadline| left(deadline).is_zero()) {
                        return Err(error);
                    }
                    away_since = away_since.or_else(|| Some(Instant::now()));
                }
                Err(error) => return Err(error),
            }
            let pause = deadline.map_or(PAUSE, |deadline| left(deadline).min(PAUSE));
            tokio::time::sleep(pause).await;
        }
    }

    /// One long poll.
    async fn wait_once(&self, id: &str, timeout: Duration) -> Result<JobDocument, Error> {
        let query = [("timeout", Span(timeout).to_string())];
        self.get_json(&["jobs", id, "wait"], &query, timeout + SLACK).await
    }
}

fn is_bearable(away_since: Option<Instant>) -> bool {
    away_since.is_none_or(|since| since.elapsed() < PATIENCE)
}

pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// It may be over in a moment: nobody there, or a server that is starting or stopping.
pub(crate) fn is_passing(error: &Error) -> bool {
    error.is_away() || error.status() == Some(503)
}
