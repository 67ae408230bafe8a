//! Each limit limits.

use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_engine::target::command::ProcessLimits;
use nix::sys::signal::Signal;
use serde_json::json;

use super::{Commands, STRANGER, error_of, is_root, output_of};

const NONE: ProcessLimits =
    ProcessLimits { cpu: None, memory: None, processes: None, open_files: None, file_size: None, core_size: None };

const AGAIN: AttemptEnd = AttemptEnd::Again { after: None };

#[tokio::test(flavor = "multi_thread")]
async fn a_command_writes_no_file_larger_than_it_may() {
    let spec = json!({"command": ["dd", "if=/dev/zero", "of=big", "bs=1M", "count=100"]});
    let ending = Commands::with(ProcessLimits::default()).run(&spec).await;
    assert_eq!(ending.ended, AGAIN);
    if is_ignored(Signal::SIGXFSZ) {
        // Who runs the tests was started so, as by a Python program, and it is handed on: the write fails instead.
        assert!(output_of(&ending).stderr.contains("File too large"), "{ending:?}");
    } else {
        assert_eq!(error_of(&ending), "killed by signal 25 (SIGXFSZ): it exceeded the file size limit");
    }
    let ending = Commands::with(NONE).run(&spec).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "the limit did it: {ending:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_just_as_large_as_it_may_be_is_written() {
    let commands = Commands::with(ProcessLimits { file_size: Some(1 << 20), ..NONE });
    let said = commands.says("head -c 1048576 /dev/zero > just && stat -c %s just").await;
    assert_eq!(said, "1048576");
    // What it prints is no file.
    let ending = commands.run(&json!({"command": "head -c 3000000 /dev/zero"})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_opens_no_more_files_than_it_may() {
    let line = "tee $(seq -f file%g 300) < /dev/null";
    let ending = Commands::with(ProcessLimits::default()).run(&json!({"command": line})).await;
    assert!(output_of(&ending).stderr.contains("Too many open files"), "{ending:?}");
    assert_ne!(ending.ended, AttemptEnd::Completed);
    let ending = Commands::with(ProcessLimits { open_files: Some(400), ..NONE }).run(&json!({"command": line})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "the limit did it: {ending:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_uses_no_more_of_the_processor_than_it_may() {
    let commands = Commands::with(ProcessLimits { cpu: Some(Duration::from_secs(1)), ..NONE });
    let ending = commands.run(&json!({"command": "while :; do :; done"})).await;
    assert_eq!(ending.ended, AGAIN);
    assert_eq!(error_of(&ending), "killed by signal 24 (SIGXCPU): it exceeded the CPU time limit");
    let ending = commands.run(&json!({"command": "trap '' XCPU; while :; do :; done"})).await;
    assert_eq!(error_of(&ending), "killed by signal 9 (SIGKILL)", "it does not help to ignore it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_takes_no_more_memory_than_it_may() {
    let spec = json!({"command": ["dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"]});
    let ending = Commands::with(ProcessLimits { memory: Some(128 << 20), ..NONE }).run(&spec).await;
    assert_eq!(ending.ended, AGAIN, "{ending:?}");
    assert!(output_of(&ending).stderr.contains("memory exhausted"), "{ending:?}");
    let ending = Commands::with(NONE).run(&spec).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "the limit did it: {ending:?}");
}

/// The least that can be set is less than the launcher has: it must get through all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_gets_through_with_less_memory_than_it_has() {
    let commands = Commands::with(ProcessLimits { memory: Some(16 << 20), ..ProcessLimits::default() });
    for (count, length) in [(0, 0), (60, 10), (60, 1_000), (20, 20_000), (30, 32_000)] {
        let env: serde_json::Map<_, _> = (0..count).map(|n| (format!("NAME_{n}"), json!("x".repeat(length)))).collect();
        let ending = commands.run(&json!({"command": ["/bin/true"], "env": env})).await;
        assert_eq!(ending.ended, AttemptEnd::Completed, "{count} of {length}: {ending:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_starts_no_more_processes_than_its_user_may() {
    // Root is not held to it, and everybody else has processes already.
    let (most, user) = if is_root() { (5, Some(STRANGER)) } else { (1, None) };
    let mut commands = Commands::with(ProcessLimits { processes: Some(most), ..NONE });
    commands.launcher.user = user;
    let line = "for n in 1 2 3 4 5 6 7 8 9; do sleep 20 & done; echo all";
    let ending = commands.run(&json!({"command": line})).await;
    let output = output_of(&ending);
    assert!(output.stderr.to_lowercase().contains("fork"), "{ending:?}");
    assert_ne!(output.stdout, "all\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_limit_is_the_kernels() {
    let all = ProcessLimits {
        cpu: Some(Duration::from_secs(77)),
        memory: Some(1 << 30),
        processes: Some(1_234),
        open_files: Some(99),
        file_size: Some(1 << 20),
        core_size: Some(0),
    };
    let shown = Commands::with(all).says("exec cat /proc/self/limits").await;
    for (name, soft, hard) in [
        ("Max cpu time", "77", "78"),
        ("Max file size", "1048576", "1048576"),
        ("Max core file size", "0", "0"),
        ("Max processes", "1234", "1234"),
        ("Max open files", "99", "99"),
        ("Max address space", "1073741824", "1073741824"),
    ] {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {shown}"));
        let values: Vec<&str> = line[name.len()..].split_whitespace().take(2).collect();
        assert_eq!(values, [soft, hard], "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_no_core_is_left_and_few_files_are_open() {
    let said = Commands::new().says("ulimit -c; ulimit -n; ulimit -f").await;
    assert_eq!(said, "0\n256\n131072", "in blocks of 512 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_beyond_that_of_the_machine_changes_nothing() {
    // The launcher is started under a limit of its own.
    let mut commands = Commands::with(ProcessLimits { open_files: Some(5_000), ..NONE });
    let program = commands.launcher.program.to_str().unwrap().to_owned();
    let line = r#"ulimit -n 100; exec "$0" "$@""#;
    commands.launcher.words.splice(0..0, ["-c".to_owned(), line.to_owned(), program]);
    commands.launcher.program = "/bin/sh".into();
    assert_eq!(commands.says("ulimit -n; ulimit -Hn").await, "100\n100");
}

/// Whether this process ignores a signal; what it starts then does too.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & (1 << (signal as u32 - 1)) != 0
}
