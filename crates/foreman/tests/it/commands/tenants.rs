//! Commands of several tenants on one worker: a user each, or one tenant only.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_core::{Job, TenantId};
use foreman_engine::target::command::{Sharing, Users};
use foreman_engine::target::{Runner as _, Try, TryEnding};
use foreman_runtime::Tasks;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{Commands, attempt, error_of, is_root, output_of};
use crate::stage::{LONG, Stage, until};

fn of(tenant: &str, spec: &Value) -> Try {
    let attempt = attempt(spec);
    Try { job: Job { tenant: TenantId::new(tenant), ..attempt.job }, ..attempt }
}

/// The first of ten users that no machine has, for one test of this run: another run may be sweeping its own at the same time.
fn first_user(test: u32) -> u32 {
    200_000 + std::process::id() % 10_000 * 100 + test * 10
}

/// A runner that gives each tenant a user out of ten.
fn with_users(directory: &TempDir, first: u32) -> Commands {
    let mut commands = Commands::new();
    let (program, words) = (commands.launcher.program.clone(), commands.launcher.words.clone());
    let users = Users::new(first..=first + 9, directory.path().join("users"), program, words).unwrap();
    commands.sharing = Sharing::Nobody(Arc::new(users));
    commands
}

async fn run_of(runner: &foreman_engine::target::command::CommandRunner, tenant: &str, spec: &Value) -> TryEnding {
    tokio::time::timeout(LONG, runner.run(&of(tenant, spec))).await.expect("it ends")
}

async fn says(runner: &foreman_engine::target::command::CommandRunner, tenant: &str, line: &str) -> String {
    let ending = run_of(runner, tenant, &json!({"command": line})).await;
    output_of(&ending).stdout.trim().to_owned()
}

async fn told_that_only_root_can() {
    let said = Stage::new().foreman(&["check", "--allow-commands", "--set", "commands.users=60000-60009"]).await;
    assert!(said.err.contains("this process is not root"), "{said:?}");
}

fn is_dead(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()));
    matches!(state, None | Some('Z' | 'X'))
}

async fn written(path: &Path) -> String {
    until(&format!("there is {}", path.display()), async || {
        fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
    })
    .await
    .trim()
    .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_reads_and_changes_nothing_of_another_tenants() {
    if !is_root() {
        return told_that_only_root_can().await;
    }
    let directory = TempDir::with_prefix("foreman-it-").unwrap();
    let first = first_user(0);
    let commands = with_users(&directory, first);
    let runner = Arc::new(commands.runner());
    let note = commands.scratch.path().join("note");
    fs::create_dir(&note).unwrap();
    std::os::unix::fs::chown(&note, Some(first), Some(first)).unwrap();
    let (here, go) = (note.join("here"), note.join("go"));
    let line = format!(
        "echo whole > mine; (id -u; pwd) > {0}.new; mv {0}.new {0}; until [ -e {1} ]; do sleep 0.02; done; cat mine",
        here.display(),
        go.display()
    );
    let victim = {
        let runner = Arc::clone(&runner);
        let attempt = of("victim", &json!({"command": line, "env": {"API_TOKEN": "sesame-of-the-victim"}}));
        Tasks::new().spawn("another command", async move { runner.run(&attempt).await })
    };
    let told = written(&here).await;
    let (uid, place) = told.split_once('\n').unwrap();
    assert_eq!(uid, first.to_string());
    let attack = format!(
        "id -u; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; cat {place}/mine; echo TAMPERED > {place}/mine; kill -9 -1; true"
    );
    let ending = run_of(&runner, "curious", &json!({"command": attack, "max_attempts": 1})).await;
    let said = serde_json::to_string(&ending.report).unwrap();
    assert!(!said.contains("sesame") && !said.contains("whole"), "{said}");
    fs::write(&go, "").unwrap();
    let ending = tokio::time::timeout(LONG, victim).await.expect("it ends").unwrap();
    assert_eq!((ending.ended, output_of(&ending).stdout.as_str()), (AttemptEnd::Completed, "whole\n"), "{ending:?}");
    // Each keeps its own, and the file says so.
    let second = first + 1;
    assert_eq!(says(&runner, "curious", "id -u; id -G").await, format!("{second}\n{second}"));
    assert_eq!(says(&commands.runner(), "victim", "id -u").await, first.to_string());
    let kept = fs::read_to_string(directory.path().join("users/users")).unwrap();
    assert_eq!(kept, format!("{first} victim\n{second} curious\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_left_its_group_ends_with_the_last_command_of_its_tenant() {
    if !is_root() {
        return told_that_only_root_can().await;
    }
    let directory = TempDir::with_prefix("foreman-it-").unwrap();
    let first = first_user(1);
    let commands = with_users(&directory, first);
    let runner = Arc::new(commands.runner());
    let leave = "setsid sleep 1000 > /dev/null 2>&1 < /dev/null & echo $!; sleep 0.1";
    // Another of the same tenant runs meanwhile, and must not be ended.
    let note = commands.scratch.path().join("note");
    fs::create_dir(&note).unwrap();
    std::os::unix::fs::chown(&note, Some(first), Some(first)).unwrap();
    let (here, go) = (note.join("here"), note.join("go"));
    let line =
        format!("echo here > {}; until [ -e {} ]; do sleep 0.02; done; echo whole", here.display(), go.display());
    let other = {
        let runner = Arc::clone(&runner);
        let attempt = of("acme", &json!({"command": line}));
        Tasks::new().spawn("another command", async move { runner.run(&attempt).await })
    };
    written(&here).await;
    let left = says(&runner, "acme", leave).await;
    assert!(!is_dead(&left), "the tenant still has a command here");
    // Another worker of this machine, with the same file.
    let second = with_users(&directory, first);
    let second = (second.runner(), second);
    let left_by_second = says(&second.0, "acme", leave).await;
    assert!(!is_dead(&left) && !is_dead(&left_by_second), "one worker ends nothing of another's");
    fs::write(&go, "").unwrap();
    let ending = tokio::time::timeout(LONG, other).await.expect("it ends").unwrap();
    assert_eq!(output_of(&ending).stdout, "whole\n", "{ending:?}");
    let both = async {
        while !(is_dead(&left) && is_dead(&left_by_second)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, both).await.expect("it was the last, so they are ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_worker_left_ends_before_the_tenants_next_command() {
    if !is_root() {
        return told_that_only_root_can().await;
    }
    let directory = TempDir::with_prefix("foreman-it-").unwrap();
    let first = first_user(2);
    let mut left = Command::new("sleep").arg("1000").uid(first).gid(first).kill_on_drop(true).spawn().unwrap();
    let spared = Command::new("sleep").arg("1000").uid(first + 1).gid(first + 1).kill_on_drop(true).spawn().unwrap();
    let said = says(&with_users(&directory, first).runner(), "acme", "id -u").await;
    assert_eq!(said, first.to_string());
    let ended = tokio::time::timeout(LONG, left.wait()).await.expect("it was killed").unwrap();
    assert!(!ended.success());
    assert!(!is_dead(&spared.id().unwrap().to_string()), "another user's are not touched");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_users_a_worker_runs_commands_of_one_tenant_unless_it_is_told_to_share() {
    let mut commands = Commands::new();
    commands.sharing = Sharing::OneTenant;
    let runner = commands.runner();
    assert_eq!(says(&runner, "acme", "echo one").await, "one");
    let ending = run_of(&runner, "beta", &json!({"command": "echo two"})).await;
    assert!(matches!(ending.ended, AttemptEnd::Again { after: Some(_) }), "{ending:?}");
    let why = error_of(&ending);
    assert!(why.contains("commands of the tenant acme") && why.contains("commands.users"), "{why}");
    assert_eq!(says(&runner, "acme", "echo three").await, "three");
    commands.sharing = Sharing::AnyTenants;
    let runner = commands.runner();
    for tenant in ["acme", "beta"] {
        assert_eq!(says(&runner, tenant, "echo shared").await, "shared");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_that_cannot_be_are_told_at_the_start() {
    let stage = Stage::new();
    let mut cases = vec![
        ("commands.users=60000", "is not a range of user ids"),
        ("commands.users=0-10", "is not a range of user ids"),
    ];
    if is_root() {
        cases.push(("commands.users=65000-65534", "the user nobody"));
    }
    for (set, why) in cases {
        let said = stage.foreman(&["check", "--allow-commands", "--set", set]).await;
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains("commands.users") && said.err.contains(why), "{said:?}");
    }
    let both = ["check", "--allow-commands", "--set", "commands.users=60000-60009", "--set", "commands.user=nobody"];
    let said = stage.foreman(&both).await;
    assert!(said.code == 2 && said.err.contains("set only one of them"), "{said:?}");
}
