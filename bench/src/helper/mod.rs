//! This program again, as something that Foreman is compared with, in a process of its own: what it costs is then a
//! process's own, as that of the server is.

mod accept;
mod push;
mod target;

use std::process::Stdio;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum Helper {
    /// Answer 200 to every request: what jobs that call a URL are sent to.
    Target,
    /// Answer 202 to every submission, and keep nothing.
    Accept,
    /// Send so many requests to the target, so many at once, and print how many per second that were.
    Push { address: String, requests: usize, at_once: usize },
}

/// Threads of the helper: as many as a role of Foreman has.
pub fn run(helper: Helper) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match helper {
            Helper::Target => target::serve().await,
            Helper::Accept => accept::serve().await,
            Helper::Push { address, requests, at_once } => push::run(&address, requests, at_once).await,
        }
    })
}

/// One that runs.
pub struct HelperProcess {
    /// Ends with this.
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl HelperProcess {
    pub fn start(words: &[&str]) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("helper")
            .args(words)
            .env_remove("FOREMAN_TEST_POSTGRES")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().context("its output")?).lines();
        Ok(Self { _child: child, lines })
    }

    /// What it prints next: where it listens, or what it measured.
    pub async fn line(&mut self) -> Result<String> {
        self.lines.next_line().await?.context("the helper ended without a word")
    }
}

/// A target of jobs, and where it is.
pub struct Target {
    _process: HelperProcess,
    pub address: String,
}

impl Target {
    pub async fn start() -> Result<Self> {
        let mut process = HelperProcess::start(&["target"])?;
        let address = process.line().await?;
        Ok(Self { _process: process, address })
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Requests per second of a bare loop with the HTTP client that workers use.
    pub async fn bare_loop(&self, requests: usize, at_once: usize) -> Result<f64> {
        let mut push = HelperProcess::start(&["push", &self.address, &requests.to_string(), &at_once.to_string()])?;
        Ok(push.line().await?.parse()?)
    }
}
