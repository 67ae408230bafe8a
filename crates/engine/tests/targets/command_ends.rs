//! How commands end, by themselves and when they are stopped, and that nothing of them is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_engine::output::OutputHub;
use foreman_engine::target::Runner;
use foreman_engine::target::command::{self, CommandRunner, Unlocked};
use foreman_runtime::Tasks;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::json;
use tempfile::TempDir;

use crate::given::{AGAIN, attempt, commands, error_of, in_time, run_command, start, stdout_of, until};

#[tokio::test]
async fn the_exit_code_decides() {
    for (code, ended) in [
        (0, AttemptEnd::Completed),
        (1, AGAIN),
        (2, AGAIN),
        (126, AttemptEnd::Failed),
        (127, AttemptEnd::Failed),
        (255, AGAIN),
    ] {
        let ending = run_command(&json!({"command": format!("echo out; exit {code}")})).await;
        assert_eq!(ending.ended, ended, "{code}");
        match ended {
            AttemptEnd::Completed => assert_eq!(ending.report.error, None),
            _ => assert_eq!(error_of(&ending), format!("exited with code {code}")),
        }
        let output = ending.report.output.unwrap();
        assert_eq!((output.exit_code, output.signal, output.stdout.as_str()), (Some(code), None, "out\n"));
    }
}

#[tokio::test]
async fn a_job_may_give_exit_codes_another_meaning() {
    let codes = json!({"completed": [0, 3], "failed": [4]});
    for (code, ended) in [(0, AttemptEnd::Completed), (3, AttemptEnd::Completed), (4, AttemptEnd::Failed), (127, AGAIN)]
    {
        let ending = run_command(&json!({"command": format!("exit {code}"), "exit_codes": codes})).await;
        assert_eq!(ending.ended, ended, "{code}");
    }
}

#[tokio::test]
async fn a_command_killed_by_a_signal_is_worth_another_try() {
    let ending = run_command(&json!({"command": "kill -9 $$"})).await;
    assert_eq!(ending.ended, AGAIN);
    assert_eq!(error_of(&ending), "killed by signal 9 (SIGKILL)");
    let output = ending.report.output.unwrap();
    assert_eq!((output.exit_code, output.signal), (None, Some(9)));
}

/// A place where a script leaves the numbers of its processes.
struct Pids {
    directory: TempDir,
}

impl Pids {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn of(&self, name: &str) -> Option<Pid> {
        let text = std::fs::read_to_string(self.file(name)).ok()?;
        text.strip_suffix('\n')?.parse().ok().map(Pid::from_raw)
    }

    async fn written(&self, name: &str) -> Pid {
        until(&format!("the process {name} has started"), || self.of(name).is_some()).await;
        self.of(name).unwrap()
    }
}

/// A zombie nobody has reaped yet is dead.
fn is_dead(pid: Pid) -> bool {
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    kill(pid, None) == Err(Errno::ESRCH) || matches!(state(), None | Some('Z' | 'X'))
}

async fn all_dead(pids: &[Pid]) {
    until("all of its processes are dead", || pids.iter().copied().all(is_dead)).await;
}

#[tokio::test]
async fn a_stopped_command_may_tidy_up_within_its_grace() {
    let pids = Pids::new();
    let script = "trap 'echo tidied; exit 5' TERM; echo $$ > leader; while :; do sleep 0.02; done";
    let attempt = attempt(&json!({"command": script, "cwd": pids.path()}));
    let stop = attempt.stop.clone();
    let running = start(&Tasks::new(), Arc::new(patient()), attempt);
    let leader = pids.written("leader").await;
    stop.cancel();
    let ending = in_time(running).await.unwrap();
    assert_eq!(ending.ended, AttemptEnd::Interrupted);
    assert_eq!(error_of(&ending), "stopped: exited with code 5");
    assert_eq!(stdout_of(&ending), "tidied\n");
    all_dead(&[leader]).await;
}

/// With a grace longer than any test waits, so that whoever ends did so by itself.
fn patient() -> CommandRunner {
    let config = command::Config {
        inherited: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        kill_grace: Duration::from_mins(2),
        ..command::Config::default()
    };
    CommandRunner::new(config, Arc::new(Unlocked), OutputHub::default())
}

#[tokio::test]
async fn a_command_that_ignores_term_is_killed_after_its_grace() {
    let pids = Pids::new();
    let script = "trap '' TERM; echo $$ > leader; echo started; while :; do sleep 0.02; done";
    let attempt = attempt(&json!({"command": script, "cwd": pids.path()}));
    let stop = attempt.stop.clone();
    let running = start(&Tasks::new(), Arc::new(commands()), attempt);
    let leader = pids.written("leader").await;
    stop.cancel();
    let ending = in_time(running).await.unwrap();
    assert_eq!(error_of(&ending), "stopped: killed by signal 9 (SIGKILL)");
    assert_eq!((ending.ended, stdout_of(&ending)), (AttemptEnd::Interrupted, "started\n"));
    all_dead(&[leader]).await;
}

const FAMILY: &str = "
    trap '' TERM
    sh -c 'echo $$ > child; while :; do sleep 0.02; done' &
    ( ( sh -c 'echo $$ > orphan; while :; do sleep 0.02; done' & ) & )
    echo $$ > leader
    while :; do sleep 0.02; done";

#[tokio::test]
async fn its_children_and_orphans_die_with_a_stopped_command() {
    let pids = Pids::new();
    let attempt = attempt(&json!({"command": FAMILY, "cwd": pids.path()}));
    let stop = attempt.stop.clone();
    let running = start(&Tasks::new(), Arc::new(commands()), attempt);
    let family = [pids.written("leader").await, pids.written("child").await, pids.written("orphan").await];
    assert!(!family.iter().copied().any(is_dead), "all of them run");
    stop.cancel();
    in_time(running).await.unwrap();
    all_dead(&family).await;
}

#[tokio::test]
async fn the_whole_group_dies_when_the_attempt_is_dropped() {
    let pids = Pids::new();
    let running = start(&Tasks::new(), Arc::new(patient()), attempt(&json!({"command": FAMILY, "cwd": pids.path()})));
    let family = [pids.written("leader").await, pids.written("child").await, pids.written("orphan").await];
    running.abort();
    all_dead(&family).await;
    // And the leader is reaped, not left as a zombie.
    until("the leader is reaped", || kill(family[0], None) == Err(Errno::ESRCH)).await;
}

#[tokio::test]
async fn the_grace_is_also_that_of_what_a_shell_had_started() {
    let pids = Pids::new();
    // The shell dies of TERM at once; its child needs a moment to save its work.
    let child = "trap 'sleep 0.2; echo saved > saved; exit 0' TERM; echo $$ > child; while :; do sleep 0.02; done";
    let spec = json!({"command": format!("sh -c \"$CHILD\"; true"), "env": {"CHILD": child}, "cwd": pids.path()});
    let attempt = attempt(&spec);
    let stop = attempt.stop.clone();
    let running = start(&Tasks::new(), Arc::new(patient()), attempt);
    let child = pids.written("child").await;
    stop.cancel();
    let ending = in_time(running).await.unwrap();
    assert_eq!(ending.ended, AttemptEnd::Interrupted);
    assert!(pids.file("saved").exists(), "it was killed while it was saving: {ending:?}");
    all_dead(&[child]).await;
}

#[tokio::test]
async fn what_a_command_leaves_running_is_killed_when_it_ends() {
    let pids = Pids::new();
    let script =
        "sh -c 'echo $$ > left; while :; do sleep 0.02; done' & while ! [ -s left ]; do sleep 0.02; done; echo bye";
    let ending = in_time(patient().run(&attempt(&json!({"command": script, "cwd": pids.path()})))).await;
    assert_eq!((ending.ended, stdout_of(&ending)), (AttemptEnd::Completed, "bye\n"));
    all_dead(&[pids.written("left").await]).await;
}

#[tokio::test]
async fn one_that_left_the_group_and_holds_the_pipe_does_not_hold_the_attempt() {
    let pids = Pids::new();
    let script = "setsid sh -c 'echo $$ > gone; sleep 60' & while ! [ -s gone ]; do sleep 0.02; done; echo bye";
    let ending = in_time(patient().run(&attempt(&json!({"command": script, "cwd": pids.path()})))).await;
    assert_eq!((ending.ended, stdout_of(&ending)), (AttemptEnd::Completed, "bye\n"));
    let gone = pids.written("gone").await;
    assert!(!is_dead(gone), "it left on purpose, and is left alone");
    kill(gone, nix::sys::signal::Signal::SIGKILL).unwrap();
}

#[tokio::test]
async fn a_stopped_command_that_reads_no_input_and_floods_its_output_still_ends() {
    let body = "x".repeat(256 * 1024);
    let attempt = attempt(&json!({"command": "yes & echo; yes >&2", "body": body}));
    let stop = attempt.stop.clone();
    let hub = OutputHub::default();
    let running = start(&Tasks::new(), Arc::new(crate::given::commands_on(hub.clone())), attempt);
    until("it prints", || hub.jobs() == 1).await;
    stop.cancel();
    let ending = in_time(running).await.unwrap();
    assert_eq!(ending.ended, AttemptEnd::Interrupted);
}
