//! The real binary, started as a user would start it, on a free port.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::http::Connection;

const START: Duration = Duration::from_secs(30);

/// The binary that is measured, where one was named.
static FOREMAN: OnceLock<PathBuf> = OnceLock::new();

pub fn measure_binary(path: PathBuf) {
    // Said once, at the start.
    let _ = FOREMAN.set(path);
}

pub struct Process {
    child: Child,
    role: String,
    /// `127.0.0.1:PORT`
    pub address: String,
}

impl Process {
    /// `foreman ROLE LISTEN 127.0.0.1:PORT FLAGS…`, ready.
    pub async fn start(role: &str, listen: &str, flags: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut process = Self::spawn(role, listen, flags, variables)?;
        process.ready().await?;
        Ok(process)
    }

    /// The same, on its way.
    pub fn spawn(role: &str, listen: &str, flags: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        // Another program that asks the system for a port in between gets another one.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let child = foreman()?
            .args([role, listen, &address])
            .args(flags)
            // A key would have every request signed, which is not measured: no word about its absence.
            .env("RUST_LOG", "warn,foreman::secret_key=error")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start foreman")?;
        Ok(Self { child, role: role.to_owned(), address })
    }

    pub async fn ready(&mut self) -> Result<()> {
        let start = Instant::now();
        while !is_ready(&self.address).await {
            if let Some(ended) = self.child.try_wait()? {
                bail!("foreman {} ended before it was ready: {ended}", self.role);
            }
            if start.elapsed() > START {
                bail!("foreman {} was not ready after {START:?}", self.role);
            }
            sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    pub fn resident_bytes(&self) -> Result<u64> {
        self.bytes("VmRSS:")
    }

    /// The most that it ever had.
    pub fn peak_bytes(&self) -> Result<u64> {
        self.bytes("VmHWM:")
    }

    fn bytes(&self, name: &str) -> Result<u64> {
        let pid = self.child.id().context("foreman has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find(|line| line.starts_with(name)).context("no such line")?;
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

/// A line of `/proc/PID/stat`.
pub struct Stat {
    pub parent: u32,
    /// In user space and in the kernel.
    pub cpu: Duration,
    /// The same of its children that have ended.
    pub children_cpu: Duration,
}

impl Stat {
    pub fn of(pid: u32) -> Result<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{pid}/stat"))?)
    }

    fn read(stat: &str) -> Result<Self> {
        // The name of the program is in parentheses, and may have spaces in it.
        let (_, fields) = stat.rsplit_once(')').context("a line as the system writes it")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |place: usize| anyhow::Ok(fields.get(place).context("a field")?.parse::<u64>()?);
        // A tick is a hundredth of a second on every Linux that runs programs of today.
        let ticks = |first| anyhow::Ok(Duration::from_millis((number(first)? + number(first + 1)?) * 10));
        Ok(Self { parent: number(1)? as u32, cpu: ticks(11)?, children_cpu: ticks(13)? })
    }
}

pub fn cpu_time_of(pid: u32) -> Result<Duration> {
    Ok(Stat::of(pid)?.cpu)
}

async fn is_ready(address: &str) -> bool {
    let asked = async {
        let mut connection = Connection::open(address).await?;
        connection.get("/readyz").await
    };
    asked.await.is_ok_and(|answer| answer.status == 200)
}

/// The one that was named, or the one beside this benchmark: `make bench` builds both.
pub fn foreman() -> Result<Command> {
    let path = match FOREMAN.get() {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("foreman"),
    };
    if !path.exists() {
        bail!("{} does not exist: run `make bench`, which builds both, or name one with --foreman", path.display());
    }
    let mut command = Command::new(path);
    command.env_remove("FOREMAN_TEST_POSTGRES").env_remove("FOREMAN_TEST_KAFKA");
    Ok(command)
}

/// A directory on the disk that the build is on, not one in memory: an fsync must cost what it costs.
pub fn scratch() -> Result<PathBuf> {
    let directory = std::env::current_exe()?.with_file_name("bench-data");
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_process_with_spaces_in_its_name_is_read() {
        let stat = "42 (postgres: wal writer ) S 7 42 42 0 -1 4194560 1 2 0 0 150 50 30 20 20 0 1 0 12 34 56";
        let read = Stat::read(stat).expect("a line");
        assert_eq!(read.parent, 7);
        assert_eq!(read.cpu, Duration::from_secs(2));
        assert_eq!(read.children_cpu, Duration::from_millis(500));
    }
}
