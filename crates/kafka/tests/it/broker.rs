//! An Apache Kafka broker: the one that all tests share, or one that a test may break.
//!
//! Brokers are made by `scripts/services/kafka`. The process tests of the fleet use this file too.

use std::path::PathBuf;
use std::process::Output;

use tempfile::TempDir;
use tokio::process::Command;

/// The broker that the runner of the suites has started for all tests.
pub fn shared() -> String {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var("FOREMAN_TEST_KAFKA").expect(
        "FOREMAN_TEST_KAFKA is not set: run `make test SUITE=kafka`, or `scripts/with-services --kafka cargo test -p foreman-kafka`",
    )
}

/// A broker of the test's own; removed when dropped.
pub struct Broker {
    directory: TempDir,
    /// Host and port.
    pub address: String,
}

impl Broker {
    /// Settings are lines of its `server.properties`, or `feature.NAME=LEVEL`.
    pub async fn start(settings: &[&str]) -> Self {
        let directory = TempDir::with_prefix("foreman-kafka-").expect("a directory can be made");
        let mut start = script();
        start.arg("start").arg(directory.path().join("kafka")).args(settings);
        let address = told(&start.output().await.expect("the script can be run"));
        Self { directory, address }
    }

    /// As a crash stops it: nothing is closed, every connection is gone.
    pub async fn kill(&self) {
        self.call("stop", &["kill"]).await;
    }

    /// The same broker, on the same port.
    pub async fn start_again(&self) {
        assert_eq!(told(&self.call("start", &[]).await), self.address);
    }

    /// It stands still, and so does everybody who asks it something, until it is thawed.
    pub async fn freeze(&self) {
        self.call("freeze", &[]).await;
    }

    pub async fn thaw(&self) {
        self.call("thaw", &[]).await;
    }

    async fn call(&self, verb: &str, words: &[&str]) -> Output {
        let output = script().arg(verb).arg(self.place()).args(words).output().await.expect("the script can be run");
        assert_done(verb, &output);
        output
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("kafka")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let output = script().into_std().arg("remove").arg(self.place()).output();
        if let Ok(output) = output
            && !output.status.success()
        {
            eprintln!("a Kafka of a test is left behind: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// The address that the script tells.
fn told(output: &Output) -> String {
    assert_done("start", output);
    let said = String::from_utf8_lossy(&output.stdout);
    let address = said.lines().find_map(|line| line.strip_prefix("export FOREMAN_TEST_KAFKA="));
    address.expect("it says where it is").to_owned()
}

fn script() -> Command {
    Command::new("../../scripts/services/kafka")
}

fn assert_done(what: &str, output: &Output) {
    assert!(output.status.success(), "could not {what} a Kafka: {}", String::from_utf8_lossy(&output.stderr));
}
