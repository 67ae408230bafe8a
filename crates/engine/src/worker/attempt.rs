//! One attempt, from the claimed job to its outcome: run, listen to timeout, cancel and abort, decide, settle.
//!
//! It ends in exactly one of three ways: its outcome is handed to the settler; it has none to hand over, because the
//! job was cancelled; or the process dies, and the session's lapse speaks for it. That holds when the session is lost as
//! well: the work is stopped and its outcome handed over, and the store decides whether it still counts. A panic outside of
//! the runner is the worker's own fault; it is recorded as a failed attempt, so that it cannot go on for ever.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use foreman_core::duration::Span;
use foreman_core::outcome::AttemptEnd;
use foreman_core::ports::Held;
use foreman_core::retry::RetryPolicy;
use foreman_core::{Report, Verdict};
use foreman_runtime::tasks::panic_message;
use futures_util::FutureExt;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::running::RunGuard;
use super::seats::Seat;
use crate::pool::WorkEnd;
use crate::settle::{ExpectedOutcome, SettleHandle};
use crate::target::{Targets, Try, TryEnding};

/// How long a job waits after an attempt in which the worker itself failed.
const AFTER_A_BREAKDOWN: Duration = Duration::from_mins(1);

/// What every attempt of a session needs.
pub(crate) struct AttemptContext {
    pub targets: Targets,
    pub settle: SettleHandle,
    /// Cancelled when the session is no longer valid, and its work must stop.
    pub lost: CancellationToken,
    /// How long a runner that was told to stop may take to return.
    pub grace: Duration,
}

/// How the runner came back.
enum Came {
    Back(TryEnding),
    Panicked(Box<dyn Any + Send>),
    /// It was told to stop and did not; it is dropped.
    NotBack,
}

pub(crate) async fn run(
    held: Held,
    guard: RunGuard,
    seat: Seat,
    expected: ExpectedOutcome,
    context: &AttemptContext,
) -> WorkEnd {
    let verdict = match AssertUnwindSafe(make(&held, &guard, &seat, context)).catch_unwind().await {
        Ok(Some(verdict)) => verdict,
        Ok(None) => return WorkEnd::Finished,
        Err(panic) => broke_down(&held, &panic_message(panic.as_ref())),
    };
    let fate = settle(held.settle(verdict), guard, context).await;
    // Not before its outcome is handed over: the last one of all is written together with those that wait.
    drop(expected);
    fate
}

/// Makes the attempt; `None` when the job was cancelled and there is nothing to record.
async fn make(held: &Held, guard: &RunGuard, seat: &Seat, context: &AttemptContext) -> Option<Verdict> {
    let work = held.job.work.clone();
    let route = work.target.route();
    let Some(runner) = context.targets.runner(&route) else {
        error!(job.id = %held.job.id, %route, "job {} was claimed, but this worker cannot run {route}", held.job.id);
        return Some(Verdict::Released);
    };

    let started = Instant::now();
    let attempt = Try { job: held.job.clone(), fence: held.fence, attempt: held.attempt, stop: guard.stop.clone() };
    let mut timed_out = false;
    let came = {
        let mut running = pin!(AssertUnwindSafe(runner.run(&attempt)).catch_unwind());
        let back = tokio::select! {
            biased;
            back = &mut running => Some(back),
            () = attempt.stop.cancelled() => None,
            () = sleep(work.timeout) => {
                timed_out = true;
                attempt.stop.cancel();
                None
            }
        };
        let back = match back {
            Some(back) => Some(back),
            None => timeout(context.grace, running).await.ok(),
        };
        match back {
            Some(Ok(ending)) => Came::Back(ending),
            Some(Err(panic)) => Came::Panicked(panic),
            None => Came::NotBack,
        }
    };

    let id = held.job.id;
    if guard.is_cancelled() {
        info!(job.id = %id, attempt = held.attempt, "stopped job {id}: it was cancelled");
        return None;
    }
    let why = || {
        if seat.is_expelled() {
            "its tenant was disabled"
        } else if context.lost.is_cancelled() {
            "the worker lost the store"
        } else {
            "the worker stopped"
        }
    };
    let was_stopped = (attempt.stop.is_cancelled() && !timed_out).then(why);
    let (ended, mut report) = judge(came, was_stopped, timed_out.then_some(work.timeout));
    report.duration_ms = Some(started.elapsed().as_millis() as u64);
    if let (AttemptEnd::Again { .. } | AttemptEnd::Failed | AttemptEnd::Interrupted, Some(error)) =
        (ended, &report.error)
    {
        info!(job.id = %id, attempt = held.attempt, "attempt {} of job {id} did not complete: {error}", held.attempt);
    }
    Some(RetryPolicy::of(&work).decide(ended, held.spent, report, &mut rng_of(held)))
}

/// The worker itself failed, outside of the handler. Without the job's policy: that may be what it failed over.
fn broke_down(held: &Held, message: &str) -> Verdict {
    let id = held.job.id;
    error!(job.id = %id, attempt = held.attempt, "the attempt of job {id} panicked: {message}");
    let report = Report::error(format!("the worker failed while it ran this job: {message}"));
    if held.spent >= held.job.work.max_attempts {
        Verdict::Dead(report)
    } else {
        Verdict::Retry { delay: AFTER_A_BREAKDOWN, report }
    }
}

/// What the attempt's end means. Work that completed although it was told to stop has completed.
fn judge(came: Came, was_stopped: Option<&str>, timed_out_after: Option<Duration>) -> (AttemptEnd, Report) {
    const AGAIN: AttemptEnd = AttemptEnd::Again { after: None };
    let (ended, mut report) = match came {
        Came::Back(TryEnding { ended, report }) => (ended, report),
        // A panic is the handler's own, whatever we asked of it meanwhile.
        Came::Panicked(panic) => {
            let message = panic_message(panic.as_ref());
            return (AGAIN, Report::error(format!("the handler panicked: {message}")));
        }
        Came::NotBack => (AttemptEnd::Interrupted, Report::default()),
    };
    if ended == AttemptEnd::Completed {
        return (ended, report);
    }
    if let Some(limit) = timed_out_after {
        report.error = Some(format!("timed out after {}", Span(limit)));
        return (AGAIN, report);
    }
    if let Some(why) = was_stopped {
        report.error = Some(format!("interrupted: {why}"));
        return (AttemptEnd::Interrupted, report);
    }
    if ended == AttemptEnd::Interrupted {
        // Nobody stopped it. Taken at its word it would be refunded and tried for ever.
        report.error.get_or_insert_with(|| "the handler stopped without being asked to".into());
        return (AGAIN, report);
    }
    (ended, report)
}

async fn settle(settlement: foreman_core::ports::Settlement, guard: RunGuard, context: &AttemptContext) -> WorkEnd {
    let fate = if settlement.verdict.refunds() { WorkEnd::HandedBack } else { WorkEnd::Finished };
    let id = settlement.job;
    // Leave the list of what runs before the job can be settled: a heartbeat that no longer finds it held would take it
    // for cancelled. But not before its outcome is announced: one that still finds it held would take it for forgotten.
    let outgoing = context.settle.outgoing(settlement);
    drop(guard);
    if let Err(error) = outgoing.send().await {
        warn!(job.id = %id, "dropped the outcome of job {id}: {error}");
        return WorkEnd::HandedBack;
    }
    fate
}

/// Spread between jobs and tries, and the same whenever the same try is judged.
fn rng_of(held: &Held) -> SmallRng {
    let (high, low) = held.job.id.0.as_u64_pair();
    SmallRng::seed_from_u64(high ^ low ^ (held.fence.0 as u64).rotate_left(32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGAIN: AttemptEnd = AttemptEnd::Again { after: None };
    const STOPPED: Option<&str> = Some("the worker stopped");

    fn back(ended: AttemptEnd) -> Came {
        Came::Back(TryEnding { ended, report: Report::default() })
    }

    #[test]
    fn work_that_completed_has_completed_however_late() {
        assert_eq!(judge(back(AttemptEnd::Completed), STOPPED, None).0, AttemptEnd::Completed);
        assert_eq!(judge(back(AttemptEnd::Completed), None, Some(Duration::from_secs(30))).0, AttemptEnd::Completed);
    }

    #[test]
    fn a_timeout_says_how_long_and_is_tried_again() {
        for came in [back(AttemptEnd::Interrupted), back(AttemptEnd::Failed), Came::NotBack] {
            let (ended, report) = judge(came, None, Some(Duration::from_secs(30)));
            assert_eq!((ended, report.error.as_deref()), (AGAIN, Some("timed out after 30s")));
        }
    }

    #[test]
    fn work_stopped_with_its_worker_is_interrupted_whatever_it_made_of_that() {
        for came in [back(AttemptEnd::Interrupted), back(AttemptEnd::Failed), back(AGAIN), Came::NotBack] {
            assert_eq!(judge(came, STOPPED, None).0, AttemptEnd::Interrupted);
        }
    }

    #[test]
    fn a_panic_is_a_failed_attempt_with_its_words() {
        let (ended, report) = judge(Came::Panicked(Box::new("lost a wheel")), None, None);
        assert_eq!((ended, report.error.as_deref()), (AGAIN, Some("the handler panicked: lost a wheel")));
    }

    #[test]
    fn a_handler_cannot_interrupt_itself_for_ever() {
        assert_eq!(judge(back(AttemptEnd::Interrupted), None, None).0, AGAIN);
    }
}
