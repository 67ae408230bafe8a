//! Tries to run, and how to wait for them.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::job::Occasion;
use foreman_core::limits::Limits;
use foreman_core::outcome::AttemptEnd;
use foreman_core::spec::{JobSpec, Validate as _};
use foreman_core::{Fence, Job, TenantId, Timestamp, Work};
use foreman_engine::output::OutputHub;
use foreman_engine::target::command::{self, CommandRunner, Unlocked};
use foreman_engine::target::{Runner, Try, TryEnding};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub const AGAIN: AttemptEnd = AttemptEnd::Again { after: None };

pub fn job_from(text: &str) -> Job {
    let spec: JobSpec = serde_json::from_str(text).unwrap();
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let job = spec.validate(&TenantId::default(), &Limits::default(), now).unwrap();
    Job { id: job.id, tenant: job.tenant, work: job.work, created_at: now }
}

/// The third attempt of a job, under fence 42.
pub fn attempt_of(job: Job) -> Try {
    Try { job, fence: Fence(42), attempt: 3, stop: CancellationToken::new() }
}

pub fn attempt(spec: &Value) -> Try {
    attempt_of(job_from(&spec.to_string()))
}

/// An attempt of the job that the tick of 9 o'clock made.
pub fn attempt_of_a_tick(spec: &Value) -> Try {
    let job = job_from(&spec.to_string());
    let nominal = "2026-11-15T09:00:00Z".parse().unwrap();
    let occasion = Some(Occasion { schedule: "reports.daily-9".into(), nominal });
    let work = Work { occasion, ..(*job.work).clone() };
    attempt_of(Job { work: Arc::new(work), ..job })
}

pub async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("it hangs")
}

/// Waits until `level` holds.
pub async fn until(what: &str, mut level: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if level() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to be that {what}");
}

pub fn error_of(ending: &TryEnding) -> &str {
    ending.report.error.as_deref().unwrap_or_default()
}

/// A runner with the search path of the machine and a grace that a test can wait for.
pub fn commands() -> CommandRunner {
    commands_on(OutputHub::default())
}

pub fn commands_on(hub: OutputHub) -> CommandRunner {
    let config = command::Config {
        inherited: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        kill_grace: Duration::from_millis(400),
        ..command::Config::default()
    };
    CommandRunner::new(config, Arc::new(Unlocked), hub)
}

pub async fn run_command(spec: &Value) -> TryEnding {
    in_time(commands().run(&attempt(spec))).await
}

pub fn stdout_of(ending: &TryEnding) -> &str {
    ending.report.output.as_ref().map(|output| output.stdout.as_str()).unwrap_or_default()
}

/// Runs the attempt on a task of its own, so that a test can stop it.
pub fn start(
    tasks: &foreman_runtime::Tasks,
    runner: Arc<dyn Runner>,
    attempt: Try,
) -> foreman_runtime::Task<TryEnding> {
    tasks.spawn("attempt", async move { runner.run(&attempt).await })
}
