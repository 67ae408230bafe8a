//! An Apache Kafka broker: the one that all tests share, or one that a test may break.
//!
//! Brokers are made by `scripts/services/kafka`. The process tests of the fleet use this file too.

use std::path::PathBuf;
use std::process::Output;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use tempfile::TempDir;
use tokio::process::Command;

/// The broker that the runner of the suites has started for all tests.
pub fn shared() -> String {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var("FOREMAN_TEST_KAFKA").expect(
        "FOREMAN_TEST_KAFKA is not set: run `make test SUITE=kafka`, or `scripts/with-services --kafka cargo test -p foreman-kafka`",
    )
}

/// The same, where it takes users and passwords: see `scripts/services/kafka`.
pub fn shared_login() -> String {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var("FOREMAN_TEST_KAFKA_SASL").expect("FOREMAN_TEST_KAFKA_SASL is not set; see FOREMAN_TEST_KAFKA")
}

/// Topics of one test on the shared broker, which has hundreds of them otherwise. Deleted when dropped, without waiting for it.
pub struct OwnTopics {
    brokers: String,
    prefix: String,
}

impl OwnTopics {
    pub fn of(brokers: &str, prefix: &str) -> Self {
        Self { brokers: brokers.into(), prefix: prefix.into() }
    }

    pub fn names(&self) -> [String; 4] {
        ["high", "normal", "low", "retry"].map(|lane| format!("{}.{lane}", self.prefix))
    }
}

impl Drop for OwnTopics {
    fn drop(&mut self) {
        let (mut client, names) = (ClientConfig::new(), self.names());
        client.set("bootstrap.servers", &self.brokers);
        let delete = move || {
            let admin: AdminClient<DefaultClientContext> = client.create().ok()?;
            let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
            let names = names.each_ref().map(String::as_str);
            runtime.block_on(admin.delete_topics(&names, &AdminOptions::new())).ok()
        };
        let _ = std::thread::Builder::new().name("topics of a test".into()).spawn(delete);
    }
}

/// A broker of the test's own; removed when dropped.
pub struct Broker {
    directory: TempDir,
    /// Host and port.
    pub address: String,
    /// The same, where it takes users and passwords.
    #[cfg(feature = "kafka-tls")]
    pub login_address: String,
}

impl Broker {
    /// Settings are lines of its `server.properties`, or `feature.NAME=LEVEL`.
    pub async fn start(settings: &[&str]) -> Self {
        let directory = TempDir::with_prefix("foreman-kafka-").expect("a directory can be made");
        let mut start = script();
        start.arg("start").arg(directory.path().join("kafka")).args(settings);
        let started = start.output().await.expect("the script can be run");
        assert_done("start", &started);
        Self {
            directory,
            address: told(&started, "FOREMAN_TEST_KAFKA"),
            #[cfg(feature = "kafka-tls")]
            login_address: told(&started, "FOREMAN_TEST_KAFKA_SASL"),
        }
    }

    /// As a crash stops it: nothing is closed, every connection is gone.
    pub async fn kill(&self) {
        self.call("stop", &["kill"]).await;
    }

    /// The same broker, on the same port.
    pub async fn start_again(&self) {
        assert_eq!(told(&self.call("start", &[]).await, "FOREMAN_TEST_KAFKA"), self.address);
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

/// An address that the script tells.
fn told(output: &Output, name: &str) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    let begins = format!("export {name}=");
    said.lines().find_map(|line| line.strip_prefix(&begins)).expect("it says where it is").to_owned()
}

fn script() -> Command {
    Command::new("../../scripts/services/kafka")
}

fn assert_done(what: &str, output: &Output) {
    assert!(output.status.success(), "could not {what} a Kafka: {}", String::from_utf8_lossy(&output.stderr));
}
