//! Logs: one line each, to standard error. For people on a terminal, JSON elsewhere.
//!
//! Every line, and what is said in a panic, goes through the one list of what is hidden ([`redact`]) on its way out, whoever wrote
//! it: a library's error may quote a URL with a password.

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal as _, Write};
use std::panic;

use foreman_core::redact;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Environment, LogFormat, Settings};

/// From here on, what is logged is seen. Called once by a process.
pub fn start(settings: &Settings, environment: &Environment) {
    panic::set_hook(Box::new(|panic| {
        let place = std::thread::current().name().unwrap_or("<unnamed>").to_owned();
        // Only where somebody asked for it with RUST_BACKTRACE, as without us.
        let trace = Backtrace::capture();
        // Standard error may be closed; there is nobody left to tell.
        let _ = writeln!(Redacted(io::stderr()), "thread '{place}' {panic}\n{trace}");
    }));
    // Judged when the settings were read; a filter that has become unreadable since cannot be.
    let filter = EnvFilter::builder().parse(filter(&settings.log.level)).unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = io::stderr().is_terminal();
    let is_json = match settings.log.format {
        LogFormat::Auto => !is_terminal,
        LogFormat::Human => false,
        LogFormat::Json => true,
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Redacted(io::stderr()));
    // A second start in one process (as in tests) keeps the first.
    let _ = if is_json {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).finish().try_init()
    } else {
        let is_coloured = is_terminal && environment.get("NO_COLOR").is_none();
        builder.with_ansi(is_coloured).with_target(false).finish().try_init()
    };
}

/// The same for a command that does what a server does: only what went wrong, in lines for people.
pub fn start_for_command(settings: &Settings, environment: &Environment) {
    let mut quiet = settings.clone();
    quiet.log.level = "warn".into();
    quiet.log.format = LogFormat::Human;
    start(&quiet, environment);
}

/// What these say of a lost connection, a line for each, our own loops say once and in their own words.
const HUSHED: [&str; 2] = ["tokio_postgres", "deadpool"];
/// Said below `info`, it is every value of every statement: payloads, answers of targets, URLs. Nobody may ask for that.
const SILENCED: &str = "tokio_postgres::query=info";

/// The filter that was asked for, without the chatter that nobody asked for and what nobody may ask for.
fn filter(asked: &str) -> String {
    let hushed = HUSHED.iter().filter(|library| !asked.contains(*library)).map(|library| format!(",{library}=error"));
    // Of two that are for the same, the later one counts.
    hushed.fold(asked.to_owned(), |filter, more| filter + &more) + "," + SILENCED
}

/// Writes what it is given without what the list hides. It is given whole events.
struct Redacted<W>(W);

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        self.0.write_all(redact::text(&text).as_bytes())?;
        Ok(event.len())
    }

    /// `writeln!` would hand it over piece by piece, and a secret with it.
    fn write_fmt(&mut self, event: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(event.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn libraries_are_quiet_unless_they_were_asked_to_speak() {
        assert_eq!(filter("info"), "info,tokio_postgres=error,deadpool=error,tokio_postgres::query=info");
        assert_eq!(
            filter("debug,deadpool=trace"),
            "debug,deadpool=trace,tokio_postgres=error,tokio_postgres::query=info"
        );
        assert!(EnvFilter::builder().parse(filter("foreman=debug,warn")).is_ok());
    }
    #[test]
    fn what_is_written_is_redacted_whoever_wrote_it() {
        let mut out = Redacted(Vec::new());
        let (user, password) = ("ann", "hush");
        writeln!(out, "cannot reach https://{user}:{password}@host").expect("memory");
        out.write_all(b"GET /?token=hush\n").expect("memory");
        assert_eq!(String::from_utf8(out.0).expect("text"), "cannot reach https://ann:***@host\nGET /?token=***\n");
    }

    #[test]
    fn the_values_of_statements_cannot_be_asked_for() {
        for asked in ["trace", "tokio_postgres=trace", "tokio_postgres::query=trace", "trace,tokio_postgres=debug"] {
            let said = Arc::new(Mutex::new(Vec::new()));
            let writer = Arc::clone(&said);
            let subscriber = tracing_subscriber::fmt()
                .with_env_filter(EnvFilter::builder().parse(filter(asked)).expect("a filter"))
                .with_writer(move || Kept(Arc::clone(&writer)))
                .finish();
            tracing::subscriber::with_default(subscriber, || {
                tracing::debug!(target: "tokio_postgres::query", "executing with hush");
                tracing::error!(target: "tokio_postgres::query", "heard");
            });
            let said = String::from_utf8(said.lock().expect("unbroken").clone()).expect("text");
            assert!(said.contains("heard") && !said.contains("hush"), "{asked}: {said}");
        }
    }

    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("unbroken").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
