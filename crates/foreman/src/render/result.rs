//! What a job gave: the output of its command, or the answer of its target.

use foreman_client::{AttemptDocument, JobDocument};
use foreman_core::State;

/// What the last try that ran gave, for standard output and for standard error.
pub fn result_of(job: &JobDocument) -> (String, String) {
    let Some(last) = last_try(job) else { return (String::new(), String::new()) };
    if let Some(output) = &last.output {
        let mut errors = output.stderr.clone();
        if output.stdout_truncated || output.stderr_truncated {
            if !errors.is_empty() && !errors.ends_with('\n') {
                errors.push('\n');
            }
            errors.push_str("(the output was truncated)\n");
        }
        return (output.stdout.clone(), errors);
    }
    match &last.response {
        Some(response) => (with_newline(&response.body), String::new()),
        None => (String::new(), String::new()),
    }
}

fn last_try(job: &JobDocument) -> Option<&AttemptDocument> {
    let attempts = job.attempts.as_ref()?;
    attempts.iter().rev().find(|attempt| attempt.output.is_some() || attempt.response.is_some())
}

/// A command prints its own end of line; an HTTP answer usually has none.
fn with_newline(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// How it ended, in one line.
pub fn summary(job: &JobDocument) -> String {
    let id = &job.id;
    let tries = match job.attempt {
        1 => "1 attempt".to_owned(),
        many => format!("{many} attempts"),
    };
    match (job.state, job.error.as_deref()) {
        (State::Completed, _) => format!("job {id} completed after {tries}"),
        (State::Cancelled, _) => format!("job {id} was cancelled"),
        (State::Failed, Some(error)) => format!("job {id} failed after {tries}: {error}"),
        (State::Dead, Some(error)) => format!("job {id} is dead after {tries}: {error}"),
        (State::Failed, None) => format!("job {id} failed after {tries}"),
        (State::Dead, None) => format!("job {id} is dead after {tries}"),
        (state, Some(error)) => format!("job {id} is {state} after {tries}: {error}"),
        (state, None) => format!("job {id} is {state}"),
    }
}
