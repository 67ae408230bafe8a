//! What a command is given, and commands that cannot be started.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use foreman_core::outcome::AttemptEnd;
use foreman_core::sealed::Keyring;
use foreman_core::{Job, TenantId};
use foreman_engine::output::OutputHub;
use foreman_engine::target::Runner;
use foreman_engine::target::command::{self, CommandRunner, Unlocked};
use serde_json::json;

use crate::given::{
    AGAIN, attempt, attempt_of, attempt_of_a_tick, commands, error_of, in_time, run_command, stdout_of,
};

#[tokio::test]
async fn an_array_is_run_as_it_is_and_nothing_in_it_is_interpreted() {
    let arguments = ["$HOME; echo no", "a  b", "*", "`id`", "", "it's \"quoted\"", "--", "ü\n"];
    let mut argv = vec!["printf", "<%s>"];
    argv.extend(arguments);
    let ending = run_command(&json!({"command": argv})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
    let expected = format!("<{}>", arguments.join("><"));
    assert_eq!(stdout_of(&ending), expected);
}

#[tokio::test]
async fn a_string_is_run_by_the_shell() {
    let ending = run_command(&json!({"command": "for i in 1 2; do echo \"n$i\"; done | tr n N"})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
    assert_eq!(stdout_of(&ending), "N1\nN2\n");
}

#[tokio::test]
async fn the_environment_is_the_allowed_one_and_the_jobs() {
    let ours = std::fs::read_to_string("/proc/self/environ").unwrap_or_default();
    assert!(ours.split('\0').count() > 2, "there is something that could be inherited");
    let attempt = attempt(&json!({"command": ["env"], "env": {"GREETING": "hello there"}}));
    let ending = in_time(commands().run(&attempt)).await;
    let mut lines: Vec<&str> = stdout_of(&ending).lines().collect();
    lines.sort_unstable();
    let job = format!("FOREMAN_JOB_ID={}", attempt.job.id);
    let expected =
        ["FOREMAN_ATTEMPT=3", "FOREMAN_FENCE=42", &job, "GREETING=hello there", "PATH=/usr/local/bin:/usr/bin:/bin"];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn sealed_variables_are_opened_for_the_command_alone() {
    let ring: Keyring = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".parse().unwrap();
    let sealed = |tenant: &TenantId| {
        let plain = attempt(&json!({"command": "echo $TOKEN", "env": {"TOKEN": "sesame"}}));
        let mut work = (*plain.job.work).clone();
        work.target.seal(&ring, tenant);
        attempt_of(Job { work: Arc::new(work), ..plain.job })
    };
    let with = |keyring| {
        let inherited = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        let config = command::Config { inherited, keyring, ..command::Config::default() };
        CommandRunner::new(config, Arc::new(Unlocked), OutputHub::default())
    };
    let own = sealed(&TenantId::default());
    assert!(!format!("{own:?}").contains("sesame"));
    let ending = in_time(with(Some(Arc::new(ring.clone()))).run(&own)).await;
    assert_eq!(stdout_of(&ending), "sesame\n");
    for (keyring, attempt) in [(None, own), (Some(Arc::new(ring.clone())), sealed(&TenantId::new("another")))] {
        let ending = in_time(with(keyring).run(&attempt)).await;
        assert_eq!((ending.ended, &ending.report.output), (AGAIN, &None), "another worker may have the key");
        assert!(error_of(&ending).starts_with("cannot decrypt the variables of the command: "), "{ending:?}");
    }
}

#[tokio::test]
async fn the_job_of_a_tick_knows_its_schedule_and_the_time_it_belongs_to() {
    let print = json!({"command": "echo ${FOREMAN_SCHEDULE-none} ${FOREMAN_SCHEDULED_FOR-none}",
                       "env": {"FOREMAN_SCHEDULE": "what a job says of itself"}});
    let ending = in_time(commands().run(&attempt_of_a_tick(&print))).await;
    assert_eq!(stdout_of(&ending), "reports.daily-9 2026-11-15T09:00:00.000000Z\n");
    let ending = run_command(&json!({"command": "echo ${FOREMAN_SCHEDULE-none} ${FOREMAN_SCHEDULED_FOR-none}"})).await;
    assert_eq!(stdout_of(&ending), "none none\n", "somebody submitted it");
}

#[tokio::test]
async fn the_body_is_its_input_to_the_letter() {
    let payload = r#"{ "a" : 1.0 }"#;
    let job = crate::given::job_from(&format!(r#"{{"command": ["cat"], "payload": {payload}}}"#));
    let ending = in_time(commands().run(&crate::given::attempt_of(job))).await;
    assert_eq!(stdout_of(&ending), payload);
    let ending = run_command(&json!({"command": ["cat"], "body": "line\nü"})).await;
    assert_eq!(stdout_of(&ending), "line\nü");
}

#[tokio::test]
async fn without_a_body_the_input_is_empty() {
    let ending = run_command(&json!({"command": ["wc", "-c"]})).await;
    assert_eq!((ending.ended, stdout_of(&ending).trim()), (AttemptEnd::Completed, "0"));
}

#[tokio::test]
async fn a_large_input_and_a_large_output_do_not_block_each_other() {
    let body = "0123456789abcdef".repeat(16 * 1024);
    let ending = run_command(&json!({"command": ["cat"], "body": body})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed);
    let output = ending.report.output.unwrap();
    assert!(output.stdout_truncated);
    assert_eq!(output.stdout, body[..64 * 1024]);
}

#[tokio::test]
async fn a_command_need_not_read_its_input() {
    let body = "x".repeat(256 * 1024);
    let ending = run_command(&json!({"command": ["true"], "body": body})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
    let ending = run_command(&json!({"command": "exec <&-; sleep 0.1; echo done", "body": body})).await;
    assert_eq!(stdout_of(&ending), "done\n");
}

#[tokio::test]
async fn it_runs_where_the_job_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let ending = run_command(&json!({"command": ["pwd"], "cwd": path})).await;
    assert_eq!(stdout_of(&ending).trim(), path.to_str().unwrap());
}

#[tokio::test]
async fn a_place_that_is_not_there_fails_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (missing, file) = (directory.path().join("missing"), directory.path().join("file"));
    std::fs::write(&file, "").unwrap();
    for (cwd, why) in [(&missing, "No such file or directory"), (&file, "Not a directory")] {
        let ending = run_command(&json!({"command": ["true"], "cwd": cwd})).await;
        assert_eq!(ending.ended, AttemptEnd::Failed);
        assert!(error_of(&ending).starts_with(&format!("cannot enter {}: {why}", cwd.display())), "{ending:?}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_fails_at_once() {
    for program in ["no-such-program-anywhere", "/no/such/program"] {
        let ending = run_command(&json!({"command": [program, "x"]})).await;
        assert_eq!(ending.ended, AttemptEnd::Failed);
        assert!(
            error_of(&ending).starts_with(&format!("cannot run {program}: No such file or directory")),
            "{ending:?}"
        );
        assert_eq!(ending.report.output, None);
    }
    let ending = run_command(&json!({"command": "no-such-program-anywhere"})).await;
    assert_eq!(
        (ending.ended, ending.report.output.unwrap().exit_code),
        (AttemptEnd::Failed, Some(127)),
        "nor in a shell"
    );
}

#[tokio::test]
async fn a_program_that_is_missing_may_be_worth_a_retry_if_the_job_says_so() {
    let spec = json!({"command": ["no-such-program-anywhere"], "exit_codes": {"failed": [1]}});
    assert_eq!(run_command(&spec).await.ended, AGAIN);
}

#[tokio::test]
async fn a_file_that_is_no_program_fails_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\necho hi\n").unwrap();
    let ending = run_command(&json!({"command": [plain]})).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
    assert!(error_of(&ending).starts_with(&format!("cannot run {}: Permission denied", plain.display())), "{ending:?}");
    let ending = run_command(&json!({"command": plain})).await;
    assert_eq!(
        (ending.ended, ending.report.output.unwrap().exit_code),
        (AttemptEnd::Failed, Some(126)),
        "nor in a shell"
    );

    let nonsense = directory.path().join("nonsense");
    std::fs::write(&nonsense, [0x7f, b'E', b'L', b'F', 0, 0, 0, 0]).unwrap();
    std::fs::set_permissions(&nonsense, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ending = run_command(&json!({"command": [nonsense]})).await;
    // Another test's child may hold the file open for writing at this very moment, which is worth a retry.
    if !error_of(&ending).contains("busy") {
        assert_eq!(ending.ended, AttemptEnd::Failed, "{ending:?}");
    }
}
