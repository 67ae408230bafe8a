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
pub enum Bare {
    /// Answer 200 to every request, after 100 ms if it is for `/slow`: what jobs that call a URL are sent to.
    Target,
    /// Answer 202 to every submission, and keep nothing.
    Accept,
    /// Send requests to the target, several at once; print how many per second, and the microseconds of CPU for each.
    Push { address: String, requests: usize, at_once: usize },
}

/// Threads of it: as many as a role of Foreman has.
pub fn run(bare: Bare) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match bare {
            Bare::Target => target::serve().await,
            Bare::Accept => accept::serve().await,
            Bare::Push { address, requests, at_once } => push::run(&address, requests, at_once).await,
        }
    })
}

/// One that runs.
pub struct BareProcess {
    /// Ends with this.
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl BareProcess {
    pub fn start(words: &[&str]) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("bare")
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
        self.lines.next_line().await?.context("the bare process ended without a word")
    }
}

/// How it went with a bare loop.
pub struct Pushed {
    pub per_second: f64,
    /// Microseconds per request.
    pub cpu: f64,
}

/// A target of jobs, and where it is.
pub struct Target {
    _process: BareProcess,
    pub address: String,
}

impl Target {
    pub async fn start() -> Result<Self> {
        let mut process = BareProcess::start(&["target"])?;
        let address = process.line().await?;
        Ok(Self { _process: process, address })
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// It answers there after 100 ms.
    pub fn slow_url(&self) -> String {
        format!("http://{}/slow", self.address)
    }

    /// A bare loop with the HTTP client that workers use.
    pub async fn bare_loop(&self, requests: usize, at_once: usize) -> Result<Pushed> {
        let mut push = BareProcess::start(&["push", &self.address, &requests.to_string(), &at_once.to_string()])?;
        let line = push.line().await?;
        let (per_second, cpu) = line.split_once(' ').context("two figures")?;
        Ok(Pushed { per_second: per_second.parse()?, cpu: cpu.parse()? })
    }
}
