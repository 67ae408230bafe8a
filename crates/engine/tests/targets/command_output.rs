//! What commands print.

use std::sync::Arc;

use foreman_core::outcome::AttemptEnd;
use foreman_core::ports::{LiveOutput, OutputStream};
use foreman_engine::output::OutputHub;
use foreman_engine::target::Runner;
use foreman_runtime::Tasks;
use serde_json::json;

use crate::given::{attempt, commands_on, in_time, run_command, start, until};

#[tokio::test]
async fn both_streams_are_kept_apart() {
    let ending = run_command(&json!({"command": "echo out; echo err >&2; echo out again"})).await;
    let output = ending.report.output.unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\nout again\n", "err\n"));
    assert!(!output.stdout_truncated && !output.stderr_truncated);
}

#[tokio::test]
async fn a_flood_is_read_to_its_end_and_its_beginning_is_kept() {
    let flood = "head -c 300000000 /dev/zero | tr '\\0' 'x'; echo x >&2; exit 0";
    let ending = in_time(commands_on(OutputHub::default()).run(&attempt(&json!({"command": flood})))).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "it did not stand still, nor die of a broken pipe: {ending:?}");
    let output = ending.report.output.unwrap();
    assert_eq!((output.stdout.len(), output.stdout_truncated), (64 * 1024, true));
    assert_eq!((output.stderr.as_str(), output.stderr_truncated), ("x\n", false));
}

#[tokio::test]
async fn just_as_much_as_is_kept_is_not_marked_as_cut() {
    let ending = run_command(&json!({"command": "head -c 65536 /dev/zero | tr '\\0' 'x'"})).await;
    let output = ending.report.output.unwrap();
    assert_eq!((output.stdout.len(), output.stdout_truncated), (65_536, false));
}

#[tokio::test]
async fn what_is_no_text_is_made_readable() {
    let ending = run_command(&json!({"command": "printf 'a\\377\\000b'"})).await;
    assert_eq!(ending.report.output.unwrap().stdout, "a\u{fffd}\u{fffd}b");
}

#[tokio::test]
async fn lines_can_be_read_while_it_runs_and_a_moment_longer() {
    let directory = tempfile::tempdir().unwrap();
    let script =
        "echo one; echo two >&2; printf 'not yet a line'; while ! [ -e go ]; do sleep 0.02; done; echo; echo three";
    let attempt = attempt(&json!({"command": script, "cwd": directory.path()}));
    let (hub, id) = (OutputHub::default(), attempt.job.id);
    assert_eq!(hub.read(id, 0), None, "nothing of it runs yet");
    let running = start(&Tasks::new(), Arc::new(commands_on(hub.clone())), attempt);

    until("two lines are there", || hub.read(id, 0).is_some_and(|chunk| chunk.next_line == 2)).await;
    let mut seen: Vec<_> = hub.read(id, 0).unwrap().lines.into_iter().map(|line| (line.text, line.stream)).collect();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(seen, [("one".to_owned(), OutputStream::Stdout), ("two".to_owned(), OutputStream::Stderr)]);
    assert!(!running.is_finished());

    std::fs::write(directory.path().join("go"), "").unwrap();
    in_time(running).await.unwrap();
    let rest: Vec<String> = hub.read(id, 2).unwrap().lines.into_iter().map(|line| line.text).collect();
    assert_eq!(rest, ["not yet a line", "three"]);
}

#[tokio::test]
async fn a_last_line_without_an_end_is_a_line_all_the_same() {
    let attempt = attempt(&json!({"command": "printf 'no end'"}));
    let hub = OutputHub::default();
    in_time(commands_on(hub.clone()).run(&attempt)).await;
    assert_eq!(hub.read(attempt.job.id, 0).unwrap().lines[0].text, "no end");
}
