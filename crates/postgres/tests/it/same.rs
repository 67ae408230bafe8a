//! Any history reads the same here as on the reference store.

use std::sync::Arc;

use foreman_conformance::same;
use proptest::prelude::*;

use crate::given::{Team, is_torture};

fn cases() -> u32 {
    if is_torture() { 200 } else { 24 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_reads_the_same_as_on_the_reference_store(history in same::histories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let team = Team::new().await;
            let store = Arc::new(team.store.clone());
            same::agrees_on_all(team.clock.clone(), store.clone(), store, team.wakeups.clone(), &history).await
        })?;
    }
}
