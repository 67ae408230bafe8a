//! The real binary, started as a user would start it, on its own directory and a free port.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

pub struct Server {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
    _data: tempfile::TempDir,
}

impl Server {
    pub async fn start(flags: &[&str]) -> Result<Self> {
        let data = tempfile::tempdir_in(scratch()?)?;
        let mut child = Command::new(binary()?)
            .args(["dev", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data.path())
            .args(flags)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start foreman")?;
        let stdout = child.stdout.take().context("stdout was piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let address = tokio::time::timeout(Duration::from_secs(30), async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, rest)) = line.split_once("http://") {
                    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(rest.len());
                    return Ok(rest[..end].to_owned());
                }
            }
            bail!("foreman ended before it served")
        })
        .await
        .context("foreman did not start within 30 s")??;
        // Keep the pipe open and empty, or the server would block or fail on its next line.
        #[expect(
            clippy::disallowed_methods,
            reason = "the benchmark is no part of the server and stops with its process"
        )]
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { child, address, _data: data })
    }

    pub fn resident_bytes(&self) -> Result<u64> {
        let pid = self.child.id().context("foreman has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.split_whitespace().nth(1).context("no figure")?.parse()?;
        Ok(kib * 1024)
    }

    pub async fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id().context("foreman has ended")?)?;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM)?;
        tokio::time::timeout(Duration::from_secs(40), self.child.wait()).await.context("foreman did not stop")??;
        Ok(())
    }
}

/// Resident memory of a server that has started and has nothing to do.
pub async fn idle_memory() -> Result<u64> {
    let server = Server::start(&[]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let bytes = server.resident_bytes()?;
    server.stop().await?;
    Ok(bytes)
}

/// Beside this benchmark: `make bench` builds both.
fn binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("foreman");
    if !path.exists() {
        bail!("{} is not there: run `make bench`, which builds both", path.display());
    }
    Ok(path)
}

/// A directory on the disk that the build lives on, not one in memory: an fsync must cost what it costs.
pub fn scratch() -> Result<PathBuf> {
    let directory = std::env::current_exe()?.with_file_name("bench-data");
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}
