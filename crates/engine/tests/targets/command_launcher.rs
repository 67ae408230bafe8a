//! Launchers that go wrong. The real one is part of the binary and is tested there; these are played by a shell.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_engine::output::OutputHub;
use foreman_engine::target::Runner;
use foreman_engine::target::command::{self, CommandRunner, Launcher, ProcessLimits, Unlocked};
use foreman_runtime::Tasks;
use serde_json::json;

use crate::given::{AGAIN, attempt, error_of, in_time, start, stdout_of, until};

/// `--parent` is the first word that a launcher is given, and the number of its report the fourth.
const REPORT: &str = "/proc/self/fd/$4";

fn launched_by(program: &str, words: &[&str]) -> CommandRunner {
    let launcher = Launcher {
        program: PathBuf::from(program),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        limits: ProcessLimits::default(),
        user: None,
    };
    let config = command::Config {
        inherited: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        kill_grace: Duration::from_millis(400),
        launcher: Some(launcher),
        ..command::Config::default()
    };
    CommandRunner::new(config, Arc::new(Unlocked), OutputHub::default())
}

fn played_by(script: &str) -> CommandRunner {
    launched_by("/bin/sh", &["-c", script, "launcher"])
}

/// Says that it is ready, and becomes the program, for which it does not bother to unmark anything.
fn faithful() -> String {
    format!(r#"printf '>' > {REPORT}; while [ "$1" != -- ]; do shift; done; shift; exec "$@""#)
}

#[tokio::test]
async fn a_command_is_what_its_launcher_became() {
    let runner = played_by(&faithful());
    let ending = in_time(runner.run(&attempt(&json!({"command": ["printf", "<%s>", "a  b", "--"]})))).await;
    assert_eq!((ending.ended, stdout_of(&ending)), (AttemptEnd::Completed, "<a  b><-->"), "{ending:?}");
    let ending = in_time(runner.run(&attempt(&json!({"command": "exit 3"})))).await;
    assert_eq!((ending.ended, error_of(&ending)), (AGAIN, "exited with code 3"));
}

#[tokio::test]
async fn variables_reach_the_launcher_marked() {
    // A shell forgets names that it could not have given.
    let runner = played_by(&format!(r"printf '>' > {REPORT}; tr '\0' '\n' < /proc/$$/environ"));
    let spec = json!({"command": ["env"], "env": {"LD_PRELOAD": "/evil.so", "A": "b"}});
    let ending = in_time(runner.run(&attempt(&spec))).await;
    let lines: Vec<&str> = stdout_of(&ending).lines().collect();
    for marked in ["+A=b", "+LD_PRELOAD=/evil.so", "+PATH=/usr/local/bin:/usr/bin:/bin"] {
        assert!(lines.contains(&marked), "{marked} is not in {lines:?}");
    }
    assert!(!lines.iter().any(|line| line.starts_with("LD_") || line.starts_with("A=")), "{lines:?}");
}

#[tokio::test]
async fn a_launcher_that_dies_on_its_way_has_started_nothing() {
    for (script, how) in [
        ("echo oh no >&2; exit 0", "the command launcher exited with code 0 before it started the command: oh no"),
        ("kill -9 $$", "the command launcher killed by signal 9 (SIGKILL) before it started the command: "),
    ] {
        let ending = in_time(played_by(script).run(&attempt(&json!({"command": ["true"]})))).await;
        assert_eq!((ending.ended, error_of(&ending), &ending.report.output), (AGAIN, how, &None));
    }
}

#[tokio::test]
async fn a_launcher_that_talks_nonsense_has_started_nothing() {
    for nonsense in ["hello", ">>", "p", "x\\001\\000\\000\\000", &"y".repeat(5_000)] {
        let ending =
            in_time(played_by(&format!("printf '{nonsense}' > {REPORT}")).run(&attempt(&json!({"command": ["true"]}))))
                .await;
        assert_eq!(ending.ended, AGAIN, "{nonsense}: {ending:?}");
        assert!(error_of(&ending).contains("before it started the command"), "{ending:?}");
    }
}

#[tokio::test]
async fn what_a_launcher_cannot_do_is_told_as_if_we_had_not_been_able_to() {
    let codes = json!({"completed": [0], "failed": [1]});
    for (said, ended, error) in [
        (">p\\002", AttemptEnd::Failed, "cannot run tool: No such file or directory (os error 2)"),
        (">p\\015", AttemptEnd::Failed, "cannot run tool: Permission denied (os error 13)"),
        (">p\\010", AttemptEnd::Failed, "cannot run tool: Exec format error (os error 8)"),
        (">p\\007", AttemptEnd::Failed, "cannot run tool: Argument list too long (os error 7)"),
        (">p\\013", AGAIN, "cannot run tool: Resource temporarily unavailable (os error 11)"),
        ("d\\002", AttemptEnd::Failed, "cannot enter /: No such file or directory (os error 2)"),
        ("l\\001", AGAIN, "the command launcher cannot set its limits: Operation not permitted (os error 1)"),
        (
            "u\\001",
            AGAIN,
            "the command launcher cannot become the user that runs commands: Operation not permitted (os error 1)",
        ),
    ] {
        let script = format!("printf '{said}\\000\\000\\000' > {REPORT}; exit 126");
        let ending = in_time(played_by(&script).run(&attempt(&json!({"command": ["tool"], "cwd": "/"})))).await;
        assert_eq!((ending.ended, error_of(&ending), &ending.report.output), (ended, error, &None));
    }
    let script = format!("printf '>p\\002\\000\\000\\000' > {REPORT}; exit 127");
    let ending = in_time(played_by(&script).run(&attempt(&json!({"command": ["tool"], "exit_codes": codes})))).await;
    assert_eq!(ending.ended, AGAIN, "a job may say that it is worth a retry");
}

#[tokio::test]
async fn a_launcher_that_is_not_there_is_not_the_jobs_fault() {
    let ending = in_time(launched_by("/no/such/launcher", &[]).run(&attempt(&json!({"command": ["true"]})))).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).starts_with("cannot start the command launcher: No such file"), "{ending:?}");
}

#[tokio::test]
async fn an_argument_that_no_process_can_be_given_is() {
    let ending = in_time(played_by("").run(&attempt(&json!({"command": ["tool", "x".repeat(200_000)]})))).await;
    assert_eq!(ending.ended, AttemptEnd::Failed, "{ending:?}");
    assert!(error_of(&ending).starts_with("cannot run tool: "), "{ending:?}");
}

#[tokio::test]
async fn a_launcher_that_stands_still_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().join("here");
    let script = format!("echo > {}; while :; do sleep 0.02; done", here.display());
    let attempt = attempt(&json!({"command": ["true"]}));
    let stop = attempt.stop.clone();
    let running = start(&Tasks::new(), Arc::new(played_by(&script)), attempt);
    until("it stands still", || here.exists()).await;
    stop.cancel();
    let ending = in_time(running).await.unwrap();
    assert_eq!(ending.ended, AttemptEnd::Interrupted, "{ending:?}");
}

#[tokio::test]
async fn a_command_without_a_directory_gets_one_that_goes_with_it() {
    let parent = tempfile::tempdir().unwrap();
    let config = command::Config {
        inherited: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        scratch: Some(parent.path().to_owned()),
        ..command::Config::default()
    };
    let runner = CommandRunner::new(config.clone(), Arc::new(Unlocked), OutputHub::default());
    let spec = json!({"command": "pwd; ls -A | wc -l; stat -c %a .; mkdir -p a/b && echo x > a/b/c"});
    let ending = in_time(runner.run(&attempt(&spec))).await;
    let lines: Vec<&str> = stdout_of(&ending).lines().map(str::trim).collect();
    assert!(
        lines[0].starts_with(&format!("{}/foreman-", parent.path().canonicalize().unwrap().display())),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["0", "700"]);
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0, "it is gone when the attempt is over");

    let elsewhere = tempfile::tempdir().unwrap();
    let spec = json!({"command": ["pwd"], "cwd": elsewhere.path().canonicalize().unwrap()});
    let ending = in_time(runner.run(&attempt(&spec))).await;
    assert_eq!(stdout_of(&ending).trim(), elsewhere.path().canonicalize().unwrap().to_str().unwrap());

    let spec = json!({"command": "echo > here; while :; do sleep 0.02; done"});
    let running = start(&Tasks::new(), Arc::new(runner), attempt(&spec));
    let is_there = || std::fs::read_dir(parent.path()).unwrap().flatten().any(|it| it.path().join("here").exists());
    until("it runs", is_there).await;
    running.abort();
    until("its directory is gone", || std::fs::read_dir(parent.path()).unwrap().count() == 0).await;

    let missing = command::Config { scratch: Some(parent.path().join("missing")), ..config };
    let runner = CommandRunner::new(missing, Arc::new(Unlocked), OutputHub::default());
    let ending = in_time(runner.run(&attempt(&json!({"command": ["true"]})))).await;
    assert_eq!(ending.ended, AGAIN, "the job cannot help it");
    assert!(error_of(&ending).starts_with("cannot create a directory for the command in "), "{ending:?}");
}
