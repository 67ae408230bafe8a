//! Commands as the binary starts them: by way of its launcher.
//!
//! Most of these run the engine's own runner with the real launcher, without a server around it. Who is not root cannot
//! run commands as another user; then the tests about that see it refused.

mod launcher;
mod limits;
mod neighbours;
mod server;
mod tenants;
mod users;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreman_core::limits::Limits as JobLimits;
use foreman_core::outcome::CommandReport;
use foreman_core::spec::{JobSpec, Validate as _};
use foreman_core::{Fence, Job, TenantId, Timestamp};
use foreman_engine::output::OutputHub;
use foreman_engine::target::command::{self, CommandRunner, Identity, Launcher, ProcessLimits, Sharing, Unlocked};
use foreman_engine::target::{Runner as _, Try, TryEnding};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{LONG, Stage};

/// Nobody's numbers on any machine: what counts processes of a user counts ours alone.
const STRANGER: Identity = Identity { uid: 54_241, gid: 54_242 };

/// A runner in a directory of its own, which everybody may pass through.
struct Commands {
    launcher: Launcher,
    scratch: TempDir,
    sharing: Sharing,
}

impl Commands {
    fn new() -> Self {
        let program = PathBuf::from(Stage::new().command().as_std().get_program());
        let launcher =
            Launcher { program, words: vec!["launch-command".into()], limits: ProcessLimits::default(), user: None };
        let scratch = TempDir::with_prefix("foreman-it-").unwrap();
        open_to_all(scratch.path());
        Self { launcher, scratch, sharing: Sharing::AnyTenants }
    }

    fn with(limits: ProcessLimits) -> Self {
        let mut commands = Self::new();
        commands.launcher.limits = limits;
        commands
    }

    fn as_user(user: Identity) -> Self {
        let mut commands = Self::new();
        commands.launcher.user = Some(user);
        commands
    }

    fn runner(&self) -> CommandRunner {
        let config = command::Config {
            inherited: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            scratch: Some(self.scratch.path().to_owned()),
            launcher: Some(self.launcher.clone()),
            sharing: self.sharing.clone(),
            ..command::Config::default()
        };
        CommandRunner::new(config, Arc::new(Unlocked), OutputHub::default())
    }

    async fn run(&self, spec: &Value) -> TryEnding {
        tokio::time::timeout(LONG, self.runner().run(&attempt(spec))).await.expect("it ends")
    }

    /// What a line of a shell prints.
    async fn says(&self, line: &str) -> String {
        let ending = self.run(&json!({"command": line})).await;
        output_of(&ending).stdout.trim().to_owned()
    }
}

#[expect(clippy::default_trait_access, reason = "its type is of a crate that nothing else here needs")]
fn attempt(spec: &Value) -> Try {
    let spec: JobSpec = serde_json::from_value(spec.clone()).unwrap();
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let job = spec.validate(&TenantId::default(), &JobLimits::default(), now).unwrap();
    let job = Job { id: job.id, tenant: job.tenant, work: job.work, created_at: now };
    Try { job, fence: Fence(42), attempt: 1, stop: Default::default() }
}

fn output_of(ending: &TryEnding) -> &CommandReport {
    ending.report.output.as_ref().unwrap_or_else(|| panic!("it did not run: {ending:?}"))
}

fn error_of(ending: &TryEnding) -> &str {
    ending.report.error.as_deref().unwrap_or_default()
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}
