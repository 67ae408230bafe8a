//! What is taken from a command, and that its launcher cannot be noticed otherwise.

use foreman_core::outcome::AttemptEnd;
use nix::sys::signal::Signal;
use serde_json::json;

use super::{Commands, error_of, output_of};
use crate::stage::{Stage, run};

const AGAIN: AttemptEnd = AttemptEnd::Again { after: None };

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gains_no_privileges() {
    let status = Commands::new().says("cat /proc/self/status").await;
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_command_are_its_own() {
    let said = Commands::new().says("umask; touch file; mkdir dir; stat -c %a file dir").await;
    assert_eq!(said, "0077\n600\n700");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_inherits_no_open_file() {
    let mut commands = Commands::new();
    // Nor what whoever started Foreman had left open.
    let program = commands.launcher.program.to_str().unwrap().to_owned();
    let line = r#"exec 7< /dev/null 8> /dev/null "$0" "$@""#;
    commands.launcher.words.splice(0..0, ["-c".to_owned(), line.to_owned(), program]);
    commands.launcher.program = "/bin/sh".into();
    let said = commands.says("exec ls /proc/self/fd").await;
    assert_eq!(said, "0\n1\n2\n3", "the three it is given, and the directory that it lists");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_work_in_a_command_as_anywhere() {
    let commands = Commands::new();
    let status = commands.says("exec cat /proc/self/status").await;
    assert!(status.contains("SigBlk:\t0000000000000000"), "{status}");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    // Whoever started the tests may ignore others; this one every Rust program does.
    assert_eq!(ignored & (1 << (Signal::SIGPIPE as u32 - 1)), 0, "{status}");
    let ending = commands.run(&json!({"command": "yes | head -n 1"})).await;
    let output = output_of(&ending);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("y\n", ""), "a closed pipe ends it quietly");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_finds_its_variables_and_no_others() {
    let spec = json!({"command": ["env"], "env": {"GREETING": "hello", "EMPTY": ""}});
    let ending = Commands::new().run(&spec).await;
    let mut lines: Vec<&str> = output_of(&ending).stdout.lines().collect();
    lines.sort_unstable();
    let names: Vec<&str> = lines.iter().map(|line| line.split('=').next().unwrap()).collect();
    assert_eq!(names, ["EMPTY", "FOREMAN_ATTEMPT", "FOREMAN_FENCE", "FOREMAN_JOB_ID", "GREETING", "PATH"], "{lines:?}");
    assert!(lines.contains(&"GREETING=hello") && lines.contains(&"PATH=/usr/local/bin:/usr/bin:/bin"));
}

/// The launcher may be root; what a tenant says in a variable must not be run in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_variable_of_the_loader_works_on_the_command_alone() {
    let ending = Commands::new().run(&json!({"command": ["true"], "env": {"LD_PRELOAD": "/no/such.so"}})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed);
    let complaints = output_of(&ending).stderr.matches("/no/such.so").count();
    assert_eq!(complaints, 1, "one process was asked to load it: {ending:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_found_along_the_path_of_the_job() {
    let directory = tempfile::tempdir().unwrap();
    let tool = directory.path().join("tool-of-this-test");
    std::os::unix::fs::symlink("/bin/echo", &tool).unwrap();
    let commands = Commands::new();
    let argv = json!(["tool-of-this-test", "found"]);
    let ending = commands.run(&json!({"command": argv, "env": {"PATH": directory.path()}})).await;
    assert_eq!(output_of(&ending).stdout, "found\n");
    let ending = commands.run(&json!({"command": argv})).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_is_told_as_without_a_launcher() {
    let commands = Commands::new();
    for program in ["no-such-program-anywhere", "/no/such/program"] {
        let ending = commands.run(&json!({"command": [program]})).await;
        let error = format!("cannot run {program}: No such file or directory (os error 2)");
        assert_eq!(
            (ending.ended, error_of(&ending), &ending.report.output),
            (AttemptEnd::Failed, error.as_str(), &None)
        );
    }
    let ending = commands.run(&json!({"command": ["no-such-program-anywhere"], "exit_codes": {"failed": [1]}})).await;
    assert_eq!(ending.ended, AGAIN, "a job may say that it is worth a retry");

    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\necho hi\n").unwrap();
    let ending = commands.run(&json!({"command": [plain]})).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
    assert!(error_of(&ending).starts_with(&format!("cannot run {}: Permission denied", plain.display())), "{ending:?}");

    let missing = directory.path().join("missing");
    for (cwd, why) in [(&missing, "No such file or directory"), (&plain, "Not a directory")] {
        let ending = commands.run(&json!({"command": ["true"], "cwd": cwd})).await;
        assert_eq!((ending.ended, &ending.report.output), (AttemptEnd::Failed, &None));
        assert!(error_of(&ending).starts_with(&format!("cannot enter {}: {why}", cwd.display())), "{ending:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_of_the_program_are_its_own() {
    let commands = Commands::new();
    for (code, ended) in
        [(0, AttemptEnd::Completed), (2, AGAIN), (125, AGAIN), (126, AttemptEnd::Failed), (127, AttemptEnd::Failed)]
    {
        let ending = commands.run(&json!({"command": format!("exit {code}")})).await;
        assert_eq!((ending.ended, output_of(&ending).exit_code), (ended, Some(code)));
    }
    let ending = commands.run(&json!({"command": ["cat"], "body": "to the letter"})).await;
    assert_eq!(output_of(&ending).stdout, "to the letter");
}

/// What a launcher says when there is no such program, from a program that runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_cannot_pretend_that_it_was_not_started() {
    let line = r"
        for fd in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            printf 'p\002\000\000\000' > /proc/self/fd/$fd
        done 2> /dev/null
        printf 'p\002\000\000\000'; printf 'p\002\000\000\000' >&2
        exit 5";
    let ending = Commands::new().run(&json!({"command": line})).await;
    assert_eq!((ending.ended, error_of(&ending)), (AGAIN, "exited with code 5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_whose_parent_is_gone_starts_nothing() {
    let stage = Stage::new();
    let left = stage.path().join("left");
    let touch = format!("touch {}", left.display());
    // Nobody's number: the largest there is.
    let said = stage.foreman(&["launch-command", "--parent", "4194304", "--", "sh", "-c", &touch]).await;
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("cannot find its parent process"), "{said:?}");
    assert!(!left.exists());
    let here = std::process::id().to_string();
    let said = stage.foreman(&["launch-command", "--parent", &here, "--", "sh", "-c", &touch]).await;
    assert_eq!(said.code, 0, "{said:?}");
    assert!(left.exists(), "with its parent alive it does");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_tries_the_launcher_by_hand_is_told_what_it_is() {
    let stage = Stage::new();
    for words in [&["launch-command"][..], &["launch-command", "--help"], &["launch-command", "true"]] {
        let said = stage.foreman(words).await;
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
        assert!(said.err.contains("internally to start the commands of jobs"), "{said:?}");
    }
    let said = stage.foreman(&["launch-command", "true"]).await;
    assert!(said.err.contains("unknown argument \"true\""), "{said:?}");
    for words in [&["--help"][..], &["completions", "bash"]] {
        let mut command = stage.command();
        command.args(words);
        let said = run(command, None).await;
        assert!(!said.out.contains("launch-command"), "it is nobody's business: {words:?}");
    }
}
