//! Any history reads the same here as on the reference store.

use std::sync::Arc;

use foreman_conformance::same;
use proptest::prelude::*;

use crate::given::Laptop;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_reads_the_same_as_on_the_reference_store(history in same::histories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let laptop = Laptop::new();
            let store = Arc::new(laptop.store.clone());
            same::agrees_on_all(laptop.clock.clone(), store.clone(), store, laptop.wakeups.clone(), &history).await
        })?;
    }
}
