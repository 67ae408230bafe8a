//! The reference store agrees with itself on any history: the comparison itself finds nothing that is not there.

use std::sync::Arc;

use foreman_conformance::same;
use foreman_core::memory::{LocalWakeups, ManualClock, Rule, Store};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

async fn compare(history: &[same::Command], without: Option<Rule>) -> Result<(), TestCaseError> {
    let (clock, wakeups) = (Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
    let store = Store::new(clock.clone(), wakeups.clone());
    let store = Arc::new(match without {
        None => store,
        Some(rule) => store.without(rule),
    });
    same::agrees_on_all(clock, store.clone(), store, wakeups, history).await
}

fn run(history: &[same::Command], without: Option<Rule>) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(compare(history, without))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_reads_the_same_on_the_reference_store_itself(history in same::histories()) {
        run(&history, None)?;
    }
}

/// Rules that random histories of one process can miss: those about rooms and webhooks.
#[test]
fn a_store_without_one_of_these_rules_reads_differently() {
    for rule in [Rule::RoomsObeyed, Rule::AdvanceCompares, Rule::PruneWaitsForFollowers, Rule::OldNotesPass] {
        let config = Config { cases: 2_000, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
        let told = TestRunner::new(config).run(&same::histories(), |history| run(&history, Some(rule)));
        assert!(told.is_err(), "two thousand histories passed without {rule:?}");
    }
}
