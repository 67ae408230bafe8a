//! What is logged of probes: a change, and not each of them.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use foreman_core::ports::StoreError;
use tracing::Level;

use crate::faulty::Fault;
use crate::harness::Api;

thread_local! {
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What this thread logs, as an operator with the default level sees it. The server of a test runs on the test's own thread.
///
/// One subscriber for the whole process: with one per thread, whether a line is wanted at all is decided by whoever comes
/// by it first, and that may be a test that listens to nothing.
pub struct Log;

impl Log {
    pub fn start() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            tracing_subscriber::fmt().with_max_level(Level::INFO).with_ansi(false).with_writer(|| Log).init();
        });
        LOG.take();
    }

    pub fn lines() -> Vec<String> {
        let text = String::from_utf8(LOG.with_borrow(Clone::clone)).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn an_outage_is_logged_when_it_begins_and_when_it_is_over_and_not_at_every_probe() {
    Log::start();
    let api = Api::start().await;
    for round in 1..=2 {
        for _ in 0..3 {
            api.get("/readyz").await.expect(200);
        }
        api.store.set(Some(Fault::Error(StoreError::Unavailable("connection refused".into()))));
        for _ in 0..10 {
            api.get("/readyz").await.expect(503);
        }
        // Another reason is the same outage.
        api.store.set(Some(Fault::Hang));
        api.get("/readyz").await.expect(503);
        api.store.set(None);
        for _ in 0..3 {
            api.get("/readyz").await.expect(200);
        }
        let lines: Vec<String> = Log::lines().into_iter().filter(|line| line.contains("probe")).collect();
        assert_eq!(lines.len(), 2 * round, "{lines:#?}");
        let [begun, over] = &lines[lines.len() - 2..] else { unreachable!("two were counted") };
        assert!(
            begun.contains("WARN") && begun.contains("not ready") && begun.contains("connection refused"),
            "{begun}"
        );
        assert!(over.contains("INFO") && over.contains("answers probes again after"), "{over}");
    }
    let asked: Vec<String> = Log::lines().into_iter().filter(|line| line.contains("/readyz")).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}

#[tokio::test]
async fn a_server_that_is_stopping_does_not_log_every_probe_it_turns_away() {
    Log::start();
    let api = Api::start().await;
    api.readiness.set_draining();
    let before = Log::lines().len();
    for _ in 0..5 {
        api.get("/readyz").await.expect(503);
    }
    assert_eq!(Log::lines()[before..], Vec::<String>::new());
}
