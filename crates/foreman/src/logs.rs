//! Logs: one line each, to standard error. For people on a terminal, JSON elsewhere.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Environment, LogFormat, Settings};

/// From here on, what is logged is seen. Called once, by a command that serves.
pub fn start(settings: &Settings, environment: &Environment) {
    // Judged when the settings were read; a filter that has become unreadable since cannot be.
    let filter = EnvFilter::builder().parse(filter(&settings.log.level)).unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = io::stderr().is_terminal();
    let is_json = match settings.log.format {
        LogFormat::Auto => !is_terminal,
        LogFormat::Human => false,
        LogFormat::Json => true,
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second start in one process (as in tests) keeps the first.
    let _ = if is_json {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).finish().try_init()
    } else {
        let is_coloured = is_terminal && environment.get("NO_COLOR").is_none();
        builder.with_ansi(is_coloured).with_target(false).finish().try_init()
    };
}

/// What these say of a lost connection, a line for each, our own loops say once and in their own words.
const HUSHED: [&str; 2] = ["tokio_postgres", "deadpool"];

/// The filter that was asked for, without the chatter that nobody asked for.
fn filter(asked: &str) -> String {
    let hushed = HUSHED.iter().filter(|library| !asked.contains(*library)).map(|library| format!(",{library}=error"));
    hushed.fold(asked.to_owned(), |filter, more| filter + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_quiet_unless_they_were_asked_to_speak() {
        assert_eq!(filter("info"), "info,tokio_postgres=error,deadpool=error");
        assert_eq!(filter("debug,deadpool=trace"), "debug,deadpool=trace,tokio_postgres=error");
        assert!(EnvFilter::builder().parse(filter("foreman=debug,warn")).is_ok());
    }
}
