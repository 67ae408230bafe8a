//! A Redis: the one that all tests share, or one that a test may break.

use std::net::SocketAddr;
use std::path::PathBuf;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;

/// The server that the runner of the suites has started for all tests.
pub fn shared() -> String {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var("FOREMAN_TEST_REDIS").expect(
        "FOREMAN_TEST_REDIS is not set: run `make test SUITE=fleet-redis`, or `scripts/with-services --redis cargo test -p foreman --test redis`",
    )
}

/// Keys that no other test has.
pub fn fresh_prefix() -> String {
    format!("test-{:016x}:", rand::random::<u64>())
}

/// A server of the test's own; removed when dropped.
pub struct RedisServer {
    directory: TempDir,
    pub url: String,
}

impl RedisServer {
    pub async fn start() -> Self {
        let directory = TempDir::with_prefix("foreman-redis-").unwrap();
        let mut server = Self { directory, url: String::new() };
        server.url = server.started().await;
        server
    }

    /// The same server, on the same port, with nothing in it.
    pub async fn start_again(&self) {
        assert_eq!(self.started().await, self.url);
    }

    /// As a crash stops it.
    pub async fn kill(&self) {
        self.tell(&["stop"], &["kill"]).await;
    }

    /// Everything in it is gone.
    pub async fn flush(&self) {
        self.ask("FLUSHALL").await;
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.url.rsplit_once('@').unwrap().1.split_once('/').unwrap().0.parse().unwrap()
    }

    /// The same server, reached through somebody else.
    pub fn url_through(&self, address: SocketAddr) -> String {
        self.url.replace(&self.address().to_string(), &address.to_string())
    }

    async fn ask(&self, command: &str) {
        let (_, rest) = self.url.split_once("default:").unwrap();
        let password = rest.split_once('@').unwrap().0;
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(format!("AUTH {password}\r\n{command}\r\nQUIT\r\n").as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "+OK\r\n+OK\r\n+OK\r\n", "{command}");
    }

    async fn started(&self) -> String {
        let said = self.tell(&["start"], &[]).await;
        let url = said.lines().find_map(|line| line.strip_prefix("export FOREMAN_TEST_REDIS="));
        url.expect("it says where it is").to_owned()
    }

    async fn tell(&self, verb: &[&str], args: &[&str]) -> String {
        let mut script = Command::new("../../scripts/services/redis");
        let output = script.args(verb).arg(self.place()).args(args).output().await.unwrap();
        assert!(output.status.success(), "{verb:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("redis")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let mut script = std::process::Command::new("../../scripts/services/redis");
        let output = script.arg("remove").arg(self.place()).output();
        if let Ok(output) = output
            && !output.status.success()
        {
            eprintln!("a Redis of a test is left behind: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
