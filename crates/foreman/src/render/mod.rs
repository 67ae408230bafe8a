//! What is printed: data to standard output, talk to standard error.

mod job;
mod live;
mod result;
mod schedule;
mod table;
mod tenant;
mod terminal;
mod time;
mod webhook;

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use foreman_core::{State, Timestamp};
use serde::Serialize;

use crate::cli::Output;
use crate::config::Environment;

pub use job::{group_list, job_list, job_page, what};
pub use live::{event_json, event_line};
pub use result::{result_of, summary};
pub use schedule::{preview_list, schedule_list, schedule_page, tick_list};
pub use table::Table;
pub use tenant::{audit_list, key_list, tenant_list, tenant_page};
pub use terminal::harmless;
pub use time::{age, elapsed};
pub use webhook::{delivery_list, delivery_page, webhook_list, webhook_page};

/// Where a command prints, and how.
#[derive(Clone, Debug)]
pub struct Screen {
    output: Output,
    is_coloured: bool,
    can_animate: bool,
}

#[expect(clippy::unused_self, reason = "a command prints through its screen, wherever that leads")]
impl Screen {
    pub fn new(output: Output, environment: &Environment) -> Self {
        let is_dumb = environment.get("TERM").is_some_and(|term| term == "dumb");
        let is_plain = environment.get("NO_COLOR").is_some() || is_dumb;
        Self {
            output,
            is_coloured: io::stdout().is_terminal() && !is_plain,
            can_animate: io::stderr().is_terminal() && !is_dumb,
        }
    }

    /// Data goes out as the API's own documents.
    pub fn is_json(&self) -> bool {
        self.output == Output::Json
    }

    /// Somebody watches, so a spinner helps.
    pub fn can_animate(&self) -> bool {
        self.can_animate
    }

    pub fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// One line of data.
    pub fn line(&self, text: impl Display) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let text = text.to_string();
        let text = shown(&text, out.is_terminal());
        writeln!(out, "{text}")
    }

    /// Data to the letter, but for what a terminal would act on.
    pub fn raw(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let text = shown(text, out.is_terminal());
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    pub fn json(&self, document: &impl Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(document)?;
        text.push('\n');
        Ok(self.raw(&text)?)
    }

    /// Said to the person, not to the next program. A closed standard error is no reason to fail.
    pub fn talk(&self, text: impl Display) {
        let mut err = io::stderr().lock();
        let text = text.to_string();
        let text = shown(&text, err.is_terminal());
        let _ = writeln!(err, "{text}");
    }
}

/// What comes from a server is anybody's text.
fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { terminal::harmless(text) } else { Cow::Borrowed(text) }
}

/// Now, for ages and for "two hours ago".
pub fn now() -> Timestamp {
    Timestamp::from_micros(foreman_runtime::clock::now())
}

/// Never by colour alone: the word is there too.
fn colour(state: State) -> Option<comfy_table::Color> {
    use comfy_table::Color;
    match state {
        State::Completed => Some(Color::Green),
        State::Failed | State::Dead => Some(Color::Red),
        State::Running => Some(Color::Cyan),
        State::Retrying => Some(Color::Yellow),
        State::Cancelled => Some(Color::DarkGrey),
        State::Scheduled | State::Pending => None,
    }
}
