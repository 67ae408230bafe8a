//! A Redis that a test may break, and that speaks as the test says: a process of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// Killed and removed when dropped.
pub struct RedisServer {
    directory: TempDir,
    pub port: u16,
    args: Vec<String>,
    child: Option<Child>,
}

impl RedisServer {
    /// With these settings, as on its command line: `--requirepass`, `sesame`.
    pub async fn start(args: &[&str]) -> Self {
        Self::start_at(free_port(), args).await
    }

    pub async fn start_at(port: u16, args: &[&str]) -> Self {
        let directory = TempDir::with_prefix("foreman-redis-").unwrap();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut server = Self { directory, port, args, child: None };
        server.start_again().await;
        server
    }

    /// On the same port, with nothing in it.
    pub async fn start_again(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        let mut command = Command::new("redis-server");
        // A file of settings, which a Sentinel must have, comes before settings.
        if let Some(file) = self.args.iter().find(|arg| is_settings(arg)) {
            command.arg(file);
        } else {
            command.args(["--save", "", "--appendonly", "no"]);
        }
        command.args(["--bind", "127.0.0.1", "--dir"]).arg(self.directory.path());
        if !self.args.iter().any(|arg| arg == "--tls-port") {
            command.arg("--port").arg(self.port.to_string());
        }
        command.args(self.args.iter().filter(|arg| !is_settings(arg)));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().expect("redis-server is installed: `scripts/preflight test` says how"));
        for _ in 0..400 {
            if TcpStream::connect(self.address()).await.is_ok() {
                return;
            }
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "redis-server ended: {}", self.log());
            sleep(Duration::from_millis(25)).await;
        }
        panic!("redis-server does not listen: {}", self.log());
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A file of settings among the arguments.
fn is_settings(arg: &str) -> bool {
    Path::new(arg).extension().is_some_and(|extension| extension == "conf")
}

/// One that nobody listens on, below those that the system hands out: nobody is given it in the meantime.
pub fn free_port() -> u16 {
    loop {
        // A Cluster listens 10,000 above as well.
        let port = rand::random_range(11_000..20_000);
        let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if is_free(port) && is_free(port + 10_000) {
            return port;
        }
    }
}

/// A certificate made for these tests.
pub fn pem(name: &str) -> PathBuf {
    std::path::absolute(Path::new("tests/it/tls").join(name)).unwrap()
}
