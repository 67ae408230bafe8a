//! Waiting for jobs, and telling how they ended: `foreman submit --wait`, `foreman jobs wait`.
//!
//! It is the server's stream that tells; one without a stream is asked by long polls.

use std::time::Duration;

use foreman_client::{Client, JobDocument, ListDocument, Span, State};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::{Instant, sleep};

use crate::exit::Exit;
use crate::render::{Screen, result_of, summary};

/// How long a server may be away that has just accepted a job: a restart.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(250);

/// Waits for a job that the server has just accepted.
pub async fn run(id: &str, timeout: Option<Span>, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    run_one(id, timeout, PATIENCE, client, screen).await
}

async fn run_one(
    id: &str,
    timeout: Option<Span>,
    patience: Duration,
    client: &Client,
    screen: &Screen,
) -> anyhow::Result<Exit> {
    let jobs = ended(&[id], timeout, patience, client, screen).await?;
    let Some(job) = jobs.first() else { return Ok(Exit::Done) };
    tell(job, screen)?;
    Ok(exit_of(job.state))
}

/// Of several there is only told how they ended, and the worst of it is the exit code.
pub async fn run_many(ids: &[String], timeout: Option<Span>, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    if let [id] = ids {
        return run_one(id, timeout, Duration::ZERO, client, screen).await;
    }
    let jobs = ended(ids, timeout, Duration::ZERO, client, screen).await?;
    if screen.is_json() {
        screen.json(&ListDocument { items: jobs.clone(), next: None })?;
    } else {
        jobs.iter().try_for_each(|job| screen.line(summary(job)))?;
    }
    Ok(worst(jobs.iter().map(|job| exit_of(job.state))))
}

async fn ended(
    ids: &[impl AsRef<str>],
    timeout: Option<Span>,
    patience: Duration,
    client: &Client,
    screen: &Screen,
) -> anyhow::Result<Vec<JobDocument>> {
    let spinner = screen.can_animate().then(|| spin(ids));
    let begun = Instant::now();
    let waited = loop {
        let left = timeout.map(|span| span.0.saturating_sub(begun.elapsed()));
        match client.wait_for(ids, left).await {
            // One that is away from the beginning. What happens later is the client's to wait out.
            Err(error) if error.is_away() && begun.elapsed() < patience && left != Some(Duration::ZERO) => {
                sleep(PAUSE).await;
            }
            waited => break waited,
        }
    };
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    Ok(waited?)
}

fn spin(ids: &[impl AsRef<str>]) -> ProgressBar {
    let what = match ids {
        [id] => format!("job {}", id.as_ref()),
        ids => format!("{} jobs", ids.len()),
    };
    let spinner = ProgressBar::new_spinner().with_message(format!("waiting for {what}"));
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
        screen.talk(format!("stopped waiting: {}; the job continues", summary(job)));
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

/// What a script must hear of first: that it is not over, then that something failed, then that something was cancelled.
fn worst(exits: impl Iterator<Item = Exit>) -> Exit {
    const ORDER: [Exit; 4] = [Exit::Done, Exit::Cancelled, Exit::Failed, Exit::TimedOut];
    exits.max_by_key(|exit| ORDER.iter().position(|known| known == exit)).unwrap_or(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_worst_is_told() {
        use Exit::{Cancelled, Done, Failed, TimedOut};
        for (exits, expected) in [
            (vec![], Done),
            (vec![Done, Cancelled, Done], Cancelled),
            (vec![Failed, Cancelled, Done], Failed),
            (vec![Failed, TimedOut, Cancelled], TimedOut),
        ] {
            assert_eq!(worst(exits.into_iter()), expected);
        }
    }

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
