//! A Postgres server: the one that all tests share, or one that a test may break.
//!
//! Servers are made by `scripts/services/postgres`, which knows whom they run as and where their files may lie.

use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;
use tokio::process::Command;

/// The server that the runner of the suites has started for all tests.
pub fn shared() -> String {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var("FOREMAN_TEST_POSTGRES").expect(
        "FOREMAN_TEST_POSTGRES is not set: run `make test SUITE=team`, or `scripts/with-services cargo test -p foreman --test team`",
    )
}

/// A server of the test's own; removed when dropped.
pub struct Cluster {
    directory: TempDir,
    /// As a superuser, in the database `postgres`.
    pub url: String,
}

impl Cluster {
    pub async fn start(settings: &[&str]) -> Self {
        let directory = TempDir::with_prefix("foreman-pg-").unwrap();
        let url = start(directory.path(), settings).await;
        Self { directory, url }
    }

    /// A server that follows this one, with its databases, and can only be read.
    pub async fn standby(&self) -> Self {
        let directory = TempDir::with_prefix("foreman-pg-").unwrap();
        let mut copy = script();
        copy.arg("standby").arg(directory.path().join("postgres")).arg(self.place());
        let url = told("standby", &copy.output().await.unwrap());
        Self { directory, url }
    }

    /// Follows nobody any more, and can be written.
    pub async fn promote(&self) {
        let output = script().arg("promote").arg(self.place()).output().await.unwrap();
        assert_done("promote", &output);
    }

    /// Where it listens: host and port.
    pub fn address(&self) -> &str {
        let (_, place) = self.url.rsplit_once('@').expect("it names its user");
        place.split_once('/').expect("it names its database").0
    }

    /// As a crash stops it: nothing is closed, nothing is flushed, every connection is gone.
    pub async fn crash(&self) {
        let output = script().arg("stop").arg(self.place()).arg("immediate").output().await.unwrap();
        assert_done("stop", &output);
    }

    /// The same server, on the same port.
    pub async fn start_again(&self) {
        assert_eq!(start(&self.place(), &[]).await, self.url);
    }

    /// It stands still, and so does everybody who asks it something, until it is thawed.
    pub async fn freeze(&self) {
        let output = script().arg("freeze").arg(self.place()).output().await.unwrap();
        assert_done("freeze", &output);
    }

    pub async fn thaw(&self) {
        let output = script().arg("thaw").arg(self.place()).output().await.unwrap();
        assert_done("thaw", &output);
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("postgres")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A test that failed may have left it frozen.
        let _ = script().into_std().arg("thaw").arg(self.place()).output();
        let output = script().into_std().arg("remove").arg(self.place()).output();
        if let Ok(output) = output
            && !output.status.success()
        {
            eprintln!("a Postgres of a test is left behind: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

async fn start(directory: &Path, settings: &[&str]) -> String {
    let place = if directory.ends_with("postgres") { directory.to_owned() } else { directory.join("postgres") };
    let output = script().arg("start").arg(&place).args(settings).output().await.unwrap();
    told("start", &output)
}

/// The address that the script tells.
fn told(what: &str, output: &Output) -> String {
    assert_done(what, output);
    let said = String::from_utf8_lossy(&output.stdout);
    let url = said.lines().find_map(|line| line.strip_prefix("export FOREMAN_TEST_POSTGRES="));
    url.expect("it says where it is").trim_matches('\'').to_owned()
}

fn script() -> Command {
    Command::new("../../scripts/services/postgres")
}

fn assert_done(what: &str, output: &Output) {
    assert!(output.status.success(), "could not {what} a Postgres: {}", String::from_utf8_lossy(&output.stderr));
}
