//! One process of the fleet: started, killed, frozen, stopped and started again, on the same port.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::time::timeout;

use super::binary::{foreman, foreman_of};
use super::wire::{self, Answer};
use super::{LONG, ports, until};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Api,
    Worker,
    Scheduler,
    /// Only at fleet size.
    Relay,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Api => "api",
            Role::Worker => "worker",
            Role::Scheduler => "scheduler",
            Role::Relay => "relay",
        })
    }
}

pub struct Process {
    pub role: Role,
    /// `worker-2`
    pub name: String,
    /// Where it answers `/healthz`, `/readyz` and `/metrics`; of an `api`, where it serves.
    pub address: String,
    directory: PathBuf,
    words: Vec<OsString>,
    variables: Vec<(String, String)>,
    /// What it is from its next start on, when it is of another version; `None`: the program that is tested.
    pub program: Option<PathBuf>,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// Not started yet.
    pub fn new(role: Role, number: usize, directory: &Path, words: &[&str], variables: &[(String, String)]) -> Self {
        let name = format!("{role}-{number}");
        let address = format!("127.0.0.1:{}", ports::free());
        let listen = if role == Role::Api { "--listen" } else { "--health-listen" };
        let mut all: Vec<OsString> = vec![role.to_string().into(), listen.into(), address.clone().into()];
        all.extend(words.iter().map(OsString::from));
        let mut variables = variables.to_vec();
        if role == Role::Worker {
            variables.push(("FOREMAN_WORKER_NAME".into(), name.clone()));
        }
        let log = directory.join(format!("{name}.log"));
        Self {
            role,
            name,
            address,
            directory: directory.into(),
            words: all,
            variables,
            program: None,
            log,
            child: None,
        }
    }

    /// Starts it, and does not wait until it serves.
    pub fn spawn(&mut self) {
        assert!(self.child.is_none(), "{} runs already", self.name);
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let mut command = match &self.program {
            Some(program) => foreman_of(program, &self.directory),
            None => foreman(&self.directory),
        };
        command.args(&self.words).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdout(log.try_clone().unwrap()).stderr(Stdio::from(log));
        self.child = Some(command.spawn().unwrap());
    }

    pub async fn ready(&mut self) {
        let name = self.name.clone();
        until(&format!("{name} is ready"), async || {
            self.assert_alive();
            self.get("/readyz").await.ok().filter(|answer| answer.status == 200)
        })
        .await;
    }

    pub async fn get(&self, path: &str) -> std::io::Result<Answer> {
        wire::get(&self.address, path).await
    }

    pub async fn post(&self, path: &str, json: &str) -> std::io::Result<Answer> {
        wire::post(&self.address, path, json).await
    }

    /// What it counts under this name, over all labels.
    pub async fn metric(&self, name: &str) -> Option<f64> {
        let said = self.get("/metrics").await.ok()?.body;
        let values = said.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            (series.split('{').next()? == name).then(|| value.parse::<f64>().ok())?
        });
        values.reduce(|sum, value| sum + value)
    }

    /// One series, `name{label="value"}`.
    pub async fn series(&self, series: &str) -> Option<f64> {
        let said = self.get("/metrics").await.ok()?.body;
        said.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("it runs")
    }

    pub fn runs(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    pub fn assert_alive(&mut self) {
        let ended = self.child.as_mut().expect("it was started").try_wait().unwrap();
        assert!(ended.is_none(), "{} ended by itself, with {ended:?}", self.name);
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }

    /// Waits for the end and answers the exit code; `None` when it was killed.
    pub async fn ended(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("it was started");
        let ended = timeout(LONG, child.wait()).await;
        ended.unwrap_or_else(|_| panic!("{} does not end", self.name)).unwrap().code()
    }

    pub async fn kill_nine(&mut self) {
        self.signal(Signal::SIGKILL);
        self.ended().await;
    }

    /// As a deploy stops it.
    pub async fn stop(&mut self) -> Option<i32> {
        self.signal(Signal::SIGTERM);
        self.ended().await
    }

    /// Everything it has logged, over all its lives.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}
