//! One API, one scheduler, and so many workers; where Kafka carries announcements, one relay.

use anyhow::{Context, Result};

use super::server::Database;
use crate::process::Process;

pub struct Fleet {
    api: Option<Process>,
    scheduler: Process,
    relay: Option<Process>,
    workers: Vec<Process>,
}

/// How many jobs of a tenant may run, by default.
const RUNNING_JOBS: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub workers: usize,
    pub slots: usize,
    pub has_api: bool,
}

impl Fleet {
    /// All ready. The workers start side by side, last: jobs may be waiting for them.
    pub async fn start(database: &Database, size: Size) -> Result<Self> {
        let running = (2 * size.workers * size.slots).max(RUNNING_JOBS).to_string();
        let mut variables = vec![
            ("DATABASE_URL", database.url.as_str()),
            ("FOREMAN_SHUTDOWN_NOT_READY", "0s"),
            // The target is on this machine.
            ("FOREMAN_EGRESS_ALLOW", "127.0.0.0/8"),
            // How fast it is, not how fast a tenant may be.
            ("FOREMAN_LIMITS_TENANT_SUBMIT_PER_SECOND", "unlimited"),
            ("FOREMAN_LIMITS_TENANT_QUEUED_JOBS", "unlimited"),
            // Counted before claims, as it is by default, and never reached.
            ("FOREMAN_LIMITS_TENANT_RUNNING_JOBS", running.as_str()),
            // History is kept, however old: deleting it is not what is measured.
            ("FOREMAN_RETENTION_COMPLETED", "forever"),
        ];
        let kafka = database.kafka_variables();
        variables.extend(kafka.iter().map(|(name, value)| (*name, value.as_str())));
        let slots = size.slots.to_string();
        let scheduler = Process::start("scheduler", "--health-listen", &[], &variables).await?;
        let api = if size.has_api { Some(Process::start("api", "--listen", &[], &variables).await?) } else { None };
        let relay = if kafka.is_empty() {
            None
        } else {
            Some(Process::start("relay", "--health-listen", &[], &variables).await?)
        };
        let mut workers = Vec::new();
        for _ in 0..size.workers {
            workers.push(Process::spawn("worker", "--health-listen", &["--slots", &slots], &variables)?);
        }
        for worker in &mut workers {
            worker.ready().await?;
        }
        Ok(Self { api, scheduler, relay, workers })
    }

    /// Where it answers.
    pub fn api(&self) -> Result<&str> {
        Ok(&self.api.as_ref().context("there is no API")?.address)
    }

    /// Where they answer.
    pub fn workers(&self) -> Vec<&str> {
        self.workers.iter().map(|worker| worker.address.as_str()).collect()
    }

    /// By role; the workers together.
    pub fn processes(&self) -> [(&'static str, Vec<&Process>); 4] {
        [
            ("api", self.api.iter().collect()),
            ("worker", self.workers.iter().collect()),
            ("scheduler", vec![&self.scheduler]),
            ("relay", self.relay.iter().collect()),
        ]
    }

    pub async fn stop(self) -> Result<()> {
        for process in self.api.into_iter().chain(self.relay).chain(self.workers) {
            process.stop().await?;
        }
        self.scheduler.stop().await
    }
}
