//! Tasks: functions by name.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_core::target::Route;
use foreman_engine::target::task::{Handlers, TaskContext, TaskError, TaskRunner};
use foreman_engine::target::{Runner, Targets, TryEnding};
use foreman_runtime::{TaskFailed, Tasks};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::given::{AGAIN, attempt, error_of, in_time, start};

#[derive(Deserialize)]
struct Sum {
    numbers: Vec<i64>,
}

async fn add(task: TaskContext) -> Result<(), TaskError> {
    let sum: i64 = task.payload::<Sum>()?.numbers.iter().sum();
    if sum < 0 {
        return Err(TaskError::fail("less than nothing"));
    }
    let _: u8 = sum.to_string().parse()?;
    Ok(())
}

async fn run(handlers: Handlers, spec: &Value) -> TryEnding {
    in_time(TaskRunner::new(handlers).run(&attempt(spec))).await
}

#[tokio::test]
async fn a_handler_is_found_by_the_name_of_its_task() {
    let targets = Targets::default().with(Arc::new(TaskRunner::new(Handlers::new().with("add", add))));
    assert_eq!(targets.routes(), [Route::task("add"), Route::task("foreman.noop")]);
    let attempt = attempt(&json!({"task": "add", "payload": {"numbers": [1, 2]}}));
    let runner = targets.runner(&attempt.job.work.target.route()).unwrap();
    assert_eq!(in_time(runner.run(&attempt)).await.ended, AttemptEnd::Completed);
}

#[tokio::test]
async fn noop_is_always_there_and_does_nothing() {
    let ending = run(Handlers::new(), &json!({"task": "foreman.noop"})).await;
    assert_eq!((ending.ended, ending.report.error), (AttemptEnd::Completed, None));
}

#[tokio::test]
async fn what_a_handler_says_decides() {
    let handlers = Handlers::new()
        .with("add", add)
        .with("busy", |_| async { Err(TaskError::retry_after(Duration::from_secs(7), "come back later")) });
    let sum = |numbers: Value| json!({"task": "add", "payload": {"numbers": numbers}});

    let fails = run(handlers.clone(), &sum(json!([-1]))).await;
    assert_eq!((fails.ended, error_of(&fails)), (AttemptEnd::Failed, "less than nothing"));

    let other_error = run(handlers.clone(), &sum(json!([1000]))).await;
    assert_eq!((other_error.ended, error_of(&other_error)), (AGAIN, "number too large to fit in target type"));

    let busy = run(handlers.clone(), &json!({"task": "busy"})).await;
    assert_eq!(busy.ended, AttemptEnd::Again { after: Some(Duration::from_secs(7)) });

    let bad_payload = run(handlers.clone(), &sum(json!("two"))).await;
    assert_eq!(bad_payload.ended, AttemptEnd::Failed, "no second try makes it fit");
    assert!(error_of(&bad_payload).starts_with("the payload does not fit: "), "{bad_payload:?}");

    let unknown = run(handlers, &json!({"task": "nobody.knows"})).await;
    assert_eq!(unknown.ended, AGAIN, "another worker may know it");
}

#[tokio::test]
async fn the_whole_chain_of_an_error_is_told_in_one_line() {
    let handlers = Handlers::new().with("deep", |_| async {
        Err(TaskError::retry(anyhow::anyhow!("disk\nfull").context("cannot write").context("cannot save")))
    });
    assert_eq!(error_of(&run(handlers, &json!({"task": "deep"})).await), "cannot save: cannot write: disk full");
}

#[tokio::test]
async fn a_handler_knows_its_attempt_and_its_payload_in_any_form() {
    let handlers = Handlers::new()
        .with("look", |task| async move {
            assert_eq!((task.attempt(), task.fence().0, task.id()), (3, 42, task.job().id));
            assert!(!task.is_stopped());
            assert_eq!(task.payload::<Option<u8>>().unwrap(), None);
            Ok(())
        })
        .with("text", |task: TaskContext| async move {
            assert_eq!(task.payload::<String>().unwrap(), "raw \"text\"");
            Ok(())
        });
    assert_eq!(run(handlers.clone(), &json!({"task": "look"})).await.ended, AttemptEnd::Completed);
    assert_eq!(run(handlers, &json!({"task": "text", "body": "raw \"text\""})).await.ended, AttemptEnd::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_handler_may_return_by_itself() {
    let handlers = Handlers::new().with("polite", |task| async move {
        task.stopped().await;
        Err(TaskError::retry("told to stop"))
    });
    let attempt = attempt(&json!({"task": "polite"}));
    attempt.stop.cancel();
    assert_eq!(error_of(&TaskRunner::new(handlers).run(&attempt).await), "told to stop");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_listen_is_dropped() {
    let handlers = Handlers::new().with("deaf", |_| std::future::pending());
    let attempt = attempt(&json!({"task": "deaf"}));
    attempt.stop.cancel();
    assert_eq!(TaskRunner::new(handlers).run(&attempt).await.ended, AttemptEnd::Interrupted);
}

#[tokio::test]
async fn a_handler_that_panics_leaves_the_runner_in_order() {
    let handlers = Handlers::new()
        .with("at once", |_| -> std::future::Ready<Result<(), TaskError>> { panic!("at once") })
        .with("later", |_| async {
            tokio::task::yield_now().await;
            panic!("later")
        });
    let (runner, tasks): (Arc<dyn Runner>, Tasks) = (Arc::new(TaskRunner::new(handlers)), Tasks::new());
    for name in ["at once", "later"] {
        let mut panicking = attempt(&json!({"task": "foreman.noop"}));
        let work = Arc::make_mut(&mut panicking.job.work);
        work.target = foreman_core::Target::Task(foreman_core::target::TaskTarget {
            name: name.into(),
            payload: foreman_core::target::Body::None,
        });
        let failed = start(&tasks, Arc::clone(&runner), panicking).await.unwrap_err();
        assert_eq!(failed, TaskFailed::Panicked { name: "attempt", message: name.into() });
    }
    assert_eq!(runner.run(&attempt(&json!({"task": "foreman.noop"}))).await.ended, AttemptEnd::Completed);
}
