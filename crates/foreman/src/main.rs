//! Foreman: the job server, its workers and its command line, in one binary.
//!
//! The only code that has heard of signals, environment variables and command lines.

mod cli;
mod commands;
mod compose;
mod config;
mod crontab;
mod data_dir;
mod demo;
mod exit;
mod horizon;
mod lifecycle;
mod logs;
mod metrics;
mod open_files;
mod own_key;
mod render;
mod role;
mod secret_key;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // Before anything else: this is on the way to every command of every job.
    if let Some(code) = commands::launch::if_asked() {
        return code;
    }
    keep_to_ourselves();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and the version are asked for, and go to standard output; a closed pipe there is no failure.
            let _ = error.print();
            return if error.use_stderr() { exit::Exit::Usage.into() } else { exit::Exit::Done.into() };
        }
    };
    match commands::run(cli, &config::Environment::of_process()) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => exit::Exit::Done.into(),
        Err(error) => {
            complain(&error);
            exit::of_error(&error).into()
        }
    }
}

/// Other processes of this user, commands of jobs among them, may not look into our memory or read the environment we were started with,
/// where the keys are. That holds for every role and for the command line, whatever runs beside them. (Root may do anything.)
fn keep_to_ourselves() {
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        complain(&anyhow::anyhow!("other processes of this user may be able to read this process's keys: {error}"));
    }
}

/// One clear sentence, with its causes.
fn complain(error: &anyhow::Error) {
    let said = format!("foreman: {}", foreman_core::redact::text(&format!("{error:#}")));
    let mut err = io::stderr().lock();
    // What a server says of a job is in it. Standard error may be closed too; there is nobody left to tell.
    let _ = writeln!(err, "{}", if err.is_terminal() { render::harmless(&said) } else { said.into() });
}

/// Whoever read our output has seen enough, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}
