//! The binary: a copy, for a second build may replace the one in the target directory in the middle of a test.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// What a command said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A call of the binary, with nothing of our own environment that it would listen to.
pub fn foreman(directory: &Path) -> Command {
    foreman_of(program(), directory)
}

/// The same of another binary.
pub fn foreman_of(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    for name in ours() {
        command.env_remove(name);
    }
    command.current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a command to its end.
pub async fn run(mut command: Command, input: Option<&str>) -> Said {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    if let Some(input) = input {
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
    }
    let output = tokio::time::timeout(super::LONG, child.wait_with_output()).await.expect("it ends").unwrap();
    Said {
        code: output.status.code().expect("it was not killed"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn program() -> &'static Path {
    static COPY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = COPY.get_or_init(|| {
        let directory = TempDir::with_prefix("foreman-bin-").unwrap();
        let copy = directory.path().join("foreman");
        std::fs::copy(built(), &copy).unwrap();
        (directory, copy)
    });
    path
}

/// What was built for this run: a runner that keeps copies says where.
fn built() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var_os("FOREMAN_BIN").map_or_else(|| env!("CARGO_BIN_EXE_foreman").into(), PathBuf::from)
}

fn ours() -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "to be taken away from what the tests start")]
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| {
            // The runner finds what a killed run left behind by this one.
            (name.starts_with("FOREMAN_") && name != "FOREMAN_TEST_DIR")
                || [
                    "DATABASE_URL",
                    "KAFKA_BROKERS",
                    "REDIS_URL",
                    "RUST_LOG",
                    "NO_COLOR",
                    "HTTP_PROXY",
                    "http_proxy",
                    "ALL_PROXY",
                    "all_proxy",
                ]
                .contains(&name.as_str())
        })
        .collect()
}
