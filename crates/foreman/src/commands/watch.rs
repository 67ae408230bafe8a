//! `foreman watch`: follows the jobs that match until none of them is unfinished.
//!
//! It only counts, by dry runs of the bulk calls, so that a million jobs cost as little to watch as ten. Jobs that are
//! submitted meanwhile and match are followed too.

use foreman_client::{Client, FilterDocument, State};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::Watch;
use crate::exit::Exit;
use crate::render::{Screen, now};

const UNFINISHED: [State; 4] = [State::Scheduled, State::Pending, State::Running, State::Retrying];

/// How many jobs are in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts(Vec<(State, u64)>);

impl Counts {
    fn unfinished(&self) -> u64 {
        self.sum(|state| !state.is_final())
    }

    fn finished(&self) -> u64 {
        self.sum(State::is_final)
    }

    fn sum(&self, wanted: impl Fn(State) -> bool) -> u64 {
        self.0.iter().filter(|(state, _)| wanted(*state)).map(|(_, count)| count).sum()
    }

    /// `3 running, 12 completed`; what is none is not said.
    fn say(&self) -> String {
        let said: Vec<String> =
            self.0.iter().filter(|(_, count)| *count > 0).map(|(state, count)| format!("{count} {state}")).collect();
        if said.is_empty() { "no jobs".into() } else { said.join(", ") }
    }
}

pub async fn run(watch: &Watch, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let filter = watch.filter.document(now());
    let bar = screen.can_animate().then(progress_bar);
    let mut last = None;
    let counts = loop {
        let counts = count(&filter, client).await?;
        match &bar {
            Some(bar) => {
                bar.set_length(counts.finished() + counts.unfinished());
                bar.set_position(counts.finished());
                bar.set_message(counts.say());
            }
            None if last.as_ref() != Some(&counts) => screen.talk(counts.say()),
            None => {}
        }
        if counts.unfinished() == 0 {
            break counts;
        }
        last = Some(counts);
        tokio::time::sleep(watch.every.0).await;
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if screen.is_json() {
        let by_state: serde_json::Map<String, serde_json::Value> =
            counts.0.iter().map(|(state, count)| (state.to_string(), (*count).into())).collect();
        screen.json(&by_state)?;
    } else {
        screen.line(counts.say())?;
    }
    Ok(Exit::Done)
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar
}

async fn count(filter: &FilterDocument, client: &Client) -> anyhow::Result<Counts> {
    let mut counts = Vec::new();
    for state in State::ALL.into_iter().filter(|state| filter.state.is_none_or(|wanted| wanted == *state)) {
        let of_state = FilterDocument { state: Some(state), ..filter.clone() };
        let answer = if UNFINISHED.contains(&state) {
            client.bulk_cancel(of_state, true).await?
        } else {
            client.bulk_delete(of_state, true).await?
        };
        counts.push((state, answer.matched));
    }
    Ok(Counts(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_in_words_and_know_what_is_left() {
        let counts = Counts(vec![(State::Pending, 0), (State::Running, 2), (State::Completed, 5), (State::Dead, 1)]);
        assert_eq!(counts.say(), "2 running, 5 completed, 1 dead");
        assert_eq!((counts.unfinished(), counts.finished()), (2, 6));
        assert_eq!(Counts::default().say(), "no jobs");
    }
}
