//! The real binary, started as a user would start it, on a free port.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::http::Connection;

const START: Duration = Duration::from_secs(30);

pub struct Process {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
}

impl Process {
    /// `foreman ROLE LISTEN 127.0.0.1:PORT FLAGS…`, ready.
    pub async fn start(role: &str, listen: &str, flags: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        // Whoever else asks the system for a port in between gets another one.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let mut child = foreman()?
            .args([role, listen, &address])
            .args(flags)
            .env("RUST_LOG", "warn")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start foreman")?;
        let start = Instant::now();
        while !is_ready(&address).await {
            if let Some(ended) = child.try_wait()? {
                bail!("foreman {role} ended before it was ready: {ended}");
            }
            if start.elapsed() > START {
                bail!("foreman {role} was not ready after {START:?}");
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(Self { child, address })
    }

    pub fn resident_bytes(&self) -> Result<u64> {
        let pid = self.child.id().context("foreman has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.split_whitespace().nth(1).context("no figure")?.parse()?;
        Ok(kib * 1024)
    }

    /// What it has computed so far, on all cores together.
    pub fn cpu_time(&self) -> Result<Duration> {
        cpu_time_of(self.child.id().context("foreman has ended")?)
    }

    pub async fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id().context("foreman has ended")?)?;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM)?;
        tokio::time::timeout(Duration::from_secs(40), self.child.wait()).await.context("foreman did not stop")??;
        Ok(())
    }
}

/// As the system counts it, in user space and in the kernel.
pub fn cpu_time_of(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program is in parentheses, and may have spaces in it.
    let (_, fields) = stat.rsplit_once(')').context("a line as the system writes it")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    // A tick is a hundredth of a second on every Linux that runs programs of today.
    Ok(Duration::from_millis(ticks * 10))
}

async fn is_ready(address: &str) -> bool {
    let asked = async {
        let mut connection = Connection::open(address).await?;
        connection.get("/readyz").await
    };
    asked.await.is_ok_and(|answer| answer.status == 200)
}

/// Beside this benchmark: `make bench` builds both.
pub fn foreman() -> Result<Command> {
    let path = std::env::current_exe()?.with_file_name("foreman");
    if !path.exists() {
        bail!("{} is not there: run `make bench`, which builds both", path.display());
    }
    let mut command = Command::new(path);
    command.env_remove("FOREMAN_TEST_POSTGRES");
    Ok(command)
}

/// A directory on the disk that the build lives on, not one in memory: an fsync must cost what it costs.
pub fn scratch() -> Result<PathBuf> {
    let directory = std::env::current_exe()?.with_file_name("bench-data");
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}
