//! A directory, and servers that live in it one after the other.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use foreman_client::Client;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::LONG;
use super::binary::{Said, foreman, run};
use super::database::Database;

pub struct Stage {
    directory: TempDir,
}

impl Stage {
    pub fn new() -> Self {
        Self { directory: TempDir::with_prefix("foreman-it-").unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub fn database(&self) -> PathBuf {
        self.data().join("foreman.db")
    }

    /// A command that speaks to no server, or to none of ours.
    pub async fn foreman(&self, words: &[&str]) -> Said {
        let mut command = foreman(self.path());
        command.args(words);
        run(command, None).await
    }

    pub fn command(&self) -> Command {
        foreman(self.path())
    }

    /// `foreman dev` here, on a port that the system picks.
    fn dev(&self, words: &[&str]) -> Command {
        let mut command = foreman(self.path());
        command.args(["dev", "--listen", "127.0.0.1:0", "--data-dir"]).arg(self.data()).args(words);
        command
    }

    /// Starts a server and waits until it serves.
    pub async fn start(&self, words: &[&str]) -> Server {
        self.start_command(self.dev(words)).await
    }

    /// The same, by way of a shell that runs `"$0" "$@"`.
    pub async fn start_by(&self, line: &str, words: &[&str]) -> Server {
        let direct = self.dev(words);
        let direct = direct.as_std();
        let mut command = Command::new("sh");
        command.args(["-c", line]).arg(direct.get_program()).args(direct.get_args());
        for (name, value) in direct.get_envs() {
            assert!(value.is_none(), "variables are only taken away");
            command.env_remove(name);
        }
        command.current_dir(self.path()).stdin(Stdio::null()).kill_on_drop(true);
        self.start_command(command).await
    }

    /// A role on this database, on a port that the system picks.
    pub fn role(&self, database: &Database, role: &str, words: &[&str]) -> Command {
        let listen = if matches!(role, "api" | "dev") { "--listen" } else { "--health-listen" };
        let mut command = foreman(self.path());
        command.env("DATABASE_URL", &database.url).env("FOREMAN_SHUTDOWN_NOT_READY", "0s");
        // The targets of the tests are on this machine, where a role calls nobody unless it is told to.
        command.env("FOREMAN_EGRESS_ALLOW", "127.0.0.0/8");
        command.args([role, listen, "127.0.0.1:0"]).args(words);
        command
    }

    pub async fn start_role(&self, database: &Database, role: &str, words: &[&str]) -> Server {
        self.start_command(self.role(database, role, words)).await
    }

    pub async fn start_command(&self, mut command: Command) -> Server {
        let log = self.path().join("log");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(File::options().create(true).append(true).open(&log).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_dev = command.as_std().get_args().any(|word| word == "dev");
        let mut greeting = String::new();
        let greet = async {
            while let Ok(Some(line)) = lines.next_line().await {
                greeting.push_str(&line);
                greeting.push('\n');
                // The last thing that `dev` says, or the second line of another role.
                if line.trim_start().starts_with("curl") || (!is_dev && line.starts_with("jobs are stored in")) {
                    return true;
                }
            }
            false
        };
        let serves = timeout(LONG, greet).await.expect("it serves or ends");
        assert!(serves, "it did not start: {}", std::fs::read_to_string(&log).unwrap());
        let url = greeting.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
        let key = command.as_std().get_envs().find(|(name, _)| *name == "FOREMAN_ADMIN_KEY");
        let key = key.and_then(|(_, value)| value?.to_str()).map(str::to_owned).or_else(|| own_key(&greeting));
        let client = Client::new(&url, key.as_deref()).unwrap();
        let own_key = own_key(&greeting);
        Server { child, url, client, greeting, log, directory: self.path().to_owned(), own_key }
    }

    /// A server that is expected not to start.
    pub async fn start_in_vain(&self, words: &[&str]) -> Said {
        run(self.dev(words), None).await
    }

    /// Every job is in exactly one place.
    pub async fn assert_clean(&self) {
        let data = self.data();
        let said = self.foreman(&["check", "--deep", "--data-dir", data.to_str().unwrap()]).await;
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.out.contains("every job is in exactly one place"), "{said:?}");
    }
}

/// The key that a server has made for itself, out of the link that it prints.
fn own_key(greeting: &str) -> Option<String> {
    Some(greeting.split_once("#key=")?.1.split_whitespace().next()?.to_owned())
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    pub url: String,
    pub client: Client,
    pub greeting: String,
    log: PathBuf,
    directory: PathBuf,
    pub own_key: Option<String>,
}

impl Server {
    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// The command line, pointed at this server.
    pub async fn foreman(&self, words: &[&str]) -> Said {
        run(self.command(words), None).await
    }

    pub async fn foreman_reading(&self, words: &[&str], input: &str) -> Said {
        run(self.command(words), Some(input)).await
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = foreman(&self.directory);
        command.env("FOREMAN_API_URL", &self.url).args(words);
        if let Some(key) = &self.own_key {
            command.env("FOREMAN_API_KEY", key);
        }
        command
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }

    /// Waits for the end and answers the exit code; `None` when it was killed.
    pub async fn ended(&mut self) -> Option<i32> {
        timeout(LONG, self.child.wait()).await.expect("it ends").unwrap().code()
    }

    /// As a deploy stops it.
    pub async fn stop(&mut self) -> Option<i32> {
        self.signal(Signal::SIGTERM);
        self.ended().await
    }

    /// As a power cut stops it. One that was about to leave may have left by itself.
    pub async fn kill_nine(&mut self) {
        self.child.start_kill().unwrap();
        self.ended().await;
    }

    /// Everything that servers of this stage have logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub async fn get(&self, path: &str) -> (u16, String) {
        super::target::get(self.address(), path, Duration::from_secs(30)).await
    }
}
