//! Waiting for one job, and telling how it ended: `foreman submit --wait`, `foreman jobs wait`.

use std::time::Duration;

use foreman_client::{Client, JobDocument, Span, State};
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::Exit;
use crate::render::{Screen, result_of, summary};

pub async fn run(id: &str, timeout: Option<Span>, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let spinner = screen.can_animate().then(|| spin(id));
    let waited = client.wait(id, timeout.map(|span| span.0)).await;
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    let job = waited?;
    tell(&job, screen)?;
    Ok(exit_of(job.state))
}

fn spin(id: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(format!("waiting for job {id}"));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// The job's own output where a command's output would go; how it ended goes to the person.
fn tell(job: &JobDocument, screen: &Screen) -> anyhow::Result<()> {
    if screen.is_json() {
        screen.json(job)?;
    } else {
        let (out, errors) = result_of(job);
        screen.raw(&out)?;
        if !errors.is_empty() {
            screen.talk(errors.trim_end_matches('\n'));
        }
    }
    if job.state.is_final() {
        screen.talk(summary(job));
    } else {
        screen.talk(format!("gave up waiting: {}; it goes on", summary(job)));
    }
    Ok(())
}

fn exit_of(state: State) -> Exit {
    match state {
        State::Completed => Exit::Done,
        State::Failed | State::Dead => Exit::Failed,
        State::Cancelled => Exit::Cancelled,
        State::Scheduled | State::Pending | State::Running | State::Retrying => Exit::TimedOut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_exit_code() {
        let codes: Vec<(State, u8)> = State::ALL.into_iter().map(|state| (state, exit_of(state) as u8)).collect();
        let expected = [
            (State::Scheduled, 4),
            (State::Pending, 4),
            (State::Running, 4),
            (State::Retrying, 4),
            (State::Completed, 0),
            (State::Failed, 1),
            (State::Dead, 1),
            (State::Cancelled, 3),
        ];
        assert_eq!(codes, expected);
    }
}
