//! One API, one scheduler, and so many workers.

use anyhow::{Context, Result};

use super::server::Database;
use crate::process::Process;

pub struct Fleet {
    pub api: Process,
    scheduler: Process,
    workers: Vec<Process>,
}

impl Fleet {
    pub async fn start(database: &Database, workers: usize, slots: usize) -> Result<Self> {
        let variables = [
            ("DATABASE_URL", database.url.as_str()),
            ("FOREMAN_SHUTDOWN_NOT_READY", "0s"),
            // The target is on this machine.
            ("FOREMAN_EGRESS_ALLOW", "127.0.0.0/8"),
            // How fast it is, not how fast a tenant may be.
            ("FOREMAN_LIMITS_TENANT_SUBMIT_PER_SECOND", "unlimited"),
            ("FOREMAN_LIMITS_TENANT_QUEUED_JOBS", "unlimited"),
            ("FOREMAN_LIMITS_TENANT_RUNNING_JOBS", "unlimited"),
        ];
        let slots = slots.to_string();
        let mut running = Vec::new();
        for _ in 0..workers {
            running.push(Process::start("worker", "--health-listen", &["--slots", &slots], &variables).await?);
        }
        Ok(Self {
            api: Process::start("api", "--listen", &[], &variables).await?,
            scheduler: Process::start("scheduler", "--health-listen", &[], &variables).await?,
            workers: running,
        })
    }

    /// Where they answer.
    pub fn workers(&self) -> Vec<&str> {
        self.workers.iter().map(|worker| worker.address.as_str()).collect()
    }

    /// Of the API, a worker and the scheduler.
    pub fn resident_bytes(&self) -> Result<[u64; 3]> {
        let worker = self.workers.first().context("there is no worker")?;
        Ok([self.api.resident_bytes()?, worker.resident_bytes()?, self.scheduler.resident_bytes()?])
    }

    pub async fn stop(self) -> Result<()> {
        self.api.stop().await?;
        for worker in self.workers {
            worker.stop().await?;
        }
        self.scheduler.stop().await
    }
}
