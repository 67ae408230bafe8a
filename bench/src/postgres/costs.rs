//! What jobs cost: CPU seconds of each process, bytes of WAL, statements.
//!
//! CPU time of the database is what `/proc` says of the server's process, its children, and those that have ended. It can be
//! read where the server runs on this machine; elsewhere that line is left out. Statements are counted by
//! pg_stat_statements where the server has loaded it (`scripts/with-services --fsync` does, if it is installed).

use std::time::Duration;

use anyhow::Result;
use tokio_postgres::Client;

use super::fleet::Fleet;
use super::server::Database;
use crate::process::{Stat, cpu_time_of};
use crate::report::{Figure, Unit};

const POSTGRES: &str = "Postgres";

pub struct Meter {
    sql: Client,
    /// The server's first process, if it is on this machine.
    postmaster: Option<u32>,
    counts_statements: bool,
}

#[derive(Clone, Debug)]
pub struct Reading {
    /// Of Postgres, then by role.
    cpu: Vec<(&'static str, Duration)>,
    wal: i64,
    statements: Option<i64>,
}

impl Meter {
    /// Before the roles connect: from then on statements in this database are counted.
    pub async fn new(database: &Database) -> Result<Self> {
        let sql = database.connect().await?;
        let counts_statements = count_statements(&sql).await.is_ok();
        let backend: i32 = sql.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
        // On another machine this may be a process of something else, or none.
        let command = std::fs::read_to_string(format!("/proc/{backend}/cmdline")).unwrap_or_default();
        let is_here = command.starts_with("postgres");
        let postmaster = if is_here { Stat::of(backend as u32).ok().map(|stat| stat.parent) } else { None };
        Ok(Self { sql, postmaster, counts_statements })
    }

    /// Of the database and the fleet; without one, of the database and this process, which then does the work.
    pub async fn read(&self, fleet: Option<&Fleet>) -> Result<Reading> {
        let mut cpu = Vec::new();
        if let Some(postmaster) = self.postmaster {
            cpu.push((POSTGRES, server_cpu(postmaster)?));
        }
        for (role, processes) in fleet.iter().flat_map(|fleet| fleet.processes()) {
            if !processes.is_empty() {
                let times = processes.iter().map(|process| process.cpu_time());
                cpu.push((role, times.sum::<Result<Duration>>()?));
            }
        }
        if fleet.is_none() {
            cpu.push(("this process", cpu_time_of(std::process::id())?));
        }
        let wal = self.sql.query_one("SELECT (pg_current_wal_lsn() - '0/0')::bigint", &[]).await?.get(0);
        let statements = if self.counts_statements {
            let counted = "SELECT coalesce(sum(calls), 0)::bigint FROM public.pg_stat_statements
                           WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())";
            Some(self.sql.query_one(counted, &[]).await?.get(0))
        } else {
            None
        };
        Ok(Reading { cpu, wal, statements })
    }
}

async fn count_statements(sql: &Client) -> Result<()> {
    sql.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public").await?;
    sql.query("SELECT 1 FROM public.pg_stat_statements LIMIT 1", &[]).await?;
    let name: String = sql.query_one("SELECT quote_ident(current_database())", &[]).await?.get(0);
    sql.batch_execute(&format!("ALTER DATABASE {name} SET pg_stat_statements.track = 'top'")).await?;
    Ok(())
}

impl Reading {
    /// Microseconds of CPU that each of so many jobs took since, in all processes together; `None` where the database's cannot
    /// be read.
    pub fn cpu_since(&self, before: &Reading, jobs: usize) -> Option<f64> {
        self.cpu.iter().find(|(name, _)| *name == POSTGRES)?;
        let spent = |(earlier, later): (&(_, Duration), &(_, Duration))| later.1.saturating_sub(earlier.1);
        let sum: Duration = before.cpu.iter().zip(&self.cpu).map(spent).sum();
        Some(sum.as_secs_f64() * 1e6 / jobs.max(1) as f64)
    }
}

/// All processes of the server: those that run, and those that have ended.
fn server_cpu(postmaster: u32) -> Result<Duration> {
    let first = Stat::of(postmaster)?;
    let mut sum = first.cpu + first.children_cpu;
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that has ended meanwhile is in the sum of its parent, from the next look on.
        if let Ok(stat) = Stat::of(pid)
            && stat.parent == postmaster
        {
            sum += stat.cpu;
        }
    }
    Ok(sum)
}

/// For each of so many jobs.
pub fn per_job(what: &str, before: &Reading, after: &Reading, jobs: usize) -> Vec<Figure> {
    let jobs = jobs.max(1) as f64;
    let mut figures = Vec::new();
    let mut sum = 0.0;
    for ((role, earlier), (_, later)) in before.cpu.iter().zip(&after.cpu) {
        let micros = later.saturating_sub(*earlier).as_secs_f64() * 1e6 / jobs;
        sum += micros;
        figures.push(Figure::new(format!("{what}: CPU per job, {role}"), micros, Unit::Microseconds, None));
    }
    figures.push(Figure::new(format!("{what}: CPU per job, all"), sum, Unit::Microseconds, None));
    figures.push(Figure::new(
        format!("{what}: WAL per job"),
        (after.wal - before.wal) as f64 / jobs,
        Unit::Bytes,
        None,
    ));
    if let (Some(earlier), Some(later)) = (before.statements, after.statements) {
        let statements = (later - earlier) as f64 / jobs;
        figures.push(Figure::new(format!("{what}: statements per job"), statements, Unit::Statements, None));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_divided_by_the_jobs_and_summed_over_processes() {
        let reading = |postgres, worker, wal| Reading {
            cpu: vec![("Postgres", Duration::from_millis(postgres)), ("worker", Duration::from_millis(worker))],
            wal,
            statements: None,
        };
        let figures = per_job("drain", &reading(100, 10, 1_000), &reading(400, 110, 9_000), 10_000);
        let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
        assert_eq!(values, [30.0, 10.0, 40.0, 0.8]);
        assert_eq!(reading(400, 110, 0).cpu_since(&reading(100, 10, 0), 10_000), Some(40.0));
    }
}
